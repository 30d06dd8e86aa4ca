"""Compare the sizes of fatbins, installed and in a wheel, with nvcc's. `cpu.py` runs it."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from _interleave import show
from _kernels import SOURCES, TARGETS, make_project
from _peers import Peers, ninja_project
from _process import build_wheel
from _results import Goal, Result

from cuda_wheel.builder.workers.pool import available_cores

__all__ = ["measure"]

NVCC = "nvcc -fatbin"
NVCC_SIZE = "nvcc -fatbin -compress-mode=size"
OURS = "cuda-wheel"
OURS_SIZE = 'cuda-wheel, compress = "size"'
OVERHEAD = (
    "what the assembler writes beside the code, which compresses to 0.102. The rest: section headers and the names of "
    "sections and symbols 0.050; PTX 0.026; what the assembler adds from sm_100 on (.nv.capmerc, .nv.merc) 0.019; "
    "notes with the tools' versions 0.017; headers and names of the fatbins' entries 0.015; .nv.info 0.007; "
    ".debug_frame 0.004. No option of NVRTC, ptxas or nvFatbin leaves any of it out, the highest level of zstd saves "
    "0.0001, and PTX with short names 0.0004. nvFatbin compresses each image by itself; with its `-concat`, it is "
    "0.171, but drivers for CUDA 13.0 do not load that. Without the notes and the names of entries it would be 0.249, "
    "with cubins that no assembler wrote."
)
"""Measured with NVRTC and nvFatbin 13.5: 112,312 bytes as they are; the others by zeroing each kind of section, whose
sum is less because they compress together. Levels are those of nvFatbin's `-compress-level`."""
UNUSED = "code of headers such as CUB's that NVRTC keeps although no kernel uses it."


class Size(NamedTuple):
    """The size of a file in bytes, and its deflated size in a wheel."""

    installed: int
    deflated: int


def measure(peers: Peers, rounds: int | None = None) -> list[Result]:
    """Return sizes, which are the same in every round."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sizes = {NVCC: _nvcc(peers, folder / "nvcc"), OURS: _ours(folder / "ours", "none")}
        sizes[NVCC_SIZE] = _nvcc(peers, folder / "nvcc-size", "-compress-mode=size")
        sizes[OURS_SIZE] = _ours(folder / "ours-size", "size")
    goals = {
        "installed": Goal(
            OURS_SIZE,
            NVCC,
            times=0.25,
            limit=f"{OVERHEAD} The table shows the effect of this compression on nvcc's images.",
        ),
        "deflated": Goal(OURS, NVCC, limit=UNUSED),
    }
    abouts = {
        "installed": "Size on disk of the fatbins, with the kernels and targets of the first build.",
        "deflated": "The same fatbins, deflated as in a wheel.",
    }
    results = []
    for kind, title in {"installed": "Size, installed", "deflated": "Size, in the wheel"}.items():

        def size(contender: str, name: str, kind: str = kind) -> int:
            return int(getattr(sizes[contender][name], kind))

        details = [["file", *sizes], *([name, *(f"{size(each, name):,}" for each in sizes)] for name in SOURCES)]
        manifests = ", ".join(
            f"{sum(size(each, name) for name in sizes[each] if name.endswith('.json')):,} bytes with {each}"
            for each in (OURS, OURS_SIZE)
        )
        values = {each: [float(sum(size(each, name) for name in SOURCES))] for each in sizes}
        notes = [f"The manifests, which nvcc does not have, are {manifests}."]
        result = Result(title, abouts[kind], "bytes", values, NVCC, 0, [goals[kind]], details, notes)
        show(result)
        results.append(result)
    return results


def _nvcc(peers: Peers, folder: Path, *options: str) -> Mapping[str, Size]:
    peers.run_ninja(ninja_project(folder, peers.nvcc, 1, *options), available_cores())
    sizes = {}
    for name in SOURCES:
        fatbin = folder / f"{name}.fatbin"
        with zipfile.ZipFile(BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(fatbin, name)
            sizes[name] = Size(fatbin.stat().st_size, archive.getinfo(name).compress_size)
    return sizes


def _ours(folder: Path, compress: str) -> Mapping[str, Size]:
    build_wheel(make_project(folder, compress), folder / "out", CUDAARCHS=TARGETS)
    (wheel,) = (folder / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {
            Path(entry.filename).name.removesuffix(".fatbin"): Size(entry.file_size, entry.compress_size)
            for entry in archive.infolist()
            if entry.filename.startswith("demo/") and ".fatbin" in entry.filename
        }
