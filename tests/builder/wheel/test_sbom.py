"""The SBOM in a wheel is valid by CycloneDX's schema, and lists what the images were built from."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel
from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.wheel.sbom import Materials, merged
from cuda_wheel.cmake.__main__ import main
from cuda_wheel.runtime.manifest import Manifest
from tests.support.processes import build_wheel
from tests.support.projects import KERNEL
from tests.support.wheels import contents

pytestmark = pytest.mark.lowest

MIXED = """\
#include <vector>
#include <stdint.h>
#include <cuda_fp16.h>
#include <cuda/std/cstdint>
#include "tile.h"
__global__ void scale(__half* x) { x[threadIdx.x] = x[threadIdx.x] * __half(TILE); }
int main() { std::vector<int> x; }
"""
TABLE = '[tool.cuda-wheel]\narchitectures = "80"\n'
CRT = {"nvidia-cuda-crt", "nvidia-cuda-nvcc"}
"""Packages whose headers the toolkit's own headers may include."""


def is_valid(text: bytes) -> bool:
    """Return whether an SBOM follows CycloneDX's schema."""
    # Inside: the import compiles the grammar of URIs, which takes seconds, and every process of the tests imports this.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from jsonschema import Draft7Validator
    from rfc3987_syntax import is_valid_syntax

    # If the check of manifests has imported jsonschema first, it has not registered this format.
    Draft7Validator.FORMAT_CHECKER.checks("iri-reference", ValueError)(
        lambda text: not isinstance(text, str) or is_valid_syntax("iri_reference", text)
    )
    return JsonStrictValidator(SchemaVersion.V1_7).validate_str(text.decode()) is None


def build(project: Path, output: Path) -> dict[str, bytes]:
    result = build_wheel(project, output)
    assert result.returncode == 0, result.stdout
    return contents(output / "demo-1-py3-none-any.whl")


@pytest.fixture
def mixed(make_project, tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    """Return a project of two modules, one of which uses every kind of component, and the files of its wheel."""
    files = {"demo/fill.cu": KERNEL, "demo/scale.cu": MIXED, "include/tile.h": "#define TILE 2\n"}
    project = make_project(TABLE + 'include-dirs = ["include"]', **files)
    return project, build(project, tmp_path / "dist")


def test_the_sbom_is_valid_and_complete(mixed) -> None:
    project, files = mixed
    text = files["demo-1.dist-info/sboms/cuda-wheel.cdx.json"]
    assert is_valid(text)
    document = json.loads(text)
    components = {component["bom-ref"]: component for component in document["components"]}
    assert len(components) == len(document["components"])

    depends_on = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    assert set(depends_on) == {"wheel:demo/fill.fatbin", "wheel:demo/scale.fatbin"}
    assert set(components) == {
        *depends_on,
        *depends_on["wheel:demo/fill.fatbin"],
        *depends_on["wheel:demo/scale.fatbin"],
    }
    packages = {}
    for reference, component in components.items():
        kind, _, path = reference.partition(":")
        if "hashes" in component:
            content = files[path] if kind == "wheel" else (project / path).read_bytes()
            assert component["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}]
        else:
            assert component["purl"] == f"pkg:pypi/{component['name']}@{metadata.version(component['name'])}"
            packages[component["name"]] = component.get("scope", "required")

    def own(fatbin: str) -> set[str]:
        return {reference for reference in depends_on[fatbin] if reference.startswith("source:")}

    assert own("wheel:demo/fill.fatbin") == {"source:demo/fill.cu"}
    assert own("wheel:demo/scale.fatbin") == {"source:demo/scale.cu", "source:include/tile.h"}
    # The images contain code from included headers, and none from the compilers.
    required = {name.removesuffix("-cu12") for name, scope in packages.items() if scope == "required"}
    assert required - CRT == {"cuda-wheel", "nvidia-cuda-runtime", "nvidia-cuda-cccl"}
    excluded = {name.removesuffix("-cu12") for name, scope in packages.items() if scope == "excluded"}
    assert excluded == {"nvidia-cuda-nvrtc", "nvidia-nvjitlink", "nvidia-nvfatbin"}


def test_the_settings_can_disable_the_sbom(make_project, tmp_path: Path) -> None:
    files = build(make_project(TABLE + "sbom = false"), tmp_path / "dist")
    assert "demo/fill.fatbin" in files
    assert not [name for name in files if "sbom" in name]


def test_the_settings_can_disable_the_sbom_in_cmake(tmp_path: Path) -> None:
    part = {"components": [], "dependencies": []}
    (tmp_path / "k.cdx.json").write_text(json.dumps(part))
    (tmp_path / "parts.txt").write_text(f"{tmp_path / 'k.cdx.json'}")
    for setting, there in (("", True), ("sbom = false", False), ("sbom = true", True)):
        (tmp_path / "pyproject.toml").write_text(f"[tool.cuda-wheel]\n{setting}\n")
        folder = tmp_path / f"sboms {setting}"
        assert main(["sbom", str(tmp_path), str(tmp_path / "parts.txt"), str(folder)]) == 0
        assert (folder / "cuda-wheel.cdx.json").is_file() is there


def finished(**changes: Any) -> BuiltModule:
    known: dict[str, Any] = dict.fromkeys(Manifest._fields, ())
    known |= {"name": "demo.k", "fatbin": "k.fatbin", "fatbin_size": 0, "fatbin_sha256": "0" * 64, "sources": ("k.cu",)}
    manifest = Manifest(**known | {"toolchain": {"nvrtc": "12.9.86"}} | changes)
    return BuiltModule((manifest,), b"", b"", ())


def test_a_toolkit_outside_of_packages_is_listed_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    folder = tmp_path / "toolkit" / "include"
    (folder / "cuda").mkdir(parents=True)
    (folder / "cuda/h.h").write_text("// header\n")
    libraries = tuple(str(tmp_path / "toolkit" / name) for name in ("nvrtc", "nvJitLink", "nvfatbin"))
    toolchain = Toolchain("12.9.86", "12.9", "12.8", (80,), (str(folder),), libraries)
    materials = Materials(tmp_path, Config(), toolchain, None)
    text = merged([materials.of(finished(), [str(folder / "cuda" / ".." / "cuda" / "h.h")])])
    assert is_valid(text)
    document = json.loads(text)
    assert document["dependencies"][0]["dependsOn"] == [
        f"pkg:pypi/cuda-wheel@{cuda_wheel.__version__}",
        "source:k.cu",
        "toolkit:cuda/h.h",
        "toolkit:nvJitLink@12.9",
        "toolkit:nvfatbin@12.8",
        "toolkit:nvrtc@12.9.86",
    ]
    (header,) = (each for each in document["components"] if each["name"] == "cuda/h.h")
    assert header["hashes"][0]["content"] == hashlib.sha256(b"// header\n").hexdigest()


@pytest.mark.parametrize("vendored", [True, False])
def test_a_component_of_one_module_is_not_excluded_by_another(
    vendored: bool, tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    materials = Materials(tmp_path, Config(loader="vendor" if vendored else "dependency"), toolchain, None)
    alone = materials.of(finished(), [])
    including = materials.of(finished(name="demo.l", fatbin="l.fatbin"), [str(INCLUDE / "stdint.h")])

    def scope(*documents: dict[str, Any]) -> str:
        components = json.loads(merged(documents))["components"]
        return next(each.get("scope", "required") for each in components if each["name"] == "cuda-wheel")

    assert scope(alone) == ("required" if vendored else "excluded")
    assert scope(alone, including) == scope(including, alone) == "required"


def test_all_header_packages_are_listed_if_the_compiler_lists_no_headers(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    materials = Materials(tmp_path, Config(), toolchain, None)
    references = materials.of(finished(), materials.installed_headers())["dependencies"][0]["dependsOn"]
    for name in ("nvidia-cuda-cccl", "nvidia-cuda-runtime"):
        assert any(reference.startswith(f"pkg:pypi/{name}") for reference in references)
