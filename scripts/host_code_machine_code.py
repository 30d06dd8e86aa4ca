"""Compare the machine code of the generated files (tests/builder/compile/generated) with nvcc's.

    python scripts/host_code_machine_code.py [--nvcc NVCC] [--cuobjdump CUOBJDUMP] [--work FOLDER] [--only PREFIX]

Needs nvcc, a host compiler, cuobjdump, and cuda-wheel with NVRTC of nvcc's release: other releases generate other code.
Each file that both compilers accept is compiled for sm_80 and sm_90, and the instructions of each kernel are compared.

The two compilers differ even without host code: nvcc addresses shared memory with 32 bits, and NVRTC before 13.5 with
64. So nvcc compiles a file with a difference once more, with 64 bits. A difference that stays is a defect of
cuda-wheel: then the exit status is 1. nvcc's cubins stay in FOLDER and are reused.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "third_party"))

from host_code_facts import OPTIONS, release_of
from machine_code import SHARED_MEMORY_64_BIT, encodings, instructions, likeness

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from tests.builder.compile.generated import Case, cases, facts

ARCHITECTURES = ("80", "90")
FACTS = facts()


class Tools(NamedTuple):
    """nvcc, cuobjdump, and the folder for their files."""

    nvcc: str
    cuobjdump: str
    work: Path

    def folder(self, case: Case) -> Path:
        """Return the folder of a case, with its headers and the text that nvcc accepts."""
        folder = self.work / case.digest
        if not (folder / "k.cu").exists():
            text = case.text if "error" not in FACTS[case.name] else case.corrected
            for name, content in {**case.headers, "k.cu": text or ""}.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
        return folder

    def cubin(self, case: Case, arch: str, *more: str) -> Path:
        """Return the path of nvcc's cubin of a case, compiled with the additional options `more` unless it exists
        already."""
        folder = self.folder(case)
        cubin = folder / f"nvcc{''.join(more)}.sm_{arch}.cubin"
        if not cubin.exists():
            command = [self.nvcc, f"-arch=sm_{arch}", *OPTIONS, f"-std={case.standard}", *more, "-w", "-cubin", "k.cu"]
            part = cubin.with_suffix(".part.cubin")  # an interrupted run leaves no half of a cubin
            subprocess.run([*command, "-o", part.name], cwd=folder, check=True, capture_output=True)
            part.rename(cubin)
        return cubin

    def differences(self, case: Case, arch: str, ours: bytes) -> Iterator[tuple[str, str]]:
        """Yield the symbol of each kernel that both compilers have, and how alike the code is: "identical" or a word
        for the difference, with a note if nvcc with 64-bit addresses of shared memory makes the same code."""
        cubin = self.cubin(case, arch)
        theirs, code = encodings(cubin.read_bytes()), encodings(ours)
        common = sorted(theirs.keys() & code.keys())
        if all(theirs[symbol] == code[symbol] for symbol in common):
            yield from ((symbol, "identical") for symbol in common)
            return
        copy = self.folder(case) / f"ours.sm_{arch}.cubin"
        copy.write_bytes(ours)
        changed = self.cubin(case, arch, *SHARED_MEMORY_64_BIT)
        one, other, third = (instructions(path, self.cuobjdump) for path in (cubin, copy, changed))
        for symbol in common:
            like: str = likeness(one[symbol], other[symbol])
            same = like != "identical" and third[symbol] == other[symbol]
            yield symbol, f"{like}, identical with {' '.join(SHARED_MEMORY_64_BIT)}" if same else like


def job_of(case: Case, arch: str, folder: Path, toolchain: Toolchain) -> Job:
    """Return the job that compiles a case to machine code."""
    return Job(
        library=toolchain.libraries[0],
        root=str(folder),
        source="k.cu",
        text=case.text.encode(),
        arch=arch,
        cubin=True,
        ptx=False,
        options=(f"--std={case.standard}",),
        include_dirs=("", *toolchain.header_folders),
        instantiate=(),
        lineinfo=False,
        ptx_version="as-compiled",
    )


def compare(tools: Tools, case: Case, arch: str, ours: Future[Compiled]) -> list[tuple[str, str]] | None:
    """Return symbol and likeness of each kernel of a case; None if cuda-wheel refuses the file."""
    try:
        return list(tools.differences(case, arch, ours.result().cubin or b""))
    except CompileError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--work", type=Path, default=Path("machine-code"))
    parser.add_argument("--only", default="", help="compare the cases whose names start so")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    tools, release = Tools(options.nvcc, options.cuobjdump, options.work.resolve()), release_of(options.nvcc)
    counts: Counter[str] = Counter()
    with Workers(timeout=300, memory=8 << 30) as workers, ThreadPoolExecutor(options.jobs) as threads:
        toolchain = workers.submit(find_toolchain, None).result()
        if toolchain.nvrtc != release:
            raise SystemExit(f"NVRTC is {toolchain.nvrtc} and nvcc is {release}: install nvidia-cuda-nvrtc=={release}")
        # nvcc's errors are in the facts
        chosen = [each for each in cases() if each.name.startswith(options.only) and "kernels" in FACTS[each.name]]
        todo = [(case, arch) for arch in ARCHITECTURES for case in chosen]
        ours = [workers.submit(compile_job, job_of(*each, tools.folder(each[0]), toolchain)) for each in todo]
        results = threads.map(partial(compare, tools), *zip(*todo, strict=True), ours)
        for (case, arch), kernels in zip(todo, results, strict=True):
            counts[f"sm_{arch}: files"] += kernels is not None
            for symbol, like in kernels or ():
                counts[f"sm_{arch}: {like}"] += 1
                if like != "identical":
                    print(f"{case.name}: sm_{arch}: {symbol}: {like}", flush=True)
    print("\n".join(f"{name}: {number}" for name, number in counts.items()))
    sys.exit(int(any(name.endswith(("same_opcodes", "different")) for name in counts)))


if __name__ == "__main__":
    main()
