"""Compile one variant of a cuTile kernel for one architecture. Runs in workers only.

cuTile compiles the Python function to Tile IR, and tileiras makes an image for each host, as of a `.cu` file with CUDA
Tile kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cuda_wheel.builder.compile.python_kernels import compile_with, known_values
from cuda_wheel.builder.compile.python_modules import ProjectModules
from cuda_wheel.builder.compile.tile_kernels import assembled
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Declared, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.builder.toolchain.cutile import import_cutile, tile_ir_of
from cuda_wheel.runtime.manifest import PythonParameter, parse_version
from cuda_wheel.runtime.parts.python_kernels.signatures import module_and_function
from cuda_wheel.runtime.parts.tile.signatures import HINTS, KERNEL, OPTIONS, TYPES, Type, read_type

__all__ = ["compile_cutile"]


@phase("compiling")
def compile_cutile(job: Job) -> Compiled:
    """Return a job's cubins; raises CompileError and ToolchainError."""
    cutile = import_cutile()
    number = int(job.arch.rstrip("a"))
    module, name = module_and_function(str(dict(job.variant)[KERNEL]))
    modules = ProjectModules(job.root, module, job.source, known_values(number))
    hints = {key: value for key, value in job.variant if key in OPTIONS}

    def compiled(found: Any) -> tuple[tuple[PythonParameter, ...], tuple[Declared, ...], bytes, int]:
        if not isinstance(found, cutile.kernel):
            raise CompileError(f"{job.source}: error: {name} is not a cuTile kernel (ct.kernel), but {found!r}")
        parameters = _parameters(job, found)
        constraints, declared = _constraints(job, cutile, found, parameters)
        release = parse_version(job.tileiras)
        ir = tile_ir_of(found, constraints, name, hints, number, release)
        own = found.replace_hints(**hints) if hints else found
        return parameters, declared, ir, own._compiler_options.opt_level_for_target(f"sm_{number}")

    parameters, declared, tile_ir, opt_level = compile_with(job, modules, compiled)
    result = assembled(job, tile_ir, opt_level)
    (symbol,) = result.kernels
    if len(result.kernels[symbol]) != len(declared):
        raise CompileError(
            f"{job.source}: error: cuTile compiles {dict(job.variant)[KERNEL]} to a kernel of "
            f"{len(result.kernels[symbol])} parameters in place of {len(declared)}; please report it"
        )
    return replace(
        result,
        headers=tuple(sorted(modules.read.values())),
        log=modules.warnings,
        python=parameters,
        parameters={symbol: declared},
    )


def _parameters(job: Job, kernel: Any) -> tuple[PythonParameter, ...]:
    """Return a kernel's parameters for the manifest. Raises CompileError for kinds that a launch cannot pass."""
    annotated = kernel._annotated_function
    found: list[PythonParameter] = []
    for node, (name, each) in zip(annotated.parameter_annotations, annotated.pysig.parameters.items(), strict=True):
        static = getattr(node, "array", None)
        what = None
        if getattr(node, "KIND", "leaf") != "leaf" or getattr(node, "list", None) is not None:
            what = "a tuple or a list"
        elif static is not None and (static.static_shape_dims or static.static_stride_dims):
            what = "an array with static lengths or strides"
        elif each.kind not in (each.POSITIONAL_OR_KEYWORD, each.POSITIONAL_ONLY):
            what = "variadic or for names only"
        if what is not None:
            raise CompileError(
                f"{job.source}: error: {dict(job.variant)[KERNEL]}: the parameter {name} is {what}, which cuda-wheel "
                "does not launch: use arrays, numbers and constants"
            )
        default = each.default if isinstance(each.default, bool | int | float) else None
        found.append((name, "constant" if node.constant or not _is_passed(job, name, default) else "argument", default))
    return tuple(found)


def _is_passed(job: Job, name: str, default: Any) -> bool:
    return read_type(dict(job.variant).get(name, default)) is not None


def _constraints(
    job: Job, cutile: Any, kernel: Any, parameters: tuple[PythonParameter, ...]
) -> tuple[list[Any], tuple[Declared, ...]]:
    """Return cuTile's constraints of the parameters, and the parameters of the compiled kernel. Raises CompileError if
    the variant does not fit the kernel's parameters."""
    variant, compilation = dict(job.variant), cutile.compilation
    where = f"{job.source}: error: {variant[KERNEL]}"
    unknown = sorted(variant.keys() - {KERNEL, *OPTIONS} - {name for name, _, _ in parameters})
    if unknown:
        raise CompileError(f"{where} has no parameter {unknown[0]}")
    constraints: list[Any] = []
    declared: list[Declared] = []
    nodes = kernel._annotated_function.parameter_annotations
    for (name, _, default), node in zip(parameters, nodes, strict=True):
        value = variant.get(name, default)
        if value is None:
            raise CompileError(
                f"{where} has a parameter {name}, for which [[tool.cuda-wheel.tile]] has no "
                f"{'value' if node.constant else 'type'}: add it to arguments"
            )
        type_ = read_type(value)
        if node.constant and type_ is not None:
            raise CompileError(f"{where}: {name} is a constant (ct.Constant), and {value!r} is a type: give it a value")
        if type_ is None:
            constraints.append(compilation.ConstantConstraint(value))
        elif type_.ndim is None:
            constraints.append(compilation.ScalarConstraint(_dtype(cutile, type_)))
            declared.append(Declared(name, TYPES[type_.element][0]))
        else:
            is_wide = node.array is not None and node.array.index_dtype == cutile.int64
            constraints.append(_array(cutile, type_, cutile.int64 if is_wide else cutile.int32))
            declared.append(Declared(name, f"{TYPES[type_.element][0]}*"))
            index = "long long" if is_wide else "int"
            declared += [
                Declared(f"{name}_{what}_{at}", index) for what in ("shape", "stride") for at in range(type_.ndim)
            ]
    return constraints, tuple(declared)


def _dtype(cutile: Any, type_: Type) -> Any:
    return cutile.bool_ if type_.element == "bool" else getattr(cutile, type_.element)


def _array(cutile: Any, type_: Type, index: Any) -> Any:
    """Return the constraint of an array, as cuTile's own launch makes it for arrays of which the hint is true."""
    ndim, hint = type_.ndim or 0, HINTS[type_.level]
    bits = _dtype(cutile, type_).bitwidth
    is_aligned, is_row = hint in ("16", "16n"), bool(hint) and ndim > 0
    return cutile.compilation.ArrayConstraint(
        _dtype(cutile, type_),
        ndim,
        index_dtype=index,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=not hint,
        stride_constant=(*([None] * (ndim - 1)), 1) if is_row else None,
        stride_divisible_by=(*([max(128 // bits, 1) if is_aligned else 1] * (ndim - 1)), 1) if is_row else 1,
        shape_divisible_by=16 if hint == "16n" else 1,
        base_addr_divisible_by=16 if is_aligned else 1,
    )
