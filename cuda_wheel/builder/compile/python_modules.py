"""Import of a project's Python module only what a kernel needs, without the packages that the rest of the module needs.

A kernel of Triton lies among functions that launch it, tests and benchmarks: importing the whole module would need
PyTorch, and sometimes a GPU. So a module of the project is read, and a name is defined when it is asked for: by the
statements that bind it, and those that bind what these mention. All other statements do not run.

A package that is not installed, and that these statements import, becomes a stand-in. It has every attribute, and
raises an error where its value would decide something: such a package must be installed for the build.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import linecache
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

__all__ = ["ProjectModules", "StandInError"]


class StandInError(Exception):
    """The value of an attribute of a package that is not installed decides what a module defines."""


def _undecided(self: StandIn, *args: object) -> NoReturn:
    path: str = vars(self)["path of stand-in"]
    package = path.partition(".")[0]
    raise StandInError(
        f"what it defines depends on {path}, and the package {package} is not installed in the environment of "
        f"the build. Add {package} to build-system.requires, or define the kernel in a module that does not need it."
    )


class StandIn:
    """An attribute of a package that is not installed. It can be called, indexed, used as a base class and as a type.

    What would depend on its value raises StandInError.
    """

    def __init__(self, path: str) -> None:
        vars(self)["path of stand-in"] = path  # no name that the package may have

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        value = StandIn(f"{vars(self)['path of stand-in']}.{name}")
        vars(self)[name] = value  # the same object each time, as a key of a dictionary has to be
        return value

    def __call__(self, *args: object, **kwargs: object) -> StandIn:
        return StandIn(f"{vars(self)['path of stand-in']}()")

    def __getitem__(self, key: object) -> StandIn:
        return StandIn(f"{vars(self)['path of stand-in']}[]")

    def __or__(self, other: object) -> StandIn:  # in annotations
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()

    def __repr__(self) -> str:
        return f"<{vars(self)['path of stand-in']}, not installed>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, StandIn) else _undecided(self)

    __bool__ = __iter__ = __len__ = __contains__ = __int__ = __index__ = __float__ = _undecided
    __lt__ = __le__ = __gt__ = __ge__ = __enter__ = __exit__ = _undecided
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _undecided
    __neg__ = __mod__ = __floordiv__ = __pow__ = __and__ = __rand__ = _undecided


class _StandInModule(ModuleType):
    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):
            raise AttributeError(name)
        value = StandIn(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class _Statement(NamedTuple):
    """A statement of a module, and the names that it binds, mentions and changes."""

    node: ast.stmt
    binds: frozenset[str]
    mentions: frozenset[str]
    changes: frozenset[str]
    """Names of objects that the statement changes: `x` in `x.a = 1`, `x[0] = 1` and `x.append(1)`."""


def _statement(node: ast.stmt) -> _Statement:
    binds: set[str] = set()
    changes: set[str] = set()
    for each in _in_this_scope(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            binds.add(each.name)
        elif isinstance(each, ast.Import | ast.ImportFrom):
            binds.update(alias.asname or alias.name.partition(".")[0] for alias in each.names)
        elif isinstance(each, ast.ExceptHandler) and each.name:
            binds.add(each.name)
        elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            binds.add(each.id)
        elif isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load):
            changes.update(_base(each))
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            changes.update(_base(each.value.func))
    mentions = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    return _Statement(node, frozenset(binds), frozenset(mentions), frozenset(changes))


def _in_this_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node, and the nodes inside it that are not in the body of a function or class, nor in a comprehension."""
    yield node
    if isinstance(
        node,
        ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
    ):  # fmt: skip
        return
    for child in ast.iter_child_nodes(node):
        yield from _in_this_scope(child)


def _base(node: ast.expr) -> list[str]:
    """Return the variable whose attribute or element an expression is: `x.a[0].b` gives ["x"]. A name alone, and any
    other expression, give []."""
    inner = node
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    return [inner.id] if inner is not node and isinstance(inner, ast.Name) else []


class _ProjectModule(ModuleType):
    """A module of the project, whose names are defined when they are asked for."""

    def __init__(self, name: str, path: str, file: str) -> None:
        """`path` is the path of the source on this machine; `file` is the project-relative one, for messages."""
        super().__init__(name)
        self.__file__ = path
        with open(path, encoding="utf-8-sig") as stream:
            text = stream.read()
        tree = ast.parse(text, file)
        # `inspect.getsource`, by which Triton reads kernels, looks here.
        linecache.cache[file] = (len(text), None, [f"{line}\n" for line in text.split("\n")], file)
        future = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
        self.__first = future
        self.__source = file
        self.__statements = [_statement(node) for node in tree.body if node not in future]
        self.__done: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # `from MODULE import *`
            names = {each for statement in self.__statements for each in statement.binds}
            self._define(names)
            return self.__dict__.get(name, sorted(each for each in names if not each.startswith("_") and each != "*"))
        if name.startswith("__"):
            raise AttributeError(name)
        self._define([name])
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def _define(self, names: Iterable[str]) -> None:
        """Run the statements that bind these names, and those that bind what they mention, in their order."""
        needed, waiting = set[str](), list(names)
        chosen: set[int] = set()
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            for number, statement in enumerate(self.__statements):
                # A name from `from x import *` may be any.
                if number not in chosen and not {name, "*"}.isdisjoint(statement.binds | statement.changes):
                    chosen.add(number)
                    waiting += [*statement.mentions, *statement.binds - {"*"}]
        for number in sorted(chosen - self.__done):
            if number not in self.__done:  # a statement may ask for names of this module, through another one
                self.__done.add(number)
                tree = ast.Module([*self.__first, self.__statements[number].node], [])
                exec(compile(tree, self.__source, "exec", dont_inherit=True), self.__dict__)


class ProjectModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules of a project; see above. `root` is the absolute path of the project's folder."""

    def __init__(self, root: str, module: str, source: str) -> None:
        """`source` is the project-relative path of the module with the dotted name `module`."""
        self._root = root
        self._absent: set[str] = set()
        """Names of top-level packages that are not installed."""
        self._folders: dict[str, str] = {}
        """Dotted name of a package -> its folder; "" -> the folder of the top-level packages."""
        path = Path(root, source)
        folder, parts = path.parent, module.split(".")
        if path.name != "__init__.py":
            parts.pop()
        while parts:
            self._folders[".".join(parts)] = str(folder)
            if folder.name != parts.pop():
                break
            folder = folder.parent
        if not parts:
            self._folders[""] = str(folder)
        self._top = module.partition(".")[0]
        self.read: dict[str, str] = {}
        """Dotted name of each module of the project that was read -> absolute path of its file."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside the `with` block, imports find the project's modules, and stand-ins."""
        last = _After(self)
        sys.meta_path.insert(0, self)
        sys.meta_path.append(last)
        try:
            yield
        finally:
            sys.meta_path.remove(self)
            sys.meta_path.remove(last)

    def attribute(self, module: str, name: str) -> Any:
        """Return what a module of the project defines under a name. Raises AttributeError, and what the statements
        raise."""
        while True:
            before = {*sys.modules}
            try:
                return getattr(importlib.import_module(module), name)
            except ModuleNotFoundError as error:
                top = (error.name or "").partition(".")[0]
                if not top or top in self._absent or top == self._top or (error.name or "") in sys.modules:
                    raise
                # A module that has another way without this package has caught the error.
                self._absent.add(top)
                for each in {*sys.modules} - before | {*self.read}:
                    if each in self.read or each.partition(".")[0] == top:
                        sys.modules.pop(each, None)
                self.read.clear()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return self.spec_of(name) if name.partition(".")[0] == self._top else None

    def spec_of(self, name: str) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of the project; None if the project has none of this name."""
        if name in self._folders:
            folder = self._folders[name]
        else:
            parent, _, last = name.rpartition(".")
            if parent not in self._folders:
                return None
            folder = os.path.join(self._folders[parent], last)
            file = f"{folder}.py"
            if not os.path.isdir(folder):
                if not os.path.isfile(file):
                    return None
                return importlib.machinery.ModuleSpec(name, self, origin=file)
            self._folders[name] = folder
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = [folder]
        init = os.path.join(folder, "__init__.py")
        spec.origin = init if os.path.isfile(init) else None
        return spec

    def stand_in(self, name: str) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a stand-in, for a package that is not installed."""
        if name.partition(".")[0] not in self._absent:
            return None
        return importlib.machinery.ModuleSpec(name, _StandInLoader(), is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.origin is None:
            return ModuleType(spec.name)
        self.read[spec.name] = spec.origin
        file = os.path.relpath(spec.origin, self._root).replace(os.sep, "/")
        return _ProjectModule(spec.name, spec.origin, file)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: the statements run when a name is asked for."""


class _After(importlib.abc.MetaPathFinder):
    """Finds, after all other finders, other top-level packages of a project, and stand-ins."""

    def __init__(self, modules: ProjectModules) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return self._modules.spec_of(name) or self._modules.stand_in(name)


class _StandInLoader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""
