"""A decaying average, updated by a kernel on the stream of its caller."""

import cuda_wheel

__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
