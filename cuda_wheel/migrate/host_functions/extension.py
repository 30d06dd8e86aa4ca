"""Translate a whole PyTorch extension: find the functions that it defines for Python, and write their Python module."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuda_wheel.migrate.host_functions.autograd import AutogradTable, AutogradTranslator
from cuda_wheel.migrate.host_functions.bindings import Binding, Enumeration, bindings_in, enumerations_in, others_in
from cuda_wheel.migrate.host_functions.cxx_types import (
    integer_bounds,
    plain,
    template_arguments,
    template_name,
)
from cuda_wheel.migrate.host_functions.flow import launches_in
from cuda_wheel.migrate.host_functions.functions import (
    HELPERS,
    Failure,
    Translated,
    python_name,
)
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node, Record, SourceTree
from cuda_wheel.migrate.host_functions.python_code import (
    CommentLine,
    lines,
    merged,
    not_implemented,
    text,
    unknown_names,
)
from cuda_wheel.migrate.host_functions.records import PythonClass, RecordTable
from cuda_wheel.migrate.host_functions.values import Untranslated

__all__ = ["Extension", "PythonModule", "TranslatedFunction", "translate"]


@dataclass(frozen=True)
class TranslatedFunction:
    """A function that the extension defines for Python."""

    name: str
    path: str
    line: int
    failures: tuple[Failure, ...]
    """Places that are not translated, in the function and in those that it calls."""
    launches: int
    """Launches in the function and in those that it calls, as the source has them."""
    translated_launches: int
    is_for_cpu: bool = False
    """Whether it is for tensors in host memory only, so that it can stay C++."""
    cpu_functions: tuple[str, ...] = ()
    """Functions that it calls for tensors in host memory only, and that are not translated: "name (path:line)"."""


@dataclass(frozen=True)
class PythonModule:
    """The Python module that replaces an extension."""

    text: str
    functions: tuple[TranslatedFunction, ...]
    launches: frozenset[tuple[str, int]]
    """(path, byte offset) of each launch that the functions reach."""
    translated_launches: frozenset[tuple[str, int]]
    others: tuple[Failure, ...] = ()
    """What else the extension defines for Python, and nothing is written for."""


@dataclass
class Extension:
    """The sources of an extension."""

    name: str
    """Name of the extension for Python, such as "demo._C"."""
    trees: Sequence[SourceTree]
    modules: Mapping[str, str]
    """Path of a `.cu` file -> dotted name of the module with its kernels."""
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Path of a source file -> its lines."""


OVERLOADS = frozenset({"Tensor", "int", "float", "bool", "str"})
"""Annotations of parameters by which `cuda_wheel.torch.arithmetic.overloaded` chooses."""

_Template = tuple[str, int, str, str]
"""(file, line, qualified name, instance of the class) of a function, or of a template whose instances are functions."""


_IMPORTED = ("torch", "Tensor", "cuda_wheel", "ctypes", "dataclasses", "enum")
"""Names that a module imports where it needs them."""


def translate(extension: Extension, aten: Any) -> PythonModule:
    """Return the Python module that replaces an extension."""
    split: set[_Template] = set()
    while True:  # a template whose instances differ becomes a function for each instance, and all is done again
        translation = _Translation(extension, aten, split)
        translation.run()
        if not translation.differing - split:
            return translation.module()
        split |= translation.differing


class _Translation:
    """One pass over an extension."""

    def __init__(self, extension: Extension, aten: Any, split: set[_Template]) -> None:
        self.extension = extension
        self.aten = aten
        self._split = split
        self.differing: set[_Template] = set()
        self._bindings = [each for tree in extension.trees for each in bindings_in(tree)]
        self._enumerations = [each for tree in extension.trees for each in enumerations_in(tree)]
        for each in self._bindings:  # a schema, and its implementation in another file
            if each.kind == "library" and each.is_definition and each.declared is None:
                each.is_duplicate = any(
                    other is not each
                    and (other.namespace, other.name) == (each.namespace, each.name)
                    and other.declared
                    for other in self._bindings
                )
        self._by_usr: dict[str, Declaration] = {}
        self._by_signature: dict[Any, Declaration] = {}
        self._tree_of: dict[int, SourceTree] = {}
        for tree in extension.trees:
            for declared in tree.declarations.values():
                self._tree_of[id(declared)] = tree
                if declared.body is not None and declared.usr:
                    self._by_usr.setdefault(declared.usr, declared)
                    self._by_signature.setdefault(_signature(declared), declared)
        self._names: dict[Any, str] = {}
        self._waiting: list[tuple[Any, Declaration, SourceTree]] = []
        self._instances: dict[Any, list[Translated]] = {}
        self._nodes: dict[Any, list[tuple[str, Node]]] = {}
        """Key of a function -> (path, definition) of each of its instances."""
        self._functions: dict[Any, Translated] = {}
        self._constants: dict[str, Any] = {}
        self._constant_names: dict[tuple[str, str, Any], str] = {}
        self._states: dict[Any, tuple[str, str]] = {}
        """Variable of C++ that lives as long as the program -> its name in Python, and its first value."""
        self._kernels: dict[str, str] = {}
        self._seen: set[Any] = set()
        self._order: list[Any] = []
        self._current: Any = None
        self._edges: dict[Any, set[tuple[Any, bool]]] = {}
        """Key of a function -> the functions that it calls, each with whether only tensors in host memory get there."""
        self._on_cpu: dict[Any, str] = {}
        """Key of a function that only tensors in host memory reach, and that is not translated -> its name and place,
        as in `TranslatedFunction.cpu_functions`."""
        self._overloaded: set[str] = set()
        """Names that several definitions of pybind11 have."""
        self._records = RecordTable()
        self._autograd = AutogradTable()

    def record(self, record: Record, source: SourceTree) -> PythonClass:
        return self._records.class_of(record, source, self._taken)

    def _taken(self) -> tuple[str, ...]:
        """Return the names of the functions and classes of the module."""
        enumerations = (each.name for each in self._enumerations)
        return (*self._names.values(), *self._records.names(), *self._autograd.names(), *enumerations)

    def autograd_class(self, forward: Declaration) -> str:
        """Return the name of the autograd function whose `forward` this is."""
        return self._autograd.name_of(forward, self._taken)

    # --- what functions ask for ---------------------------------------------------------------------------

    def kernels_of(self, declared: Declaration) -> str:
        modules = self.extension.modules
        # A kernel in a header is in the module of the source file that includes it.
        module = modules.get(declared.file) or modules.get(self._source.path)
        if module is None:
            raise Untranslated(f"the kernel {declared.name} is in no .cu file of the extension")
        if module not in self._kernels:
            stem = module.rpartition(".")[2]
            single = len(set(modules.values())) == 1
            self._kernels[module] = (
                "kernels" if single else python_name(f"{stem}_kernels", tuple(self._kernels.values()))
            )
        return self._kernels[module]

    def definition(self, declared: Declaration) -> Declaration | None:
        """Return a function's definition in any source file; None without one."""
        if declared.body is not None:
            return declared
        return self._by_usr.get(declared.usr) or self._by_signature.get(_signature(declared))

    def function_name(self, declared: Declaration, source: SourceTree, is_on_cpu: bool = False) -> str:
        """Return the name of a function in Python, which is translated too.

        `source`: where a lambda of a definition is, which is no declaration of the file. `is_on_cpu`: whether only
        tensors in host memory get to the call.
        """
        found = self.definition(declared)
        if found is None:
            raise Untranslated(f"{declared.qualified} is not defined in the extension's sources")
        declared, source = found, self._tree_of.get(id(found), source)
        key: Any = (declared.file, declared.line, declared.qualified, declared.instance)
        if declared.template and key in self._split:
            key = (*key, tuple((each.type, each.value) for each in declared.template))
        self._edges.setdefault(self._current, set()).add((key, is_on_cpu))
        instance = (key, tuple((each.type, each.value) for each in declared.template))
        if key not in self._names:
            bound = self._bound_name(declared)
            taken = {each.name for each in self._bindings if each.kind == "pybind"}
            given = bound or (f"{declared.name}_" if declared.name in taken else declared.name)
            if declared.kind == "CONSTRUCTOR":
                given = f"make_{given}"
            elif declared.kind == "CXX_METHOD":
                of, method = declared.qualified.split("::")[-2:]
                given = _joined([of, declared.instance.partition("<")[2], method])
            if len(key) == 5:
                given = _joined([given, *(each.type or str(each.value) for each in declared.template)])
            self._names[key] = python_name(given, self._taken())
        if instance not in self._seen:
            self._seen.add(instance)
            self._waiting.append((key, declared, source))
        return self._names[key]

    def _bound_name(self, declared: Declaration) -> str | None:
        """Return the name under which Python sees a function, if it is only one."""
        own = {each.name for each in self._bindings if each.usr and each.usr == declared.usr and each.kind == "pybind"}
        operators = {each.name for each in self._bindings if each.usr and each.usr == declared.usr}
        taken = {each.name for each in self._bindings if each.kind == "pybind"}
        names = (own or operators - taken) - self._overloaded
        return names.pop() if len(names) == 1 else None

    def constant_name(self, declared: Declaration, value: Any) -> str:
        # Instances of a class template have constants of one name, with other values.
        key = (declared.file, declared.qualified, value)
        if key not in self._constant_names:
            made = python_name(declared.name, tuple(self._constants))
            if self._constants.get(declared.name) == value:
                made = declared.name
            self._constant_names[key] = made
            self._constants[made] = value
        return self._constant_names[key]

    def state_name(self, declared: Declaration, initial: ast.expr) -> str:
        """Return the name of a variable of the module, for one of C++ that lives as long as the program."""
        key = declared.usr or (declared.file, declared.line, declared.name)
        if key not in self._states:
            taken = (*self._taken(), *self._constants, *(each for each, _ in self._states.values()))
            self._states[key] = python_name(declared.name, taken), text(initial)
        return self._states[key][0]

    # --- the pass -----------------------------------------------------------------------------------------

    def run(self) -> None:
        names = [each.name for each in self._bindings if each.kind == "pybind"]
        for binding in self._bindings:
            if binding.kind == "pybind" and names.count(binding.name) > 1:
                self._overloaded.add(binding.name)
                if not self._is_told_apart(binding):
                    reason = (
                        f"several functions have the name {binding.name}, of which pybind11 chooses by the arguments"
                    )
                    binding.failure = Failure(binding.source.path, binding.line, reason)
                    continue
            if binding.kind == "pybind" and binding.name in HELPERS:
                reason = f"{binding.name} is the name of a function of cuda_wheel.torch.arithmetic too"
                binding.failure = Failure(binding.source.path, binding.line, reason)
            elif binding.declared is not None:
                try:
                    binding.python = self.function_name(binding.declared, binding.source)
                except Untranslated as error:
                    binding.failure = Failure(binding.source.path, binding.line, error.reason)
        while self._waiting:
            key, declared, source = self._waiting.pop(0)
            self._source, self._current = source, key
            translator = AutogradTranslator(self, source, declared, self.extension.texts.get(declared.file, ()))
            translator.has_parameters = len(key) != 5
            try:
                made = translator.translate()
            except Untranslated as error:
                failure = Failure(declared.file, error.line or declared.line, error.reason)
                body: list[ast.stmt] = [not_implemented(f"{failure.path}:{failure.line}: {failure.reason}")]
                made = Translated(
                    declared.name,
                    [(each or f"argument{number}", type_) for number, (each, type_) in enumerate(declared.parameters)],
                    [],
                    body,
                    declared.result,
                    [failure],
                    declared,
                )
            made.name = self._names[key]
            if len(key) == 5:
                made.template = []
            if key not in self._instances:
                self._order.append(key)
            self._instances.setdefault(key, []).append(made)
            if declared.body is not None:
                self._nodes.setdefault(key, []).append((declared.file, declared.body))
        for key, instances in self._instances.items():
            self._functions[key] = self._merge(key, instances)

    def _is_told_apart(self, binding: Binding) -> bool:
        """Return whether `arithmetic.overloaded` knows the types of a function's parameters."""
        declared = binding.declared
        if declared is None or binding.parameters or binding.defaults:
            return False
        return all(annotation_of(type_) in OVERLOADS for _, type_ in declared.parameters)

    def _merge(self, key: Any, instances: list[Translated]) -> Translated:
        first = instances[0]
        body = first.body
        for other in instances[1:]:
            try:
                body = merged(body, other.body)
            except ValueError:
                self.differing.add(key)
                break
        failures = list(dict.fromkeys(failure for each in instances for failure in each.failures))
        first.body, first.failures = body, failures
        return first

    # --- the module ---------------------------------------------------------------------------------------

    def module(self) -> PythonModule:
        self._mark_for_cpu()
        self._drop_unused_template_parameters()
        functions = [self._functions[key] for key in self._order]
        self._check_names(functions)
        bound = {each.python for each in self._bindings if each.python}
        reached = {key: self._reached(key) for key in self._order if self._functions[key].name in bound}
        listed = [self._described(binding, reached) for binding in self._bindings if not binding.is_duplicate]
        launches: set[tuple[str, int]] = set()
        done: set[tuple[str, int]] = set()
        on_gpu = {each for keys in reached.values() for each in keys}
        for key in on_gpu:
            done |= self._launches(key)[1]
        for tree in self.extension.trees:
            for declared in tree.declarations.values():
                if declared.body is not None:
                    launches |= {(declared.file, each.offset) for each in launches_in(declared.body)}
        others = [Failure(tree.path, *each) for tree in self.extension.trees for each in others_in(tree)]
        for each in self._enumerations:
            hidden = [member for member, _ in each.members if each.is_exported and not self._is_free(member)]
            reasons = (
                f"the name {member} beside {each.name}.{member} is not written: it is taken" for member in hidden
            )
            others += [Failure(each.path, each.line, reason) for reason in reasons]
        written = self._text(functions)
        return PythonModule(written, tuple(listed), frozenset(launches), frozenset(done), tuple(others))

    def _check_names(self, functions: Sequence[Translated]) -> None:
        """Make functions unfinished that use a name which nothing defines: the translation has missed something."""
        known = {*dir(builtins), *HELPERS, *_IMPORTED, *self._kernels.values(), *self._constants, *self._taken()}
        known |= {each for each, _ in self._states.values()} | {each.name for each in functions} | self._overloaded
        for each in functions:
            parameters = [*each.template, *(parameter for parameter, _ in each.parameters)]
            unknown = [] if each.failures else unknown_names(each.body, parameters, known)
            if unknown and each.declared is not None:
                reason = f"{', '.join(unknown)} would have no value in Python"
                each.failures.append(Failure(each.declared.file, each.declared.line, reason))
                each.body.insert(0, not_implemented(f"{each.declared.file}:{each.declared.line}: {reason}"))

    def _drop_unused_template_parameters(self) -> None:
        by_name = {each.name: each for each in self._functions.values()}
        used: dict[str, set[str]] = {each.name: set() for each in self._functions.values()}
        changed = True
        while changed:
            changed = False
            for each in self._functions.values():
                found = _used_names(each.body, by_name, used)
                mine = {parameter for parameter in each.template if parameter in found}
                if mine != used[each.name]:
                    used[each.name] = mine
                    changed = True
        for each in self._functions.values():
            for node in (inner for statement in each.body for inner in ast.walk(statement)):
                if isinstance(node, ast.Call) and getattr(node, "template_count", False):
                    callee = by_name[node.func.id]  # type: ignore[attr-defined]
                    count = node.template_count  # type: ignore[attr-defined]
                    kept = [
                        tree
                        for parameter, tree in zip(callee.template, node.args[:count], strict=False)
                        if parameter in used[callee.name]
                    ]
                    node.args = kept + node.args[count:]
                    node.template_count = 0  # type: ignore[attr-defined]
        for each in self._functions.values():
            each.template = [parameter for parameter in each.template if parameter in used[each.name]]

    def _reached(self, key: Any) -> list[Any]:
        """Return the keys of the functions that a function reaches with tensors on the GPU, itself included."""
        found, waiting = [], [key]
        while waiting:
            each = waiting.pop()
            if each not in found and each in self._functions:
                found.append(each)
                waiting += [other for other, is_on_cpu in self._edges.get(each, ()) if not is_on_cpu]
        return found

    def _mark_for_cpu(self) -> None:
        """Replace the bodies of functions that are not whole and that only tensors in host memory reach."""
        reached = {
            each
            for binding in self._bindings
            if binding.python and not binding.is_for_cpu
            for key in self._order
            if self._functions[key].name == binding.python
            for each in self._reached(key)
        }
        for key in self._order:
            function = self._functions[key]
            if key in reached or not function.failures:
                continue
            declared = function.declared
            where = f"{declared.file}:{declared.line}" if declared else ""
            message = f"{where}: {function.name} is for tensors on the CPU, and stays C++"
            function.body = [not_implemented(message)]
            function.failures = []
            self._on_cpu[key] = f"{function.name} ({where})"

    def _launches(self, key: Any) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
        """Return the places of a function's launches, and of those that are translated."""
        places = {(path, each.offset) for path, body in self._nodes.get(key, ()) for each in launches_in(body)}
        function = self._functions[key]
        if not function.failures:
            return places, places
        count = sum(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "launch"
            for statement in function.body
            for node in ast.walk(statement)
        )
        return places, set(sorted(places)[: min(count, len(places))])

    def _described(self, binding: Binding, reached: Mapping[Any, list[Any]]) -> TranslatedFunction:
        key = next(
            (each for each in self._order if binding.python and self._functions[each].name == binding.python), None
        )
        failures = [binding.failure] if binding.failure else []
        total = done = 0
        for each in reached.get(key, ()) if key is not None else ():
            failures += [failure for failure in self._functions[each].failures if not failure.is_on_cpu]
            found, translated = self._launches(each)
            total += len(found)
            done += len(translated)
        callees = (other for each in reached.get(key, ()) for other, _ in self._edges.get(each, ()))
        if key is None and not failures:
            failures = [Failure(binding.source.path, binding.line, "what the definition calls is not known")]
        return TranslatedFunction(
            binding.name,
            binding.source.path,
            binding.line,
            tuple(dict.fromkeys(failures)),
            total,
            done,
            binding.is_for_cpu,
            tuple(sorted({self._on_cpu[other] for other in callees if other in self._on_cpu})),
        )

    # --- text ---------------------------------------------------------------------------------------------

    def _text(self, functions: Sequence[Translated]) -> str:
        body: list[str] = []
        bound = {binding.python: binding for binding in reversed(self._bindings) if binding.python}
        # Functions come before those that call them, as in C++.
        for each in reversed(functions):
            of_class = self._autograd.definition(each, functions, lambda method: self._definition(method, None))
            if of_class is None:
                body += ["", "", *self._definition(each, bound.get(each.name))]
            elif of_class:
                body += ["", "", *of_class]
        aliases = [
            f"{binding.name} = {binding.python}"
            for binding in self._bindings
            if binding.kind == "pybind" and binding.python and binding.name not in (binding.python, *self._overloaded)
        ]
        if aliases:
            body += ["", "", *dict.fromkeys(aliases)]
        unknown = [each for each in self._bindings if each.kind == "pybind" and not each.python]
        for name_ in sorted(self._overloaded - {each.name for each in unknown}):
            body += ["", "", *self._overloads(name_)]
        for binding in {each.name: each for each in unknown}.values():
            reason = binding.failure.reason if binding.failure else "its definition is not known"
            message = f"{binding.source.path}:{binding.line}: {reason}"
            body += [
                "",
                "",
                f"def {python_name(binding.name)}(*arguments):",
                f"    raise NotImplementedError({message!r})",
            ]
        body += self._registrations()
        functions_words = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", "\n".join(body)))
        body = [*self._enumeration_text(), *self._records.text(functions_words), *body]
        joined = "\n".join(body)
        words = set(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", joined))
        helpers = sorted({*words} & HELPERS & _called(joined))
        head = [f'"""The functions of {self.extension.name}, which `cuda-wheel import` translated from C++."""', ""]
        head += [f"import {each}" for each in ("ctypes", "dataclasses", "enum") if re.search(rf"\b{each}\.", joined)]
        head += [""] * (len(head) > 2) + ["import torch"]
        if re.search(r"\bTensor\b", joined):
            head.append("from torch import Tensor")
        head += ["", "import cuda_wheel.torch"]
        if helpers:
            head += _import("cuda_wheel.torch.arithmetic", helpers)
        if self._kernels:
            head += [
                "",
                *(
                    f'{variable} = cuda_wheel.torch.kernels("{module}")'
                    for module, variable in sorted(self._kernels.items())
                ),
            ]
        used = {key: value for key, value in self._constants.items() if key in words}
        if used:
            head += ["", *(f"{key} = {value!r}" for key, value in used.items())]
        states = [f"{each} = {initial}" for each, initial in self._states.values() if each in words]
        head += ["", *states] if states else []
        return "\n".join([*head, *body]) + "\n"

    def _definition(self, function: Translated, binding: Binding | None) -> Iterator[str]:
        parameters = list(function.template)
        defaults = binding.defaults if binding and binding.kind == "pybind" else {}
        given = binding.parameters if binding else ()
        renamed: list[str] = []
        for number, (parameter, type_) in enumerate(function.parameters):
            annotation = annotation_of(type_)
            shown = f"{parameter}: {annotation}" if annotation else parameter
            default = defaults.get(number)
            if default is not None:
                shown += f" = {default}" if annotation else f"={default}"
            parameters.append(shown)
            if number < len(given) and given[number] and given[number] != parameter:
                renamed.append(f"{parameter} = {given[number]}")
                parameters[-1] = parameters[-1].replace(parameter, python_name(given[number]), 1)
        result = annotation_of(function.result) if function.result != "void" else "None"
        arrow = f" -> {result}" if result else ""
        whole = f"def {function.name}({', '.join(parameters)}){arrow}:"
        if len(whole) <= 120:
            yield whole
        else:
            yield f"def {function.name}("
            yield from (f"    {each}," for each in parameters)
            yield f"){arrow}:"
        if binding and binding.doc:
            doc = binding.doc.strip().replace('"""', "'''")
            yield from (f"    {line}".rstrip() for line in f'"""{doc}"""'.splitlines())
        yield from (f"    {each}" for each in renamed)
        if binding and binding.kind == "pybind":
            integers: dict[str, list[str]] = {}  # pybind11 refuses what is no integer of the type
            for parameter, type_ in function.parameters:
                bounds = integer_bounds(type_)
                enumeration = self._enumeration_of(function, parameter)
                if enumeration is not None:
                    yield f"    if not isinstance({parameter}, {enumeration.name}):"
                    yield f'        raise TypeError(f"{parameter} is no {enumeration.name}: {{{parameter}!r}}")'
                    yield f"    {parameter} = int({parameter})"
                elif bounds and plain(type_) != "bool":
                    kind = f"{'u' if bounds[0] == 0 else ''}int{(bounds[1] - bounds[0]).bit_length()}"
                    integers.setdefault(kind, []).append(parameter)
            yield from (f'    check_integers("{each}", {", ".join(names)})' for each, names in integers.items())
        has_code = any(not isinstance(each, CommentLine) for each in function.body)
        if function.body and (has_code or not (binding and binding.doc)):
            yield from lines(function.body, 4)
        elif not function.body and not (binding and binding.doc) and not renamed:
            yield "    pass"

    def _enumeration_of(self, function: Translated, parameter: str) -> Enumeration | None:
        """Return the enumeration that pybind11 asks for as a parameter of a function."""
        body = function.declared.body if function.declared else None
        declared = [each for each in body.children if each.kind == "PARM_DECL"] if body else []
        if len(declared) != len(function.parameters):
            return None
        number = [each for each, _ in function.parameters].index(parameter)
        written = declared[number].written.removeprefix("const ").rstrip("& ").rpartition("::")[2]
        return next((each for each in self._enumerations if each.cxx == written), None)

    def _enumeration_text(self) -> Iterator[str]:
        for each in self._enumerations:
            yield from ("", "", f"class {each.name}(enum.IntEnum):", f'    """`{each.cxx}` of the C++ code."""', "")
            yield from (f"    {member} = {value}" for member, value in each.members)
            exported = [member for member, _ in each.members if each.is_exported and self._is_free(member)]
            yield from ["", "", *(f"{member} = {each.name}.{member}" for member in exported)] if exported else ()

    def _is_free(self, member: str) -> bool:
        """Return whether a name of the module can be that of an enumeration's member."""
        return python_name(member, self._taken()) == member

    def _overloads(self, called: str) -> Iterator[str]:
        """Yield the function that calls one of those with the same name, as pybind11 does."""
        yield f"def {called}(*arguments):"
        yield "    return overloaded("
        yield f'        "{called}",'
        yield "        arguments,"
        for binding in self._bindings:
            if binding.name == called and binding.kind == "pybind" and binding.declared is not None:
                kinds = [f'"{annotation_of(type_)}"' for _, type_ in binding.declared.parameters]
                yield f"        ({', '.join([binding.python, *kinds])}),"
        yield "    )"

    def _registrations(self) -> list[str]:
        found: list[str] = []
        names: dict[str, str] = {}
        for each in self._bindings:
            if each.kind != "library":
                continue
            if each.namespace not in names:
                names[each.namespace] = python_name(
                    "library" if not names else f"{each.namespace}_library", tuple(names.values())
                )
                found += ["", "", f'{names[each.namespace]} = torch.library.Library("{each.namespace}", "FRAGMENT")']
            library = names[each.namespace]
            if each.schema:
                found.append(f"{library}.define({each.schema!r})")
            elif each.is_definition and each.declared is not None:
                schema = schema_of(each.name, self.definition(each.declared) or each.declared)
                found.append(f"{library}.define({schema!r})")
            if each.python:
                key = each.dispatch_key or "CompositeImplicitAutograd"
                found.append(f'{library}.impl("{each.name}", {each.python}, "{key}")')
        return found


def _signature(declared: Declaration) -> tuple[Any, ...]:
    """Return name, class, template arguments and parameter types of a function, the same in all source files."""
    template = tuple((each.type, each.value) for each in declared.template)
    return declared.qualified, declared.instance, template, tuple(plain(type_) for _, type_ in declared.parameters)


def _joined(parts: Sequence[str]) -> str:
    """Return names and C++ types as one name: "run", "float, 4>" is "run_float_4"."""
    return "_".join(made for each in parts if (made := re.sub(r"[^A-Za-z0-9]+", "_", each).strip("_")))


def _called(source: str) -> set[str]:
    return {
        node.func.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def _import(module: str, names: Sequence[str]) -> list[str]:
    whole = f"from {module} import {', '.join(names)}"
    return [whole] if len(whole) <= 120 else [f"from {module} import (", *(f"    {each}," for each in names), ")"]


def _used_names(
    body: Iterable[ast.stmt], functions: Mapping[str, Translated], used: Mapping[str, set[str]]
) -> set[str]:
    found: set[str] = set()

    def visit(tree: ast.AST) -> None:
        if isinstance(tree, ast.Name):
            found.update(re.findall(r"[A-Za-z_][A-Za-z_0-9]*", tree.id))
        if isinstance(tree, ast.Call) and getattr(tree, "template_count", False):
            callee = functions[tree.func.id]  # type: ignore[attr-defined]
            count = tree.template_count  # type: ignore[attr-defined]
            for parameter, argument in zip(callee.template, tree.args[:count], strict=False):
                if parameter in used[callee.name]:
                    visit(argument)
            for rest in (*tree.args[count:], *tree.keywords):
                visit(rest)
            return
        for each in ast.iter_child_nodes(tree):
            visit(each)

    for statement in body:
        visit(statement)
    return found


_ANNOTATIONS = {
    "at::Tensor": "Tensor", "at::TensorBase": "Tensor", "bool": "bool", "float": "float", "double": "float",
    "std::string": "str", "c10::ScalarType": "torch.dtype", "c10::Device": "torch.device", "c10::Scalar": "float",
    "const char *": "str",
}  # fmt: skip


def annotation_of(type_: str) -> str:
    """Return the annotation of a C++ type in Python; "" for a type that has none."""
    type_ = plain(type_)
    if type_ in _ANNOTATIONS:
        return _ANNOTATIONS[type_]
    if integer_bounds(type_):
        return "int"
    family, inner = template_name(type_), template_arguments(type_)
    if family == "std::basic_string":
        return "str"
    if family == "std::optional" and inner:
        of = annotation_of(inner[0])
        return f"{of} | None" if of else ""
    if family in ("std::vector", "c10::ArrayRef", "c10::List") and inner:
        of = annotation_of(inner[0])
        return f"list[{of}]" if of else "list"
    if family in ("std::tuple", "std::pair") and inner:
        parts = [annotation_of(each) for each in inner]
        return f"tuple[{', '.join(parts)}]" if all(parts) else "tuple"
    return ""


_SCHEMA_TYPES = {
    "Tensor": "Tensor",
    "bool": "bool",
    "float": "float",
    "int": "int",
    "str": "str",
    "torch.dtype": "ScalarType",
    "torch.device": "Device",
}


def schema_of(name: str, declared: Declaration) -> str:
    """Return the schema that PyTorch infers from a C++ function."""

    def of(type_: str) -> str:
        shown = annotation_of(type_)
        if shown.endswith(" | None"):
            return f"{_SCHEMA_TYPES.get(shown.removesuffix(' | None'), 'Tensor')}?"
        if shown.startswith("list["):
            return f"{_SCHEMA_TYPES.get(shown[5:-1], 'Tensor')}[]"
        if shown.startswith("tuple["):
            return f"({', '.join(_SCHEMA_TYPES.get(each.strip(), 'Tensor') for each in shown[6:-1].split(','))})"
        return _SCHEMA_TYPES.get(shown, "Tensor")

    parameters = ", ".join(f"{of(type_)} _{number}" for number, (_, type_) in enumerate(declared.parameters))
    result = "()" if declared.result == "void" else of(declared.result)
    return f"{name}({parameters}) -> {result}"
