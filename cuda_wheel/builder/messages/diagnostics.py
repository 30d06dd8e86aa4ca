"""Read what NVRTC, ptxas and nvJitLink say, and say it in one form: `file:line:column: error: ...`, errors first.

Pure, and light to import: the process that loads a module reads a log too.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = [
    "Diagnostic",
    "Log",
    "Written",
    "is_warning",
    "merged",
    "read_log",
    "text_of",
]


class Diagnostic(NamedTuple):
    """One thing that a compiler has to say. `file` is project-relative, or absolute for a file of the toolkit's; the
    source itself where the log names none. `line` and `column` count from 1, the column in characters; None where the
    log does not tell. `severity` is "error", "warning", "remark" or "note".

    `details` are the lines that follow: more of the message, the source line with its caret, what was instantiated.
    """

    file: str
    line: int | None
    column: int | None
    severity: str
    message: str
    number: str = ""
    details: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        number = f" [#{self.number}]" if self.number else ""
        head = f"{place}: {self.severity}: {self.message}{number}"
        return "\n".join([head, *self.details, *map(str, self.notes)])


class Log(NamedTuple):
    """A log, read: its diagnostics, errors first, and the lines that are none."""

    diagnostics: tuple[Diagnostic, ...]
    rest: tuple[str, ...]

    def __str__(self) -> str:
        return text_of(self.diagnostics, self.rest)


def text_of(diagnostics: Iterable[Diagnostic], rest: Sequence[str] = ()) -> str:
    """Return diagnostics as text, a blank line between them, and then other lines."""
    return "\n\n".join([*map(str, diagnostics), *filter(None, ["\n".join(rest)])])


def merged(texts: Mapping[str, str]) -> list[str]:
    """Return the diagnostics in what `text_of` gave by target, each once; with its targets, if it is not of all."""
    targets: dict[str, list[str]] = {}
    for target, text in texts.items():
        for each in filter(None, text.split("\n\n")):
            targets.setdefault(each, []).append(target)
    return [each if len(its) == len(texts) else f"{each}\n  only for {', '.join(its)}" for each, its in targets.items()]


def is_warning(text: str) -> bool:
    """Return whether the text of a diagnostic is a warning's."""
    return bool(_WARNING.match(text))


_WARNING = re.compile(r"\S[^\n]*?: warning: ")


_NOISE = (
    "ptxas info",
    "ptxas         .",
    "INFO: ",
    "nvrtc: warning: Architectures prior to",
    "Remark: The warnings can be suppressed",
    "Compilation terminated.",
    "ERROR NVJITLINK_ERROR",
    "ERROR 1: ",
)
"""How lines begin that tell nobody anything: figures that are read elsewhere; that old targets, which somebody asked
for, are old; an option that is not ours; and what the errors before have said."""


_HEAD = re.compile(
    r"(?P<file>\S.*?)(?:\((?P<line>[0-9]{1,9})\))?: (?P<severity>catastrophic error|error|warning|remark|note)"
    r"(?: #(?P<number>\d+(?:-D)?))?: (?P<message>.*)"
)


_ASSEMBLER = re.compile(r"(?:ptxas (?:[^;:]*; *)?)?(?P<severity>error|fatal|warning) +: (?P<message>.*)")
"""What ptxas says, with its name before it and without; where in the PTX, which nobody sees, is left out."""


_ABORTED = "Ptx assembly aborted due to errors"


_NO_FILES = ("At end of source", "nvrtc", "command-line", "Command-line")


_NAME_MAP = "__nv_name_map"
"""The file where NVRTC puts name expressions."""


_ASKED = re.compile(r'(?P<reason>.*?) ?Input name expression was: "(?P<name>.*)"')


_AT_LINE = re.compile(r"(at line \d+ of )(\S.*)$")


_BUILTIN = "__nv_nvrtc_builtin_header.h"


Written = Callable[[str], "Sequence[str] | None"]
"""Returns the lines of a project-relative file as they are, where the compiler was given others."""


def read_log(
    log: str,
    source: str,
    root: str,
    systems: Sequence[str],
    expressions: Sequence[str] = (),
    written: Written = lambda file: None,
) -> Log:
    """Return a compiler's log of a source without figures, and without warnings about headers not of the project.

    Every other compiler keeps quiet about system headers; NVRTC has no way to say that a header is one. `systems` are
    the folders of those; `root` is the project's, and `expressions` are the names that instantiate asks for.
    """
    paths = _Paths(source, _slashed(root))
    found: list[Diagnostic] = []
    rest: list[str] = []
    for block in _blocks(log):
        head = block[0]
        if match := _ASSEMBLER.match(head):
            if match["message"] != _ABORTED or not found:
                found.append(_assemblers(match, source, block[1:]))
        elif match := _HEAD.match(head):
            each = _as_written(_compilers(match, block[1:], paths), written)
            if each.severity == "note" and found:
                found[-1] = found[-1]._replace(notes=(*found[-1].notes, each))
            else:
                found.append(each)
        else:
            rest += block
    theirs = tuple(f"{_slashed(folder)}/" for folder in systems)
    loud = [
        each
        for each in _without_name_map(found, source, expressions)
        if each.severity == "error" or not (each.file.startswith(theirs) or each.file == _BUILTIN)
    ]
    unique: dict[tuple[object, ...], Diagnostic] = {}
    for each in loud:
        unique.setdefault((each.file, each.line, each.column, each.severity, each.message), each)
    first = sorted(unique.values(), key=lambda each: each.severity != "error")
    return Log(tuple(first), tuple(rest))


_COUNT = re.compile(r"(| and )\d+ (catastrophic )?errors? detected\b")
"""How the compiler counts its errors: those too that it repeats, and that are told once."""


def _blocks(log: str) -> list[list[str]]:
    """Return the lines of a log, from each beginning of a diagnostic on to its end."""
    blocks: list[list[str]] = []
    ended = True
    # NVRTC ends its own part of the log with a NUL. A source line may hold what str.splitlines takes for an end.
    for line in log.replace("\0", "\n").split("\n"):
        line = line.rstrip("\r")
        begins = not line.startswith((" ", "\t"))
        if not line.strip() or line.startswith(_NOISE) or _COUNT.match(line):
            ended = True
        elif begins or ended:
            blocks.append([line])
            ended = False
        else:
            blocks[-1].append(line)
    return blocks


def _slashed(path: str) -> str:
    """Return a path with "/" alone: on Windows, compilers mix both ways."""
    return path.replace(os.sep, "/")


class _Paths(NamedTuple):
    source: str
    root: str

    def relative(self, path: str) -> str:
        """Return a path as the project has it, without detours."""
        return posixpath.normpath(_slashed(path).removeprefix(f"{self.root}/"))


def _assemblers(match: re.Match[str], source: str, more: Sequence[str]) -> Diagnostic:
    severity = "warning" if match["severity"] == "warning" else "error"
    return Diagnostic(source, None, None, severity, f"ptxas: {match['message'].strip()}", details=tuple(more))


def _compilers(match: re.Match[str], more: Sequence[str], paths: _Paths) -> Diagnostic:
    column, details = _column(list(more))
    message = match["message"]
    file = paths.relative(match["file"])
    if file in _NO_FILES:
        message = message if file == "nvrtc" else f"{message} ({file[0].lower()}{file[1:]})"
        file = paths.source
    return Diagnostic(
        file=file,
        line=int(match["line"]) if match["line"] else None,
        column=column if match["line"] else None,
        severity=match["severity"].removeprefix("catastrophic "),
        message=message,
        number=match["number"] or "",
        details=tuple(_AT_LINE.sub(lambda at: at[1] + paths.relative(at[2]), line) for line in details),
    )


def _column(lines: list[str]) -> tuple[int | None, list[str]]:
    """Return the column, in characters, that a caret points to, and the lines with the caret right there.

    NVRTC shows a source line whole, after two spaces, its tabs as tabs, and puts the caret by counting bytes.
    """
    index = _caret(lines)
    if index is None:
        return None, lines
    ahead = lines[index - 1].encode()[: lines[index].index("^")].decode(errors="ignore")
    caret = "".join(sign if sign.isspace() else " " for sign in ahead) + "^"
    return len(ahead) - 2 + 1, [*lines[:index], caret, *lines[index + 1 :]]


def _caret(lines: Sequence[str]) -> int | None:
    """Return which line is a caret below a source line."""
    pairs = enumerate(pairwise(lines), 1)
    return next(
        (i for i, (shown, below) in pairs if shown.startswith("  ") and re.fullmatch(r"  \s*\^\s*", below)), None
    )


def _as_written(each: Diagnostic, written: Written) -> Diagnostic:
    """Return a diagnostic that shows its line, and the column there, as its author knows them."""
    lines = written(each.file) if each.line is not None and each.column is not None else None
    below = _caret(each.details)
    if lines is None or below is None or each.line is None or each.column is None or not 0 < each.line <= len(lines):
        return each
    line = lines[each.line - 1].rstrip("\r\n")
    at = below - 1
    given = each.details[at][2:]
    if given == line:
        return each
    own = other = 0
    while other < each.column - 1:
        # Of all that is changed for the compiler, this alone is not of the same length.
        longer = given.startswith("constexpr", other) and line.startswith("const", own)
        longer = longer and not line.startswith("constexpr", own)
        own, other = (own + 5, other + 9) if longer else (own + 1, other + 1)
    caret = "".join(sign if sign.isspace() else " " for sign in line[:own])
    details = (*each.details[:at], f"  {line}", f"  {caret}^", *each.details[at + 2 :])
    return each._replace(column=own + 1, details=details)


def _without_name_map(found: Sequence[Diagnostic], source: str, expressions: Sequence[str]) -> list[Diagnostic]:
    """Return diagnostics with one for each name expression that is wrong, which says why it is."""
    kept: list[Diagnostic] = []
    reasons: list[str] = []
    for each in found:
        if each.file != _NAME_MAP:
            kept.append(each)
            continue
        match = _ASKED.match(each.message)
        if match is None:
            reasons.append(each.message)
            continue
        asked = next((name for name in expressions if _bare(name) == _bare(match["name"])), None)
        subject = match["name"].strip() if asked is None else f"{asked} (instantiate)"
        reason = next(iter(reasons), match["reason"].rstrip("."))
        kept.append(Diagnostic(source, None, None, "error", f"{subject} is no kernel of this file: {reason}"))
        reasons = []
    if reasons:
        message = f"one of {', '.join(expressions)} (instantiate) is no kernel of this file: {reasons[0]}"
        kept.append(Diagnostic(source, None, None, "error", message))
    return kept


def _bare(expression: str) -> str:
    return re.sub(r"\s", "", expression)
