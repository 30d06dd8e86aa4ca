"""Ask the ptxas of every CUDA release what it accepts, and check the table of PTX ISA versions against the answers.

    python scripts/ptx_requirements.py FOLDER [--report docs/ptx-assemblers.json] [--texts FOLDER ...]

FOLDER keeps the assemblers; missing ones are downloaded from the package index. For each target that has special
instructions, for each release that knows it, and for each `.version` that the release reads, one file with all
instructions of the table goes through ptxas, and its messages say which lines it refuses. The script fails where an
instruction is refused under a version that the table says is enough, and where an alternative of a form is in no
instruction that any assembler accepts for any target.
With --texts, all PTX files in these folders are lowered too, and each release that reads the result assembles it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from ptx_instructions import DECLARATIONS, operands, table_instructions, unproven_alternatives

from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.lowering import FIRST_PTX_ISA
from cuda_wheel.builder.images.ptx_requirements import instruction_version, requirement
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.manifest import Version
from cuda_wheel.runtime.parts.formats import ptx

TARGETS = ["75", "80", "86", "89", "90", "90a", "100", "100a", "100f", "103a", "110a", "120", "120a", "120f", "121a"]
"""Targets to check: those that got instructions of their own, and some plain ones between."""

PACKAGES = {11: "nvidia-cuda-nvcc-cu11", 12: "nvidia-cuda-nvcc-cu12", 13: "nvidia-cuda-nvcc"}
FIRST_RELEASE = (11, 7)
"""First CUDA release whose ptxas is on the package index."""
UNPUBLISHED = {(12, 7)}
"""CUDA releases that exist as a driver only, without a ptxas."""

Assembler = tuple[Version, Path]


def main() -> int:
    arguments = _arguments()
    assemblers = find_assemblers(arguments.folder)
    failures: list[str] = []
    instructions = table_instructions(arguments.samples)
    print(f"{len(instructions)} instructions, {len(assemblers)} assemblers", flush=True)
    tried: set[str] = set()
    early: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found, texts, refusals in pool.map(partial(check_target, assemblers, instructions), arguments.targets):
            tried |= texts
            failures += refusals
            for instruction, where in found.items():
                for key, releases in where.items():
                    early[instruction][key] |= releases
    failures += [f"no assembler accepts {each}" for each in unproven_alternatives(tried)]
    for folder in arguments.texts:
        failures += check_texts(assemblers, folder)
    if arguments.report:
        arguments.report.write_text(json.dumps(_report(assemblers, early), indent=1) + "\n")
    print("\n".join(failures) or "the table holds")
    return bool(failures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the assemblers are kept")
    parser.add_argument("--samples", type=int, default=8, help="random combinations of each form of the table")
    parser.add_argument("--targets", nargs="*", default=TARGETS)
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help="folders of NAME.ARCH.ptx files to lower")
    parser.add_argument("--report", type=Path, help="a JSON file to write")
    return parser.parse_args()


def find_assemblers(folder: Path) -> list[Assembler]:
    """Return the ptxas of each release, in ascending order. Those that `folder` lacks are downloaded."""
    found = []
    for release in (each.cuda for each in RELEASES if each.cuda >= FIRST_RELEASE and each.cuda not in UNPUBLISHED):
        name = f"{release[0]}.{release[1]}"
        path = folder / name / "ptxas"
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                requirement_ = f"{PACKAGES[release[0]]}=={name}.*"
                command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", scratch, requirement_]
                subprocess.run(command, check=True)
                path.parent.mkdir(exist_ok=True)
                next(each for each in Path(scratch).rglob("ptxas") if each.is_file()).rename(path)
        found.append((release, path))
    return found


def newest_isa(release: Version) -> Version:
    return next(each.ptx_isa for each in RELEASES if each.cuda == release)


def check_target(
    assemblers: list[Assembler], instructions: list[str], arch: str
) -> tuple[dict[str, dict[str, set[str]]], set[str], list[str]]:
    """Return the results for the instructions of one target, in three parts.

    Instruction -> "arch version" -> releases that accept the instruction under that version, which is lower than the
    table's; the instructions that the newest assembler accepts; and messages about what contradicts the table.
    """
    known = [each for each in assemblers if knows_target(each, arch)]
    texts = with_operands(known[-1], instructions, arch)
    early: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    failures = []
    first = FIRST_PTX_ISA[arch]
    versions = sorted({each.ptx_isa for each in RELEASES if each.ptx_isa >= first})
    need = {each: max(first, instruction_version(each, arch) or (99, 0)) for each in texts}
    for assembler in known:
        newest = newest_isa(assembler[0])
        readable = [each for each in texts if need[each] <= newest]
        for version in (each for each in versions if each <= newest):
            accepted = accepts(assembler, [texts[each] for each in readable], arch, version)
            for each in readable:
                if version >= need[each] and texts[each] not in accepted:
                    failures.append(f"{dotted(assembler[0])} refuses {each} for sm_{arch} under {dotted(version)}")
                if version < need[each] and texts[each] in accepted:
                    early[each][f"{arch} {dotted(version)}"].add(dotted(assembler[0]))
    print(f"sm_{arch}: {len(texts)} instructions, {len(known)} releases, {len(failures)} failures", flush=True)
    return early, set(texts), failures


@cache
def knows_target(assembler: Assembler, arch: str) -> bool:
    isa = newest_isa(assembler[0])
    return FIRST_PTX_ISA[arch] <= isa and "is not defined for option" not in _messages(assembler, "", arch, isa)[0]


def with_operands(assembler: Assembler, instructions: list[str], arch: str) -> dict[str, str]:
    """Return instruction -> statement with operands, for the instructions that this assembler accepts under its newest
    version."""
    version = newest_isa(assembler[0])
    left = {each: operands(each) for each in instructions}
    found: dict[str, str] = {}
    for turn in range(max(map(len, left.values()))):
        trial = {
            f"{each} {texts[turn]};": each for each, texts in left.items() if each not in found and turn < len(texts)
        }
        if trial:
            found |= {trial[text]: text for text in accepts(assembler, list(trial), arch, version)}
    return found


def accepts(assembler: Assembler, statements: Iterable[str], arch: str, version: Version) -> set[str]:
    """Return the statements that an assembler accepts under a `.version`.

    A wrong statement at the end keeps the assembler from generating code. It stops at unknown syntax, and crashes at
    some operands that do not fit, so it is run again without these lines.
    """
    left = list(statements)
    while left:
        log, crashed = _messages(assembler, "\n".join(left), arch, version)
        lines = {int(each) - _FIRST_LINE for each in re.findall(r", line (\d+); (?:error|fatal)", log)}
        if crashed and not lines & set(range(len(left))):
            middle = len(left) // 2
            halves = (left[:middle], left[middle:]) if middle else ()
            return {each for half in halves for each in accepts(assembler, half, arch, version)}
        complete = not crashed and "; fatal" not in log
        assert not complete or len(left) in lines, log[-2000:]  # the wrong last statement
        left = [each for line, each in enumerate(left) if line not in lines]
        if complete:
            break
    return set(left)


_HEAD = """\
.version {}
.target sm_{}
.address_size 64
.func f() {{ ret; }}
.visible .entry k(.param .u64 K) {{
.shared .align 16 .b8 V[1024];
B: .branchtargets L;
"""
_FIRST_LINE = (_HEAD + DECLARATIONS).count("\n") + 1


def _messages(assembler: Assembler, statements: str, arch: str, version: Version) -> tuple[str, bool]:
    """Return the messages of an assembler about statements, and whether it crashed."""
    head = _HEAD.format(dotted(version), arch) + DECLARATIONS
    text = head + statements + "\n" * bool(statements) + "add.u32 r, d, p;\nL: ret;\n}\n"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        command = [str(assembler[1]), f"-arch=sm_{arch}", file.name, "-o", os.devnull]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return result.stdout, result.returncode < 0


def check_texts(assemblers: list[Assembler], folder: Path) -> list[str]:
    """Lower the PTX files in a folder by the table alone. Return messages about results that an assembler for their
    version refuses."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(partial(_check_text, assemblers), sorted(folder.rglob("*.ptx")))
        return [failure for each in results for failure in each]


def _check_text(assemblers: list[Assembler], path: Path) -> list[str]:
    arch, text = path.suffixes[-2][1:], ptx_text.normalise(path.read_text())
    needed = requirement(text, arch)
    version = ptx.version(text) if needed.unknown else max(needed.version, FIRST_PTX_ISA[arch])
    failures = []
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx_text.set_version(text, version))
        file.flush()
        for assembler in assemblers:
            if newest_isa(assembler[0]) < version or not knows_target(assembler, arch):
                continue
            options = ["-c"] if ".extern" in text else []
            command = [str(assembler[1]), f"-arch=sm_{arch}", "-O0", *options, file.name, "-o", os.devnull]
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if result.returncode:
                failures.append(f"{dotted(assembler[0])} refuses {path} as {dotted(version)}: {result.stdout[:300]}")
    return failures


def _report(assemblers: list[Assembler], early: Mapping[str, Mapping[str, set[str]]]) -> dict[str, object]:
    """Return the releases with their PTX ISA versions, and the instructions that releases accept under a lower version
    than the table's, as JSON."""
    quirks = {
        instruction: {where: sorted(releases) for where, releases in sorted(places.items())}
        for instruction, places in sorted(early.items())
    }
    return {"releases": {dotted(each): dotted(newest_isa(each)) for each, _ in assemblers}, "early": quirks}


def dotted(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


if __name__ == "__main__":
    sys.exit(main())
