"""Headers of libraries outside the project: found, recorded by content, and without a trace of where they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cluster.job_transfer import NotPortableError, RemoteCall
from cuda_wheel.builder.compile_on_load.requests import compile_on_load
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.full_build import build_module
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.report.reporter import SilentReporter
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.paths import system_folders
from cuda_wheel.builder.wheel.sdist import sdist_files
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.inspect import rebuild
from tests.support.projects import write_files

SOURCE = """\
#include <tiles/tile.h>
__global__ void k(int* x) { x[threadIdx.x] = tile(threadIdx.x); }
"""
HEADER = """\
#pragma once
#include "size.h"
__device__ __noinline__ int tile(int i)
{
    unsigned unused = -1;  // a warning
    return i * TILE;
}
"""
LIBRARY = {"include/tiles/tile.h": HEADER, "include/tiles/size.h": "#define TILE 3\n"}
TABLE = {"name": "demo.k", "sources": ["demo/k.cu"], "architectures": ["80"]}


class Reporter(SilentReporter):
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.steps: list[str] = []

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def step_finished(self, step: Any) -> None:
        self.steps.append(step.how)


@pytest.fixture
def built(make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that builds a source with the library in a folder, and returns the files and the reporter."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))

    def build(library: Path, source: str = SOURCE, **keys: Any) -> tuple[Mapping[str, bytes], Reporter, list[str]]:
        monkeypatch.setenv("TILES", str(library))
        project = make_project(**{"demo/k.cu": source})
        reporter = Reporter()
        table = {**TABLE, "system-include-dirs": ["$TILES/include"], **keys}
        files, inputs = build_module(project, table, {}, reporter)
        return files, reporter, inputs

    return build


@pytest.mark.one_toolchain
def test_a_library_outside_the_project_is_recorded_by_content_alone(built: Callable[..., Any], tmp_path: Path) -> None:
    """Where it is does not count: the images, the manifest and the SBOM are the same, and the cache has them."""
    first, second = (write_files(tmp_path / name, **LIBRARY) for name in ("here", "elsewhere/deep"))
    keys = {"lineinfo": True, "warnings-as-errors": True}
    files, reporter, inputs = built(first, **keys)
    again, cached, _ = built(second, **keys)
    assert files == again
    assert (
        not any("tile.h" in text for text in reporter.warnings)
        and "compiled" in reporter.steps
        and "compiled" not in cached.steps
    )
    assert str(first / "include/tiles/tile.h") in inputs
    for content in files.values():
        assert b"here" not in content and str(tmp_path).encode() not in content
    assert b"system/tiles/tile.h" in files["demo/k.fatbin"]
    manifest = manifest_of(files["demo/k.fatbin.json"], "")
    assert re.fullmatch("sha256:[0-9a-f]{64}", manifest.toolchain["system-headers"])
    sbom = json.loads(files["demo.k.cdx.json" if "demo.k.cdx.json" in files else "demo/k.cdx.json"])
    assert {"system:tiles/tile.h", "system:tiles/size.h"} <= {each["bom-ref"] for each in sbom["components"]}

    (second / "include/tiles/size.h").write_text("#define TILE 5\n")
    changed, fresh, _ = built(second, **keys)
    assert "compiled" in fresh.steps and changed["demo/k.fatbin"] != files["demo/k.fatbin"]
    other = manifest_of(changed["demo/k.fatbin.json"], "")
    assert other.toolchain["system-headers"] != manifest.toolchain["system-headers"]


@pytest.mark.one_toolchain
def test_a_header_that_appears_in_the_project_or_outside_is_noticed(built: Callable[..., Any], tmp_path: Path) -> None:
    library = write_files(tmp_path / "library", **LIBRARY)
    first, _, _ = built(library, **{"include-dirs": ["demo"]})
    write_files(tmp_path / "project/demo", **{"tiles/tile.h": HEADER.replace('"size.h"', "<tiles/size.h>") + "//"})
    second, reporter, inputs = built(library, **{"include-dirs": ["demo"]})
    assert "compiled" in reporter.steps and str(library / "include/tiles/tile.h") not in inputs
    assert first["demo/k.fatbin.json"] != second["demo/k.fatbin.json"]


@pytest.mark.one_toolchain
@pytest.mark.parametrize("statement", ["assert(i > 0);", "printf(__FILE__);"])
def test_the_path_of_a_library_does_not_get_into_an_image(
    statement: str, built: Callable[..., Any], tmp_path: Path
) -> None:
    header = "#include <assert.h>\n#include <stdio.h>\n" + HEADER.replace("return", f"{statement}\n    return")
    library = write_files(tmp_path / "library", **{**LIBRARY, "include/tiles/tile.h": header})
    for architecture in ("80-real", "80-virtual"):
        for link in ("none", "lto"):
            with pytest.raises(CompileError, match=r"(?s)(tile\.h|a header in).*which __FILE__ gives.*NDEBUG = 1"):
                built(library, architectures=[architecture], link=link)
    if "assert" in statement:
        built(library, defines={"NDEBUG": 1})


@pytest.mark.one_toolchain
def test_a_file_outside_that_is_not_in_a_named_folder_is_an_error_with_the_cure(
    built: Callable[..., Any], tmp_path: Path
) -> None:
    library = write_files(tmp_path / "library", **LIBRARY, **{"include/../secret.h": ""})
    with pytest.raises(
        ConfigError, match=r"lies outside the project.*name the library's folder in system-include-dirs"
    ):
        built(library, f'#include "{library}/secret.h"\n' + SOURCE)
    with pytest.raises(ConfigError, match=r"include-dirs: .*lies outside the project.*name it in system-include-dirs"):
        built(library, **{"include-dirs": ["../library/include"]})


def test_folders_are_expanded_and_checked(tmp_path: Path) -> None:
    project = write_files(tmp_path / "work/project", **{"include/x.h": "", ".venv/include/y.h": ""})
    write_files(tmp_path, **{"lib a/include/z.h": "", "cuda/include/cuda_runtime_api.h": ""})
    environ = {"ROOT": str(tmp_path), "NAME": "lib a"}

    def folders(*written: str) -> tuple[str, ...]:
        return system_folders(project, written, environ)

    assert folders("$ROOT/${NAME}/include", "../../lib a/include/") == (str(tmp_path / "lib a/include"),)
    assert folders("$ROOT/work/project/.venv/include") == (str(project / ".venv/include"),)
    assert folders("$ROOT/cuda/include") == ()  # the toolchain's are used in its place
    for written, message in {
        "$CUTLASS/include": r"include-dirs: \$CUTLASS/include: the environment variable CUTLASS is not set",
        "${ROOT}/gone": rf"there is no such folder \({tmp_path}/gone\)",
        "include": "lies in the project: name it in include-dirs",
        "$ROOT/work": "contains the project",
        "..": "contains the project",
    }.items():
        with pytest.raises(ConfigError, match=message):
            folders(written)


def test_a_job_with_them_is_left_to_this_machine_and_says_so(job_of: Callable[..., Job]) -> None:
    job = job_of("", system_dirs=("/opt/tiles",))
    call: Call[Any] = Call(str, job)
    with pytest.raises(
        NotPortableError, match=r"k.cu includes headers of system-include-dirs.*this machine compiles it"
    ):
        RemoteCall(call).pack(None, 1.0, None, lambda *arguments: {})  # type: ignore[arg-type]


@pytest.mark.one_toolchain
def test_a_wheel_that_carries_sources_would_lack_them(built: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="specialize with system-include-dirs"):
        built(write_files(tmp_path / "library", **LIBRARY), specialize=True)


@pytest.mark.one_toolchain
@pytest.mark.parametrize("link", ["none", "lto", "ptx"])
def test_images_have_no_trace_of_the_folder(
    link: str, built: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is compiled, without the cache of the other."""
    keys = {"link": link, "lineinfo": True, "architectures": ["80-real"]}
    found = []
    for name in ("here", "elsewhere/deep"):
        monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / name / "cache"))
        found.append(built(write_files(tmp_path / name, **LIBRARY), **keys)[0])
    assert b"elsewhere" not in found[1]["demo/k.fatbin"]
    assert found[0] == found[1]


@pytest.mark.one_toolchain
def test_code_for_linking_that_depends_on_the_folder_is_told(built: Callable[..., Any], tmp_path: Path) -> None:
    _, reporter, _ = built(write_files(tmp_path / "library", **LIBRARY), relocatable=True, architectures=["80-real"])
    assert [text for text in reporter.warnings if text.startswith("demo.k: the LTO-IR for linking depends on where")]


@pytest.mark.one_toolchain
def test_compile_on_load_notices_the_library_and_the_variable(
    make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    libraries = [write_files(tmp_path / name, **LIBRARY) for name in ("one", "two")]
    (libraries[1] / "include/tiles/size.h").write_text("#define TILE 5\n")
    table = '[tool.cuda-wheel]\nsystem-include-dirs = ["$TILES/include"]\nmissing-headers = ["Eigen/*"]\n'
    project = make_project(table, **{"demo/k.cu": "#include <Eigen/Core>\n" + SOURCE})

    def load(library: Path) -> bytes:
        monkeypatch.setenv("TILES", str(library))
        found = compile_on_load("demo.k", [str(project / "demo")], lambda: (8, 0))
        assert found is not None
        return found[1]

    with pytest.warns(RuntimeWarning, match=r"k\.cu:1: warning: Eigen/Core is not found, and empty"):
        first = load(libraries[0])
    with pytest.warns(RuntimeWarning, match="Eigen/Core"):
        assert load(libraries[1]) != first
    assert load(libraries[0]) == first  # from the cache, without a warning
    monkeypatch.delenv("TILES")
    with pytest.raises(ConfigError, match="TILES is not set"):
        compile_on_load("demo.k", [str(project / "demo")], lambda: (8, 0))


def test_an_sdist_needs_no_library(make_project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILES", raising=False)
    project = make_project(**{"demo/k.cu": SOURCE, "include/own.h": ""})
    config = Config.from_table({"system-include-dirs": ["$TILES/include"], "include-dirs": ["include"]})
    files = [WheelFile(project / "demo/k.cu", "demo/k.cu")]
    assert sdist_files(config, project, files, pytest.fail) == ["demo/k.cu", "include/own.h"]


def test_a_rebuild_with_other_headers_says_so() -> None:
    """`verify --rebuild` compares the hash in the manifest and the files in the SBOM."""
    digests = [{"nvrtc": "12.9.86", "system-headers": f"sha256:{digit * 64}"} for digit in "ab"]
    assert rebuild._table_lines(*digests) == ["system-headers differs"]
