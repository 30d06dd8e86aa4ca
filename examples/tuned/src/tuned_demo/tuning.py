"""What to try: `cuda-wheel tune tuned_demo.tuning`, in an editable install or with src on PYTHONPATH."""

import cupy

from cuda_wheel.tuning import tunable
from tuned_demo import launch


@tunable(
    "tuned_demo.kernels.row_sums",
    problems=[{"rows": 1 << 20, "columns": 3}, {"rows": 1 << 16, "columns": 64}, {"rows": 1 << 12, "columns": 4096}],
    candidates={"variant": [{"LANES": lanes} for lanes in (1, 4, 8, 32)], "block": [64, 128, 256, 512]},
    rtol=1e-5,  # the variants add in different orders
)
def row_sums(problem):
    x = cupy.random.default_rng(0).random((problem["rows"], problem["columns"]), cupy.float32)
    sums = cupy.empty(problem["rows"], cupy.float32)
    return lambda choice: launch(choice, x, sums), sums
