"""`RawModule` and `RawKernel` with the interface of CuPy's, for kernels that a wheel has.

    from cuda_wheel.cupy import RawModule

    # was: cupy.RawModule(code=SOURCE, options=("-DBLOCK=256",))
    module = RawModule("demo.kernels.scale")
    scale = module.get_function("scale")
    scale((grid,), (block,), (x, y, cupy.float32(2.5), cupy.int32(x.size)))

The line that makes the module names it in place of its source; all lines that use it stay. CuPy is not imported until
`get_global` returns one of its pointers, and launches run on its current stream.
"""

from cuda_wheel.cupy.raw_modules import RawKernel, RawModule

__all__ = ["RawKernel", "RawModule"]
