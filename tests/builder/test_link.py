"""What a link refuses before nvJitLink sees it, and the options that it gets. Nothing is compiled here."""

from __future__ import annotations

import pytest

from cuda_wheel.builder import link as device_link
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import EMPTY, Compiled, LinkInput, LinkJob

pytestmark = pytest.mark.one_toolchain

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def link_of(*inputs: LinkInput, lto: bool = False, options: tuple[str, ...] = ("--std=c++17",)) -> LinkJob:
    return LinkJob(
        module="demo.k",
        arch="80",
        real=True,
        lto=lto,
        inputs=inputs,
        options=options,
        lineinfo=False,
        ptx_version="auto",
        include_dirs=(),
    )


@pytest.mark.parametrize(
    "definition",
    [
        ".visible .func f()\n{\n ret;\n}\n",
        ".visible .global .align 4 .u32 f;\n",
        ".visible .const .align 4 .u32 f = 1;\n",
    ],
)
def test_a_symbol_that_two_sources_define_is_refused_with_both(definition: str) -> None:
    inputs = [LinkInput(f"demo/{name}.cu", "ptx", (HEAD + definition).encode()) for name in "abc"]
    with pytest.raises(CompileError) as error:
        device_link._check_inputs(link_of(*inputs))  # nvJitLink reports some of them, and crashes for others
    assert str(error.value).splitlines() == [
        f"error   : Multiple definition of 'f' in 'demo/{name}.cu', first defined in 'demo/a.cu'" for name in "bc"
    ]


def test_a_symbol_that_one_source_defines_and_another_declares_is_not_refused() -> None:
    defined = HEAD + ".visible .func f()\n{\n ret;\n}\n"
    inputs = [("a", defined), ("b", HEAD + ".extern .func f();\n"), ("c", HEAD + ".weak .func f()\n{\n ret;\n}\n")]
    device_link._check_inputs(link_of(*(LinkInput(f"{name}.cu", "ptx", text.encode()) for name, text in inputs)))


def test_two_kernels_of_one_symbol_are_refused_although_neither_is_shared() -> None:
    one = Compiled(**{**vars(EMPTY), "kernels": {"_Z1kv": ()}})
    with pytest.raises(CompileError, match=r"Multiple definition of '_Z1kv' in 'b\.cu', first defined in 'a\.cu'"):
        device_link._merged({"a.cu": one, "b.cu": one})


def test_a_link_of_lto_ir_gets_the_floating_point_options_and_others_get_none() -> None:
    exact = ("--std=c++17", "--fmad=false", "--ftz=true")
    assert device_link._lto_options(link_of(lto=False, options=exact)) == []
    assert device_link._lto_options(link_of(lto=True)) == ["-lto"]
    options = device_link._lto_options(link_of(lto=True, options=exact))
    assert options[0] == "-lto" and {"-fma=0", "-ftz=1"} <= set(options)


@pytest.mark.parametrize(
    ("names", "where"),
    [
        ("ab", r"in 'b\.cu', first defined in 'a\.cu'"),
        ("abc", r"in two of a\.cu, b\.cu, c\.cu"),  # LTO-IR does not tell which
    ],
)
def test_static_kernels_of_one_name_in_lto_ir_are_refused(names: str, where: str) -> None:
    known = Compiled(**{**vars(EMPTY), "kernels": {"_Z2stv": (), "_Z2stv$1": ()}})
    inputs = (LinkInput(f"{name}.cu", "ltoir", b"") for name in names)
    with pytest.raises(CompileError, match=rf"Multiple definition of '_Z2stv' {where}$"):
        device_link._without_ambiguous(link_of(*inputs, lto=True), known)
