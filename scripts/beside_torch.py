"""Build a wheel beside PyTorch: with each extra, in one environment and isolated. `nox -s beside_torch` runs this.

    python scripts/beside_torch.py pip|uv MINOR FOLDER

MINOR counts PyTorch's minor releases back from the newest. cuda-wheel's own wheels are found by PIP_FIND_LINKS and
UV_FIND_LINKS. An environment takes some 6 GB in FOLDER, one at a time.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FIXTURE = Path(__file__).parents[1] / "fixtures" / "saxpy"

EXTRAS = ("cu12", "cu13")


def torch_requirement(installer: str, minor: int) -> tuple[str, str]:
    """Return a requirement such as "torch<2.13", and the release that it selects.

    `minor` is the number of minor releases to go back from the newest.
    """
    requirement = "torch"
    for _ in range(minor + 1):
        release = chosen_release(installer, requirement)
        chosen, requirement = requirement, "torch<" + ".".join(release.split(".")[:2])
    return chosen, release


def chosen_release(installer: str, requirement: str) -> str:
    """Return the release of PyTorch that an installer selects for a requirement alone, such as "2.13.0".

    pip and uv may select different ones: an index may lack a file that one of them needs for the newest.
    """
    if installer == "pip":
        dry_run = ("install", "--dry-run", "--ignore-installed", "-q", "--report", "-", requirement)
        report = json.loads(output(sys.executable, "-m", "pip", *dry_run))
        versions = {each["metadata"]["name"]: each["metadata"]["version"] for each in report["install"]}
        return public(versions["torch"])
    resolved = output(sys.executable, "-m", "uv", "pip", "compile", "-q", "--no-annotate", "-", given=requirement)
    return public(next(line for line in resolved.splitlines() if line.startswith("torch==")).partition("==")[2])


def public(version: str) -> str:
    """Return a version without its local part: "2.13.0" for "2.13.0+cpu"."""
    return version.partition("+")[0].strip()


def output(*command: object, given: str = "") -> str:
    """Return the standard output of a command, whose standard input is `given`. Raises CalledProcessError if it
    fails."""
    return subprocess.run([*map(str, command)], input=given, check=True, stdout=subprocess.PIPE, text=True).stdout


def build(installer: str, extra: str, torch: str, release: str, folder: Path) -> None:
    """Install an extra beside PyTorch in a new environment, build a wheel in the environment, and build another one in
    isolation."""
    python = folder / "env" / "bin" / "python"
    required = ["hatchling", f"cuda-wheel[{extra}]", torch]
    output(sys.executable, "-m", "venv", folder / "env")
    if installer == "pip":
        install: Sequence[object] = (python, "-m", "pip", "install", "-q")
        wheel: Sequence[object] = (python, "-m", "pip", "wheel", "-q", "--no-deps", "-w")
    else:
        install = (sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python)
        wheel = (sys.executable, "-m", "uv", "build", "-q", "--wheel", "--python", python, "-o")
    output(*install, *required)
    output(python, "-m", "pip", "check")
    installed = public(output(python, "-c", "from importlib.metadata import version; print(version('torch'))"))
    assert installed == release, f"{installer} installed PyTorch {installed} beside {extra}, not {release}"
    for name, options in (("beside", ["--no-build-isolation"]), ("isolated", [])):
        project = Path(shutil.copytree(FIXTURE, folder / name))
        settings = (project / "pyproject.toml").read_text()
        text = re.sub(r"(?m)^requires = .*", f"requires = {json.dumps(required)}", settings)
        (project / "pyproject.toml").write_text(text)
        output(*wheel, folder / "out" / name, *options, project)
        (built,) = (folder / "out" / name).glob("*.whl")
        nvrtc = json.loads(output(python, "-m", "cuda_wheel", "inspect", "--json", built))["modules"][0]["toolchain"][
            "nvrtc"
        ]
        assert nvrtc.startswith(extra[2:] + "."), f"built with NVRTC {nvrtc}, not with {extra}"
        print(f"{installer}, PyTorch {release}, {extra}, {name}: NVRTC {nvrtc}", flush=True)


def main() -> None:
    installer, minor, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).resolve()
    torch, release = torch_requirement(installer, minor)
    for extra in EXTRAS:
        shutil.rmtree(folder, ignore_errors=True)
        build(installer, extra, torch, release, folder)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
