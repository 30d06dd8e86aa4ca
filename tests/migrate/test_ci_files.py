"""`cuda-wheel init --ci`: the files follow their schemas and zizmor, and their steps run in a clean environment."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.ci_files import DEFAULT_COVERAGE, HOSTS, add_ci_files
from cuda_wheel.migrate.init_project import ProjectChanges, init_project
from cuda_wheel.migrate.pyproject_edit import write_changes
from tests.migrate.test_init_project import head
from tests.project.pages import blocks
from tests.support.processes import run
from tests.support.projects import ROOT, write_files

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]

FILES = {"github": [".github/workflows/wheel.yml", ".github/workflows/publish.yml"], "gitlab": [".gitlab-ci.yml"]}


def proposed(root: Path, host: str, coverage: str = DEFAULT_COVERAGE) -> ProjectChanges:
    done = init_project(root)
    add_ci_files(done, host, coverage)
    return done


def project(root: Path, pyproject: str = "", **files: str) -> Path:
    """Write a project that is a repository of its own: the tests may run below another one."""
    (root / ".git").mkdir(parents=True, exist_ok=True)
    return write_files(root, **{"pyproject.toml": pyproject or head("hatchling"), "demo/__init__.py": "", **files})


def written(root: Path, host: str, coverage: str = DEFAULT_COVERAGE) -> list[Any]:
    """Write what is proposed, and return the files for CI as YAML; a second time changes nothing."""
    write_changes(proposed(root, host, coverage).changes)
    assert proposed(root, host, coverage).changes == []
    yaml = importlib.import_module("yaml")
    return [yaml.safe_load((root / path).read_text()) for path in FILES[host]]


# --- the texts ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_the_files_follow_their_schema(host: str, tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema")
    schema = {"github": "github-workflows", "gitlab": "gitlab-ci"}[host]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    scm = head("hatchling").replace('"hatchling"', '"hatchling", "hatch-vcs"')
    paths = []
    for number, files in enumerate([{}, {"pyproject.toml": scm, ".gitmodules": ""}]):
        root = project(tmp_path / str(number), **files)
        written(root, host)
        paths += [root / path for path in FILES[host]]
    result = run(*command, *paths)
    assert result.returncode == 0, result.stdout
    path = root / FILES[host][0]
    path.write_text(re.sub(r"runs-on|script", "wrong", path.read_text()))
    assert run(*command, path).returncode == 1


def test_zizmor_finds_nothing_in_the_workflows(tmp_path: Path) -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    if zizmor is None:
        pytest.skip("zizmor is not installed")
    root = project(tmp_path)
    written(root, "github")
    result = run(zizmor, "--offline", "--no-progress", root / ".github/workflows")
    assert result.returncode == 0, result.stdout
    workflow = root / FILES["github"][1]
    workflow.write_text(
        workflow.read_text().replace("          persist-credentials: false\n", "          clean: true\n")
    )
    assert run(zizmor, "--offline", "--no-progress", workflow).returncode != 0


def test_the_tutorial_shows_the_files(tmp_path: Path) -> None:
    shown = {block.title: block.text for block in blocks(ROOT / "docs/tutorials/publish.md") if block.title}
    root = project(tmp_path, head("hatchling").replace('"hatchling"', '"hatchling", "cuda-wheel[cu12]"'))
    for host in HOSTS:
        written(root, host)
        for path in FILES[host]:
            assert shown[path] == (root / path).read_text(), path


def test_every_action_is_that_of_the_projects_own_workflows(tmp_path: Path) -> None:
    root = project(tmp_path)
    written(root, "github")
    texts = {
        folder: "".join(path.read_text() for path in (folder / ".github/workflows").iterdir())
        for folder in (root, ROOT)
    }
    used, own = ({line.strip() for line in re.findall(r"uses: ([^.\n].*)", text)} for text in texts.values())
    assert {line for line in used - own if not line.startswith("actions/cache@")} == set()
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+(, .*)?", line) for line in used)


def test_only_the_job_that_uploads_can_sign_and_it_runs_no_code_of_the_project(tmp_path: Path) -> None:
    wheel, publish = written(project(tmp_path), "github")
    for workflow in (wheel, publish):
        assert workflow["permissions"] == {"contents": "read"}
    jobs = wheel["jobs"] | publish["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    job = jobs["publish"]
    assert job["needs"] == "build" and job["environment"] == "pypi" and all("run" not in step for step in job["steps"])
    assert "cache" not in str(publish).replace("which other runs could write", "")  # a release is built without one
    (gitlab,) = written(project(tmp_path), "gitlab")
    assert [name for name, job in gitlab.items() if "id_tokens" in job] == ["publish"]
    assert [name for name, job in gitlab.items() if "cache" in job] == ["wheel"]
    assert gitlab["publish"]["needs"] == ["release"] and gitlab["publish"]["variables"] == {"GIT_STRATEGY": "none"}
    tag = [{"if": "$CI_COMMIT_TAG =~ /^v/"}]
    assert gitlab["publish"]["rules"] == gitlab["release"]["rules"] == tag != gitlab["wheel"]["rules"]


def test_what_a_project_needs_is_in_its_files(tmp_path: Path) -> None:
    text = head("hatchling").replace(
        '"hatchling"', '"hatchling", "hatch-vcs", "cuda_wheel [cu13] >= 0.1 ; os_name != \'x\'"'
    )
    root = project(tmp_path, text.replace(">=3.10", ">=3.13,<4"), **{".gitmodules": ""})
    wheel, _ = written(root, "github", "sm_90,driver>=13.0")
    steps = wheel["jobs"]["wheel"]["steps"]
    assert steps[0]["with"] == {"persist-credentials": False, "fetch-depth": 0, "submodules": "recursive"}
    assert steps[1]["with"] == {"python-version": "3.13"}
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[0] == 'python -m pip install build "cuda_wheel[cu13]>=0.1"'
    assert 'cuda-wheel coverage dist/*.whl --require "sm_90,driver>=13.0"' in commands
    (gitlab,) = written(root, "gitlab", "sm_90,driver>=13.0")
    assert gitlab[".wheel"]["image"] == gitlab["publish"]["image"] == "python:3.13"
    assert gitlab[".wheel"]["variables"] == {"GIT_DEPTH": 0}
    assert 'python -m pip install build "cuda_wheel[cu13]>=0.1"' in gitlab[".wheel"]["script"]
    assert any("submodules" in line for line in proposed(root, "gitlab").advice)


@pytest.mark.parametrize(
    ("requires", "version"),
    [(">=3.10", "3.12"), (">= 3.13, <3.15", "3.13"), ("~=3.13", "3.13"), ("==3.14.*", "3.14"), ("<4", "3.12")],
)
def test_the_jobs_use_a_python_that_the_project_allows(requires: str, version: str, tmp_path: Path) -> None:
    wheel, _ = written(project(tmp_path, head("hatchling").replace(">=3.10", requires)), "github")
    assert wheel["jobs"]["wheel"]["steps"][1]["with"] == {"python-version": version}


@pytest.mark.parametrize("requirement", ["cuda-wheel @ https://example.com/$(x).whl", "cuda-wheel[cu12]`x`"])
def test_a_requirement_that_a_shell_would_read_otherwise_is_not_copied(requirement: str, tmp_path: Path) -> None:
    root = project(tmp_path, head("hatchling").replace('"hatchling"', f'"hatchling", "{requirement}"'))
    done = proposed(root, "github")
    (text,) = (each.after for each in done.changes if each.path.name == "wheel.yml")
    assert 'pip install build "cuda-wheel[tools]"\n' in text


@pytest.mark.parametrize(
    ("requirement", "installed"), [("cuda-wheel", "[tools]"), ("cuda-wheel >= 0.1", "[tools]>=0.1")]
)
def test_the_jobs_install_the_commands(requirement: str, installed: str, tmp_path: Path) -> None:
    root = project(tmp_path, head("hatchling").replace('"hatchling"', f'"hatchling", "{requirement}"'))
    (text,) = (each.after for each in proposed(root, "github").changes if each.path.name == "wheel.yml")
    assert f'pip install build "cuda-wheel{installed}"\n' in text


# --- what exists stays ---------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_a_file_that_exists_stays_and_the_command_says_whether_it_differs(
    host: str, tmp_path: Path, cuda_wheel: Command
) -> None:
    root = project(tmp_path / "demo")
    result = cuda_wheel("init", root, "--ci", host)
    assert result.returncode == 0 and all(f"wrote {path}" in result.stdout for path in FILES[host])
    assert (
        "as a trusted publisher of demo: " in result.stdout
        and f'the files promise "{DEFAULT_COVERAGE}"' in result.stdout
    )
    path = root / FILES[host][-1]
    before = path.read_text()
    path.write_bytes(before.replace("\n", "\r\n").encode())  # as Git checks it out on Windows
    result = cuda_wheel("init", root, "--ci", host)
    assert "nothing to write" in result.stdout and f"kept {FILES[host][-1]}: exists\n" in result.stdout
    path.write_text(before + "# changed\n")
    result = cuda_wheel("init", root, "--ci", host)
    assert f"kept {FILES[host][-1]}: exists, and differs from what" in result.stdout
    assert path.read_text() == before + "# changed\n"


def test_a_pipeline_of_gitlab_that_exists_gets_a_file_to_include(tmp_path: Path) -> None:
    root = project(tmp_path, **{".gitlab-ci.yml": "test:\n  script: [pytest]\n"})
    done = proposed(root, "gitlab")
    assert [each.path.relative_to(root).as_posix() for each in done.changes][-1] == ".gitlab/cuda-wheel.yml"
    assert any("include: {local: .gitlab/cuda-wheel.yml}" in line for line in done.advice)
    assert not any(each.path.name == ".gitlab-ci.yml" for each in done.changes)


def test_a_project_inside_a_repository_is_an_error(tmp_path: Path) -> None:
    project(tmp_path)
    root = write_files(tmp_path / "packages/demo", **{"pyproject.toml": head("hatchling"), "demo/__init__.py": ""})
    with pytest.raises(ConfigError, match=r"is a folder in the repository .* Nothing was written\."):
        proposed(root, "github")


def test_a_dry_run_writes_nothing_and_a_wrong_requirement_is_wrong_usage(tmp_path: Path, cuda_wheel: Command) -> None:
    root = project(tmp_path / "demo")
    result = cuda_wheel("init", root, "--ci", "github", "--dry-run", "--require", "sm_90, driver>=13.0")
    assert result.returncode == 0 and "+++ b/.github/workflows/publish.yml\n" in result.stdout
    assert '--require "sm_90,driver>=13.0"' in result.stdout and "the files promise" not in result.stdout
    assert not (root / ".github").exists()
    for options, message in (
        (["--require", "sm_90"], "--require needs --ci"),
        (["--ci", "github", "--require", "sm_1"], "sm_1"),
        (["--ci", "other"], "invalid choice"),
    ):
        result = cuda_wheel("init", root, *options)
        assert result.returncode == 2 and message in result.stdout


# --- the steps run -----------------------------------------------------------------------------------------


def github_commands(root: Path, workflow: str, job: str) -> list[str]:
    """Return the commands of a job, in order; none has an expression of GitHub, and only these run code."""
    yaml = importlib.import_module("yaml")
    steps = yaml.safe_load((root / ".github/workflows" / workflow).read_text())["jobs"][job]["steps"]
    assert all("${{" not in step.get("run", "") for step in steps)
    return [step["run"] for step in steps if "run" in step]


FIRST = re.compile(r'python -m pip install build "cuda-wheel\[cu\d+\]"')
"""The first step of each job: with a toolchain of some hundred MB, it takes longer than all others."""


class Runner:
    """A clean machine: a checkout of what is committed, an empty home, and few variables."""

    def __init__(self, root: Path, folder: Path, environment: Path, find_links: dict[str, str]) -> None:
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
            subprocess.run([*git, *command], cwd=root, check=True)
        self.folder = folder / "checkout"
        subprocess.run(["git", "clone", "-q", str(root), str(self.folder)], check=True)
        (folder / "home").mkdir(parents=True)
        self.environ = {
            "HOME": str(folder / "home"),
            "PATH": os.pathsep.join([str(environment / "bin"), "/usr/bin", "/bin"]),
            "TMPDIR": str(folder),
            "GITHUB_OUTPUT": str(folder / "output"),
            "CI_PROJECT_DIR": str(self.folder),
            "CUDAARCHS": "",
            **find_links,
        }
        self.environ |= {
            name: value for name, value in os.environ.items() if name.lower().endswith(("_proxy", "_file"))
        }
        # uv, which makes the environments of a build from its cache, for pip takes ten times longer.
        self.environ["PATH"] += os.pathsep + sysconfig.get_path("scripts")
        self.environ |= {name: value for name, value in os.environ.items() if name.startswith("UV_")} | find_links
        self.environ["UV_CACHE_DIR"] = run(sys.executable, "-m", "uv", "cache", "dir").stdout.strip()

    def run(self, command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a step as GitHub and GitLab do on Linux: a new shell that stops at the first error."""
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environ | environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new environment with pip alone. The first test that uses it installs what the jobs of both hosts do."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder


def by_uv(script: str) -> str:
    """Return commands in which uv installs what a build requires. The rebuild, which verify compares, is by pip."""
    return re.sub(r"\bpython -m build\b", "python -m build --installer=uv", script)


def new_project(root: Path, extra: str) -> Path:
    """Return a project as `init` makes it in an empty folder, with the files for CI of both hosts."""
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    write_changes(init_project(root).changes)
    path = root / "pyproject.toml"
    path.write_text(re.sub(r"cuda-wheel\[cu\d+\]", f"cuda-wheel[{extra}]", path.read_text()))
    for host in HOSTS:
        write_changes(proposed(root, host).changes)
    return root


@pytest.mark.thorough
@pytest.mark.timeout(1500)  # four environments with a toolchain are installed
@pytest.mark.skipif(sys.platform != "linux", reason="the runners have Linux")
def test_the_steps_of_github_run_in_a_clean_environment(
    tmp_path: Path, environment: Path, find_links: dict[str, str], extra: str
) -> None:
    root = new_project(tmp_path / "saxpy-demo", extra)
    runner = Runner(root, tmp_path / "runner", environment, find_links)
    commands = github_commands(root, "publish.yml", "build")
    assert FIRST.fullmatch(commands[0]) and sum(by_uv(each) != each for each in commands) == 1
    for command in commands:
        result = runner.run(by_uv(command))
        assert result.returncode == 0, f"{command}\n{result.stdout}"
    assert "saxpy_demo.kernels.saxpy: the rebuild is identical" in result.stdout
    # A promise that the wheel does not keep fails the job.
    (coverage,) = (each for each in commands if " coverage " in each)
    result = runner.run(coverage.replace("sm_75..", "sm_70,sm_75.."))
    assert result.returncode == 1 and "Volta" in result.stdout
    # The workflow with a cache has one more command, which computes a part of the cache's key.
    (toolchain,) = (each for each in github_commands(root, "wheel.yml", "wheel") if each not in commands)
    assert runner.run(toolchain).returncode == 0
    assert re.fullmatch(r"hash=[0-9a-f]{16}\n", (tmp_path / "runner/output").read_text())


@pytest.mark.thorough
@pytest.mark.timeout(1500)  # as above
@pytest.mark.skipif(sys.platform != "linux", reason="the runners have Linux")
def test_the_script_of_gitlab_runs_in_a_clean_environment(
    tmp_path: Path, environment: Path, find_links: dict[str, str], extra: str
) -> None:
    """With the cache in the project's folder, which does not get into the sdist.

    The environment of the first step is that of the test of GitHub's job, in which pip installs everything.
    """
    root = new_project(tmp_path / "saxpy-demo", extra)
    runner = Runner(root, tmp_path / "runner", environment, find_links)
    jobs = importlib.import_module("yaml").safe_load((root / ".gitlab-ci.yml").read_text())
    cache = jobs["wheel"]["variables"]["CUDA_WHEEL_CACHE_DIR"].replace("$CI_PROJECT_DIR", str(runner.folder))
    write_files(Path(cache), **{"00/00": "what an earlier pipeline left"})
    commands: list[str] = jobs[".wheel"]["script"]
    assert FIRST.fullmatch(commands[0])
    script = "\n".join(commands).replace("/tmp/source", str(tmp_path / "source"))
    assert by_uv(script) != script
    result = runner.run(by_uv(script), CUDA_WHEEL_CACHE_DIR=cache)
    assert result.returncode == 0 and "the rebuild is identical" in result.stdout, result.stdout
    assert Path(cache).is_relative_to(runner.folder) and len(list(Path(cache).iterdir())) > 1
    (sdist,) = (runner.folder / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert any(name.endswith("saxpy.cu") for name in names) and not [name for name in names if "cache" in name]
