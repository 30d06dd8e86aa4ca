"""Compile one variant of a Numba kernel for one architecture. Runs in workers only.

numba-cuda compiles Python to PTX with libNVVM. What follows is as for a source in PTX: the toolchain's assembler makes
the machine code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from cuda_wheel.builder.compile.python_kernels import compile_with, known_values
from cuda_wheel.builder.compile.python_modules import ProjectModules, StandIn
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import described
from cuda_wheel.builder.jobs import Compiled, Declared, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.numba import compile_kernel, import_numba, numba_type, set_target, set_toolchain
from cuda_wheel.runtime.manifest import MacroValue, PythonParameter, Version
from cuda_wheel.runtime.parts.numba.signatures import ARRAY_WORDS, KERNEL, OPTIONS, SCALARS, Type, read_type
from cuda_wheel.runtime.parts.python_kernels.signatures import module_and_function

__all__ = ["compile_numba"]


@phase("compiling")
def compile_numba(job: Job) -> Compiled:
    """Return a job's PTX, as numba-cuda makes it; raises CompileError and ToolchainError."""
    import_numba()
    capability = divmod(int(job.arch), 10)
    set_toolchain(job.library, job.libdevice)
    set_target(_device(capability))
    module, name = module_and_function(str(dict(job.variant)[KERNEL]))
    modules = ProjectModules(job.root, module, job.source, known_values(int(job.arch)))

    def compiled(found: Any) -> tuple[_Kernel, str, list[str]]:
        kernel = _Kernel.of(job, found, name)
        types = _types_of(job, kernel)
        own = [numba_type(*each) for each in types.values()]
        try:
            text, warnings = compile_kernel(kernel.function, own, capability, kernel.compiler_options)
        except Exception as error:
            if _is_numbas(error):
                raise CompileError(_error_text(job, kernel, error)) from error
            raise
        return kernel, text, [*kernel.warnings, *warnings]

    kernel, text, warnings = compile_with(job, modules, compiled)
    headers = tuple(sorted(modules.read.values()))
    lines = [f"{job.source}: warning: {kernel.name}: {line}" for line in dict.fromkeys(warnings)]
    return _described(job, kernel, text, headers, "\n\n".join(filter(None, [modules.warnings, *lines])))


def _device(capability: Version) -> StandIn:
    """Return what takes the place of Numba's current GPU: of it, a build knows only what depends on the target."""
    path = "numba.cuda.get_current_device()"
    return StandIn(path, {f"{path}.compute_capability": capability, f"{path}.WARP_SIZE": 32})


class _Kernel(NamedTuple):
    """A kernel in a module of the project."""

    function: Any
    """The Python function."""
    name: str
    parameters: tuple[PythonParameter, ...]
    options: Mapping[str, Any]
    """Options of the decorator, with those of the settings in their place."""
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, job: Job, found: Any, name: str) -> _Kernel:
        """Return the kernel that a module defines as `name`. Raises CompileError for what cannot be compiled here."""
        from numba.cuda.dispatcher import CUDADispatcher

        where = f"{job.source}: error: {name}"
        if isinstance(found, StandIn) or not isinstance(found, CUDADispatcher):
            raise CompileError(f"{where} is not a Numba kernel, but {found!r}: numba.cuda.jit makes one of a function")
        options = dict(found.targetoptions)
        if options.get("device"):
            raise CompileError(f"{where} is a device function (device=True), which cannot be launched")
        for option, reason in _REFUSED.items():
            if options.get(option):
                raise CompileError(f"{where} has the option {option}, {reason}")
        variant = dict(job.variant)
        chosen = options | {option: variant[option] for option in OPTIONS if option in variant}
        carveout = options.get("shared_memory_carveout") is not None
        warnings = ("shared_memory_carveout is left out; it changes no result",) if carveout else ()
        return cls(found.py_func, name, tuple(_parameters(found.py_func, where)), chosen, warnings)

    @property
    def compiler_options(self) -> dict[str, Any]:
        """Options for `numba.cuda.compile`."""
        wanted = {name: self.options[name] for name in ("fastmath", "opt") if self.options.get(name) is not None}
        bounds = self.options.get("launch_bounds")
        return wanted | ({"launch_bounds": bounds} if bounds is not None else {})


_REFUSED = {
    "debug": "with which a kernel reports exceptions to Numba's own launch: leave it out for a wheel",
    "link": "and a build links no files to Numba kernels",
    "extensions": "which convert arguments in Numba's own launch",
}
"""Option of `numba.cuda.jit` -> why a kernel that has it is not compiled."""


def _parameters(function: Any, where: str) -> Iterator[PythonParameter]:
    for each in inspect.signature(function).parameters.values():
        if each.kind not in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            raise CompileError(f"{where} has the parameter {each}, and a kernel has only plain ones")
        default = each.default if isinstance(each.default, bool | int | float) else None
        yield each.name, "argument", default


def _types_of(job: Job, kernel: _Kernel) -> dict[str, Type]:
    """Return the type of each parameter. Raises CompileError if the types do not fit the kernel's parameters."""
    variant = dict(job.variant)
    where = f"{job.source}: error: {variant[KERNEL]}"
    names = [name for name, _, _ in kernel.parameters]
    unknown = next((name for name in variant if name not in (*names, KERNEL, *OPTIONS)), None)
    if unknown is not None:
        raise CompileError(f"{where} has no parameter {unknown}: it has {', '.join(names) or 'none'}")
    lacking = next((name for name in names if name not in variant), None)
    if lacking is not None:
        raise CompileError(
            f"{where} has a parameter {lacking}, for which [[tool.cuda-wheel.numba]] has no type: add it to arguments"
        )
    return {name: _type_of(variant[name]) for name in names}


def _type_of(text: MacroValue) -> Type:
    type_ = read_type(text)
    assert type_ is not None, text  # the settings have only types
    return type_


# --- the PTX -----------------------------------------------------------------------------------------

_ENTRY = re.compile(r"\.visible \.entry (\w+)\s*\(")

_EXTERN = re.compile(r"\.extern\s+\.func\s+(?:\([^)]*\)\s*)?(\w+)")

_OF_THE_DRIVER = {"vprintf", "malloc", "free", "__assertfail"}
"""Functions that the driver has for every kernel. Source: PTX ISA, "System calls"."""


def _described(job: Job, kernel: _Kernel, text: str, headers: tuple[str, ...], log: str) -> Compiled:
    """Return the PTX as a job's result. Raises CompileError for what the loader could not load or launch."""
    (symbol,) = _ENTRY.findall(text)
    missing = sorted({*_EXTERN.findall(text)} - _OF_THE_DRIVER)
    if missing:
        raise CompileError(f"{job.source}: error: {kernel.name} {_missing_text(missing[0])}")
    if kernel.name.isascii():
        text = text.replace(symbol, kernel.name)  # the symbol contains Numba's hash of its own options
        symbol = kernel.name
    registers = kernel.options.get("max_registers")
    if registers:
        text = re.sub(rf"(\.entry {symbol}\s*\([^)]*\))", rf"\1\n.maxnreg {int(registers)}", text, count=1)
    compiled = described(text.encode())
    types = _types_of(job, kernel)
    declared = tuple(each for name, type_ in types.items() for each in _declared(name, type_))
    if len(compiled.kernels[symbol]) != len(declared):
        raise CompileError(
            f"{job.source}: error: numba-cuda {job.python_compiler.partition(' ')[0]} compiles {kernel.name} to a "
            f"kernel of {len(compiled.kernels[symbol])} parameters, where cuda-wheel expects {len(declared)}; please "
            "report it"
        )
    return replace(
        compiled,
        headers=headers,
        log=log,
        variables=(),  # arrays in shared and constant memory, which no program knows by name
        python=kernel.parameters,
        parameters={symbol: declared},
    )


def _missing_text(function: str) -> str:
    if function.startswith("cudaCG"):
        return (
            "synchronises the grid, and needs CUDA's device runtime library, which a build does not link to Numba "
            "kernels: split it into two kernels where the grid is synchronised"
        )
    return f"calls {function}, which is not in its module, and a build links no files to Numba kernels"


def _declared(name: str, type_: Type) -> Sequence[Declared]:
    """Return what a kernel gets for a parameter, in order."""
    cxx = SCALARS[type_.element][0]
    if type_ == Type("float16", None, ""):
        return [Declared(name, "unsigned short")]  # its bits
    is_complex = type_.element.startswith("complex")
    if type_.ndim is None:
        return [Declared(f"{name}_{part}", cxx) for part in ("real", "imag")] if is_complex else [Declared(name, cxx)]
    # The loader's own check of the element type knows no complex numbers; `parts.numba` has checked it before.
    kinds = {"meminfo": "void*", "parent": "void*", "data": "void*" if is_complex else f"{cxx}*"}
    first = [Declared(f"{name}_{word}", kinds.get(word, "long long")) for word in ARRAY_WORDS]
    sizes = [Declared(f"{name}_{word}_{at}", "long long") for word in ("shape", "stride") for at in range(type_.ndim)]
    return [*first, *sizes]


# --- errors ------------------------------------------------------------------------------------------


def _is_numbas(error: Exception) -> bool:
    return any(base.__name__ == "NumbaError" for base in type(error).__mro__)


_NOISE = re.compile(
    r"\x1b\[[0-9;]*m|^\s*(?:Failed in \w+ mode pipeline|This is not usually a problem|"
    r"To see Python/NumPy features|For more information|"
    r"If you think your code should|https?://|Enable logging at debug).*$",
    re.M,
)
"""Matches colours, and advice of Numba that is not about the error."""


def _error_text(job: Job, kernel: _Kernel, error: Exception) -> str:
    """Return the message for an error of Numba: "demo/ops.py:7: error: ...", with Numba's text."""
    places = re.findall(rf'File "{re.escape(job.source)}", line (\d+)', str(error))
    line = getattr(getattr(error, "loc", None), "line", None)
    place = f"{job.source}:{places[-1]}" if places else f"{job.source}:{line}" if line else job.source
    text = _NOISE.sub("", str(error)).partition("\nDuring: ")[0]  # then it repeats the lines of the source
    reason = "\n".join(each.rstrip() for each in text.splitlines() if each.strip())
    return f"{place}: error: {kernel.name} does not compile: {reason}"
