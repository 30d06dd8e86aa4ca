"""Every command that reads modules, with real builds of projects of every shape; `tests/inspect/test_manifest_shapes.py`
has the shapes of manifests that no small project has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.cli.main import main
from tests.cli.shapes import SHAPES, TUNING
from tests.support.editable import install_editable
from tests.support.processes import run
from tests.support.projects import write_files
from tests.support.variants import ATTACHING

pytestmark = pytest.mark.one_toolchain

COMMANDS = {
    "inspect": "inspect",
    "inspect --size": "inspect --size",
    "coverage": "coverage",
    "verify": "verify",
    "explain": "explain --device sm_80 --driver 12.6",
    "explain, later GPU": "explain --device sm_120 --driver 13.0",
    "explain, old driver": "explain --device sm_90 --driver 12.0",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))
def test_a_wheel_and_its_installation_are_shown(
    command: str, shape: str, wheel: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = command.split()
    shown = []
    for place in (wheel, installed, "demo"):
        status = main([*words, str(place)])
        text = capsys.readouterr()
        assert status == 0, text.out + text.err
        assert all(name in text.out for name in SHAPES[shape].modules)
        assert main([*words, str(place), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        listed = document if isinstance(document, list) else document["modules"]
        names = [name for each in listed for name in ([each["name"]] if "name" in each else each["modules"])]
        assert set(names) == SHAPES[shape].modules
        shown.append(listed)
    if words[0] in ("inspect", "coverage", "explain") and "--size" not in words:  # an archive has other sizes
        assert shown[0] == shown[1] == shown[2]


@pytest.mark.slow
def test_an_editable_install_has_no_images_to_show_and_every_command_says_so(tmp_path: Path) -> None:
    kernels, python = install_editable("hatchling", tmp_path)
    root = kernels.parents[1]

    def command(*words: object) -> Any:
        return run(python, "-m", "cuda_wheel", *words, cwd=tmp_path, CUDA_VISIBLE_DEVICES="")

    for words in (["inspect"], ["inspect", "--json"], ["coverage"], ["verify"], ["explain", "--device", "sm_80"]):
        result = command(*words, "demo")
        assert result.returncode == 1 and "(An editable install has none.)" in result.stdout, result.stdout
    result = command("doctor", "--json")
    assert result.returncode == 0 and not any(
        "demo" in each["distribution"] for each in json.loads(result.stdout)["modules"]
    )
    (kernels / "__init__.py").write_text(ATTACHING)
    result = command("stubs", root)
    assert result.returncode == 0 and "k: Kernel[Pointer]" in (kernels / "__init__.pyi").read_text(), result.stdout
    write_files(tmp_path, **{"tuning.py": TUNING.format(module="demo.kernels.k", kernel="k", variant="{}")})
    result = command("tune", "tuning:tried")
    assert result.returncode == 1 and "Traceback" not in result.stdout and "cuda-wheel: " in result.stdout
