"""`normalise(x)` divides each row by the root of the mean of its squares; its gradient is a kernel too."""

import cuda_wheel.torch

MODULE = "torch_operator_demo.normalise"

gradient = cuda_wheel.torch.operator(
    "torch_operator_demo::normalise_gradient",
    module=MODULE,
    kernel="normalise_gradient",
    arguments="grad_y, y, scale, grad_x, columns",
    outputs={"grad_x": "y"},
    values={"columns": lambda y: y.shape[-1]},
    grid=lambda y: y.shape[0],  # a block for each row
    block=128,
)

normalise = cuda_wheel.torch.operator(
    "torch_operator_demo::normalise",
    module=MODULE,
    kernel="normalise",
    arguments="x, y, scale, columns, epsilon",
    outputs={"y": "x", "scale": lambda x: x.new_empty(x.shape[0])},
    values={"columns": lambda x: x.shape[-1]},
    defaults={"epsilon": 1e-6},
    grid=lambda x: x.shape[0],
    block=128,
    backward=gradient,  # it gets what its arguments name: the gradient of y, and the outputs y and scale
)
"""normalise(x, epsilon=1e-6) -> (y, scale): `x` is (rows, columns), float32, on a GPU. `scale` has no gradient, because
`backward` takes no grad_scale."""
