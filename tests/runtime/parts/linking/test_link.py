"""Linking without a GPU: the result, the cache and the errors. NVRTC and nvJitLink are real."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import JitOptions, LinkError, LinkInput
from cuda_wheel.builder.images.bundling import make_fatbin
from cuda_wheel.runtime.manifest import dotted
from cuda_wheel.runtime.parts.compile_log import resources_of
from cuda_wheel.runtime.parts.cuda_libraries import nvjitlink_version
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.linking import link as link_module
from cuda_wheel.runtime.parts.linking import linkers as nvjitlink_linker
from cuda_wheel.runtime.parts.linking import prepared_link
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from cuda_wheel.runtime.parts.linking.link import distinct_names
from cuda_wheel.runtime.parts.linking.linkers import RefusedError
from cuda_wheel.runtime.parts.linking.strategy import LinkUnit
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.driver import Driver, Result
from tests.support.linkable import APPLY, FORMS, USER, compiled, fatbin, piece
from tests.support.processes import run

Use = Callable[..., Driver]


# --- linking without a GPU ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "user", "mode"),
    [
        ("ltoir", "ltoir", "lto"),
        ("cuda", "cuda", "lto"),
        ("ltoir", "cuda", "lto"),
        ("ptx", "ptx", "ptx"),
        ("ptx", "cubin", "ptx"),
        ("cuda", "cubin", "ptx"),
        ("cubin", "cubin", "ptx"),
        ("ltoir", "cubin", "lto"),
        ("cubin", "ltoir", "lto"),
        ("ltoir", "ptx", "lto"),
    ],
)
def test_pieces_of_any_kind_link(base: str, user: str, mode: str) -> None:
    linked = package.link([piece(APPLY, base, "lib"), piece(USER, user, "user")], arch="90")
    cubin = read_cubin(linked.cubin)
    assert (cubin.arch, list(cubin.kernels), linked.mode) == (90, ["apply"], mode)
    assert not cubin.symbols.undefined and linked.pieces == (f"lib{FORMS[base]}", f"user{FORMS[user]}")
    assert linked.linker == f"nvJitLink {dotted(nvjitlink_version() or (0, 0))}"
    assert not linked.cached and linked.seconds > 0 and linked.linker_seconds is None
    assert ("Used" in linked.log) == (base != "cubin")


@pytest.fixture
def forbid_linkers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes each call of a compiler, a linker or the cache an error."""

    def fail(*_: Any) -> None:
        raise AssertionError("a compiler, a linker or the cache was used")

    def forbid() -> None:
        for name in ("link_by_driver", "link_by_nvjitlink", "link_by_nvjitlink_in_child", "compile_cuda"):
            monkeypatch.setattr(prepared_link, name, fail)
        monkeypatch.setattr(Cache, "read", fail)

    return forbid


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("kinds", ["cuda ltoir", "ptx cubin", "cubin cubin"])
def test_nothing_is_linked_where_that_is_forbidden_not_even_from_the_cache(
    kinds: str, is_kept: bool, forbid_linkers: Callable[[], None], use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, user = kinds.split()
    pieces = [piece(APPLY, base, "lib"), piece(USER, user, "user")]
    if is_kept:
        package.link(pieces, arch="90")
    forbid_linkers()
    use((8, 6))
    with pytest.raises(LinkError) as caught:
        package.link(pieces, arch="90", jit=JitOptions(allow=False))
    assert str(caught.value) == (
        f"lib{FORMS[base]}, user{FORMS[user]} must be linked on this machine (compute capability 8.6, driver for CUDA "
        "13.0), which JitOptions(allow=False) forbids. Link the sources when a wheel is built: sources = [...] of the "
        "module's table in pyproject.toml."
    )
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    with pytest.raises(LinkError, match=r"on this machine \(without a GPU\), which CUDA_WHEEL_JIT=error forbids"):
        use((8, 6), cuInit=Result.CUDA_ERROR_NO_DEVICE)
        package.link(pieces, arch="90")


def test_lto_inlines_what_ptx_calls() -> None:
    pieces = [piece(APPLY, "cuda", "lib"), piece(USER, "cuda", "user")]
    lto, called = (package.link(pieces, arch="90", jit=JitOptions(lto=lto)) for lto in (True, False))
    registers = [resources_of(linked.log)["apply"]["registers"] for linked in (lto, called)]
    assert registers[0] < registers[1]
    alone = package.link([APPLY.replace("(float);", "(float x) { return 2 * x + 1; }")], arch="90")
    assert registers[0] == resources_of(alone.log)["apply"]["registers"]


def test_lto_returns_its_ptx_on_request() -> None:
    linked = package.link([APPLY, USER], arch="90", ptx=True)
    assert linked.ptx is not None and ".entry apply" in linked.ptx and "fma.rn.f32" in linked.ptx
    with pytest.raises(LinkError, match=r"only a link of LTO-IR alone can return PTX.*user\.ptx is PTX"):
        package.link([APPLY, piece(USER, "ptx", "user")], arch="90", ptx=True)


def test_ptx_for_one_gpu_alone_decides_the_target() -> None:
    user = piece(USER, "ptx", "user", "90a")
    assert str(package.link([APPLY, user], arch="90").target) == "sm_90a"
    with pytest.raises(LinkError, match=r"user\.ptx is for compute capability 9\.0 only"):
        package.link([APPLY, user], arch="100")


def test_a_second_link_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [APPLY, piece(USER, "ltoir", "user")]
    first = package.link(pieces, arch="90", ptx=True)
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", lambda *_: pytest.fail("linked again"))
    monkeypatch.setattr(prepared_link, "compile_cuda", lambda *_: pytest.fail("compiled again"))
    second = package.link(pieces, arch="90", ptx=True)
    assert second.cached and not first.cached
    assert first[:8] == second[:8]


@pytest.mark.parametrize(
    "change",
    [
        {"pieces": [APPLY, USER.replace("2 * x", "3 * x")]},
        {"arch": "80"},
        {"jit": JitOptions(max_registers=32)},
        {"jit": JitOptions(lineinfo=True)},
        {"jit": JitOptions(lto=False)},
        {"ptx": True},
    ],
)
def test_everything_that_decides_the_result_is_in_the_cache_key(change: dict[str, Any]) -> None:
    same = {"pieces": [APPLY, USER], "arch": "90", "jit": JitOptions()}
    package.link(**same)  # type: ignore[arg-type]
    assert not package.link(**same | change).cached


@pytest.mark.parametrize(("name", "user"), [("nvjitlink_build", "ltoir"), ("nvrtc_build", "cuda")])
def test_the_exact_build_of_the_compiler_is_in_the_cache_key(
    name: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two patches of one CUDA release compile differently. Of an unknown one nothing is kept."""
    pieces = [APPLY, USER if user == "cuda" else piece(USER, user, "user")]
    compiled_pieces: list[str] = []
    compile_now = prepared_link.compile_cuda

    def counted(text: bytes, *rest: Any) -> Any:
        compiled_pieces.append("")
        return compile_now(text, *rest)

    def is_reused() -> bool:
        compiled_pieces.clear()
        linked = package.link(pieces, arch="90")
        return not compiled_pieces if name == "nvrtc_build" else linked.cached

    monkeypatch.setattr(prepared_link, "compile_cuda", counted)
    assert [is_reused(), is_reused()] == [False, True]
    monkeypatch.setattr(prepared_link, name, lambda: "another patch")
    assert [is_reused(), is_reused()] == [False, True]
    monkeypatch.setattr(prepared_link, name, lambda: None)
    assert [is_reused(), is_reused()] == [False, False]


def test_a_damaged_entry_is_linked_again() -> None:
    package.link([APPLY, piece(USER, "ltoir", "user")], arch="90")
    for _, _, path in Cache().entries():
        Path(path).write_bytes(Path(path).read_bytes()[:-9])
    with pytest.warns(RuntimeWarning, match="is damaged"):
        assert not package.link([APPLY, piece(USER, "ltoir", "user")], arch="90").cached
    for _, _, path in Cache().entries():
        Cache().put("".join(Path(path).parts[-2:]), b"[]")
    with pytest.warns(RuntimeWarning, match="was written by another program"):
        assert not package.link([APPLY, piece(USER, "ltoir", "user")], arch="90").cached


# --- errors ---------------------------------------------------------------------------------


def refused(*pieces: Any, arch: str = "90", **options: Any) -> str:
    """Link these pieces, and return the message of the LinkError; check that the cache has no linked code of it."""
    known = {path for _, _, path in Cache().entries()}
    with pytest.raises(LinkError) as caught:
        package.link(pieces, arch=arch, jit=JitOptions(**options))
    kept = [Path(path).read_bytes() for _, _, path in Cache().entries() if path not in known]
    assert not any(b"\x7fELF" in content for content in kept)
    return str(caught.value)


@pytest.mark.parametrize("lto", [True, False])
def test_an_undefined_function_is_reported_with_the_symbols_of_each_piece(lto: bool) -> None:
    message = refused(
        LinkInput("cuda", "lib.cu", APPLY.encode()), LinkInput("cuda", "u.cu", b"__device__ int other;"), lto=lto
    )
    assert message.startswith(
        "lib.cu needs user_transform, which no piece defines\n  lib.cu defines apply\n  u.cu defines other\n"
    )
    assert f"for sm_90, with{'' if lto else 'out'} LTO:" in message and "user_transform'" in message.splitlines()[-2]


@pytest.mark.parametrize("lto", [True, False])
def test_an_undefined_variable_is_an_error(lto: bool) -> None:
    text = 'extern __device__ int total; extern "C" __global__ void get(int* x) { *x = total; }'
    assert refused(LinkInput("cuda", "lib.cu", text.encode()), lto=lto).startswith(
        "lib.cu needs total, which no piece defines"
    )


@pytest.mark.parametrize("kind", ["ptx", "cuda"])
def test_a_missing_extern_c_is_reported(kind: str) -> None:
    user = piece(USER.replace('extern "C" ', ""), kind, "user")
    message = refused(piece(APPLY, "ptx", "lib"), user)
    assert (
        f'help: put extern "C" before user_transform in user{FORMS[kind]}: its symbol there is the C++ one, _Z14user_transformf'
        in message
    )
    message = refused(APPLY.replace('extern "C" __device__', "__device__"), USER)
    assert (
        'help: remove extern "C" from user_transform in piece-2.cu: the caller declares it as C++, _Z14user_transformf'
        in message
    )


def test_other_parameters_are_reported() -> None:
    plain = [text.replace('extern "C" __device__', "__device__") for text in (APPLY, USER)]
    message = refused(plain[0], plain[1].replace("(float x)", "(double x)"))
    assert (
        "help: user_transform in piece-2.cu has other parameters: _Z14user_transformd, not _Z14user_transformf"
        in message
    )


@pytest.mark.parametrize(
    "kinds",
    [("ptx", "ptx", "ptx"), ("ptx", "cubin", "cubin"), ("ptx", "ptx", "cubin"), ("ptx", "cuda", "cuda"), ("ltoir", "ltoir", "cuda"), ("cuda", "cuda", "cuda")],
)  # fmt: skip
def test_a_function_that_is_defined_twice_is_reported(kinds: tuple[str, ...]) -> None:
    base, first, second = kinds
    message = refused(piece(APPLY, base, "lib"), piece(USER, first, "one"), piece(USER, second, "two"))
    assert message.startswith("user_transform is defined twice: by ")
    assert "two" in message.splitlines()[0] or "ltoir" in kinds


def test_a_kernel_that_is_defined_twice_is_reported() -> None:
    message = refused(piece(APPLY, "ptx", "lib"), USER, piece(APPLY, "cubin", "user"))
    assert message.startswith("apply is defined twice: by lib.ptx and by user.cubin.")


def test_a_strong_definition_replaces_a_weak_one() -> None:
    text = compiled(USER.replace("2 * x", "5 * x"), "ptx").replace(b".visible .func", b".weak .func")
    pieces = [piece(APPLY, "ptx", "lib"), LinkInput("ptx", "default.ptx", text), piece(USER, "ptx", "user")]
    assert read_cubin(package.link(pieces, arch="90").cubin).kernels.keys() == {"apply"}


DOUBLE_LINKS = """
import sys
sys.path[:0] = [{root!r}]
from cuda_wheel import LinkError, LinkInput, link
pieces = [LinkInput(kind, kind + str(index), open(path, "rb").read()) for index, (kind, path) in enumerate({pieces!r})]
for _ in range(3):
    try:
        print(link(pieces, arch="90"))
    except LinkError as error:
        print(str(error).splitlines()[0])
"""


@pytest.mark.parametrize("kinds", [("ptx", "ptx", "ptx"), ("ptx", "cubin", "cubin"), ("ptx", "ptx", "fatbin")])
def test_a_duplicate_definition_never_crashes_the_process(kinds: tuple[str, ...], tmp_path: Path) -> None:
    paths = []
    for index, (text, kind) in enumerate(zip((APPLY, USER, USER), kinds, strict=True)):
        path = tmp_path / f"{index}.{kind}"
        path.write_bytes(fatbin(compiled(text, "cubin", "90")) if kind == "fatbin" else compiled(text, kind, "90"))
        paths.append((kind, str(path)))
    result = run(sys.executable, "-c", DOUBLE_LINKS.format(root=os.getcwd(), pieces=paths))
    assert result.returncode == 0, result.stdout
    assert [line[:31] for line in result.stdout.splitlines()] == ["user_transform is defined twice"] * 3


def test_a_fatbin_links_and_a_damaged_one_is_reported() -> None:
    whole = fatbin(compiled(USER, "cubin", "90"))
    assert read_cubin(package.link([piece(APPLY, "ptx", "lib"), whole], arch="90").cubin).kernels.keys() == {"apply"}
    for length in (4, 100, len(whole) - 100):
        assert (
            refused(piece(APPLY, "ptx", "lib"), whole[:length]) == "piece.fatbin is a damaged fatbin: it is cut short"
        )
    inside = bytearray(whole)
    inside[len(whole) // 2 :] = bytes(len(whole) - len(whole) // 2)
    assert "cannot link lib.ptx, piece.fatbin" in refused(piece(APPLY, "ptx", "lib"), bytes(inside))


def test_a_linker_that_crashes_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvjitlink_linker, "_CHILD_PROGRAM", "import os; os.abort()")
    message = refused(piece(APPLY, "ptx", "lib"), fatbin(compiled(USER, "cubin", "90")))
    assert message.startswith("one of piece.fatbin is damaged, or defines what another piece defines\n")
    assert "nvJitLink crashed" in message


def test_a_fatbin_of_ltoir_is_linked_where_that_is_asked_for() -> None:
    made = make_fatbin([(("ltoir", "90", compiled(USER, "ltoir", "90")), "made")], ["-64"])
    pieces = piece(APPLY, "ltoir", "lib"), made
    assert package.link(pieces, arch="90").mode == "lto"
    message = refused(piece(APPLY, "ptx", "lib"), made)
    assert message.startswith("one of piece.fatbin holds LTO-IR: jit=JitOptions(lto=True) links it\n")
    assert package.link([piece(APPLY, "ptx", "lib"), made], arch="90", jit=JitOptions(lto=True)).mode == "lto"


def test_a_damaged_cubin_never_reaches_a_linker() -> None:
    cubin = piece(USER, "cubin", "user")
    message = refused(APPLY, cubin._replace(content=cubin.content[:-100]))
    assert message.startswith("user.cubin is a damaged cubin: it is cut short: its table of s")


def test_code_for_another_gpu_is_reported() -> None:
    assert refused(APPLY, piece(USER, "cubin", "user", "80")) == "user.cubin is machine code for 8.x, the GPU is 9.0"
    assert (
        refused(APPLY, piece(USER, "cubin", "user", "90"), arch="80")
        == "user.cubin is machine code for 9.x, the GPU is 8.0"
    )
    assert (
        refused(APPLY, piece(USER, "ptx", "user", "90"), arch="80") == "user.ptx needs compute capability 9.0 or later"
    )
    message = refused(APPLY, piece(USER, "ltoir", "user", "100"))
    assert "is for a newer GPU than sm_90: compile it for compute_90 or lower" in message


def test_garbage_is_reported() -> None:
    ltoir = piece(USER, "ltoir", "user")
    assert refused(APPLY, ltoir._replace(content=ltoir.content[:300])).startswith(
        "one of piece.cu, user.ltoir is damaged"
    )
    text = piece(USER, "ptx", "user").content.replace(b"fma.rn.f32", b"fma.xx.f32")
    assert "Unknown modifier '.xx'" in refused(APPLY, LinkInput("ptx", "user.ptx", text))


def test_a_newer_piece_is_reported_and_names_the_linker() -> None:
    text = ptx.VERSION.sub(".version 99.0", piece(USER, "ptx", "user").content.decode())
    message = refused(APPLY, LinkInput("ptx", "user.ptx", text.encode()))
    assert (
        "user.ptx comes from a newer CUDA release than nvJitLink" in message and "Unsupported .version 99.0" in message
    )


def test_what_does_not_compile_is_reported_with_file_and_line() -> None:
    message = refused(APPLY, LinkInput("cuda", "user.cu", b"\n__device__ int f() { return nothing; }\n"))
    assert message.startswith(
        'user.cu does not compile for compute_90:\nuser.cu:2: error: identifier "nothing" is undefined'
    )


def test_without_pieces_there_is_nothing_to_link() -> None:
    with pytest.raises(LinkError, match="nothing to link"):
        package.link([], arch="90")
    with pytest.raises(ValueError, match="arch must be"):
        package.link([USER], arch="ninety")


def test_without_nvjitlink_and_without_a_gpu_the_error_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "nvjitlink_version", lambda: None)
    assert "nvJitLink is not installed (pip install" in refused(APPLY, USER)


def test_without_nvrtc_only_cuda_cpp_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [piece(APPLY, "ltoir", "lib"), piece(USER, "ltoir", "user")]
    monkeypatch.setattr(link_module, "nvrtc_version", lambda: None)
    assert package.link(pieces, arch="90").mode == "lto"
    assert "pip install nvidia-cuda-nvrtc-cu12" in refused(pieces[0], USER)


def test_input_that_is_too_new_for_nvjitlink_is_linked_by_the_driver(monkeypatch: pytest.MonkeyPatch, use: Use) -> None:
    def outdated(*_: Any) -> None:
        raise RefusedError(
            "ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer version of nvJitLink library", True
        )

    major, minor = nvrtc_version() or (0, 0)
    driver = use((9, 0), version=1000 * major + 10 * minor)
    driver.linker.result = compiled(APPLY, "cubin", "90")
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", outdated)
    linked = package.link([APPLY, USER])
    assert (linked.mode, linked.linker) == ("ptx", "the driver's")
    assert "refused it (ERROR 4 in nvvmAddNVVMContainerToProgram, may need newer" in linked.why


def test_pieces_of_one_name_are_numbered() -> None:
    names = ["piece-2.cu", "piece.cu", "piece.cu", "piece.cu", "plain", "plain"]
    made = distinct_names([LinkUnit(name, {"cuda": b""}) for name in names])
    assert [unit.name for unit in made] == ["piece-2.cu", "piece.cu", "piece-3.cu", "piece-4.cu", "plain", "plain-2"]
