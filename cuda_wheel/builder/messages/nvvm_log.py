"""Read libNVVM's log into diagnostics, with hints. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.messages.diagnostics import Diagnostic, Log, caret_below
from cuda_wheel.builder.toolchain.nvvm import DATA_LAYOUT, INVALID_OPTION, TRIPLE, is_bitcode

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvvm import NvvmRequest, NvvmResult
__all__ = ["read_nvvm_log", "read_nvvm_result"]


_PLACE = re.compile(r"(?: \(([0-9]{1,9}), ([0-9]{1,9})\))?: (?:parse )?")
"""Matches what follows the file name in a message of libNVVM: " (3, 12): parse ". Group 1 is the 1-based line, group 2
the 0-based column in bytes. Both are None in a message without a position."""

_SEVERITY = re.compile(r"(?:libnvvm : )?(?:(?:[Ee]rror|([Ww]arning))?: )*(?:<unknown>:0:0: )?")

_NOISE = re.compile(
    r"incompatible IR detected|Consider inserting/updating|!\w|Example valid data layout|(?:32|64)-bit: |nvgpu-\*"
)
"""Matches the start of a message of libNVVM that only explains the message before it. Such a message is dropped,
because `_hint` gives the same advice."""

_OPENING = re.compile(r"(?:, must be one of:|(?<=\.)Error: ?)$")

_NEWER_WORDS = "ptr freeze fneg poison callbr noundef nofree nosync willreturn mustprogress memory nocallback immarg"
"""Words of LLVM's assembly language that LLVM 7 does not know, separated by spaces. If an error is at one of these
words, the hint says that libNVVM reads the language of LLVM 7."""


def read_nvvm_result(request: NvvmRequest, result: NvvmResult) -> str:
    """Return libNVVM's warnings, "" without any.

    Raises CompileError with its errors and hints if the compilation failed; ConfigError if libNVVM rejects an option.
    """
    if result["error"] == INVALID_OPTION:
        reason = _SEVERITY.sub("", result["log"].strip(), count=1)
        raise ConfigError(f"{request['name']}: libNVVM rejects an option (from architectures or options): {reason}.")
    log = read_nvvm_log(result["log"], request["name"], request["text"])
    if result["error"]:
        text = str(log) or f"{request['name']}: error: {result['error']}"
        raise CompileError("\n".join([text, *_hints(log.diagnostics, request)]))
    return str(log)


def read_nvvm_log(log: str, name: str, text: bytes) -> Log:
    """Return the diagnostics in libNVVM's log, errors first; `name` is the name of the NVVM IR in the log, `text` its
    content."""
    lines = [] if is_bitcode(text) else text.decode(errors="replace").split("\n")
    diagnostics: dict[Diagnostic, None] = {}
    for head, details in _blocks(log):
        rest = head.removeprefix(name)
        place = _PLACE.match(rest) if rest != head else None
        rest = rest[place.end() :] if place else head
        severity = _SEVERITY.match(rest)
        message = _OPENING.sub("", rest[severity.end() :] if severity else rest)
        if not message or _NOISE.match(message):
            continue
        kind = "warning" if severity and severity[1] else "error"
        if place and place[1]:
            line, column = int(place[1]), int(place[2])
            diagnostics[_with_source_line(Diagnostic(name, line, None, kind, message), lines, column)] = None
        else:
            found = _line_of(details, lines)
            diagnostics[Diagnostic(name, found, None, kind, message, details=tuple(details))] = None
    return Log(tuple(sorted(diagnostics, key=lambda each: each.severity != "error")), ())


def _blocks(log: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (first line, the indented lines below it) for each message in libNVVM's log. Blank lines are skipped."""
    head, details = "", list[str]()
    for line in filter(str.strip, log.replace("\0", "\n").split("\n")):
        if line.startswith((" ", "\t")):
            details.append(line)
            continue
        if head:
            yield head, details
        head, details = line, []
    if head:
        yield head, details


def _with_source_line(diagnostic: Diagnostic, lines: Sequence[str], column: int) -> Diagnostic:
    """Return `diagnostic` with its column, and with its source line and a caret below it as `details`.

    `lines`: lines of the source.
    `column`: 0-based column in bytes.

    `diagnostic` is returned unchanged if the source has no such line.
    """
    if diagnostic.line is None or not 0 < diagnostic.line <= len(lines):
        return diagnostic
    line = lines[diagnostic.line - 1].rstrip("\r")
    before = line.encode()[:column].decode(errors="ignore")
    return diagnostic._replace(column=len(before) + 1, details=(f"  {line}", f"  {caret_below(before)}"))


def _line_of(details: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the 1-based line of the source that contains the wrong instruction. None if the line is not known.

    `details`: lines below an error of LLVM's verifier. They show the instruction and no line number.
    `lines`: lines of the source.

    The first line of `details` that equals exactly one line of the source decides.
    """
    # Outer white space and comments of the source are ignored.
    code = [line.partition(";")[0].strip() for line in lines]
    unique = {line for line, count in Counter(code).items() if count == 1}
    return next((code.index(each.strip()) + 1 for each in details if each.strip() in unique), None)


# --- hints --------------------------------------------------------------------------------------------


def _hints(diagnostics: Sequence[Diagnostic], request: NvvmRequest) -> list[str]:
    """Return a line "help: HINT" for each error that has a hint, without duplicates; [] if none has."""
    found = (_hint(each, request) for each in diagnostics if each.severity == "error")
    return list(dict.fromkeys(f"help: {each}" for each in found if each is not None))


def _hint(diagnostic: Diagnostic, request: NvvmRequest) -> str | None:
    message = diagnostic.message
    if "IR version" in message:
        return "the metadata must contain the IR version: !nvvmir.version = !{!0} and !0 = !{i32 2, i32 0}"
    if re.search(r"data ?layout", message, re.IGNORECASE):
        return f'this data layout works for every target: target datalayout = "{DATA_LAYOUT}"'
    if "triple" in message:
        return f'this triple works for every target: target triple = "{TRIPLE}"'
    if "non-void entry function" in message:
        return "a kernel must return void: store its results through a pointer parameter"
    if _reads_llvm_7(request):
        word = _word_at_caret(diagnostic)
        reads = f"for compute_{request['arch']}, libNVVM reads the IR of LLVM 7"
        if word == "ptr":
            return f"{reads}, which has no `ptr`: use typed pointers such as `float*`, which work for every target"
        if word in _NEWER_WORDS.split():
            return f"{reads}, which has no `{word}`; for compute_100 and later it reads the IR of a newer LLVM"
        if "Reader: 'LLVM 7" in message:
            return f"{reads}, which has no opaque pointers: write the bitcode with LLVM 7, or use IR as text"
    return None


def _reads_llvm_7(request: NvvmRequest) -> bool:
    # Source: nvvm.h, nvvmLLVMVersion and -nvvm-latest. libNVVM 12.9 has neither, but behaves the same.
    return int(request["arch"].rstrip("af")) < 100 and "-nvvm-latest" not in request["options"]


def _word_at_caret(diagnostic: Diagnostic) -> str:
    if diagnostic.column is None:
        return ""
    match = re.match(r"[\w.]+", diagnostic.details[0][2 + diagnostic.column - 1 :])
    return match[0] if match else ""
