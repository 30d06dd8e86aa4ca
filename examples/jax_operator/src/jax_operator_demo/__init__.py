"""`rms_norm(x, weight)` in one pass over the memory: a JAX operator made of a CUDA kernel."""

import jax
import jax.numpy as jnp

import cuda_wheel.jax


def in_jax(x, weight, epsilon=1e-6):
    """Return what the kernel computes, by JAX's own functions."""
    mean = jnp.mean(jnp.square(x.astype(jnp.float32)), axis=-1, keepdims=True)
    return (x * jax.lax.rsqrt(mean + epsilon) * weight).astype(x.dtype)


def backward(grad_y, x, weight, epsilon):
    """The gradients of x and weight. A second kernel could compute them; here, XLA does."""
    return jax.vjp(lambda x, weight: in_jax(x, weight, epsilon), x, weight)[1](grad_y)


rms_norm = cuda_wheel.jax.operator(
    "jax_operator_demo::rms_norm",
    module="jax_operator_demo.rms_norm",
    kernel={
        jnp.float32: "rms_norm<float>",
        jnp.float16: "rms_norm<__half>",
        jnp.bfloat16: "rms_norm<__nv_bfloat16>",
    },
    arguments="x, weight, y, columns, epsilon",  # names for the kernel's parameters
    outputs={"y": "x"},  # a new array like x
    values={"columns": lambda weight: weight.size},
    defaults={"epsilon": 1e-6},
    grid=lambda x, columns: x.size // columns,
    block=256,
    backward=backward,
)
"""The kernel for x of (..., columns) and weight of (columns), of one type: float32, float16 or bfloat16, on a GPU."""
