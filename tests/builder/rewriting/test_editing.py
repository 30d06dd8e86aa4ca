"""Errors lead to changes of the text: code is rewritten where it can be, and bodies are left out only where all errors allow it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cuda_wheel.builder.rewriting.blocks import SourceBlocks
from cuda_wheel.builder.rewriting.editing import Edits, may_be_rewritten, unmarked_kernels
from cuda_wheel.builder.rewriting.project_texts import LocatedError, Project

pytestmark = pytest.mark.one_toolchain

HASH = '"#" not expected here'
DYNAMIC = "dynamic initialization is not supported for a __device__ variable"
COMPLETE_TYPE = "expression must be a pointer to a complete object type"


def project(
    files: Mapping[str, str],
    library: Mapping[str, str] = {},
    instantiate: tuple[str, ...] = (),
    read: list[str] | None = None,
) -> Project:
    """Return a project whose source is "k.cu", which its library extends, and note the headers that are read."""

    def blocks(path: str) -> SourceBlocks:
        if read is not None and path != "k.cu":
            read.append(path)
        return SourceBlocks(files[path].encode())

    return Project(
        "k.cu",
        blocks,
        lambda name, quoted, includer: name if name in files else None,
        lambda path: path in files and not path.startswith("/"),
        lambda path: project({**files, **library}, read=read) if path in library and path not in files else None,
        instantiate,
    )


def error(message: str, text: str, at: str, file: str = "k.cu") -> LocatedError:
    """Return an error at the first place of a text in a file."""
    before = text[: text.index(at)]
    place = file, before.count("\n") + 1, len(before) - before.rfind("\n")
    return LocatedError((place,), message)


def test_a_text_is_rewritten_once_and_its_lines_stay() -> None:
    text = "#define UNROLL #pragma unroll\n__global__ void k(int* p) {\n  UNROLL\n  for (;;) *p = 1;\n}\n"
    errors = [error(HASH, text, "UNROLL\n")]
    edits = Edits(project({"k.cu": text}), errors)
    assert may_be_rewritten(HASH) and edits.rewrite(errors)
    expected = text.replace("#pragma unroll", '_Pragma("unroll")', 1)
    assert edits.changed_files() == {"k.cu": expected.encode()}
    assert not edits.rewrite(errors)  # nothing is new, and the error is still there
    assert edits.blocking == errors


def test_a_changed_header_is_included_by_a_path_that_reaches_the_change() -> None:
    files = {
        "k.cu": '#include "inc/a.h"\n#include "inc/b.h"\n',
        "inc/a.h": "#define U #pragma unroll\n",
        "inc/b.h": "int same;\n",
    }
    errors = [error(HASH, files["inc/a.h"], "U", "inc/a.h")]
    edits = Edits(project(files), errors)
    assert edits.rewrite(errors)
    assert edits.changed_files() == {
        "k.cu": files["k.cu"].encode(),
        "inc/a.h": b'#define U _Pragma("unroll")\n',
    }


def test_columns_in_rewritten_text_are_those_of_the_original() -> None:
    text = "void f(void* p, void* q) { g(p + 1, q + 2); }\n"
    first, second = error(COMPLETE_TYPE, text, "p + 1"), error(COMPLETE_TYPE, text, "q + 2")
    edits = Edits(project({"k.cu": text}), [first])
    assert edits.rewrite([first])
    (changed,) = edits.changed_files().values()
    longer = error(COMPLETE_TYPE, changed.decode(), "q + 2")
    assert longer.places != second.places
    assert edits.rewrite([longer])
    (changed,) = edits.changed_files().values()
    assert changed.decode().replace("(::cuda_wheel_detail::void_pointer)", "") == text
    assert changed.count(b"void_pointer)q") == 1


def test_a_constant_is_rewritten_only_where_no_other_error_blocks() -> None:
    text = "int count();\nconst int n = count();\nint other = misspelt;\n"
    constant, other = error(DYNAMIC, text, "n ="), error('identifier "misspelt" is undefined', text, "misspelt")
    edits = Edits(project({"k.cu": text}), [constant, other])
    assert not edits.rewrite([constant, other])
    assert edits.blocking == [other]
    assert edits.rewrite([constant])
    assert edits.blocking == []
    assert b"const int n = count();" not in edits.changed_files()["k.cu"]


def test_headers_of_a_library_are_read_only_for_an_error_in_them() -> None:
    library = {"/lib/a.h": "#define U #pragma unroll\n"}
    files = {"k.cu": "#include </lib/a.h>\nint n = misspelt;\n"}
    read: list[str] = []
    wrong = error('identifier "misspelt" is undefined', files["k.cu"], "misspelt")
    edits = Edits(project(files, library, read=read), [wrong])
    assert not edits.rewrite([wrong]) and read == []
    pragma = error(HASH, library["/lib/a.h"], "U", "/lib/a.h")
    edits = Edits(project(files, library, read=read), [pragma])
    assert edits.rewrite([pragma]) and set(read) == {"/lib/a.h"}
    assert b"_Pragma" in edits.changed_files()["/lib/a.h"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__device__ int f() { return misspelt; }\n", 'identifier "misspelt" is undefined'),
        ('#include "misspelt.h"\n', 'cannot open source file "misspelt.h"'),
    ],
)
def test_errors_that_no_change_removes_change_nothing_and_no_header_is_read(text: str, message: str) -> None:
    read: list[str] = []
    files = {"k.cu": f'#include "a.h"\n{text}void host() {{ misspelt(); }}\n', "a.h": "int a;\n"}
    errors = [error(message, files["k.cu"], "misspelt")]
    edits = Edits(project(files, read=read), errors)
    assert not edits.rewrite(errors)
    assert not edits.leave_out(lambda changed: pytest.fail("preprocessed"))
    assert (edits.blocking, edits.left_out(), edits.may_be_hidden(), read) == (errors, (), False, [])


HOST = "__attribute__((global)) void k(int* p) {}\nvoid host() {\n  misspelt();\n}\nvoid other() { more(); }\n"


def left_out(errors: list[LocatedError], preprocessed: bool = True) -> tuple[Edits, bool]:
    edits = Edits(project({"k.cu": HOST}), errors)
    assert not edits.rewrite(errors)
    return edits, edits.leave_out(lambda changed: changed["k.cu"] if preprocessed else None)


def test_the_bodies_with_errors_are_left_out_and_reported() -> None:
    undefined = error('identifier "misspelt" is undefined', HOST, "misspelt")
    edits, succeeded = left_out([undefined])
    assert succeeded and edits.blocking == ()
    (code,) = edits.left_out()
    assert (code.file, code.line, code.last_line, code.name) == ("k.cu", 2, 4, "host")
    changed = edits.changed_files()["k.cu"].decode()
    assert "misspelt" not in changed and "more();" in changed and changed.count("\n") == HOST.count("\n")


def test_no_body_is_left_out_where_another_error_stays() -> None:
    undefined = error('identifier "misspelt" is undefined', HOST, "misspelt")
    heading = error("expected a type", HOST, "other")
    edits, succeeded = left_out([undefined, heading])
    assert not succeeded and edits.left_out() == ()
    assert edits.blocking == [heading] and edits.reason.text.startswith("other is declared here")


def test_no_body_is_left_out_where_nothing_can_be_preprocessed() -> None:
    edits, succeeded = left_out([error('identifier "misspelt" is undefined', HOST, "misspelt")], preprocessed=False)
    assert not succeeded and edits.reason.text == "this NVRTC does not write the preprocessed text"


@pytest.mark.parametrize(
    ("header", "message", "is_hidden"),
    [
        ("#ifndef __CUDACC_RTC__\nint blocks();\n#endif\n", 'identifier "ns::blocks" is undefined', True),
        ("#ifndef __CUDACC_RTC__\nint blocks();\n#endif\n", 'identifier "misspelt" is undefined', False),
        ("#ifndef __CUDACC_RTC__\nint blocks();\n#endif\n", "expected an expression", True),
        ("int blocks();\n", 'identifier "blocks" is undefined', False),
        ("int blocks();\n", "expected an expression", False),
    ],
)
def test_what_a_file_hides_from_nvrtc_may_be_what_an_error_misses(header: str, message: str, is_hidden: bool) -> None:
    text = '#include "a.h"\nint n = used;\n'
    errors = [error(message, text, "used")]
    edits = Edits(project({"k.cu": text, "a.h": header}), errors)
    assert not edits.rewrite(errors)
    assert edits.may_be_hidden() == is_hidden


def test_each_launch_of_a_function_that_is_no_kernel_is_an_error() -> None:
    files = {
        "k.cu": '#include "a.h"\n#define KERNEL __global__\nKERNEL void k() {}\nvoid no();\nvoid pointer();\n'
        "void f() {\n  k<<<1, 1>>>();\n  no<<<1, 1>>>();\n}\nvoid g() { auto pointer = k; pointer<<<1, 1>>>(); }\n",
        "a.h": "template <class T> void wrong(T) {}\ninline void h() { wrong<int><<<1, 1>>>(1); }\n",
    }
    assert sorted(unmarked_kernels(project(files))) == [
        "a.h:2: error: wrong is launched with <<<...>>> and is not a kernel: mark it __global__",
        "k.cu:8: error: no is launched with <<<...>>> and is not a kernel: mark it __global__",
    ]
