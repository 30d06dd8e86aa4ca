"""Propose the files for CI that `cuda-wheel init --ci` writes.

They build the wheel, check which GPUs it covers and that a rebuild from the sdist is equal, and for a tag attest and
publish it.

Rules that the texts follow: a release takes nothing from a cache that other runs can write; the job that can sign and
upload runs no code of the project; actions are named by the hash of a commit; no step has an expression of the host in
its command. Sources: GitHub's "Workflow syntax" and "Secure use reference"; GitLab's "CI/CD YAML syntax reference";
PyPI's "Trusted publishers" and "Producing attestations".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.migrate.init_project import ProjectChanges
from cuda_wheel.migrate.pyproject_edit import FileChange, PyprojectEdit, read_text, requirement_name

__all__ = ["DEFAULT_COVERAGE", "HOSTS", "add_ci_files"]

HOSTS = ("github", "gitlab")
"""Names of hosts for which there are files."""

DEFAULT_COVERAGE = "sm_75..sm_121,driver>=12.2"
"""What the default architectures cover with both toolchains, as the argument of `cuda-wheel coverage --require`."""

_PYTHON = 12
"""Minor version of Python 3 that the jobs use, unless the project needs a later one."""

_VERSIONS_FROM_TAGS = {"setuptools-scm", "hatch-vcs", "versioningit", "setuptools-git-versioning", "dunamai"}
"""Build requirements that compute the project's version from the tags of its repository."""

_CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
_SETUP_PYTHON = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0"
_CACHE = "actions/cache@27d5ce7f107fe9357f9df03efb73ab90386fccae # v5.0.5"
_UPLOAD = "actions/upload-artifact@043fb46d1a93c77aae656e7c1c64a875d1fc6a0a # v7.0.1"
_DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1"
_ATTEST = "actions/attest-build-provenance@a2bbfa25375fe432b6a289bc6b6cd05ecd0c4c32 # v4.1.0"
_PUBLISH = (
    "pypa/gh-action-pypi-publish@dc37677b2e1c63e2034f94d8a5b11f265b73ba33 # v1.14.2, which uploads PEP 740 attestations"
)

_WHEEL_STEPS = """\
      - uses: {checkout}
        with:
          persist-credentials: false{checkout_options}
      - uses: {setup_python}
        with:
          python-version: "3.{python}"
      - run: python -m pip install build "{requirement}"
{cache}      - run: python -m build
      - run: cuda-wheel coverage dist/*.whl --require "{coverage}"
      - run: cuda-wheel verify dist/*.whl --rebuild dist/*.tar.gz
      - uses: {upload}
        with:
          name: dist
          path: dist/
          if-no-files-found: error
"""

# pip installs the same versions for the build, which is isolated; so what it installed here names the toolchain.
_CACHE_STEPS = """\
      - id: toolchain
        run: echo "hash=$(python -m pip freeze | sha256sum | cut -c1-16)" >> "$GITHUB_OUTPUT"
      - uses: {cache}
        with:
          path: ~/.cache/cuda-wheel
          key: cuda-wheel-${{{{ steps.toolchain.outputs.hash }}}}-${{{{ hashFiles('pyproject.toml', '**/*.cu', '**/*.cuh', '**/*.h') }}}}
          restore-keys: |
            cuda-wheel-${{{{ steps.toolchain.outputs.hash }}}}-
            cuda-wheel-
"""  # noqa: E501

_GITHUB_WHEEL = """\
# Builds the wheel, without a GPU, and checks it. publish.yml publishes releases.
name: wheel
on:
  push:
    branches: [main, master]
  pull_request:
permissions:
  contents: read
concurrency:
  group: wheel-${{{{ github.ref }}}}
  cancel-in-progress: true
jobs:
  wheel:
    runs-on: ubuntu-latest
    steps:
{steps}"""

_GITHUB_PUBLISH = """\
# A tag such as v1.2.3 publishes the sdist and the wheel. They are built without a cache, which other runs could write.
name: publish
on:
  push:
    tags: ["v*"]
permissions:
  contents: read
concurrency:
  group: publish-${{{{ github.ref }}}}
  cancel-in-progress: false
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
{steps}  publish:
    needs: build
    runs-on: ubuntu-latest
    environment: pypi
    permissions:
      id-token: write # trusted publishing, and the signatures of both kinds of attestation
      attestations: write # those of GitHub, which attest-build-provenance makes
      contents: read
    steps:
      - uses: {download}
        with:
          name: dist
          path: dist/
      - uses: {attest}
        with:
          subject-path: dist/*
      - uses: {publish}
"""

_GITLAB = """\
# Builds the wheel, without a GPU, and checks it; a tag such as v1.2.3 also publishes it.
.wheel:
  stage: build
  image: python:3.{python}
  variables:
    GIT_DEPTH: {depth}
  script:
    - python -m pip install build "{requirement}"
    # What is committed, without the cache: a GitLab runner keeps caches in the project's folder.
    - git clone --quiet "$CI_PROJECT_DIR" /tmp/source
    - python -m build --outdir dist /tmp/source
    - cuda-wheel coverage dist/*.whl --require "{coverage}"
    - cuda-wheel verify dist/*.whl --rebuild dist/*.tar.gz
  artifacts:
    paths: [dist]

wheel:
  extends: .wheel
  rules:
    - if: $CI_COMMIT_BRANCH
  variables:
    CUDA_WHEEL_CACHE_DIR: $CI_PROJECT_DIR/.cuda-wheel-cache
  cache:
    key: cuda-wheel # its entries have keys of their own: sources, headers, options and toolchain
    paths: [.cuda-wheel-cache]

# A release is built without the cache, which other pipelines could write.
release:
  extends: .wheel
  rules:
    - if: $CI_COMMIT_TAG =~ /^v/

publish:
  stage: deploy
  image: python:3.{python}
  needs: [release]
  rules:
    - if: $CI_COMMIT_TAG =~ /^v/
  environment: pypi
  variables:
    GIT_STRATEGY: none # this job can sign and upload, and runs no code of the project
  id_tokens:
    PYPI_ID_TOKEN:
      aud: pypi
    SIGSTORE_ID_TOKEN:
      aud: sigstore
  script:
    - python -m pip install "twine>=6.1" "pypi-attestations>=0.0.29"
    - python -m pypi_attestations sign dist/*
    - twine upload --attestations dist/*
"""


def add_ci_files(done: ProjectChanges, host: str, coverage: str) -> None:
    """Add to `done` the files for CI at a host, one of HOSTS, and what is left to do there.

    `coverage` is what the wheel must cover, an argument of `cuda-wheel coverage --require`. A file that exists stays as
    it is. Raises ConfigError if the project is not the root of its repository.
    """
    root = done.project.root
    repository = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    if repository != root:
        raise ConfigError(
            f"{root} is a folder in the repository {repository}, and files for CI are read from its root only; --ci "
            "writes them for a project that is a whole repository. Nothing was written."
        )
    edited = (each.after for each in done.changes if each.path == root / "pyproject.toml")
    edit = PyprojectEdit(next(edited, None) or read_text(root / "pyproject.toml") or "")
    requires = edit.get(("build-system", "requires")) or ()
    values = {
        "requirement": _requirement(requires),
        "python": str(_python(edit.get(("project", "requires-python")))),
        "coverage": coverage,
    }
    is_tagged = any(requirement_name(each) in _VERSIONS_FROM_TAGS for each in requires)
    has_submodules = (root / ".gitmodules").is_file()
    if host == "github":
        for path, text in _github_files(values, is_tagged, has_submodules):
            _add(done, path, text)
        file, protect = "publish.yml", "make the environment pypi in the repository's settings, for tags v* only"
    else:
        _add_gitlab(done, _GITLAB.format(depth=0 if is_tagged else 20, **values), has_submodules)
        file, protect = ".gitlab-ci.yml", "protect tags v* and the environment pypi in the project's settings"
    name = edit.get(("project", "name")) or done.project.package
    done.advice.append(
        f"register the repository at the package index as a trusted publisher of {name}: {file}, environment pypi"
    )
    done.advice.append(f"{protect}, and let a reviewer approve the job publish")
    if coverage == DEFAULT_COVERAGE:
        done.advice.append(f'the files promise "{coverage}": write the GPUs and drivers that you promise')


def _github_files(values: dict[str, str], is_tagged: bool, has_submodules: bool) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file for GitHub Actions.

    `values`: what both texts have in common. `is_tagged`: whether the project's version comes from tags.
    """
    options = "\n          fetch-depth: 0 # the version comes from tags" * is_tagged
    options += "\n          submodules: recursive" * has_submodules
    actions = {"checkout": _CHECKOUT, "setup_python": _SETUP_PYTHON, "upload": _UPLOAD, "checkout_options": options}
    cache = _CACHE_STEPS.format(cache=_CACHE)
    wheel, release = (_WHEEL_STEPS.format(cache=each, **actions, **values) for each in (cache, ""))
    yield ".github/workflows/wheel.yml", _GITHUB_WHEEL.format(steps=wheel)
    uses = {"download": _DOWNLOAD, "attest": _ATTEST, "publish": _PUBLISH}
    yield ".github/workflows/publish.yml", _GITHUB_PUBLISH.format(steps=release, **uses)


def _add_gitlab(done: ProjectChanges, text: str, has_submodules: bool) -> None:
    """Add GitLab's file, or one to include if the project has a file without jobs of cuda-wheel."""
    if has_submodules:
        done.advice.append(
            "let the job .wheel fetch the submodules: git clone --recurse-submodules, from where they are"
        )
    before = read_text(done.project.root / ".gitlab-ci.yml")
    if before is None or "cuda-wheel" in before:
        _add(done, ".gitlab-ci.yml", text)
        return
    _add(done, ".gitlab/cuda-wheel.yml", text)
    done.advice.append(
        "add to .gitlab-ci.yml: include: {local: .gitlab/cuda-wheel.yml}; its jobs are of the stages build and deploy"
    )


def _add(done: ProjectChanges, path: str, text: str) -> None:
    """Add a new file to `done`, or a message that it exists."""
    before = read_text(done.project.root / path)
    if before is None:
        done.changes.append(FileChange(Path(done.project.root, path), None, text))
    elif before.replace("\r\n", "\n") == text:
        done.kept.append(f"{path}: exists")
    else:
        done.kept.append(
            f"{path}: exists, and differs from what `init --ci` writes today; move it away to get that, and compare"
        )


def _requirement(requires: Sequence[str]) -> str:
    """Return the requirement for cuda-wheel of a build, without environment markers, and with the extra `tools` if it
    has none; "cuda-wheel[tools]" if there is none that can stand in a command."""
    found = next((each for each in requires if requirement_name(each) == "cuda-wheel"), "")
    text = found.partition(";")[0].replace(" ", "")
    parts = re.fullmatch(r"([\w.-]+)(\[[\w,.-]+\])?([\w<>=!~.,*+-]*)", text, re.ASCII)
    return f"{parts[1]}{parts[2] or '[tools]'}{parts[3]}" if parts else "cuda-wheel[tools]"


def _python(requires: object) -> int:
    """Return the minor version of Python 3 for the jobs. `requires` is the project's `requires-python`, such as
    ">=3.13"."""
    lowest = [int(number) for number in re.findall(r"(?:>=?|~=|==)\s*3\.(\d+)", str(requires))]
    return max([_PYTHON, *lowest])
