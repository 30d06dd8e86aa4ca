"""Make a PyTorch operator of a kernel, or of a Python function that launches kernels, and register it."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, SupportsFloat, SupportsIndex, TypeAlias, TypeVar, overload

from cuda_wheel.operators.declarations import Declaration, InputArgument, TritonInstances, declared
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch import functions as operator_functions
from cuda_wheel.torch.functions import OperatorFunctions, one_after_the_other, schema
from cuda_wheel.torch.gradients import Gradients

__all__ = ["operator"]

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    from torch import SymBool, SymFloat, SymInt, Tensor
    from torch._ops import OpOverload
    from typing_extensions import TypeVar as TypeVarWithDefault  # type checkers bundle its stub

    Argument: TypeAlias = Tensor | SymInt | SymFloat | SymBool | SupportsFloat | SupportsIndex | None

    class Results(Tensor, tuple[Any, ...]):  # type: ignore[misc]
        """Results of an operator with `outputs`: a tensor, or a tuple of several.

        Python's types cannot count the keys of a mapping. Type checkers accept a value of this class as a tensor and as
        a tuple of any length; each item is a tensor.
        """

        def __iter__(self) -> Iterator[Tensor]: ...

    Result = TypeVarWithDefault("Result", bound=Tensor | tuple[Tensor, ...] | None, default=Results)
    """Where the operator is assigned to an annotated name, type checkers take this type from the annotation."""

    class DeclaredOperator(OpOverload[..., Result]):  # type: ignore[misc]
        """Operator that is declared with `kernel`."""

        def __call__(self, /, *args: Argument, **kwargs: Argument) -> Result: ...


_registrations: dict[str, tuple[Any, Any]] = {}
"""Name of an operator -> (PyTorch's `Library` object, the operator). Destroying the library ends the registrations of
the operator."""

_registering = RLock()
"""Lock held while an operator is registered. It may be taken again by the thread that has it, because PyTorch may run
other Python code meanwhile."""


# For type checkers: a Python function's annotations are those of its operator. What a declaration with `kernel` takes,
# only the kernel's manifest says; without `outputs`, the operator returns nothing.
@overload
def operator(
    name: str,
    function: Callable[P, R],
    *,
    outputs: str | Sequence[str] = (),
    writes: str | Iterable[str] = (),
    read_only: str | Iterable[str] = (),
    random: bool = False,
    fake: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    autocast: Any = None,
    non_contiguous: str = "copy",
) -> "OpOverload[P, R]": ...
@overload
def operator(
    name: str,
    function: None = None,
    *,
    outputs: str | Sequence[str] = (),
    writes: str | Iterable[str] = (),
    read_only: str | Iterable[str] = (),
    random: bool = False,
    fake: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    autocast: Any = None,
    non_contiguous: str = "copy",
) -> "Callable[[Callable[P, R]], OpOverload[P, R]]": ...
@overload
def operator(
    name: str,
    *,
    kernel: Any,
    grid: Any,
    arguments: str | Sequence[str] | None = None,
    block: Any = None,
    module: str | None = None,
    kernels: Any = None,
    variant: Any = None,
    values: Mapping[str, Any] = {},
    defaults: Mapping[str, Any] = {},
    more_arguments: Mapping[str, type] = {},
    shared_memory: Any = 0,
    cluster: Any = None,
    cooperative: bool = False,
    read_only: str | Iterable[str] = (),
    backward: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    autocast: Any = None,
    non_contiguous: str = "copy",
) -> "DeclaredOperator[None]": ...
@overload
def operator(
    name: str,
    *,
    kernel: Any,
    grid: Any,
    arguments: str | Sequence[str] | None = None,
    block: Any = None,
    module: str | None = None,
    kernels: Any = None,
    variant: Any = None,
    outputs: Mapping[str, Any],
    values: Mapping[str, Any] = {},
    defaults: Mapping[str, Any] = {},
    more_arguments: Mapping[str, type] = {},
    shared_memory: Any = 0,
    cluster: Any = None,
    cooperative: bool = False,
    read_only: str | Iterable[str] = (),
    backward: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    autocast: Any = None,
    non_contiguous: str = "copy",
) -> "DeclaredOperator[Result]": ...
def operator(
    name: str,
    function: Callable[..., Any] | None = None,
    *,
    kernel: Any = None,
    module: str | None = None,
    kernels: Any = None,
    variant: Any = None,
    arguments: str | Sequence[str] | None = None,
    outputs: Mapping[str, Any] | str | Sequence[str] = (),
    values: Mapping[str, Any] = {},
    defaults: Mapping[str, Any] = {},
    more_arguments: Mapping[str, type] = {},
    grid: Any = None,
    block: Any = None,
    shared_memory: Any = 0,
    cluster: Any = None,
    cooperative: bool = False,
    writes: Iterable[str] = (),
    read_only: Iterable[str] = (),
    random: bool = False,
    fake: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vmap: Callable[..., Any] | None = None,
    autocast: Any = None,
    non_contiguous: str = "copy",
) -> Any:
    """Return a new PyTorch operator, such as `torch.ops.demo.swish.default`. `name` is "namespace::operator".

    With `kernel`, the operator is one launch: `kernel` is a kernel or its name in `module`; or a mapping to such from
    the element type of the first tensor, or from a tuple of the element types of the first few tensors; or a function
    that returns the name of one of `kernels`. `variant` are the macros of a variant of the module, or a function that
    returns them. `arguments` names the kernel's parameters in their order; `outputs`, `values` and `defaults` say which
    of them are outputs, computed values, and arguments with a default. `more_arguments` maps the names of numbers that
    the operator takes and the kernel does not to int, float or bool. `grid`, `block`, `shared_memory`, `cluster` and
    `cooperative` are what `Kernel.launch` takes, or functions that return it. For a Triton kernel, `arguments`, `block`
    and what follows it are left out; `variant` has options of Triton, such as {"num_warps": 8}.

    Without `kernel`, it is the decorator of a Python function that makes the outputs, launches kernels of `kernels` and
    calls PyTorch. `writes` names the inputs that it changes, `outputs` its results for `backward`. `random` says that
    it draws random numbers. `fake` is another function for the outputs of fake tensors.

    The documentation of `cuda_wheel.torch` has examples and describes all of them. An operator that was made here is
    replaced by one of the same name.

    Raises ArgumentError for a declaration that does not fit the kernel or the function, ImageError if the module or a
    kernel is missing, and ImportError if PyTorch is not installed; then nothing is registered. A call raises
    ArgumentError for tensors that the kernel does not take.
    """
    torch = _imported_torch()
    _check_common(name, non_contiguous, {"backward": backward, "jvp": jvp, "vmap": vmap, "fake": fake})
    settings = Settings(backward, jvp, vmap, autocast, bool(random))
    launching: dict[str, Any] = {"grid": grid, "block": block, "shared_memory": shared_memory, "cluster": cluster}
    launching["cooperative"] = cooperative
    if kernel is None:
        of_kernels = {"module": module, "kernels": kernels, "variant": variant, "arguments": arguments}
        of_kernels |= {"values": values, "defaults": defaults, "more_arguments": more_arguments, **launching}
        if given := [what for what, value in of_kernels.items() if value]:
            raise ArgumentError(f"{name}: {' and '.join(given)} belong to an operator with kernel, which is not given")
        if isinstance(outputs, Mapping):
            raise ArgumentError(f"{name}: outputs of an operator without kernel are names: the function makes them")

        from cuda_wheel.torch.bodies import BodyFunctions, body_of  # only for Python functions

        def decorate(function: Callable[..., Any]) -> Any:
            body = body_of(torch, name, function, outputs, writes, read_only, settings.is_random, fake)
            functions = BodyFunctions(torch, name, body, non_contiguous)
            made = _registered(torch, name, body.schema, functions, body.inputs, body.outputs, settings)
            made.__doc__ = inspect.getdoc(function)
            return made

        return decorate if function is None else decorate(function)
    _check_declared(name, function, outputs, writes, random, fake)
    declaration = declared(
        name,
        kernel,
        module,
        arguments,
        outputs or {},  # type: ignore[arg-type]  # the check above
        values,
        defaults,
        read_only,
        launching,
        kernels,
        variant,
        more_arguments,
    )
    roles = declaration.arguments
    written = schema(name, roles)
    functions = _declared_functions(torch, declaration, non_contiguous)
    return _registered(torch, name, written, functions, roles.inputs, tuple(roles.outputs), settings)


class Settings(NamedTuple):
    """Settings of an operator's declaration that concern PyTorch and not the kernel."""

    backward: Callable[..., Any] | None
    jvp: Callable[..., Any] | None
    vmap: Callable[..., Any] | None
    autocast: Any
    is_random: bool


def _check_common(name: Any, non_contiguous: Any, functions: Mapping[str, Any]) -> None:
    """Raise ArgumentError for a wrong `name` or `non_contiguous`, and for a value in `functions` that is neither
    callable nor None.

    `functions` maps names of settings, such as "backward", to their values.
    """
    namespace, _, short = name.partition("::") if isinstance(name, str) else ("", "", "")
    if not (namespace.isidentifier() and short.isidentifier()):
        raise ArgumentError(f"{name!r} is not an operator's name, such as 'demo::swish'")
    if non_contiguous not in ("copy", "refuse", "pass"):
        raise ArgumentError(f'{name}: non_contiguous is "copy", "refuse" or "pass", not {non_contiguous!r}')
    for what, function in functions.items():
        if function is not None and not callable(function):
            raise ArgumentError(f"{name}: {what} takes a function, not {function!r}")


def _check_declared(name: str, function: Any, outputs: Any, writes: Any, random: Any, fake: Any) -> None:
    """Raise ArgumentError if a declaration with `kernel` has a setting that belongs to an operator without `kernel` (a
    Python function)."""
    others = {"a function": function, "writes": writes, "random": random, "fake": fake}
    if extra := [what for what, value in others.items() if value]:
        raise ArgumentError(f"{name}: {' and '.join(extra)} belong to an operator without kernel, but kernel is given")
    if outputs and not isinstance(outputs, Mapping):
        raise ArgumentError(f"{name}: outputs maps names to what makes them, not {outputs!r}")


def _declared_functions(torch: Any, declaration: Declaration, non_contiguous: str) -> OperatorFunctions:
    if isinstance(declaration.kernels, TritonInstances):
        from cuda_wheel.torch.declared_triton import TritonFunctions

        return TritonFunctions(torch, declaration, non_contiguous)
    from cuda_wheel.torch.declared import DeclaredFunctions

    return DeclaredFunctions(torch, declaration, non_contiguous)


def _registered(
    torch: Any,
    name: str,
    written: str,
    functions: OperatorFunctions,
    inputs: Sequence[InputArgument],
    outputs: Sequence[str],
    settings: Settings,
) -> Any:
    """Register an operator with PyTorch, and return it. It replaces an operator of the same name that this function
    registered before.

    `written` is its schema. Raise ArgumentError if PyTorch cannot read the schema, or has an operator of this name from
    elsewhere.
    """
    gradients = _gradients(name, inputs, outputs, settings)
    namespace, _, short = name.partition("::")
    try:
        parsed = torch._C.parse_schema(written)
    except (RuntimeError, UnicodeError) as error:
        reason = next(iter(str(error).splitlines()), "").removesuffix(" here:")
        raise ArgumentError(f"{name}: PyTorch cannot read the schema {written}: {reason}") from None
    with _registering:
        operators = getattr(torch.ops, namespace)
        library, earlier = _registrations.pop(name, (None, None))
        if library is not None:
            library._destroy()
        if not isinstance(operators, type(torch.ops.aten)) or hasattr(operators, short):
            raise ArgumentError(
                f"{name}: torch.ops.{namespace}.{short} exists already: choose another name, or implement the "
                "existing operator for CUDA with torch.library.Library.impl"
            )
        library = torch.library.Library(namespace, "FRAGMENT")
        try:
            made = _register(torch, library, name, written, functions, inputs, len(parsed.returns), gradients, settings)
        except BaseException:
            library._destroy()
            raise
        _registrations[name] = library, made
        if earlier is not None and type(earlier) is not torch._ops.OpOverload:
            type(earlier).__call__ = lambda earlier, *args, **more: made(*args, **more)  # who holds it gets the new one
    return made


def _gradients(
    name: str, inputs: Sequence[InputArgument], outputs: Sequence[str], settings: Settings
) -> Gradients | None:
    """Return the `Gradients` of an operator. Return None if it has neither `backward` nor `jvp`, and PyTorch cannot
    differentiate it: it writes inputs or has no outputs."""
    has_any = settings.backward is not None or settings.jvp is not None
    if not has_any and (not outputs or any(each.written for each in inputs)):
        return None
    return Gradients(name, inputs, outputs, settings.backward, settings.jvp)


def _register(
    torch: Any,
    library: Any,
    name: str,
    written: str,
    functions: OperatorFunctions,
    inputs: Sequence[InputArgument],
    returns: int,
    gradients: Gradients | None,
    settings: Settings,
) -> Any:
    """Register the schema and all implementations of an operator in a library of PyTorch; return the operator.

    `written` is the schema; `returns` is the number of the operator's results.
    """
    short = name.partition("::")[2]
    tags = [torch.Tag.pt2_compliant_tag, *([torch.Tag.nondeterministic_seeded] if settings.is_random else [])]
    library.define(written, tags=tuple(tags))
    # Not torch.library.custom_op: its wrappers take twice the time of a call.
    launch = functions.launching_function(gradients is not None and gradients.has_jvp)
    library.impl(short, launch, operator_functions.GPU_KEY)
    library.impl(short, _elsewhere(name), "CompositeExplicitAutograd")  # every device without an implementation
    torch.library.register_fake(name, functions.shape_function(), lib=library)
    made = getattr(getattr(torch.ops, name.partition("::")[0]), short).default
    batched = settings.vmap or one_after_the_other(name, inputs, returns, made, settings.is_random)
    if hasattr(torch.library, "register_vmap"):  # PyTorch 2.5
        torch.library.register_vmap(name, batched, lib=library)
    if gradients is not None:
        torch.library.register_autograd(
            name,
            gradients.differentiate,
            setup_context=lambda ctx, inputs, output: gradients.keep(ctx, inputs, output),  # called with these names
            lib=library,
        )
    if settings.autocast is not None:
        torch.library.register_autocast(name, "cuda", settings.autocast, lib=library)
    if hasattr(torch.library, "get_kernel"):  # PyTorch 2.9; before, each call takes longer
        _register_transforms(torch, library, name, made, functions, launch, gradients, settings, batched)
    return made


def _register_transforms(
    torch: Any,
    library: Any,
    name: str,
    made: Any,
    functions: OperatorFunctions,
    launch: Callable[..., Any],
    gradients: Gradients | None,
    settings: Settings,
    batched: Callable[..., Any],
) -> None:
    """Register further implementations of the operator `made`:

    - for calls inside transforms of `torch.func`;
    - for plain tensors, at the dispatch key of autograd, if the operator has gradients and takes no list of tensors;
    - for plain tensors in calls from Python, unless the operator has gradients and takes a list of tensors.

    `launch`: the operator's function that launches. `batched`: its rule for `torch.vmap`.
    """
    short = name.partition("::")[2]
    derivative = None if gradients is None else gradients.transformable(torch, made, batched)
    reverse = None if settings.backward is None else derivative
    forward = None if settings.jvp is None else derivative
    transformed = functions.transformed_function(reverse, forward, settings.autocast)
    library.impl(short, transformed, operator_functions.TRANSFORM_KEY, with_keyset=True)
    differentiable = None
    if gradients is not None:
        differentiable = gradients.differentiable(torch, functions.prepared_function())
        if differentiable is None:
            return
        key = operator_functions.AUTOGRAD_KEY
        general = torch.library.get_kernel(name, key)
        with_tangents = gradients.transformable(torch, launch, batched) if gradients.has_jvp else None
        function = functions.differentiable_function(differentiable, general, with_tangents)
        library.impl(short, function, key, with_keyset=True)
    direct = functions.direct_function(made._op, differentiable, settings.autocast is not None)
    direct.__name__ = direct.__qualname__ = short  # in Python's message for missing arguments
    # A subclass of PyTorch's class, so that all else of the operator stays as PyTorch made it.
    made.__class__ = type("OpOverload", (type(made),), {"__call__": direct, "__module__": __name__})


def _elsewhere(name: str) -> Callable[..., Any]:
    """Return the implementation for tensors that are in host memory, sparse or quantized: it raises ArgumentError."""

    def refuse(*arguments: Any, **more: Any) -> Any:
        given = [
            each for value in (*arguments, *more.values()) for each in (value if isinstance(value, list) else [value])
        ]
        tensors = [each for each in given if hasattr(each, "device")]
        if not tensors:
            raise ArgumentError(f"{name} takes tensors on a GPU of CUDA, but got none")
        if all(tensor.is_cuda for tensor in tensors):
            kinds = sorted({f"{tensor.layout} of {tensor.dtype}".replace("torch.", "") for tensor in tensors})
            raise ArgumentError(f"{name} takes tensors that are neither sparse nor quantized, not {', '.join(kinds)}")
        devices = sorted({str(tensor.device) for tensor in tensors})
        raise ArgumentError(f"{name} takes tensors on a GPU of CUDA, not on {', '.join(devices)}")

    return refuse


def _imported_torch() -> Any:
    try:
        import torch  # optional
    except ImportError as error:
        raise ImportError(f"cuda_wheel.torch makes operators of PyTorch, which cannot be imported ({error})") from error
    return torch
