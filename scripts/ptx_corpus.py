"""Write PTX to check the table of PTX ISA versions with: NAME.ARCH.ptx files, as the installed toolchain compiles them.

    python scripts/ptx_corpus.py FOLDER [SOURCE.cu ...]

The sources are the fixtures, the tests' files in many styles, those that are named, and kernels that call every
function of CCCL's <cuda/ptx>. Those kernels are split by the version that the table finds, so that each is lowered as
far as it may go alone. Where CCCL's own comment says that a function needs a newer version than the table, a line is
printed and the script fails.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images.lowering import FIRST_PTX_ISA
from cuda_wheel.builder.images.ptx_requirements import requirement
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Version

ROOT = Path(__file__).parents[1]

TARGETS = {
    12: ["50", "70", "75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "103a", "120", "120a", "121a"],
    13: ["75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "103a", "110a", "120", "120a", "121a"],
}

_FUNCTION = re.compile(
    r"/\*\n(?P<comment>//(?:(?!\*/).)*?)\*/\n#if __cccl_ptx_isa >= \d+\n(?:extern \"C\"[^\n]*\n)?"
    r"template <(?P<template>[^{}]*?)>\n_CCCL_DEVICE(?:_API)?\s+(?:static inline\s+)?(?P<returns>[\w:]+)\s+"
    r"(?P<name>\w+)\((?P<parameters>[^{}]*?)\)\n\{\n(?P<body>.*?)\n\}\n",
    re.DOTALL,
)

_TYPES = {f"_B{bits}": f"bits<{bits // 8}>" for bits in (8, 16, 32, 64, 128, 256)} | {
    "_Type": "bits<4>",
    "_U32": "unsigned",
    "_U64": "unsigned long long",
    "_S32": "int",
    "_S64": "long long",
}

_PRELUDE = """\
#include <cuda/ptx>
template <int N> struct alignas(N) wide { char bytes[N]; };
template <int N> struct chosen { using type = wide<N>; };
template <> struct chosen<1> { using type = signed char; };
template <> struct chosen<2> { using type = short; };
template <> struct chosen<4> { using type = int; };
template <> struct chosen<8> { using type = long long; };
template <int N> using bits = typename chosen<N>::type;
using namespace cuda::ptx;
"""


class Function(NamedTuple):
    """A call of a function of <cuda/ptx>, and the PTX ISA version and targets in CCCL's comment on it."""

    call: str
    version: Version
    targets: tuple[str, ...]

    def suits(self, arch: str) -> bool:
        return any(_reaches(target, arch) for target in self.targets)


def _reaches(target: str, arch: str) -> bool:
    """Return whether a target of CCCL's comments, such as "90a" or "100f", includes the architecture `arch`."""
    number, of = int(target.rstrip("af")), int(arch.rstrip("af"))
    if target == arch or target.isdigit():
        return of >= number
    return target.endswith("f") and not arch.isdigit() and of // 10 == number // 10 and of >= number


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--targets", help="architectures with commas between, instead of all of the toolchain")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    found = [*ROOT.glob("fixtures/*/src/**/*.cu"), *ROOT.glob("tests/data/styles/*.cu"), *arguments.sources]
    failures = []
    with Workers(timeout=600, memory=8 << 30) as workers:
        toolchain = workers.submit(find_toolchain, None).result()
        all_targets = TARGETS[int(toolchain.nvrtc.split(".")[0])]
        for arch in arguments.targets.split(",") if arguments.targets else all_targets:
            for source in sorted(found):
                compiled = _compile(workers, toolchain, source.read_text(), arch, source.parent)
                if isinstance(compiled, str):
                    (arguments.folder / f"{source.parent.name}-{source.stem}.{arch}.ptx").write_text(compiled)
            failures += _write_functions(workers, toolchain, arch, arguments.folder)
    print("\n".join(failures) or "CCCL's comments agree with the table")
    return bool(failures)


def _compile(workers: Workers, toolchain: Toolchain, text: str, arch: str, folder: Path) -> str | Exception:
    """Return the PTX of a source, with the `.version` that the compiler wrote; the exception if it does not compile."""
    include_dirs = (str(INCLUDE), *toolchain.include_dirs, str(folder), str(folder.parents[2] / "include"))
    job = Job(
        library=toolchain.libraries[0],
        root=str(folder),
        source="k.cu",
        text=text.encode(),
        arch=arch,
        cubin=False,
        ptx=True,
        options=("--std=c++17", "-DBLOCK=256"),
        include_dirs=include_dirs,
        instantiate=(),
        lineinfo=False,
        ptx_version="as-compiled",
    )
    try:
        return (workers.submit(compile_job, job).result().ptx or b"").decode()
    except (CompileError, ConfigError) as error:
        return error


def _compiled_functions(
    workers: Workers, toolchain: Toolchain, arch: str, folder: Path
) -> tuple[list[Function], str] | None:
    """Return the functions of <cuda/ptx> for an architecture that compile, and PTX in which the kernel `kN` calls
    function N.

    None if no function is for the architecture, or if an error names no kernel.
    """
    headers = next(path for each in toolchain.include_dirs if (path := Path(each, "cuda/__ptx/instructions")).is_dir())
    functions = [each for each in _functions(headers.rglob("*.h")) if each.suits(arch)]
    while functions:
        kernels = [f'extern "C" __global__ void k{n}(char* p) {{ {each.call} }}' for n, each in enumerate(functions)]
        compiled = _compile(workers, toolchain, _PRELUDE + "\n".join(kernels), arch, folder.resolve())
        if isinstance(compiled, str):
            return functions, compiled
        first = _PRELUDE.count("\n") + 1
        numbers = re.findall(r"k\.cu:(\d+)|at line (\d+) of \"?k\.cu", str(compiled))
        wrong = {int(a or b) - first for a, b in numbers}
        print(f"compute_{arch}: {len(wrong)} calls do not compile")
        if not wrong & set(range(len(functions))):
            print(str(compiled)[:2000])
            return None
        functions = [each for n, each in enumerate(functions) if n not in wrong]
    return None


def _write_functions(workers: Workers, toolchain: Toolchain, arch: str, folder: Path) -> list[str]:
    """Write the PTX of all functions of <cuda/ptx> for an architecture. Return messages about disagreements of CCCL and
    the table."""
    found = _compiled_functions(workers, toolchain, arch, folder)
    if found is None:
        return []
    functions, compiled = found
    head, *texts = re.split(r"(?=^(?:\t// \.globl\s+k\d+\n)?\.visible \.entry)", compiled, flags=re.MULTILINE)
    groups = defaultdict(list)
    failures = []
    for text in texts:
        each = functions[int(re.findall(r"\.entry k(\d+)", text)[0])]
        needed = requirement(head + text, arch)
        groups["unknown" if needed.unknown else f"{needed.version[0]}.{needed.version[1]}"].append(text)
        floor = max(each.version, FIRST_PTX_ISA[arch])
        if not needed.unknown and max(needed.version, FIRST_PTX_ISA[arch]) < floor:
            failures.append(f"compute_{arch}: {each.call} needs {each.version}, not {needed.version} for {needed.word}")
        if needed.unknown and each.version < (9, 2):
            print(f"compute_{arch}: the table lacks {needed.unknown} of {each.version}")
    for version, parts in groups.items():
        (folder / f"cuda_ptx-{version}.{arch}.ptx").write_text(head + "".join(parts))
    print(f"compute_{arch}: {len(texts)} calls, " + ", ".join(f"{len(groups[key])} {key}" for key in sorted(groups)))
    return failures


def _functions(headers: Iterable[Path]) -> Iterator[Function]:
    """Yield calls of each function in these headers: one for each combination of values that its assertions allow."""
    for header in sorted(headers):
        for match in _FUNCTION.finditer(header.read_text()):
            comment = match["comment"].replace("\n", " ")
            version, targets = re.findall(r"PTX\s+ISA (\d+)((?:,\s*SM_\d+[af]?)*)", comment)[0]
            choices = [_arguments(each, match["body"]) for each in _split(match["parameters"])]
            for values in itertools.product(*choices):
                call = f"cuda::ptx::{match['name']}({', '.join(values)})"
                if match["returns"] != "void":
                    call = f"auto r = {call}; *reinterpret_cast<decltype(r)*>(p) = r"
                yield Function(
                    f"{call};",
                    (int(version[:-1]), int(version[-1])),
                    tuple(re.findall(r"SM_(\w+)", targets)) or ("50",),
                )


def _split(parameters: str) -> list[str]:
    """Return the parameters in a parameter list. A parameter may contain commas in brackets."""
    found = re.findall(r"(?:[^,<(]|<[^>]*>|\([^)]*\))+", parameters)
    return [" ".join(each.split()) for each in found if each.strip()]


def _arguments(parameter: str, body: str) -> list[str]:
    """Return the C++ expressions to pass for a parameter. `body` is that of the function, whose assertions list
    values."""
    parameter = parameter.partition(" = ")[0]
    type_, name = re.fullmatch(r"(.*?)\s*(\b__\w+)?((?:\)?\[\d+\])?)", parameter).group(1, 2)  # type: ignore[union-attr]
    type_ = re.sub(r"\b_[BUS]\d+\b|\b_Type\b", lambda each: _TYPES[each[0]], type_).replace("const ", "")
    if "n32_t" in type_:
        return ["cuda::ptx::n32_t<1>{}"]
    if name and (allowed := re.findall(rf"\b{name} == (\w+)", " ".join(re.findall(r"static_assert\((.*?)\);", body)))):
        return [f"cuda::ptx::{each}" for each in allowed]
    if re.fullmatch(r"(?:::cuda::ptx::)?\w+_t", type_) and name is None:
        return [f"{type_}{{}}"]
    if "(&" in type_:
        count = re.findall(r"\[(\d+)\]", parameter)[0]
        return [f"*reinterpret_cast<{type_.replace('(&', '').strip()}(*)[{count}]>(p)"]
    if type_.endswith("*"):
        return [f"reinterpret_cast<{type_}>(p)"]
    return [f"*reinterpret_cast<{type_.rstrip('& ')}*>(p)"]


if __name__ == "__main__":
    sys.exit(main())
