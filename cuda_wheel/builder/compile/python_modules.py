"""Import of a project's Python module only what a kernel needs, without the packages that the rest of the module needs.

A Triton kernel lies among functions that launch it, tests and benchmarks: importing the whole module would need
PyTorch, and sometimes a GPU. So a module of the project is read, and a name is defined when it is asked for: by the
statements that bind it, and those that bind what these mention. All other statements do not run.

A package that is not installed, and that these statements import, becomes a stand-in. It has every attribute, and
raises an error where its value would decide something: such a package must be installed for the build.
"""

from __future__ import annotations

import abc
import ast
import collections.abc
import copy
import functools
import importlib
import importlib.abc
import importlib.machinery
import linecache
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from cuda_wheel.runtime.parts.python_kernels.signatures import LANGUAGES

__all__ = ["ProjectModules", "StandIn", "StandInError", "UndecidedTuning"]


class StandInError(BaseException):
    """The value of an attribute of a package that is not installed decides what a module defines.

    It is no `Exception`: a module that goes another way after `except Exception` would define something else than with
    the package.
    """


def _undecided(self: StandIn, *args: object) -> NoReturn:
    raise StandInError(_reason(vars(self)["path of stand-in"]))


def _reason(path: str) -> str:
    package = path.partition(".")[0]
    if package in LANGUAGES:  # its driver
        return f"what it defines depends on {path}, which asks the GPU, and a build has none. {_CURE}."
    return (
        f"what it defines depends on {path}, and the package {package} is not installed in the environment of the "
        f"build. {_CURE}, or add {package} to build-system.requires, if it can tell without a GPU."
    )


_CURE = "Define the kernel in a module that does not need it"


class StandIn:
    """An attribute of a package that is not installed. It can be called, indexed, used as a base class and as a type.

    What would depend on its value raises StandInError.
    """

    __triton_builtin__ = True
    """Triton looks at all that a kernel mentions, in annotations too, and refuses other objects that can be called."""

    def __init__(self, path: str, known: Mapping[str, object]) -> None:
        """`known`: see ProjectModules."""
        vars(self)["path of stand-in"] = path  # no names that the package may have
        vars(self)["known values"] = known

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _stand_in(f"{vars(self)['path of stand-in']}.{name}", vars(self)["known values"])
        vars(self)[name] = value  # the same object each time, as a key of a dictionary has to be
        return value

    def __call__(self, *args: object, **kwargs: object) -> object:
        return _stand_in(f"{vars(self)['path of stand-in']}()", vars(self)["known values"])

    def __getitem__(self, key: object) -> object:
        return _stand_in(f"{vars(self)['path of stand-in']}[]", vars(self)["known values"])

    def __or__(self, other: object) -> StandIn:  # in annotations
        return self

    __ror__ = __or__

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (_BaseType("StandIn", (), {"base": self}),)

    def __instancecheck__(self, other: object) -> bool:
        return isinstance(other, StandIn) and _undecided(self)  # nothing else can be of a class that is not there

    def __repr__(self) -> str:
        return f"<{vars(self)['path of stand-in']}, not installed>"

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StandIn):
            return self is other
        # `Optional` asks whether what it gets is `Any`, or the type of None.
        if isinstance(other, type) or type(other).__module__ == "typing":
            return False
        _undecided(self)

    # A name in a message is worth no error, but a name of a file or an option is.
    __str__ = __format__ = __fspath__ = __round__ = __next__ = _undecided
    __bool__ = __iter__ = __len__ = __contains__ = __int__ = __index__ = __float__ = _undecided
    __lt__ = __le__ = __gt__ = __ge__ = __enter__ = __exit__ = _undecided
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _undecided
    __neg__ = __mod__ = __floordiv__ = __pow__ = __and__ = __rand__ = _undecided


class _BaseType(abc.ABCMeta):
    """Type of a base class of a package that is not installed: it may have any attribute."""

    base: StandIn

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls.base, name)


def _stand_in(path: str, known: Mapping[str, object]) -> object:
    return known[path] if path in known else StandIn(path, known)


def _stand_in_module(name: str, known: Mapping[str, object]) -> ModuleType:
    # Not a subclass of ModuleType: Triton asks for the type of what a kernel mentions.
    module = ModuleType(name)

    def attribute(each: str) -> object:
        if each == "__version__":
            raise StandInError(_reason(f"{name}.{each}"))
        if each.startswith("__"):
            raise AttributeError(each)
        value = _stand_in(f"{name}.{each}", known)
        setattr(module, each, value)
        return value

    vars(module)["__getattr__"] = attribute
    return module


class _Statement(NamedTuple):
    """A statement of a module, and names that it binds, changes and mentions."""

    node: ast.stmt
    binds: frozenset[str]
    changes: frozenset[str]
    """Names of objects that the statement changes: `x` in `x.a = 1`, `x[0] = 1` and `x.append(1)`."""
    reads: frozenset[str]
    """Names that the statement mentions outside the bodies of functions: their values at its turn count."""


_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _statements(text: str, tree: ast.Module, is_foreign: Callable[[str], bool]) -> list[_Statement]:
    """Return the statements of a module with this text. `is_foreign` tells whether a package is neither the project's
    nor of the standard library."""
    nodes = [each for node in tree.body for each in _parts(node)]
    unchanged: set[str] = set()
    """Names of functions, and of what foreign packages define: a call of a method does not change these for a kernel.
    Such calls test, measure and register, and would need all that the module computes."""
    shared: dict[str, set[str]] = {}
    """Function -> names that it declares as `global`."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            unchanged.add(node.name)
            if "global " in text:
                shared[node.name] = {
                    name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names
                }
        elif isinstance(node, ast.Import):
            unchanged.update(
                name for alias in node.names for name in _bound(ast.Import([alias])) if is_foreign(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and not node.level and is_foreign(node.module or ""):
            unchanged.update(_bound(node))
    return [_statement(node, unchanged, shared) for node in nodes]


def _numbers(names: Iterable[Collection[str]]) -> dict[str, list[int]]:
    """Return name -> numbers of the statements that have it, in ascending order."""
    found: dict[str, list[int]] = {}
    for number, each in enumerate(names):
        for name in each:
            found.setdefault(name, []).append(number)
    return found


def _parts(node: ast.stmt) -> list[ast.stmt]:
    """Return a statement as those that can run without each other; nothing for the body of a script."""
    if isinstance(node, ast.Import) and len(node.names) > 1:
        return [ast.copy_location(ast.Import([alias]), node) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and len(node.names) > 1:
        return [ast.copy_location(ast.ImportFrom(node.module, [alias], node.level), node) for alias in node.names]
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("__name__ == '__main__'", "'__main__' == __name__"):
        return [each for inner in node.orelse for each in _parts(inner)]
    return [node]


def _statement(node: ast.stmt, unchanged: Collection[str], shared: Mapping[str, Collection[str]]) -> _Statement:
    """`unchanged` and `shared`: see `_statements`."""
    changes: set[str] = set()
    for each in _in_this_scope(node):
        if isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load):
            changes.update(_base(each))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            changes.update(shared.get(each.func.id, ()))
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
            function = each.value.func
            if isinstance(function, ast.Attribute):  # `kernel[grid](x)` is a launch
                changes.update({*_base(function)}.difference(unchanged))
    reads = _mentions(node, frozenset(), bodies=False)
    return _Statement(node, frozenset(_bound(node)), frozenset(changes), frozenset(reads))


def _bound(scope: ast.AST) -> Iterator[str]:
    """Yield the names that the statements of a scope bind."""
    for each in _in_this_scope(scope):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield each.name
        elif isinstance(each, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in each.names)
        elif isinstance(each, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and each.name:
            yield each.name
        elif isinstance(each, ast.MatchMapping) and each.rest:
            yield each.rest
        elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            yield each.id


def _mentions(node: ast.AST, local: frozenset[str], bodies: bool) -> Iterator[str]:
    """Yield the names of the module that a node reads, with `bodies` also in bodies of functions. `local` are the
    variables of the functions around the node."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in local:
            yield node.id
        return
    inside: Sequence[ast.AST] = ()
    if isinstance(node, _Function):
        inside = node.body if isinstance(node.body, list) else [node.body]
        if bodies:
            bound = {name for each in inside for name in _bound(each)} | {*_parameters(node.args)}
            scope = (inner for each in inside for inner in _in_this_scope(each))
            shared = {name for each in scope if isinstance(each, ast.Global) for name in each.names}
            local_inside = (local | bound) - shared
    elif isinstance(node, _Comprehension):
        local = local | {name for each in node.generators for name in _bound(each.target)}
    for child in ast.iter_child_nodes(node):
        if child not in inside:
            yield from _mentions(child, local, bodies)
        elif bodies:
            yield from _mentions(child, local_inside, bodies)


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if each is not None:
            yield each.arg


def _in_this_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node, and the nodes inside it that are not in the body of a function or class, nor in a comprehension."""
    yield node
    if isinstance(node, _Function | ast.ClassDef | _Comprehension):
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


_AS_TYPE = "<type>"
"""Name of `_as_type` in a module, which no name of the module can equal."""


def _as_type(annotation: object) -> object:
    """Return a class in place of a stand-in: what annotates a parameter is a type, and Triton asks whether it is."""
    if not isinstance(annotation, StandIn):
        return annotation
    return type(vars(annotation)["path of stand-in"].rpartition(".")[2], (), {})


_TUNED = "<autotune>"
"""Name of `_tuned` in a module."""


class UndecidedTuning:
    """A kernel with `triton.autotune` whose configurations depend on a package that is not installed.

    They choose among variants, and do not change the kernel's code.
    """

    def __init__(self, names: frozenset[str], reason: str, fn: Any) -> None:
        self.names = names
        """Parameters that the `triton.Config` in the decorator and in functions of its module name."""
        self.reason = reason
        """Why the configurations are not known, as StandInError says it."""
        self.fn = fn


def _tuned(decorator: Callable[[], Any], names: Callable[[], frozenset[str]]) -> Any:
    try:
        return decorator()
    except StandInError as error:
        return functools.partial(UndecidedTuning, names(), str(error))


def _config_names(tree: ast.AST) -> frozenset[str]:
    """Return the keys of the dictionaries that a module writes inside `triton.Config(...)`."""
    names: set[str] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _last_name(call.func) == "Config":
            for each in ast.walk(call):
                if isinstance(each, ast.Dict):
                    names.update(k.value for k in each.keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
                elif isinstance(each, ast.Call) and _last_name(each.func) == "dict":
                    names.update(keyword.arg for keyword in each.keywords if keyword.arg)
    return frozenset(names)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _with_hooks(node: ast.stmt, annotations: bool) -> ast.stmt:
    """Let `_tuned` evaluate the `triton.autotune` of a function that a statement defines, and with `annotations`,
    `_as_type` see the annotations of its parameters."""
    if not isinstance(node, ast.FunctionDef):
        return node
    node = copy.copy(node)
    node.decorator_list = [
        _call(_TUNED, ast.Lambda(_NO_PARAMETERS, each))
        if isinstance(each, ast.Call) and _last_name(each.func) == "autotune"
        else each
        for each in node.decorator_list
    ]
    if annotations:
        node.args = copy.deepcopy(node.args)
        for each in ast.walk(node.args):
            if isinstance(each, ast.arg) and each.annotation is not None:
                each.annotation = _call(_AS_TYPE, each.annotation)
    return node


_NO_PARAMETERS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _call(function: str, argument: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(function, ast.Load()), [argument], [])
    inner = argument.body if isinstance(argument, ast.Lambda) else argument
    return ast.fix_missing_locations(ast.copy_location(call, inner))


class _Source:
    """The source of a module of the project, whose names are defined when they are asked for."""

    def __init__(self, name: str, path: str, file: str, is_foreign: Callable[[str], bool]) -> None:
        """`path` is the path of the source on this machine; `file` is the project-relative one, for messages.
        `is_foreign`: see `_statements`."""
        # Not a subclass of ModuleType: Triton asks for the type of what a kernel mentions.
        self.module = ModuleType(name)
        self.module.__file__ = path
        with open(path, encoding="utf-8-sig") as stream:
            text = stream.read()
        tree = ast.parse(text, file)
        vars(self.module).update(
            {
                "__getattr__": self._attribute,
                _AS_TYPE: _as_type,
                _TUNED: lambda decorator: _tuned(decorator, lambda: _config_names(tree)),
            }
        )
        # `inspect.getsource`, by which Triton reads kernels, looks here.
        linecache.cache[file] = (len(text), None, [f"{line}\n" for line in text.split("\n")], file)
        future = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
        self._first = future
        self._has_text_annotations = any(alias.name == "annotations" for node in future for alias in node.names)
        self._file = file
        tree.body = [node for node in tree.body if node not in future]
        self._statements = _statements(text, tree, is_foreign)
        self._binding = _numbers(each.binds for each in self._statements)
        self._changing = _numbers(each.changes for each in self._statements)
        self._reading = _numbers(each.reads for each in self._statements)
        self._done: set[int] = set()

    def _attribute(self, name: str) -> Any:
        if name == "__all__":  # `from MODULE import *`
            names = {each for each in self._binding if each == name or not each.startswith("__")}
            self._define(names)
            public = sorted(each for each in names if not each.startswith("_") and each != "*")
            return vars(self.module).get(name, public)
        if name.startswith("__"):
            raise AttributeError(name)
        self._define([name])
        try:
            return vars(self.module)[name]
        except KeyError:
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}") from None

    def _define(self, names: Iterable[str]) -> None:
        """Run the statements that bind these names, and those that bind what they mention, in their order."""
        needed, waiting = set[str](), list(names)
        chosen: set[int] = set()
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            binding, changing = self._binding.get(name, []), self._changing.get(name, [])
            further = [*changing, *self._binding.get("*", [])]  # a name from `from x import *` may be any
            if len(binding) > 1:  # `a = x` between two values of x has the first only if it runs between them
                further += [each for each in self._reading.get(name, ()) if binding[0] < each < binding[-1]]
            for number in {*binding, *further} - chosen:
                chosen.add(number)
                statement = self._statements[number]
                waiting += [*_mentions(statement.node, frozenset(), bodies=True), *statement.binds - {"*"}]
        for number in sorted(chosen - self._done):
            if number not in self._done:  # a statement may ask for names of this module, through another one
                self._done.add(number)
                node = self._statements[number].node
                tree = ast.Module([*self._first, _with_hooks(node, annotations=not self._has_text_annotations)], [])
                try:
                    exec(compile(tree, self._file, "exec", dont_inherit=True), vars(self.module))
                except BaseException:
                    self._done.discard(number)  # who asks again gets the error again
                    raise


class ProjectModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules of a project; see above. `root` is the absolute path of the project's folder."""

    def __init__(self, root: str, module: str, source: str, known: Mapping[str, object]) -> None:
        """`source` is the project-relative path of the module with the dotted name `module`. `known` has what stand-ins
        for packages shall give: "torch.version.hip" -> None, "torch.cuda.get_device_capability()" -> (9, 0)."""
        self._root = root
        self.known = known
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
        self.variables: dict[str, tuple[str, int]] = {}
        """Name of each environment variable that the project's modules asked for -> file and line."""
        self._files: set[str] = set()
        """Project-relative paths of the modules that were read."""

    @property
    def warnings(self) -> str:
        """What the build says about the environment variables that the modules asked for; "" if for none."""
        return "\n\n".join(
            f"{file}:{line}: warning: the module asks for {'all environment variables' if name == '*' else name}: "
            "it gets none, because what is compiled depends on files and settings only"
            for (file, line), name in sorted((place, name) for name, place in self.variables.items())
        )

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside the `with` block, imports find the project's modules, and stand-ins. Afterwards these are forgotten:
        the next job of this process reads the files again."""
        last, environ = _After(self), os.environ
        sys.meta_path.insert(0, self)
        sys.meta_path.append(last)
        hidden = _Environment(environ, self._files, self.variables)
        os.environ = hidden  # noqa: B003
        try:
            yield
        finally:
            os.environ = environ  # noqa: B003
            sys.meta_path.remove(self)
            sys.meta_path.remove(last)
            self._forget()

    def attribute(self, module: str, name: str) -> Any:
        """Return what a module of the project defines under a name. Raises AttributeError, and what the statements
        raise."""
        while True:
            try:
                return getattr(importlib.import_module(module), name)
            except ModuleNotFoundError as error:
                if not self.replace(error):
                    raise

    def replace(self, error: ModuleNotFoundError) -> bool:
        """Let a stand-in replace the package that an import did not find, and forget the modules that were read.

        Return False if it cannot: a module that the project or an installed package lacks gets no stand-in.
        """
        # A module that has another way without this package has caught the error.
        top = error.name or ""
        if not top or "." in top or top in self._absent or top == self._top or top in sys.modules:
            return False
        self._absent.add(top)
        self._forget()
        self.read.clear()
        return True

    def _forget(self) -> None:
        for name, module in [*sys.modules.items()]:
            loader = getattr(getattr(module, "__spec__", None), "loader", None)
            if loader is self or isinstance(loader, _StandInLoader):
                del sys.modules[name]

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
        return importlib.machinery.ModuleSpec(name, _StandInLoader(self.known), is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        if spec.origin is None:
            return ModuleType(spec.name)
        self.read[spec.name] = spec.origin
        file = os.path.relpath(spec.origin, self._root).replace(os.sep, "/")
        self._files.add(file)
        return _Source(spec.name, spec.origin, file, self._is_foreign).module

    def _is_foreign(self, module: str) -> bool:
        top = module.partition(".")[0]
        return top != self._top and top not in sys.stdlib_module_names and self.spec_of(top) is None

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: the statements run when a name is asked for."""


class _Environment(type(os.environ)):  # type: ignore[misc]
    """The environment variables, of which the project's modules see only those that they set: what is compiled depends
    on files and settings only. `files` are their paths, as in code objects; what they ask for is added to `asked`."""

    def __init__(self, environ: os._Environ[str], files: Collection[str], asked: dict[str, tuple[str, int]]) -> None:
        self.__dict__.update(environ.__dict__)  # the same variables
        self._files = files
        self._asked = asked
        self._own: set[str] = set()

    def _is_hidden(self, name: str) -> bool:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename in _BETWEEN:
            frame = frame.f_back
        file = frame.f_code.co_filename
        if file not in self._files or name in self._own:
            return False
        self._asked.setdefault(name, (file, frame.f_lineno))
        return True

    def __getitem__(self, name: str) -> str:
        if self._is_hidden(name):
            raise KeyError(name)
        return str(super().__getitem__(name))

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(name, value)
        self._own.add(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._own) if self._is_hidden("*") else super().__iter__()


_BETWEEN = {os.getenv.__code__.co_filename, collections.abc.Mapping.get.__code__.co_filename, __file__}
"""Files of functions that look up an environment variable for their callers, such as `os.getenv`."""


class _After(importlib.abc.MetaPathFinder):
    """Finds, after all other finders, other top-level packages of a project, and stand-ins."""

    def __init__(self, modules: ProjectModules) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return self._modules.spec_of(name) or self._modules.stand_in(name)


class _StandInLoader(importlib.abc.Loader):
    def __init__(self, known: Mapping[str, object]) -> None:
        self._known = known

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _stand_in_module(spec.name, self._known)

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing."""
