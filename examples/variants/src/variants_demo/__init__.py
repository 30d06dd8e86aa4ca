"""Polynomials of a degree that the compiler knows."""

import cuda_wheel

__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)
