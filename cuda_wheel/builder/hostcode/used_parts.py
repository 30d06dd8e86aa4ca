"""Which parts of the preamble and of PyTorch's stand-ins a source can name, so that NVRTC reads no others.

NVRTC reads what a source includes once for each target. All that nvcc and PyTorch's headers declare takes longer than
many kernels; a source names little of it. A part is read if one of its names occurs in the source's text, in the
headers of the project, or in an option. What fails to compile without a part is compiled with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cuda_wheel.builder.hostcode.operator_headers import operator_names_header

__all__ = ["COMMON_RUNTIME_API", "PARTS", "part_macros", "used_headers"]

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
_PYTORCH = r"torch|ATen|c10|at"

PARTS = {
    # The preamble.
    "RUNTIME_API": r"CUDART\w*|CUDA_[CR]_\w+|cudaDataType\w*|libraryPropertyType\w*",
    "UTILITY": _UTILITY,
    "FUNCTIONAL": _FUNCTIONAL,
    "MATH": rf"{_C_FUNCTIONS}|is(?:finite|inf|nan|normal|greater|less|unordered)\w*|signbit|fpclassify|l*abs|"
    rf"M_\w+|FP_\w+|HUGE_VAL\w*|INFINITY|NAN|(?:float|double)_t|math_errhandling|MATH_\w+|{_PYTORCH}",
    "BUILTINS": rf"__builtin_\w*|__sync_\w*|{_PYTORCH}",
    # What PyTorch's headers include of CUDA and of the standard library.
    "DRIVER_API": r"cu[A-Z]\w*|CU(?!DA)\w+|CUDA_(?!CHECK|KERNEL_LOOP|1D|HOST|NUM_THREADS|ERR(?!OR_))\w+",
    "LIBRARIES": r"(?:cublas|cusolver|cusparse)\w*|(?:CUBLAS|CUSOLVER|CUSPARSE)\w*|cu\w*Complex\w*|blas|THC\w*|"
    r"\w*CUDA(?:Blas|Solver|Sparse)\w*|CUDA_[CR]_\w+|cudaDataType\w*|libraryPropertyType\w*",
    "CONTAINERS": r"deque|queue|priority_queue|stack|forward_list|list|(?:unordered_)?(?:multi)?(?:map|set)",
    "STREAMS": r"[io]?stringstream|iostream|w?c(?:out|err|log|in)|set(?:w|precision|fill|base)|(?:re)?setiosflags|"
    r"quoted|(?:get|put)_(?:time|money)|istream|stringbuf|w\w*stream|getline",
    "THREADS": r"\w*mutex\w*|\w+_lock|\w*lock_guard|once_flag|call_once|chrono|\w+_clock|thread|"
    r"\w*condition_variable\w*|future|async|\w*lock|pthread\w*|sched\w*|cpu_set_t|(?:CPU|PTHREAD|SCHED)_\w+|ratio|literals|chrono_literals",
    "VARIANT": r"\w*variant\w*|visit|monostate|holds_alternative|get_if|get",
    "NUMERIC": r"accumulate|\w*reduce|inner_product|iota|adjacent_difference|\w+_scan|partial_sum|gcd|lcm|midpoint",
    # The element types of tensors, by the names of types, enumerators and dispatch macros.
    "HALF": r"\w*(?:[Hh]alf|HALF|[Ff]loat16|FLOAT16|FP16|fp16|REDUCED|FORALL|V2|hadd|hmul|hsub|hfma)\w*",
    "BFLOAT16": r"\w*(?:[Bb][Ff](?:loat)?16|BFLOAT16|REDUCED|FORALL|V2)\w*",
    "FLOAT8": r"\w*(?:[Ff]loat[48]|FLOAT[48]|FP8|fp8|FORALL|V2)\w*",
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

_ONLY_IN_STD = {"UTILITY", "FUNCTIONAL"}
"""Parts whose names are all in namespace std."""

_NAMED = {part: re.compile(rf"^(?:{names})$".encode(), re.MULTILINE) for part, names in PARTS.items()}

_STD = re.compile(rb"^std$", re.MULTILINE)

_STD_REAL = re.compile(rb"\bstd\s*::\s*\w+[fl]\b")
"""Matches a function for one type, such as std::sinf; NVRTC predeclares ::sinf."""

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

_PASTED = re.compile(rb"(?<!#)##(?!#|\s*__VA_ARGS__)")
"""Matches where a macro pastes a name together, which is in no text, but for `, ##__VA_ARGS__`."""


def part_macros(texts: Iterable[bytes], is_relocatable: bool) -> list[str] | None:
    """Return the macros that leave out the parts that no text names; None if names cannot be told from the texts."""
    texts = list(texts)
    if any(map(_PASTED.search, texts)):
        return None
    names = b"\n".join({name for text in texts for name in _NAME.findall(text)})
    calls = {call for text in texts for call in _RUNTIME_CALL.findall(text)}
    used = {part for part, pattern in _NAMED.items() if pattern.search(names)}
    if not _STD.search(names):
        used -= _ONLY_IN_STD
    if any(map(_STD_REAL.search, texts)):
        used.add("MATH")
    if is_relocatable or calls - COMMON_RUNTIME_API:  # NVRTC has the device's runtime API built in
        used.add("RUNTIME_API")
    return [f"CUDA_WHEEL_WITHOUT_{part}" for part in PARTS if part not in used]


def used_headers(texts: Iterable[bytes]) -> dict[str, bytes]:
    """Return the list of PyTorch's operators that the texts name, as a header in memory."""
    return operator_names_header({name for text in texts for name in _NAME.findall(text)})
