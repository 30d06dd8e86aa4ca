"""Tune a kernel: declare what to try, for `cuda-wheel tune`.

    from cuda_wheel.tuning import tunable

    @tunable(
        "demo.kernels.scale",
        problems=[{"n": 1 << 12}, {"n": 1 << 24}],
        candidates={"kernel": ["scale<1>", "scale<4>"], "block": [64, 128, 256]},
    )
    def scale(problem):
        x = cupy.random.random(problem["n"], "f4")
        y = cupy.empty_like(x)
        return lambda choice: launch(choice, x, y), y

`cuda-wheel tune demo.tuning:scale` calls the function once for each problem. It returns a function that launches a
candidate, and the array with the results, or a tuple of such arrays: on the GPU or in host memory. Every
candidate starts with the same content of these arrays, runs once, and must give the results of the first candidate,
which is the reference; only then is it timed, again each time with this content. So the arrays must be all that a
launch changes. The choices go into the table `scale.tuned.json` in the module's package.
A program asks for them by `cuda_wheel.tuned("demo.kernels.scale", "scale", {"n": x.size})`, and gets what `launch` got
here:

    def launch(choice, x, y):
        choice.kernel.launch(-(-x.size // choice["block"]), choice["block"], x, y, x.size)

For a Triton kernel, the function has the kernel's name, and no candidates: all that the kernel was compiled with is
tried. `choice.parameters` are the constants that `triton.autotune` chooses, and options. Launches that leave them out
then find the choice in the table by themselves: by the keys of `problems`, which are parameters of the kernel, as the
`key` of `triton.autotune` is. The value for an array is the name of its element type.

    @tunable("demo.kernels.copies", problems=[{"n": 1 << 12}, {"n": 1 << 24}])
    def copy(problem):
        n = problem["n"]
        x, y = torch.randn(n, device="cuda"), torch.zeros(n, device="cuda")

        def grid(meta):
            return (triton.cdiv(n, meta["BLOCK"]),)

        return lambda choice: choice.kernel.launch(grid, y, x, n, **choice.parameters), y

`candidates` are lists of values, of which the product is tried; or a list of dictionaries; or a function that returns
one of these for a problem. Two keys have a meaning: "kernel" is the name of the kernel, which may be left out for a
module with one kernel, and "variant" the macros of the module's variant. All others are parameters of the program.

Without `rtol` and `atol`, the results must be equal bit by bit; with them |x - reference| <= atol + rtol * |reference|
must be true of each element, and NaN equals NaN; this needs NumPy.

The launches must run on the default stream, or on a stream that waits for it, as they do unless the program chooses
another stream.
"""

from cuda_wheel.tuning.tunable import Tunable, tunable

__all__ = ["Tunable", "tunable"]
