"""The heat equation on a rod, in thousands of short steps."""

import cuda_wheel

__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
