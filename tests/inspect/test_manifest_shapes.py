"""Every shape of manifest: it fits the JSON schema in the reference, and every command that reads manifests shows it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from itertools import chain
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_reader import all_manifests
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.cli.main import main
from cuda_wheel.runtime.manifest import (
    External,
    GlobalInfo,
    Image,
    KernelInfo,
    Manifest,
    Parameter,
    Target,
)
from cuda_wheel.runtime.parts.dtypes import Field, Struct
from tests.support import manifest_schema
from tests.support.manifest_schema import check_built_manifests, check_schema

pytestmark = pytest.mark.one_toolchain

CODE = b"\x7fELF".ljust(64, b"x")
PAIR = Struct("ns::Pair", 8, (Field("x", "f4", 0), Field("y", "f4", 4)))
OUTER = Struct("Outer", 24, (Field("pairs", "ns::Pair", 0, (2,), PAIR), Field("n", "i4", 16)))


def manifest(count: int, *parameters: Parameter) -> Manifest:
    kernels = tuple(KernelInfo(f"ns::k<{n}>", f"_ZN2ns1kILi{n}EEv", parameters) for n in range(count))
    resources = {kernel.symbol: {"registers": 8, "max_threads": 256} for kernel in kernels}
    image = Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 64, sha256(CODE).hexdigest(), resources)
    toolchain = {"nvrtc": "12.9.86", "nvjitlink": "12.9", "nvfatbin": "12.9"}
    digest = sha256(CODE).hexdigest()
    return Manifest("demo.k", "k.fatbin", 64, digest, toolchain, ("demo/k.cu",), ("--std=c++17",), (image,), kernels)


def variants(*manifests: Manifest) -> list[Manifest]:
    return [
        each._replace(variant=(("FAST", number == 1), ("N", number)), fatbin_offset=64 * number)
        for number, each in enumerate(manifests)
    ]


FEW, MANY = manifest(2, Parameter("u64", 0, 8, "float*", "x")), manifest(1000, Parameter("u64", 0, 8, "float*", "x"))
LINKED = FEW._replace(
    images=(
        *FEW.images,
        FEW.images[0]._replace(kind="ltoir", target=Target.parse("compute_80"), resources={}, source="demo/k.cu"),
    ),
    extern=(External("f", "f", 'extern "C" float f(float x)'),),
)
SHAPES = {
    "few kernels": [FEW],
    "a thousand": [MANY],
    "no kernels": [manifest(0)],
    "variants": variants(FEW, FEW, manifest(3)),
    "variants with a thousand": variants(MANY, FEW, MANY),
    "structs": [
        manifest(2, Parameter("b8", 0, 24, "Outer", "p", OUTER), Parameter("b8", 24, 8, "ns::Pair", "q", PAIR))
    ],
    "variables": [FEW._replace(globals=(GlobalInfo("ns::w", "_ZN2ns1wE", "constant", 64),), long_size=8)],
    "linked": [LINKED],
    "compressed": [FEW._replace(images=(FEW.images[0]._replace(offset=None),), compression="zstd")],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_fits_the_schema_and_reads_back(shape: str) -> None:
    text = manifest_text(*SHAPES[shape])
    check_schema(text)
    assert list(all_manifests(text, "x")) == SHAPES[shape]
    assert manifest_text(*all_manifests(text, "x")) == text
    assert len(json.loads(text)["kernels"]) > 9 if "thousand" in shape else True


def test_a_built_manifest_that_is_not_as_the_schema_says_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check that follows the tests of each file."""
    monkeypatch.setattr(manifest_schema, "_checked", set())
    (tmp_path / "k.fatbin.json").write_text(manifest_text(*SHAPES["few kernels"]), encoding="utf-8")
    (tmp_path / "damaged.fatbin.json").write_text(manifest_text(*SHAPES["structs"])[:-9], encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "demo.whl", "w") as wheel:
        wheel.writestr("demo/k.fatbin.json", manifest_text(*SHAPES["variables"]))
    assert check_built_manifests(tmp_path) == 2
    monkeypatch.setattr(manifest_schema, "_checked", set())
    monkeypatch.setitem(manifest_schema.SCHEMA, "required", ["secret"])
    from jsonschema import ValidationError  # inside: the first check imports jsonschema without what takes seconds

    with pytest.raises(ValidationError, match="secret"):
        check_built_manifests(tmp_path)


def test_equal_blocks_of_variants_stand_once() -> None:
    assert len(json.loads(manifest_text(*SHAPES["variants"]))["kernels"]) == 2


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a module of a shape and returns its folder."""

    def folder(shape: str) -> Path:
        (tmp_path / "k.fatbin").write_bytes(CODE * len(SHAPES[shape]))
        (tmp_path / "k.fatbin.json").write_text(manifest_text(*SHAPES[shape]), encoding="utf-8")
        return tmp_path

    return folder


COMMANDS = {
    "inspect": ["inspect"],
    "inspect --json": ["inspect", "--json"],
    "inspect --size": ["inspect", "--size"],
    "inspect --size --json": ["inspect", "--size", "--json"],
    "coverage": ["coverage"],
    "coverage --json": ["coverage", "--json"],
    "verify": ["verify"],
    "verify --json": ["verify", "--json"],
    "explain": ["explain", "--device", "sm_80", "--driver", "12.6"],
    "explain --json": ["explain", "--device", "sm_80", "--driver", "12.6", "--json"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_reads_every_shape(
    shape: str, command: str, folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main([*COMMANDS[command], str(folder(shape))])
    output = capsys.readouterr()
    if command.startswith("verify"):  # these images are no machine code
        assert status == 1 and "demo.k" in output.out
    else:
        assert status == 0, output.err
        assert "demo.k" in output.out
    if "--json" in command:
        found = json.loads(output.out)
        if command == "inspect --json":
            (module,) = found["modules"]
            kernels = [len(each["kernels"]) for each in module.get("variants", [module])]
            assert kernels == [len(each.kernels) for each in SHAPES[shape]]
            images = chain.from_iterable(each["images"] for each in module.get("variants", [module]))
            assert all(image["target"] in ("sm_80", "compute_80") for image in images)
