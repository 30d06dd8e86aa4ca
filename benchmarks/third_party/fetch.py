"""Fetch the corpus: `python benchmarks/third_party/fetch.py [FOLDER [LIST]]` writes the sources that LIST names.

LIST is `packages.toml` if it is not given.
The default FOLDER is `.corpus` beside this file, which git ignores. Each repository is fetched at its commit from
github.com, or from `$CUDA_WHEEL_MIRROR/OWNER/NAME.git` if that variable is set. Only the folders that the list names
are written, with the repository's own structure, to FOLDER/OWNER+NAME/. The sources have licences of their own: they
are never committed here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from corpus import CORPUS, Package, packages

__all__ = ["fetch"]


def fetch(listed: Iterable[Package], folder: Path) -> None:
    """Write the folders of each package, and of the repositories that it needs, below `folder`. A folder that exists is
    not written again."""
    for package in listed:
        home = package.home(folder)
        extract(package.repository, package.commit, package.folders, home)
        for need in package.needs:
            extract(need.repository, need.commit, need.folders, home / need.at)


def extract(repository: str, commit: str, folders: Iterable[str], target: Path) -> None:
    """Write those folders of a repository at a commit into `target`."""
    missing = [each for each in folders if each == "." or not (target / each).exists()]
    if not missing or ("." in missing and (target / ".commit").exists()):
        return
    print(f"{repository} {commit[:12]}: {', '.join(missing)}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        git_folder = repository_of(repository, commit, Path(scratch))
        archive = run("git", f"--git-dir={git_folder}", "archive", "--format=tar", commit, *missing)
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(target, filter="data")
    (target / ".commit").write_text(commit + "\n", encoding="utf-8")


def repository_of(repository: str, commit: str, scratch: Path) -> Path:
    """Return a git folder that has the commit: the mirror's, or one made in `scratch`."""
    mirror = os.environ.get("CUDA_WHEEL_MIRROR")
    if mirror:
        return Path(mirror, f"{repository}.git")
    run("git", "init", "--bare", "--quiet", str(scratch))
    run("git", f"--git-dir={scratch}", "fetch", "--quiet", "--depth=1", f"https://github.com/{repository}", commit)
    return scratch


def run(*command: str) -> bytes:
    """Return a command's output; raises SystemExit with its errors if it fails."""
    result = subprocess.run(command, capture_output=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{result.stderr.decode()}")
    return result.stdout


if __name__ == "__main__":
    if not shutil.which("git"):
        raise SystemExit("fetch.py needs git")
    folder, *lists = [Path(argument) for argument in sys.argv[1:]] or [CORPUS]
    fetch(packages(*lists), folder)
