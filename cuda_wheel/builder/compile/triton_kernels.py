"""Compile one variant of a Triton kernel for one architecture. Runs in workers only.

Triton compiles its language to PTX, and its own ptxas makes the cubin: with another assembler, machine code and results
could differ from those of Triton's own launch.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cuda_wheel.builder.compile.python_kernels import compile_with, known_values
from cuda_wheel.builder.compile.python_modules import ProjectModules, StandIn, UndecidedTuning
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import described
from cuda_wheel.builder.images.ptx_text import normalise
from cuda_wheel.builder.jobs import Compiled, Configurations, Declared, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.triton import CompiledKernel, compile_kernel, import_triton
from cuda_wheel.runtime.manifest import MacroValue, PythonParameter, Variant
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.formats.ptx import without_contraction
from cuda_wheel.runtime.parts.python_kernels.signatures import module_and_function
from cuda_wheel.runtime.parts.tensor_maps import known_type
from cuda_wheel.runtime.parts.triton.signatures import HIDDEN, KERNEL, TYPES, Type, read_type, value_of, written

__all__ = ["compile_triton", "read_configurations"]

_MAP_TYPES = (
    *("uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float32_ftz", "float64"),
    *("bfloat16", "tfloat32", "tfloat32_ftz"),
)
"""Element types of tensor maps, by the number that Triton's `tensordesc_meta` has for each. Source:
`TMA_DTYPE_DEVICE_TO_HOST` in Triton's back end for NVIDIA GPUs."""

_SWIZZLES = (0, 32, 64, 128)
"""Bytes of a tensor map's swizzle, by the number that `tensordesc_meta` has."""


@phase("compiling")
def compile_triton(job: Job) -> Compiled:
    """Return a job's PTX and cubin, as Triton makes them; raises CompileError and ToolchainError."""
    capability, modules = _prepared(job)

    def compiled(found: Any) -> tuple[_Kernel, CompiledKernel]:
        kernel = _Kernel.of(job, found)
        return kernel, compile_kernel(kernel.function, *_call_of(job, kernel), capability, _options(job, kernel))

    kernel, result = compile_with(job, modules, compiled)
    return replace(_described(job, kernel, result, tuple(sorted(modules.read.values()))), log=modules.warnings)


def _prepared(job: Job) -> tuple[int, ProjectModules]:
    """Return the compute capability of a job, as a number such as 90, and the project's modules for it."""
    import_triton()
    capability = int(job.arch.rstrip("a"))
    module, _ = module_and_function(str(dict(job.variant)[KERNEL]))
    _set_driver(capability)
    return capability, ProjectModules(job.root, module, job.source, known_values(capability))


def read_configurations(job: Job) -> Configurations:
    """Return the configurations of the `triton.autotune` of a job's kernel, each as a variant has it.

    Of the job's variant, only the kernel's name counts. Raises CompileError for a kernel without them, for those that
    depend on what is not known, and for those that only Triton's own launch can use; and what `compile_triton` raises.
    """
    _, modules = _prepared(job)
    where = f"{job.source}: error: {dict(job.variant)[KERNEL]}"

    def listed(found: Any) -> tuple[Variant, ...]:
        kernel = _Kernel.of(job, found)
        if len(kernel.tuners) != 1:
            raise CompileError(
                f"{where} has {'several' if kernel.tuners else 'no'} @triton.autotune, so that autotune = true means "
                "nothing: leave it out, and list what to compile in arguments, num-warps and num-stages"
            )
        (tuner,) = kernel.tuners
        if isinstance(tuner, UndecidedTuning):
            raise CompileError(
                f"{where}: the configurations of its triton.autotune are not known, because {tuner.reason} Or leave "
                "out autotune = true, and list what to compile in arguments, num-warps and num-stages"
            )
        names = {name for name, _, _ in kernel.parameters}
        return tuple(
            dict.fromkeys(
                _configuration(f"{where}: configuration {number} of its triton.autotune", each, names)
                for number, each in enumerate(tuner.configs, 1)
            )
        )

    return Configurations(compile_with(job, modules, listed), tuple(sorted(modules.read.values())))


def _configuration(where: str, config: Any, names: Collection[str]) -> Variant:
    """Return a `triton.Config` as the constants and options of a variant. `names` are the kernel's parameters. Raises
    CompileError."""
    for hook in ("pre_hook", "ir_override"):
        if getattr(config, hook, None) is not None:
            what = "is called before each launch" if hook == "pre_hook" else "replaces the kernel's code"
            raise CompileError(
                f"{where} has {hook}, which {what}, by Triton only: leave out autotune = true, list what to compile in "
                "arguments, num-warps and num-stages, and let the code that launches do what the hook does"
            )
    pairs = {}
    for name, value in config.all_kwargs().items():
        text = written(value)
        if text is None:
            raise CompileError(f"{where} has {name} = {value!r}, which is no number, string or type of triton.language")
        pairs[name] = text if name in names or not isinstance(value, str) else value
    if pairs.get("num_ctas") == 1:
        del pairs["num_ctas"]
    return tuple(sorted(pairs.items()))


class _Kernel(NamedTuple):
    """A kernel in a module of the project."""

    function: Any
    """Triton's `JITFunction`."""
    parameters: tuple[PythonParameter, ...]
    defaults: Mapping[str, Any]
    """Parameter -> default, as Python has it."""
    tuners: tuple[Any, ...]
    """Triton's `Autotuner` of each `triton.autotune` around the function, or `UndecidedTuning`."""

    @classmethod
    def of(cls, job: Job, found: Any) -> _Kernel:
        """Return the kernel that a job's module defines, with its parameters. Raises CompileError."""
        _, name = module_and_function(str(dict(job.variant)[KERNEL]))
        tuned: set[str] = set()
        computed: set[str] = set()
        tuners = []
        function = found
        while isinstance(function, StandIn) or not hasattr(function, "params"):
            if isinstance(function, StandIn) or not hasattr(function, "fn"):
                raise CompileError(f"{job.source}: error: {name} is not a Triton kernel, but {found!r}")
            if isinstance(function, UndecidedTuning):
                tuned.update(function.names)
                tuners.append(function)
            elif hasattr(function, "configs"):  # triton.autotune
                tuned.update(each for config in function.configs for each in config.kwargs)
                tuners.append(function)
            elif isinstance(getattr(function, "values", None), dict):  # triton.heuristics
                computed.update(function.values)
            function = function.fn
        parameters, defaults = [], {}
        for each in function.params:
            kind = "constant" if each.is_constexpr else "argument"
            kind = "tuned" if each.name in tuned else "computed" if each.name in computed else kind
            default = None
            if each.has_default:
                defaults[each.name] = each.default
                is_wrapped = type(each.default).__name__ == "constexpr"
                default = written(each.default.value if is_wrapped else each.default)
            parameters.append((each.name, kind, default))
        return cls(function, tuple(parameters), defaults, tuple(tuners))


def _constant(job: Job, name: str, value: MacroValue) -> Any:
    """Return the value of Python that a variant's constant means. Raises CompileError."""
    if isinstance(value, str) and value.startswith("tl."):
        import triton.language as tl

        if not hasattr(tl, value.removeprefix("tl.")):
            raise CompileError(f"{job.source}: error: {name}: Triton has no {value}")
        return getattr(tl, value.removeprefix("tl."))
    return value_of(value)


_Call = tuple[dict[str, str], dict[int, Any], dict[tuple[int], Any]]


def _call_of(job: Job, kernel: _Kernel) -> _Call:
    """Return the types, the constants and the attributes that Triton's compiler gets. Raises CompileError if they do
    not fit the kernel's parameters."""
    variant = dict(job.variant)
    where = f"{job.source}: error: {variant[KERNEL]}"
    names = [name for name, _, _ in kernel.parameters]
    options = {each for each in variant if each not in names}
    unknown = sorted(options - _known_options())
    if unknown:
        raise CompileError(f"{where} has no parameter {unknown[0]}, nor has Triton's compiler an option of this name")
    signature: dict[str, str] = {}
    constants: dict[int, Any] = {}
    attributes: dict[tuple[int], Any] = {}
    for at, (name, kind, _) in enumerate(kernel.parameters):
        if name not in variant and name not in kernel.defaults:
            raise CompileError(
                f"{where} has a parameter {name}, for which [[tool.cuda-wheel.triton]] has no "
                f"{'type' if kind == 'argument' else 'value'}: add it to arguments"
            )
        type_ = read_type(variant.get(name))
        if type_ is None:
            value = _constant(job, name, variant[name]) if name in variant else kernel.defaults[name]
            if kind == "argument" and name in variant and isinstance(variant[name], str) and value is not None:
                raise CompileError(
                    f'{where}: {name} = {value!r} is not a type of Triton, such as "*fp32:16" or "i32", and {name} is '
                    "not a constant (tl.constexpr)"
                )
            signature[name], constants[at] = "constexpr", value
        elif kind != "argument":
            raise CompileError(
                f"{where}: {name} is a constant (tl.constexpr), and {variant[name]!r} is a type: give it a value. "
                f"A string that is spelled like a type has quotation marks: \"'{variant[name]}'\""
            )
        elif type_.block:
            signature[name] = str(variant[name])
        elif type_.hint == "1":
            signature[name], constants[at] = "constexpr", 1
        else:
            signature[name] = f"{type_.pointer}{type_.element}"
            if type_.hint == "16":
                attributes[(at,)] = [["tt.divisibility", 16]]
    return signature, constants, attributes


def _known_options() -> set[str]:
    from triton.backends.nvidia.compiler import CUDAOptions

    return {KERNEL, *(inspect.signature(CUDAOptions).parameters)}


def _options(job: Job, kernel: _Kernel) -> dict[str, Any]:
    names = {KERNEL, *(name for name, _, _ in kernel.parameters)}
    return {name: value for name, value in job.variant if name not in names}


def _described(job: Job, kernel: _Kernel, result: CompiledKernel, headers: tuple[str, ...]) -> Compiled:
    """Return what Triton compiled as a job's result. Raises CompileError for what the loader could not launch."""
    figures = result.figures
    symbol = str(figures["name"])
    fuses = bool(dict(job.variant).get("enable_fp_fusion", True))
    text = result.ptx if fuses else without_contraction(normalise(result.ptx))
    compiled = described(text.encode())
    types = [(name, read_type(dict(job.variant).get(name))) for name, _, _ in kernel.parameters]
    sizes = [each.size for each in compiled.kernels.get(symbol, ())]
    own, hidden = _own_and_hidden(types, bool(figures.get("tensordesc_meta")), sizes)
    descriptors = _descriptor_figures(types, figures.get("tensordesc_meta") or ())
    if hidden is None or descriptors is None or figures.get("profile_scratch_size"):
        raise CompileError(
            f"{job.source}: error: Triton {job.python_compiler.partition(' ')[0]} compiles {dict(job.variant)[KERNEL]} "
            f"to a kernel with {len(sizes)} parameters, {len(own)} of them its own, which cuda-wheel does not know to "
            "launch; please report it"
        )
    blocks = int(figures["num_ctas"])
    launch = {
        "threads": 32 * int(figures["num_warps"]),
        "dynamic_shared": int(figures["shared"]),
        "ctas": blocks if blocks > 1 else 0,
        "global_scratch": int(figures.get("global_scratch_size") or 0),
        "cooperative": int(bool(figures.get("launch_cooperative_grid"))),
        "programmatic": int(bool(figures.get("launch_pdl"))),
    }
    launch |= descriptors
    bounds = {**compiled.bounds.get(symbol, {}), **{name: figure for name, figure in launch.items() if figure}}
    return replace(
        compiled,
        cubin=result.cubin if job.cubin else None,
        bounds={symbol: bounds},
        resources={symbol: {"registers": read_cubin(result.cubin).kernels[symbol].registers}},
        headers=headers,
        python=kernel.parameters,
        assembler=result.assembler,
        parameters={symbol: (*own, *(Declared(name, "void*") for name in hidden))},
    )


_Types = Sequence[tuple[str, Type | None]]
"""(name, type) of each parameter of a Python function; None for a constant."""


def _own_and_hidden(
    types: _Types, has_maps: bool, sizes: Sequence[int]
) -> tuple[list[Declared], tuple[str, ...] | None]:
    """Return the parameters of a compiled kernel that are its own, and the names of those that Triton adds.

    `has_maps` tells whether tensor descriptors are tensor maps, `sizes` are the bytes of all parameters. The names are
    None if the parameters are others than Triton is known to declare.
    """
    own: list[Declared] = []
    for flags in ((), ("nan",), ("nan", "tf32")):  # releases before 3.5, 3.7, and later ones
        own = [each for name, type_ in types if type_ for each in _declared(name, type_, has_maps, flags)]
        count = len(sizes) - len(own)
        expected = [_BYTES.get(each.type, 8) for each in own]
        has_descriptors = any(type_ is not None and type_.block for _, type_ in types)
        if 0 <= count <= len(HIDDEN) and (not has_descriptors or [*sizes[: len(own)]] == expected):
            return own, HIDDEN[:count]
    return own, None


_BYTES = {"CUtensorMap": 128, "bool": 1, "signed char": 1, "unsigned char": 1} | {
    **dict.fromkeys(("short", "unsigned short", "__half", "__nv_bfloat16"), 2),
    **dict.fromkeys(("int", "unsigned int", "float"), 4),
}
"""C++ type of a parameter -> its size in bytes; all others have 8."""


def _declared(name: str, type_: Type, has_maps: bool, flags: Sequence[str]) -> Iterator[Declared]:
    """Yield what the compiled kernel has for one parameter of the Python function. `flags` are the names of those that
    a descriptor that is no tensor map has. Source: `make_launcher` in Triton's back end for NVIDIA GPUs."""
    if type_.hint == "1":
        return
    if not type_.block:
        yield Declared(name, _cxx_type(type_))
        return
    axes = range(len(type_.block))
    if has_maps:
        yield Declared(name, "CUtensorMap")
    else:
        yield Declared(name, f"{TYPES[type_.element][0]}*")
        yield from (Declared(f"{name}_{what}{axis}", "long long") for what in ("size", "step") for axis in axes)
        yield from (Declared(f"{name}_{flag}", "bool") for flag in flags)
    yield from (Declared(f"{name}_shape{axis}", "int") for axis in axes)
    yield from (Declared(f"{name}_stride{axis}", "long long") for axis in axes)


def _descriptor_figures(types: _Types, maps: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    """Return what a launch must know of each tensor map, from Triton's `tensordesc_meta`; nothing if descriptors are no
    tensor maps. None for a map that `runtime.parts.triton.descriptors` does not make."""
    figures: dict[str, int] = {}
    blocked = [type_ for _, type_ in types if type_ is not None and type_.block]
    if maps and len(maps) != len(blocked):
        return None
    for number, (type_, map_) in enumerate(zip(blocked, maps, strict=False)):
        swizzle, element, box = map_["swizzle"], map_["elem_type"], map_["block_size"]
        is_known = swizzle < len(_SWIZZLES) and element < len(_MAP_TYPES) and len(box) == len(type_.block)
        if not is_known or map_.get("fp4_padded") or map_.get("is_im2col"):
            return None
        if _MAP_TYPES[element] != known_type(TYPES[type_.element][1]):
            return None
        figures[f"descriptor{number}_swizzle"] = _SWIZZLES[swizzle]
        figures |= {f"descriptor{number}_box{axis}": int(size) for axis, size in enumerate(box)}
    return figures


def _cxx_type(type_: Type) -> str:
    """Return the C++ type of a parameter: "const float*" for *kfp32."""
    cxx = TYPES[type_.element][0]
    return f"{'const ' if type_.pointer == '*k' else ''}{cxx}{'*' if type_.pointer else ''}"


def _set_driver(capability: int) -> None:
    """Let Triton's driver say that the current GPU has this compute capability, a number such as 90.

    What else a module asks the driver is not known. Triton's own driver would look for a GPU, and import PyTorch.
    """
    import triton
    from triton.backends.compiler import GPUTarget

    path = "triton.runtime.driver.active"
    known = {f"{path}.get_current_target()": GPUTarget("cuda", capability, 32)}
    triton.runtime.driver.set_active(StandIn(path, known))
