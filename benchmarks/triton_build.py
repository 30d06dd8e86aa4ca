"""Measure the build of 100 Triton kernels for 4 architectures beside the same calls of Triton by hand, on all cores:
`python benchmarks/triton_build.py [ROUNDS]`.

By hand means a pool of processes that call `triton.compile` and keep nothing: no fatbins, manifests and PTX versions.
The benchmark needs `cuda-wheel[cu13]` and Triton.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _interleave import compare
from _results import Goal, Result

from cuda_wheel.builder.workers.pool import available_cores

__all__ = ["measure"]

OURS, BY_HAND = "cuda-wheel build", "triton.compile in a pool"
KERNELS, CAPABILITIES = 100, (80, 90, 100, 120)

KERNEL = """
@triton.jit
def kernel_{number}(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x, y = tl.load(x_ptr + offsets, mask=mask), tl.load(y_ptr + offsets, mask=mask)
    total = tl.sum(tl.exp(x - {number}.0) * y, axis=0)
    tl.store(out_ptr + offsets, x * total + {number}, mask=mask)
"""

BY_HAND_PROGRAM = """
import concurrent.futures, multiprocessing, os, sys
os.environ |= {"TRITON_ALWAYS_COMPILE": "1", "TRITON_DISABLE_LINE_INFO": "1"}

def compiled(job):
    number, capability = job
    import demo.kernels, triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    attributes = {(at,): [["tt.divisibility", 16]] for at in range(3)}
    source = ASTSource(getattr(demo.kernels, f"kernel_{number}"), signature, {(4,): 1024}, attributes)
    result = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    return len(result.asm["cubin"])

if __name__ == "__main__":
    cores, count, *capabilities = map(int, sys.argv[1:])
    jobs = [(number, capability) for number in range(count) for capability in capabilities]
    with concurrent.futures.ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        assert all(pool.map(compiled, jobs, chunksize=4))
"""


def measure(rounds: int | None = None) -> list[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        project = _project(folder / "project")
        cores = str(available_cores())

        def ours() -> float:
            with tempfile.TemporaryDirectory() as empty:
                output = Path(empty, "output")
                command = [sys.executable, "-m", "cuda_wheel", "build", "-q", "-o", str(output), str(project)]
                return _seconds(command, folder, CUDA_WHEEL_CACHE_DIR=str(Path(empty, "cache")))

        def by_hand() -> float:
            numbers = [cores, str(KERNELS), *map(str, CAPABILITIES)]
            with tempfile.TemporaryDirectory() as empty:
                return _seconds([sys.executable, "by_hand.py", *numbers], project, TRITON_CACHE_DIR=empty)

        (project / "by_hand.py").write_text(BY_HAND_PROGRAM)
        return [
            compare(
                "The build of Triton kernels",
                f"{KERNELS} kernels for {len(CAPABILITIES)} architectures, with empty caches, on {cores} cores. "
                "`cuda-wheel build` writes the fatbin and the manifest too.",
                {BY_HAND: by_hand, OURS: ours},
                rounds or 3,
                "s",
                warm_up=0,
                goals=[Goal(OURS, BY_HAND, times=1.1)],
            )
        ]


def _project(root: Path) -> Path:
    (root / "demo").mkdir(parents=True)
    (root / "demo/__init__.py").touch()
    text = "import triton\nimport triton.language as tl\n\n" + "\n".join(
        KERNEL.format(number=number) for number in range(KERNELS)
    )
    (root / "demo/kernels.py").write_text(text)
    tables = "".join(
        f'[[tool.cuda-wheel.triton]]\nkernel = "demo.kernels:kernel_{number}"\narguments = {{ x_ptr = "*fp32:16", '
        'y_ptr = "*fp32:16", out_ptr = "*fp32:16", n = "i32", BLOCK = 1024 }\n'
        for number in range(KERNELS)
    )
    real = ", ".join(f'"{capability}-real"' for capability in CAPABILITIES)
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling", "cuda-wheel[cu13]", "triton"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "demo"\nversion = "1"\n[tool.hatch.build.targets.wheel.hooks.cuda]\n'
        f"[tool.cuda-wheel]\narchitectures = [{real}]\n{tables}"
    )
    return root


def _seconds(command: list[str], folder: Path, **environ: str) -> float:
    before = time.monotonic()
    subprocess.run(command, cwd=folder, env=os.environ | environ, check=True)
    return time.monotonic() - before


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
