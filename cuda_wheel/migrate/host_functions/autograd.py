"""Translate C++ autograd functions: subclasses of `torch::autograd::Function` become subclasses of Python's."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from cuda_wheel.migrate.host_functions.calls import is_default, is_simple
from cuda_wheel.migrate.host_functions.cxx_types import is_number, plain, template_name
from cuda_wheel.migrate.host_functions.expressions import callee_of, is_tensor, operands, peeled
from cuda_wheel.migrate.host_functions.flow import mutated_in
from cuda_wheel.migrate.host_functions.functions import Translated, python_name
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node, Record, SourceTree
from cuda_wheel.migrate.host_functions.python_code import attribute, call, constant, name, parse
from cuda_wheel.migrate.host_functions.records import RecordTranslator
from cuda_wheel.migrate.host_functions.values import (
    Options,
    Pointer,
    Untranslated,
    Value,
    Variable,
    converted,
    none,
    rounded,
)

__all__ = ["AutogradTable", "AutogradTranslator"]

_BASE = "torch::autograd::Function"
_CONTEXT = "torch::autograd::AutogradContext"

_OF_CONTEXT = frozenset(
    {
        "apply", "apply_boxed", "apply_jvp", "backward", "dirty_tensors", "forward", "generate_vmap_rule", "jvp",
        "mark_dirty", "mark_non_differentiable", "mark_shared_storage", "materialize_grads",
        "maybe_clear_saved_tensors", "metadata", "name", "needs_input_grad", "next_functions", "non_differentiable",
        "register_hook", "register_prehook", "requires_grad", "save_for_backward", "save_for_forward",
        "saved_for_forward", "saved_tensors", "saved_variables", "set_materialize_grads", "setup_context",
        "to_save", "vjp", "vmap",
    }
)  # fmt: skip
"""Attributes that Python's `ctx` has. Source: torch/autograd/function.py, torch/csrc/autograd/python_function.cpp."""

_READ = frozenset(
    {
        "to", "toBool", "toBoolList", "toDevice", "toDouble", "toDoubleList", "toDoubleVector", "toInt", "toIntList",
        "toIntVector", "toLayout", "toMemoryFormat", "toOptional", "toScalar", "toScalarType", "toStringRef",
        "toStringView", "toSymInt", "toTensor", "toTensorList", "toTensorVector",
    }
)  # fmt: skip
"""Methods of `c10::IValue` that return what it holds."""

_GUARDS = {
    "at::AutoDispatchBelowADInplaceOrView": "torch._C._AutoDispatchBelowADInplaceOrView",
    "at::AutoDispatchBelowAutograd": "torch._C._AutoDispatchBelowAutograd",
    "at::AutoNonVariableTypeMode": "torch._C._AutoDispatchBelowAutograd",
    "at::NoGradGuard": "torch.no_grad",
    "c10::NoGradGuard": "torch.no_grad",
}
"""Guard of C++ -> context manager that excludes the same dispatch keys, or that turns off the same mode.
Source: ATen/core/LegacyTypeDispatch.h, torch/csrc/autograd/init.cpp."""


class AutogradTable:
    """The subclasses of `torch.autograd.Function` that the Python module of an extension defines."""

    def __init__(self) -> None:
        self._classes: dict[tuple[str, str, str], str] = {}
        """(file, qualified name in C++, instance of a template) -> name in Python."""

    def names(self) -> tuple[str, ...]:
        return tuple(self._classes.values())

    def name_of(self, forward: Declaration, taken: Callable[[], Sequence[str]]) -> str:
        """Return the name of the class to which a method belongs. `taken` returns the names that the module has."""
        key = _class_key(forward)
        if key not in self._classes:
            self._classes[key] = python_name(key[1].rpartition("::")[2], tuple(taken()))
        return self._classes[key]

    def definition(
        self, function: Translated, functions: Sequence[Translated], text: Callable[[Translated], Iterator[str]]
    ) -> list[str] | None:
        """Return the lines of the class whose `forward` a function is; [] for `backward`, which is in them; None for a
        function that is no method of such a class.

        `functions` are all functions of the module. `text` returns the lines of a function.
        """
        made = self._class_of(function)
        if made is None:
            return None
        if function.declared is None or function.declared.name != "forward":
            return []
        of = function.declared.qualified.rpartition("::")[0]
        lines = [f"class {made}(torch.autograd.Function):", f'    """`{of}` of the C++ code."""']
        for short in ("forward", "backward"):
            for each in functions:
                if self._class_of(each) == made and each.declared is not None and each.declared.name == short:
                    shown = [f"    {line}".rstrip() for line in text(_method(each, short))]
                    lines += ["", "    @staticmethod", *shown]
        return lines

    def _class_of(self, function: Translated) -> str | None:
        if function.declared is None or function.declared.name not in ("forward", "backward"):
            return None
        return self._classes.get(_class_key(function.declared))


def _class_key(method: Declaration) -> tuple[str, str, str]:
    return method.file, method.qualified.rpartition("::")[0], method.instance


def _method(function: Translated, short: str) -> Translated:
    """Return a function with the signature that PyTorch's Python expects of `forward` or `backward`."""
    parameters = list(function.parameters)
    if short == "backward":
        parameters[1:] = [(f"*{each}", "at::Tensor") for each, _ in parameters[1:]]
    result = function.result if is_tensor(function.result) and short == "forward" else ""
    return replace(function, name=short, parameters=parameters, result=result)


class AutogradTranslator(RecordTranslator):
    """Translates a function that may use autograd functions, or that is `forward` or `backward` of one.

    Where C++ has a vector of tensors, Python has a tuple: what `apply` and `ctx.saved_tensors` return. Its value is
    `list(tuple)`, and the tree of this call has the attribute `unlisted`, the tree of the tuple: who only reads an
    element takes that.
    """

    def __init__(self, module: Any, source: SourceTree, declared: Declaration, lines: Sequence[str]) -> None:
        super().__init__(module, source, declared, lines)
        self._of = autograd_class(declared, source)
        """The autograd function whose `forward` or `backward` this is; None for another function."""

    # --- the function -----------------------------------------------------------------------------------

    def _parameter(self, node: Node, number: int) -> Variable:
        made = super()._parameter(node, number)
        if plain(node.type).removesuffix("*").strip() == _CONTEXT:
            made.data = "autograd context"
        return made

    def returned(self, value: Value, type_: str) -> ast.expr:
        if self._of is None or template_name(type_) != "std::vector":
            return super().returned(value, type_)
        tuple_: ast.expr | None = getattr(value.tree, "unlisted", None)
        if tuple_ is not None:
            return tuple_
        tree = value.tree
        if not isinstance(tree, ast.List):
            if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "list":
                return call("tuple", *tree.args)  # a copy is not needed
            return call("tuple", tree)
        elements = list(tree.elts)
        if self.declared.name == "backward":
            for number in self._maybe_undefined():
                is_none = number >= len(elements) or _is_none(elements[number])
                if not is_none:  # C++ ignores the gradient of an undefined tensor, Python refuses one of None
                    wanted = self._wanted(number)
                    elements[number] = ast.IfExp(wanted, elements[number], constant(None))
        return ast.Tuple(elements, ast.Load())

    def _maybe_undefined(self) -> list[int]:
        """Return the numbers of the arguments of `forward` of which it asks whether the tensor is defined."""
        forward = self._method("forward")
        if forward is None or forward.body is None:
            return []
        parameters = [each for each in forward.body.children if each.kind == "PARM_DECL"][1:]
        asked = set()
        for each in forward.body.walk_all():
            callee = callee_of(each) if each.kind == "CALL_EXPR" and each.name == "defined" else None
            if callee is not None and operands(callee):
                asked.add(peeled(operands(callee)[-1]).target)
        return [number for number, each in enumerate(parameters) if is_tensor(each.type) and each.target in asked]

    def _method(self, short: str) -> Declaration | None:
        """Return the definition of `forward` or `backward` of the class of this function."""
        key = self._of.methods.get(short) if self._of is not None else None
        return self.module.definition(self.source.declarations[key]) if key is not None else None

    def _wanted(self, number: int) -> ast.expr:
        assert self.declared.body is not None
        first = next(each for each in self.declared.body.children if each.kind == "PARM_DECL")
        context = name(self.variables[first.target].name)
        return ast.Subscript(attribute(context, "needs_input_grad"), constant(number), ast.Load())

    # --- tuples instead of vectors ----------------------------------------------------------------------

    def element(self, owner: Value, index: Value, node: Node) -> Value:
        if owner.data == "saved data":
            return self._saved(owner, index)
        return super().element(replace(owner, tree=getattr(owner.tree, "unlisted", owner.tree)), index, node)

    def _bind(self, node: Node, value: Value) -> list[ast.stmt]:
        unlisted = getattr(value.tree, "unlisted", None)
        found = super()._bind(node, value)
        if unlisted is not None and found and isinstance(found[-1], ast.Assign) and self._is_only_indexed(node.target):
            found[-1].value = unlisted
        return found

    def _is_only_indexed(self, variable: int) -> bool:
        """Return whether the function only reads elements of a vector."""
        body = self.declared.body
        if body is None or variable in self.assigned or variable in mutated_in(body, self.source):
            return False
        uses = indexed = 0
        for each in body.walk_all():
            uses += each.kind == "DECL_REF_EXPR" and each.target == variable
            if each.kind == "CALL_EXPR" and each.name == "operator[]" and each.arguments:
                indexed += peeled(each.arguments[0]).target == variable
        return uses == indexed

    def _init_list_expr(self, node: Node) -> Value:
        if "at::Tensor[" in node.type:  # `{}` in it, which has no type, is an undefined tensor
            trees = [
                constant(None)
                if each.kind == "INIT_LIST_EXPR" and not operands(each)
                else rounded(self.value(each)).tree
                for each in operands(node)
            ]
            return Value(ast.List(trees, ast.Load()), plain(node.type))
        if is_tensor(node.type) and not operands(node):
            return none("at::Tensor")
        return super()._init_list_expr(node)

    # --- the context ------------------------------------------------------------------------------------

    def member(self, node: Node, owner: Value) -> Value:
        if owner.data == "autograd context" and node.name == "saved_data":
            return Value(owner.tree, plain(node.type), data="saved data")
        return super().member(node, owner)

    def _saved(self, owner: Value, key: Value) -> Value:
        """Return an element of `ctx->saved_data`, an attribute of Python's `ctx`."""
        if not isinstance(key.tree, ast.Constant) or not isinstance(key.tree.value, str):
            raise Untranslated("a key of saved_data that is not known")
        return Value(attribute(owner.tree, attribute_name(key.tree.value)), "c10::IValue")

    def constructed(self, node: Node, declared: Declaration) -> Value:
        type_ = plain(node.type)
        given = [each for each in node.arguments if not is_default(each)]
        if type_ == "c10::IValue":
            return self._held(given)
        if type_ in _GUARDS and not given:
            return Value(call(_GUARDS[type_]), type_, data="context")
        if type_ == "c10::impl::ExcludeDispatchKeyGuard":
            key = peeled(given[0]).name if given else ""
            if key not in ("Autocast", "AutocastCUDA"):  # two names of the same key
                raise Untranslated(f"a guard that excludes the dispatch key {key or 'of a variable'}")
            # Both exclude the key AutocastCUDA.
            return Value(call("torch.autocast", constant("cuda"), enabled=constant(False)), type_, data="context")
        return super().constructed(node, declared)

    def own_variable(self, node: Node, variable: Variable) -> list[ast.stmt]:
        if variable.type in _GUARDS:
            self._context = call(_GUARDS[variable.type])
            return []
        return super().own_variable(node, variable)

    def _held(self, given: Sequence[Node]) -> Value:
        """Return a value as `c10::IValue` holds it: a vector is copied."""
        if not given:
            return none("c10::IValue")
        value = self.value(given[0])
        if isinstance(value.data, (Pointer, Options)) or (isinstance(value.data, str) and value.data != "number"):
            raise Untranslated(f"a value of type {value.type} in saved_data")
        tree = rounded(value).tree
        if template_name(value.type) == "std::vector" and isinstance(tree, (ast.Name, ast.Attribute)):
            tree = call("list", tree)
        return Value(tree, "c10::IValue")

    def other_method(self, node: Node, declared: Declaration, owner: Value) -> Value:
        if owner.data == "autograd context":
            return self._context_method(node, owner, declared.name)
        if owner.type == "c10::IValue":
            return self._read(node, owner, declared.name)
        return super().other_method(node, declared, owner)

    def _read(self, node: Node, owner: Value, method: str) -> Value:
        tree = owner.tree
        if method in ("isNone", "toOptional") and isinstance(tree, ast.Attribute):  # also where nothing was saved
            tree = call("getattr", tree.value, constant(tree.attr), constant(None))
        if method == "isNone":
            return Value(ast.Compare(tree, [ast.Is()], [constant(None)]), "bool", 0, 1)
        if method not in _READ:
            raise Untranslated(f"c10::IValue::{method} is not translated")
        return self.typed(tree, plain(node.type))

    def _context_method(self, node: Node, owner: Value, method: str) -> Value:
        given = [each for each in node.arguments if not is_default(each)]
        if method in ("save_for_backward", "mark_dirty", "mark_non_differentiable"):
            value = self.value(given[0])
            tree = getattr(value.tree, "unlisted", value.tree)
            tensors = tree.elts if isinstance(tree, ast.List) else [ast.Starred(tree, ast.Load())]
            return Value(call(attribute(owner.tree, method), *tensors), "void")
        if method == "set_materialize_grads":
            return Value(call(attribute(owner.tree, method), self.value(given[0]).tree), "void")
        if method == "get_saved_variables":
            return _listed(attribute(owner.tree, "saved_tensors"))
        if method == "needs_input_grad" and len(given) == 1:
            return self._needs_input_grad(owner, self.value(given[0]))
        raise Untranslated(f"AutogradContext::{method} is not translated")

    def _needs_input_grad(self, owner: Value, index: Value) -> Value:
        """Return whether a gradient is needed. C++ counts the tensors among the arguments, Python all arguments."""
        forward = self._method("forward")
        if forward is None or not isinstance(index.tree, ast.Constant) or not isinstance(index.tree.value, int):
            raise Untranslated("needs_input_grad of an argument that is not known")
        types = [plain(type_) for _, type_ in forward.parameters[1:]]
        tensors = [number for number, type_ in enumerate(types) if "at::Tensor" in type_]
        wanted = tensors[: index.tree.value + 1]
        if len(wanted) <= index.tree.value or not all(is_tensor(types[each]) for each in wanted):
            raise Untranslated("needs_input_grad behind an optional tensor, which C++ counts only where it is given")
        tree = ast.Subscript(attribute(owner.tree, "needs_input_grad"), constant(wanted[-1]), ast.Load())
        return Value(tree, "bool", 0, 1)

    # --- calls of autograd functions --------------------------------------------------------------------

    def function_torch_autograd_Function_apply(self, node: Node) -> Value:
        callee = callee_of(node)
        of = [each.type for each in (callee.children if callee is not None else ()) if each.kind == "TYPE_REF"]
        record = self.source.records.get(plain(of[0])) if len(of) == 1 else None
        if record is None or not {"forward", "backward"} <= record.methods.keys():
            raise Untranslated("apply() of an autograd function that is a template, or whose definition is not known")
        methods = []
        for short in ("forward", "backward"):
            method = self.source.declarations[record.methods[short]]
            self.module.function_name(method, self.source, self.is_on_cpu)
            methods.append(self.module.definition(method) or method)
        forward = methods[0]
        parameters = forward.parameters[1:]
        trees = []
        for argument, (_, type_) in zip(node.arguments, parameters, strict=False):
            if template_name(argument.type) in ("c10::ArrayRef", "c10::IListRef") and "at::Tensor" in argument.type:
                raise Untranslated(
                    f"apply() of {record.name} with a list of tensors, each of which has a gradient in C++ only"
                )
            value = self.value(argument)
            if is_number(value.type) and is_number(type_):
                value = converted(value, type_)
            trees.append(self.passed(value, plain(type_)))
        made = self.module.autograd_class(forward)
        self.names.add(made)
        tree = call(attribute(name(made), "apply"), *trees)
        return _listed(tree) if template_name(forward.result) == "std::vector" else Value(tree, "at::Tensor")

    def function_torch_autograd_any_variable_requires_grad(self, node: Node) -> Value:
        tree = self.value(node.arguments[0]).tree
        tensors = tree.elts if isinstance(tree, ast.List) else []
        if not tensors or not all(map(is_simple, tensors)):
            raise Untranslated("any_variable_requires_grad of what is no list of variables")
        asked: list[ast.expr] = []
        for each in tensors:
            is_there = ast.Compare(each, [ast.IsNot()], [constant(None)])
            asked.append(ast.BoolOp(ast.And(), [is_there, attribute(each, "requires_grad")]))
        return Value(asked[0] if len(asked) == 1 else ast.BoolOp(ast.Or(), asked), "bool", 0, 1)

    def own_call(self, node: Node, declared: Declaration) -> Value:
        if autograd_class(declared, self.source) is not None:
            raise Untranslated(f"a call of {declared.qualified} without apply()")
        return super().own_call(node, declared)

    # --- calls of registered operators ------------------------------------------------------------------

    def _declared_variable(self, node: Node) -> list[ast.stmt]:
        first = self._initializer(node)
        if template_name(node.type) not in ("c10::TypedOperatorHandle", "c10::OperatorHandle") or first is None:
            return super()._declared_variable(node)
        value = self.value(first)
        self.variables[node.target] = Variable(node.name, plain(node.type), data="operator", tree=value.tree)
        return []

    def function_c10_Dispatcher_singleton(self, node: Node) -> Value:
        return Value(attribute(name("torch"), "ops"), "c10::Dispatcher", data="dispatcher")

    def function_c10_Dispatcher_realSingleton(self, node: Node) -> Value:
        return self.function_c10_Dispatcher_singleton(node)

    def function_c10_Dispatcher_findSchemaOrThrow(self, node: Node) -> Value:
        given = [self.value(each).tree for each in node.arguments]
        words = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        namespace, _, short = words[0].partition("::") if len(words) == 2 else ("", "", "")
        parts = [namespace, short, words[1] or "default"] if short else []
        if not parts or not all(each.isidentifier() for each in parts):
            raise Untranslated("a registered operator whose name is not known")
        return Value(parse(f"torch.ops.{'.'.join(parts)}"), "c10::OperatorHandle", data="operator")

    def function_c10_OperatorHandle_typed(self, node: Node) -> Value:
        return replace(self._object_of(node), type=plain(node.type))

    def function_c10_TypedOperatorHandle_call(self, node: Node) -> Value:
        operator = self._object_of(node)
        if operator.data != "operator":
            raise Untranslated("a registered operator whose name is not known")
        trees = []
        for each in node.arguments:
            value = self.value(each)
            trees.append(self.passed(value, value.type) if not value.is_unrounded else rounded(value).tree)
        return self.typed(call(operator.tree, *trees), plain(node.type))

    def _object_of(self, node: Node) -> Value:
        """Return the object whose method is called."""
        callee = callee_of(node)
        inner = operands(callee) if callee is not None else []
        if not inner:
            raise Untranslated("a method of an object that is not known")
        return self.value(inner[0])  # template arguments come behind it

    def function_at_autocast_cached_cast(self, node: Node) -> Value:
        """Return the cast of autocast. Its cache of weights in lower precision saves time only."""
        dtype, given, *rest = node.arguments
        device = constant("cuda") if not rest or is_default(rest[0]) else self.value(rest[0]).tree
        value = self.value(given)
        tree = call("torch.amp.autocast_mode._cast", rounded(value).tree, device, self.value(dtype).tree)
        return Value(tree, plain(node.type))


def autograd_class(declared: Declaration, source: SourceTree) -> Record | None:
    """Return the autograd function whose `forward` or `backward` a function is; None for another function."""
    if declared.kind != "CXX_METHOD" or declared.name not in ("forward", "backward"):
        return None
    of = declared.qualified.rpartition("::")[0]
    for each in source.records.values():
        is_instance = not declared.instance or each.name == declared.instance
        if is_instance and each.name.replace("(anonymous namespace)::", "").partition("<")[0] == of:
            return each if any(template_name(base) == _BASE for base in each.bases) else None
    return None


def attribute_name(key: str) -> str:
    """Return the attribute of Python's `ctx` that stands for an element of `ctx->saved_data`."""
    if key.isidentifier() and key not in _OF_CONTEXT and not key.startswith("_"):
        return python_name(key)
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', key.lstrip('_'))}_"


def _listed(tree: ast.expr) -> Value:
    """Return a tuple of tensors as the vector that it is in C++."""
    made = call("list", tree)
    made.unlisted = tree  # type: ignore[attr-defined]
    return Value(made, "std::vector<at::Tensor>")


def _is_none(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value is None
