"""Which parts of the preamble and of PyTorch's stand-ins a source can name, so that NVRTC reads no others.

NVRTC reads what a source includes once for each target. All that nvcc and PyTorch's headers declare takes longer than
many kernels; a source names little of it. A part is read if one of its names occurs in the source's text, in the
headers of the project, or in an option. What fails to compile without a part is compiled with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from cuda_wheel.builder.rewriting.project_texts import operator_headers, operator_names_header

__all__ = ["COMMON_RUNTIME_API", "PARTS", "Names", "names_in", "part_macros", "used_headers"]


_C_FUNCTIONS = (
    r"a?(?:cos|sin|tan)h?|atan2|cbrt|ceil|copysign|erfc?|exp2?|expm1|fabs|fdim|floor|fma|fmax|fmin|fmod|frexp|hypot|"
    r"ilogb|ldexp|lgamma|log(?:10|1p|2|b)?|l?l?rint|l?l?round|modf|nan|nearbyint|nextafter|nexttoward|pow|remainder|"
    r"remquo|scalbl?n|sqrt|tgamma|trunc"
)
_UTILITY = (
    # <type_traits>
    r"is_\w+|has_\w+|add_\w+|remove_\w+|make_\w+|enable_if\w*|conditional\w*|conjunction\w*|disjunction\w*|negation\w*|"
    r"decay\w*|rank\w*|extent\w*|alignment_of\w*|common_\w+|result_of\w*|invoke_result\w*|underlying_type\w*|"
    r"aligned_\w+|integral_constant|bool_constant|true_type|false_type|void_t|type_identity\w*|unwrap_\w+|"
    # <utility>
    r"move|move_if_noexcept|forward|forward_like|swap|exchange|pair|declval|as_const|in_place\w*|\w*_sequence\w*|get|"
    r"rel_ops|to_underlying|cmp_\w+|in_range|unreachable|piecewise_construct\w*|tuple_\w+|initializer_list|monostate|"
    # <exception>, <new>
    r"\w*exception\w*|\w*terminate\w*|\w*nested|nothrow\w*|bad_\w+|launder|hardware_\w+|\w+_handler|align_val_t"
)
_FUNCTIONAL = (
    r"function|bind\w*|placeholders|_[1-9]|c?ref|reference_wrapper|hash|plus|minus|multiplies|divides|modulus|negate|"
    r"equal_to|not_equal_to|greater|greater_equal|less|less_equal|logical_\w+|bit_\w+|not_fn|not[12]|mem_fn|mem_fun|"
    r"invoke\w*|identity|\w*_searcher|tie|ignore|apply|make_\w+|\w*tuple\w*|type_info|typeid|get|(?:unary|binary)_\w+"
)
_ALGORITHMS = (
    r"\w*(?:find|copy|sort|heap|search|partition|permutation|bound|minmax|merge|iterator|inserter|union|intersection|"
    r"difference)\w*|(?:min|max)_element|(?:all|any|none)_of|count\w*|for_each\w*|fill\w*|generate\w*|transform|"
    r"replace\w*|remove|remove_if|reverse\w*|rotate|unique|equal\w*|lexicographical\w*|mismatch|includes|clamp|iter_swap|"
    r"swap_ranges|\w*shuffle|sample|shift_\w+|nth_element|move_\w+|ranges|c?r?(?:begin|end)|advance|distance|next|prev|s?size|"
    r"data|empty"
)
PARTS = {
    # The preamble.
    "RUNTIME_API": r"CUDART\w*|CUDA_[CR]_\w+|cudaDataType\w*|libraryPropertyType\w*",
    "UTILITY": _UTILITY,
    "FUNCTIONAL": _FUNCTIONAL,
    # The rest of <algorithm>, which PyTorch's headers include too.
    "ALGORITHMS": _ALGORITHMS,
    "MATH": rf"{_C_FUNCTIONS}|is(?:finite|inf|nan|normal|greater|less|unordered)\w*|signbit|fpclassify|l*abs|"
    r"M_\w+|FP_\w+|HUGE_VAL\w*|INFINITY|NAN|(?:float|double)_t|math_errhandling|MATH_\w+",
    "BUILTINS": r"__builtin_\w*|__sync_\w*",
    # What PyTorch's headers include of CUDA and of the standard library.
    "DRIVER_API": r"cu[A-Z]\w*|CU_\w+|CU[a-z]\w*|CUDA_(?!\d|[CNRT]_|CALL|CHECK|ERR(?!OR_)|GET|HAS|HOST|KERNEL_LOOP|MAX|"
    r"NUM_THREADS|TRY)\w+",
    "LIBRARIES": r"(?:cublas|cusolver|cusparse)\w*|(?:CUBLAS|CUSOLVER|CUSPARSE)\w*|cu\w*Complex\w*|blas|THC\w*|"
    r"\w*CUDA(?:Blas|Solver|Sparse)\w*|CUDA_[CR]_\w+|cudaDataType\w*|libraryPropertyType\w*",
    "ATOMIC": r"atomic\w*|memory_order\w*|kill_dependency",
    "CONTAINERS": r"deque|(?:forward_)?list|(?:unordered_)?(?:multi)?(?:map|set)|(?:priority_)?queue|stack|bitset|"
    r"valarray|g?slice(?:_array)?|mask_array|indirect_array",
    "LOCALES": r"\w*locale\w*|lconv|LC_\w+|\w*wc(?:s|har|type)?\w*|w(?:mem\w+|int_t)|\w*wprintf|tow\w+|isw\w+|"
    r"(?:use|has)_facet|numpunct|ctype\w*|codecvt\w*|is(?:space|digit|alpha)|mbs\w+",
    "STREAMS": r"\w*stringstream|\w*iostream|w?c(?:out|err|log|in)|set(?:w|precision|fill|base)|(?:re)?setiosflags|"
    r"quoted|(?:get|put)_(?:time|money)|\w*istream|\w*stringbuf|ws|getline",
    "OUTPUT_STREAMS": r"\w*(?:ostream|stringstream|fstream)\w*|w?c(?:out|err|log)|endl|flush",
    "THREADS": r"\w*mutex|(?:unique|scoped|defer|adopt)_lock\w*|try_(?:to_)?lock\w*|lock|lock_guard|once_flag|"
    r"call_once|thread|this_thread|jthread|condition_variable\w*|cv_status|chrono|ratio\w*|literals|chrono_literals|atto|femto|pico|nano|micro|milli|centi|deci|deca|hecto|kilo|"
    r"mega|giga|tera|peta|exa",
    "VARIANT": r"variant\w*|\w*visit|monostate|holds_alternative|get_if|get|bad_variant_access|in_place\w*",
    "NUMERIC": r"accumulate|\w*reduce|inner_product|iota|adjacent_difference|\w+_scan|partial_sum|gcd|lcm|"
    r"midpoint",
    # The element types of tensors, by the names of types, enumerators and dispatch macros.
    "HALF": r"\w*(?:[Hh]alf|HALF|[Ff]loat16|FLOAT16|FP16|fp16|REDUCED|FORALL|V2|hadd|hmul|hsub|hfma)\w*",
    "BFLOAT16": r"\w*(?:[Bb][Ff](?:loat)?16|BFLOAT16|REDUCED|FORALL|V2)\w*",
    "FLOAT8": r"\w*(?:Float[48]|float8|FLOAT[48]|FP8|fp8|FORALL|V2)\w*|float4_\w*",
    "COMPLEX": r"\w*(?:[Cc]omplex|COMPLEX|FORALL|V2|cfloat|cdouble)\w*",
    "QUANTIZED": r"\w*(?:[Qq]U?[Ii]nt|QUINT|QINT|[Bb]its?\d|BIT_TYPES|FORALL|V2)\w*|\w*quint\w*|bits|toUnderlying",
    # The rest of <torch/extension.h>.
    "AUTOGRAD": r"autograd|\w*[Vv]ariable\w*|(?:Auto)?GradMode|InferenceMode|NoGradGuard|AutoDispatch\w*|autocast|"
    r"edge_list",
    "LIBRARY": r"_?TORCH_(?:LIBRARY|SELECTIVE)\w*|TORCH_FN|Library|RegisterOperators|Tag|CppFunction|class_|Dispatcher|"
    r"\w*OperatorHandle|FunctionSchema|schema|jit|IValue|Stack|CustomClassHolder|Dict|List|GenericList",
    "NEURAL_NETWORKS": r"nn|enumtype|k(?:Linear|Conv\w+|Sigmoid|Tanh|ReLU|GELU|SiLU|Mish|LeakyReLU|FanIn|FanOut|Area|"
    r"Sum|Constant|Reflect\w*|Replicate|Circular|Nearest\w*|Bilinear|Bicubic|Trilinear|Mean|Max|None|BatchMean|Zeros|"
    r"Border|RNN\w+|LSTM|GRU|Valid|Same)",
    "SERIALIZATION": r"save|load|pickle\w*|(?:In|Out)putArchive|serialize",
    "PYTHON": r"py|pybind11|PYBIND11\w*|_?Py[A-Z_]\w*|THP\w*|bind_module|wrap_pybind\w*|Python",
}
"""The parts: the names that each declares, as a regular expression. The headers ask for the macro
`CUDA_WHEEL_WITHOUT_` and the part's name. Names that a project may define itself are there too: a part too many costs
time only. A missing name costs a second compilation, unless a function of that name is built in or the project's own;
so all functions that others may overload are there, such as those of <math.h>."""

_PYTORCH_NAMES = {b"torch", b"ATen", b"c10", b"at", b"THC"}

_IN_STD = {
    *("UTILITY", "FUNCTIONAL", "ALGORITHMS", "ATOMIC", "CONTAINERS"),
    *("STREAMS", "OUTPUT_STREAMS", "THREADS", "VARIANT", "NUMERIC"),
}
"""Parts whose names are all in namespace std."""

_NAMED = {part: re.compile(rf"^(?:{names})$".encode(), re.MULTILINE) for part, names in PARTS.items()}

_IN_STD_NAMED = re.compile(rb"\bstd\s*::\s*(\w+)")

_STD = re.compile(rb"\bstd\b(?!\s*::)")
"""Matches where namespace std is named by itself, such as `using namespace std`."""

_REAL = re.compile(rf"^(?:{_C_FUNCTIONS})[fl]$".encode(), re.MULTILINE)
"""Matches a function of namespace std for one type, such as std::sinf; NVRTC predeclares ::sinf."""

_RUNTIME_CALL = re.compile(rb"\b((?:make_)?cuda[A-Z]\w*)\s*[(<]")
"""Matches what may be a call of the runtime API, and a call of the project's own functions with such a name."""

COMMON_RUNTIME_API = frozenset(
    b"cudaDeviceGetAttribute cudaDeviceReset cudaDeviceSynchronize cudaEventCreate cudaEventCreateWithFlags "
    b"cudaEventDestroy cudaEventElapsedTime cudaEventQuery cudaEventRecord cudaEventSynchronize cudaFree cudaFreeHost "
    b"cudaFuncSetAttribute cudaFuncSetCacheConfig cudaGetDevice cudaGetDeviceCount cudaGetDeviceProperties "
    b"cudaGetErrorName cudaGetErrorString cudaGetLastError cudaHostAlloc cudaLaunchCooperativeKernel cudaLaunchKernel "
    b"cudaMalloc cudaMallocHost cudaMallocManaged cudaMemGetInfo cudaMemcpy cudaMemcpyAsync cudaMemset cudaMemsetAsync "
    b"cudaOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxPotentialBlockSize cudaPeekAtLastError "
    b"cudaSetDevice cudaStreamCreate cudaStreamCreateWithFlags cudaStreamDestroy cudaStreamQuery cudaStreamSynchronize "
    b"cudaStreamWaitEvent cudaError cudaError_t cudaStream_t cudaEvent_t".split()
)
"""What <cuda_wheel_detail/common_runtime_api.h> declares, and types that NVRTC has built in."""

_NAME = re.compile(rb"[A-Za-z_]\w*")

_PASTED = re.compile(rb"(?<!#)(?<!\w_t_)##(?!#|\s*__VA_ARGS__)")
"""Matches where a macro pastes a name together, which is in no text, but for `, ##__VA_ARGS__` and for names such as
`scalar_t_##LEVEL`: no part has one that goes on after `_t_`."""

_STRING_OR_COMMENT = re.compile(
    rb"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)""", re.DOTALL
)


class Names(NamedTuple):
    """The names that texts contain."""

    all: frozenset[bytes]
    in_std: frozenset[bytes]
    """Those that may be of namespace std."""
    calls: frozenset[bytes]
    """Those that may be functions of the runtime API."""


def names_in(texts: Iterable[bytes]) -> Names | None:
    """Return the names in texts but for their comments; None if macros paste other names together."""
    code = [_without_comments(text) for text in texts]
    if any(map(_PASTED.search, code)):
        return None
    every = frozenset(name for text in code for name in _NAME.findall(text))
    in_std = frozenset(name for text in code for name in _IN_STD_NAMED.findall(text))
    calls = frozenset(call for text in code for call in _RUNTIME_CALL.findall(text))
    return Names(every, every if any(map(_STD.search, code)) else in_std, calls)


def _without_comments(text: bytes) -> bytes:
    if b'R"' in text:  # a raw string, in which quotes and comments are neither
        return text
    return _STRING_OR_COMMENT.sub(lambda match: match[1] or b" ", text)


def part_macros(names: Names, is_relocatable: bool) -> list[str]:
    """Return the macros that leave out the parts of which there is no name."""
    every, in_std = b"\n".join(names.all), b"\n".join(names.in_std)
    used = {part for part, pattern in _NAMED.items() if pattern.search(in_std if part in _IN_STD else every)}
    if _REAL.search(in_std):
        used.add("MATH")
    if is_relocatable or names.calls - COMMON_RUNTIME_API:  # NVRTC has the device's runtime API built in
        used.add("RUNTIME_API")
    return [f"CUDA_WHEEL_WITHOUT_{part}" for part in PARTS if part not in used]


def used_headers(names: Names) -> dict[str, bytes]:
    """Return the headers in memory that a compilation may read: for files with PyTorch."""
    return {**operator_headers(), **operator_names_header(names.all)} if names.all & _PYTORCH_NAMES else {}
