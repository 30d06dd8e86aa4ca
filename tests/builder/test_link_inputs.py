"""Every kind of file that nvJitLink takes is a source, and what is wrong with one is reported."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from cuda_wheel.builder.sources.source_files import faulty
from tests.support.linked_projects import (
    MAIN,
    PART_IR,
    TABLE,
    Build,
    Built,
    cubins,
    table,
)
from tests.support.linker_inputs import COMPLETE, archive, object_file

IN_BOTH = [
    "cubin", "ptx", "fatbin of cubin", "fatbin of ptx", "o of cubin", "o of ptx", "obj of cubin", "a of cubin",
    "a of ptx", "lib of cubin",
]  # fmt: skip
IN_LTO = ["ltoir", "fatbin of ltoir", "o of ltoir", "a of ltoir"]


def with_parts(build: Build, cases: Iterable[tuple[str, str, bytes]]) -> tuple[Built, dict[str, tuple[str, str]]]:
    """Build a module of MAIN and another file for each case: how to link, the file's ending and its content.

    Return the result, and the ways and files by the modules' names.
    """
    names, files = {}, {"demo/k.cu": MAIN}
    for number, (link, ending, content) in enumerate(cases):
        names[f"demo.m{number}"] = link, (name := f"demo/part{number}.{ending}")
        files[name] = content
    tables = (table(module, sources=["demo/k.cu", name], link=link) for module, (link, name) in names.items())
    return build(*tables, files=files), names


@pytest.mark.slow
def test_every_input_kind_of_nvjitlink_is_linked(build: Build, part, cuobjdump) -> None:
    cases = [*(("ptx", kind) for kind in IN_BOTH), *(("lto", kind) for kind in IN_BOTH + IN_LTO)]
    built, names = with_parts(build, ((link, kind.partition(" ")[0], part(kind)) for link, kind in cases))
    assert built.status == 0, built.output
    assert built.modules.keys() == names.keys()
    for (module, (_, name)), kind in zip(names.items(), cases, strict=True):
        manifest = built.modules[module]
        assert manifest.sources == ("demo/k.cu", name)
        assert [kernel.name for kernel in manifest.kernels] == ["k"]
        assert [(each.type, each.cpp) for each in manifest.kernels[0].parameters] == [("u64", "float*")]
        (content,) = built.images(module).values()
        assert TABLE in content, kind
        assert "_Z1kPf" in cuobjdump("-elf", built.folder / f"{module.replace('.', '/')}.fatbin"), kind


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
@pytest.mark.parametrize("ending", ["ll", "bc"])
def test_nvvm_ir_is_linked_with_libdevice(link: str, ending: str, build: Build, nvvm, cuobjdump) -> None:
    ir = PART_IR.encode() if ending == "ll" else (Path(__file__).parents[1] / "data" / "nvvm/root.bc").read_bytes()
    main = MAIN if ending == "ll" else "__global__ void k(float* x) { *x = 1; }"
    built = build(
        table(sources=["demo/k.cu", f"demo/part.{ending}"], link=link),
        files={"demo/k.cu": main, f"demo/part.{ending}": ir},
        architectures="80",
    )
    assert built.status == 0, built.output
    images = built.images()
    assert set(images) == {("", "cubin", "sm_80"), ("", "ptx", "compute_80")}
    if ending == "ll":
        assert TABLE in images["", "cubin", "sm_80"]
        assert b"sqrt.rn" in images["", "ptx", "compute_80"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_input_kinds_can_be_mixed(link: str, build: Build, part, nvvm) -> None:
    """A kernel calls a chain of functions, each in a file of a different kind."""
    names = ["cubin", "ptx", "fatbin", "o", "a", *(["ltoir"] if link == "lto" else [])]
    calls = "".join(f'extern "C" __device__ float f{index}(float x);\n' for index in range(len(names)))
    main = calls + "__global__ void k(float* x) { *x = " + "".join(f"f{i}(" for i in range(len(names))) + "part(*x)"
    files: dict[str, str | bytes] = {
        "demo/k.cu": 'extern "C" __device__ float part(float x);\n' + main + ")" * len(names) + "; }",
        "demo/part.ll": PART_IR,
    }
    for index, ending in enumerate(names):
        text = f'__device__ unsigned t{index} = {0xABCDE000 + index}u;\nextern "C" __device__ float f{index}(float x) {{ return x + t{index}; }}'
        files[f"demo/part.{ending}"] = part(ending, text=text)
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    (content,) = built.images().values()
    assert TABLE in content
    for index in range(len(names)):
        assert struct.pack("<I", 0xABCDE000 + index) in content


@pytest.mark.slow
def test_an_input_for_another_architecture_is_reported(build: Build, part) -> None:
    kinds = ["ptx", "cubin", "fatbin of cubin", "o of cubin", "a of cubin", "ltoir"]
    contents_of = {kind: part(kind, "90") for kind in kinds}
    cases = [(link, kind.partition(" ")[0], contents_of[kind]) for link in ("ptx", "lto") for kind in kinds]
    built, names = with_parts(build, cases)
    assert built.status == 1
    messages = built.messages()
    assert messages.keys() == names.keys()
    for module, (_, name) in names.items():
        assert f"{module} (demo/k.cu, {name}) does not link for sm_80 with nvJitLink" in messages[module]
        whose = "LTO-IR and PTX are" if name.endswith(("ptx", "ltoir")) else "machine code, in whatever file, is"
        assert f"help: {whose} for" in messages[module]
        if name.endswith("cubin"):
            assert f"error   : {name} is machine code for sm_90" in messages[module]
    assert "Traceback" not in built.output
    assert not built.folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "arch", "architectures"),
    [("ptx", "75", "80-real;90-real"), ("ltoir", "75", "80;90"), ("cubin", "80", "80-real;86-real")],
)
def test_an_input_for_an_earlier_architecture_links_for_later_ones(
    ending: str, arch: str, architectures: str, build: Build, part
) -> None:
    name = f"demo/part.{ending}"
    built = build(
        table(sources=["demo/k.cu", name], link="lto" if ending == "ltoir" else "ptx"),
        files={"demo/k.cu": MAIN, name: part(ending, arch)},
        architectures=architectures,
    )
    assert built.status == 0, built.output
    assert all(TABLE in content for content in cubins((built.modules["demo.m"], built.fatbins["demo.m"])).values())


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["ptx", "cubin", "fatbin of cubin", "o of cubin", "a of cubin", "ltoir"])
def test_a_file_whose_content_does_not_match_its_suffix_is_reported(ending: str, build: Build, part) -> None:
    whole = part(ending)
    ending = ending.partition(" ")[0]
    kind = {"o": "object", "a": "library"}.get(ending, ending)
    wrong = {"empty": b"", "text": b"hello\n" * 100}
    if ending not in ("ptx", "ltoir"):  # the compiler reports errors in these
        wrong |= {f"short{percent}": whole[: len(whole) * percent // 100] for percent in (1, 30, 60, 99)}
    names = [f"demo/{name}.{ending}" for name in wrong]
    built = build(
        *(table(f"demo.{name}", sources=[f"demo/{name}.{ending}"], link="lto") for name in wrong),
        files=dict(zip(names, wrong.values(), strict=True)),
    )
    assert built.status == 1
    assert f"demo/empty.{ending} is empty." in built.output
    for name, content in wrong.items():
        if content and not (name == "text" and kind == "object"):
            assert faulty(kind, content), name
    assert faulty(kind, whole) is None


@pytest.mark.slow
def test_a_truncated_input_is_reported_with_the_compilers_log(build: Build, part) -> None:
    cases = []
    for ending in ("ptx", "ltoir"):
        content = part(ending).rstrip()
        short = [content[: len(content) * percent // 100] for percent in (40, 60, 80, 99)]
        cases += [(link, ending, each) for link in ("ptx", "lto") for each in short]
    built, names = with_parts(build, cases)
    assert built.status == 1
    messages = built.messages()
    assert messages.keys() == names.keys()
    for module, (_, name) in names.items():
        assert f"{module} (demo/k.cu, {name}) does not link for sm_80" in messages[module]
        assert name in messages[module].partition("does not link")[2] or "'part'" in messages[module]
    assert "Traceback" not in built.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "sections", "message"),
    [
        ("o", {".text": b"\xc3"}, "demo/part.o holds no device code."),
        (
            "o",
            {COMPLETE: b""},
            "demo/part.o holds device code that cannot be linked any more: compile it with nvcc -rdc",
        ),
        ("a", {".text": b"\xc3"}, "demo/part.a holds no device code."),
        (
            "cubin",
            {".text": b"\xc3"},
            "demo/part.cubin is not a valid cubin: it is an ELF file for machine 62",
        ),
    ],
)
def test_an_object_without_device_code_to_link_is_reported(ending: str, sections, message: str, build: Build) -> None:
    content = object_file(sections)
    name = f"demo/part.{ending}"
    built = build(
        table(sources=["demo/k.cu", name], link="ptx"),
        files={"demo/k.cu": MAIN, name: archive(part=content) if ending == "a" else content},
    )
    assert built.status == 1
    assert message in built.output
