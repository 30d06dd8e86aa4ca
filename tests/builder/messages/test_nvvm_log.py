"""libNVVM's logs, as its releases write them, become diagnostics with the place in the source, and hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.messages.nvvm_log import read_nvvm_log, read_nvvm_result
from cuda_wheel.builder.toolchain.nvvm import DATA_LAYOUT, TRIPLE

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvvm import NvvmRequest, NvvmResult

pytestmark = pytest.mark.one_toolchain

TEXT = """\
; a module
define void @k(float* %x) {
\t%ü = fneg float %gone
  %t = call i32 @tid()   ; the thread
  %twice = add i32 %t, %t
  %twice = add i32 %t, %t
  ret void
}
""".encode()


def request(arch: str = "80", text: bytes = TEXT, options: tuple[str, ...] = ()) -> NvvmRequest:
    return {
        "library": "/lib/libnvvm.so", "libdevice": "/lib/libdevice.10.bc", "text": text, "name": "src/k.ll",
        "arch": arch, "lto": False, "options": list(options),
    }  # fmt: skip


def result(log: str, error: str = "NVVM_ERROR_INVALID_IR") -> NvvmResult:
    return {"error": error, "log": log, "ptx": b"", "ltoir": b""}


def message(log: str, *arguments, **more) -> str:
    with pytest.raises(CompileError) as caught:
        read_nvvm_result(request(*arguments, **more), result(log))
    return str(caught.value)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("warning: Linking two modules\n", ["src/k.ll: warning: Linking two modules"]),
        # The column counts bytes from 0; the caret is below a line with its own tab.
        (
            "src/k.ll (3, 7): parse expected instruction opcode",
            ["src/k.ll:3:7: error: expected instruction opcode\n  \t%ü = fneg float %gone\n  \t     ^"],
        ),
        ("src/k.ll (99, 0): parse expected top-level entity", ["src/k.ll:99: error: expected top-level entity"]),
        ("src/k.ll: parse expected top-level entity", ["src/k.ll: error: expected top-level entity"]),
        # The verifier prints instructions in its own format, and no lines.
        (
            "Instruction does not dominate all uses!\n  %t = call i32 @tid()\n  %early = add i32 %t, 1\n\0",
            [
                "src/k.ll:4: error: Instruction does not dominate all uses!\n"
                "  %t = call i32 @tid()\n  %early = add i32 %t, 1"
            ],
        ),
        ("Bad operand!\n  %twice = add i32 %t, %t\n", ["src/k.ll: error: Bad operand!\n  %twice = add i32 %t, %t"]),
        # Errors come first, and each once; what only comments on the message before is left out.
        (
            "libnvvm : warning: old\nerror: Error: : Function `k': bad.\n\nerror: Another.\nerror: Function `k': bad.\n",
            ["src/k.ll: error: Function `k': bad.", "src/k.ll: error: Another.", "src/k.ll: warning: old"],
        ),
        (
            "IR version 9.0 incompatible with current version 2.0\n"
            "src/k.ll: error: incompatible IR detected. Possible mix of compiler/IR from different releases.",
            ["src/k.ll: error: IR version 9.0 incompatible with current version 2.0"],
        ),
        (
            "error: Error: DataLayoutError: Unsupported [-i1:8:8].Error: \nExample valid data layout:\n"
            "Error: 32-bit: e-p:32:32:32\nError: 64-bit: e-p:64:64:64\n\n",
            ["src/k.ll: error: DataLayoutError: Unsupported [-i1:8:8]."],
        ),
        ("", []),
    ],
)  # fmt: skip
def test_a_message_has_its_place_and_the_line_in_the_source(log: str, expected: list[str]) -> None:
    assert list(map(str, read_nvvm_log(log, "src/k.ll", TEXT).diagnostics)) == expected


def test_the_lines_of_bitcode_are_not_shown() -> None:
    (found,) = read_nvvm_log("src/k.ll (1, 0): parse bad", "src/k.ll", b"BC\xc0\xde" + TEXT).diagnostics
    assert str(found) == "src/k.ll:1: error: bad"


def test_warnings_of_a_success_are_returned_and_are_no_error() -> None:
    assert read_nvvm_result(request(), result("warning: a\nwarning: b\n", "")) == (
        "src/k.ll: warning: a\n\nsrc/k.ll: warning: b"
    )
    assert read_nvvm_result(request(), result("", "")) == ""


def test_a_warning_has_no_hint() -> None:
    assert "help" not in message("warning: no target triple\nerror: unheard of")


def test_an_error_without_a_log_has_the_name_of_the_error() -> None:
    assert message("") == "src/k.ll: error: NVVM_ERROR_INVALID_IR"


def test_a_rejected_option_is_an_error_of_the_settings() -> None:
    log = "libnvvm : error: -nonsense is an unsupported option"
    with pytest.raises(ConfigError, match=r"^src/k\.ll: libNVVM rejects an option \(.*\): -nonsense is an unsupp"):
        read_nvvm_result(request(), result(log, "NVVM_ERROR_INVALID_OPTION"))


@pytest.mark.parametrize(
    ("log", "hint"),
    [
        ("IR version 1.0 incompatible with current version 2.0", "the metadata must contain the IR version: !nvvmir"),
        ("error: Error: DataLayoutError: Unsupported", f'target datalayout = "{DATA_LAYOUT}"'),
        ("error: there is no target datalayout", f'target datalayout = "{DATA_LAYOUT}"'),
        ("Invalid target triple (x86_64)", f'target triple = "{TRIPLE}"'),
        ("error: Error: : Function `k': non-void entry function.", "a kernel must return void"),
    ],
)
@pytest.mark.parametrize("arch", ["80", "100"])
def test_an_error_has_one_hint_for_every_target(log: str, hint: str, arch: str) -> None:
    first, *helps = message(f"{log}\n{log} again", arch).split("help: ")
    assert first.startswith("src/k.ll: error: ")
    assert len(helps) == 1 and hint in helps[0]


@pytest.mark.parametrize(
    ("line", "arch", "options", "hint"),
    [
        ("%r = fneg float %x", "80", (), "libNVVM reads the IR of LLVM 7, which has no `fneg`; for compute_100"),
        ("%r = fneg float %x", "90a", (), "for compute_90a, libNVVM reads the IR of LLVM 7, which has no `fneg`"),
        ("ptr %x", "80", (), "has no `ptr`: use typed pointers such as `float*`, which work for every target"),
        ("%r = frob float %x", "80", (), None),
        ("%r = fneg float %x", "100", (), None),  # it reads newer IR, so another cause
        ("%r = fneg float %x", "120f", (), None),
        ("%r = fneg float %x", "80", ("-nvvm-latest",), None),
    ],
)
def test_a_word_that_llvm_7_lacks_is_explained_where_libnvvm_reads_llvm_7(
    line: str, arch: str, options: tuple[str, ...], hint: str | None
) -> None:
    text = f"  {line}\n"
    column = text.index("f" if "=" in line else "p")
    found = message(f"src/k.ll (1, {column}): parse expected instruction opcode", arch, text.encode(), options)
    assert (hint is None) == ("help: " not in found)
    assert hint is None or hint in found


def test_bitcode_of_a_newer_llvm_has_a_hint() -> None:
    log = "Invalid record (Producer: 'LLVM20.1.0' Reader: 'LLVM 7.0.1')"
    assert "which has no opaque pointers: write the bitcode with LLVM 7" in message(log, "80", b"BC\xc0\xde")
    assert "help" not in message(log, "100", b"BC\xc0\xde")
