"""Translate calls: of PyTorch, CUDA, the C++ library and the project's own functions, and kernel launches."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cuda_wheel.migrate.host_functions.aten import device_type, layout, memory_format, scalar_type
from cuda_wheel.migrate.host_functions.cxx_types import (
    element_type,
    float_bits,
    integer_bounds,
    is_number,
    plain,
    pointee,
    template_arguments,
    template_name,
)
from cuda_wheel.migrate.host_functions.expressions import (
    COMPARISONS,
    TENSOR_OPERATORS,
    Expressions,
    callee_of,
    is_tensor,
    negated,
    operands,
    peeled,
)
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node
from cuda_wheel.migrate.host_functions.python_code import attribute, call, constant, name, parse, repeated
from cuda_wheel.migrate.host_functions.values import (
    ListPointer,
    Options,
    Pointer,
    Untranslated,
    Value,
    bounded,
    converted,
    none,
    rounded,
    sum_of,
    to_integer,
    truth,
    zero_of,
)

__all__ = ["RAISED", "Calls", "is_default"]

_ENUMERATIONS: dict[str, Callable[[str], str | None]] = {
    "c10::ScalarType": scalar_type,
    "c10::MemoryFormat": memory_format,
    "c10::Layout": layout,
}
"""Enumeration of PyTorch -> what returns the Python expression for the name of an enumerator or constant."""

RAISED = {
    "c10::Error": "RuntimeError", "c10::NotImplementedError": "NotImplementedError", "c10::ValueError": "ValueError",
    "c10::IndexError": "IndexError", "c10::TypeError": "TypeError", "std::runtime_error": "RuntimeError",
    "std::invalid_argument": "ValueError", "std::out_of_range": "IndexError", "std::domain_error": "ValueError",
    "std::length_error": "ValueError", "std::range_error": "ValueError", "std::logic_error": "RuntimeError",
    "std::exception": "RuntimeError", "std::overflow_error": "OverflowError",
}  # fmt: skip
"""C++ exception -> what Python sees of it, by pybind11's and PyTorch's rules."""

_FAILS = {
    "c10::detail::torchCheckFail", "c10::detail::torchInternalAssertFail", "torch::headeronly::detail::torchCheckFail",
}  # fmt: skip

_PROPERTIES = {
    "is_cuda": "is_cuda", "is_cpu": "is_cpu", "scalar_type": "dtype", "dtype": "dtype", "device": "device",
    "requires_grad": "requires_grad", "is_sparse": "is_sparse", "layout": "layout",
    "is_quantized": "is_quantized", "is_mps": "is_mps", "is_xpu": "is_xpu",
    "is_leaf": "is_leaf", "grad": "grad",
}  # fmt: skip
"""Method of at::Tensor without arguments -> attribute of Python's tensor."""

_SIZES = {
    "dim": "dim",
    "ndimension": "dim",
    "numel": "numel",
    "storage_offset": "storage_offset",
    "element_size": "element_size",
}

_POINTERS = {"data_ptr", "mutable_data_ptr", "const_data_ptr", "data"}

_ACCESSORS = {"packed_accessor32", "packed_accessor64", "packed_accessor", "generic_packed_accessor"}

_FLOAT_FUNCTIONS = {
    "sqrt", "exp", "log", "log2", "log10", "pow", "sin", "cos", "tan", "floor", "ceil", "round", "trunc", "tanh",
    "fabs", "fmax", "fmin", "fmod", "cbrt", "exp2", "atan2", "rint",
}  # fmt: skip
"""Functions of <cmath> that `cuda_wheel.torch.arithmetic` has with the results of C++: NaN and infinity, no errors."""

_EXACT_FLOAT_FUNCTIONS = {"floor", "ceil", "fabs", "trunc", "sqrt", "abs", "fmax", "fmin", "fmod", "rint", "round"}
"""Those whose result for floats is that in double precision, rounded."""

TEXT_STREAMS = ("std::basic_ostringstream", "std::basic_stringstream")
"""Streams that become a str."""

_NO_EFFECT = {
    "c10::cuda::c10_cuda_check_implementation", "cudaGetLastError", "cudaPeekAtLastError", "cudaFuncSetAttribute",
    "cudaFuncSetCacheConfig", "c10::detail::deprecated_AT_ASSERT", "c10::detail::deprecated_AT_ASSERTM",
    "c10::detail::deprecated_AT_ERROR", "cudaGetErrorString", "pybind11::gil_scoped_release", "cudaGetErrorName",
    "at::Context::lazyInitCUDA", "at::RecordFunction",
}  # fmt: skip
"""Functions whose effect Python's launches have, or that only report errors, which Python's launches raise."""

DEVICE_PROPERTIES = {
    "multiProcessorCount": "multi_processor_count", "maxThreadsPerMultiProcessor": "max_threads_per_multi_processor",
    "warpSize": "warp_size", "major": "major", "minor": "minor", "totalGlobalMem": "total_memory",
    "sharedMemPerBlock": "shared_memory_per_block", "regsPerMultiprocessor": "regs_per_multiprocessor",
    "sharedMemPerMultiprocessor": "shared_memory_per_multiprocessor",
    "sharedMemPerBlockOptin": "shared_memory_per_block_optin",
}  # fmt: skip


def is_default(node: Node) -> bool:
    """Return whether an argument is not in the source."""
    return node.kind == "UNEXPOSED_EXPR" and not node.children and not node.line


class Calls(Expressions):
    """Translates calls. What concerns variables and other functions is in `functions.FunctionTranslator`."""

    aten: Any
    """The table of ATen's functions, `aten.AtenTable`."""
    lambda_call: Callable[[Node], Value]
    variable_call: Callable[[Node, Declaration], Value]
    own_call: Callable[[Node, Declaration], Value]
    own_method: Callable[[Node, Declaration, Node | None], Value]

    # --- references -------------------------------------------------------------------------------------

    def enumerator(self, node: Node, declared: Declaration) -> Value | None:
        """Return the value of a constant of PyTorch or CUDA that is known by its type."""
        type_ = plain(node.type)
        if type_ in _ENUMERATIONS and (python := _ENUMERATIONS[type_](declared.name)):
            return Value(parse(python), type_)
        if type_ == "c10::DeviceType" and (device := device_type(declared.name)):
            return Value(constant(device), type_)
        if type_ in (*_ENUMERATIONS, "c10::DeviceType") and declared.body is not None:  # a constant of the project
            return self.value(operands(declared.body)[-1])
        if type_ == "cudaError" or type_ == "cudaError_t":
            return Value(constant(None), "cudaError", data="error")
        if type_ == "std::nullopt_t":
            return none(type_)
        return None

    # --- calls ------------------------------------------------------------------------------------------

    def _call_expr(self, node: Node) -> Value:
        if any(child.name == "__cudaPushCallConfiguration" for child in node.children):
            return self.launch(node)
        declared = self.declaration(node)
        callee = callee_of(node)
        if declared is None and callee is not None:
            declared = self.declaration(callee)
        if declared is None:
            raise Untranslated("a call whose function is not known")
        if declared.kind == "CONSTRUCTOR":
            return self.constructed(node, declared)
        if node.name == "operator()" and plain(node.arguments[0].type).startswith("(lambda"):
            return self.lambda_call(node)
        if declared.kind == "CONVERSION_FUNCTION":
            return self._conversion_function(node, declared, callee)
        if declared.kind in ("VAR_DECL", "PARM_DECL"):
            return self.variable_call(node, declared)
        handler = getattr(self, f"function_{declared.qualified.replace('::', '_')}", None)
        if handler is not None:
            found: Value = handler(node)
            return found
        if declared.qualified in _FAILS or declared.qualified in RAISED:
            return self.raised(node, declared)
        if declared.qualified in _NO_EFFECT:
            return Value(constant(None), plain(node.type), data="error" if "cuda" in node.type.lower() else "nothing")
        if (
            node.name.startswith("operator")
            and declared.kind in ("FUNCTION_DECL", "CXX_METHOD")
            and not node.name[8:9].isalnum()
        ):
            return self.operator_call(node, declared)
        if declared.kind == "CXX_METHOD" and callee is not None and callee.kind == "MEMBER_REF_EXPR":
            return self.method_call(node, declared, callee)
        if declared.is_own:
            return self.own_call(node, declared)
        return self.function_call(node, declared)

    def _conversion_function(self, node: Node, declared: Declaration, callee: Node | None) -> Value:
        inner = operands(callee) if callee is not None else []
        if not inner:
            raise Untranslated("a conversion of an unknown object")
        value = self.value(inner[0])
        to = plain(node.type)
        if value.data == "current stream":
            return value
        if to == "bool":
            if is_tensor(value.type):
                raise Untranslated("a tensor as a condition")
            return truth(
                value.as_type("std::optional") if value.type.startswith(("std::optional", "c10::optional")) else value
            )
        return value.as_type(to) if value.data is None else value

    # --- constructors -----------------------------------------------------------------------------------

    def constructed(self, node: Node, declared: Declaration) -> Value:
        """Return an object that a constructor makes."""
        type_ = plain(node.type)
        given = [each for each in node.arguments if not is_default(each)]
        family = template_name(type_)
        if family in ("std::vector", "c10::SmallVector", "std::array", "c10::List", "c10::SmallVectorImpl"):
            return self._vector(given, type_)
        if type_ == "dim3":
            return Value(self.dimensions(node), "dim3")
        if type_ in ("c10::TensorOptions",):
            return self._options(given)
        if type_ in ("at::Tensor", "at::TensorBase") and not given:
            return none("at::Tensor")
        if family in ("std::tuple", "std::pair"):
            if len(given) == 1 and template_name(given[0].type) == family:
                return self.value(given[0]).as_type(type_)
            return Value(ast.Tuple([rounded(self.value(each)).tree for each in given], ast.Load()), type_)
        if type_ == "c10::Device" or type_ == "c10::DeviceType":
            values = [self.value(each).tree for each in given]
            if len(given) == 1 and plain(given[0].type) == "c10::Device":
                return self.value(given[0])
            if len(given) == 1:
                return (
                    Value(call("torch.device", *values), "c10::Device")
                    if isinstance(values[0], ast.Constant)
                    else Value(values[0], "c10::Device")
                )
            return Value(call("torch.device", *values), "c10::Device")
        if family == "std::basic_string":
            if not given:
                return Value(constant(""), "std::string")
            return self.value(given[0]).as_type("std::string")
        if not given and family in ("std::optional",):
            return none(type_)
        if type_ in ("at::indexing::Slice", "at::indexing::TensorIndex"):
            return self._index(given, type_)
        if type_ == "torch::nn::functional::PadFuncOptions":
            return self.value(given[0]).as_type(type_)
        if type_ == "at::TensorArg":
            return Value(self.value(given[0]).tree, type_)
        if "PackedTensorAccessor" in family and len(given) == 3:
            return self._null_accessor(given, type_)
        if len(given) == 1:
            value = self.value(given[0])
            if family in ("std::optional", "c10::optional") and value.type in ("std::nullopt_t",):
                return none(type_)
            if family in (
                "c10::Scalar",
                "c10::ArrayRef",
                "c10::HeaderOnlyArrayRef",
                "c10::IListRef",
                "c10::OptionalArrayRef",
            ):
                return replace(rounded(value), type=type_, low=value.low, high=value.high)
            if (
                family in ("std::optional", "c10::optional", "at::Tensor", "at::TensorBase", "c10::intrusive_ptr")
                or plain(given[0].type) == type_
            ):
                return value if value.data is not None else replace(value, type=type_)
            if element_type(type_) is not None and is_number(value.type):
                return Value(value.tree, type_, is_unrounded=value.is_unrounded, data="number")
            if type_ in ("c10::SymInt", "c10::SymBool", "c10::SymFloat"):
                return value
            if is_tensor(value.type) and is_tensor(type_):
                return value
            if family == "c10::cuda::CUDAStream" and value.data == "current stream":
                return value
        guard = self.guard(node)
        if guard is not None:
            return guard
        return self.own_object(node, declared, given)

    def _null_accessor(self, given: Sequence[Node], type_: str) -> Value:
        """Return an accessor that is made of a pointer, sizes and strides; only the null pointer is translated."""
        number, dimensions = _accessed(type_)
        data, *lists = (self.value(each) for each in given)
        if not isinstance(data.tree, ast.Constant) or data.tree.value not in (None, 0):
            raise Untranslated("an accessor that is made of a pointer to memory")
        parts = []
        for each in lists:
            if not isinstance(each.data, ListPointer):
                raise Untranslated("an accessor whose sizes and strides are no vectors of the host")
            is_first = isinstance(each.tree, ast.Constant) and each.tree.value == 0
            part = ast.Slice(None if is_first else each.tree, sum_of(each.tree, constant(dimensions)))
            parts.append(ast.Subscript(each.data.numbers, part, ast.Load()))
        return Value(call("null_accessor", self.dtype_choice(number), *parts), type_, data="accessor")

    def _index(self, given: Sequence[Node], type_: str) -> Value:
        values = [self.value(each) for each in given]
        if type_ == "at::indexing::TensorIndex":
            (value,) = values
            if isinstance(value.tree, ast.Constant) and value.tree.value == "...":
                return Value(constant(...), type_)
            return value.as_type(type_)
        parts = [
            None if isinstance(each.tree, ast.Constant) and each.tree.value is None else each.tree for each in values
        ]
        return Value(ast.Slice(*parts), type_)

    def own_object(self, node: Node, declared: Declaration, given: Sequence[Node]) -> Value:
        raise Untranslated(f"an object of {plain(node.type)} is not translated", node.line)

    def guard(self, node: Node) -> Value | None:
        """Return a guard of the current device as value, whose tree is the device; None for another type."""
        type_ = plain(node.type)
        if type_ in (
            "c10::cuda::CUDAGuard",
            "c10::cuda::OptionalCUDAGuard",
            "c10::DeviceGuard",
            "c10::OptionalDeviceGuard",
        ):
            given = [each for each in node.arguments if not is_default(each)]
            if not given:
                raise Untranslated(f"an empty {type_}")
            return Value(self.value(given[0]).tree, type_, data="guard")
        if type_.startswith(("std::lock_guard<", "std::unique_lock<", "std::scoped_lock<")):
            return Value(constant(None), type_, data="nothing")  # of PyTorch's generator, which locks itself
        if type_ == "pybind11::gil_scoped_release":
            return Value(constant(None), type_, data="nothing")
        if type_ in ("at::NoGradGuard", "c10::NoGradGuard"):
            return Value(call("torch.no_grad"), type_, data="context")
        return None

    def _vector(self, given: Sequence[Node], type_: str) -> Value:
        element = (template_arguments(type_) or [""])[0]
        if not given:
            return Value(ast.List([], ast.Load()), type_)
        values = [self.value(each) for each in given]
        first = values[0]
        if len(given) == 1 and integer_bounds(first.type) and "initializer_list" not in given[0].type:
            filler = constant(None) if is_tensor(element) else zero_of(element)
            return Value(repeated(filler, first.tree), type_)
        if len(given) == 2 and integer_bounds(first.type) and "iterator" not in given[0].type:
            return Value(repeated(rounded(values[1]).tree, first.tree), type_)
        if len(given) == 1 or "initializer_list" in given[0].type:
            if isinstance(first.tree, (ast.List, ast.Tuple)):
                return first.as_type(type_)
            return Value(call("list", first.tree), type_)  # a copy
        raise Untranslated("a container that is made of a range")

    # --- options ----------------------------------------------------------------------------------------

    def _options(self, given: Sequence[Node]) -> Value:
        options = Options()
        for each in given:
            value = self.value(each)
            if isinstance(value.data, Options):
                return value
            key = self._option_key(value)
            options = options.with_(**{key: value.tree})
        return Value(constant(None), "c10::TensorOptions", data=options)

    def _option_key(self, value: Value) -> str:
        type_ = value.type
        for ending, key in (
            ("ScalarType", "dtype"), ("TypeMeta", "dtype"), ("DeviceType", "device"), ("c10::Device", "device"),
            ("Layout", "layout"), ("MemoryFormat", "memory_format"),
        ):  # fmt: skip
            if ending in type_:
                return key
        raise Untranslated(f"an option of a tensor of type {type_}")

    def options_of(self, tensor: ast.expr) -> Options:
        if not is_simple(tensor):
            raise Untranslated("options() of an expression: give the tensor a name")
        return Options((("dtype", attribute(tensor, "dtype")), ("device", attribute(tensor, "device"))))

    def option_method(self, node: Node, owner: Value, method: str) -> Value:
        options: Options = owner.data
        given = [each for each in node.arguments if not is_default(each)]
        declared = self.declaration(node)
        if method in ("dtype", "device", "layout", "requires_grad", "pinned_memory", "memory_format"):
            key = {"pinned_memory": "pin_memory"}.get(method, method)
            if not given:
                if method == "dtype" and declared is not None and declared.template and declared.template[0].type:
                    return Value(
                        constant(None),
                        owner.type,
                        data=options.with_(dtype=self.dtype_choice(declared.template[0].type)),
                    )
                found = dict(options.keywords).get(key)
                if found is None:
                    raise Untranslated(f"{method}() of options that do not say it")
                return Value(found, {"dtype": "c10::ScalarType", "device": "c10::Device"}.get(key, ""))
            values = [self.value(each) for each in given]
            tree = values[0].tree
            if key == "device" and len(values) == 2:
                tree = call("torch.device", values[0].tree, values[1].tree)
            return Value(constant(None), owner.type, data=options.with_(**{key: tree}))
        if method in ("device_index",):
            return Value(
                constant(None),
                owner.type,
                data=options.with_(device=call("torch.device", constant("cuda"), self.value(given[0]).tree)),
            )
        raise Untranslated(f"TensorOptions::{method} is not translated")

    # --- methods ----------------------------------------------------------------------------------------

    def method_call(self, node: Node, declared: Declaration, callee: Node) -> Value:
        inner = operands(callee)
        if not inner:
            return self.own_method(node, declared, None)
        method = declared.name
        if declared.is_own:
            return self.own_method(node, declared, inner[0])
        owner = self.value(inner[0])  # arguments of a template follow
        if is_tensor(pointee(owner.type) or ""):  # x->size(0)
            owner = Value(owner.tree, pointee(owner.type) or "")
        type_, family = owner.type, template_name(owner.type)
        owner_class = declared.qualified.rpartition("::")[0]
        if owner.data == "generator":
            if method in ("philox_engine_inputs", "philox_cuda_state"):
                return Value(
                    call("cuda_wheel.torch.philox", self.value(node.arguments[0]).tree), plain(node.type), data="philox"
                )
            return Value(constant(None), plain(node.type), data="nothing" if method == "mutex" else "generator")
        if isinstance(owner.data, Options):
            return self.option_method(node, owner, method)
        if owner_class in ("at::TensorBase", "at::Tensor") or (
            is_tensor(type_) and owner_class.startswith(("at::", "torch::"))
        ):
            return self.tensor_method(node, declared, owner)
        if owner.data == "accessor":
            if method in ("size", "stride"):
                return bounded(
                    call(attribute(owner.tree, method), self.value(node.arguments[0]).tree),
                    node.type,
                    0 if method == "size" else None,
                )
            if method == "sizes":
                return Value(attribute(owner.tree, "shape"), "c10::ArrayRef<long>")
            if method == "data":
                return self.pointer(Pointer(owner.tree, pointee(node.type) or "void", True), node.type)
            raise Untranslated("elements of a tensor are read on the host", node.line)
        if owner.data == "type properties":
            if method == "is_cuda":
                return Value(attribute(owner.tree, "is_cuda"), "bool", 0, 1)
            if method == "scalarType":
                return Value(attribute(owner.tree, "dtype"), "c10::ScalarType")
        if owner.data == "current stream":
            if method in ("stream", "unwrap", "id"):
                return owner
            if method == "synchronize":
                return Value(call("torch.cuda.current_stream().synchronize"), "void")
        if owner_class in ("std::optional", "c10::optional") or owner_class.startswith("std::_Optional"):
            return self._optional_method(node, owner, method)
        if family in (
            "std::vector",
            "c10::ArrayRef",
            "c10::SmallVector",
            "std::array",
            "c10::IListRef",
            "c10::OptionalArrayRef",
            "c10::HeaderOnlyArrayRef",
            "c10::List",
        ):
            return self._list_method(node, owner, method)
        if family in TEXT_STREAMS and method == "str" and not node.arguments:
            return Value(owner.tree, "std::string")
        if family in ("std::basic_string", "std::string") or type_ == "std::string":
            if method in ("c_str", "data"):
                return owner
            if method in ("size", "length"):
                return bounded(call("len", owner.tree), "unsigned long", 0, 1 << 40)
            if method == "empty":
                return Value(ast.UnaryOp(ast.Not(), owner.tree), "bool", 0, 1)
        if type_ in ("c10::Device",):
            return self._device_method(node, owner, method)
        if type_ in ("c10::Scalar",) and method in ("to", "toDouble", "toFloat", "toInt", "toLong", "toBool"):
            to = plain(node.type)
            if integer_bounds(to):
                return bounded(call(f"int{64 if 'long' in to else 32}", owner.tree), to)
            return Value(owner.tree, to, is_unrounded=to == "float")
        if "ScalarType" in type_ or "TypeMeta" in type_:
            if method in ("toScalarType",):
                return owner
            if method == "itemsize":
                return bounded(attribute(owner.tree, "itemsize"), "unsigned long", 1, 16)
            if method == "name":
                return Value(call("str", owner.tree), "std::string")
        return self.other_method(node, declared, owner)

    def other_method(self, node: Node, declared: Declaration, owner: Value) -> Value:
        raise Untranslated(f"{declared.qualified} is not translated")

    def _device_method(self, node: Node, owner: Value, method: str) -> Value:
        tree = owner.tree
        if method in ("is_cuda", "is_cpu"):
            kind = constant(method.removeprefix("is_"))
            if isinstance(tree, ast.Attribute) and tree.attr == "device":
                return Value(attribute(tree.value, method), "bool", 0, 1)
            return Value(ast.Compare(attribute(tree, "type"), [ast.Eq()], [kind]), "bool", 0, 1)
        if method == "type":
            return Value(attribute(tree, "type"), "c10::DeviceType")
        if method == "index":
            if isinstance(tree, ast.Attribute) and tree.attr == "device":
                return bounded(call(attribute(tree.value, "get_device")), node.type, -1, 127)
            return bounded(attribute(tree, "index"), node.type, -1, 127)
        if method == "str":
            return Value(call("str", tree), "std::string")
        raise Untranslated(f"c10::Device::{method} is not translated")

    def _optional_method(self, node: Node, owner: Value, method: str) -> Value:
        inner = plain((template_arguments(owner.type) or [plain(node.type)])[0])
        there = ast.Compare(owner.tree, [ast.IsNot()], [constant(None)])
        if method == "has_value":
            return Value(there, "bool", 0, 1)
        if method in ("value", "operator*", "operator->"):
            return self.typed(
                owner.tree, inner if method == "value" else plain(node.type).removesuffix("*").strip() or inner
            )
        if method == "value_or":
            if not is_simple(owner.tree):
                raise Untranslated("value_or of an expression")
            other = self.value(node.arguments[-1])
            return self.typed(ast.IfExp(there, owner.tree, rounded(other).tree), inner)
        raise Untranslated(f"std::optional::{method} is not translated")

    def typed(self, tree: ast.expr, type_: str) -> Value:
        """Return a value of which only the type is known."""
        type_ = plain(type_)
        if integer_bounds(type_):
            return bounded(tree, type_)
        data = "accessor" if "PackedTensorAccessor" in template_name(type_) else None
        return Value(tree, type_, is_unrounded=type_ == "float" and not isinstance(tree, ast.Constant), data=data)

    def _list_method(self, node: Node, owner: Value, method: str) -> Value:
        element = (template_arguments(owner.type) or [plain(node.type)])[0]
        given = [each for each in node.arguments if not is_default(each)]
        if method == "size":
            return bounded(call("len", owner.tree), "unsigned long", 0, 1 << 40)
        if method == "empty":
            return Value(ast.UnaryOp(ast.Not(), owner.tree), "bool", 0, 1)
        if method in ("push_back", "emplace_back"):
            if len(given) != 1:
                raise Untranslated(f"{method} of {len(given)} values")
            value = converted(self.value(given[0]), element) if is_number(element) else self.value(given[0])
            return Value(call(attribute(owner.tree, "append"), rounded(value).tree), "void")
        if method == "data" and isinstance(owner.tree, ast.Name) and is_number(element) and plain(element) != "bool":
            return Value(constant(0), f"{plain(element)} *", data=ListPointer(owner.tree))
        if method in ("back", "front"):
            return self.typed(ast.Subscript(owner.tree, constant(-1 if method == "back" else 0), ast.Load()), element)
        if method in ("at", "operator[]"):
            return self.element(owner, self.value(given[-1]), node)
        if method in ("reserve", "shrink_to_fit"):
            return Value(constant(None), "void", data="nothing")
        if method == "clear":
            return Value(call(attribute(owner.tree, "clear")), "void")
        if method == "vec":
            return Value(call("list", owner.tree), plain(node.type))
        if method == "slice" and len(given) == 2:
            first, count = self.value(given[0]), self.value(given[1])
            return Value(
                ast.Subscript(
                    owner.tree, ast.Slice(first.tree, ast.BinOp(first.tree, ast.Add(), count.tree)), ast.Load()
                ),
                owner.type,
            )
        if method == "equals":
            return Value(
                ast.Compare(self.as_tuple(owner).tree, [ast.Eq()], [self.as_tuple(self.value(given[0])).tree]),
                "bool",
                0,
                1,
            )
        raise Untranslated(f"{template_name(owner.type)}::{method} is not translated")

    def as_tuple(self, value: Value) -> Value:
        if isinstance(value.tree, ast.Attribute) and value.tree.attr == "shape":
            return value
        if isinstance(value.tree, ast.List):
            return replace(value, tree=ast.Tuple(value.tree.elts, ast.Load()))
        return replace(value, tree=call("tuple", value.tree))

    # --- tensors ----------------------------------------------------------------------------------------

    def tensor_method(self, node: Node, declared: Declaration, owner: Value) -> Value:
        method, tree = declared.name, owner.tree
        given = [each for each in node.arguments if not is_default(each)]
        type_ = plain(node.type)
        if method in ("size", "stride", "sym_size", "sym_stride"):
            result = call(attribute(tree, method.removeprefix("sym_")), self.value(given[0]).tree)
            low = 0 if "size" in method else None
            return bounded(result, "long", low, (1 << 48) if low == 0 else None)
        if method in _SIZES and not given:
            high = {"dim": 64, "element_size": 16}.get(_SIZES[method], 1 << 48)
            return bounded(call(attribute(tree, _SIZES[method])), type_, 0, high)
        if method in ("sizes", "sym_sizes"):
            return Value(attribute(tree, "shape"), "c10::ArrayRef<long>")
        if method == "strides":
            return Value(call(attribute(tree, "stride")), "c10::ArrayRef<long>")
        if method == "options":
            return Value(constant(None), "c10::TensorOptions", data=self.options_of(tree))
        if method == "defined":
            return Value(ast.Compare(tree, [ast.IsNot()], [constant(None)]), "bool", 0, 1)
        if method in _POINTERS and type_.endswith("*"):
            element = pointee(type_) or "void"
            checked = self.dtype_choice(element) if element_type(element) is not None else None
            return self.pointer(Pointer(tree, element, element != "void", checked=checked), type_)
        if method == "accessor":  # for the host; kernels take packed ones
            number, dimensions = _accessed(type_)
            checked = call("accessor", tree, self.dtype_choice(number), constant(dimensions))
            return Value(checked, type_, data="accessor")
        if method in _ACCESSORS:
            return Value(tree, type_, data="accessor")
        if method in ("itemsize", "nbytes"):
            return bounded(attribute(tree, method), type_, 0, 1 << 48)
        if method == "type" and not given:  # DeprecatedTypeProperties
            return Value(tree, type_, data="type properties")
        if method in _PROPERTIES and not given:
            type_ = "c10::ScalarType" if _PROPERTIES[method] == "dtype" else type_
            return self.typed(attribute(tree, _PROPERTIES[method]), type_)
        if method in ("get_device", "device_index"):
            return bounded(call(attribute(tree, "get_device")), type_, -1, 127)
        if method == "item":
            to = type_
            if to in ("c10::Scalar",):
                return Value(call(attribute(tree, "item")), to)
            if integer_bounds(to) is None and float_bits(to) is None:
                raise Untranslated(f"item() as {to}")
            return self._item(tree, to)
        if method in ("is_same_as", "is_same"):
            return Value(ast.Compare(tree, [ast.Is()], [self.value(given[0]).tree]), "bool", 0, 1)
        if method == "is_contiguous":
            more = {} if not given else {"memory_format": self.value(given[0]).tree}
            return Value(call(attribute(tree, "is_contiguous"), **more), "bool", 0, 1)
        if method in ("set_requires_grad", "requires_grad_"):
            return Value(
                call(attribute(tree, "requires_grad_"), *(self.value(each).tree for each in given)), "at::Tensor"
            )
        if method in ("index", "index_put_"):
            return self._indexed(node, tree, method, given)
        if method == "toType":
            return Value(call(attribute(tree, "to"), self.value(given[0]).tree), "at::Tensor")
        if method == "to" and given and isinstance((value := self.value(given[0])).data, Options):
            options = dict(value.data.keywords)
            others = [self.value(each).tree for each in given[1:]]
            names = ["non_blocking", "copy"]
            given_keywords = [
                ast.keyword(key, each) for key, each in (*options.items(), *zip(names, others, strict=False))
            ]
            return Value(ast.Call(attribute(tree, "to"), [], given_keywords), "at::Tensor")
        if method == "to" and given and "TypeMeta" in given[0].type:  # x.to(y.dtype())
            flags = dict(zip(("non_blocking", "copy"), (self.value(each).tree for each in given[1:]), strict=False))
            return Value(call(attribute(tree, "to"), self.value(given[0]).tree, **flags), "at::Tensor")
        if method == "toString":
            return Value(call("str", attribute(tree, "dtype")), "std::string")
        if method in ("cpu", "cuda", "variable_data", "tensor_data", "contiguous", "detach") and not given:
            python = {"variable_data": "detach", "tensor_data": "detach"}.get(method, method)
            return Value(call(attribute(tree, python)), "at::Tensor")
        if method == "print":
            return Value(call("print", tree), "void")
        if method == "backward" and not given:
            return Value(call(attribute(tree, "backward")), "void")
        return self.aten_call(node, declared, owner)

    def _item(self, tree: ast.expr, to: str) -> Value:
        item = call(attribute(tree, "item"))
        if integer_bounds(to):
            if plain(to) == "long":
                return bounded(call("int", item), "long")
            if plain(to) == "bool":
                return Value(call("bool", item), "bool", 0, 1)
            return to_integer(Value(item, "long", *(integer_bounds("long") or ())), to)
        return Value(item, to, is_unrounded=plain(to) == "float")

    def _indexed(self, node: Node, tree: ast.expr, method: str, given: Sequence[Node]) -> Value:
        indices = self.value(given[0]).tree
        parts = indices.elts if isinstance(indices, (ast.List, ast.Tuple)) else [indices]
        whole = parts[0] if len(parts) == 1 else ast.Tuple(list(parts), ast.Load())
        if method == "index":
            return Value(ast.Subscript(tree, whole, ast.Load()), "at::Tensor")
        value = rounded(self.value(given[1])).tree
        return Value(call(attribute(tree, "__setitem__"), whole, value), "void")

    def aten_call(self, node: Node, declared: Declaration, owner: Value | None) -> Value:
        """Return a call of ATen as call of PyTorch's Python function."""
        arguments = list(zip(declared.parameters, node.arguments, strict=False))
        table = self.aten.method if owner else self.aten.function
        found = table(declared.name, declared.parameters)
        if found is None:
            raise Untranslated(f"{declared.qualified} has no counterpart in Python")
        if found.kind == "attribute" and owner:
            return self.typed(attribute(owner.tree, found.python), plain(node.type))
        positional = [owner.tree] if owner and found.kind == "operator" else []
        keywords: list[ast.keyword] = []
        for parameter, (_, argument) in zip(found.parameters, arguments, strict=False):
            if is_default(argument):
                continue
            value = self.value(argument)
            if value.data == "type properties":
                value = Value(constant(None), "c10::TensorOptions", data=self.options_of(value.tree))
            if isinstance(value.data, Options):
                keywords += [ast.keyword(key, tree) for key, tree in value.data.keywords]
                if (
                    parameter.default
                    and "dtype" not in dict(value.data.keywords)
                    and None not in dict(value.data.keywords)
                ):
                    keywords.append(ast.keyword("dtype", call("torch.get_default_dtype")))
                continue
            if parameter.type == "TensorOptions":
                raise Untranslated(f"options of {declared.name} that are not known")
            if value.data is not None and value.data != "number":
                raise Untranslated(f"an argument of type {value.type} for {declared.name}")
            tree = rounded(value).tree
            if parameter.is_keyword or len(positional) < found.parameters.index(parameter) + (
                len(positional) and found.kind == "operator" and owner is not None
            ):
                keywords.append(ast.keyword(parameter.name, tree))
            else:
                positional.append(tree)
        function = attribute(owner.tree, found.python) if owner and found.kind == "method" else parse(found.python)
        return self.typed(ast.Call(function, positional, keywords), plain(node.type))

    # --- operators --------------------------------------------------------------------------------------

    def operator_call(self, node: Node, declared: Declaration) -> Value:
        operator = node.name.removeprefix("operator")
        given = node.arguments
        if operator == "->" or (operator == "*" and len(given) == 1):
            owner = self.value(given[0])
            if template_name(owner.type) in ("std::optional", "c10::optional", "std::shared_ptr", "c10::intrusive_ptr"):
                inner = (template_arguments(owner.type) or [""])[0]
                return self.typed(owner.tree, inner)
            return owner
        if operator == "bool":
            return truth(self.value(given[0]))
        if operator in ("=",):
            raise Untranslated("an assignment inside an expression")
        if operator == "<<" and "ostream" in plain(given[0].type):
            return self._streamed(node)
        values = [self.value(each) for each in given]
        one = values[0]
        if one.data == "generator":
            return one
        if one.data == "accessor":
            place = self.accessor_element(node)
            return place if place.data == "accessor" else replace(place, tree=call(attribute(place.tree, "item")))
        if operator == "[]":
            if is_tensor(one.type):
                return Value(ast.Subscript(one.tree, values[1].tree, ast.Load()), "at::Tensor")
            return self.element(one, values[1], node)
        if any(is_tensor(each.type) for each in values):
            trees = [rounded(each).tree for each in values]
            if len(trees) == 1:
                if operator == "-":
                    return Value(ast.UnaryOp(ast.USub(), trees[0]), "at::Tensor")
                if operator == "~":
                    return Value(ast.UnaryOp(ast.Invert(), trees[0]), "at::Tensor")
            elif operator in TENSOR_OPERATORS:
                return Value(ast.BinOp(trees[0], TENSOR_OPERATORS[operator], trees[1]), "at::Tensor")
            elif operator in COMPARISONS:
                return Value(ast.Compare(trees[0], [COMPARISONS[operator]], [trees[1]]), "at::Tensor")
            raise Untranslated(f"the operator {operator} of tensors is not translated")
        if operator == "!" and len(values) == 1:
            return Value(negated(truth(one).tree), "bool", 0, 1)
        if operator in ("==", "!=") and len(values) == 2:
            return self._equality(operator, one, values[1])
        if operator in COMPARISONS and len(values) == 2 and one.type == values[1].type == "std::string":
            return Value(ast.Compare(one.tree, [COMPARISONS[operator]], [values[1].tree]), "bool", 0, 1)
        if operator == "+" and "string" in plain(node.type):
            trees = [each.tree for each in values]
            return Value(ast.BinOp(trees[0], ast.Add(), trees[1]), "std::string")
        raise Untranslated(f"the operator {operator} of {one.type} is not translated")

    def accessor_element(self, node: Node) -> Value:
        """Return an element of an accessor, as a tensor without dimensions, or the accessor of a part of it."""
        owner, index = node.arguments
        value, place = self.value(owner), rounded(self.value(index)).tree
        if value.data != "accessor" or "Packed" in value.type:
            raise Untranslated("elements of a tensor are read on the host", node.line)
        tree = ast.Subscript(value.tree, place, ast.Load())
        if isinstance(value.tree, ast.Subscript):  # x[i][j] is x[i, j]
            above = value.tree.slice
            parts = above.elts if isinstance(above, ast.Tuple) else [above]
            tree = ast.Subscript(value.tree.value, ast.Tuple([*parts, place], ast.Load()), ast.Load())
        type_ = plain(node.type)
        if "TensorAccessor" in type_:
            return Value(tree, type_, data="accessor")
        if not is_number(type_):
            raise Untranslated(f"an element of type {type_} on the host")
        return self.typed_number(tree, node)

    def _streamed(self, node: Node) -> Value:
        """Return what is written to std::cout or std::cerr as print."""
        parts: list[Node] = []
        current = node
        while current.kind == "CALL_EXPR" and current.name == "operator<<":
            parts.insert(0, current.arguments[1])
            current = peeled(current.arguments[0])
        if template_name(current.type) in TEXT_STREAMS and current.kind == "DECL_REF_EXPR":
            stream = self.value(current).tree
            written = _joined([self._streamed_part(each) for each in parts])
            return Value(ast.NamedExpr(stream, ast.BinOp(stream, ast.Add(), written)), "void")  # type: ignore[arg-type]
        if current.name not in ("cout", "cerr"):
            raise Untranslated("a stream of text")
        ended = [each for each in parts if peeled(each).name != "endl"]
        end = constant("\n" if len(ended) < len(parts) and peeled(parts[-1]).name == "endl" else "")
        more = {} if end.value == "\n" else {"end": end}  # type: ignore[attr-defined]
        return Value(call("print", self.message(ended), **more), "void")

    def _streamed_part(self, node: Node) -> ast.expr:
        """Return what C++ writes of a value, as a part of an f-string. Source: [ostream.inserters.arithmetic]."""
        inner = peeled(node)
        if inner.name == "endl":
            return constant("\n")
        if inner.kind == "CHARACTER_LITERAL" and isinstance(inner.value, int):
            return constant(chr(inner.value))
        value = rounded(self.value(node))
        is_string = value.type == "std::string"
        is_literal = isinstance(value.tree, ast.Constant) and isinstance(value.tree.value, str)
        if is_literal and (is_string or "char" in value.type):
            return value.tree
        if is_string:
            return ast.FormattedValue(value.tree, -1)
        if float_bits(value.type):
            return ast.FormattedValue(value.tree, -1, ast.JoinedStr([constant("g")]))
        if integer_bounds(value.type) and "char" not in value.type:
            if isinstance(value.tree, ast.Constant):
                return constant(str(int(value.tree.value)))  # type: ignore[arg-type]
            return ast.FormattedValue(call("int", value.tree) if value.type == "bool" else value.tree, -1)
        raise Untranslated(f"a value of type {value.type} in a stream of text")

    def _equality(self, operator: str, one: Value, other: Value) -> Value:
        kind: ast.cmpop = COMPARISONS[operator]
        if any("ArrayRef" in each.type or "vector" in each.type for each in (one, other)):
            one, other = self.as_tuple(one), self.as_tuple(other)
        elif "nullopt" in one.type + other.type:
            kind = ast.Is() if operator == "==" else ast.IsNot()
        elif "TypeMeta" in one.type + other.type or "ScalarType" in one.type + other.type:
            pass
        elif "DeviceType" in one.type + other.type or "c10::Device" in one.type:
            if "DeviceType" in one.type + other.type and one.type != other.type:
                raise Untranslated("a device beside a kind of device")
        elif is_text(one) and is_text(other):
            pass
        elif not (
            one.type == other.type
            and (one.type in ("std::string", "c10::Scalar") or template_name(one.type) in ("std::optional",))
        ):
            raise Untranslated(f"the operator {operator} of {one.type} and {other.type} is not translated")
        return Value(ast.Compare(one.tree, [kind], [other.tree]), "bool", 0, 1)

    # --- functions --------------------------------------------------------------------------------------

    def function_call(self, node: Node, declared: Declaration) -> Value:
        """Return a call of a function that is not the project's."""
        qualified = declared.qualified
        short = declared.name
        given = [each for each in node.arguments if not is_default(each)]
        if qualified.startswith("std::") or "::" not in qualified:
            found = self._library_call(node, declared, short, given)
            if found is not None:
                return found
        if short in (
            "checkAllSameGPU",
            "checkAllSameType",
            "checkAllContiguous",
            "checkSameGPU",
            "checkSameType",
        ) and qualified.startswith("at::"):
            tensors: list[ast.expr] = []
            for each in given[1:]:
                tree = self.value(each).tree
                tensors += tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
            function = {"GPU": "check_same_gpu", "ype": "check_same_type", "ous": "check_contiguous"}[short[-3:]]
            return Value(call(function, self.value(given[0]).tree, *tensors), "void")
        if short in ("ceil_div", "ceildiv", "ATenCeilDiv") and len(given) == 2:
            one, other = (to_integer(self.value(each), node.type) for each in given)
            return self.operation(
                "/",
                self.operation(
                    "-", self.operation("+", one, other, node.type), bounded(constant(1), "int", 1, 1), node.type
                ),
                other,
                plain(node.type),
            )
        if qualified in ("at::cuda::getCurrentCUDAStream", "c10::cuda::getCurrentCUDAStream"):
            return Value(constant(None), "c10::cuda::CUDAStream", data="current stream")
        if qualified in ("at::cuda::getDefaultCUDAStream", "c10::cuda::getDefaultCUDAStream"):
            raise Untranslated("another stream than the current one")
        if qualified in (
            "at::cuda::detail::getDefaultCUDAGenerator",
            "at::check_generator",
            "at::get_generator_or_default",
        ):
            if given and self.value(given[0]).data != "generator" and "nullopt" not in self.value(given[0]).type:
                raise Untranslated("a generator that the caller gives")
            return Value(constant(None), "at::Generator", data="generator")
        if qualified in ("at::device_of", "at::TensorBase::device"):
            return Value(attribute(self.value(given[0]).tree, "device"), "std::optional<c10::Device>")
        if qualified in ("c10::str", "c10::detail::str", "torch::str"):
            return Value(self.message(given), "std::string")
        if qualified in (
            "at::cuda::getCurrentDeviceProperties",
            "at::cuda::getDeviceProperties",
            "c10::cuda::getCurrentDeviceProperties",
        ):
            device = self.value(given[0]).tree if given else call("torch.cuda.current_device")
            return Value(call("torch.cuda.get_device_properties", device), "cudaDeviceProp", data="device properties")
        if short in ("current_device", "getCurrentDevice") and "cuda" in qualified:
            return bounded(call("torch.cuda.current_device"), node.type, 0, 127)
        if short in ("device_count",) and "cuda" in qualified:
            return bounded(call("torch.cuda.device_count"), node.type, 0, 127)
        if short in ("set_device",) and "cuda" in qualified:
            return Value(call("torch.cuda.set_device", self.value(given[0]).tree), "void")
        if short in ("device_synchronize",) and "cuda" in qualified:
            return Value(call("torch.cuda.synchronize"), "void")
        if short in ("typeMetaToScalarType", "scalarTypeToTypeMeta", "scalar_type"):
            value = self.value(given[0])
            if value.data == "type properties":
                return Value(attribute(value.tree, "dtype"), "c10::ScalarType")
            return value
        if short == "toString" and given and "ScalarType" in given[0].type:
            return Value(call("str", self.value(given[0]).tree), "std::string")
        if short == "elementSize" and given:
            return bounded(attribute(self.value(given[0]).tree, "itemsize"), "unsigned long", 1, 16)
        if short == "isFloatingType":
            return Value(attribute(self.value(given[0]).tree, "is_floating_point"), "bool", 0, 1)
        if short == "warp_size" and "cuda" in qualified:
            return bounded(constant(32), node.type, 32, 32)
        if qualified == "torch::nn::functional::pad":
            return Value(call(qualified.replace("::", "."), *(self.value(each).tree for each in given)), "at::Tensor")
        if short == "canUse32BitIndexMath" and len(given) == 1:
            return Value(call("can_use_32_bit_index_math", self.value(given[0]).tree), "bool", 0, 1)
        if qualified == "at::cuda::detail::getTensorInfo":
            return Value(self.value(given[0]).tree, plain(node.type), data="accessor")
        if qualified in ("torch::tensor",):
            return self._tensor_of(given)
        if qualified in ("torch::from_blob", "at::from_blob"):
            raise Untranslated("a tensor of memory that is not PyTorch's (from_blob)")
        if qualified in ("at::CUDA", "at::CPU", "torch::CUDA", "torch::CPU") and len(given) == 1:
            options = (("device", constant(short.lower())), ("dtype", self.value(given[0]).tree))
            return Value(constant(None), "c10::TensorOptions", data=Options(options))
        if qualified in ("torch::dtype", "at::dtype", "c10::dtype"):
            if declared.template and declared.template[0].type and not given:
                return Value(
                    constant(None),
                    "c10::TensorOptions",
                    data=Options((("dtype", self.dtype_choice(declared.template[0].type)),)),
                )
            return self._options(given)
        if qualified in (
            "torch::device",
            "at::device",
            "c10::device",
            "torch::layout",
            "c10::layout",
            "torch::requires_grad",
            "c10::requires_grad",
        ):
            if short == "requires_grad":
                wanted = self.value(given[0]).tree if given else constant(True)
                return Value(constant(None), "c10::TensorOptions", data=Options((("requires_grad", wanted),)))
            return self._options(given)
        if (qualified.startswith(("at::", "torch::")) and qualified.count("::") == 1) or qualified.startswith(
            "at::_ops"
        ):
            return self.aten_call(node, declared, None)
        raise Untranslated(f"{qualified} is not translated")

    def _tensor_of(self, given: Sequence[Node]) -> Value:
        value = self.value(given[0])
        keywords: dict[str, ast.expr] = {}
        if len(given) > 1:
            options = self.value(given[1])
            if not isinstance(options.data, Options):
                options = self._options(given[1:])
            keywords = dict(options.data.keywords)
        if "dtype" not in keywords:
            raise Untranslated("torch::tensor without an element type")
        return Value(call("torch.tensor", rounded(value).tree, **keywords), "at::Tensor")

    def _library_call(self, node: Node, declared: Declaration, short: str, given: Sequence[Node]) -> Value | None:
        type_ = plain(node.type)
        if short in ("min", "max") and len(given) == 2:
            values = [converted(self.value(each), type_) for each in given]
            if not is_number(type_):
                return None
            tree = call(short, *(rounded(each).tree for each in values))
            if float_bits(type_):
                return Value(tree, type_)
            lows, highs = [each.low or 0 for each in values], [each.high or 0 for each in values]
            pick = min if short == "min" else max
            return bounded(tree, type_, pick(lows), pick(highs))
        if short == "clamp" and len(given) == 3 and is_number(type_):
            value, low, high = (converted(self.value(each), type_) for each in given)
            tree = call("min", call("max", rounded(value).tree, rounded(low).tree), rounded(high).tree)
            return bounded(tree, type_, low.low, high.high) if integer_bounds(type_) else Value(tree, type_)
        if declared.qualified.startswith("std::numeric_limits::") and not given:
            return self._limit(short, type_)
        if short in ("printf", "fprintf", "fflush"):
            return self._printed(short, given)
        if short == "exit" and len(given) == 1:
            return Value(call("SystemExit", self.value(given[0]).tree), "void", data="raise")
        if short in ("abs", "labs", "llabs") and len(given) == 1 and integer_bounds(type_):
            value = converted(self.value(given[0]), type_)
            return bounded(call("abs", value.tree), type_, 0)
        if (
            short.removesuffix("f") in _FLOAT_FUNCTIONS
            or short in _FLOAT_FUNCTIONS
            or (short == "abs" and float_bits(type_))
        ):
            if float_bits(type_) is None:
                return None
            python = short if short in _FLOAT_FUNCTIONS else short.removesuffix("f")
            if float_bits(type_) == 32 and python not in _EXACT_FLOAT_FUNCTIONS:
                python += "f"
            trees = [rounded(converted(self.value(each), type_)).tree for each in given]
            if python in ("fabs", "abs"):
                return Value(call("abs", *trees), type_)
            return Value(call(python, *trees), type_, is_unrounded=float_bits(type_) == 32 and python == "sqrt")
        if short in ("make_tuple", "make_pair", "forward_as_tuple", "tie"):
            return Value(ast.Tuple([rounded(self.value(each)).tree for each in given], ast.Load()), type_)
        if short == "get" and len(given) == 1 and self.value(given[0]).data == "philox":
            number = next((each.value for each in declared.template if each.value is not None), None)
            return bounded(attribute(self.value(given[0]).tree, "offset" if number else "seed"), type_)
        if short == "get" and declared.template and len(given) == 1:
            number = next((each.value for each in declared.template if each.value is not None), None)
            if number is None:
                return None
            return self.typed(ast.Subscript(self.value(given[0]).tree, constant(number), ast.Load()), type_)
        if short == "swap" and len(given) == 2:
            one, other = (self.value(each).tree for each in given)
            both: Any = ast.Tuple([one, other], ast.Store())
            return Value(ast.NamedExpr(both, ast.Tuple([other, one], ast.Load())), "void")
        if short in ("move", "forward", "as_const", "ref", "cref"):
            return self.value(given[0])
        if short == "to_string":
            return Value(call("str", rounded(self.value(given[0])).tree), "std::string")
        if short == "make_optional":
            return self.value(given[0])
        return self._cuda_call(node, declared, short, given)

    def _limit(self, short: str, type_: str) -> Value:
        limits = integer_bounds(type_)
        if limits and short in ("max", "min", "lowest"):
            value = limits[1] if short == "max" else limits[0]
            return bounded(constant(value), type_, value, value)
        dtype = {"float": "torch.float32", "double": "torch.float64"}.get(type_)
        if dtype and short == "infinity":
            return Value(call("float", constant("inf")), type_)
        known = {"max": "max", "lowest": "min", "epsilon": "eps", "min": "tiny"}.get(short)
        if dtype and known:
            return Value(attribute(call("torch.finfo", parse(dtype)), known), type_)
        raise Untranslated(f"std::numeric_limits<{type_}>::{short} is not translated")

    def _printed(self, short: str, given: Sequence[Node]) -> Value:
        """Return printf as print: the formats of C are those of Python's `%`, without the lengths."""
        arguments = list(given[1:] if short == "fprintf" else given)
        if short == "fflush":
            return Value(constant(None), "int", data="nothing")
        form = self.value(arguments[0]).tree
        if not isinstance(form, ast.Constant):
            raise Untranslated("printf of a format that is not known")
        written = re.sub(r"(%[-+ #0-9.]*)(?:hh|h|ll|l|z|j|t|L)?([diuoxXfFeEgGcsp%])", r"\1\2", str(form.value))
        trees = [rounded(self.value(each)).tree for each in arguments[1:]]
        tree: ast.expr = constant(written)
        if trees:
            tree = ast.BinOp(tree, ast.Mod(), ast.Tuple(trees, ast.Load()))
        else:
            tree = constant(written.replace("%%", "%"))
        return Value(call("print", tree, end=constant("")), "int")

    def _cuda_call(self, node: Node, declared: Declaration, short: str, given: Sequence[Node]) -> Value | None:
        error: dict[str, Any] = {"type": "cudaError", "data": "error"}
        if short in ("cudaDeviceSynchronize", "cudaThreadSynchronize"):
            return Value(call("torch.cuda.synchronize"), **error)
        if short == "cudaStreamSynchronize":
            if self.value(given[0]).data != "current stream":
                raise Untranslated("another stream than the current one")
            return Value(call("torch.cuda.current_stream().synchronize"), **error)
        if short in (
            "cudaGetDevice",
            "cudaGetDeviceProperties",
            "cudaGetDeviceProperties_v2",
            "cudaGetDeviceCount",
            "cudaDeviceGetAttribute",
        ):
            return self._asked(short, given)
        if short == "cudaSetDevice":
            return Value(call("torch.cuda.set_device", self.value(given[0]).tree), **error)
        return None

    def _asked(self, short: str, given: Sequence[Node]) -> Value:
        """Return a question about a device, whose answer C++ writes into a variable."""
        target = peeled(given[0])
        if (
            target.kind != "UNARY_OPERATOR"
            or target.operator != "&"
            or peeled(operands(target)[-1]).kind != "DECL_REF_EXPR"
        ):
            raise Untranslated(f"{short} into memory that is no variable")
        variable = name(self.value(operands(target)[-1]).tree.id)  # type: ignore[attr-defined]
        if short == "cudaGetDevice":
            answer: ast.expr = call("torch.cuda.current_device")
        elif short == "cudaGetDeviceCount":
            answer = call("torch.cuda.device_count")
        elif short.startswith("cudaGetDeviceProperties"):
            answer = call("torch.cuda.get_device_properties", self.value(given[1]).tree)
        else:
            attribute_name = peeled(given[1]).name
            known = {
                "cudaDevAttrMultiProcessorCount": "multi_processor_count", "cudaDevAttrWarpSize": "warp_size",
                "cudaDevAttrComputeCapabilityMajor": "major", "cudaDevAttrComputeCapabilityMinor": "minor",
                "cudaDevAttrMaxSharedMemoryPerBlockOptin": "shared_memory_per_block_optin",
                "cudaDevAttrMaxThreadsPerMultiProcessor": "max_threads_per_multi_processor",
            }.get(attribute_name)  # fmt: skip
            if known is None:
                raise Untranslated(f"PyTorch does not tell {attribute_name}")
            answer = attribute(call("torch.cuda.get_device_properties", self.value(given[2]).tree), known)
        return Value(ast.NamedExpr(variable, answer), "cudaError", data="error")

    # --- errors -----------------------------------------------------------------------------------------

    def raised(self, node: Node, declared: Declaration) -> Value:
        """Return what raises an exception: the statement is made of it."""
        kind = RAISED.get(declared.qualified, "RuntimeError")
        given = [each for each in node.arguments if not is_default(each)]
        if declared.qualified in _FAILS:
            given = given[3:]
        return Value(call(kind, self.message(given)), "void", data="raise")

    def message(self, nodes: Sequence[Node]) -> ast.expr:
        """Return the text that C++ makes of values: a string, or an f-string."""
        parts: list[ast.expr] = []
        own = "|".join(map(re.escape, {self.source.path, *self.source.comments}))  # __FILE__ is an absolute path
        for each in self._message_parts(nodes):
            inner = peeled(each)
            try:
                value = self.value(each)
                tree: ast.expr = rounded(value).tree
                if isinstance(tree, ast.Attribute) and tree.attr == "shape":
                    tree = call("list", tree)
            except Untranslated:
                tree = constant(f"<{inner.name or 'value'}>")
            if isinstance(tree, ast.JoinedStr):
                parts += tree.values
            elif isinstance(tree, ast.Constant) and isinstance(tree.value, str):
                parts.append(ast.Constant(re.sub(rf'(?<=")/[^"]*?/(?=({own})")', "", tree.value)))
            else:
                parts.append(ast.FormattedValue(tree, -1))
        return _joined(parts)

    def _message_parts(self, nodes: Sequence[Node]) -> list[Node]:
        found: list[Node] = []
        for each in nodes:
            inner = peeled(each)
            if inner.kind == "CALL_EXPR" and inner.name in ("torchCheckMsgImpl", "str", "_str_wrapper"):
                given = [argument for argument in inner.arguments if not is_default(argument)]
                if inner.name == "torchCheckMsgImpl" and len(given) > 1:
                    given = given[1:]
                found += self._message_parts(given)
            elif (
                "CompileTimeEmptyString" in inner.type
                or "SourceLocation" in inner.type
                or inner.kind == "INIT_LIST_EXPR"
            ):
                continue
            elif inner.kind == "CALL_EXPR" and inner.name == "basic_string" and inner.arguments:
                found += self._message_parts(inner.arguments[:1])
            else:
                found.append(each)
        return found

    # --- launches ---------------------------------------------------------------------------------------

    def dimensions(self, node: Node) -> ast.expr:
        """Return a grid or a block: a number, or a tuple."""
        inner = peeled(node)
        if inner.kind == "CALL_EXPR" and plain(inner.type) == "dim3" and inner.arguments:
            parts = []
            for each in inner.arguments:
                if is_default(each):
                    continue
                if plain(each.type) == "dim3" or plain(peeled(each).type) == "dim3":
                    return self.dimensions(each)
                parts.append(self.unconverted(each))
            while len(parts) > 1 and isinstance(parts[-1], ast.Constant) and parts[-1].value == 1:
                parts.pop()
            return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
        if inner.kind == "INIT_LIST_EXPR":
            parts = [self.unconverted(each) for each in operands(inner)]
            return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
        return self.value(inner).tree

    def unconverted(self, node: Node) -> ast.expr:
        """Return a whole number before C++ converts it to the type of a launch, which checks its range itself."""
        while node.kind in ("UNEXPOSED_EXPR", "PAREN_EXPR") and integer_bounds(node.type):
            inner = operands(node)
            if len(inner) != 1 or integer_bounds(inner[0].type) is None:
                break
            node = inner[0]
        value = self.value(node)
        if float_bits(value.type):
            value = to_integer(value, "long")
        return value.tree

    def launch(self, node: Node) -> Value:
        """Return the launch of a kernel."""
        configuration = next(child for child in node.children if child.name == "__cudaPushCallConfiguration")
        given: list[Any] = [*configuration.arguments, None, None]
        grid, block, shared, stream = given[:4]
        kernel = self.kernel(node)
        keywords: dict[str, ast.expr] = {}
        if shared is not None and not is_default(shared):
            size = self.unconverted(shared)
            if not (isinstance(size, ast.Constant) and size.value == 0):
                keywords["shared_memory"] = size
        if stream is not None and not is_default(stream):
            value = self.value(stream)
            is_null = isinstance(value.tree, ast.Constant) and not value.tree.value
            if value.data != "current stream" and not is_null:
                raise Untranslated("a launch on another stream than the current one")
        parameters = self._launched(node).parameters
        arguments = [
            self.kernel_argument(argument, parameters[number][1] if number < len(parameters) else "")
            for number, argument in enumerate(node.arguments)
        ]
        tree = call(attribute(kernel, "launch"), self.dimensions(grid), self.dimensions(block), *arguments, **keywords)
        return Value(tree, "void", data="launch")

    def _launched(self, node: Node) -> Declaration:
        """Return the declaration of the kernel that is launched, or of a variable that points to it."""
        declared = self.declaration(node)
        callee = callee_of(node)
        if (declared is None or not declared.parameters) and callee is not None:
            declared = self.declaration(callee)
        if declared is None:
            raise Untranslated("a launch of an unknown kernel")
        return declared

    def kernel(self, node: Node) -> ast.expr:
        raise NotImplementedError

    def kernel_argument(self, node: Node, type_: str) -> ast.expr:
        """Return an argument of a launch. The launch itself checks and converts numbers."""
        to = plain(type_ or node.type)
        inner = node
        while inner.kind in ("UNEXPOSED_EXPR", "PAREN_EXPR") and is_number(inner.type):
            below = operands(inner)
            if len(below) != 1 or not is_number(below[0].type):
                break
            source, target = plain(below[0].type), plain(inner.type)
            if float_bits(source) and integer_bounds(target):
                break  # truncates
            if integer_bounds(target) and integer_bounds(target)[0] == 0 and target != "bool":  # type: ignore[index]
                break  # wraps
            if target == "bool":
                break
            inner = below[0]
        value = self.value(inner)
        if isinstance(value.data, Pointer):
            return self._pointer_argument(value, to)
        if value.data in ("accessor", "number", "philox", "bytes"):
            return value.tree
        if to.endswith("*") or value.type in ("std::nullptr_t",):
            if isinstance(value.tree, ast.Constant) and value.tree.value in (None, 0):
                return constant(None)
            if value.type.endswith("*") and value.data is None:
                return value.tree
            raise Untranslated(f"an argument of type {value.type} for a pointer")
        if float_bits(to) and float_bits(value.type):
            return value.tree if float_bits(to) == 32 or not value.is_unrounded else rounded(value).tree
        if is_number(to) and is_number(value.type):
            if to != "bool" and isinstance(value.tree, (ast.Compare, ast.BoolOp)):
                return call("int", value.tree)
            return value.tree
        if element_type(to) and (is_number(value.type) or value.type == "c10::Scalar"):
            return value.tree
        return self.struct_argument(node, value, to)

    def struct_argument(self, node: Node, value: Value, to: str) -> ast.expr:
        raise Untranslated(f"an argument of type {to} for a kernel")

    def _pointer_argument(self, value: Value, to: str) -> ast.expr:
        data: Pointer = value.data
        if data.offset is not None:
            return value.tree
        element = pointee(to)
        matches = {
            data.element,
            {"c10::Half": "__half", "c10::BFloat16": "__nv_bfloat16", "long": "long long"}.get(data.element),
        }
        if data.is_typed and element in matches:
            return value.tree
        return self.address_tree(data)


def _accessed(type_: str) -> tuple[str, int]:
    """Return the element type and the number of dimensions of an accessor type.

    Newer releases of PyTorch have more template arguments before them: classes of their own.
    """
    given = template_arguments(type_)
    place = next(number for number, each in enumerate(given) if each.rstrip("ul").isdigit())
    return given[place - 1], int(given[place].rstrip("ul"))


def is_text(value: Value) -> bool:
    """Return whether a value is a str in Python: a std::string, or a literal of C."""
    if value.type == "std::string" or template_name(value.type) == "std::basic_string":
        return True
    return value.data is None and pointee(value.type) == "char"


def _joined(parts: Sequence[ast.expr]) -> ast.expr:
    """Return parts of an f-string as one string."""
    joined: list[ast.expr] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(part.value))
        else:
            joined.append(part)
    if len(joined) == 1 and isinstance(joined[0], ast.Constant):
        return joined[0]
    return ast.JoinedStr(joined) if joined else constant("")


def is_simple(tree: ast.expr) -> bool:
    """Return whether an expression may be written twice: a name, an attribute, or a number's element of such."""
    if isinstance(tree, ast.Subscript):
        return is_simple(tree.value) and isinstance(tree.slice, (ast.Constant, ast.Name))
    return isinstance(tree, (ast.Name, ast.Constant)) or (isinstance(tree, ast.Attribute) and is_simple(tree.value))
