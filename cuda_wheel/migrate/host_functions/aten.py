"""Say which Python call is equal to a C++ call of ATen, from the `native_functions.yaml` in PyTorch's wheel.

That file lists the schemas from which PyTorch generates its C++ and Python functions. A C++ function of `at::` or
`torch::`, or a method of `at::Tensor`, is identified by its name and by the names and types of its parameters. The
rules by which a schema becomes C++ declarations are in PyTorch's `torchgen/api/cpp.py`.

Python may choose another overload than C++ where the two mean the same: it has no `add.Scalar` and makes a tensor of
the number, as `add.Scalar` does itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

__all__ = [
    "AtenCall",
    "AtenTable",
    "Parameter",
    "Result",
    "device_type",
    "layout",
    "memory_format",
    "scalar_type",
    "schema_type",
]

CallKind = Literal["function", "method", "attribute", "operator"]

NAMESPACES = {None: "torch", "linalg": "torch.linalg", "fft": "torch.fft", "special": "torch.special"}
"""`python_module` of a schema -> Python module of its function. Functions of other modules are private in Python."""

NN_FUNCTIONS = frozenset(
    [
        "avg_pool2d",
        "avg_pool3d",
        "elu_",
        "gelu",
        "glu",
        "hardsigmoid",
        "hardswish",
        "hardtanh_",
        "leaky_relu",
        "leaky_relu_",
        "linear",
        "mish",
        "one_hot",
        "pad",
        "scaled_dot_product_attention",
        "silu",
        "softplus",
        "softshrink",
    ]
)
"""Schemas of `python_module: nn` whose function in `torch.nn.functional` takes the same arguments. The others there do
more than the C++ function or have other parameters."""

OTHER_FUNCTIONS = frozenset(
    [
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "block_diag",
        "broadcast_tensors",
        "cartesian_prod",
        "cdist",
        "chain_matmul",
        "einsum",
        "istft",
        "meshgrid",
        "norm",
        "range",
        "sparse_bsc_tensor",
        "sparse_bsr_tensor",
        "sparse_compressed_tensor",
        "sparse_coo_tensor",
        "sparse_csc_tensor",
        "sparse_csr_tensor",
        "stft",
        "tensordot",
        "unique_consecutive",
    ]
)
"""Functions and methods that have other parameters or results in Python, or that Python computes in another way:
`torch.einsum` may reorder the contractions, `torch.range` warns."""

NOT_IN_PYTHON = frozenset(
    [
        "_backward",
        "_fw_primal",
        "_reshape_alias",
        "alias",
        "convolution_overrideable",
        "copy",
        "copy_sparse_to_sparse_",
        "fake_quantize_per_channel_affine_cachemask",
        "fake_quantize_per_tensor_affine_cachemask",
        "hardshrink_backward",
        "index",
        "lift",
        "lift_fresh",
        "lift_fresh_copy",
        "nonzero_numpy",
        "normal_functional",
        "set_data",
        "size",
        "slice",
        "stride",
        "sym_is_contiguous",
        "sym_numel",
        "sym_size",
        "sym_storage_offset",
        "sym_stride",
        "unique_dim",
        "unique_dim_consecutive",
    ]
)
"""Functions and methods that PyTorch does not bind in Python, or whose name is another function's there."""

INTERNAL = re.compile(r"_|.*_(backward|forward|jvp)(_|$)")
"""Names of functions, not methods, of which only some are bound in Python, and none is documented."""

KEYWORD_ONLY = {
    "add": ("alpha",),
    "add_": ("alpha",),
    "is_contiguous": ("memory_format",),
    "sub": ("alpha",),
    "sub_": ("alpha",),
    "to": ("memory_format",),
}
"""Parameters that only Python takes by name alone: name in the schema -> parameters. In `add(x, 2, 3)` Python reads
another signature, which is deprecated."""

ATTRIBUTES = {
    "_version": "_version",
    "data": "data",
    "is_leaf": "is_leaf",
    "matrix_H": "H",
    "mH": "mH",
    "mT": "mT",
    "numpy_T": "T",
    "output_nr": "output_nr",
    "retains_grad": "retains_grad",
}
"""C++ methods that are attributes of a tensor in Python: C++ name -> Python name."""

OPTION_NAMES = ("dtype", "layout", "device", "pin_memory")
"""Parameters of a schema that C++ also takes as one `TensorOptions`."""

SCALAR_TYPES = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "QInt8": "qint8",
    "QUInt8": "quint8",
    "QInt32": "qint32",
    "BFloat16": "bfloat16",
    "QUInt4x2": "quint4x2",
    "QUInt2x4": "quint2x4",
    "Bits1x8": "bits1x8",
    "Bits2x4": "bits2x4",
    "Bits4x2": "bits4x2",
    "Bits8": "bits8",
    "Bits16": "bits16",
    "Float8_e5m2": "float8_e5m2",
    "Float8_e4m3fn": "float8_e4m3fn",
    "Float8_e5m2fnuz": "float8_e5m2fnuz",
    "Float8_e4m3fnuz": "float8_e4m3fnuz",
    "Float8_e8m0fnu": "float8_e8m0fnu",
    "UInt16": "uint16",
    "UInt32": "uint32",
    "UInt64": "uint64",
    "Float4_e2m1fn_x2": "float4_e2m1fn_x2",
}
"""Enumerators of `c10::ScalarType` (c10/core/ScalarType.h) -> names in `torch`."""

INTEGER_TYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "unsigned": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int16_t": "int16",
    "uint16_t": "uint16",
    "int32_t": "int32",
    "uint32_t": "uint32",
    "int64_t": "int64",
    "uint64_t": "uint64",
}
"""C++ integer types -> names in `torch`, of the same size and sign on 64-bit Linux."""

ELEMENT_TYPES = {
    **INTEGER_TYPES,
    "float": "float32",
    "double": "float64",
    "Half": "float16",
    "__half": "float16",
    "half": "float16",
    "BFloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "complex<Half>": "complex32",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
    **{name: python for name, python in SCALAR_TYPES.items() if name.startswith(("Float8", "Float4"))},
    "qint8": "qint8",
    "quint8": "quint8",
    "qint32": "qint32",
}
"""C++ element types, without namespaces -> names in `torch`."""

SHORT_CONSTANTS = {
    f"k{spelling}{bits}": f"{python}{bits}"
    for names, python, sizes in (
        (("UInt", "U"), "uint", (8, 16, 32, 64)),
        (("Int", "I"), "int", (8, 16, 32, 64)),
        (("Float", "F"), "float", (16, 32, 64)),
    )
    for spelling in names
    for bits in sizes
}
"""Constants of torch/csrc/api/include/torch/types.h, such as `torch::kFloat32` and `torch::kF32`."""

CXX_TYPES = {
    "long": "int",
    "long long": "int",
    "int64_t": "int",
    "SymInt": "int",
    "SymBool": "bool",
    "double": "float",
    "signed char": "DeviceIndex",
    "basic_string_view": "str",
}
"""C++ types of parameters, without namespaces -> types in schemas."""

MEMORY_FORMATS = {
    "Contiguous": "contiguous_format",
    "Preserve": "preserve_format",
    "ChannelsLast": "channels_last",
    "ChannelsLast3d": "channels_last_3d",
}
LAYOUTS = {
    "Strided": "strided",
    "Sparse": "sparse_coo",
    "SparseCsr": "sparse_csr",
    "SparseCsc": "sparse_csc",
    "SparseBsr": "sparse_bsr",
    "SparseBsc": "sparse_bsc",
    "Mkldnn": "_mkldnn",
    "Jagged": "jagged",
}
DEVICE_TYPES = {
    name: name.lower()
    for name in [
        "CPU",
        "CUDA",
        "MKLDNN",
        "OPENGL",
        "OPENCL",
        "IDEEP",
        "HIP",
        "FPGA",
        "MAIA",
        "XLA",
        "Vulkan",
        "XPU",
        "MPS",
        "Meta",
        "HPU",
        "VE",
        "Lazy",
        "IPU",
        "MTIA",
    ]
} | {"PrivateUse1": "privateuseone"}
"""Enumerators of `c10::DeviceType` -> the string that `torch.device` accepts."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C++ function and what to pass for it in Python."""

    name: str
    """Name in Python. Parameters of one call that are all named "out" stand for one tuple, `out=(values, indices)`."""
    type: str
    """Type in the schema, without annotations: "Tensor", "Tensor?", "SymInt[2]", "ScalarType?"; "TensorOptions" for the
    keyword arguments `AtenCall.options`."""
    default: str | None = None
    """Python expression of the value when the C++ call leaves it out; None if it is required. For TensorOptions "", or
    "dtype=torch.int64": then options without dtype mean the default dtype in C++, but int64 if Python leaves it out."""
    is_keyword: bool = False
    """Whether Python takes it by name only."""


@dataclass(frozen=True, slots=True)
class Result:
    """A result of a function."""

    name: str
    """Name in the schema, or ""."""
    type: str
    """Type in the schema, without annotations: "Tensor", "Tensor[]", "int", "Scalar"."""


@dataclass(frozen=True, slots=True)
class AtenCall:
    """A C++ function of ATen and its Python form."""

    schema: str
    """Schema, such as "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"."""
    kind: CallKind
    """"function": call `python`. "method": call the method `python` of the tensor. "attribute": read the attribute
    `python` of the tensor. "operator": call `python`; for a C++ method, the tensor is the first argument."""
    python: str
    """Name of the function with its module ("torch.sum", "torch.ops.aten.sum.dim_IntList"), method or attribute."""
    parameters: tuple[Parameter, ...]
    """The parameters of the C++ function in its order; for a method without the tensor itself. Python takes those that
    are not `is_keyword` by position."""
    returns: tuple[Result, ...]
    """The results; C++ returns several as `std::tuple`, Python as a tuple in the same order."""
    options: tuple[str, ...] = ()
    """Keyword arguments that a parameter of type TensorOptions may become, such as "dtype". C++ permits "requires_grad"
    for functions of `torch::` only."""

    @property
    def operator(self) -> str:
        """The overload below `torch.ops`: "torch.ops.aten.sum.dim_IntList"."""
        name, _, overload = self.schema.partition("(")[0].partition(".")
        return f"torch.ops.aten.{name}.{overload or 'default'}"


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument in a schema."""

    name: str
    type: str
    """Type without annotations: "Tensor", "int[2]?"."""
    default: str | None
    """Default as in the schema; None if the argument is required."""
    is_keyword: bool
    """Whether the argument comes after `*`."""
    is_written: bool
    """Whether the function changes the tensor: "Tensor(a!)"."""


@dataclass(frozen=True, slots=True)
class _Record:
    """What is used of a record of native_functions.yaml."""

    schema: str
    variants: tuple[str, ...]
    """"function", "method" or both."""
    module: str | None
    """`python_module`."""


@dataclass(frozen=True, slots=True)
class _Schema:
    """A record's schema in parts."""

    record: _Record
    name: str
    """Name without overload: "sum"."""
    arguments: tuple[_Argument, ...]
    """Arguments other than `outs`."""
    outs: tuple[_Argument, ...]
    """The tensors that the function writes its results to: those that are written and come after `*`."""
    returns: tuple[Result, ...]


_Declaration = tuple[str, tuple[_Argument, ...]]
"""A C++ function or method that PyTorch generates for a schema: its name, and its parameters in the order of C++."""


class AtenTable:
    """The functions and methods of one version of ATen.

    It does not have functions that PyTorch generates without a schema of their own (`autogen` in
    native_functions.yaml), such as `at::empty_like_out`, and functions and methods that are not generated, such as
    `at::from_blob` and `data_ptr`.
    """

    def __init__(self, records: Mapping[str, Sequence[_Record]]) -> None:
        self._records = records
        """Name in the schemas, without overload -> its records."""

    @classmethod
    def read(cls, path: Path) -> AtenTable:
        """Read `native_functions.yaml`."""
        return cls.of(path.read_text(encoding="utf-8"))

    @classmethod
    def of(cls, text: str) -> AtenTable:
        """Return the table for the text of `native_functions.yaml`.

        A YAML parser would take seconds for it, and be one more requirement. Each record of the file begins with a line
        `- func: SCHEMA`, and each of the two other keys that are used is on one line of its own.
        """
        records: dict[str, list[_Record]] = {}
        for part in re.split(r"(?m)^- func:", text)[1:]:
            schema, _, rest = part.partition("\n")
            keys = dict(re.findall(r"(?m)^  (variants|python_module): *([\w, ]*)", rest))
            variants = keys.get("variants", "function").replace(" ", "").split(",")
            record = _Record(schema.strip(), tuple(variants), keys.get("python_module", "").strip() or None)
            records.setdefault(re.split(r"[.(]", record.schema, maxsplit=1)[0], []).append(record)
        return cls(records)

    def __iter__(self) -> Iterator[AtenCall]:
        """Yield each schema in each form that C++ has of it."""
        for record in (record for records in self._records.values() for record in records):
            schema = _parse(record)
            for variant in record.variants:
                is_method = variant == "method"
                for _, parameters in _declarations(schema, is_method):
                    yield _call(schema, is_method, parameters)

    def function(self, name: str, parameters: Sequence[tuple[str, str]]) -> AtenCall | None:
        """Return the call for a C++ function `at::NAME` or `torch::NAME`, or None if PyTorch does not generate it.

        `parameters` are those of the declaration that the call uses, each with its name and canonical type as clang
        spells it.
        """
        name = name.replace("_symint", "")
        if [each for each, _ in parameters] == ["tensor"]:
            parameters = [("self", parameters[0][1])]  # as ATen/core/TensorBody.h declares `at::is_complex` and others
        found = (self._find(name.removesuffix(end), name, parameters, False) for end in ("", "_out", "_outf"))
        return next((call for call in found if call is not None), None)

    def method(self, name: str, parameters: Sequence[tuple[str, str]]) -> AtenCall | None:
        """Return the call for the C++ method `at::Tensor::NAME`, or None if PyTorch does not generate it."""
        name = name.replace("_symint", "")
        return self._find(name, name, parameters, True)

    def _find(
        self, schema_name: str, name: str, parameters: Sequence[tuple[str, str]], is_method: bool
    ) -> AtenCall | None:
        """Return the call of the schema, among those of `schema_name`, that has this declaration."""
        wanted = [(parameter, schema_type(spelling)) for parameter, spelling in parameters]
        for record in self._records.get(schema_name, ()):
            if ("method" if is_method else "function") in record.variants:
                schema = _parse(record)
                for declared, arguments in _declarations(schema, is_method):
                    if declared == name and [(each.name, _plain_type(each.type)) for each in arguments] == wanted:
                        return _call(schema, is_method, arguments)
        return None


def _parse(record: _Record) -> _Schema:
    """Split a record's schema, e.g. "max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)"."""
    head, _, tail = record.schema.rpartition(" -> ")
    name, _, inside = head.partition("(")
    arguments: list[_Argument] = []
    is_keyword = False
    for text in _split(inside.removesuffix(")")):
        if text == "*":
            is_keyword = True
            continue
        declared, has_default, default = text.partition("=")
        annotated, _, argument = declared.rpartition(" ")
        arguments.append(
            _Argument(
                argument,
                _without_annotations(annotated),
                default if has_default else None,
                is_keyword,
                "!" in annotated,
            )
        )
    returns: list[Result] = []
    for text in _split(tail[1:-1] if tail.startswith("(") else tail):
        annotated, _, result = text.rpartition(" ") if re.search(r" \w+$", text) else (text, "", "")
        returns.append(Result(result, _without_annotations(annotated)))
    outs = tuple(each for each in arguments if each.is_keyword and each.is_written)
    return _Schema(
        record,
        name.partition(".")[0],
        tuple(each for each in arguments if each not in outs),
        outs,
        tuple(returns),
    )


def _split(text: str) -> list[str]:
    """Split a list of arguments at its commas outside of brackets and quotes."""
    parts = re.findall(r"""(?:\([^)]*\)|\[[^\]]*\]|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,])+""", text)
    return [part.strip() for part in parts]


def _without_annotations(text: str) -> str:
    """Remove what says which arguments share memory: "Tensor(a!)[]" -> "Tensor[]"."""
    return re.sub(r"\([^)]*\)", "", text)


def _declarations(schema: _Schema, is_method: bool) -> Iterator[_Declaration]:
    """Yield the C++ declarations of a schema. torchgen/api/cpp.py says how they are made."""
    arguments = tuple(each for each in schema.arguments if not (is_method and each.name == "self"))
    if schema.outs:
        if not is_method:
            yield f"{schema.name}_out", schema.outs + arguments
            yield f"{schema.name}_outf", arguments + schema.outs
        return
    names = [each.name for each in arguments if each.is_keyword]
    if all(name in names for name in OPTION_NAMES):
        first = next(index for index, each in enumerate(arguments) if each.name == "dtype" and each.is_keyword)
        default = None if arguments[first].default is None else ""
        if arguments[first].default == "long":
            default = "dtype=torch.int64"
        options = _Argument("options", "TensorOptions", default, True, False)
        yield schema.name, (*arguments[:first], options, *arguments[first + len(OPTION_NAMES) :])
    yield schema.name, arguments


def _call(schema: _Schema, is_method: bool, arguments: Sequence[_Argument]) -> AtenCall:
    """Return the Python form of a C++ declaration with these parameters."""
    kind, python = _python_name(schema, is_method)
    types = [each.type for each in arguments]
    options: tuple[str, ...] = ()
    if "TensorOptions" in types:
        options = (*OPTION_NAMES, "requires_grad") if kind == "function" else OPTION_NAMES
    if kind == "method" and schema.name == "to":
        options = tuple(name for name in options if name in ("dtype", "device"))
        if not options and "Layout?" in types:
            kind = "operator"
    parameters: list[Parameter] = []
    for each in arguments:
        name, is_keyword, default = each.name, each.is_keyword, _python_default(each)
        if kind != "operator":
            name = "out" if each in schema.outs else "input" if name == "self" else name
            is_keyword = is_keyword or name in KEYWORD_ONLY.get(schema.name, ())
        if kind == "method" and schema.name == "is_contiguous":
            default = "torch.contiguous_format"
        parameters.append(Parameter(name, each.type, default, is_keyword))
    call = AtenCall(schema.record.schema, kind, python, tuple(parameters), schema.returns, options)
    return replace(call, python=call.operator) if kind == "operator" else call


def _python_name(schema: _Schema, is_method: bool) -> tuple[CallKind, str]:
    """Return how Python calls the function, and its name; "" for an operator."""
    name, module = schema.name, schema.record.module
    if is_method and name in ATTRIBUTES:
        return "attribute", ATTRIBUTES[name]
    is_bound = name not in OTHER_FUNCTIONS and name not in NOT_IN_PYTHON
    if is_method:
        return ("method", name) if module is None and is_bound else ("operator", "")
    if not is_bound or INTERNAL.match(name):
        return "operator", ""
    if module == "nn" and name in NN_FUNCTIONS and not schema.outs:
        return "function", f"torch.nn.functional.{name}"
    if module in NAMESPACES and name.startswith(f"{module}_" if module else ""):
        return "function", f"{NAMESPACES[module]}.{name.removeprefix(f'{module}_')}"
    return "operator", ""


def _python_default(argument: _Argument) -> str | None:
    """Return a default of a schema as a Python expression."""
    default = argument.default
    if default is None or argument.type == "TensorOptions":
        return default
    named = {"long": "torch.int64", "Mean": "1", "contiguous_format": "torch.contiguous_format"}
    return named.get(default, re.sub(r",(?=\S)", ", ", default) if default.startswith("[") else default)


def schema_type(spelling: str) -> str:
    """Return the schema type, without array sizes, of a canonical C++ type of a parameter.

    "const std::optional<at::Tensor> &" is "Tensor?"; `c10::SymInt` is "int", as in `_plain_type`.
    """
    name = re.sub(r"\bconst\b|&|(\b\w+)?::|\s+(?=>|$)", "", spelling).strip()
    outer, has_arguments, inner = name.partition("<")
    if not has_arguments:
        return CXX_TYPES.get(name, name)
    inner = inner.removesuffix(">").strip()
    if outer == "optional":
        return schema_type(inner) + "?"
    if outer == "OptionalArrayRef":
        return schema_type(inner) + "[]?"
    if outer in ("ArrayRef", "IListRef", "List", "array"):
        return schema_type(inner.partition(",")[0]) + "[]"
    return CXX_TYPES.get(outer, name)


def _plain_type(text: str) -> str:
    """Return a schema type without array sizes, and with int for SymInt, which C++ declares in both ways."""
    return re.sub(r"\[\d+\]", "[]", text.replace("SymInt", "int").replace("SymBool", "bool"))


def scalar_type(name: str) -> str | None:
    """Return "torch.float32" for the name of a `c10::ScalarType` or of a C++ element type; None for another name.

    The first are enumerators and constants, such as "at::ScalarType::Float" and "torch::kFloat32"; the second are
    "float", "c10::Half", "long long" and the like.

    C++ types are those of 64-bit Linux, where `long` has 64 bits and `char` is signed.
    """
    plain = _unqualified(name)
    found = ELEMENT_TYPES.get(plain) or SHORT_CONSTANTS.get(plain) or SCALAR_TYPES.get(plain.removeprefix("k"))
    return None if found is None else f"torch.{found}"


def memory_format(name: str) -> str | None:
    """Return "torch.channels_last" for an enumerator of `c10::MemoryFormat`, e.g. "at::MemoryFormat::ChannelsLast"."""
    return _named("torch.", MEMORY_FORMATS, name)


def layout(name: str) -> str | None:
    """Return "torch.strided" for an enumerator of `c10::Layout` or constant of it, such as "torch::kStrided"."""
    return _named("torch.", LAYOUTS, name)


def device_type(name: str) -> str | None:
    """Return "cuda", as `torch.device` reads it, for a name of a `c10::DeviceType` such as "at::kCUDA"."""
    return _named("", DEVICE_TYPES, name)


def _named(prefix: str, names: Mapping[str, str], name: str) -> str | None:
    """Return the Python name of an enumerator, or of the constant of the same name with "k" before it."""
    plain = _unqualified(name)
    found = names.get(plain) or names.get(plain.removeprefix("k"))
    return None if found is None else prefix + found


def _unqualified(name: str) -> str:
    """Remove namespaces, `const` and references: "const c10::complex<c10::Half> &" -> "complex<Half>"."""
    return re.sub(r"\bconst\b|&|(\b\w+)?::", "", name).strip()
