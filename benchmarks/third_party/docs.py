"""Format what measure.py found: `python benchmarks/third_party/docs.py RESULT.json [NO_SETTINGS.json] PAGE.md`.

RESULT.json is measured with the settings of the list, NO_SETTINGS.json with `--no-settings`, both for sm_80. Further
arguments such as `sm_90=RESULT.json` add what was measured for other targets. `--suites` formats the
list others.toml, which judge.py judged: `docs.py --suites RESULT.json JUDGED.json PAGE.md`. `--held-out` formats the
list held_out.toml: `docs.py --held-out RESULT.json NO_SETTINGS.json PAGE.md`. `--alone` formats what alone.py measured:
`docs.py --alone RESULT.json PAGE.md`; `--times` what times.py measured: `docs.py --times TIMES.json [MORE] PAGE.md`.
`docs.py --chosen RESULT.json [MORE] PAGE.md` formats the list chosen_by_rule.toml.
`docs.py --ports COMPARED.json TESTED.json PAGE.md` formats what compare.py and own_tests.py of `ports` found.
Each of the seven writes its own part of the page and keeps the others.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomllib

sys.path.insert(0, str(Path(__file__).parents[1]))

from _results import Report, table
from corpus import Package, packages, sources
from judge import Verdict, of_the_source
from measure import Outcome, read_records
from ports.results import OURS, THEIRS, calls, is_as_the_original, tests, times, timings
from times import Times, comparable

__all__ = ["alone", "beside_nvcc", "cause", "chosen", "held_out", "markdown", "ported", "suites"]

HELD_OUT = "# Packages that were not used for development"
SUITES = "# Samples and benchmark suites"
ALONE = "# The time that host code takes"
TIMES = "# The time beside nvcc"
CHOSEN = "# Forty more packages"
PORTS = "# Host functions in Python"
MARKS = ("# Files", HELD_OUT, SUITES, ALONE, TIMES, CHOSEN, PORTS)
HELD_OUT_LIST = Path(__file__).parent / "held_out.toml"
OTHERS = Path(__file__).parent / "others.toml"
CHOSEN_LIST = Path(__file__).parent / "chosen_by_rule.toml"

RULE = """\
The corpus is chosen by rule, not by what compiles: of each package every `.cu` file that the package's own build
compiles and that has device code; of more than four (of the largest packages six or eight) those at even distances in
the order of their names. `benchmarks/third_party/packages.toml` lists repositories, commits, files, include folders and
options; `fetch.py` fetches them, `measure.py` compiles each file unedited with NVRTC 12.9.86, for sm_80, in a process
of its own. The headers of cuRAND and of PyTorch 2.14.1 are in the build environment. A file compiles with all of its
host code, or it does not compile."""

RULE_OF_HELD_OUT = """\
The corpus above was used to develop cuda-wheel, so that it says little about other packages.
`benchmarks/third_party/held_out.toml` lists others, chosen by the same rule before any of them was compiled. Their
first result is from before anything was changed for them; what they showed to be missing in general was added later.
They are compiled as the files above."""

RULE_OF_CHOSEN = """\
`benchmarks/third_party/chosen_by_rule.toml` has the rule by which these packages and their files were chosen before any
of them was compiled: for sm_80, with NVRTC 12.9.86 and the headers of PyTorch 2.14.1, on two busy cores with a limit of
600 s for a file. A third of the packages was kept apart: its first result is from before anything was changed for it.
Files compile as they are, with all of their host code, or with the settings that `cuda-wheel import` proposes. Not
counted are files without kernels, which need no module, and files that need what could not be had: a library, or a
name that no header has any longer, so that nvcc refuses them too."""

RULE_OF_SUITES = """\
`benchmarks/third_party/others.toml` lists files of programs: each file is compiled unedited with the include folders
and options of its program's build, by `measure.py` with NVRTC 12.9.86 and, with cuRAND's headers from their package,
for sm_80. `judge.py` compiles it with nvcc 13.0.88 and with NVRTC 13.0.88, and compares their kernels. Measured on 22
November 2026, when host code that does not compile was left out without being asked: now it is an error."""

RULE_OF_PORTS = """\
`benchmarks/third_party/ports` has the host functions of five extensions, all or those of some files, as Python
functions ([How to write them](how-to/torch-functions.md)). Their kernels are compiled from the unedited files.
`compare.py` builds the originals with nvcc and PyTorch's headers, and calls both with equal inputs: element types, odd
sizes, no elements, strides. A call has the same bits if all results have, and all tensors that it changes. Where
threads add in any order, two calls of the original differ too. Lines have code: no comments, no empty lines."""

RULE_OF_PORT_TIMES = """\
The time of a call with small inputs, so that it is the host's: allocations, checks and launches, 400 calls in a row,
medians of {rounds} rounds. The goal is at most 1.5 times the C++, 1.25 times with three launches or more."""

RULE_OF_PORT_TESTS = """\
`own_tests.py` runs the packages' own tests of these functions, unedited, with the Python functions in place of the
extension. Deselected are tests of C++ for the CPU, which has no port. The tests of apex_transducer with dropout are
expected failures whatever runs them: their reference cannot be differentiated."""

RULE_OF_ALONE = """\
`benchmarks/third_party/alone.py` compiles files of the corpus as they are, and their kernels alone: the same files
without their host code, with the instances of templates named in `instantiate`. Its list, `kernels_alone.toml`, has the
rule by which the files were chosen, and which of their lines are host code. Measured on 23 November 2026."""

RULE_OF_TIMES = """\
`benchmarks/third_party/times.py` compiles files of the corpus for the default targets with NVRTC 13.0.88, and
`nvcc -fatbin` of CUDA 13.0 compiles them for the same targets, each on one core of a machine that others used at the
same time. nvcc is stopped when it has taken 1.25 times as long as cuda-wheel: for most files it spends half a minute
with PyTorch's headers alone, for each target. Where it does not read them, or where the kernels take minutes, both
spend nearly all of their time in the same compiler, and repeated runs of such a file differ by up to a quarter.
Measured on 23 November 2026."""


def cause(outcome: Outcome) -> str:
    """Return the cause of a failure in words that are equal for equal causes: the first error without its place."""
    if missing := re.search(r'cannot open source file "([^"]+)"', outcome.error):
        return f"there is no header {missing[1]}"
    text = re.sub(r"^\S+?[:(]\d+\S*\s*", "", outcome.error)
    return re.sub(r"^(catastrophic )?error:\s*", "", text)[:120].replace("|", "\\|")


def markdown(
    outcomes: Sequence[Outcome],
    plain: Sequence[Outcome],
    others: Mapping[str, Sequence[Outcome]] = MappingProxyType({}),
) -> str:
    """Return the first part of the page; `others` are outcomes for other targets."""
    names = {package.repository: package.name for package in packages()}
    good = [each for each in outcomes if each.result == "compiled"]
    lines = [f"- With settings, for {target}: {_share(each)}." for target, each in others.items()]
    summary = "\n".join([_summary(outcomes, plain, packages()), *lines])
    parts = ["# Files of Python packages", RULE, summary]
    times = sorted(each.seconds for each in good)
    if times:
        parts.append(
            f"A file has {statistics.median(len(each.kernels) for each in good):g} kernels and takes "
            f"{statistics.median(times):.1f} s (medians), with two other files on two busy cores; the most kernels are "
            f"{max(len(each.kernels) for each in good)}, the longest time is {times[-1]:.0f} s."
        )
    parts += ["## What does not compile", _causes(outcomes)]
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


def _causes(outcomes: Sequence[Outcome]) -> str:
    """Return a table of the causes of failures."""
    groups = defaultdict(list)
    for each in outcomes:
        if each.result != "compiled":
            groups[f"{each.result}: {cause(each)}"].append(each.key)
    lines = [["files", "cause", "the first of them"]]
    lines += [[str(len(keys)), text, keys[0]] for text, keys in sorted(groups.items(), key=lambda item: -len(item[1]))]
    return table(lines) if groups else "Nothing."


def held_out(outcomes: Sequence[Outcome], plain: Sequence[Outcome]) -> str:
    """Return the part of the page about packages that were not used for development."""
    first = tomllib.loads(HELD_OUT_LIST.read_text(encoding="utf-8"))["first"]
    listed = packages(HELD_OUT_LIST)
    every = [f"{package.repository}/{path}" for package in listed for path in package.files]
    good = len(every) - len(first["failed"])
    lines = [
        _summary(outcomes, plain, listed),
        f"- The first result, of commit {first['commit']}: {good} of {len(every)} ({100 * good / len(every):.0f} %) as "
        "they are.",
    ]
    parts = [HELD_OUT, RULE_OF_HELD_OUT, "\n".join(lines), "## What does not compile of them", _causes(outcomes)]
    return "\n\n".join(parts) + "\n"


def chosen(outcomes: Sequence[Outcome]) -> str:
    """Return the part of the page about packages that no other list names."""
    tables = tomllib.loads(CHOSEN_LIST.read_text(encoding="utf-8"))
    failed = {each.key for each in outcomes if each.result != "compiled"}
    unavailable, refused = (failed & tables[kind].keys() for kind in ("unavailable", "refused"))
    apart = {f"{each.repository}/{path}" for each in packages(CHOSEN_LIST) if each.apart for path in each.files}
    rows = [
        ["packages", "files", "no kernels", "no dependencies", "nvcc refuses", "as they are", "with import's", "do not"]
    ]
    for name, is_apart in (("used for development", False), ("kept apart", True)):
        own = [each for each in outcomes if (each.key in apart) is is_apart]
        rows.append([name, *map(str, _chosen_numbers(own, unavailable, refused))])
    files, without, lacking, whole, left_out, neither = tables["first"]["numbers"]
    text = (
        f"The first result of the {files} files kept apart: {whole} compiled whole and {left_out} with host code "
        f"left out, the default then; {neither} did not, {without} have no kernel, {lacking} lacked a dependency."
    )
    counted = [each for each in outcomes if each.key not in unavailable | refused and not _has_no_kernel(each)]
    share = f"As they are or with what import proposes, {_share(counted)} compile."
    parts = [CHOSEN, RULE_OF_CHOSEN, table(rows), share, text, "## What does not compile of these", _causes(counted)]
    reasons = [["file", "what it needs and no header has"], *([key, tables["refused"][key]] for key in sorted(refused))]
    parts += ["## What nvcc refuses too", table(reasons)]
    return "\n\n".join(parts) + "\n"


def _chosen_numbers(
    own: Sequence[Outcome], unavailable: AbstractSet[str], refused: AbstractSet[str]
) -> tuple[int, ...]:
    """Return the numbers of files: all, without a kernel, those that lack a dependency, those that nvcc refuses; and of
    all others those that compile, compile with what `import` proposes, and do not compile.

    `unavailable` and `refused` are keys of files.
    """
    lost = [sum(each.key in keys for each in own) for keys in (unavailable, refused)]
    rest = [each for each in own if each.key not in unavailable | refused]
    counted = [each for each in rest if not _has_no_kernel(each)]
    good = [each for each in counted if each.result == "compiled"]
    proposed = sum(bool(each.proposed) for each in good)
    return len(own), len(rest) - len(counted), *lost, len(good) - proposed, proposed, len(counted) - len(good)


def _has_no_kernel(outcome: Outcome) -> bool:
    """Return whether a file compiles and has no kernel."""
    return "has no kernel" in outcome.error


def _summary(outcomes: Sequence[Outcome], plain: Sequence[Outcome], listed: Sequence[Package]) -> str:
    never = sum(each.result in ("traceback", "crash", "timeout") for each in outcomes)
    measured = {each.key for each in outcomes}
    missing = [each.package.name for each in sources(listed) if each.key not in measured]
    lines = [f"- {len({package.repository for package in listed})} packages, {len(outcomes)} files."]
    if missing:
        names = ", ".join(sorted(set(missing), key=str.lower))
        lines.append(f"- Not measured this time: {len(missing)} files, which take longest, of {names}.")
    if plain:
        lines.append(f"- They compile as they are: {_share(plain)}.")
    lines.append(f"- They compile with settings of at most five lines for a file: {_share(outcomes)}.")
    lines.append(f"- Have no kernel that anything launches, and need no module: {sum(map(_has_no_kernel, outcomes))}.")
    lines.append(f"- Ended in a traceback, crash or time limit: {never}.")
    return "\n".join(lines)


def _share(outcomes: Sequence[Outcome]) -> str:
    good = sum(each.result == "compiled" for each in outcomes)
    return f"{good} of {len(outcomes)} ({100 * good / max(1, len(outcomes)):.0f} %)"


def suites(outcomes: Sequence[Outcome], verdicts: Mapping[str, Verdict]) -> str:
    """Return the part of the page about samples and benchmark suites."""
    names = {f"{package.repository}/{path}": package.name for package in packages(OTHERS) for path in package.files}
    lost = [each for each in outcomes if each.result != "compiled" and _has_kernels(verdicts.get(each.key))]
    more = [each for each in verdicts.values() if each.ours == "compiled" != each.nvcc]
    removed = sum(bool(re.search("cudaThread|cudaDeviceProp|cudaMemLocation", each.nvcc)) for each in more)
    good = sum(each.result == "compiled" for each in outcomes)
    never = sum(each.result in ("traceback", "crash", "timeout") for each in outcomes)
    lines = [
        f"- {len(set(names.values()))} suites, {len(outcomes)} files: {good} compile.",
        f"- Files that nvcc compiles to kernels of their own and cuda-wheel does not: {len(lost)}.",
        _comparison(verdicts.values()),
        f"- Files that NVRTC 13.0 compiles and nvcc 13.0 does not: {len(more)}, of which {removed} use what CUDA 13 "
        "removed from the runtime API (`cudaThreadSynchronize`, ...) in host code, which is left out.",
        f"- Ended in a traceback, crash or time limit: {never}.",
    ]
    parts = [SUITES, RULE_OF_SUITES, "\n".join(lines)]
    parts += ["## By suite", _suites_table(outcomes, verdicts, names)]
    parts += ["## What does not compile, by cause", _suites_causes(outcomes, verdicts, names)]
    return "\n\n".join(parts) + "\n"


def _suites_table(outcomes: Sequence[Outcome], verdicts: Mapping[str, Verdict], names: Mapping[str, str]) -> str:
    """Return a table with a row for each suite; `names` are the suites' by the keys of files."""
    rows = [["suite", "files", "compile", "nvcc compiles", "kernels"]]
    for name in dict.fromkeys(names.values()):
        own = [each for each in outcomes if names[each.key] == name]
        theirs = sum(each.key in verdicts and verdicts[each.key].nvcc == "compiled" for each in own)
        compiled = [each for each in own if each.result == "compiled"]
        rows.append([name, *map(str, (len(own), len(compiled), theirs, sum(len(each.kernels) for each in compiled)))])
    return table(rows)


def _suites_causes(outcomes: Sequence[Outcome], verdicts: Mapping[str, Verdict], names: Mapping[str, str]) -> str:
    """Return a table of the causes why files do not compile, the most frequent first."""
    groups = defaultdict(list)
    for each in outcomes:
        if each.result != "compiled":
            text, detail = _reason(each, verdicts.get(each.key))
            groups[text].append(f"{names[each.key]} {each.key.split('/', 2)[2]}" + f" ({detail})" * bool(detail))
    causes = [["files", "cause", "which"]]
    for text, which in sorted(groups.items(), key=lambda item: -len(item[1])):
        causes.append([str(len(which)), text, ", ".join(which)])
    return table(causes) if groups else "Nothing."


def alone(report: Report) -> str:
    """Return the part of the page about files and their kernels alone; raises SystemExit if one is missing."""
    if report.missing:
        raise SystemExit("; ".join(report.missing))
    rows = [["file", "kernels", "alone, s", "with host code, s", "ratio"]]
    ratios, more, identical, every = [], [], 0, 0
    for result in report.results:
        base, whole = result.median(result.base), result.median(result.goals[0].contender)
        kernels, same, compared = map(int, result.details[1])
        ratios.append(whole / base)
        more.append((whole - base) * kernels / compared)
        identical, every = identical + same, every + compared
        rows.append([result.title, str(kernels), f"{base:.2f}", f"{whole:.2f}", f"{ratios[-1]:.2f}"])
    rounds = len(report.results[0].values[report.results[0].base])
    lines = [
        f"- The median of the ratios is {statistics.median(ratios):.2f}; the goal is at most "
        f"{report.results[0].goals[0].times}.",
        f"- Both have the same kernels. In {identical} of {every} pairs (a kernel, a target) the machine code is "
        "identical; the others have the same opcodes, with other addresses of string literals and tables.",
        f"- Host code takes {statistics.median(more):.2f} s more for each target (median), whatever the kernels take: "
        "the compiler reads what it includes. So the ratio is high for small kernels.",
        f"- {report.results[0].about} Medians of {rounds} rounds on {report.machine['CPU']}, with NVRTC "
        f"{report.versions.get('nvidia-cuda-nvrtc-cu12') or report.versions.get('nvidia-cuda-nvrtc')}.",
    ]
    return "\n\n".join([ALONE, RULE_OF_ALONE, "\n".join(lines), table(rows)]) + "\n"


def beside_nvcc(found: Iterable[Times]) -> str:
    """Return the part of the page about the time of files beside nvcc's."""
    both = comparable(found)
    stopped = sum(each.nvcc == "stopped" for each in both)
    slower = sorted((each for each in both if each.ratio > 1), key=lambda each: each.ratio, reverse=True)
    rows = [["file", "nvcc, s", "cuda-wheel, s", "ratio"]]
    for each in slower:
        rows.append([each.key, f"{each.nvcc_seconds:.1f}", f"{each.compile_seconds:.1f}", f"{each.ratio:.2f}"])
    lines = [
        f"- {len(both)} files were timed. nvcc was stopped in {stopped} of them.",
        f"- {len(slower)} of them take longer than with nvcc:",
    ]
    return "\n\n".join([TIMES, RULE_OF_TIMES, "\n".join(lines), table(rows)]) + "\n"


def ported(results: Mapping[str, Mapping[str, Any]], tested: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the part of the page about host functions in Python."""
    machine = next((each["machine"] for each in results.values() if "machine" in each), None)
    on = f" on {machine['gpu']}, PyTorch {machine['torch']}, Python {machine['python']}" if machine else ""
    verdicts = {f"{name}: {call}": each for name in results for call, each in results[name].get("calls", {}).items()}
    same = sum(each == "same bits" for each in verdicts.values())
    alike = sum(map(is_as_the_original, verdicts.values()))
    counts = f"{same} have the same bits; {alike} differ as two calls of the original do"
    lines = [f"- {len(verdicts)} calls were compared{on}: {counts}."]
    as_theirs = [call for call, each in verdicts.items() if each == "same bits" or is_as_the_original(each)]
    wrong = [f"{call}: {each}" for call, each in verdicts.items() if call not in as_theirs]
    lines += [f"- **{each}**" for each in wrong]
    timed = [*timings(results)]
    missed = [
        each.median(OURS) / each.median(THEIRS) for each in timed if not all(goal.met(each) for goal in each.goals)
    ]
    about = f"- {len(timed) - len(missed)} of {len(timed)} calls meet the goal."
    if missed:
        about += f" The others take {min(missed):.2f} to {max(missed):.2f} times as long as the C++."
    rounds = max((len(each.values[OURS]) for each in timed), default=0)
    times_rule = RULE_OF_PORT_TIMES.format(rounds=rounds)
    compared = [PORTS, RULE_OF_PORTS, "\n".join(lines), calls(results)]
    return "\n\n".join([*compared, times_rule, about, times(results), RULE_OF_PORT_TESTS, tests(tested)]) + "\n"


def _comparison(verdicts: Iterable[Verdict]) -> str:
    """Return how the kernels compare in files that both compile."""
    both = [each for each in verdicts if each.ours == each.nvcc == "compiled"]
    own = sum(len(of_the_source(each.missing)) for each in both)
    library = sum(len(each.missing) for each in both) - own
    kernels, identical, same = (
        sum(getattr(each, name) for each in both) for name in ("kernels", "identical", "same_opcodes")
    )
    additional, different = (sum(len(getattr(each, name)) for each in both) for name in ("additional", "different"))
    return (
        f"- {len(both)} files compile with nvcc and with NVRTC of its release. Of nvcc's {kernels} kernels, {own} of "
        f"the files' own are missing, and {library} of CUB's and Thrust's device-wide algorithms, which are not "
        f"compiled; {additional} are additional. The machine code is identical in {identical}, has the same opcodes in "
        f"{same}, and differs in {different}."
    )


def _has_kernels(verdict: Verdict | None) -> bool:
    """Return whether nvcc compiles a file to kernels that are not those of CUB and Thrust."""
    if verdict is None or verdict.nvcc != "compiled":
        return False
    return bool(verdict.kernels if verdict.ours == "compiled" else of_the_source(verdict.missing))


def _reason(outcome: Outcome, verdict: Verdict | None) -> tuple[str, str]:
    """Return why a file of a suite does not compile, in words that are equal for equal causes, and a detail."""
    if "has no kernel" in outcome.error:
        if _has_kernels(verdict):
            return "no kernel is found (nvcc finds some)", ""
        kernels = 0 if verdict is None else verdict.kernels
        return "the file has no kernel of its own", f"nvcc: {kernels} of CUB or Thrust" if kernels else ""
    if verdict is None or verdict.nvcc == "compiled":
        return f"{cause(outcome)} (nvcc compiles it)", ""
    if missing := re.search(r"fatal error: (\S+): No such file", verdict.nvcc):
        return "a header of another library, or of Windows", missing[1]
    if "texture is not a template" in verdict.nvcc:
        return "texture references, which CUDA 12.0 removed", ""
    if re.search(r'identifier "\w+" is undefined|incomplete type "void"', verdict.nvcc):
        return "a part of another file, which declares what it uses; nvcc does not compile it alone either", ""
    if "separate compilation" in verdict.nvcc:
        return "a kernel that launches kernels: it needs the device runtime library", ""
    return cause(outcome), f"nvcc: {verdict.nvcc}"


def parts_of(page: Path) -> list[str]:
    """Return the parts of a page, one for each of `MARKS`; empty if they are not there."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    parts = re.split(f"^(?={'|'.join(f'{re.escape(mark)}$' for mark in MARKS[1:])})", text, flags=re.MULTILINE)
    return ["".join(part.rstrip("\n") + "\n" for part in parts if part.startswith(mark)) for mark in MARKS]


def _suites_part(results: Sequence[Path]) -> str:
    return suites(_outcomes(results[0]), read_records(results[1], Verdict))


def _alone_part(results: Sequence[Path]) -> str:
    return alone(Report.read(results[0]))


def _times_part(results: Sequence[Path]) -> str:
    records = {key: each for path in results for key, each in read_records(path, Times).items()}
    return beside_nvcc(records.values())


def _held_out_part(results: Sequence[Path]) -> str:
    return held_out(_outcomes(results[0]), _outcomes(results[1]) if len(results) > 1 else [])


def _chosen_part(results: Sequence[Path]) -> str:
    return chosen([each for path in results for each in _outcomes(path)])


def _ports_part(results: Sequence[Path]) -> str:
    compared, tested = (json.loads(path.read_text(encoding="utf-8")) for path in results)
    return ported(compared, tested)


PARTS: dict[str, Callable[[Sequence[Path]], str]] = {
    "--held-out": _held_out_part,
    "--suites": _suites_part,
    "--alone": _alone_part,
    "--times": _times_part,
    "--chosen": _chosen_part,
    "--ports": _ports_part,
}
"""Option -> function that makes the part from files of results. The parts follow the first one in this order."""


def main(arguments: Sequence[str]) -> None:
    option = arguments[0] if arguments[0] in PARTS else None
    named = dict(each.split("=", 1) for each in arguments if "=" in each)
    *results, page = (Path(each) for each in arguments if "=" not in each and each != option)
    parts = parts_of(page)
    if option is not None:
        parts[1 + [*PARTS].index(option)] = PARTS[option](results)
    else:
        plain = _outcomes(results[1]) if len(results) > 1 else []
        others = {target: _outcomes(Path(path)) for target, path in named.items()}
        parts[0] = markdown(_outcomes(results[0]), plain, others)
    page.write_text("\n".join(filter(None, parts)), encoding="utf-8")


def _outcomes(path: Path) -> list[Outcome]:
    return list(read_records(path, Outcome).values())


if __name__ == "__main__":
    main(sys.argv[1:])
