"""Make a PyTorch operator of a kernel: `operator`, and what it registers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cuda_wheel.operators.declarations import OperatorArguments, declared
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch import functions as operator_functions
from cuda_wheel.torch.functions import Gradients, OperatorFunctions, schema

__all__ = ["operator"]

_libraries: list[Any] = []
"""Libraries of PyTorch with the registrations of operators, which end when a library is freed."""


def operator(
    name: str,
    *,
    kernel: Any,
    arguments: str | Sequence[str],
    grid: Any,
    block: Any,
    module: str | None = None,
    outputs: Mapping[str, Any] = {},
    values: Mapping[str, Any] = {},
    defaults: Mapping[str, Any] = {},
    backward: Callable[..., Any] | None = None,
    autocast: Any = None,
    non_contiguous: str = "copy",
    read_only: Iterable[str] = (),
    shared_memory: Any = 0,
    cluster: Any = None,
    cooperative: bool = False,
) -> Any:
    """Return a new PyTorch operator that launches a kernel, such as `torch.ops.demo.swish.default`.

    `name` is "namespace::operator". `kernel` is a kernel or its name in `module`, or maps the element type of the first
    tensor to one, or the element types of the first few tensors (a tuple). `arguments` names the kernel's parameters in
    their order; `outputs`, `values` and `defaults` say what they are. `grid`, `block`, `shared_memory`, `cluster` and
    `cooperative` are what `Kernel.launch` takes, or functions. The documentation of `cuda_wheel.torch` has an example
    and describes all of them.

    Raises ArgumentError for a declaration that does not fit the kernel, ImageError if the module or a kernel is
    missing, and ImportError if PyTorch is not installed. A call raises ArgumentError for tensors that the kernel does
    not take.
    """
    torch = _imported_torch()
    namespace, _, short = name.partition("::")
    if not (namespace.isidentifier() and short.isidentifier()):
        raise ArgumentError(f"{name!r} is not an operator's name, such as 'demo::swish'")
    if non_contiguous not in ("copy", "refuse", "pass"):
        raise ArgumentError(f'{name}: non_contiguous is "copy", "refuse" or "pass", not {non_contiguous!r}')
    launching: dict[str, Any] = {"grid": grid, "block": block, "shared_memory": shared_memory, "cluster": cluster}
    launching["cooperative"] = cooperative
    declaration = declared(name, kernel, module, arguments, outputs, values, defaults, read_only, launching)
    gradients = None if backward is None else Gradients(name, declaration.arguments, backward)
    functions = OperatorFunctions(torch, declaration, non_contiguous)
    written = _checked_schema(torch, name, declaration.arguments)
    return _register(torch, name, written, functions, gradients, autocast)


def _checked_schema(torch: Any, name: str, roles: OperatorArguments) -> str:
    """Return the operator's schema; raise ArgumentError if PyTorch cannot read it, or has an operator of the name."""
    namespace, _, short = name.partition("::")
    written = schema(name, roles)
    try:
        torch._C.parse_schema(written)
    except (RuntimeError, UnicodeError) as error:
        reason = next(iter(str(error).splitlines()), "").removesuffix(" here:")
        raise ArgumentError(f"{name}: PyTorch cannot read the schema {written}: {reason}") from None
    operators = getattr(torch.ops, namespace)
    if not isinstance(operators, type(torch.ops.aten)) or hasattr(operators, short):
        raise ArgumentError(f"{name}: torch.ops.{namespace}.{short} exists already")
    return written


def _register(
    torch: Any,
    name: str,
    written: str,
    functions: OperatorFunctions,
    gradients: Gradients | None,
    autocast: Any,
) -> Any:
    """Register an operator with PyTorch and return it."""
    namespace, _, short = name.partition("::")
    library = torch.library.Library(namespace, "FRAGMENT")
    library.define(written, tags=(torch.Tag.pt2_compliant_tag,))
    # Not torch.library.custom_op: its wrappers take twice the time of a call.
    launch = functions.launching_function()
    library.impl(short, launch, operator_functions.GPU_KEY)
    library.impl(short, _elsewhere(name), "CompositeExplicitAutograd")  # every device without an implementation
    torch.library.register_fake(name, functions.shape_function(), lib=library)
    if hasattr(torch.library, "get_kernel"):  # PyTorch 2.9
        library.impl(
            short,
            functions.transformed_function(gradients is not None),
            operator_functions.TRANSFORM_KEY,
            with_keyset=True,
        )
    if gradients is not None:
        torch.library.register_autograd(
            name,
            gradients.differentiate,
            setup_context=lambda ctx, inputs, output: gradients.keep(ctx, inputs, output),  # called with these names
            lib=library,
        )
        if hasattr(torch.library, "get_kernel"):  # PyTorch 2.9; before, each call takes longer
            key = operator_functions.AUTOGRAD_KEY
            general, differentiable = torch.library.get_kernel(name, key), gradients.differentiable(torch, launch)
            function = functions.differentiable_function(differentiable, general)
            library.impl(short, function, key, with_keyset=True)
    if autocast is not None:
        torch.library.register_autocast(name, "cuda", autocast, lib=library)
    _libraries.append(library)
    return getattr(getattr(torch.ops, namespace), short).default


def _elsewhere(name: str) -> Callable[..., Any]:
    """Return the implementation for tensors that are not on a GPU, sparse or quantized, which raises ArgumentError."""

    def refuse(*arguments: Any, **more: Any) -> Any:
        tensors = [each for each in (*arguments, *more.values()) if hasattr(each, "device")]
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
