"""Compare the operator with JAX's own functions on this machine's GPU: `python -m jax_operator_demo`."""

import sys

import jax
import jax.numpy as jnp

from jax_operator_demo import in_jax, rms_norm

TOLERANCES = {jnp.float32: 1e-5, jnp.float16: 2e-3, jnp.bfloat16: 2e-2}


def loss(norm):
    return lambda x, weight: jnp.square(norm(x, weight) - 1).mean().astype(jnp.float32)


def main():
    keys = jax.random.split(jax.random.key(0))
    for dtype, tolerance in TOLERANCES.items():
        x = jax.random.normal(keys[0], (64, 1000), dtype)
        weight = jax.random.normal(keys[1], (1000,), dtype)
        differences = {
            "jit": (jax.jit(rms_norm)(x, weight), in_jax(x, weight)),
            "vmap": (jax.vmap(rms_norm, (0, None))(x, weight), in_jax(x, weight)),
            "grad": (jax.grad(loss(rms_norm))(x, weight), jax.grad(loss(in_jax))(x, weight)),
        }
        for name, (found, wanted) in differences.items():
            error = float(jnp.abs(found - wanted).max())
            print(f"{name}, {jnp.dtype(dtype).name}: largest error {error:.3g}")
            if not error <= tolerance * max(1.0, float(jnp.abs(wanted).max())):
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
