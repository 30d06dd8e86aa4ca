"""Projects in folders of odd names build, and to the same bytes as in a plain one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.test_package_files import ODD_NAMES, made
from tests.soak import SOAK
from tests.support.processes import run
from tests.support.projects import BACKENDS, copy_fixture
from tests.support.wheels import contents

HOOK = "import sys, {backend} as backend; backend.build_wheel(sys.argv[1])"
"""What a front end calls (PEP 517)."""

MANY = 'a b\'s "c" 100%s #1 $HOME & [x]*? {y} ~ Käse-日本語/' + "/".join(letter * 100 for letter in "defg")
"""Most of them in one name, which is longer than 400 characters."""

NAMES = [MANY, *ODD_NAMES] if SOAK else [MANY]

NOT_IN_CMAKE = {"back\\slash": "does not exist", "new\nline": "does not exist", "a;b": "Build in another folder."}
"""Names that CMake itself cannot build in, and what it, or cuda-wheel's function, says."""


def build(project: Path, backend: str) -> tuple[dict[str, bytes], str]:
    """Return the files of a project's wheel, without any where it does not build, and what is said: by pip in the full
    run, else by what pip calls."""
    output = project.parent / "dist"
    output.mkdir()
    environ = {"CUDA_WHEEL_CACHE_DIR": str(project.parent / "cache"), "SOURCE_DATE_EPOCH": "1700000000"}
    environ["CUDAARCHS"] = "80-real;120-virtual"
    hook = ["-c", HOOK.format(backend=BACKENDS[backend]), output]
    pip = ["-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", output, "."]
    by_pip = SOAK and str(project).isprintable()  # which pip itself wants of a path, but for a line end
    result = run(sys.executable, *(pip if by_pip else hook), cwd=project, **environ)
    wheels = list(output.glob("*.whl"))
    return contents(wheels[0]) if wheels else {}, result.stdout


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory, extra: str) -> Callable[[str], dict[str, bytes]]:
    """Return a function that gives what a back end makes in a plain folder, made once."""
    made: dict[str, dict[str, bytes]] = {}

    def build_plainly(backend: str) -> dict[str, bytes]:
        if backend not in made:
            folder = tmp_path_factory.mktemp("plain")
            made[backend], told = build(copy_fixture("saxpy", folder / "project", extra, backend), backend)
            assert made[backend], told
        return made[backend]

    return build_plainly


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:40])
def test_the_bytes_do_not_depend_on_the_folder(
    name: str, backend: str, plain: Callable[[str], dict[str, bytes]], tmp_path: Path, extra: str, count: Callable[..., None]
) -> None:  # fmt: skip
    project = copy_fixture("saxpy", made(tmp_path / name) / "project", extra, backend)
    files, told = build(project, backend)
    count("builds in folders of odd names", 1)
    if backend == "scikit-build-core" and name in NOT_IN_CMAKE:
        assert NOT_IN_CMAKE[name] in told and not files
    else:
        assert files == plain(backend), told
