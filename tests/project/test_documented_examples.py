"""The examples in the README and the documentation hold: projects build, the rest is checked against the code."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.config.settings import Config, table_schema
from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.cli.main import _chosen_command, command_parser
from cuda_wheel.runtime.manifest import Manifest
from cuda_wheel.runtime.module import Kernel
from cuda_wheel.runtime.parts.launch_attributes import LaunchAttributes
from tests.project.pages import PAGES, Block, blocks, name_of, projects
from tests.support.processes import build_wheel
from tests.support.projects import ROOT, write_files
from tests.support.tile_project import need_tileiras
from tests.support.wheels import images

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BLOCKS = {f"{name_of(page)}:{block.line}": block for page in PAGES for block in blocks(page)}
PROJECTS = {
    f"{name_of(page)}-{number}": project for page in PAGES for number, project in enumerate(projects(page), start=1)
}
LANGUAGES = {"bat", "cmake", "console", "cpp", "cuda", "mermaid", "python", "sh", "text", "toml", "yaml"}

KERNELS = {
    "README.md-1": {"saxpy"},
    "docs/how-to/any-back-end.md-1": {"saxpy"},
    "docs/how-to/back-ends.md-1": {"saxpy"},
    "docs/how-to/back-ends.md-2": {"saxpy"},
    "docs/how-to/back-ends.md-3": {"saxpy"},
    "docs/how-to/cuda-tile.md-1": {"add"},
    "docs/how-to/from-cuda-extension.md-1": {
        f"leaky_relu_kernel<{element}>" for element in ("float", "double", "c10::Half")
    },
    "docs/how-to/from-nvcc.md-1": {"blur"},
    "docs/how-to/from-nvcc.md-2": {"blur"},
    "docs/how-to/from-pycuda.md-1": {"smooth"},
    "docs/how-to/from-rawmodule.md-1": {"scale", "shift<double, 2>"},
    "docs/how-to/from-numba.md-1": {"saxpy"},
    "docs/how-to/from-triton.md-1": {"add"},
    "docs/how-to/headers.md-1": {"sum", "lowest"},
    "docs/how-to/jax.md-1": {f"rms_norm<{element}>" for element in ("float", "__half", "__nv_bfloat16")},
    "docs/how-to/linking.md-1": {"step", "apply"},
    "docs/how-to/tuning.md-1": {"scale<1>", "scale<4>"},
    "docs/how-to/variants.md-1": {"gemm<MATH_TYPE, NUM_MODES>"},
    "docs/index.md-1": {"saxpy"},
    "docs/tutorials/first-wheel.md-1": {"saxpy"},
    "docs/tutorials/pytorch-operator.md-1": {"normalise", "normalise_gradient"},
}
"""The kernels of each project in a page."""


def of_language(*languages: str) -> Any:
    """Parametrize a test with the blocks of these languages."""
    chosen = {place: block for place, block in BLOCKS.items() if block.language in languages}
    assert chosen
    return pytest.mark.parametrize("block", chosen.values(), ids=chosen.keys())


def test_every_block_has_a_language_that_is_checked_and_every_kernel_is_built() -> None:
    assert {block.language for block in BLOCKS.values()} <= LANGUAGES
    assert [place for place, block in BLOCKS.items() if block.language == "cuda" and not block.title] == []
    assert PROJECTS.keys() == KERNELS.keys()


def test_code_fits_a_screen_of_1280_pixels() -> None:
    """The site shows 90 characters of a line. Longer output of programs, and actions with their hashes, go on below."""
    wide = {
        f"{place}: {line}"
        for place, block in BLOCKS.items()
        if block.language not in ("console", "mermaid", "text", "yaml")
        for line in block.text.splitlines()
        if len(line) > 90 and place.startswith("docs/")
    }
    assert sorted(wide) == []


# --- projects ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_the_projects_in_pages_build(name: str, tmp_path: Path, cuda_wheel, extra: str) -> None:
    if "cuda-tile" in name:
        need_tileiras()
    project = write_files(tmp_path / "project", **PROJECTS[name])
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("cuda-wheel[cu12]", f"cuda-wheel[{extra}]"))
    if "tool.cuda-wheel.numba" in pyproject.read_text():
        pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    manifests = built_manifests(project, tmp_path, cuda_wheel)
    assert {kernel.name for manifest in manifests for kernel in manifest.kernels} == KERNELS[name]


def built_manifests(project: Path, folder: Path, cuda_wheel) -> Iterator[Manifest]:
    """Build a project's modules, with CMake its wheel, for one GPU, and return their manifests."""
    if "scikit_build_core" in (project / "pyproject.toml").read_text():
        result = build_wheel(project, folder / "dist", CUDAARCHS="80-real")
        assert result.returncode == 0, result.stdout
        (wheel,) = (folder / "dist").glob("*.whl")
        texts = [text for path, text in images(wheel).items() if path.endswith(".fatbin.json")]
    else:
        result = cuda_wheel("build", project, "-o", folder / "out", CUDAARCHS="80-real")
        assert result.returncode == 0, result.stdout
        texts = [path.read_bytes() for path in sorted((folder / "out").rglob("*.fatbin.json"))]
    assert texts
    return (manifest for text in texts for manifest in all_manifests(text, "x"))


@pytest.mark.slow
def test_kernels_in_pages_without_a_project_compile(tmp_path: Path, cuda_wheel, extra: str) -> None:
    """They show a kernel for those who know the rest. All of them are modules of the README's project here."""
    shown = {block.title: block.text for block in BLOCKS.values() if block.title.startswith("src/")}
    built = {path for project in PROJECTS.values() for path in project}
    kernels = {title.rpartition("/")[2]: text for title, text in shown.items() if title not in built}
    assert kernels
    files = PROJECTS["README.md-1"] | {f"src/saxpy_demo/{name}": text for name, text in kernels.items()}
    project = write_files(tmp_path / "project", **files)
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("cuda-wheel[cu12]", f"cuda-wheel[{extra}]"))
    modules = [manifest.name for manifest in built_manifests(project, tmp_path, cuda_wheel)]
    assert len(modules) == len(kernels) + 1


def test_parts_of_the_examples_are_as_in_their_files() -> None:
    pages = [
        blocks(ROOT / "docs" / page) for page in ("gallery.md", "how-to/torch-functions.md", "how-to/cpu-and-gpu.md")
    ]
    assert all(sum(bool(block.title) for block in page) > 8 for page in pages)
    shown = [block for page in pages for block in page if block.title]
    assert [each.title for each in shown if each.text not in (ROOT / each.title).read_text(encoding="utf-8")] == []


# --- settings ---------------------------------------------------------------------------------------


@of_language("toml")
def test_tables_are_valid(block: Block) -> None:
    document = tomllib.loads(block.text)
    assert document
    Config.from_table(document.get("tool", {}).get("cuda-wheel", {}))
    build_system = document.get("build-system", {})
    has_kernels = build_system and block.title != "examples/cpu_and_gpu/cpu/pyproject.toml"
    assert not has_kernels or any(
        each.startswith(("cuda-wheel[cu12", "cuda-wheel[cu13")) for each in build_system["requires"]
    )


def test_settings_named_in_prose_exist() -> None:
    """Code such as `link = "lto"` in a sentence or table, and keys that are followed by `=`."""
    known = set(table_schema()["properties"])
    known |= {
        key for table in ("module", "triton") for key in table_schema()["properties"][table]["items"]["properties"]
    }
    named = {
        match[1]
        for page in PAGES
        for match in re.finditer(r'`([a-z]+(?:-[a-z]+)*) = (?:"|\[|true|false|\{)', page.read_text(encoding="utf-8"))
    }
    assert len(named) > 8
    assert named - known - {"rows", "build-backend", "requires"} == set()


# --- commands ---------------------------------------------------------------------------------------


def command_lines() -> Iterator[tuple[str, str]]:
    """Yield each call of `cuda-wheel` in a block or in code of a sentence, and its place."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"(?:^\$ |^ +- (?:run: )?|`)(cuda-wheel [a-z][^`\n]*)", text, re.MULTILINE):
            yield f"{name_of(page)}:{text.count(chr(10), 0, match.start()) + 1}", match[1]


@pytest.mark.parametrize(("place", "line"), [pytest.param(*each, id=each[0]) for each in command_lines()])
def test_commands_are_accepted_by_the_parser(place: str, line: str) -> None:
    arguments = shlex.split(line)[1:]
    assert _chosen_command(arguments), f"{place}: cuda-wheel has no command {arguments[0]}"
    if len(arguments) > 1:  # the name of a command alone is no call
        command_parser(arguments[0]).parse_args(arguments)


# --- Python -----------------------------------------------------------------------------------------

ENTRIES = {
    "launch": lambda: set(inspect.signature(Kernel.launch).parameters) | set(LaunchAttributes.__annotations__),
    "bind": lambda: set(inspect.signature(Kernel.bind).parameters) | set(LaunchAttributes.__annotations__),
    "occupancy": lambda: set(inspect.signature(Kernel.occupancy).parameters),
    "suggest_block": lambda: set(inspect.signature(Kernel.suggest_block).parameters),
}
"""The keywords that methods of kernels take, by name."""


@of_language("python")
def test_names_and_keywords_in_python_exist(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("cuda_wheel."):
            assert resolved(ast.unparse(node)) is not None
        if isinstance(node, ast.Call):
            keywords = {each.arg for each in node.keywords if each.arg}
            assert keywords <= accepted(node.func, keywords), ast.unparse(node)


def resolved(name: str) -> Any:
    """Return the object with a dotted name in `cuda_wheel`; raises AttributeError if there is none."""
    value: Any = cuda_wheel
    path = "cuda_wheel"
    for part in name.split(".")[1:]:
        path += f".{part}"
        with contextlib.suppress(ImportError):
            importlib.import_module(path)
        value = getattr(value, part)
    return value


def accepted(function: ast.expr, keywords: set[str]) -> set[str]:
    """Return the keywords that a called function takes; for one that is not ours, those that it is called with."""
    text = ast.unparse(function)
    if text.startswith("cuda_wheel."):
        parameters = inspect.signature(resolved(text)).parameters.values()
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
        return keywords if takes_any else {each.name for each in parameters}
    if isinstance(function, ast.Attribute) and function.attr in ENTRIES and not text.startswith("wp."):  # Warp's
        return ENTRIES[function.attr]() | {each for each in keywords if each.isupper()}  # a constant of Triton
    return keywords


# --- CI ---------------------------------------------------------------------------------------------


@of_language("yaml")
def test_files_for_ci_are_yaml_with_every_step(block: Block) -> None:
    yaml = importlib.import_module("yaml")
    assert yaml.safe_load(block.text)
    for step in ("python -m build", "coverage dist/*.whl --require", "verify dist/*.whl --rebuild"):
        assert step in block.text
    if "tags:" in block.text or "CI_COMMIT_TAG" in block.text:
        assert ("gh-action-pypi-publish" if "uses:" in block.text else "aud: pypi") in block.text
