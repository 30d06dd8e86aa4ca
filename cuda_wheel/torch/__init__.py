"""PyTorch operators made of kernels, without C++: declared as one launch, or Python functions that launch.

    swish = cuda_wheel.torch.operator(
        "demo::swish",
        module="demo.kernels.activations",
        kernel={torch.float32: "swish<float>", torch.float16: "swish<__half>"},
        arguments="x, y, n, beta",  # of swish(const float* x, float* y, int n, float beta)
        outputs={"y": "x"},
        values={"n": lambda x: x.numel()},
        defaults={"beta": 1.0},
        grid=lambda n: -(-n // 256),
        block=256,
    )
    y = swish(x, 0.5)  # demo::swish(Tensor x, float beta=1.0) -> Tensor

The manifest of the module tells the types of the kernel's parameters, so that operators can be made, compiled and
exported without a GPU. In a source tree or an editable install, the module is compiled for that: for the GPU of the
machine, else for the newest target that a build of the project has; this needs a toolchain. The module is loaded for a
GPU when the operator first runs there. It runs on PyTorch's current
stream, under `torch.compile` and `torch.export`, and in CUDA graphs after a first call, which loads the module.

What the kernel's parameters, which `arguments` names, are to the operator:

- A name in `outputs` is a new tensor that the operator returns: like an input (`"x"`: its shape, element type and GPU),
  or made by a function (`lambda x: x.new_zeros(9)`), which may not return an input or a part of one.
- A name in `values` is a constant, or computed by a function.
- All others are the operator's arguments; those with `defaults` come last. A pointer is a tensor, with the default None
  one that may be missing. A number is an `int`, a `float` or a `bool`. In the schema, a default that PyTorch cannot
  write there (`inf`, `nan`) is None: `float? beta=None`.
- A tensor whose pointer is not `const` is written by the operator (`Tensor(x!)` in its schema), unless `read_only`
  names it. Such an operator has no gradient: it is refused where a tensor requires one, unless inside
  `torch.no_grad()`.

The parameters of a function are names of what it needs: inputs, and values before it. Functions for launches (`grid`,
`block`, `shared_memory`, `cluster`) may also name outputs. With a 0 in the grid, as for empty tensors, nothing is
launched. Any other grid than one to three whole numbers is an error, also the None of a function without `return`.

A Triton kernel (`[[tool.cuda-wheel.triton]]`) is declared in the same way, without `arguments` and `block`: its
parameters have names, and each variant has its threads. The types, numbers and constants of a call choose the variant.
`variant` has options of Triton ({"num_warps": 8}), or is a function that returns them. The page "Triton kernels" of the
documentation has an example.

- `kernel` may be a function too, which returns the name of a kernel or a tuple of its name and template arguments;
  `kernels` lists what it may return, by names or a pattern such as "knn<*>". `variant` is a mapping of macros of one of
  the module's variants, or a function that returns one. `more_arguments` maps the names of numbers that the operator
  takes and the kernel does not to int, float or bool.
- `backward` makes the operator differentiable. It is a formula or a kernel, see below. Without it, asking for a
  gradient raises ArgumentError.
- `jvp` makes it differentiable in forward mode: a function of `tangent_x` for each tensor input x, and of inputs and
  outputs that it names, which returns the tangents of the outputs.
- `vmap` is a rule for batches, as `torch.library.register_vmap` takes it. Without it, `torch.vmap` calls the operator
  for one element after the other.
- `autocast` is the element type to which autocast converts the floating-point inputs.
- `non_contiguous` says what happens to a tensor that is not contiguous: "copy" (the default) makes it contiguous, and
  refuses it if the operator writes it; "refuse" raises ArgumentError; "pass" gives the kernel its address, and its
  strides can be computed in `values`. An output that is like an input is contiguous in any case; with "pass", a
  function may make another one (`lambda x: torch.empty_like(x)`: the strides of x).

The gradient of an operator:

- A formula is a function of the inputs and outputs that it names, and of `grad_y`, the gradient of the output y. An
  output whose gradient it does not name has none. It returns the gradients of the tensor inputs, in their order: a
  tensor, or a tuple of tensors and None. It may call other operators. If these are differentiable, so is the gradient.

      backward=lambda grad_y, x, w: (grad_y * w, grad_y * x)

- A kernel is another operator, whose arguments have such names:

      gradient = cuda_wheel.torch.operator(
          "demo::swish_gradient",
          module="demo.kernels.activations",
          kernel="swish_gradient",
          arguments="grad_y, x, grad_x, n, beta",
          outputs={"grad_x": "x"},
          ...
      )
      swish = cuda_wheel.torch.operator("demo::swish", ..., backward=gradient)

Only the tensors that `backward` names are kept for it. Tensor subclasses, modes, transforms of `torch.func` and
profilers see the operator as they see PyTorch's own. Derivatives that the operator does not have are refused: they
would be zero.

An operator that is a Python function:

    kernels = cuda_wheel.torch.kernels("demo.kernels.search")

    @cuda_wheel.torch.operator("demo::nearest")
    def nearest(points: Tensor, queries: Tensor) -> Tensor:
        n, dimensions = points.shape
        index = queries.new_empty(queries.size(0), dtype=torch.int64)
        kernel = kernels["nearest", points.dtype, dimensions]
        kernel.launch(-(-n // 128), 128, points, queries, index, n)
        return index

Its annotations are the operator's schema. It runs as it is; with fake tensors it makes the shapes, and its launches
only check their arguments. `writes` names the inputs that it changes; `read_only` those that kernels could write by
their types, and do not; `outputs` the results, for `backward`; `random=True` says that it draws random numbers; `fake`
is another function for the shapes. `backward`, `jvp`, `vmap`, `autocast` and `non_contiguous` are as above. The page
"Host functions of an extension, in Python" of the documentation shows each by an example.

An operator always launches on PyTorch's current stream, also inside `cuda_wheel.launch_stream`, because its outputs are
memory of that stream. Tensors are checked against the kernel's parameters before the first launch with their GPUs and
element types.

PyTorch is no dependency of cuda-wheel: it is imported when the first operator is made.
"""

from typing import TYPE_CHECKING, Any

from cuda_wheel.torch.operators import operator

if TYPE_CHECKING:
    from cuda_wheel.torch.host_values import PhiloxState, packed, philox, read_size
    from cuda_wheel.torch.module_kernels import ModuleKernels, kernels

__all__ = ["ModuleKernels", "PhiloxState", "kernels", "operator", "packed", "philox", "read_size"]


def __getattr__(name: str) -> Any:
    """Import what only operators that are Python functions use, when it is first used."""
    from importlib import import_module

    modules = {"ModuleKernels": "module_kernels", "kernels": "module_kernels"}
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{modules.get(name, 'host_values')}"), name)
    return found
