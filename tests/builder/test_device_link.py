"""Modules with several sources: compiled separately, linked by nvJitLink, and inspected with NVIDIA's tools."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.jobs import LinkInput, LinkJob
from cuda_wheel.builder.link import link_job
from cuda_wheel.builder.sources.source_files import faulty
from cuda_wheel.builder.toolchain.find import find_nvvm
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.nvvm import DATA_LAYOUT, TRIPLE
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from tests.support.linker_inputs import COMPLETE, archive, fatbin, object_file, relocatable, with_device_code
from tests.support.projects import FIXTURES
from tests.support.wheels import contents

Command = Callable[..., subprocess.CompletedProcess[str]]
Build = Callable[..., "Built"]

MAIN = """\
extern "C" __device__ float part(float x);
__global__ void k(float* x) { *x = part(*x); }
"""
PART = """\
__device__ unsigned table[2] = {0xc0ffee00u, 0xdecafbadu};
extern "C" __device__ float part(float x) { return x * 3 + (float)table[threadIdx.x & 1]; }
"""
TABLE = struct.pack("<II", 0xC0FFEE00, 0xDECAFBAD)
"""Bytes that an image contains if PART is linked into it."""

PART_IR = f"""\
target datalayout = "{DATA_LAYOUT}"
target triple = "{TRIPLE}"
@table = addrspace(1) global [2 x i32] [i32 3237998080, i32 3737844653], align 4
define float @part(float %x) {{
  %at = getelementptr inbounds [2 x i32], [2 x i32] addrspace(1)* @table, i64 0, i64 1
  %word = load i32, i32 addrspace(1)* %at, align 4
  %number = uitofp i32 %word to float
  %root = call float @__nv_sqrtf(float %x)
  %sum = fadd float %root, %number
  ret float %sum
}}
declare float @__nv_sqrtf(float)
!nvvmir.version = !{{!0}}
!0 = !{{i32 2, i32 0}}
"""


class Built:
    """The result of a build: its exit status, its output, and the modules by name."""

    def __init__(self, result: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.status, self.output, self.folder = result.returncode, result.stdout, folder
        self.modules: dict[str, Manifest] = {}
        self.fatbins: dict[str, bytes] = {}
        for path in sorted(folder.rglob("*.fatbin.json")):
            manifest = Manifest.from_json(path.read_bytes(), str(path))
            self.modules[manifest.name] = manifest
            self.fatbins[manifest.name] = path.with_suffix("").read_bytes()

    def images(self, name: str = "demo.m") -> dict[tuple[str, str, str], bytes]:
        """Return a module's images by source ("" for loadable images), kind and target."""
        return {
            (image.source or "", image.kind, str(image.target)): cut(image, self.fatbins[name])
            for image in self.modules[name].images
        }

    def messages(self) -> dict[str, str]:
        """Return the error message of each module that did not link, by the module's name."""
        blocks = self.output.replace("\ncuda-wheel: demo.", "\n\ndemo.").split("\n\n")
        return {block.partition(" (")[0]: block for block in blocks if re.match(r"demo\.\w+ \(", block)}


def cut(image: Image, fatbin: bytes) -> bytes:
    assert image.offset is not None
    return fatbin[image.offset : image.offset + image.size]


def table(name: str = "demo.m", **settings: object) -> str:
    """Return a module's table in TOML."""
    lines = [f"{key.replace('_', '-')} = {_value(value)}" for key, value in {"name": name, **settings}.items()]
    return "\n".join(["[[tool.cuda-wheel.module]]", *lines, ""])


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_value(its)}" for key, its in value.items()) + "}"
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, (list, tuple)) else f"'{value}'"


@pytest.fixture
def build(make_project, cuda_wheel: Command, tmp_path: Path) -> Build:
    """Return a function that builds the project `demo`, which has these module tables and files."""

    def build(
        *tables: str, files: Mapping[str, str | bytes], shared: str = "", architectures: str = "80-real"
    ) -> Built:
        head = f"[tool.cuda-wheel]\nsources = []\narchitectures = '{architectures}'\n{shared}\n"
        head = head.replace("sources = []\n", "")
        project = make_project(head + "\n".join(tables), **files)
        out = tmp_path / "out"
        return Built(cuda_wheel("build", project, "-o", out), out)

    return build


PARENT = """
__global__ void child(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
extern "C" __global__ void parent(float* x, int n) { if (threadIdx.x == 0) child<<<(n + 127) / 128, 128>>>(x, n); }
"""


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_a_kernel_that_launches_a_kernel_is_linked_with_the_device_runtime(build: Build, link: str) -> None:
    built = build(table(sources=["demo/p.cu"], link=link), files={"demo/p.cu": PARENT}, architectures="80-real")
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert [(info.name, [each.cpp for each in info.parameters]) for info in manifest.kernels] == [
        ("child", ["float*", "int"]),
        ("parent", ["float*", "int"]),
    ]
    (image,) = built.images().values()
    cubin = read_cubin(image)
    assert "__cudaCDP2LaunchDeviceV2" in cubin.symbols.defined
    # Nothing is left to whoever loads the image but what the driver and the assembler define.
    assert not {name for name in cubin.symbols.undefined if "CDP" in name}
    assert set(manifest.images[0].resources) == {"_Z5childPfi", "parent"}


def test_ptx_cannot_launch_kernels_and_says_so(build: Build) -> None:
    built = build(table(sources=["demo/p.cu"], link="lto"), files={"demo/p.cu": PARENT}, architectures="80")
    assert built.status == 1
    assert "with which PTX for compute_80 cannot be linked: name real targets only" in built.output


def test_without_the_device_runtime_the_error_names_the_package(
    workers: Workers, toolchain: Toolchain, part: Callable[..., bytes]
) -> None:
    job = LinkJob(
        "demo.m", "80", True, False, (LinkInput("p.cu", "ptx", part("ptx", text=PARENT)),), (), False, "auto", ()
    )
    with pytest.raises(CompileError, match=r"libcudadevrt\.a, which is not installed: install nvidia-cuda-runtime "):
        workers.submit(link_job, job).result()


def test_code_without_launches_gets_no_device_runtime(
    workers: Workers, toolchain: Toolchain, part: Callable[..., bytes]
) -> None:
    inputs = (LinkInput("p.cu", "ptx", part("ptx")), LinkInput("m.cu", "ptx", part("ptx", text=MAIN)))
    job = LinkJob("demo.m", "80", True, False, inputs, (), False, "auto", toolchain.header_folders)
    linked = workers.submit(link_job, job).result()
    assert linked == workers.submit(link_job, replace(job, include_dirs=())).result()


@pytest.fixture(scope="session")
def nvvm(workers: Workers, toolchain: Toolchain, extra: str) -> None:
    """Skip the test if libNVVM is not installed."""
    try:
        workers.submit(find_nvvm, toolchain).result()
    except ToolchainError as error:
        assert extra != "cu12", "cuda-wheel[cu12] brings libNVVM"
        pytest.skip(str(error))


@pytest.fixture
def part(workers: Workers, toolchain: Toolchain) -> Callable[..., bytes]:
    """Return a function that compiles PART or another source to a file, such as "ptx" or "fatbin of cubin"."""

    def make(ending: str, arch: str = "80", text: str = PART) -> bytes:
        name, _, within = ending.partition(" of ")
        inner = within or {"ptx": "ptx", "ltoir": "ltoir"}.get(name, "cubin")
        code = relocatable(workers, toolchain, text, inner, arch)  # type: ignore[arg-type]
        if name in ("ptx", "ltoir", "cubin"):
            return code
        packed = fatbin(workers, (inner, arch, code))  # type: ignore[arg-type]
        if name == "fatbin":
            return packed
        packed = with_device_code(packed)
        return archive(other=object_file({".text": b"\xc3"}), part=packed) if name in ("a", "lib") else packed

    return make


# --- every kind of source -----------------------------------------------------------------------------

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


# --- errors -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_an_undefined_symbol_is_reported_by_its_cpp_name_and_places(link: str, build: Build) -> None:
    main = (
        "namespace geo { struct Box { float w; }; __device__ float area(const Box& box, int* n); }\n"
        "extern __constant__ float scale;\n"
        "__global__ void k(float* x, int* n)\n{\n    *x = scale * geo::area(geo::Box{*x}, n);\n}\n"
    )
    built = build(
        table(sources=["demo/k.cu", "demo/other.cu"], link=link),
        table("demo.good", sources=["demo/good.cu"]),
        files={
            "demo/k.cu": main,
            "demo/other.cu": "__device__ float other(float x) { return x; }\n",
            "demo/good.cu": "__global__ void good() {}",
        },
        architectures="80;90",
    )
    assert built.status == 1
    assert "Traceback" not in built.output
    assert re.search(r"demo\.m \(demo/k\.cu, demo/other\.cu\) does not link for \w+ with nvJitLink", built.output)
    assert "geo::area(const geo::Box&, int*)" in built.output
    assert "geo::area(const geo::Box&, int*), mentioned at demo/k.cu:1, demo/k.cu:5" in built.output
    assert "_ZN3geo" not in built.output
    assert built.output.count("does not link") == 1
    assert not built.folder.exists()


@pytest.mark.slow
def test_an_undefined_variable_is_reported(build: Build, part) -> None:
    declarations = {
        "__device__ float scale": "scale",
        "__constant__ float scale[]": "scale[*x > 1]",
        "__device__ int2 scale[4]": "scale[*x > 1].x",
    }
    kinds = ["cu", "ptx", "cubin", "fatbin of cubin", "o of cubin"]
    others = {f"demo/other{kind[0]}.{kind.partition(' ')[0]}": PART if kind == "cu" else part(kind) for kind in kinds}
    sources = {
        f"demo/k{number}.cu": f"extern {declared};\n__global__ void k(float* x) {{ *x = {use}; }}\n"
        for number, (declared, use) in enumerate(declarations.items())
    }
    ways = [(link, source, other) for link in ("ptx", "lto") for source in sources for other in others]
    cases = {f"demo.m{number}": way for number, way in enumerate(ways)}
    tables = (table(name, sources=[source, other], link=link) for name, (link, source, other) in cases.items())
    built = build(*tables, files=others | sources)
    assert built.status == 1
    messages = built.messages()
    assert messages.keys() == cases.keys()
    for name, (_, source, other) in cases.items():
        assert f"{name} ({source}, {other}) does not link for" in messages[name]
        assert f"  scale, mentioned at {source}:1, {source}:2" in messages[name]


@pytest.mark.slow
def test_a_duplicate_definition_is_reported(build: Build, part) -> None:
    text = "__device__ int part(float x, int n) { return x * n; }\n"
    kinds = ("cu", "ptx", "cubin", "o of cubin", "a of cubin")
    cases = [*(("ptx", kind) for kind in kinds), ("lto", "cu"), ("lto", "ltoir")]
    files: dict[str, str | bytes] = {
        "demo/a.cu": text + "__global__ void k(int* n) { *n = part(2, *n); }\n",
        "demo/good.cu": "__global__ void good(int* n) { *n = 1; }",
        "demo/nothing.cu": "",
    }
    tables, expected = [], {}
    for number, (link, kind) in enumerate(cases):
        name = f"demo/b{number}.{kind.partition(' ')[0]}"
        files[name] = text if kind == "cu" else part(kind, text=text)
        several = {"architectures": "80-real;90-real"} if kind == "cu" else {}
        for module, sources in ((f"demo.m{number}", ["demo/a.cu", name]), (f"demo.n{number}", [name, "demo/a.cu"])):
            tables.append(table(module, sources=sources, link=link, **several))
            expected[module] = ", ".join(sources)
    linked = (table(f"demo.{link}", sources=["demo/good.cu", "demo/nothing.cu"], link=link) for link in ("ptx", "lto"))
    built = build(*tables, *linked, files=files)
    assert built.status == 1
    messages = built.messages()
    assert messages.keys() == expected.keys()
    for module, sources in expected.items():
        assert f"{module} ({sources}) does not link for sm_" in messages[module]
        assert "part(float, int)" in messages[module]
        assert "mentioned at demo/a.cu:1, demo/a.cu:2" in messages[module] or not sources.startswith("demo/a.cu")
        assert "help: define it in one source" in messages[module]
    assert "Traceback" not in built.output
    assert not built.folder.exists()


# --- the fixture of linked sources ------------------------------------------------------------------------

WAYS = ["optimised", "separate", "whole"]


@pytest.fixture(scope="session")
def linked(fixture_wheel) -> dict[str, tuple[Manifest, bytes]]:
    """Return the manifests and fatbins of the fixture's modules, by the last part of their names."""
    files = contents(fixture_wheel("linked"))
    return {
        name: (
            Manifest.from_json(files[f"linked_demo/kernels/{name}.fatbin.json"], name),
            files[f"linked_demo/kernels/{name}.fatbin"],
        )
        for name in WAYS
    }


def unnamed(manifest: Manifest) -> list[KernelInfo]:
    """Return a module's kernels without the names of their parameters."""
    return [
        kernel._replace(parameters=tuple(parameter._replace(name="") for parameter in kernel.parameters))
        for kernel in manifest.kernels
    ]


def cubins(module: tuple[Manifest, bytes]) -> dict[str, bytes]:
    manifest, fatbin = module
    found = {str(image.target): cut(image, fatbin) for image in manifest.images if image.kind == "cubin"}
    assert found
    return found


@pytest.mark.slow
def test_linked_sources_use_the_same_resources_as_one_source(linked) -> None:
    resources = {
        name: {str(image.target): image.resources for image in linked[name][0].images if image.kind == "cubin"}
        for name in WAYS
    }
    assert resources["optimised"] == resources["whole"]
    assert resources["whole"].keys() == {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}
    # The whole module's one source includes the others, and the names of parameters are read from a module's sources only.
    assert unnamed(linked["separate"][0]) == unnamed(linked["whole"][0])
    assert linked["optimised"][0].globals == linked["separate"][0].globals == linked["whole"][0].globals


@pytest.mark.slow
def test_lto_inlines_calls_across_sources(linked, nvdisasm, tmp_path: Path) -> None:
    instructions: dict[str, dict[str, list[str]]] = {}
    for name in WAYS:
        for target, cubin in cubins(linked[name]).items():
            path = tmp_path / f"{name}-{target}.cubin"
            path.write_bytes(cubin)
            code = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][\w.]+)", nvdisasm(path), re.MULTILINE)
            instructions.setdefault(target, {})[name] = code
    assert instructions
    for target, code in instructions.items():
        calls = {name: sum(each.startswith(("CALL", "JCAL")) for each in code[name]) for name in WAYS}
        assert calls["optimised"] == calls["whole"], target
        assert calls["separate"] > calls["whole"], target
        assert len(code["optimised"]) == len(code["whole"]), target


def test_initial_values_are_in_the_linked_image(linked, cuobjdump, tmp_path: Path) -> None:
    for name in WAYS:
        for cubin in cubins(linked[name]).values():
            path = tmp_path / "image.cubin"
            path.write_bytes(cubin)
            sections = re.split(r"^(?=\.(?:nv|section))", cuobjdump("-elf", path), flags=re.MULTILINE)
            constants = next(each for each in sections if re.match(r"\.nv\.constant3\n", each))
            assert sorted(re.findall(r"0x[0-9a-f]{8}", constants)) == ["0x3e000000", "0x3e800000", "0x3f000000"]
            variables = next(each for each in sections if re.match(r"\.nv\.global\.init\n", each))
            assert re.findall(r"0x[0-9a-f]{8}", variables) == ["0x000003e8", "0x00000000"]


@pytest.mark.slow
@pytest.mark.parametrize("release", ["12.2", "12.8"])
def test_linked_ptx_assembles_with_older_assemblers(
    release: str, linked, build: Build, ptxas, cuobjdump, tmp_path: Path
) -> None:
    names = ["force.cu", "nbody.cu", "nbody.cuh", "state.cu"]
    files = {f"demo/{name}": (FIXTURES / "linked/src/linked_demo/kernels" / name).read_text() for name in names}
    sources = [f"demo/{name}" for name in names if name.endswith(".cu")]
    built = build(
        table(sources=sources, link="lto"),
        table("demo.p", sources=sources, link="ptx"),
        files=files,
        architectures="80;90",
    )
    assert built.status == 0, built.output
    texts = {target: content for (_, kind, target), content in built.images().items() if kind == "ptx"}
    linked_ptx = {target: content for (_, kind, target), content in built.images("demo.p").items() if kind == "ptx"}
    assert linked_ptx.keys() == texts.keys() == {"compute_80", "compute_90"}
    for (_, kind, target), content in built.images("demo.p").items():
        assert kind == "cubin" or content == texts[target]  # PTX is always linked from LTO-IR
    for target, content in texts.items():
        path = tmp_path / "image.ptx"
        path.write_bytes(content)
        assert ptxas(release, path, target.removeprefix("compute_")) == ""
    versions = {str(image.target): image.ptx_version for image in built.modules["demo.m"].images if image.kind == "ptx"}
    assert versions == {"compute_80": (7, 0), "compute_90": (7, 8)}


# --- reading machine code -----------------------------------------------------------------------------------

KERNELS = """\
struct Odd { char c[3]; };
struct Big { double d[5]; };
struct Empty {};
__device__ __noinline__ float helper(float x) { float v[8]; for (int i = 0; i < 8; ++i) v[i] = x * i; return v[(int)x & 7]; }
__global__ void none() {}
extern "C" __global__ void mixed(char a, double b, short c, Odd d, float* e, Big f, bool g) { *e = helper(*e) + b + c; }
__global__ void __launch_bounds__(64) small(float* x, Empty e, int n) { x[threadIdx.x] = n; }
namespace { __global__ void hidden(int* x) { *x = 1; } }
"""


@pytest.mark.parametrize("arch", ["75", "80", "90a", "100", "120"])
def test_cubins_are_read_as_cuobjdump_reads_them(
    arch: str, workers: Workers, toolchain: Toolchain, cuobjdump, tmp_path: Path
) -> None:
    for text in (
        KERNELS,
        "#include <cuda_fp16.h>\n__global__ void h(__half2 a, const __grid_constant__ int b, __half* c) { *c = a.x; }",
    ):
        cubin = workers.submit(
            compile_text,
            {
                "library": toolchain.libraries[0],
                "folder": ".",
                "text": text.encode(),
                "name": "k.cu",
                "options": [f"-arch=sm_{arch}", *(f"-I{folder}" for folder in toolchain.include_dirs)],
                "expressions": [],
            },
        ).result()["cubin"]
        path = tmp_path / "k.cubin"
        path.write_bytes(cubin)
        usage = dict(re.findall(r"Function (\S+):\s+REG:(\d+)", cuobjdump("-res-usage", path)))
        listing = cuobjdump("-elf", path)
        found = read_cubin(cubin).kernels
        assert found
        assert {symbol: str(entry.registers) for symbol, entry in found.items()}.items() <= usage.items()
        kernels = set(re.findall(r"FUNC\s+\w+\s+\w+\s+ENTRY\s+\w+\s+(\S+)", listing))
        assert set(found) == kernels
        for symbol, entry in found.items():
            section = re.search(rf"^\.nv\.info\.{re.escape(symbol)}\n((?:\s.*\n)*)", listing, re.MULTILINE)
            listed = re.findall(
                r"Ordinal : 0x(\w+)\s+Offset  : 0x(\w+)\s+Size    : 0x(\w+)", section[1] if section else ""
            )
            expected = sorted((int(ordinal, 16), int(offset, 16), int(size, 16)) for ordinal, offset, size in listed)
            assert [(index, each.offset, each.size) for index, each in enumerate(entry.parameters)] == expected
            text_ = {
                symbol: tuple((each.offset, each.size) for each in its)
                for symbol, its in ptx_kernels(text, arch, workers, toolchain).items()
            }
            assert tuple((each.offset, each.size) for each in entry.parameters) == text_[symbol]


def ptx_kernels(text: str, arch: str, workers: Workers, toolchain: Toolchain):
    """Return the kernels and their parameters in the PTX of a source."""
    from cuda_wheel.runtime.parts.formats import ptx as ptx_module

    answer = workers.submit(
        compile_text,
        {
            "library": toolchain.libraries[0],
            "folder": ".",
            "text": text.encode(),
            "name": "k.cu",
            "options": [f"-arch=compute_{arch}", *(f"-I{folder}" for folder in toolchain.include_dirs)],
            "expressions": [],
        },
    ).result()
    return ptx_module.kernels(answer["ptx"].rstrip(b"\0").decode())


# --- functions and variables that the user of a module defines -----------------------------------------------------

DEFINED = ("own", "k")
"""The symbols that PLUGIN defines."""
PLUGIN = """\
struct Pair { float a, b; };
namespace user { __device__ float combine(const Pair& pair, int n); }
extern "C" __device__ float transform(float x);
extern __device__ float gain;
extern __constant__ int limits[];
__device__ float own(float x) { return x + 1; }
__global__ void k(float* x, int n)
{
    extern __shared__ float scratch[];
    if (n < 0) {
        printf("%d\\n", n);
        float* more = (float*)malloc(16);
        *more = 1;
        free(more);
    }
    assert(n != 7);
    scratch[threadIdx.x] = own(*x);
    *x = user::combine(Pair{*x, gain}, limits[n]) + transform(scratch[n]);
}
"""
USER = """\
struct Pair { float a, b; };
namespace user { __device__ float combine(const Pair& pair, int n) { return pair.a * n + pair.b; } }
extern "C" __device__ float transform(float x) { return x * 3; }
__device__ float gain = 0.5f;
__constant__ int limits[4] = {1, 2, 3, 4};
"""
EXTERN = ["user::combine", "transform", "gain", "limits"]


def relocatable_link(job: tuple[list[tuple[str, str, bytes]], str, list[str]]) -> bytes:
    """Return the cubin that nvJitLink links from these inputs."""
    from cuda_wheel.runtime.parts.cuda_libraries import link_code

    inputs, arch, options = job
    return link_code(inputs, [f"-arch=sm_{arch}", *options])[0]


@pytest.mark.slow
@pytest.mark.parametrize("compress", ["none", "size"])
@pytest.mark.parametrize("default", [False, True])
def test_a_module_with_extern_symbols_has_relocatable_images(
    default: bool, compress: str, build: Build, workers: Workers, part, ptxas, tmp_path: Path
) -> None:
    settings = {"sources": ["demo/k.cu", "demo/more.cu"], "extern": EXTERN}
    settings |= {"extern-default": ["demo/user.cu"], "link": "lto"} if default else {}
    built = build(
        table(**settings),
        files={
            "demo/k.cu": PLUGIN,
            **({"demo/user.cu": USER} if default else {}),
            "demo/more.cu": 'extern "C" __device__ float transform(float);\n__global__ void twice(float* x) { *x = transform(transform(*x)); }',
        },
        shared=f"compress = '{compress}'",
        architectures="80;90-real",
    )
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    images = built.images()
    expected = {
        (source, kind, f"compute_{arch}")
        for source in ("demo/k.cu", "demo/more.cu")
        for kind in ("ltoir", "ptx")
        for arch in ("80", "90")
    }
    expected |= {("", "cubin", "sm_80"), ("", "ptx", "compute_80"), ("", "cubin", "sm_90")} if default else set()
    assert set(images) == expected
    assert manifest.sources == ("demo/k.cu", "demo/more.cu", *(("demo/user.cu",) if default else ()))
    for image in manifest.images:
        assert sha256(cut(image, built.fatbins["demo.m"])).hexdigest() == image.sha256
        if image.kind == "ptx":
            assert image.ptx_version_compiled >= (8, 8) > image.ptx_version
    assert sorted(kernel.name for kernel in manifest.kernels) == ["k", "twice"]
    assert {external.name: external.symbol for external in manifest.extern} == {
        "gain": "gain", "limits": "limits", "transform": "transform", "user::combine": "_ZN4user7combineERK4Pairi",
    }  # fmt: skip
    declarations = {external.name: external.declaration for external in manifest.extern}
    assert declarations["user::combine"] == "user::combine(const Pair&, int)"
    assert ".global" in declarations["gain"] and ".const" in declarations["limits"]

    for kind, options in (("ltoir", ["-lto"]), ("ptx", [])):
        inputs = [
            (kind.upper(), source, images[source, kind, "compute_80"]) for source in ("demo/k.cu", "demo/more.cu")
        ]
        for piece in (kind, "ptx", "cubin"):
            code = (piece.upper(), "user", part(piece, text=USER))
            cubin = workers.submit(relocatable_link, ([*inputs, code], "80", options)).result()
            assert set(read_cubin(cubin).kernels) == {kernel.symbol for kernel in manifest.kernels}
            assert struct.pack("<4i", 1, 2, 3, 4) in cubin
    path = tmp_path / "image.ptx"
    path.write_bytes(images["demo/k.cu", "ptx", "compute_80"])
    assert ptxas("12.2", path, "80", "-c") == ""


def test_an_undefined_symbol_that_extern_does_not_name_is_refused(build: Build) -> None:
    built = build(table(sources=["demo/k.cu"], extern=["transform"]), files={"demo/k.cu": PLUGIN})
    assert built.status == 1
    assert "demo/k.cu uses symbols that none of its sources defines:" in built.output
    assert "  user::combine(const Pair&, int), mentioned at demo/k.cu:2, demo/k.cu:18" in built.output
    assert 'extern = ["user::combine", "gain", "limits"]' in built.output
    assert "vprintf" not in built.output and "scratch" not in built.output


def test_an_undefined_symbol_of_a_relocatable_module_is_reported_with_a_hint(build: Build) -> None:
    built = build(table(sources=["demo/k.cu"], relocatable=True), files={"demo/k.cu": PLUGIN})
    assert built.status == 1
    assert "or list it in extern, if the program that loads the module defines it" in built.output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transfrom", "own", "k", "printf", "scratch", "combine"])
def test_an_extern_that_no_source_declares_is_refused(name: str, build: Build) -> None:
    built = build(table(sources=["demo/k.cu"], extern=[*EXTERN, name]), files={"demo/k.cu": PLUGIN})
    assert built.status == 1
    assert (
        f'demo.m has extern = ["{name}"], but does not leave that symbol undefined: '
        + ("demo/k.cu defines it." if name in DEFINED else "the undefined symbols are user::combine, gain,")
    ) in built.output


def test_an_extern_that_a_source_defines_is_refused(build: Build) -> None:
    built = build(
        table(sources=["demo/k.cu", "demo/user.cu"], extern=["transform"]),
        files={"demo/k.cu": PLUGIN, "demo/user.cu": USER},
    )
    assert built.status == 1
    assert 'extern = ["transform"], but does not leave that symbol undefined: demo/user.cu defines it.' in built.output
    assert "name that in extern-default, not in sources" in built.output


def test_an_extern_default_that_lacks_a_symbol_is_reported(build: Build) -> None:
    built = build(
        table(sources=["demo/k.cu"], extern=EXTERN, **{"extern-default": ["demo/user.cu"], "link": "ptx"}),
        files={
            "demo/k.cu": PLUGIN,
            "demo/user.cu": USER.replace("combine", "combined"),
        },
    )
    assert built.status == 1
    assert "demo.m (demo/k.cu, demo/user.cu) does not link for sm_80" in built.output
    assert "user::combine(const Pair&, int)" in built.output


def test_a_module_without_kernels_can_be_linked_by_others(build: Build) -> None:
    built = build(table(sources=["demo/user.cu"], relocatable=True), files={"demo/user.cu": USER}, architectures="80")
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert manifest.kernels == () and manifest.extern == ()
    assert set(built.images()) == {("demo/user.cu", kind, "compute_80") for kind in ("ltoir", "ptx")}
    assert {each.name for each in manifest.globals} == {"gain", "limits"}


def test_a_relocatable_module_can_also_be_loaded(build: Build, workers: Workers) -> None:
    main = MAIN.replace('extern "C" __device__ float part(float x);', PART)
    built = build(
        table(sources=["demo/k.cu"], relocatable=True),
        table("demo.plain", sources=["demo/k.cu"]),
        files={"demo/k.cu": main},
        architectures="80",
    )
    assert built.status == 0, built.output
    loadable = {key: content for key, content in built.images().items() if not key[0]}
    assert loadable == built.images("demo.plain")
    assert "2 modules, 3 compile jobs" in built.output


# --- settings, and other content of sources ----------------------------------------------------------------

LINKED = {"demo/k.cu": MAIN, "demo/part.cu": PART}


def test_extern_c_functions_with_different_parameters_are_reported(build: Build) -> None:
    files = {
        "demo/a.cu": 'extern "C" __device__ float part(float x);\n__global__ void k(float* x) { *x = part(*x); }\n',
        "demo/b.cu": 'extern "C" __device__ double part(double x) { return x; }\n',
    }
    built = build(table(sources=list(files), link="ptx"), files=files, architectures="80-real")
    assert built.status == 1
    assert "part has another signature in demo/b.cu than in demo/a.cu, which calls it: (8) -> (8) bytes" in built.output


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_templates_are_instantiated_in_the_source_that_defines_them(link: str, build: Build) -> None:
    files = {
        "demo/scale.cuh": "#pragma once\n__device__ float part(float x);\n"
        "template <typename T> __global__ void in_header(T* x) { *x = part(*x); }\n",
        "demo/a.cu": '#include "scale.cuh"\nnamespace n { template <typename T, int N> __global__ void in_a(T* x) { *x = part(*x) * N; } }\n'
        "__global__ void __launch_bounds__(128) plain(float* x) { *x = part(*x); }\n",
        "demo/b.cu": '#include "scale.cuh"\n__device__ float part(float x) { return x + 1; }\n'
        "template <typename T> __global__ void in_b(T* x) { *x = part(*x); }\n",
    }
    names = ["n::in_a<float, 4>", "in_b<double>", "in_header<int>"]
    built = build(
        table(sources=["demo/a.cu", "demo/b.cu"], link=link, instantiate=names), files=files, architectures="80"
    )
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert {kernel.name for kernel in manifest.kernels} == {*names, "plain"}
    assert [image.resources["_Z5plainPf"]["max_threads"] for image in manifest.images] == [128, 128]
    wrong = build(table(sources=["demo/a.cu", "demo/b.cu"], link=link, instantiate=["in_c<int>"]), files=files)
    assert wrong.status == 1
    assert "in_c<int> (instantiate) is not a kernel of this file" in wrong.output


def test_a_source_of_two_modules_is_compiled_once(build: Build) -> None:
    built = build(
        table(sources=["demo/k.cu", "demo/part.cu"], link="ptx"),
        table("demo.other", sources=["demo/k.cu", "demo/more.cu"], link="ptx"),
        files={**LINKED, "demo/more.cu": PART.replace("x * 3", "x * 5")},
    )
    assert built.status == 0, built.output
    assert "2 modules, 3 compile jobs, 2 links" in built.output
    (first,), (second,) = built.images().values(), built.images("demo.other").values()
    assert first != second


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ptx", "lto", "relocatable"])
def test_host_code_is_not_in_a_link_and_functions_that_only_other_sources_call_are(
    form: str, build: Build, part
) -> None:
    helper = """\
#include <vector>
#include <cstdio>
static __device__ float secret(float x) { return x - 1; }
namespace { __device__ float hidden(float x) { return secret(x) * 2; } }
__device__ float shared_value = 4;
__device__ float part(float x) { return hidden(x) + shared_value; }
__global__ void own(float* x) { *x = part(*x); }
int main() { own<<<1, 1>>>(nullptr); std::vector<int> v(3); std::printf("%d", v[0]); return 0; }
"""
    # Other definitions with the same private names, which must not collide.
    main = """\
static __device__ float secret(float x) { return x + 77; }
namespace { __device__ float hidden(float x) { return secret(x) * 3; } }
extern __device__ float shared_value;
__device__ float part(float x);
__global__ void k(float* x) { *x = part(hidden(*x)) + shared_value; }
void host(float* x) { k<<<1, 1>>>(x); }
"""
    settings = {"relocatable": True, "link": "lto"} if form == "relocatable" else {"link": form}
    built = build(
        table(sources=["demo/k.cu", "demo/part.cu"], **settings),
        files={"demo/k.cu": main, "demo/part.cu": helper},
        architectures="80",  # PTX too
    )
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert [kernel.name for kernel in manifest.kernels] == ["k", "own"]
    assert manifest.host_code == ()
    assert "ptx" in {kind for _, kind, _ in built.images()}
    for (source, kind, _), content in built.images().items():
        if kind == "ptx":
            visible = re.findall(rb"\.visible \.func [^_]*(_Z\w+)", content.replace(b"func_retval", b""))
            assert visible == ([b"_Z4partf"] if source == "demo/part.cu" else [])


@pytest.mark.slow
@pytest.mark.parametrize("lineinfo", [False, True])
def test_builds_in_different_folders_give_the_same_bytes(
    lineinfo: bool, build: Build, cuda_wheel: Command, tmp_path: Path
) -> None:
    files = {
        "demo/k.cu": '#include "part.cuh"\n#include <cuda_fp16.h>\nstatic __device__ int hidden(int x) { return x; }\n'
        "__global__ void k(float* x, __half h) { *x = part(*x) + hidden(2) + float(h); }\n",
        "demo/part.cu": '#include "part.cuh"\nnamespace { __device__ int twice(int x) { return 2 * x; } }\n'
        "__device__ float part(float x) { return x * twice(3); }\n__device__ const char* file = __FILE__;\n",
        "demo/part.cuh": "#pragma once\n__device__ float part(float x);\ninline __device__ float more(float x) { return x; }\n",
    }
    linked = {
        f"demo.{link}": table(f"demo.{link}", sources=["demo/k.cu", "demo/part.cu"], link=link)
        for link in ("ptx", "lto")
    }
    tables = [*linked.values(), table("demo.r", sources=["demo/k.cu"], extern=["part"])]
    shared = f"lineinfo = {str(lineinfo).lower()}"
    first = build(*tables, files=files, shared=shared, architectures="80;90")
    assert first.status == 0, first.output
    elsewhere = tmp_path / "another ünï folder"
    shutil.copytree(tmp_path / "project", elsewhere)
    result = cuda_wheel(
        "build", elsewhere, "-o", tmp_path / "out2", CUDA_WHEEL_CACHE_DIR=str(tmp_path / "fresh"), CUDA_WHEEL_JOBS="1"
    )
    second = Built(result, tmp_path / "out2")
    assert second.status == 0, second.output
    for path in sorted(first.folder.rglob("*.fatbin*")):
        content = path.read_bytes()
        for forbidden in (str(tmp_path), "site-packages", "another", "/proc/self"):
            assert forbidden.encode() not in content, (path, forbidden)
    for name in (*linked, "demo.r"):
        assert first.modules[name] == second.modules[name]
        same = {key: content == second.images(name)[key] for key, content in first.images(name).items()}
        assert all(same.values()), same
    for name in linked if lineinfo else ():
        for key, content in first.images(name).items():
            assert b"demo/k.cu" in content or b"k.cu\0" in content, key


@pytest.mark.slow
def test_a_project_in_another_folder_uses_the_same_cache_entries(
    build: Build, cuda_wheel: Command, tmp_path: Path
) -> None:
    tables = (
        table(sources=["demo/k.cu", "demo/part.cu"], link="lto", relocatable=True),
        table("demo.p", sources=["demo/k.cu", "demo/part.cu"], link="ptx"),
    )
    cache = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "cache")}
    build(*tables, files=LINKED, architectures="80")
    project = tmp_path / "project"
    first = Built(cuda_wheel("build", project, "-o", tmp_path / "out1", **cache), tmp_path / "out1")
    assert first.status == 0, first.output
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere)
    second = Built(cuda_wheel("build", elsewhere, "-o", tmp_path / "out2", **cache), tmp_path / "out2")
    assert re.search(r"10 jobs in [\d.]+ s: 10 from the cache$", second.output, re.MULTILINE), second.output
    assert second.fatbins == first.fatbins and second.modules == first.modules
    path = elsewhere / "demo/part.cu"
    path.write_text(path.read_text().replace("x * 3", "x * 4"))
    third = Built(cuda_wheel("build", elsewhere, "-o", tmp_path / "out3", **cache), tmp_path / "out3")
    summary = r"10 jobs in [\d.]+ s: 3 from the cache, 3 compiled, 4 linked(;.*)?$"
    assert re.search(summary, third.output, re.MULTILINE), third.output
    for (source, kind, target), content in third.images().items():
        assert (content == first.images()[source, kind, target]) == (source == "demo/k.cu")


HUNGRY = """\
__device__ float part(float x);
__global__ void k(float* x)
{
    float v[48];
    for (int i = 0; i < 48; ++i)
        v[i] = part(x[i * 32]);
    __syncthreads();
    for (int i = 0; i < 48; ++i)
        x[i] = v[i] * v[47 - i] / x[i + 1];
}
"""


@pytest.mark.slow
def test_the_register_limit_reaches_the_linker(build: Build) -> None:
    options = ([], ["--maxrregcount=32"], ["-maxrregcount=32"], ["--maxrregcount", "32"])
    ways = {f"demo.{link}{number}": (link, given) for link in ("ptx", "lto") for number, given in enumerate(options)}
    sources = ["demo/k.cu", "demo/part.cu"]
    built = build(
        *(table(name, sources=sources, link=link, options=given) for name, (link, given) in ways.items()),
        files={"demo/k.cu": HUNGRY, "demo/part.cu": "__device__ float part(float x) { return x * x; }"},
    )
    assert built.status == 0, built.output
    for name, (_, given) in ways.items():
        assert (built.modules[name].images[0].resources["_Z1kPf"]["registers"] <= 32) == bool(given), name


@pytest.mark.slow
def test_floating_point_options_reach_the_linker(build: Build) -> None:
    expected = {
        ("--use_fast_math",): b"div.approx.ftz.f32",
        ("-use_fast_math",): b"div.approx.ftz.f32",
        ("--prec-div=false",): b"div.full.f32",
        ("--prec-div", "false"): b"div.full.f32",
        ("--ftz=true",): b"div.rn.ftz.f32",
        (): b"div.rn.f32",
    }
    sources = ["demo/k.cu", "demo/part.cu"]
    built = build(
        *(
            table(f"demo.m{number}", sources=sources, link="lto", options=options)
            for number, options in enumerate(expected)
        ),
        files={
            "demo/k.cu": "__device__ float part(float x, float y); __global__ void k(float* x) { *x = part(*x, x[1]); }",
            "demo/part.cu": "__device__ float part(float x, float y) { return x / y; }",
        },
        architectures="80",
    )
    assert built.status == 0, built.output
    for number, instruction in enumerate(expected.values()):
        assert instruction in built.images(f"demo.m{number}")["", "ptx", "compute_80"]


def test_settings_of_one_source_work_for_several(build: Build) -> None:
    """Warnings, __DATE__, optional kernels, launch bounds, variables, defines, and templates without instances."""
    files = {
        "demo/k.cu": '#include "part.h"\n__constant__ float table[SIZE] = {1, 2};\n'
        "__global__ void __launch_bounds__(96, 2) k(float* x) { int unused = 1; *x = part(*x) + table[1]; }\n"
        "#if __CUDA_ARCH__ >= 900\n__global__ void newer(float* x) { *x = part(*x); }\n#endif\n"
        "template <typename T> __global__ void forgotten(T* x) {}\n",
        "demo/part.cu": '#include "part.h"\n__device__ int counter = 7;\nstatic_assert(sizeof(__DATE__) == 12);\n'
        "__device__ float part(float x) { int other = 2; return x + counter; }\n",
        "demo/part.h": "extern __device__ int counter;\n__device__ float part(float x);\n",
    }
    built = build(
        table(
            sources=["demo/k.cu", "demo/part.cu"],
            link="lto",
            defines={"SIZE": "2"},
            **{"optional-kernels": ["newer"]},
        ),
        files=files,
        architectures="80-real;90",
    )
    assert built.status == 0, built.output
    assert built.output.count('variable "unused" was declared but never referenced') == 1
    assert built.output.count('variable "other" was declared but never referenced') == 1
    assert "demo/part.cu uses the time of the build" in built.output
    assert "demo/k.cu:7: warning: no image has the kernel template forgotten" in built.output
    manifest = built.modules["demo.m"]
    absent = {kernel.name: kernel.absent for kernel in manifest.kernels}
    assert absent == {"k": (), "newer": ("sm_80",)}
    assert {(each.name, each.space, each.size) for each in manifest.globals} == {
        ("counter", "global", 4), ("table", "constant", 8),
    }  # fmt: skip
    assert manifest.images
    for image in manifest.images:
        bounds = image.resources["_Z1kPf"]
        assert (bounds["max_threads"], bounds["min_blocks"]) == (96, 2)


@pytest.mark.slow
def test_line_information_with_prebuilt_inputs(build: Build, part, cuda_wheel: Command, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "demo/k.cu": '#include <cuda_fp16.h>\n#include "k.cuh"\n' + MAIN,
        "demo/k.cuh": "",
        "demo/part.cubin": part("cubin"),
        "demo/part.ptx": part("ptx"),
        "demo/part.o": part("o of cubin"),
    }
    ways = [(link, ending) for link in ("ptx", "lto") for ending in ("cubin", "ptx", "o")]
    tables = (table(f"demo.{link}_{end}", sources=["demo/k.cu", f"demo/part.{end}"], link=link) for link, end in ways)
    first = build(*tables, files=files, shared="lineinfo = true")
    assert first.status == 0, first.output
    elsewhere = tmp_path / "another ünï folder"
    shutil.copytree(tmp_path / "project", elsewhere)
    fresh = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / "fresh")}
    second = Built(cuda_wheel("build", elsewhere, "-o", tmp_path / "out2", **fresh), tmp_path / "out2")
    assert second.status == 0, second.output
    assert len(first.modules) == len(ways)
    for name in first.modules:
        (content,) = first.images(name).values()
        assert b"k.cu\0" in content, name
        for forbidden in (str(tmp_path), "site-packages", "/proc/self"):
            assert forbidden.encode() not in content, name
        assert first.images(name) == second.images(name)


@pytest.mark.slow
def test_a_prebuilt_input_can_call_functions_of_the_sources(build: Build, part) -> None:
    """With line information, the link goes by way of PTX, which lacks functions that only the prebuilt input calls."""
    other = "__device__ float helper(float x); __device__ float part(float x) { return helper(x) * 3; }"
    main = "__device__ __noinline__ float helper(float x) { return x * 17; }\n__device__ float part(float x);\n"
    for lineinfo in ("false", "true"):
        built = build(
            table(sources=["demo/k.cu", "demo/part.cubin"], link="lto"),
            files={
                "demo/k.cu": main + "__global__ void k(float* x) { *x = part(*x); }",
                "demo/part.cubin": part("cubin", text=other),
            },
            shared=f"lineinfo = {lineinfo}",
        )
        assert built.status == 0, built.output


@pytest.mark.slow
def test_ltoir_in_a_fatbin_needs_lto(build: Build, part) -> None:
    files = {"demo/k.cu": MAIN, "demo/part.fatbin": part("fatbin of ltoir"), "demo/part.o": part("o of ltoir")}
    for name in ("demo/part.fatbin", "demo/part.o"):
        built = build(table(sources=["demo/k.cu", name], link="ptx"), files=files)
        assert built.status == 1
        assert "does not link for sm_80" in built.output
        assert 'help: LTO-IR, also in a fatbin, object or library, needs link = "lto"' in built.output


def test_kernels_of_a_library_are_in_the_module(build: Build, part) -> None:
    text = "__global__ void other(int* x, short y) { *x = y; }"
    built = build(
        table(sources=["demo/k.cu", "demo/part.a"], link="ptx"),
        files={"demo/k.cu": "__global__ void k(int* x) { *x = 1; }", "demo/part.a": part("a of cubin", text=text)},
    )
    assert built.status == 0, built.output
    assert [kernel.name for kernel in built.modules["demo.m"].kernels] == ["k", "other"]


# --- odd projects ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_a_hundred_sources_with_the_same_file_name_link(link: str, build: Build) -> None:
    count = 100
    files = {
        f"demo/ünï {number}/part.cu": f"static __device__ float own(float x) {{ return x + {number}; }}\n"
        f"__device__ float part{number}(float x) {{ return own(x) * {number}; }}\n"
        for number in range(count)
    }
    declared = "\n".join(f"__device__ float part{number}(float x);" for number in range(count))
    total = " + ".join(f"part{number}(*x)" for number in range(count))
    files["demo/k.cu"] = f"{declared}\n__global__ void k(float* x) {{ *x = {total}; }}\n"
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    assert len(built.modules["demo.m"].sources) == count + 1
    assert [kernel.name for kernel in built.modules["demo.m"].kernels] == ["k"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_private_names_of_several_sources_do_not_collide(link: str, build: Build) -> None:
    text = """
    namespace {{ __device__ int state = {0}; __global__ void hidden(int* x) {{ *x = state; }} }}
    """
    files = {f"demo/{name}/k.cu": text.format(number) for name, number in (("a", 0xABCD01), ("b", 0xABCD02))}
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    kernels = built.modules["demo.m"].kernels
    assert len({kernel.symbol for kernel in kernels}) == len(kernels) == 2
    (content,) = built.images().values()
    assert struct.pack("<I", 0xABCD01) in content and struct.pack("<I", 0xABCD02) in content


def test_static_kernels_whose_symbols_collide_are_refused(build: Build) -> None:
    files = {f"demo/{name}.cu": f"static __global__ void k(int* x) {{ *x = {ord(name)}; }}\n" for name in "ab"}
    built = build(table(sources=list(files), link="ptx"), files=files)
    assert built.status == 1
    assert "error   : Multiple definition of 'k(int*)' in 'demo/b.cu', first defined in 'demo/a.cu'" in built.output
    assert "mentioned at demo/a.cu:1, demo/b.cu:1" in built.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sources": ["demo/k.cu", "demo/k.cu"], "link": "ptx"}, "names demo/k.cu twice: leave one out."),
        ({"sources": ["demo/k.cu", "./demo/k.cu"], "link": "ptx"}, "names demo/k.cu twice: leave one out."),
        ({"sources": ["demo/k.cu", "demo/part.cu"]}, 'demo.m has 2 sources: set how to link them, link = "lto"'),
        ({"sources": ["demo/k.cu", "demo/none.cubin"], "link": "ptx"}, "there is no file demo/none.cubin"),
        ({"sources": ["demo/k.cu", "demo/k.txt"], "link": "ptx"}, "demo.m: demo/k.txt is not a source file"),
        ({"sources": ["demo/k.cu", "demo/K.CUBIN"], "link": "ptx"}, "demo.m: demo/K.CUBIN is not a source file"),
        ({"sources": ["demo/k.cu", "demo/sub"], "link": "ptx"}, "there is no file demo/sub"),
        ({"sources": ["demo/k.cu", "demo/part.cu"], "link": "LTO"}, "LTO"),
        (
            {"sources": ["demo/k.cu"], "extern-default": ["demo/part.cu"], "link": "ptx"},
            "demo.m has extern-default but no extern",
        ),
        (
            {"sources": ["demo/k.cu"], "extern": ["part"], "extern-default": ["demo/part.cu"]},
            "is linked with its extern",
        ),
        ({"sources": ["demo/p.ptx"], "relocatable": True}, "only CUDA C++ and NVVM IR can be compiled to LTO-IR"),
    ],
)
def test_an_invalid_table_is_reported(settings: dict, message: str, build: Build) -> None:
    files = {
        **LINKED,
        "demo/k.txt": "",
        "demo/K.CUBIN": "",
        "demo/sub/x": "",
        "demo/p.ptx": ".version 7.0\n.target sm_80\n",
    }
    built = build(table(**settings), files=files)
    assert built.status == 1
    assert message in built.output
    assert "Traceback" not in built.output


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["ptx", "cubin", "ltoir", "o of cubin"])
def test_a_single_file_can_be_a_module(ending: str, build: Build, part) -> None:
    name = "demo/part." + ending.partition(" ")[0]
    content = part(ending, text="__global__ void k(float* x, char c) { *x = c; }")
    bare = build(table(sources=[name]), files={name: content})
    if ending == "ptx":
        assert bare.status == 0, bare.output
        assert [kernel.name for kernel in bare.modules["demo.m"].kernels] == ["k"]
    else:
        assert bare.status == 1
        assert f"demo.m consists of {name}, which has to be linked: set link =" in bare.output
    built = build(table(sources=[name], link="ptx"), files={name: content})
    assert built.status == 0, built.output
    (kernel,) = built.modules["demo.m"].kernels
    assert [(each.offset, each.size) for each in kernel.parameters] == [(0, 8), (8, 1)]
    assert [each.cpp for each in kernel.parameters] == ["float*", "char"]


@pytest.mark.slow
def test_a_single_ptx_file_has_its_version_lowered_and_its_target_checked(
    build: Build, part, ptxas, tmp_path: Path
) -> None:
    content = part("ptx", "75", text="__global__ void k(float* x) { *x = 1; }")
    built = build(table(sources=["demo/k.ptx"]), files={"demo/k.ptx": content}, architectures="80")
    assert built.status == 0, built.output
    image = next(image for image in built.modules["demo.m"].images if image.kind == "ptx")
    assert (image.ptx_version, image.ptx_version_compiled > image.ptx_version) == ((7, 0), True)
    path = tmp_path / "k.ptx"
    path.write_bytes(built.images()["", "ptx", "compute_80"])
    assert ptxas("12.0", path, "80") == ""
    newer = build(table(sources=["demo/k.ptx"]), files={"demo/k.ptx": part("ptx", "90", "__global__ void k() {}")})
    assert newer.status == 1
    assert "demo/k.ptx: error: this PTX is for sm_90 and cannot become an image for 80" in newer.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "architectures", "help"),
    [
        *(
            (ending, "80;90-real", '["80-real", "90-real"]')
            for ending in ("ptx", "cubin", "fatbin of cubin", "o of cubin")
        ),
        ("ptx", "80-virtual;90-virtual", '["80-real", "90-real"]'),
    ],
)
def test_a_ptx_image_from_inputs_that_cannot_become_lto_ir_is_refused(
    ending: str, architectures: str, help: str, build: Build, part
) -> None:
    name = "demo/part." + ending.partition(" ")[0]
    built = build(
        table(sources=["demo/k.cu", name], link="lto"),
        files={"demo/k.cu": MAIN, name: part(ending)},
        architectures=architectures,
    )
    assert built.status == 1
    assert "demo.m cannot have PTX for compute_80" in built.output
    assert f"architectures = {help}" in built.output


@pytest.mark.slow
def test_a_ptx_image_with_an_extern_default_that_cannot_become_lto_ir_is_refused(build: Build, part) -> None:
    default = {"extern": ["transform"], "extern-default": ["demo/user.ptx"], "link": "ptx"}
    text = 'extern "C" __device__ float transform(float x)'
    files = {
        "demo/k.cu": f"{text};\n__global__ void k(float* x) {{ *x = transform(*x); }}",
        "demo/user.ptx": part("ptx", text=f"{text} {{ return x; }}"),
    }
    built = build(table(sources=["demo/k.cu"], **default), files=files, architectures="80")
    assert built.status == 1
    assert "demo.m cannot have PTX for compute_80" in built.output
    assert "demo/user.ptx cannot become LTO-IR" in built.output
    assert build(table(sources=["demo/k.cu"], **default), files=files, architectures="80-real").status == 0


def test_ir_without_a_kernel_is_reported_with_a_hint(build: Build) -> None:
    text = (FIXTURES / "nvvm_ir/src/nvvm_demo/kernels/multiply.ll").read_text().replace("!nvvm.annotations", "; ")
    built = build(table(sources=["demo/k.ll"]), files={"demo/k.ll": text})
    assert built.status == 1
    assert "has no kernel: it compiles to an empty image. In NVVM IR, !nvvm.annotations says which" in built.output
    assert "template" not in built.output


def test_a_worker_that_dies_is_reported_and_replaced(workers: Workers) -> None:
    text = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"
    job = LinkJob(
        module="demo.m",
        arch="80",
        real=True,
        lto=False,
        inputs=(LinkInput("demo/k.ptx", "ptx", text),),
        options=("--std=c++17",),
        lineinfo=False,
        ptx_version="auto",
        include_dirs=(),
    )
    with pytest.raises(CompileError, match=r"the compiler process died \(killed by SIGKILL\)"):
        workers.submit(kill, None).result()
    assert set(workers.submit(link_job, job).result().kernels) == {"k"}


def kill(_: None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


STATIC = """\
static __device__ int counter = {n};
static __constant__ int limits[2] = {{{n}, 2}};
__device__ int shared_{n} = {n};
__global__ void use_{n}(int* x) {{ *x = counter++ + limits[*x] + shared_{n}; }}
"""


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_static_variables_of_one_name_are_not_in_the_manifest(build: Build, link: str) -> None:
    """A name would mean the first one only."""
    files = {f"demo/{n}.cu": STATIC.format(n=n) for n in (1, 2)}
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status == 0, built.output
    manifest = built.modules["demo.m"]
    assert [each.name for each in manifest.globals] == ["shared_1", "shared_2"]
    assert [each.name for each in manifest.kernels] == ["use_1", "use_2"]
    assert "programs cannot use counter, limits by name" in built.output


@pytest.mark.parametrize("link", ["ptx", "lto"])
def test_static_kernels_of_one_name_are_an_error(build: Build, link: str) -> None:
    kernel = "static __global__ void st(int* x) { *x = 1; }\nvoid f() { st<<<1, 1>>>(nullptr); }\n"
    files = {"demo/a.cu": kernel, "demo/b.cu": kernel.replace("1;", "2;")}
    built = build(table(sources=list(files), link=link), files=files)
    assert built.status != 0
    assert "Multiple definition of 'st(int*)' in 'demo/b.cu', first defined in 'demo/a.cu'" in built.output


def test_a_static_variable_that_one_source_has_is_in_the_manifest(build: Build) -> None:
    files = {"demo/1.cu": STATIC.format(n=1), "demo/2.cu": "__global__ void other() {}\n"}
    built = build(table(sources=list(files), link="lto"), files=files)
    assert built.status == 0, built.output
    assert [each.name for each in built.modules["demo.m"].globals] == ["counter", "limits", "shared_1"]
