"""The files for CI and releases are valid and do what CONTRIBUTING.md says; a release with a mistake is found."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.project.pages import blocks
from tests.support.processes import run
from tests.support.projects import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PAGE = ROOT / "docs/tutorials/publish.md"


# --- files for CI -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_files_for_ci_are_as_their_schemas_say(tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema")
    for block in blocks(PAGE):
        if block.language == "yaml":
            (tmp_path / Path(block.title).name.lstrip(".")).write_text(block.text)
    files = {
        "github-workflows": [*WORKFLOWS, tmp_path / "wheel.yml", tmp_path / "publish.yml"],
        "gitlab-ci": [tmp_path / "gitlab-ci.yml"],
    }
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    for schema, paths in files.items():
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
        result = run(*command, *paths)
        assert result.returncode == 0, result.stdout
        assert run(*command, broken).returncode == 1


def test_every_action_is_pinned_and_named_by_its_release() -> None:
    texts = [path.read_text() for path in WORKFLOWS] + [block.text for block in blocks(PAGE)]
    used = [line.strip() for text in texts for line in re.findall(r"uses: ([^.\n].*)", text)]
    assert len(used) > 10
    assert [line for line in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+.*", line)] == []
    assert len({line.split(",")[0] for line in used}) == len(
        {line.split("@")[0] for line in used}
    )  # one release of each


def test_only_the_jobs_that_upload_can_sign_and_they_run_no_code_of_the_project() -> None:
    yaml = importlib.import_module("yaml")
    jobs: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    signing = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert signing == {"publish", "rehearse"}
    for name in signing:
        assert jobs[name]["needs"] == ["tests", "build"] and jobs[name]["environment"]
        assert all("run" not in step for step in jobs[name]["steps"])
    assert "actions/attest-build-provenance" in str(jobs["publish"]["steps"])
    sessions = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["sessions"]["strategy"]["matrix"]
    named = {re.sub(r"\(.*", "", each) for each in " ".join(sessions["sessions"]).split()}
    assert named == {"lint", "docs", "release", "tests", "slow", "thorough", "lowest"}


def test_the_steps_of_a_release_name_what_there_is() -> None:
    steps = (ROOT / "CONTRIBUTING.md").read_text().partition("## Releasing\n")[2].partition("\n## ")[0]
    for name in ("cuda_wheel/__init__.py", "CHANGELOG.md", ".github/workflows/release.yml"):
        assert f"`{name}`" in steps and (ROOT / name).is_file()
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert "nox -s release" in steps and "nox -s release -- $TAG" in workflow
    for environment in ("pypi", "testpypi"):
        assert f"`{environment}`" in steps and f"name: {environment}\n" in workflow


# --- the version, and what is published -----------------------------------------------------------------


def test_the_version_is_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "cuda_wheel/__init__.py"
    builder = tomllib.loads((ROOT / "distributions/builder/pyproject.toml").read_text())
    assert builder["project"]["dynamic"] == ["version"] and "version" not in builder["project"]
    assert builder["tool"]["hatch"]["version"]["path"] == "../../cuda_wheel/__init__.py"
    files = [
        path
        for folder in ("cuda_wheel", "hatch_cuda", "setuptools_cuda", "docs", "scripts")
        for path in (ROOT / folder).rglob("*.py")
    ]
    assigned = re.compile(r"^(?:__version__|version = release) = [\"']", re.MULTILINE)
    assert [path for path in files if assigned.search(path.read_text())] == [ROOT / "cuda_wheel/__init__.py"]


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that returns what is wrong with a release, whose files it changes first."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    release = importlib.import_module("release")
    dist, wheels, root = (tmp_path / name for name in ("dist", "wheels", "root"))
    required = {
        "cuda_wheel": "cuda-bindings>=12.9\nRequires-Dist: cuda-wheel-builder==1.2.0; extra == 'tools'",
        "cuda_wheel_builder": "cuda-wheel==1.2.0",
    }

    def find(tag: str = "", heading: str = "1.2.0 (2026-11-23)", metadata: str = "1.2.0", **changed: str) -> list[str]:
        for folder in (dist, wheels):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        (root / "cuda_wheel").mkdir(parents=True, exist_ok=True)
        (root / "cuda_wheel/__init__.py").write_text('"""A package."""\n\n__version__ = "1.2.0"\n')
        (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## {heading}\n\n## 1.1.0 (2026-01-01)\n")
        (dist / changed.get("sdist", "cuda_wheel-1.2.0.tar.gz")).touch()
        (dist / "cuda_wheel_builder-1.2.0.tar.gz").touch()
        for name, needs in required.items():
            lines = f"Metadata-Version: 2.4\nVersion: {metadata}\nRequires-Dist: {changed.get(name, needs)}\n"
            for folder, content in (dist, "a"), (wheels, changed.get("own", "a")):
                with zipfile.ZipFile(folder / f"{name}-1.2.0-py3-none-any.whl", "w") as archive:
                    archive.writestr(zipfile.ZipInfo("cuda_wheel/a.py"), content)
                    archive.writestr(zipfile.ZipInfo(f"{name}-1.2.0.dist-info/METADATA"), lines)
        return list(release.problems(dist, wheels, tag, root))

    return find


def test_a_release_with_a_mistake_is_found(problems: Callable[..., list[str]]) -> None:
    assert problems() == problems("v1.2.0") == []
    assert problems("v1.2.1") == [
        "the tag is v1.2.1, but the version in cuda_wheel/__init__.py is 1.2.0: expected v1.2.0"
    ]
    assert problems(heading="1.2.0 (unreleased)") == []
    (found,) = problems("v1.2.0", heading="1.2.0 (unreleased)")
    assert found == "CHANGELOG.md begins with 1.2.0 (unreleased), not with 1.2.0 and the date of the release"
    loader, builder = problems(metadata="1.1.0")
    assert loader == "cuda_wheel-1.2.0-py3-none-any.whl has version 1.1.0, cuda_wheel/__init__.py has 1.2.0"
    assert builder.startswith("cuda_wheel_builder-1.2.0-py3-none-any.whl has version 1.1.0")
    for found in problems(own="b"):
        assert found.endswith("differs from the one from the repository: ['cuda_wheel/a.py']")
    assert len(problems(own="b")) == 2
    for wrong in ("cuda-wheel==1.1.0", "cuda-wheel>=1.2.0", "cuda-wheel"):
        (found,) = problems(cuda_wheel_builder=wrong)
        assert (
            found == f"cuda_wheel_builder-1.2.0-py3-none-any.whl requires {wrong}: expected ==1.2.0, in pyproject.toml"
        )
    (found,) = problems(cuda_wheel="cuda-wheel-builder==1.2.0.1; extra == 'tools'")
    assert "requires cuda-wheel-builder==1.2.0.1; extra" in found
    (found,) = problems(cuda_wheel="cuda-bindings>=12.9")
    assert found.endswith("requires nothing of the other distribution")
    (found,) = problems(sdist="cuda_wheel-1.1.0.tar.gz")
    assert "cuda_wheel-1.1.0.tar.gz" in found and "not [" in found
