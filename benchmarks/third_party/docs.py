"""Format what measure.py found: `python benchmarks/third_party/docs.py RESULT.json [NO_SETTINGS.json] PAGE.md`.

RESULT.json is measured with the settings of the list, NO_SETTINGS.json with `--no-settings`.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from _results import table
from corpus import packages
from measure import Outcome, read_outcomes

__all__ = ["cause", "markdown"]

RULE = """\
The corpus is chosen by rule, not by what compiles: of each package every `.cu` file that the package's own build
compiles and that has device code; of more than four (of the largest packages six or eight) those at even distances in
the order of their names. `benchmarks/third_party/packages.toml` lists repositories, commits, files, include folders and
options; `fetch.py` fetches them, `measure.py` compiles each file unedited, for sm_80, in a process of its own."""


def cause(outcome: Outcome) -> str:
    """Return the cause of a failure in words that are equal for equal causes: the first error without its place."""
    if missing := re.search(r'cannot open source file "([^"]+)"', outcome.error):
        return f"there is no header {missing[1]}"
    text = re.sub(r"^\S+?[:(]\d+\S*\s*", "", outcome.error)
    return re.sub(r"^(catastrophic )?error:\s*", "", text)[:120].replace("|", "\\|")


def markdown(outcomes: Sequence[Outcome], plain: Sequence[Outcome]) -> str:
    """Return the page."""
    names = {package.repository: package.name for package in packages()}
    good = [each for each in outcomes if each.result == "compiled"]
    parts = ["# Files of Python packages", RULE, _summary(outcomes, plain, len(set(names.values())))]
    times = sorted(each.seconds for each in good)
    if times:
        parts.append(
            f"A file has {statistics.median(len(each.kernels) for each in good):g} kernels and takes "
            f"{statistics.median(times):.1f} s (medians); the most kernels are "
            f"{max(len(each.kernels) for each in good)}, the longest time is {times[-1]:.0f} s."
        )
    groups = defaultdict(list)
    for each in outcomes:
        if each.result != "compiled":
            groups[f"{each.result}: {cause(each)}"].append(each.key)
    lines = [["files", "cause", "the first of them"]]
    lines += [[str(len(keys)), text, keys[0]] for text, keys in sorted(groups.items(), key=lambda item: -len(item[1]))]
    parts += ["## What does not compile", table(lines) if groups else "Nothing."]
    counts: dict[str, list[int]] = {}
    for each in outcomes:
        package = counts.setdefault(names["/".join(each.key.split("/")[:2])], [0, 0, 0])
        compiled = each.result == "compiled"
        counts[names["/".join(each.key.split("/")[:2])]] = [
            package[0] + 1,
            package[1] + compiled,
            package[2] + len(each.kernels),
        ]
    rows = [[name, *map(str, numbers)] for name, numbers in sorted(counts.items(), key=lambda item: item[0].lower())]
    parts += ["## By package", table([["package", "files", "compile", "kernels"], *rows])]
    return "\n\n".join(parts) + "\n"


def _summary(outcomes: Sequence[Outcome], plain: Sequence[Outcome], many: int) -> str:
    def share(of: Sequence[Outcome]) -> str:
        good = sum(each.result == "compiled" for each in of)
        return f"{good} of {len(of)} ({100 * good / max(1, len(of)):.0f} %)"

    never = sum(each.result in ("traceback", "crash", "timeout") for each in outcomes)
    lines = [f"- {many} packages, {len(outcomes)} files."]
    if plain:
        lines.append(f"- They compile as they are: {share(plain)}.")
    lines.append(f"- They compile with settings of at most five lines for a file: {share(outcomes)}.")
    lines.append(f"- Ended in a traceback, crash or time limit: {never}.")
    return "\n".join(lines)


if __name__ == "__main__":
    *results, page = map(Path, sys.argv[1:])
    with_settings, *without = (list(read_outcomes(path).values()) for path in results)
    page.write_text(markdown(with_settings, without[0] if without else []), encoding="utf-8")
