"""Compile one variant of a Triton kernel for one architecture. Runs in workers only.

Triton compiles its language to PTX, and its own ptxas makes the cubin: with another assembler, machine code and results
could differ from those of Triton's own launch.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from cuda_wheel.builder.compile.python_kernels import compile_with, known_values
from cuda_wheel.builder.compile.python_modules import ProjectModules, StandIn, UndecidedTuning
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import described
from cuda_wheel.builder.images.ptx_text import normalise
from cuda_wheel.builder.jobs import Compiled, Declared, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.triton import CompiledKernel, compile_kernel, import_triton
from cuda_wheel.runtime.manifest import MacroValue, PythonParameter
from cuda_wheel.runtime.parts.formats.cubin import read_cubin
from cuda_wheel.runtime.parts.formats.ptx import without_contraction
from cuda_wheel.runtime.parts.python_kernels.signatures import module_and_function
from cuda_wheel.runtime.parts.triton.signatures import KERNEL, TYPES, Type, read_type, value_of, written

__all__ = ["compile_triton"]

_HIDDEN = ("global_scratch", "profile_scratch")
"""Names of the pointers that Triton adds after a kernel's own parameters, in this order; releases before 3.5 add the
first only. Source: `make_launcher` in Triton's back end for NVIDIA GPUs."""


@phase("compiling")
def compile_triton(job: Job) -> Compiled:
    """Return a job's PTX and cubin, as Triton makes them; raises CompileError and ToolchainError."""
    import_triton()
    capability = int(job.arch.rstrip("a"))
    module, name = module_and_function(str(dict(job.variant)[KERNEL]))
    modules = ProjectModules(job.root, module, job.source, known_values(capability))
    _set_driver(capability)

    def compiled(found: Any) -> tuple[_Kernel, CompiledKernel]:
        kernel = _Kernel.of(job, found, name)
        return kernel, compile_kernel(kernel.function, *_call_of(job, kernel), capability, _options(job, kernel))

    kernel, result = compile_with(job, modules, compiled)
    return _described(job, kernel, result, tuple(sorted(modules.read.values())))


class _Kernel(NamedTuple):
    """A kernel in a module of the project."""

    function: Any
    """Triton's `JITFunction`."""
    parameters: tuple[PythonParameter, ...]
    defaults: Mapping[str, Any]
    """Parameter -> default, as Python has it."""

    @classmethod
    def of(cls, job: Job, found: Any, name: str) -> _Kernel:
        """Return the kernel that a module defines as `name`, with its parameters. Raises CompileError."""
        tuned: set[str] = set()
        computed: set[str] = set()
        function = found
        while isinstance(function, StandIn) or not hasattr(function, "params"):
            if isinstance(function, StandIn) or not hasattr(function, "fn"):
                raise CompileError(f"{job.source}: error: {name} is not a Triton kernel, but {found!r}")
            if isinstance(function, UndecidedTuning):
                tuned.update(function.names)
            elif hasattr(function, "configs"):  # triton.autotune
                tuned.update(each for config in function.configs for each in config.kwargs)
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
        return cls(function, tuple(parameters), defaults)


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
    types = ((name, read_type(dict(job.variant).get(name))) for name, _, _ in kernel.parameters)
    own = [Declared(name, _cxx_type(type_)) for name, type_ in types if type_ is not None and type_.hint != "1"]
    count = len(compiled.kernels.get(symbol, ())) - len(own)
    if not 0 <= count <= len(_HIDDEN) or figures.get("tensordesc_meta") or figures.get("profile_scratch_size"):
        raise CompileError(
            f"{job.source}: error: Triton {job.python_compiler.partition(' ')[0]} compiles {dict(job.variant)[KERNEL]} "
            f"to a kernel of {len(own)} and {count} hidden parameters, which cuda-wheel does not know to launch; "
            "please report it"
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
    bounds = {**compiled.bounds.get(symbol, {}), **{name: figure for name, figure in launch.items() if figure}}
    return replace(
        compiled,
        cubin=result.cubin if job.cubin else None,
        bounds={symbol: bounds},
        resources={symbol: {"registers": read_cubin(result.cubin).kernels[symbol].registers}},
        headers=headers,
        python=kernel.parameters,
        assembler=result.assembler,
        parameters={symbol: (*own, *(Declared(name, "void*") for name in _HIDDEN[:count]))},
    )


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
