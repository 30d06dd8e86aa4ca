"""What the hooks of PyInstaller add to an application; `tests/soak/test_frozen.py` freezes some."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.pyinstaller import hook_folders
from cuda_wheel.pyinstaller.additions import add_modules
from tests.support.projects import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain


class Package:
    """A node of a package with an __init__.py, by the name of PyInstaller's class."""


class NamespacePackage:
    """A node of a package without one."""


class Graph:
    def __init__(self, **nodes: Any) -> None:
        self.nodes = {name.replace("__", "."): node for name, node in nodes.items()}

    def find_node(self, name: str, create_nspkg: bool = True) -> Any:
        assert not create_nspkg  # it would make a node, and so a part of the application
        return self.nodes.get(name)


class HookApi:
    def __init__(self, graph: Graph) -> None:
        self.module_graph = graph
        self.datas: set[tuple[str, str]] = set()
        self.imports: set[str] = set()

    def add_datas(self, datas: list[tuple[str, str]]) -> None:
        self.datas.update(datas)

    def add_imports(self, *names: str) -> None:
        self.imports.update(names)


FILES = (
    "demo/__init__.py",
    "demo/readme.json",
    "demo/kernels/saxpy.fatbin",
    "demo/kernels/saxpy.fatbin.json",
    "demo/kernels/saxpy.tuned.json",
    "demo/kernels/saxpy.cu",
    "demo/other/data.json",
    "demo/_cuda_wheel/__init__.py",
    "demo/_cuda_wheel/parts/bind.py",
)


def added(folder: Path, monkeypatch: pytest.MonkeyPatch, graph: Graph, files: tuple[str, ...] = FILES) -> HookApi:
    """Return what the hook adds if a distribution with these files is installed in `folder`."""
    info = folder / "demo-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in (*files, "demo-1.0.dist-info/RECORD")))
    for name in files:  # some releases of Python leave out those that are not there
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    monkeypatch.setattr(sys, "path", [str(folder)])
    api = HookApi(graph)
    add_modules(api)
    return api


def test_the_files_of_an_included_package_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = added(tmp_path, monkeypatch, Graph(demo=Package()))
    expected = {"saxpy.fatbin", "saxpy.fatbin.json", "saxpy.tuned.json"}
    assert api.datas == {(str(tmp_path / "demo/kernels" / name), "demo/kernels") for name in expected}
    assert api.imports == {"demo.kernels", "demo._cuda_wheel", "demo._cuda_wheel.parts.bind"}


def test_nothing_of_a_package_is_added_that_the_application_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = added(tmp_path, monkeypatch, Graph(demonstration=Package()))
    assert (api.datas, api.imports) == (set(), set())


@pytest.mark.parametrize(
    ("graph", "is_added"),
    [
        (Graph(company=NamespacePackage()), False),  # another distribution may be why it is there
        (Graph(company=NamespacePackage(), company__demo=NamespacePackage()), True),
        (Graph(company=NamespacePackage(), company__other=Package()), False),
    ],
)
def test_a_namespace_does_not_bring_all_that_lies_in_it(
    graph: Graph, is_added: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = added(tmp_path, monkeypatch, graph, ("company/demo/k.fatbin", "company/demo/k.fatbin.json"))
    assert len(api.datas) == (2 if is_added else 0)


def test_pyinstaller_finds_the_hooks() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pyinstaller40"]
    module, _, function = table["hook-dirs"].partition(":")
    (folder,) = getattr(import_module(module), function)()
    assert folder == hook_folders()[0]
    hooks = {name for name in os.listdir(folder) if name.startswith("hook-") and name.endswith(".py")}
    assert hooks == {"hook-cuda_wheel.py", "hook-cuda.bindings.driver.py"}
    # Of several hooks for a module PyInstaller runs one: that of cuda.bindings must give way to another project's.
    text = Path(folder, "hook-cuda.bindings.driver.py").read_text()
    assert text.startswith("# $PyInstaller-Hook-Priority: -3000\n")
