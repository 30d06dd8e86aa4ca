"""Projects in folders with unusual names build, and give the same bytes as in a folder with a plain name."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak import SOAK
from tests.support.package_files import ODD_NAMES, make_folder
from tests.support.processes import run
from tests.support.projects import BACKENDS, copy_fixture
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

HOOK = "import sys, {backend} as backend; backend.build_wheel(sys.argv[1])"
"""The call of a PEP 517 front end."""

MANY = 'a b\'s "c" 100%s #1 $HOME & [x]*? {y} ~ Käse-日本語/' + "/".join(letter * 100 for letter in "defg")
"""Most of the unusual names in one path, which is longer than 400 characters."""

NAMES = [MANY, *ODD_NAMES] if SOAK else [MANY]

NOT_IN_CMAKE = {"back\\slash": "does not exist", "new\nline": "does not exist", "a;b": "Build in another folder."}
"""Names of folders in which CMake cannot build, and the message of CMake or of cuda-wheel's function."""


def build(project: Path, backend: str) -> tuple[dict[str, bytes], str]:
    """Return the files of a project's wheel (none if the build fails) and the build's output.

    The full run builds with pip, other runs call the back end directly, which is faster.
    """
    output = project.parent / "dist"
    output.mkdir()
    environ = {"CUDA_WHEEL_CACHE_DIR": str(project.parent / "cache"), "SOURCE_DATE_EPOCH": "1700000000"}
    environ["CUDAARCHS"] = "80-real;120-virtual"
    hook = ["-c", HOOK.format(backend=BACKENDS[backend]), output]
    pip = ["-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", output, "."]
    by_pip = SOAK and str(project).isprintable()  # pip needs a printable path
    result = run(sys.executable, *(pip if by_pip else hook), cwd=project, **environ)
    wheels = list(output.glob("*.whl"))
    return contents(wheels[0]) if wheels else {}, result.stdout


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory, extra: str) -> Callable[[str], dict[str, bytes]]:
    """Return a function that gives the files that a back end builds in a plain folder, built once."""
    built: dict[str, dict[str, bytes]] = {}

    def build_plainly(backend: str) -> dict[str, bytes]:
        if backend not in built:
            folder = tmp_path_factory.mktemp("plain")
            built[backend], output = build(copy_fixture("saxpy", folder / "project", extra, backend), backend)
            assert built[backend], output
        return built[backend]

    return build_plainly


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[:40])
def test_the_bytes_do_not_depend_on_the_folder(
    name: str, backend: str, plain: Callable[[str], dict[str, bytes]], tmp_path: Path, extra: str, count: Callable[..., None]
) -> None:  # fmt: skip
    project = copy_fixture("saxpy", make_folder(tmp_path / name) / "project", extra, backend)
    files, output = build(project, backend)
    count("builds in folders with unusual names", 1)
    if backend == "scikit-build-core" and name in NOT_IN_CMAKE:
        assert NOT_IN_CMAKE[name] in output and not files
    else:
        assert files == plain(backend), output
