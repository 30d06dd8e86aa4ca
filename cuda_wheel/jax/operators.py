"""Make a JAX function of a kernel: `operator`."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any, Generic, SupportsFloat, SupportsIndex, TypeAlias

from cuda_wheel.jax.handler import TARGET, imported_jax, register
from cuda_wheel.jax.tracing import Launch, TracedOperator, varying_axes, with_equal_axes
from cuda_wheel.jax.transforms import batched, differentiable
from cuda_wheel.operators.declarations import InputArgument, OperatorArguments, declared
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.generated import define
from cuda_wheel.runtime.module import Kernel

__all__ = ["operator"]

if TYPE_CHECKING:
    from jax import Array
    from jax.typing import ArrayLike
    from typing_extensions import TypeVar  # type checkers bundle its stub

    Argument: TypeAlias = ArrayLike | SupportsFloat | SupportsIndex | None

    class Results(Array, tuple[Any, ...]):  # type: ignore[misc]
        """Results of an operator: an array, or a tuple of several.

        Python's types cannot count the keys of a mapping, nor tell which arrays a kernel changes. Type checkers accept
        a value of this class as an array and as a tuple of any length; each item is an array.
        """

        def __iter__(self) -> Iterator[Array]: ...

    Result = TypeVar("Result", bound=Array | tuple[Array, ...], default=Results)
    """Where the operator is assigned to an annotated name, type checkers take this type from the annotation."""

    class DeclaredOperator(Generic[Result]):
        """Function that `operator` returns."""

        __name__: str
        __qualname__: str
        __signature__: inspect.Signature

        def __call__(self, *args: Argument, **more: Argument) -> Result: ...


def operator(
    name: str,
    *,
    kernel: Any,
    grid: Any,
    arguments: str | Sequence[str] | None = None,
    block: Any = None,
    module: str | None = None,
    outputs: Mapping[str, Any] = {},
    values: Mapping[str, Any] = {},
    defaults: Mapping[str, Any] = {},
    kernels: Any = None,
    variant: Any = None,
    more_arguments: Mapping[str, type] = {},
    backward: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    read_only: Iterable[str] = (),
    shared_memory: Any = 0,
    cluster: Any = None,
    cooperative: bool = False,
) -> "DeclaredOperator[Result]":
    """Return a function of JAX arrays that launches a kernel.

    `name` appears in error messages and in compiled programs. `kernel` is a kernel or its name in `module`; or a
    mapping to such from the element type of the first array, or from a tuple of the element types of the first few
    arrays; or a function that returns the name of one of `kernels`. `variant` are the macros of a variant of the
    module, or a function that returns them. `arguments` names the kernel's parameters in their order; `outputs`,
    `values` and `defaults` say which of them are outputs, computed values, and arguments with a default.
    `more_arguments` maps the names of numbers that the operator takes and the kernel does not to int, float or bool.
    `grid`, `block`, `shared_memory`, `cluster` and `cooperative` are what `Kernel.launch` takes, or functions that
    return it. For a Triton kernel, `arguments`, `block` and what follows it are left out; `variant` has options of
    Triton, such as {"num_warps": 8}. `backward`, `jvp` and `vmap` are functions for JAX's transforms. The documentation
    of `cuda_wheel.jax` has an example and describes all of them.

    Raises ArgumentError for a declaration that does not fit the kernel, ImageError if the module or a kernel is
    missing, and ImportError if JAX is not installed or older than 0.5.0. A call raises ArgumentError for arrays and
    numbers that the kernel does not take; what fails when the program runs is an error of JAX.
    """
    jax = imported_jax()
    if not isinstance(name, str) or not name or "#" in name:  # base_name() is what stands before a "#"
        raise ArgumentError(f"{name!r} is not an operator's name, such as 'demo::swish'")
    kernel = _by_type_names(jax, name, kernel)
    launching: dict[str, Any] = {"grid": grid, "block": block, "shared_memory": shared_memory, "cluster": cluster}
    launching["cooperative"] = cooperative
    declaration = declared(
        name, kernel, module, arguments, outputs, values, defaults, read_only, launching,
        kernels=kernels, variant=variant, more_arguments=more_arguments,
    )  # fmt: skip
    accessors = [each for each in declaration.arguments.accessors if each not in values]
    if accessors:
        raise ArgumentError(
            f"{name}: {accessors[0]} is an accessor of a PyTorch tensor, which a JAX operator does not make: let the "
            "kernel take a pointer, and the sizes as values"
        )
    program_name = ""

    def call_handler(launch: Launch, inputs: list[Any], results: list[Any]) -> Sequence[Any]:
        text = launch._replace(operator=program_name).text()
        axes = frozenset[str]().union(*(varying_axes(jax, each) for each in inputs))
        if axes:  # only an array tells its axes to all versions of JAX; XLA removes it, since nothing reads it
            inputs = with_equal_axes(jax, inputs)
            results = with_equal_axes(jax, [jax.numpy.zeros(each.shape, each.dtype) for each in results], axes)
        call = jax.ffi.ffi_call(
            TARGET, results, vmap_method="sequential", input_output_aliases=dict(launch.aliases) or None
        )
        found: Sequence[Any] = call(*inputs, launch=text)
        if any(varying_axes(jax, each) != axes for each in found):
            raise ArgumentError(
                f"{name}: JAX {jax.__version__} cannot tell shard_map that the results differ over the axes "
                f"{', '.join(sorted(axes))}: use a later version, or check_vma=False"
            )
        return found

    traced = TracedOperator(jax, declaration, call_handler)
    run = traced.run if vmap is None else batched(jax, declaration, traced, vmap)
    if backward is not None or jvp is not None:
        run = differentiable(jax, declaration, traced, run, backward, jvp)
    # The numbers are static: each of their values makes a program. Inlined, an operator adds no level to a program.
    jitted = jax.jit(lambda static, *arrays: run(static, *with_equal_axes(jax, arrays)), static_argnums=0, inline=True)
    program_name = register(jax, name, declaration.kernels)
    function: DeclaredOperator[Result] = _function(jax, name, declaration.arguments, jitted)
    return function


def _by_type_names(jax: Any, operator: str, kernel: Any) -> Any:
    """Return the mapping `kernel` with tuples of NumPy's type names as keys: {jnp.float32: k} -> {("float32",): k}.

    `kernel` maps an element type of JAX, or a tuple of them, to a kernel. If it is not a mapping, it is returned
    unchanged. Raises ArgumentError if a key is not of element types, or if two keys name the same types.
    """
    if not isinstance(kernel, Mapping) or isinstance(kernel, Kernel):
        return kernel
    found: dict[tuple[str, ...], Any] = {}
    for key, value in kernel.items():
        try:
            dtypes = tuple(jax.numpy.dtype(each).name for each in (key if isinstance(key, tuple) else (key,)))
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{operator}: kernel must map element types of JAX to kernels: {error}") from None
        if dtypes in found:
            raise ArgumentError(f"{operator}: kernel maps {', '.join(dtypes)} to two kernels")
        found[dtypes] = value
    return found


def _function(jax: Any, operator: str, roles: OperatorArguments, jitted: Callable[..., Any]) -> Any:
    """Return the function that users call to run the operator. Its parameters are the operator's inputs: numbers and
    arrays.

    `roles` describes these inputs. The function calls `jitted` with a tuple of all numbers, followed by each array as a
    separate argument. It is generated, as in `runtime.generated`: `inspect.Signature.bind` takes longer than JAX.
    """
    inputs = roles.inputs
    # No argument of an operator begins with an underscore, so that these names stay what they are.
    namespace: dict[str, Any] = {"_jitted": jitted, "_type": type, "_float": float, "_int": int, "_bool": bool}
    numbers, arrays = "", ""
    for each in inputs:
        if each.type == "Pointer":
            arrays += f", {each.name}"
            continue
        namespace[f"_static_{each.name}"] = partial(_static, jax, operator, each)
        # The first condition is what the function would return, in a fifth of the time.
        kind, value = _QUICK[each.type]
        numbers += f"{each.name}{value} if _type({each.name}) is {kind} else _static_{each.name}({each.name}), "
    namespace |= {f"_default_{each.name}": each.default for each in inputs if each.has_default}
    parameters = [f"{each.name}=_default_{each.name}" if each.has_default else each.name for each in inputs]
    source = f"def call({', '.join(parameters)}):\n    return _jitted(({numbers}){arrays})\n"
    call = define("call", source, namespace, operator)
    call.__name__ = call.__qualname__ = operator
    return call


_QUICK = {"Real": ("_float", ".hex()"), "Integer": ("_int", ""), "bool": ("_bool", "")}
"""`InputArgument.type` of a number -> (its Python type, source text that makes a static argument of it)."""


def _static(jax: Any, operator: str, argument: InputArgument, value: Any) -> Any:
    """Return a number as a static argument of JAX: an int, a bool, or a float as hexadecimal text, such as
    "0x1.8000000000000p+0".

    `argument` describes the number. Raises ArgumentError if `value` does not fit its type.
    """
    try:
        if argument.type == "Real":
            return float(value).hex()
        if argument.type == "bool":
            if value not in (0, 1):
                raise TypeError(f"takes True or False, not {value!r}")
            return bool(value)
        return int(index(value))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(value, jax.core.Tracer):
            raise ArgumentError(
                f"{operator}: {argument.name} is a number that the kernel takes by value, so it is a part of the "
                "program and cannot be traced: pass a Python number, which jax.jit takes by static_argnames"
            ) from None
        raise ArgumentError(f"{operator}: {argument.name}: {error}") from None
