"""Environments whose CUDA compilers and headers are where packages, conda and NVIDIA's installers put them.

The files are those of the installed toolchain, hard-linked: resolving a path must not lead back to where they came from.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import venv
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cuda_wheel.builder.toolchain.toolchain import Toolchain
from tests.support.processes import run

LIBRARIES = ("nvrtc", "nvjitlink", "nvfatbin", "nvvm")
HEADERS = ("cuda_runtime", "cuda_cccl", "cuda_crt", "cuda_nvcc")
"""Words in the names of the packages of CUDA's compilers and headers. That of `cuda_nvcc` has libNVVM too."""


def toolchain_distributions(words: Iterable[str] = (*LIBRARIES, *HEADERS)) -> list[Distribution]:
    """Return the installed packages of the toolchain whose names contain one of `words`."""
    found = {each.metadata["Name"].lower().replace("-", "_"): each for each in distributions()}
    return [
        each for name, each in sorted(found.items()) if name.startswith("nvidia_") and any(w in name for w in words)
    ]


def link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it to another file system."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        return
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copy2(source, target)


def link_folder(source: Path, target: Path) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            link(path, target / path.relative_to(source))


def install(folder: Path, packages: Iterable[Distribution]) -> Path:
    """Install packages in a folder as pip does; return the folder."""
    for package in packages:
        for file in package.files or ():
            link(Path(str(package.locate_file(file))), folder / str(file))
    return folder


def site_packages(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)}))


def add_python_packages(folder: Path) -> None:
    """Add all packages of this environment to a folder but CUDA's compilers and headers; cuda-bindings is among them."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith("nvidia") and not (folder / entry.name).exists():
            (folder / entry.name).symlink_to(entry)


def environment(folder: Path, packages: Iterable[Distribution] = ()) -> Path:
    """Create a virtual environment with some of the toolchain's packages; return its interpreter."""
    venv.create(folder, symlinks=True)
    add_python_packages(site_packages(folder))
    install(site_packages(folder), packages)
    return folder / "bin" / "python"


def base_python(folder: Path, packages: Iterable[Distribution] = ()) -> Path:
    """Create an installation of Python that is no virtual environment, with some of the toolchain's packages; return its
    interpreter."""
    own = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    binary = folder / "bin" / own.name
    link(Path(os.path.realpath(sys.executable)), binary)
    library = folder / "lib" / own.name  # "python3.12", "python3.13t"
    library.mkdir(parents=True)
    for entry in own.iterdir():
        if entry.name not in ("site-packages", "dist-packages"):
            (library / entry.name).symlink_to(entry)
    add_python_packages(library / "site-packages")
    install(library / "site-packages", packages)
    return binary


def over(base: Path, folder: Path, packages: Iterable[Distribution] = ()) -> Path:
    """Create a virtual environment with `--system-site-packages` over a `base_python`; return its interpreter."""
    result = run(base, "-m", "venv", "--without-pip", "--system-site-packages", folder)
    assert result.returncode == 0, result.stdout
    install(site_packages(folder), packages)
    return folder / "bin" / "python"


def toolkit(root: Path, toolchain: Toolchain, with_libraries: bool = True) -> Path:
    """Create a toolkit as NVIDIA's installers lay it out; return its root."""
    target = root / "targets" / "x86_64-linux"
    _headers(target / "include", toolchain)
    (target / "lib").mkdir()
    if with_libraries:
        _libraries(target / "lib", toolchain)
    (root / "include").symlink_to("targets/x86_64-linux/include")
    (root / "lib64").symlink_to("targets/x86_64-linux/lib")
    return root


def conda(prefix: Path, toolchain: Toolchain, with_libraries: bool = True) -> Path:
    """Create a conda environment with a toolkit, without Python; return its prefix."""
    target, release = prefix / "targets" / "x86_64-linux", ".".join(toolchain.nvrtc.split(".")[:2])
    _headers(target / "include", toolchain)
    (prefix / "lib").mkdir()
    (prefix / "include").mkdir()
    if with_libraries:
        _libraries(target / "lib", toolchain)
        for path in (target / "lib").iterdir():
            (prefix / "lib" / path.name).symlink_to(f"../targets/x86_64-linux/lib/{path.name}")
    meta = prefix / "conda-meta" / f"cuda-crt-dev_linux-64-{release}.86-ha770c72_2.json"
    meta.parent.mkdir()
    meta.write_text("{}")
    return prefix


def _headers(include: Path, toolchain: Toolchain) -> None:
    folders = {each.name: Path(each.folder) for each in toolchain.headers}
    newer = not toolchain.nvrtc.startswith("12.")
    for name in ("cudart", "crt"):
        for entry in folders[name].iterdir():
            if entry.name != "cccl":
                link(entry, include / entry.name) if entry.is_file() else link_folder(entry, include / entry.name)
    link_folder(folders["cccl"], include / "cccl" if newer else include)


def _libraries(folder: Path, toolchain: Toolchain) -> None:
    for library in map(Path, toolchain.libraries):
        for path in library.parent.glob("*.so*"):
            if path.name == library.name or "nvrtc-builtins" in path.name:
                link(path, folder / path.name)


def replace_in(path: Path, old: str, new: str) -> None:
    """Change a file that may be linked to others, which stay as they are."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    assert old in text, (path, old)
    path.unlink()
    path.write_text(text.replace(old, new), encoding="utf-8", errors="surrogateescape")
