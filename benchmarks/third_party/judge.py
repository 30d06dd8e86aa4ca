"""Compare cuda-wheel with nvcc on the corpus: `python benchmarks/third_party/judge.py JUDGED.json [KEY ...]`.

Each file is compiled twice for sm_80: by cuda-wheel, as `measure.py` does, and by `nvcc -cubin` with PyTorch's own
headers and the options that PyTorch's `BuildExtension` passes. The kernels of the two are compared by symbol (without
the hashes in names that are local to a file), and each kernel's machine code by its instructions. nvcc judges exactly
only if cuda-wheel uses NVRTC of the same release.

It needs nvcc, cuobjdump, nvdisasm, the corpus and PyTorch (no GPU; only for packages of kind "torch"), but neither git
nor a network. nvcc finds headers of CUDA's libraries that its toolkit lacks through `$CPATH`. JUDGED.json gets one
record for each file, and a summary is printed. KEY selects files whose names contain it.

Options: those of `measure.py` (--resume leaves out the files that JUDGED.json has), --cuobjdump PATH,
--torch-include FOLDER (repeatable; default: those of the installed PyTorch), --work FOLDER for cubins (those of nvcc
are reused), --64-bit: nvcc addresses shared memory with 64 bits, as NVRTC does before 13.5.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # run from a checkout, without installing it

from corpus import Package, Source, packages, sources
from machine_code import SHARED_MEMORY_64_BIT, instructions, likeness, plain_name
from measure import Outcome, chosen, first_error, in_parallel, in_process, parser, read_records, run

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.parts.formats.cubin import read_cubin

__all__ = ["Verdict", "judge", "of_the_source"]


@dataclass(frozen=True)
class Verdict:
    """What nvcc and cuda-wheel make of one file."""

    key: str
    ours: str
    """The result of `measure.Outcome`."""
    nvcc: str
    """"compiled" or the first error."""
    kernels: int = 0
    """How many kernels nvcc has."""
    missing: Sequence[str] = ()
    """Kernels that only nvcc has."""
    additional: Sequence[str] = ()
    """Kernels that only cuda-wheel has."""
    identical: int = 0
    """Kernels with the same instructions and operands."""
    same_opcodes: int = 0
    """Kernels with the same number of each instruction, but other registers or another order."""
    different: Sequence[tuple[str, int, int]] = ()
    """Other kernels, with the numbers of instructions of nvcc and of cuda-wheel."""
    error: str = ""
    """cuda-wheel's first error."""
    seconds: float = 0.0
    compile_seconds: float = 0.0
    nvcc_seconds: float = 0.0


def judge(source: Source, options: argparse.Namespace) -> Verdict:
    """Compile one file with both compilers and compare the results."""
    cubin = options.work / "nvcc" / (source.key.replace("/", "+") + ".cubin")
    nvcc, nvcc_seconds = compile_with_nvcc(source, options, cubin)
    outcome: Outcome = in_process(source, options)
    verdict = Verdict(
        key=source.key,
        ours=outcome.result,
        nvcc=nvcc,
        error=outcome.error,
        seconds=outcome.seconds,
        compile_seconds=outcome.compile_seconds,
        nvcc_seconds=round(nvcc_seconds, 2),
    )
    if nvcc != "compiled":
        return verdict
    theirs = {plain_name(name) for name in read_cubin(cubin.read_bytes()).kernels}
    if outcome.result != "compiled":
        return Verdict(**{**asdict(verdict), "kernels": len(theirs), "missing": sorted(theirs)})
    built = options.images / source.key.replace("/", "+") / "corpus"
    manifest = manifest_of((built / "m.fatbin.json").read_bytes(), source.key)
    ours = {plain_name(kernel.symbol) for kernel in manifest.kernels}
    reference, code = (instructions(path, options.cuobjdump) for path in (cubin, built / "m.fatbin"))
    common = sorted(theirs & ours)
    found = {name: likeness(reference[name], code[name]) for name in common}
    different = [(name, len(reference[name]), len(code[name])) for name in common if found[name] == "different"]
    return Verdict(
        **{
            **asdict(verdict),
            "kernels": len(theirs),
            "missing": sorted(theirs - ours),
            "additional": sorted(ours - theirs),
            "identical": sum(each == "identical" for each in found.values()),
            "same_opcodes": sum(each == "same_opcodes" for each in found.values()),
            "different": different,
        }
    )


def compile_with_nvcc(source: Source, options: argparse.Namespace, cubin: Path) -> tuple[str, float]:
    """Return "compiled" or nvcc's first error, and the seconds; writes the cubin unless it exists."""
    note = cubin.with_suffix(".json")
    if note.exists():
        result, seconds = json.loads(note.read_text())
        return result, seconds
    cubin.parent.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    command = ["nvcc", *nvcc_arguments(source, options), "-cubin", "-arch=sm_80", "-o", str(cubin)]
    try:
        status, output, errors = run(command, options.limit * 2, source.package.home(options.corpus))
        result = (first_error(errors + output) or "failed") if status else "compiled"
    except TimeoutError:
        result = f"timeout after {options.limit * 2:g} s"
    seconds = time.perf_counter() - began
    note.write_text(json.dumps([result, seconds]))
    return result, seconds


def nvcc_arguments(source: Source, options: argparse.Namespace) -> list[str]:
    """Return nvcc's arguments for a file, as its package's build passes them for one architecture."""
    package: Package = source.package
    own = [each for each in package.nvcc_options if not each.startswith(("-arch", "-gencode", "--threads"))]
    folders = [*(package.home(options.corpus).resolve() / each for each in package.include)]
    system = [*options.torch_include, sysconfig.get_paths()["include"]] if package.kind == "torch" else []
    return [
        source.path,
        *own,
        *(f"-I{folder}" for folder in folders),
        *(part for folder in system for part in ("-isystem", str(folder))),
        *(SHARED_MEMORY_64_BIT if options.shared_memory_64_bit else ()),
        "-w",
    ]


def of_the_source(symbols: Iterable[str]) -> list[str]:
    """Return the kernels without those of the device-wide algorithms of CUB and Thrust, which cuda-wheel does not
    compile."""
    return [symbol for symbol in symbols if not symbol.startswith(("_ZN3cub", "_ZN6thrust"))]


def summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of a summary."""
    both = [each for each in verdicts if each.ours == each.nvcc == "compiled"]
    theirs, ours = (sum(getattr(each, name) == "compiled" for each in verdicts) for name in ("nvcc", "ours"))
    yield f"{len(verdicts)} files: nvcc compiles {theirs}, cuda-wheel {ours}, both {len(both)}"
    yield from _compared_kernels(both)
    yield from _differing_files(verdicts, both)


def _compared_kernels(both: Sequence[Verdict]) -> Iterator[str]:
    """Yield how many kernels are the same in the files that both compilers compile, and how long these take."""
    same = sum(not of_the_source(each.missing) and not each.additional for each in both)
    yield f"the same kernels in {same} files of {len(both)}, but for those of CUB and Thrust"
    kernels = sum(each.kernels for each in both)
    missing, additional = (sum(len(getattr(each, name)) for each in both) for name in ("missing", "additional"))
    library = missing - sum(len(of_the_source(each.missing)) for each in both)
    yield f"{kernels} kernels of nvcc: {missing} missing, {library} of them of CUB and Thrust, {additional} additional"
    for what in ("identical", "same_opcodes"):
        yield f"{what}: {sum(getattr(each, what) for each in both)} kernels"
    yield f"different: {sum(len(each.different) for each in both)} kernels"
    ratios = [each.compile_seconds / each.nvcc_seconds for each in both if each.compile_seconds]
    if ratios:
        slower = sum(ratio > 1 for ratio in ratios)
        yield f"time to compile: median {statistics.median(ratios):.2f} of nvcc's; {slower} of {len(ratios)} are slower"


def _differing_files(verdicts: Sequence[Verdict], both: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each file that only one of the compilers compiles, or whose kernels differ."""
    for each in verdicts:
        if each.nvcc == "compiled" and each.ours != "compiled":
            yield f"ours fails: {each.key}: {each.ours}: {each.error}"
    for each in verdicts:
        if each.nvcc != "compiled":
            yield f"nvcc fails ({each.ours}): {each.key}: {each.nvcc}"
    for each in both:
        if names := [*of_the_source(each.missing)[:2], *each.additional[:2]]:
            yield f"missing {len(each.missing)}, additional {len(each.additional)}: {each.key}: " + ", ".join(names)
    for each in both:
        if each.different:
            name, theirs, ours = max(each.different, key=lambda kernel: abs(kernel[1] - kernel[2]))
            yield f"different {len(each.different)} of {each.kernels}: {each.key}: {name}: {theirs} and {ours}"


def judging_parser() -> argparse.ArgumentParser:
    """Return a parser of what `measure.py` takes, and of what nvcc needs."""
    own = parser()
    own.add_argument("--cuobjdump", default="cuobjdump")
    own.add_argument("--torch-include", action="append", default=[])
    own.add_argument("--64-bit", action="store_true", dest="shared_memory_64_bit")
    own.add_argument("--work", type=Path, default=Path("judged"))
    return own


def judging_options(command_line: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the options of the command line, with the corpus and all folders as absolute paths."""
    options = command_line.parse_intermixed_args()
    options.images = options.images or options.work / "images"
    options.corpus, options.work, options.images = (
        each.resolve() for each in (options.corpus, options.work, options.images)
    )
    options.every = sources(packages(options.list) if options.list else packages())
    if not options.torch_include and any(each.package.kind == "torch" for each in options.every):
        from torch.utils.cpp_extension import include_paths  # type: ignore[import-not-found,unused-ignore]

        options.torch_include = include_paths("cuda")
    return options


def main() -> None:
    options = judging_options(judging_parser())
    every, verdicts = options.every, read_records(options.result, Verdict)

    def received(verdict: Verdict) -> None:
        verdicts[verdict.key] = verdict
        print(f"{verdict.ours:12} nvcc {verdict.nvcc[:20]:20} {verdict.key}", flush=True)
        ordered = [asdict(verdicts[each.key]) for each in every if each.key in verdicts]
        options.result.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")

    in_parallel(chosen(every, options.keys, set(verdicts) if options.resume else set()), options, judge, received)
    print("\n".join(summary([verdicts[each.key] for each in every if each.key in verdicts])))


if __name__ == "__main__":
    main()
