"""What a link refuses before nvJitLink sees it, and the options that it gets. Nothing is compiled here."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest

from cuda_wheel.builder import link as device_link
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import EMPTY, Compiled, LinkInput, LinkJob
from cuda_wheel.runtime.manifest import GlobalInfo, Target
from cuda_wheel.runtime.parts.formats.ptx import Symbols
from cuda_wheel.runtime.parts.linking.linkers import undefined_message

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
        device_link._check_kernels(link_of(*inputs, lto=True), known)


class StandInCubin(NamedTuple):
    """What `read_cubin` says of machine code whose bytes are the name of its target."""

    target: Target
    symbols: Symbols = Symbols(frozenset({"f"}), frozenset(), frozenset())


@pytest.fixture
def _stand_in_cubins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_link, "read_cubin", lambda content: StandInCubin(Target.parse(content.decode())))


@pytest.mark.usefixtures("_stand_in_cubins")
@pytest.mark.parametrize(
    "target",
    [
        "sm_90",  # another generation
        "sm_86",  # a later minor
        "sm_80a",  # nvJitLink takes it for sm_80a alone
        "sm_72",
    ],
)
def test_machine_code_for_another_gpu_is_refused_with_its_target(target: str) -> None:
    inputs = [LinkInput("fits.cubin", "cubin", b"sm_80"), LinkInput("other.cubin", "cubin", target.encode())]
    job = replace(link_of(*inputs), arch="80" if target != "sm_80a" else "86")
    with pytest.raises(CompileError) as error:
        device_link._check_inputs(replace(job, inputs=inputs[1:]))
    assert str(error.value) == f"error   : other.cubin is machine code for {target}"
    device_link._check_inputs(replace(link_of(*inputs), inputs=inputs[:1]))


@pytest.mark.usefixtures("_stand_in_cubins")
def test_machine_code_whose_target_may_not_run_on_the_gpu_is_refused() -> None:
    # Nothing says whether desktop machine code runs on the Jetson of the same generation.
    with pytest.raises(CompileError, match="orin is machine code for sm_80"):
        device_link._check_inputs(replace(link_of(LinkInput("orin", "cubin", b"sm_80")), arch="87"))


@pytest.mark.usefixtures("_stand_in_cubins")
def test_a_symbol_that_machine_code_and_ptx_define_is_refused() -> None:
    text = (HEAD + ".visible .func f()\n{\n ret;\n}\n").encode()
    inputs = (LinkInput("a.cubin", "cubin", b"sm_80"), LinkInput("b.cu", "ptx", text), LinkInput("c", "ltoir", b""))
    with pytest.raises(CompileError) as error:
        device_link._check_inputs(link_of(*inputs))
    assert str(error.value) == "error   : Multiple definition of 'f' in 'b.cu', first defined in 'a.cubin'"


def test_a_call_with_other_parameters_than_the_function_has_is_refused_with_both_sources() -> None:
    defined = HEAD + ".visible .func f(.param .b32 a)\n{\n ret;\n}\n"
    called = HEAD + ".extern .func f(.param .b64 a);\n.visible .func g()\n{\n call.uni f, (a);\n}\n"
    inputs = (LinkInput("a.cu", "ptx", defined.encode()), LinkInput("b.cu", "ptx", called.encode()))
    with pytest.raises(CompileError) as error:
        device_link._check_inputs(link_of(*inputs))
    assert {"f", "a.cu", "b.cu"} <= set(re.findall(r"[\w.]+", str(error.value)))


def test_undefined_variables_of_a_whole_module_are_refused_and_functions_left_to_the_assembler() -> None:
    function = ".extern .func f();\n"
    device_link._check_variables(HEAD)
    device_link._check_variables(HEAD + function)
    with pytest.raises(CompileError) as error:
        device_link._check_variables(
            HEAD + ".extern .global .align 4 .u32 a;\n.extern .const .align 4 .u32 b;\n" + function
        )
    assert str(error.value).splitlines() == [undefined_message(name) for name in "abf"]


def variables(*symbols: str) -> tuple[GlobalInfo, ...]:
    return tuple(GlobalInfo(symbol, symbol, 4, "global") for symbol in symbols)


@pytest.mark.parametrize(
    ("symbols", "texts", "kept", "named"),
    [
        (("a", "a$1", "b"), (), ("b",), "a"),
        (("a", "b"), (), ("a", "b"), ""),
        # Each of two texts has a `c` of its own; `d` is shared, and `e` is in one of them.
        (("c", "d", "e"), ("cd", "cde"), ("d", "e"), "c"),
        (("a", "a$1", "c", "d"), ("cd", "cd"), ("d",), "a, c"),
        (("c",), ("c", "c", "c"), (), "c"),
        (("w",), ("w", "w"), ("w",), ""),
    ],
)
def test_variables_that_two_sources_have_for_themselves_are_left_out_with_a_note(
    symbols: tuple[str, ...], texts: tuple[str, ...], kept: tuple[str, ...], named: str
) -> None:
    linkage = {"d": ".visible", "w": ".weak"}
    inputs = [
        LinkInput(
            f"{number}.cu",
            "ptx",
            (HEAD + "".join(f"{linkage.get(s, '')} .global .align 4 .u32 {s};\n" for s in text)).encode(),
        )
        for number, text in enumerate(texts)
    ]
    known = replace(EMPTY, variables=variables(*symbols), kernels={"k": ()})
    result = device_link._without_ambiguous(link_of(LinkInput("z.cu", "ltoir", b"\xff"), *inputs), known)
    reason = "several sources have a static variable of that name"
    note = f"demo.k: note: programs cannot use {named} by name: {reason}"
    assert result == replace(known, variables=variables(*kept), log=note if named else "")
    assert (result is known) is not bool(named)


def test_a_link_knows_all_that_its_texts_say() -> None:
    parts = {
        "a.cu": replace(EMPTY, kernels={"k": ()}, bounds={"k": {"max_threads": 32}}, variables=variables("v", "w")),
        "b.cu": replace(EMPTY, kernels={"l": ()}, bounds={"l": {"max_threads": 64}}, variables=variables("w", "x")),
    }
    assert device_link._merged(parts) == replace(
        EMPTY,
        kernels={"k": (), "l": ()},
        bounds={"k": {"max_threads": 32}, "l": {"max_threads": 64}},
        variables=variables("v", "w", "x"),
    )


def test_machine_code_is_whole_with_every_kernel_and_variable() -> None:
    cubin = SimpleNamespace(kernels={"k": 1, "l": 1}, variables={"v": 1}, private={"p"})
    whole = partial(device_link.is_whole, cast(Any, cubin))
    assert whole(["k"], ["v", "p"]) and whole(["k", "l"], []) and whole([], ["v"])
    assert not whole(["k", "m"], ["v"]) and not whole(["k"], ["v", "q"]) and not whole(["m"], [])


@pytest.mark.parametrize("lineinfo", [False, True])
def test_ptx_of_lto_ir_is_linked_from_that_alone(lineinfo: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def link(*arguments: object) -> tuple[bytes, str, str]:
        calls.append(arguments)
        return b'.file 1 "/cuda/a.h"\n.file 2 "/lib/b.h"\n\0\0', "", ""

    monkeypatch.setattr(device_link.nvjitlink, "link_code_with_logs", link)
    job = link_of(
        LinkInput("a.cu", "ltoir", b"A"), LinkInput("b.cu", "ptx", b""), LinkInput("c", "ltoir", b"C"), lto=True
    )
    job = replace(job, lineinfo=lineinfo, include_dirs=("/cuda",), system_dirs=("/lib",), options=("--ftz=true",))
    text = device_link._lto_text(job)
    assert text == (
        '.file 1 "cuda/a.h"\n.file 2 "system/b.h"\n' if lineinfo else '.file 1 "/cuda/a.h"\n.file 2 "/lib/b.h"\n'
    )
    ((inputs, options, ptx),) = calls
    assert inputs == [("LTOIR", "a.cu", b"A"), ("LTOIR", "c", b"C")] and ptx is True
    assert {"-arch=sm_80", "-lto", "-ftz=1", "-ptx"} <= set(options) and ("-lineinfo" in options) is lineinfo
    assert device_link._lto_text(replace(job, inputs=job.inputs[1:2])) == "" and len(calls) == 1
