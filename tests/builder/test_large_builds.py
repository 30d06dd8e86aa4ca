"""Work that all modules of a large project share is done once, and loading one of them opens no other."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuda_wheel.builder.manifest_writer import coverage
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime import loading, rules
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Target, sha256_of
from tests.support.processes import run

pytestmark = [pytest.mark.one_toolchain, pytest.mark.usefixtures("two_workers")]

NAMES = "abcde"


def manifest(name: str) -> Manifest:
    targets = map(Target.parse, ("sm_80", "sm_90"))
    images = tuple(
        Image("cubin", target, None, None, (12, 0), 0, 1, sha256_of(name.encode()), {}) for target in targets
    )
    kernels = (KernelInfo(name, name, ()),)
    return Manifest(name, "k.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, (f"{name}.cu",), (), images, kernels)


def test_modules_with_the_same_targets_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(coverage, "resolve", lambda *arguments: calls.append(arguments) or resolve(*arguments))
    resolve = rules.resolve
    (one,) = coverage.cover([manifest("a")])
    alone = len(calls)
    (all_,) = coverage.cover(manifest(name) for name in NAMES)
    assert len(calls) == 2 * alone
    assert all_.cells == one.cells
    assert all_.names == tuple(NAMES)
    assert coverage.cover(map(coverage.deciding, map(manifest, NAMES)))[0].cells == one.cells


def test_loading_one_module_opens_no_file_of_the_others(tmp_path: Path) -> None:
    package = tmp_path / "many"
    package.mkdir()
    (package / "__init__.py").touch()
    for number in range(200):
        (package / f"m{number}.fatbin.json").write_text(manifest_text(manifest(f"many.m{number}")))
    program = """
import os, sys
from cuda_wheel.runtime.files import files_and_manifest
import many
opened = []
def record(event, arguments):
    if event in ("open", "os.listdir", "os.scandir"):
        opened.append((event, os.path.basename(str(arguments[0]))))
sys.addaudithook(record)
_, manifest = files_and_manifest("many.m77", None)
assert manifest.name == "many.m77"
print(opened)
"""
    result = run(sys.executable, "-c", program, PYTHONPATH=f"{tmp_path}:{Path(loading.__file__).parents[2]}")
    assert result.stdout == "[('open', 'm77.fatbin.json')]\n"
