"""Find what an extension defines for Python: PYBIND11_MODULE, TORCH_LIBRARY and RegisterOperators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cuda_wheel.migrate.host_functions.expressions import operands, peeled, unquoted
from cuda_wheel.migrate.host_functions.functions import Failure
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node, SourceTree

__all__ = ["Binding", "Enumeration", "bindings_in", "enumerations_in", "others_in"]


@dataclass
class Binding:
    """A definition of a function for Python."""

    kind: str
    """"pybind" or "library"."""
    name: str
    source: SourceTree
    line: int
    declared: Declaration | None
    """The function in C++; None if it is not known, or a definition has only a schema."""
    namespace: str = ""
    schema: str = ""
    dispatch_key: str = ""
    is_definition: bool = True
    parameters: tuple[str, ...] = ()
    """Names that the definition gives the parameters."""
    defaults: dict[int, str] = field(default_factory=dict)
    """0-based number of a parameter -> its default in Python."""
    doc: str = ""
    python: str = ""
    """Name of the translated function."""
    failure: Failure | None = None
    is_duplicate: bool = False
    """Whether another definition describes the same function: a schema, and its implementation."""
    is_for_cpu: bool = False

    @property
    def usr(self) -> str:
        return self.declared.usr if self.declared else ""


@dataclass(frozen=True)
class Enumeration:
    """An enumeration that pybind11 defines for Python."""

    name: str
    cxx: str
    """Name in C++, without its namespaces."""
    members: tuple[tuple[str, int], ...]
    is_exported: bool
    """Whether the members are names of the module, too."""
    path: str
    line: int


def enumerations_in(tree: SourceTree) -> list[Enumeration]:
    """Return the enumerations that a source file defines for Python, in their order."""
    found = []
    for statement in _pybind_statements(tree):
        for made in _calls_named(statement, "enum_"):
            label, members = _string(made), []
            for each in reversed(_calls_named(statement, "value")):
                named = next((one for one in each.walk_all() if _is_enumerator(tree, one)), None)
                key = _string(each)
                if key is not None and named is not None and isinstance(named.value, int):
                    members.append((key, named.value))
            if label is not None and _is_of_module(made):
                cxx = made.type.partition("<")[2].rpartition(">")[0].rpartition("::")[2]
                is_exported = any(each.name == "export_values" for each in statement.walk_all())
                found.append(Enumeration(label, cxx, tuple(members), is_exported, tree.path, made.line))
    return found


_OTHERS = {
    "class_": "class",
    "bind_vector": "class",
    "enum_": "enumeration",
    "attr": "attribute",
    "def_submodule": "submodule",
}
"""Function or class of pybind11 that defines something else than a function -> what it defines."""


def others_in(tree: SourceTree) -> list[tuple[int, str]]:
    """Return (line, text) of each definition of pybind11 that is neither a function nor an enumeration."""
    found = []
    for statement in _pybind_statements(tree):
        for each in statement.walk_all():
            label = _string(each) if each.kind == "CALL_EXPR" and each.name in _OTHERS else None
            if label is None or (each.name == "enum_" and _is_of_module(each)):
                continue
            if each.name == "attr" and not any(one.name == "operator=" for one in statement.walk_all()):
                continue  # it is only read
            found.append((each.line, f"the {_OTHERS[each.name]} {label} is not written"))
    return found


def _pybind_statements(tree: SourceTree) -> Iterator[Node]:
    for key in tree.functions:
        declared = tree.declarations[key]
        if declared.body is not None and declared.name.startswith("pybind11_init_"):
            for block in declared.body.children:
                if block.kind == "COMPOUND_STMT":
                    yield from block.children


def _calls_named(node: Node, called: str) -> list[Node]:
    return [each for each in node.walk_all() if each.kind == "CALL_EXPR" and each.name == called and each.arguments]


def _is_enumerator(tree: SourceTree, node: Node) -> bool:
    declared = tree.declarations.get(node.target)
    return declared is not None and declared.kind == "ENUM_CONSTANT_DECL"


def _is_of_module(made: Node) -> bool:
    """Return whether an object of pybind11 is defined in the module itself, not in a class or submodule."""
    return "module_" in peeled(made.arguments[0]).type


def bindings_in(tree: SourceTree) -> list[Binding]:
    """Return the definitions of a source file, in their order."""
    found: list[Binding] = []
    for key in tree.functions:
        declared = tree.declarations[key]
        if declared.body is None:
            continue
        if declared.name.startswith("pybind11_init_"):
            found += _calls(tree, declared.body, "pybind", "", "")
        elif declared.name.startswith("TORCH_LIBRARY_IMPL_init_"):
            namespace, dispatch_key = _library_key(declared.name.removeprefix("TORCH_LIBRARY_IMPL_init_"))
            found += _calls(tree, declared.body, "library", namespace, dispatch_key)
        elif declared.name.startswith("TORCH_LIBRARY_init_"):
            found += _calls(tree, declared.body, "library", declared.name.removeprefix("TORCH_LIBRARY_init_"), "")
        elif declared.name.startswith("TORCH_LIBRARY_FRAGMENT_init_"):
            namespace = declared.name.removeprefix("TORCH_LIBRARY_FRAGMENT_init_").rstrip("0123456789").rstrip("_")
            found += _calls(tree, declared.body, "library", namespace, "")
    for variable in tree.variables:
        if "RegisterOperators" in variable.type:
            found += reversed(list(_registered(tree, variable)))
    for each in found:
        each.is_for_cpu = each.dispatch_key in ("CPU", "QuantizedCPU", "SparseCPU")
    return found


_KEYS = (
    "CUDA",
    "CPU",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "Autograd",
    "AutogradCUDA",
    "AutogradCPU",
    "Meta",
    "AutocastCUDA",
    "Autocast",
    "QuantizedCPU",
    "QuantizedCUDA",
    "SparseCUDA",
    "SparseCPU",
    "CatchAll",
    "XPU",
    "MPS",
    "HIP",
    "Functionalize",
)


def _library_key(name: str) -> tuple[str, str]:
    """Return namespace and dispatch key of "demo_CUDA_3"."""
    name = name.rstrip("0123456789").rstrip("_")
    for key in sorted(_KEYS, key=len, reverse=True):
        if name.endswith(f"_{key}"):
            # C++ has two names of this key, and Python one.
            return name.removesuffix(f"_{key}"), "AutocastCUDA" if key == "Autocast" else key
    namespace, _, key = name.rpartition("_")
    return namespace, key


def _calls(tree: SourceTree, body: Node, kind: str, namespace: str, dispatch_key: str) -> Iterator[Binding]:
    for node in body.walk_all():
        if node.kind != "CALL_EXPR" or node.name not in ("def", "impl") or len(node.arguments) < 1:
            continue
        given = [each for each in node.arguments if each.line or each.children]
        label = _string(given[0])
        if label is None:
            continue
        function = next((found for each in given[1:] if (found := _function(tree, each)) is not None), None)
        binding = Binding(
            kind,
            label.partition("(")[0].partition("::")[2] or label.partition("(")[0],
            tree,
            node.line,
            function,
            namespace,
        )
        binding.is_definition = node.name == "def"
        if kind == "library":
            binding.dispatch_key = dispatch_key
            binding.schema = label if "(" in label and node.name == "def" else ""
            if "::" in binding.schema.partition("(")[0]:
                binding.schema = binding.schema.partition("::")[2]
        else:
            _describe(binding, given[1:])
        yield binding


def _registered(tree: SourceTree, variable: Node) -> Iterator[Binding]:
    for node in variable.walk_all():
        if node.kind == "CALL_EXPR" and node.name == "op" and node.arguments:
            label = _string(node.arguments[0])
            if label is None:
                continue
            function = next(
                (found for each in node.arguments[1:] if (found := _function(tree, each)) is not None), None
            )
            namespace, _, rest = label.partition("::")
            yield Binding(
                "library", rest.partition("(")[0], tree, node.line, function, namespace, rest if "(" in rest else ""
            )


def _string(node: Node) -> str | None:
    literals = [each for each in node.walk_all() if each.kind == "STRING_LITERAL"]
    return unquoted(literals[0].name) if literals else None


def _function(tree: SourceTree, node: Node) -> Declaration | None:
    """Return the function that an argument names: `&f`, `f`, TORCH_FN(f) or a lambda."""
    for each in node.walk_all():
        if each.kind == "DECL_REF_EXPR" and each.target:
            declared = tree.declarations.get(each.target)
            if (
                declared is not None
                and declared.kind in ("FUNCTION_DECL", "CXX_METHOD")
                and not declared.name.startswith("operator")
            ):
                return declared
        if each.kind == "LAMBDA_EXPR":
            return _of_lambda(tree, each)
    return None


def _of_lambda(tree: SourceTree, node: Node) -> Declaration:
    parameters = tuple((child.name, child.type) for child in node.children if child.kind == "PARM_DECL")
    made = Declaration("LAMBDA_EXPR", "", "", "", "", parameters, is_own=True, file=tree.path, line=node.line)
    made.usr = f"lambda@{tree.path}:{node.offset}"
    made.body = node
    return made


def _describe(binding: Binding, given: list[Node]) -> None:
    """Note names, defaults and the docstring of a definition of pybind11."""
    names: list[str] = []
    for each in given:
        inner = peeled(each)
        while inner.kind in ("CXX_FUNCTIONAL_CAST_EXPR",) and operands(inner):
            inner = peeled(operands(inner)[-1])
        if "pybind11::arg" in inner.type:
            label = _string(each)
            if label is None:
                continue
            names.append(label)
            value = next(
                (node for node in each.walk_all() if node.kind == "CALL_EXPR" and node.name == "operator="), None
            )
            if value is not None and len(value.arguments) > 1:
                default = _default(value.arguments[1])
                if default is not None:
                    binding.defaults[len(names) - 1] = default
        elif "char" in inner.type:
            binding.doc = _string(each) or ""
    binding.parameters = tuple(names)
    if binding.declared is not None and binding.declared.kind == "LAMBDA_EXPR":
        binding.declared.name = binding.name
        binding.declared.qualified = binding.name


def _default(node: Node) -> str | None:
    inner = peeled(node)
    sign = ""
    if inner.kind == "UNARY_OPERATOR" and inner.operator == "-":
        sign, inner = "-", peeled(operands(inner)[-1])
    if inner.kind in ("INTEGER_LITERAL", "FLOATING_LITERAL", "CXX_BOOL_LITERAL_EXPR") and inner.value is not None:
        return sign + repr(inner.value)
    if inner.kind == "STRING_LITERAL":
        return repr(unquoted(inner.name))
    if "none" in inner.type or "nullopt" in inner.type or inner.kind in ("CXX_NULL_PTR_LITERAL_EXPR",):
        return "None"
    if inner.kind == "CALL_EXPR" and inner.arguments:
        return _default(inner.arguments[0])
    return None
