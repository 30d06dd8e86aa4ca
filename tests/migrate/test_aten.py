"""The table of ATen's functions: which Python call a C++ declaration is."""

from __future__ import annotations

import pytest

from cuda_wheel.migrate.host_functions.aten import (
    AtenCall,
    AtenTable,
    Parameter,
    Result,
    device_type,
    layout,
    memory_format,
    scalar_type,
    schema_type,
)

YAML = """
# A comment with `- func: none(Tensor self) -> Tensor` in it
- func: plus.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  device_check: NoCheck   # TensorIterator
  variants: function, method
  dispatch:
    CPU, CUDA: plus

- func: plus_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  variants: method  # a method only

- func: total(Tensor self, *, ScalarType? dtype=None) -> Tensor
  variants: method, function

- func: total.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
  variants: function, method

- func: total.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)

- func: top.dim_out(Tensor self, int dim, *, Tensor(a!) top, Tensor(b!) top_values) -> (Tensor(a!) values, Tensor(b!) indices)

- func: filled(SymInt[] size, str mode='a, b', *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor

- func: numbers(SymInt n, int[] dim=[-2,-1], int reduction=Mean, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor

- func: new_filled(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
  variants: method

- func: to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor(a)
  variants: method

- func: to.dtype(Tensor(a) self, ScalarType dtype, MemoryFormat? memory_format=None) -> Tensor(a)
  variants: method

- func: add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
  variants: function

- func: is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool
  variants: method

- func: choose(Tensor condition, Tensor self, Tensor other) -> Tensor
  variants: function, method

- func: fft_wave(Tensor self, SymInt? n=None) -> Tensor
  python_module: fft

- func: linalg_size.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  python_module: linalg

- func: silu(Tensor self) -> Tensor
  python_module: nn

- func: silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  python_module: nn

- func: upsample(Tensor self, SymInt[2] output_size, float[]? scales=None) -> Tensor
  python_module: nn

- func: einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor

- func: index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
  variants: function, method

- func: wave_backward(Tensor grad) -> Tensor

- func: wave_real(Tensor self) -> bool

- func: parts(Tensor(a -> *) self, Generator? generator=None) -> Tensor(a)[]
  variants: function, method

- func: _foreach_plus_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()

- func: mT(Tensor(a) self) -> Tensor(a)
  variants: method
"""

TABLE = AtenTable.of(YAML)
TENSOR = "const at::Tensor &"
DIM = ("dim", "c10::OptionalArrayRef<long>")
DTYPE = ("dtype", "std::optional<c10::ScalarType>")
OPTIONS = ("options", "c10::TensorOptions")
EXPANDED = [
    DTYPE,
    ("layout", "std::optional<c10::Layout>"),
    ("device", "std::optional<c10::Device>"),
    ("pin_memory", "std::optional<bool>"),
]
FORMAT = ("memory_format", "std::optional<c10::MemoryFormat>")
FACTORY_OPTIONS = ("dtype", "layout", "device", "pin_memory", "requires_grad")
SIZE = ("size", "c10::ArrayRef<long>")
MODE = ("mode", "std::basic_string_view<char>")


def function(name: str, *parameters: tuple[str, str]) -> AtenCall:
    found = TABLE.function(name, parameters)
    assert found is not None
    return found


def method(name: str, *parameters: tuple[str, str]) -> AtenCall:
    found = TABLE.method(name, parameters)
    assert found is not None
    return found


def test_the_overload_is_the_one_with_these_parameters() -> None:
    assert function("total", ("self", TENSOR), DTYPE).operator == "torch.ops.aten.total.default"
    found = function("total", ("self", TENSOR), DIM, ("keepdim", "bool"), DTYPE)
    assert found == AtenCall(
        "total.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "function",
        "torch.total",
        (
            Parameter("input", "Tensor"),
            Parameter("dim", "int[1]?"),
            Parameter("keepdim", "bool", "False"),
            Parameter("dtype", "ScalarType?", "None", True),
        ),
        (Result("", "Tensor"),),
    )
    assert found.operator == "torch.ops.aten.total.dim"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("unknown", [("self", TENSOR)]),
        ("none", [("self", TENSOR)]),
        ("total", [("self", TENSOR)]),
        ("total", [("input", TENSOR), DTYPE]),
        ("total", [("self", "const c10::Scalar &"), DTYPE]),
        ("total_out", [("self", TENSOR), DIM, ("keepdim", "bool"), DTYPE]),
        ("plus_", [("self", TENSOR), ("other", TENSOR)]),
        ("total_outf_out", []),
    ],
)
def test_no_call_for_other_names_and_parameters(name: str, parameters: list[tuple[str, str]]) -> None:
    assert TABLE.function(name, parameters) is None


def test_only_methods_are_found_as_methods() -> None:
    assert method("plus_", ("other", TENSOR)).python == "plus_"
    assert TABLE.method("filled", [SIZE, MODE, OPTIONS, FORMAT]) is None
    assert TABLE.method("total_out", [("out", "at::Tensor &"), DIM, ("keepdim", "bool"), DTYPE]) is None


def test_the_tensor_is_no_parameter_of_a_method_wherever_it_stands() -> None:
    found = method("choose", ("condition", TENSOR), ("other", TENSOR))
    assert (found.kind, found.python) == ("method", "choose")
    assert [each.name for each in found.parameters] == ["condition", "other"]


def test_results_go_into_out() -> None:
    rest = [("self", TENSOR), DIM, ("keepdim", "bool"), DTYPE]
    first = function("total_out", ("out", "at::Tensor &"), *rest)
    last = function("total_outf", *rest, ("out", "at::Tensor &"))
    assert first.python == last.python == "torch.total"
    assert first.parameters[0] == last.parameters[-1] == Parameter("out", "Tensor", None, True)
    assert TABLE.function("total_out", [*rest, ("out", "at::Tensor &")]) is None


def test_several_results_go_into_one_tuple_in_python() -> None:
    outs = [("top", "at::Tensor &"), ("top_values", "at::Tensor &")]
    found = function("top_out", *outs, ("self", TENSOR), ("dim", "long"))
    assert [each.name for each in found.parameters] == ["out", "out", "input", "dim"]
    assert found.returns == (Result("values", "Tensor"), Result("indices", "Tensor"))


@pytest.mark.parametrize("name", ["filled", "filled_symint"])
def test_options_are_one_parameter_or_four(name: str) -> None:
    size = ("size", "c10::ArrayRef<c10::SymInt>") if name.endswith("symint") else SIZE
    found = function(name, size, MODE, OPTIONS, FORMAT)
    assert found.parameters[1:3] == (
        Parameter("mode", "str", "'a, b'"),
        Parameter("options", "TensorOptions", "", True),
    )
    assert found.options == FACTORY_OPTIONS
    found = function(name, size, MODE, *EXPANDED, FORMAT)
    assert [each.name for each in found.parameters[2:]] == ["dtype", "layout", "device", "pin_memory", "memory_format"]
    assert all(each.is_keyword and each.default == "None" for each in found.parameters[2:])
    assert found.options == ()


def test_symint_forms_are_found_by_both_names() -> None:
    """The templates of `at::symint` have the plain name and parameters of type SymInt."""
    size = ("size", "c10::ArrayRef<c10::SymInt>")
    assert function("filled", size, MODE, OPTIONS, FORMAT) == function("filled_symint", size, MODE, OPTIONS, FORMAT)


def test_defaults_are_python_expressions() -> None:
    found = function("numbers", ("n", "long"), ("dim", "c10::ArrayRef<long>"), ("reduction", "long"), OPTIONS)
    assert [each.default for each in found.parameters] == [None, "[-2, -1]", "1", "dtype=torch.int64"]
    found = function("numbers", ("n", "long"), ("dim", "c10::ArrayRef<long>"), ("reduction", "long"), *EXPANDED)
    assert found.parameters[3].default == "torch.int64"


def test_methods_take_no_requires_grad() -> None:
    assert method("new_filled", OPTIONS).options == ("dtype", "layout", "device", "pin_memory")


def test_to_takes_dtype_and_device_in_python() -> None:
    rest = [("non_blocking", "bool"), FORMAT]
    grouped = method("to", OPTIONS, *rest)
    assert (grouped.kind, grouped.options) == ("method", ("dtype", "device"))
    assert method("to", *EXPANDED, *rest).python == "torch.ops.aten.to.dtype_layout"
    assert method("to", ("dtype", "c10::ScalarType"), FORMAT).parameters[1].is_keyword


def test_what_only_python_takes_by_name() -> None:
    scalar = "const c10::Scalar &"
    found = function("add", ("self", TENSOR), ("other", scalar), ("alpha", scalar))
    assert [each.is_keyword for each in found.parameters] == [False, False, True]
    found = method("is_contiguous", ("memory_format", "c10::MemoryFormat"))
    assert found.parameters == (Parameter("memory_format", "MemoryFormat", "torch.contiguous_format", True),)


def test_modules_of_functions() -> None:
    assert function("fft_wave", ("self", TENSOR), ("n", "std::optional<c10::SymInt>")).python == "torch.fft.wave"
    assert function("linalg_size_out", ("out", "at::Tensor &"), ("self", TENSOR)).python == "torch.linalg.size"
    assert function("silu", ("self", TENSOR)).python == "torch.nn.functional.silu"


def test_what_python_lacks_or_does_otherwise_is_an_operator() -> None:
    found = function("silu_out", ("out", "at::Tensor &"), ("self", TENSOR))
    assert (found.kind, found.python) == ("operator", "torch.ops.aten.silu.out")
    scales = ("scales", "std::optional<c10::ArrayRef<double>>")
    found = function("upsample", ("self", TENSOR), ("output_size", "c10::ArrayRef<long>"), scales)
    assert (found.python, found.parameters[0].name) == ("torch.ops.aten.upsample.default", "self")
    tensors = ("tensors", "c10::ArrayRef<at::Tensor>")
    found = function("einsum", ("equation", "std::basic_string_view<char>"), tensors, ("path", DIM[1]))
    assert found.python == "torch.ops.aten.einsum.default"
    assert function("wave_backward", ("grad", TENSOR)).python == "torch.ops.aten.wave_backward.default"
    scalar = ("scalar", "const c10::Scalar &")
    found = function("_foreach_plus_", ("self", "c10::ArrayRef<at::Tensor>"), scalar)
    assert (found.python, found.returns) == ("torch.ops.aten._foreach_plus_.Scalar", ())
    found = method("index", ("indices", "const c10::List<std::optional<at::Tensor>> &"))
    assert (found.kind, found.python) == ("operator", "torch.ops.aten.index.Tensor")
    assert [each.name for each in found.parameters] == ["indices"]


def test_functions_declared_by_hand_call_the_tensor_by_another_name() -> None:
    assert function("wave_real", ("tensor", TENSOR)).python == "torch.wave_real"
    assert TABLE.function("wave_backward", [("self", TENSOR)]) is None


def test_attributes_and_lists() -> None:
    found = method("mT")
    assert (found.kind, found.python) == ("attribute", "mT")
    assert method("parts", ("generator", "std::optional<at::Generator>")).returns == (Result("", "Tensor[]"),)


def test_iterating_yields_every_form() -> None:
    forms = [call for call in TABLE if call.schema.startswith("total.")]
    assert [(call.kind, call.python, len(call.parameters)) for call in forms] == [
        ("function", "torch.total", 4),
        ("method", "total", 3),
        ("function", "torch.total", 5),
        ("function", "torch.total", 5),
    ]


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("const at::Tensor &", "Tensor"),
        ("at::Tensor &", "Tensor"),
        ("const std::optional<at::Tensor> &", "Tensor?"),
        ("const ::std::optional<at::Tensor> &", "Tensor?"),
        ("c10::optional<at::Tensor>", "Tensor?"),
        ("const c10::IListRef<at::Tensor> &", "Tensor[]"),
        ("const c10::List<std::optional<at::Tensor>> &", "Tensor?[]"),
        ("const c10::List<std::optional<at::Tensor> > &", "Tensor?[]"),
        ("std::optional<c10::ArrayRef<at::Tensor>>", "Tensor[]?"),
        ("c10::ArrayRef<c10::SymInt>", "int[]"),
        ("c10::OptionalArrayRef<c10::SymInt>", "int[]?"),
        ("long", "int"),
        ("long long", "int"),
        ("std::optional<long long>", "int?"),
        ("std::array<bool, 3>", "bool[]"),
        ("std::optional<std::basic_string_view<char>>", "str?"),
        ("std::basic_string_view<char, std::char_traits<char>>", "str"),
        ("std::optional<double>", "float?"),
        ("const c10::Scalar &", "Scalar"),
        ("c10::TensorOptions", "TensorOptions"),
        ("signed char", "DeviceIndex"),
        ("std::vector<int>", "vector<int>"),
    ],
)
def test_schema_types(spelling: str, expected: str) -> None:
    assert schema_type(spelling) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("at::kLong", "torch.int64"),
        ("torch::kFloat32", "torch.float32"),
        ("torch::kF16", "torch.float16"),
        ("torch::kU8", "torch.uint8"),
        ("kUInt16", "torch.uint16"),
        ("c10::ScalarType::BFloat16", "torch.bfloat16"),
        ("at::ScalarType::Half", "torch.float16"),
        ("Byte", "torch.uint8"),
        ("at::kBool", "torch.bool"),
        ("float", "torch.float32"),
        ("double", "torch.float64"),
        ("const c10::Half &", "torch.float16"),
        ("c10::BFloat16", "torch.bfloat16"),
        ("c10::Float8_e4m3fn", "torch.float8_e4m3fn"),
        ("c10::complex<float>", "torch.complex64"),
        ("c10::complex<c10::Half>", "torch.complex32"),
        ("long", "torch.int64"),
        ("long long", "torch.int64"),
        ("unsigned char", "torch.uint8"),
        ("signed char", "torch.int8"),
        ("bool", "torch.bool"),
        ("int", "torch.int32"),
        ("short", "torch.int16"),
        ("Undefined", None),
        ("kfloat", None),
        ("std::string", None),
        ("float *", None),
    ],
)
def test_scalar_types(name: str, expected: str | None) -> None:
    assert scalar_type(name) == expected


def test_other_enumerations() -> None:
    assert memory_format("at::MemoryFormat::ChannelsLast") == "torch.channels_last"
    assert memory_format("Other") is None
    assert layout("torch::kSparse") == layout("c10::Layout::Sparse") == "torch.sparse_coo"
    assert layout("at::kStrided") == "torch.strided"
    assert device_type("torch::kCUDA") == device_type("c10::DeviceType::CUDA") == "cuda"
    assert device_type("Vulkan") == "vulkan" and device_type("at::kPrivateUse1") == "privateuseone"
    assert device_type("cuda") is None
