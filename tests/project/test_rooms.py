"""The structure of the packages, as docs/architecture.md describes it. `nox -s lint` checks the layers with import-linter."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from tests.support.projects import ROOT

pytestmark = pytest.mark.one_toolchain

PACKAGES = ("cuda_wheel", "hatch_cuda", "setuptools_cuda")
RUNTIME = ROOT / "cuda_wheel" / "runtime"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
}


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def imports_of(name: str, for_types: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield what a module imports at run time: the dotted name, and whether the import is inside a function.

    With `for_types`, also what only type checkers read.
    """

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = absolute(name, child)
                yield from ((f"{base}.{alias.name}", inside) for alias in child.names)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test) and not for_types:
                for statement in child.orelse:
                    yield from walk(statement, inside)
            else:
                yield from walk(child, inside or isinstance(child, (ast.FunctionDef, ast.Lambda)))

    return walk(tree_of(name), False)


def absolute(name: str, node: ast.ImportFrom) -> str:
    """Return the dotted name of the module that an import statement of the module `name` names."""
    if not node.level:
        return node.module or ""
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    parts = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join(filter(None, (*parts, node.module)))


def own_module(imported: str) -> str | None:
    """Return the module of these packages that an import of `imported` runs; None if it is another project's."""
    while imported and imported not in MODULES:
        imported = imported.rpartition(".")[0]
    return imported or None


@pytest.mark.parametrize("for_types", [False, True], ids=["run time", "types"])
def test_no_imports_go_in_a_circle_counting_those_inside_functions(for_types: bool) -> None:
    edges = {
        name: {own_module(imported) for imported, _ in imports_of(name, for_types)} - {None, name} for name in MODULES
    }
    while leaves := {name for name, targets in edges.items() if not targets & edges.keys()}:
        edges = {name: targets for name, targets in edges.items() if name not in leaves}
    assert not edges, "these modules import each other, or modules that do"


def test_the_runtime_imports_the_standard_library_and_cuda_bindings_only() -> None:
    wrong = []
    for name in MODULES:
        if not name.startswith("cuda_wheel.runtime"):
            continue
        for imported, inside in imports_of(name):
            allowed = imported.split(".")[0] in sys.stdlib_module_names or imported.startswith("cuda_wheel.runtime")
            optional = inside and imported.startswith(("cuda.bindings", "cuda.core", "cuda.pathfinder", "numpy"))
            if not (allowed or optional):
                wrong.append((name, imported))
    assert not wrong


def test_the_runtime_imports_itself_by_relative_names_for_it_is_copied() -> None:
    paths = list(RUNTIME.rglob("*.py"))
    assert paths
    for path in paths:
        depth = len(path.relative_to(RUNTIME).parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("cuda_wheel"), path
                assert node.level <= depth, f"{path}:{node.lineno} leaves the folder that is copied"


def test_the_translation_of_host_functions_is_for_import_alone_and_needs_little() -> None:
    own = "cuda_wheel.migrate.host_functions"
    users, needed = set(), set()
    for name in MODULES:
        for imported in filter(None, (own_module(each) for each, _ in imports_of(name, for_types=True))):
            if name.startswith(own) and not imported.startswith(own):
                needed.add(imported)
            elif imported.startswith(own) and not name.startswith(own):
                users.add(name)
    assert users and all(name.startswith(("cuda_wheel.migrate.", "cuda_wheel.cli.")) for name in users)
    assert needed == {"cuda_wheel.builder.errors", "cuda_wheel.builder.scratch"}


def test_rich_is_imported_by_the_command_line_and_by_reports_only() -> None:
    users = {name for name in MODULES for imported, _ in imports_of(name) if imported.split(".")[0] == "rich"}
    assert users
    assert all(name.startswith(("cuda_wheel.cli", "cuda_wheel.builder.report")) for name in users)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_module_says_what_it_is_for(name: str) -> None:
    first = (ast.get_docstring(tree_of(name)) or "").partition("\n")[0]
    assert first.endswith("."), f"{name} has no docstring, or one whose first line is no sentence"
