"""JAX operators made of kernels, without C++.

    swish = cuda_wheel.jax.operator(
        "demo::swish",
        module="demo.kernels.activations",
        kernel={jnp.float32: "swish<float>", jnp.float16: "swish<__half>"},
        arguments="x, y, n, beta",  # of swish(const float* x, float* y, int n, float beta)
        outputs={"y": "x"},
        values={"n": lambda x: x.size},
        defaults={"beta": 1.0},
        grid=lambda n: -(-n // 256),
        block=256,
    )
    y = jax.jit(lambda x: swish(x, 0.5))(x)

The manifest of the module tells the types of the kernel's parameters, so that operators can be made, traced, lowered
and exported without a GPU. In a source tree or an editable install, the module is compiled for that: for the GPU of the
machine, else for the newest target that a build of the project has; this needs a toolchain. XLA calls a handler in
Python by its foreign function interface (`jax.ffi`, so JAX 0.5.0 or later), which launches the kernel on XLA's stream.
The module is loaded for a GPU when the operator first runs there.

What the kernel's parameters, which `arguments` names, are to the operator:

- A name in `outputs` is a new array that the operator returns: like an input (`"x"`: its shape and element type), or
  made by a function, which returns a `jax.ShapeDtypeStruct`, or an array with the content that the kernel finds in it
  (`lambda x: jnp.zeros(9, x.dtype)`).
- A name in `values` is a constant, or computed by a function. The constant None is a null pointer. A struct takes its
  bytes or a NumPy record, a vector a sequence of its numbers.
- All others are the operator's arguments; those with `defaults` come last. A pointer is an array, with the default
  None one that may be missing. A number is a part of the program: each of its values is traced and compiled, and
  `jax.jit` must take it by `static_argnames`. What changes in each step is better an array.
- An array whose pointer is not `const` is changed by the kernel, unless `read_only` names it. JAX's arrays do not
  change, so the operator returns the array with its new content, after the outputs. XLA copies the array first, unless
  it was donated (`jax.jit(..., donate_argnums=...)`) or nothing else needs it.

- `more_arguments` are numbers that the operator takes and the kernel does not (`{"k": int, "train": bool}`): they
  choose the kernel, or the shapes of outputs. They come after the kernel's inputs, before arguments with defaults.

The kernel may depend on values: `kernel` is then a function that returns a name, and `kernels` lists the names that are
possible (a list of names and patterns, or one pattern). They have the parameters, which must agree in kind.

    knn = cuda_wheel.jax.operator(
        "demo::knn",
        module="demo.kernels.knn",
        kernel=lambda x, k: f"knn<float, {x.shape[1]}, {k}>",
        kernels="knn<*>",
        more_arguments={"k": int},
        ...
    )

Any other name is an error, but of a module with `specialize = true`, an instance of a template that is listed is
compiled when it is first launched. `variant` are the macros of a variant of the module (`{"NUM_MODES": 4}`), or a
function that returns them; the parameters are then read from the module's first variant.

The parameters of a function are names of what it needs: inputs, and values before it. Functions for launches (`grid`,
`block`, `shared_memory`, `cluster`) may also name outputs. They run while JAX traces, and know shapes and numbers only.
With a 0 in the grid, as for empty arrays, nothing is launched, and new outputs are zeros.

A Triton kernel (`[[tool.cuda-wheel.triton]]`) is declared in the same way, without `arguments` and `block`: its
parameters have names, and each variant has its threads. The types, numbers and constants of a call choose the variant.
`variant` has options of Triton ({"num_warps": 8}), or is a function that returns them. The page "Triton kernels" of the
documentation has an example.

`backward` makes the operator differentiable in reverse mode (`jax.grad`, `jax.vjp`). Its parameters are names of
inputs and outputs, and `grad_y` for the gradient of the output y, which it must name for each output that is not of
integers. It returns the gradients of the input arrays, in their order: an array, or a tuple of arrays and None. It may
call another operator. A gradient of a gradient is that of `backward`, and needs that JAX can differentiate it.

`jvp` makes the operator differentiable in forward mode (`jax.jvp`, `jax.jacfwd`). Its parameters are names of inputs
and outputs, and `tangent_x` for the tangent of the input x, which it must name for each array that is not of integers.
It returns the tangents of the outputs, in their order; None for an output of integers.

- With `backward` alone, forward mode is refused by JAX.
- With `jvp` alone, reverse mode transposes what `jvp` computes. JAX can do this with its own functions, and refuses
  another operator in there.
- With both, `jvp` serves forward mode and `backward` reverse mode; each may call other operators. Derivatives of higher
  order differentiate these functions, so an operator in there must be differentiable. In `jax.shard_map`, this needs
  `check_vma=False`.

`vmap` is a rule for `jax.vmap`: a function of inputs, `axis_size`, and `batched_x` for whether the array x has the
batch as its first axis. An array whose `batched_x` it does not name always has it. It returns what the operator
returns, with the batch as the first axis: `vmap=lambda x, beta: swish(x, beta)` for a kernel that treats each element
alone.

What JAX does with an operator:

- Without a rule, `jax.vmap` calls it for one element after the other. A kernel for the whole batch is faster.
- `jax.shard_map` calls it on each GPU for that GPU's part. `jax.jit` of a sharded array without `shard_map` collects
  the array on each GPU first.
- CUDA graphs: XLA may capture the launch and replay it without Python.
- `jax.export` keeps it in programs (`DisabledSafetyCheck.custom_call("cuda_wheel_launch")`); the process that runs one
  makes the operator first. It must find the kernel that the program was made for: the same module, with the same images
  for all targets, and the same kernel of it; a wheel that was built again from the same files has them. Any other is
  refused. In a source tree, the images are those of one target, so export and run with the wheel installed. Programs
  with symbolic shapes are refused.
- An error that only the launch shows, such as a block that is too large for the kernel, is JAX's `JaxRuntimeError`.
- When the interpreter ends, the programs that run are waited for, and daemon threads that still run operators are held
  until the process has ended. One that calls only JAX's own functions then may end the process with an error.

JAX is no dependency of cuda-wheel: it is imported when the first operator is made.
"""

from cuda_wheel.jax.operators import operator

__all__ = ["operator"]
