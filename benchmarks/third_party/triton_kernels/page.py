"""Write docs/triton-kernels.md: `python page.py RESULT.json NEEDED.json WHOLE.json`.

The files are those of `measure.py` and `compare.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare import compared
from measure import ARCHITECTURES, packages

PAGE = Path(__file__).parents[3] / "docs/triton-kernels.md"

TEXT = """# Triton kernels in Python packages

How many Triton kernels that packages ship can be compiled when a wheel is built, without an edit, and without
PyTorch in the environment of the build. [Triton kernels](how-to/from-triton.md) says how it is done.

## The rule

A kernel is a function with `triton.jit` at module level, also below `triton.autotune` and `triton.heuristics`, that
its package launches, or that returns nothing and that no other such function mentions. Functions from which FlagGems
generates kernels (`pointwise_dynamic`) and kernels for other makers' processors do not count. Of a package with more
than {most} kernels, every n-th in the order of paths and lines is taken. The environment has Triton {release} and
packaging, which build back ends bring; all other packages that the modules import are absent.

- {packages} packages with {of} kernels, of which {tried} were taken.
- They are imported as they are: {imported} of {tried} ({share} %).

Of each package, up to {compiled_most} kernels are compiled for sm_80 and sm_90a. The arguments are guessed by rule:
types of pointers from how addresses are computed, constants from the first configuration of `triton.autotune`,
defaults, uses and names (`guesses.py`). {both} of {compiled} compile. A kernel that does not compile for a
guess may compile for what its package passes.

## What cannot be imported

{causes}

What Triton and PyTorch would say of the GPU is answered for the target of the build:
`torch.cuda.get_device_capability()`, `torch.cuda.is_available()`, `torch.version.hip`, the warp size, and Triton's
current target. Configurations of `triton.autotune` need not be known. Names of GPUs, numbers of multiprocessors and
releases of absent packages are not guessed. vllm finds the platform by a function `__getattr__` of a module, which the
importer does not call, and FlagGems asks for the drivers of each maker: both look for the GPU of the machine that
builds. Modules of older releases of Triton, such as `triton.ops`, are absent from the whole package too.

## What does not compile for the guesses

{failures}

## By package

{table}

## Nothing changes

The build runs the statements that a kernel needs, and no others. For {equal} of {pairs} kernels of
{compared_packages} packages, the module was also imported whole, with PyTorch 2.11 for CPUs, and compared: Triton's
`cache_key` (a hash of the source of the kernel and of all functions that it calls, of its constants and its first
line), the global variables that it uses, the parameters with types and defaults, and the configurations and
heuristics. {differences} {not_compared}

## Repeat it

```sh
cd benchmarks/third_party/triton_kernels    # packages.toml has the packages and releases
python measure.py FOLDER result.json        # Triton and packaging, without PyTorch
python compare.py needed FOLDER needed.json
python compare.py whole FOLDER whole.json   # Triton, PyTorch, what the packages import
python page.py result.json needed.json whole.json
```
"""


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table of Markdown; columns after the first hold numbers, unless the head ends with a colon."""
    marks = ["---", *("---:" if not each.endswith(":") else "---" for each in head[1:])]
    lines = [[each.rstrip(":") for each in head], marks, *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def cause(error: str) -> str:
    """Return the cause of an error that stopped an import, without names of kernels and packages."""
    match = re.search(r"depends on ([\w.()\[\]]+)", error)
    text = re.sub(r" \(/[^)]*\)", "", error.split("cannot be imported: ")[-1])
    return f"the value of `{match[1]}`" if match else text[:160]


def failure(error: str) -> str:
    """Return the last words of a compiler's message."""
    text = error.split("does not compile: ")[-1].strip().split("\n")[0]
    text = re.sub(r"<unknown>:0: |<\['[^>]*>", "", text)
    return f"`{text[:110].replace('|', '/').replace('`', '')}`"


def is_compiled(record: Mapping[str, Any]) -> bool:
    return all("seconds" in record["compile"].get(each, {}) for each in ARCHITECTURES)


def main() -> None:
    records, needed, whole = (json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:])
    by_package: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in records:
        by_package[each["package"]].append(each)
    counts, differences = compared(needed, whole)
    rows: list[list[object]] = []
    for package in sorted(packages(), key=lambda each: each.name.lower()):
        if found := by_package.get(package.name):
            good = [each for each in found if "error" not in each["import"]]
            tried = [each for each in found if "compile" in each]
            equal = counts[package.name, "equal"]
            source = re.sub(r"commit (\w{12})\w+", r"\1", package.source)
            rows.append(
                [source, found[0]["of"], len(found), len(good), len(tried), sum(map(is_compiled, tried)), equal or ""]
            )
    bad = [each for each in records if "error" in each["import"]]
    causes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in bad:
        causes[cause(each["import"]["error"])].append(each)
    tried = [each for each in records if "compile" in each]
    failures = Counter(
        "a constant that is a function, or a descriptor"
        if "unknown" in each["compile"]
        else failure(each["compile"]["errors"][0])
        for each in tried
        if not is_compiled(each)
    )
    total: Counter[str] = Counter()
    for (_, what), number in counts.items():
        total[what] += number
    several = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
    equal, different = total["equal"], total["different"]
    not_compared = sum(number for what, number in total.items() if what not in ("equal", "different"))
    PAGE.write_text(
        TEXT.format(
            most=40,
            release="3.6.0 (3.7.0 for Triton's own files, which are of that release)",
            packages=len(rows),
            of=sum(int(str(row[1])) for row in rows),
            tried=len(records),
            imported=len(records) - len(bad),
            share=round(100 * (len(records) - len(bad)) / len(records)),
            compiled_most=5,
            both=sum(map(is_compiled, tried)),
            compiled=len(tried),
            causes=table(
                ["cause", "kernels", "the first:"],
                [
                    [name, len(found), f"{found[0]['package']}: {found[0]['path']}"]
                    for name, found in sorted(causes.items(), key=lambda item: -len(item[1]))
                ],
            ),
            failures=table(["message of Triton", "kernels"], [list(each) for each in several]),
            table=table(
                ["package:", "kernels", "taken", "imported", "tried to compile", "compiled", "equal to whole"], rows
            ),
            equal=equal,
            pairs=equal + different,
            compared_packages=len({package for package, what in counts if what == "equal"}),
            differences=f"{different} differ." if different else "All are equal.",
            not_compared=f"\n{not_compared} more were not compared: the whole module needs a GPU, or a package that "
            "was not installed."
            if not_compared
            else "",
        ).replace("\n\n\n", "\n\n"),
        encoding="utf-8",
    )
    print(*differences, sep="\n")


if __name__ == "__main__":
    main()
