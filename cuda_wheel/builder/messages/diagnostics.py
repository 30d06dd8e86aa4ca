"""Read the logs of NVRTC, ptxas and nvJitLink into diagnostics of one form.

A diagnostic is printed as `file:line:column: error: ...`; errors come first. Pure functions. This module imports
little, because a process that compiles a module on load reads a log too.
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
    "OriginalLines",
    "caret_below",
    "is_warning",
    "merge_by_target",
    "no_original_lines",
    "read_nvrtc_log",
]

# --- records ------------------------------------------------------------------------------------------


class Diagnostic(NamedTuple):
    """One error, warning, remark or note.

    `file` is project-relative, or absolute for a file outside the project; if the log names no file, it is the source.
    `line` and `column` count from 1, the column in characters; None if the log does not contain them. `severity` is
    "error", "warning", "remark" or "note". `number` is the compiler's number of the message ("20014-D"), "" without
    one. `details` are the lines below the message in the log: the rest of the message, the source line and its caret,
    the instantiations. `notes` are the notes that the log prints after it.
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
    """The contents of a log: its diagnostics, errors first, and all other lines that are not noise."""

    diagnostics: tuple[Diagnostic, ...]
    rest: tuple[str, ...]

    def __str__(self) -> str:
        """Return the diagnostics with a blank line between them, and then the other lines."""
        return "\n\n".join([*map(str, self.diagnostics), *filter(None, ["\n".join(self.rest)])])


OriginalLines = Callable[[str], "Sequence[str] | None"]
"""Function of a project-relative path. It returns the lines of that file as its author wrote them, or None if the
compiler read the file without changes."""


def no_original_lines(file: str) -> None:
    """Return None for every file: the compiler read all files without changes. It is the default `OriginalLines`."""


# --- texts --------------------------------------------------------------------------------------------

_WARNING = re.compile(r"\S[^\n]*?: warning: ")


def is_warning(text: str) -> bool:
    """Return whether the text of a diagnostic is a warning: "k.cu:3:5: warning: ..."."""
    return bool(_WARNING.match(text))


def merge_by_target(texts: Mapping[str, str]) -> list[str]:
    """Return each diagnostic of several logs once, with a line "only for sm_80, sm_90" unless all logs contain it.

    `texts` is target ("sm_80") -> `str(log)`.
    """
    targets_of: dict[str, list[str]] = {}
    for target, text in texts.items():
        for diagnostic in filter(None, text.split("\n\n")):
            targets_of.setdefault(diagnostic, []).append(target)
    return [
        diagnostic if len(targets) == len(texts) else f"{diagnostic}\n  only for {', '.join(targets)}"
        for diagnostic, targets in targets_of.items()
    ]


# --- NVRTC's log --------------------------------------------------------------------------------------

# The lines are about: resource use, which `images.assembly` reads; deprecated targets, which `report.notes` reports
# once; an NVRTC option; errors that another line of the log reports too; internal functions of the compiler that do not
# match a call.
_NOISE = (
    "ptxas info",
    "ptxas         .",
    "INFO: ",
    "nvrtc: warning: Architectures prior to",
    "Architectures prior to",
    "Remark: The warnings can be suppressed",
    "Compilation terminated.",
    "Error limit reached.",
    "Note #3326-D",
    "ERROR NVJITLINK_ERROR",
    "ERROR 1: ",
)
"""Beginnings of the log lines that a build does not report to the user."""

# NVRTC counts an error each time it prints it, and a build reports the error once.
_COUNT = re.compile(r"(| and )\d+ (catastrophic )?errors? detected\b")
"""Matches a log line that counts errors, such as "2 errors detected in ...". Such a line is ignored."""

# "Error" with a capital is from NVRTC's code generator.
_HEAD = re.compile(
    r"(?P<file>\S.*?)(?:\((?P<line>[0-9]{1,9})\))?: (?P<severity>catastrophic error|[Ee]rror|warning|remark|note)"
    r"(?: #(?P<number>\d+(?:-D)?))?: (?P<message>.*)"
)
"""Matches the first line of a diagnostic of NVRTC, such as `k.cu(3): warning #177-D: variable "x" was declared ...`.

The groups are `file`, `line` (optional), `severity`, `number` ("177-D", optional) and `message`.
"""

# No group for the line in the PTX: users do not see the PTX.
_PTXAS = re.compile(r"(?:ptxas (?:[^;:]*; *)?)?(?P<severity>error|fatal|warning) +: (?P<message>.*)")
"""Matches a diagnostic of ptxas, such as "ptxas application ptx input, line 9; error : ...". The groups are `severity`
and `message`. The program's name may be missing."""

_BARE = re.compile(r"(?P<severity>error): (?P<message>\S.*)")
"""Matches an error of NVRTC's code generator that has no file and line, "error: MESSAGE"; groups `severity` and
`message`."""

_NO_MATCH = "3326-D"
"""NVRTC's number for the note that one of several overloads of a function does not match a call."""

_PTXAS_ABORTED = "Ptx assembly aborted due to errors"

_NO_FILES = ("At end of source", "nvrtc", "command-line", "Command-line")
"""Words that NVRTC prints in place of a file name if a message is not about a line of a file."""

_NAME_MAP = "__nv_name_map"
"""File name that NVRTC prints in errors about name expressions. NVRTC compiles the expressions as a file of this
name."""

_GCC_PRAGMA = re.compile(r"pragma\W+(?:GCC|STDC)\b")
"""Matches a pragma for the host compiler, `#pragma GCC ...` or `#pragma STDC ...`. nvcc passes it to GCC; NVRTC warns
about it, and this warning is dropped."""

_UNKNOWN_ATTRIBUTE = re.compile(r'unknown attribute "_*(\w+?)_*"')

_LAYOUT_ATTRIBUTES = ("vector_size", "ms_struct", "scalar_storage_order", "no_unique_address")
"""GCC attributes that change the layout of a type. NVRTC ignores them with a warning, and the layout would be wrong.
Therefore this warning becomes an error."""

_HOST_ATTRIBUTES = (
    *("access", "assume_aligned", "designated_init", "init_priority", "no_icf", "no_sanitize", "noclone", "noipa"),
    *("optimize", "returns_nonnull", "simd", "tls_model", "transparent_union", "visibility"),
)
"""GCC attributes that do not affect device code. NVRTC's warning about them is dropped, because nvcc does not warn."""

_BUILTIN = "__nv_nvrtc_builtin_header.h"

_EXPRESSION = re.compile(r'(?P<reason>.*?) ?Input name expression was: "(?P<name>.*)"')

_AT_LINE = re.compile(r"(at line \d+ of )(\S.*)$")


def read_nvrtc_log(
    log: str,
    source: str,
    root: str,
    system_folders: Sequence[str],
    expressions: Sequence[str] = (),
    original_lines: OriginalLines = no_original_lines,
) -> Log:
    """Return the diagnostics in a log of NVRTC, which includes ptxas's, or in nvJitLink's log for the same source.

    Warnings about files in `system_folders` are left out, as other compilers do for system headers; NVRTC has no option
    for that. `source` is the source's project-relative path, `root` the project's absolute folder, and `expressions`
    the name expressions in `instantiate`.
    """
    paths = _Paths(source, _with_slashes(root))
    diagnostics: list[Diagnostic] = []
    rest: list[str] = []
    system = tuple(f"{_with_slashes(folder)}/" for folder in system_folders)
    for head, *details in _blocks(log):
        if match := _PTXAS.match(head):
            if match["message"] != _PTXAS_ABORTED or not diagnostics:
                diagnostics.append(_ptxas_diagnostic(match, source, details))
        elif match := _BARE.fullmatch(head):
            diagnostics.append(Diagnostic(source, None, None, match["severity"], match["message"], "", tuple(details)))
        elif match := _HEAD.match(head):
            diagnostic = _with_original_line(_nvrtc_diagnostic(match, details, paths), original_lines)
            if diagnostic.severity == "note" and diagnostics:
                if diagnostic.number == _NO_MATCH and diagnostic.file.startswith(system):
                    continue  # the overloads of the toolkit's functions are many
                diagnostics[-1] = diagnostics[-1]._replace(notes=(*diagnostics[-1].notes, diagnostic))
            else:
                diagnostics.append(diagnostic)
        else:
            rest += [head, *details]
    return Log(_reported(_without_name_map(diagnostics, source, expressions), system), tuple(rest))


def _reported(diagnostics: Iterable[Diagnostic], system: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics to report, errors first, without duplicates and without warnings about system headers.

    `system` are the prefixes of the paths of system headers.
    """
    unique: dict[tuple[object, ...], Diagnostic] = {}
    for each in filter(None, map(_as_gcc_means_it, diagnostics)):
        if each.severity == "error" or not (each.file.startswith(system) or each.file == _BUILTIN):
            unique.setdefault((each.file, each.line, each.column, each.severity, each.message), each)
    return tuple(sorted(unique.values(), key=lambda each: each.severity != "error"))


def _as_gcc_means_it(diagnostic: Diagnostic) -> Diagnostic | None:
    """Return `diagnostic` with the severity that it has with nvcc and GCC. None if nvcc and GCC report nothing.

    A warning about `#pragma GCC ...` is dropped. A warning about an attribute that changes the layout of a type, such
    as `vector_size`, becomes an error.
    """
    if diagnostic.severity == "warning" and diagnostic.message == "unrecognized #pragma":
        # A line without the word uses a macro, whose text the log does not have: mostly _Pragma("GCC diagnostic ...").
        is_other = any("pragma" in line.lower() for line in diagnostic.details)
        return diagnostic if is_other and not any(map(_GCC_PRAGMA.search, diagnostic.details)) else None
    attribute = _UNKNOWN_ATTRIBUTE.fullmatch(diagnostic.message)
    if attribute is None or attribute[1] in _HOST_ATTRIBUTES:
        return None if attribute else diagnostic
    if attribute[1] in _LAYOUT_ATTRIBUTES:
        reason = f"{diagnostic.message}, which changes the layout of a type; NVRTC does not support it"
        return diagnostic._replace(severity="error", message=reason)
    return diagnostic


def _blocks(log: str) -> list[list[str]]:
    """Divide the log of a compiler into diagnostics. Return the lines of each: its first line and the indented lines
    below it.

    Blank lines and the lines that `_NOISE` and `_COUNT` describe are left out.
    """
    blocks: list[list[str]] = []
    ended = True
    # NVRTC ends its own part of the log with a NUL. str.splitlines would split source lines at further characters.
    for line in log.replace("\0", "\n").split("\n"):
        line = line.rstrip("\r")
        indented = line.startswith((" ", "\t"))
        if not line.strip() or line.startswith(_NOISE) or _COUNT.match(line):
            ended = True
        elif ended or not indented:
            blocks.append([line])
            ended = False
        else:
            blocks[-1].append(line)
    return blocks


def _with_slashes(path: str) -> str:
    """Return a path with "/" as its only separator; on Windows, compilers mix both separators."""
    return path.replace(os.sep, "/")


class _Paths(NamedTuple):
    source: str
    root: str

    def relative(self, path: str) -> str:
        """Return a path relative to the project's folder if it is inside; else the path. "." and ".." are removed where
        possible."""
        return posixpath.normpath(_with_slashes(path).removeprefix(f"{self.root}/"))


def _ptxas_diagnostic(match: re.Match[str], source: str, details: Sequence[str]) -> Diagnostic:
    severity = "warning" if match["severity"] == "warning" else "error"
    return Diagnostic(source, None, None, severity, f"ptxas: {match['message'].strip()}", details=tuple(details))


def _nvrtc_diagnostic(match: re.Match[str], details: list[str], paths: _Paths) -> Diagnostic:
    column, details = _column(details)
    message = match["message"]
    file = paths.relative(match["file"])
    if file in _NO_FILES:
        message = message if file == "nvrtc" else f"{message} ({file[0].lower()}{file[1:]})"
        file = paths.source
    return Diagnostic(
        file=file,
        line=int(match["line"]) if match["line"] else None,
        column=column if match["line"] else None,
        severity=match["severity"].lower().removeprefix("catastrophic "),
        message=message,
        number=match["number"] or "",
        details=tuple(_AT_LINE.sub(lambda at: at[1] + paths.relative(at[2]), line) for line in details),
    )


# --- source lines and carets --------------------------------------------------------------------------


def caret_below(text: str) -> str:
    """Return a line with only a caret. Printed below a line that begins with `text`, the caret points just behind
    `text`."""
    return "".join(character if character.isspace() else " " for character in text) + "^"


def _column(lines: list[str]) -> tuple[int | None, list[str]]:
    """Return (1-based column of the caret, the lines with the caret moved to that column).

    `lines` are the lines below a diagnostic. The caret is the "^" below the source line. The column counts characters,
    but NVRTC places the caret by counting bytes. Return (None, `lines`) if there is no caret.
    """
    index = _caret_index(lines)
    if index is None:
        return None, lines
    before = lines[index - 1].encode()[: lines[index].index("^")].decode(errors="ignore")
    # NVRTC prints two spaces before the source line, and keeps the line's tabs.
    return len(before) - 2 + 1, [*lines[:index], caret_below(before), *lines[index + 1 :]]


def _caret_index(lines: Sequence[str]) -> int | None:
    """Return the index of the line that contains only a caret ("^") and follows a source line; None if there is
    none."""
    pairs = enumerate(pairwise(lines), 1)
    return next(
        (i for i, (shown, below) in pairs if shown.startswith("  ") and re.fullmatch(r"  \s*\^\s*", below)), None
    )


def _with_original_line(diagnostic: Diagnostic, original_lines: OriginalLines) -> Diagnostic:
    """Return `diagnostic` with the source line as its author wrote it, in place of the line that the compiler read.

    Return `diagnostic` unchanged if the original line is not known.
    """
    lines, caret = original_lines(diagnostic.file), _caret_index(diagnostic.details)
    if lines is None or caret is None or diagnostic.line is None or not 0 < diagnostic.line <= len(lines):
        return diagnostic
    original = lines[diagnostic.line - 1].rstrip("\r\n")
    # Column and caret are kept: most changes to a source do not move code to another column.
    details = (*diagnostic.details[: caret - 1], f"  {original}", *diagnostic.details[caret:])
    return diagnostic._replace(details=details)


# --- name expressions ---------------------------------------------------------------------------------


def _without_name_map(diagnostics: Sequence[Diagnostic], source: str, expressions: Sequence[str]) -> list[Diagnostic]:
    """Return the diagnostics, with one error in place of all errors about the same wrong name expression.

    `source`: path of the source that the new error names.
    `expressions`: name expressions in the setting `instantiate`.
    """
    result: list[Diagnostic] = []
    reasons: list[str] = []
    # For a wrong name expression, NVRTC reports several errors, about a generated file that users do not know.
    for diagnostic in diagnostics:
        if diagnostic.file != _NAME_MAP:
            result.append(diagnostic)
            continue
        match = _EXPRESSION.match(diagnostic.message)
        if match is None:
            reasons.append(diagnostic.message)
            continue
        written = next((name for name in expressions if _compact(name) == _compact(match["name"])), None)
        subject = match["name"].strip() if written is None else f"{written} (instantiate)"
        reason = reasons[0] if reasons else match["reason"].rstrip(".")
        result.append(_not_a_kernel(source, subject, reason))
        reasons = []
    if reasons:
        result.append(_not_a_kernel(source, f"one of {', '.join(expressions)} (instantiate)", reasons[0]))
    return result


def _not_a_kernel(source: str, subject: str, reason: str) -> Diagnostic:
    return Diagnostic(source, None, None, "error", f"{subject} is not a kernel of this file: {reason}")


def _compact(expression: str) -> str:
    """Return a name expression without white space, for a comparison with another name expression."""
    return re.sub(r"\s", "", expression)
