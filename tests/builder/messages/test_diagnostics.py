"""Reading compiler logs, with texts from NVRTC, ptxas and nvJitLink of both toolchains."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.messages.diagnostics import is_warning, merge_by_target, read_nvrtc_log

pytestmark = pytest.mark.one_toolchain

ERROR = 'pkg/k.cu(3): error: identifier "y" is undefined\n  {line}\n  {caret}^\n\n1 error detected in the compilation of "pkg/k.cu".\n'
UNUSED = (
    'pkg/k.cu(1): warning #177-D: variable "unused" was declared but never referenced\n  int unused;\n      ^\n\n'
    'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n\n'
)


def read(log: str, root: str = "/project", systems: tuple[str, ...] = ("/toolkit/include",), **more) -> str:
    return str(read_nvrtc_log(log, "pkg/k.cu", root, systems, **more))


@given(st.text("ab \t/*é漢😀", max_size=20))
def test_the_column_counts_characters_whatever_precedes_it(before: str) -> None:
    # Like NVRTC: two spaces, tabs unchanged, and the caret placed by bytes.
    caret = "".join("\t" if sign == "\t" else " " * len(sign.encode()) for sign in before)
    text = read(ERROR.format(line=f"{before}y;", caret=caret)).split("\n")
    assert text[0] == f'pkg/k.cu:3:{len(before) + 1}: error: identifier "y" is undefined'
    assert text[1] == f"  {before}y;"
    assert len(text[2]) == len(before) + 3
    assert len(text) == 3


def test_the_count_of_errors_is_left_out_after_a_catastrophic_error() -> None:
    log = ERROR.format(line="y;", caret="").replace(
        " in the compilation of", "\n and 1 catastrophic error detected in the"
    )
    assert log.endswith('1 error detected\n and 1 catastrophic error detected in the "pkg/k.cu".\n')
    assert "detected" not in read(log)


def test_errors_come_first_and_without_duplicates() -> None:
    twice = ERROR.format(line="y;", caret="") * 2
    text = read(f'{UNUSED}{twice}2 errors detected in the compilation of "pkg/k.cu".\n')
    assert text.count("error: identifier") == 1
    assert text.index("error: ") < text.index("pkg/k.cu:1:5: warning: variable")
    assert "detected" not in text
    assert "Remark" not in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('At end of source: error: expected a "}"', 'pkg/k.cu: error: expected a "}" (at end of source)'),
        ("k.cu(2): error #20: no", "k.cu:2: error: no [#20]"),
        ("k.cu(2): Error: Formal parameter space overflowed", "k.cu:2: error: Formal parameter space overflowed"),
        ('k.cu(2): catastrophic error: cannot open source file "a"', 'k.cu:2: error: cannot open source file "a"'),
        ("pkg/sub/../../a/./h.h(2): error: no", "a/h.h:2: error: no"),
        ("../up.h(2): error: no", "../up.h:2: error: no"),
        ("/project/pkg/h.h(2): error: no", "pkg/h.h:2: error: no"),
        ("/toolkit/include/h.h(2): error: no", "/toolkit/include/h.h:2: error: no"),
        ("ptxas fatal   : Unresolved extern function 'f'", "pkg/k.cu: error: ptxas: Unresolved extern function 'f'"),
        ("ptxas application ptx input, line 21; error   : no", "pkg/k.cu: error: ptxas: no"),
        ("\0ptxas error   : no", "pkg/k.cu: error: ptxas: no"),
        ("error   : no\nERROR 1: finish", "pkg/k.cu: error: ptxas: no"),
        ("ptxas warning : slow", "pkg/k.cu: warning: ptxas: slow"),
        ("/toolkit/include/h.h(2): warning #1-D: old\n  x\n  ^", ""),
        ("ptxas info    : Used 10 registers\nptxas         .     0 bytes stack frame", ""),
    ],
)
def test_all_diagnostics_have_one_form(line: str, expected: str) -> None:
    assert read(line) == expected


def test_details_and_notes_stay_with_their_error() -> None:
    log = (
        UNUSED + "pkg/k.cu(2): error: no instance matches\n            argument types are: (int)\n  f(1)\n  ^\n"
        "pkg/h.h(7): note #3322-D: number of parameters\n  int f();\n      ^\n"
        '          detected during instantiation of "g" at line 5 of pkg/sub/../k.cu\n'
    )
    assert read(log).split("\n\n")[0] == (
        "pkg/k.cu:2:1: error: no instance matches\n            argument types are: (int)\n  f(1)\n  ^\n"
        "pkg/h.h:7:5: note: number of parameters [#3322-D]\n  int f();\n      ^\n"
        '          detected during instantiation of "g" at line 5 of pkg/k.cu'
    )


def test_original_lines_are_shown_if_the_compiler_was_given_changed_lines() -> None:
    log = ERROR.format(line="const int a = 1;       y;", caret=" " * 23)
    lines = ["", "", "const int a = 1; b();  y;\r", ""]
    assert read(log, original_lines=lambda file: lines).split("\n")[:3] == [
        'pkg/k.cu:3:24: error: identifier "y" is undefined',
        "  const int a = 1; b();  y;",
        "                         ^",
    ]


@given(st.text("k.cu(1): error#warning\n\0 ^ptxas;", max_size=80))
def test_any_text_can_be_read(log: str) -> None:
    assert read(read(log)).count("\0") == 0


def test_a_warning_of_several_targets_is_merged() -> None:
    assert merge_by_target(
        {"sm_80": "a: warning: x\n\nb", "sm_90": "a: warning: x", "sm_75": "a: warning: x\n\nb"}
    ) == [
        "a: warning: x",
        "b\n  only for sm_80, sm_75",
    ]
    assert is_warning("a:1:2: warning: x")
    assert not is_warning("a:1:2: remark: x\n  b: warning: y")


def test_reading_a_log_imports_no_other_module_of_the_builder() -> None:
    program = "import sys; before = set(sys.modules); import cuda_wheel.builder.messages.diagnostics; print(*set(sys.modules) - before)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {name for name in result.stdout.split() if name.startswith("cuda_wheel.builder.")} - {
        "cuda_wheel.builder.messages",
        "cuda_wheel.builder.messages.diagnostics",
    }
