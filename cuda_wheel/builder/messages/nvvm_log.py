"""Read what libNVVM says of NVVM IR, in the form of `diagnostics`, and say what would help. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.messages.diagnostics import Diagnostic, Log
from cuda_wheel.builder.toolchain.nvvm import DATA_LAYOUT, INVALID_OPTION, TRIPLE, is_bitcode

if TYPE_CHECKING:
    from cuda_wheel.builder.toolchain.nvvm import Answer, Request

__all__ = [
    "read_answer",
    "read_log",
]


_PLACE = re.compile(r"(?: \(([0-9]{1,9}), ([0-9]{1,9})\))?: (?:parse )?")
"""What follows the file's name. Lines count from 1, and columns from 0, in bytes."""


_SEVERITY = re.compile(r"(?:libnvvm : )?(?:(?:[Ee]rror|([Ww]arning))?: )*(?:<unknown>:0:0: )?")


_NOISE = re.compile(
    r"incompatible IR detected|Consider inserting/updating|!\w|Example valid data layout|(?:32|64)-bit: |nvgpu-\*"
)
"""How messages begin that only comment on the one before; what they advise is in the hints."""


_OPENING = re.compile(r"(?:, must be one of:|(?<=\.)Error: ?)$")


_LATER = "ptr freeze fneg poison callbr noundef nofree nosync willreturn mustprogress memory nocallback immarg"
"""Words that LLVM's assembly language got after LLVM 7."""


def read_answer(request: Request, answer: Answer) -> str:
    """Return libNVVM's warnings; raises CompileError with its errors, or ConfigError where it refuses an option."""
    if answer["error"] == INVALID_OPTION:
        reason = _SEVERITY.sub("", answer["log"].strip(), count=1)
        raise ConfigError(f"{request['name']}: libNVVM refuses an option (of architectures or options): {reason}.")
    read = read_log(answer["log"], request["name"], request["text"])
    if answer["error"]:
        text = str(read) or f"{request['name']}: error: {answer['error']}"
        raise CompileError("\n".join([text, *_hints(read.diagnostics, request)]))
    return str(read)


def read_log(log: str, name: str, text: bytes) -> Log:
    """Return the log that libNVVM gave for a module of that name and text."""
    lines = [] if is_bitcode(text) else text.decode(errors="replace").split("\n")
    found: dict[Diagnostic, None] = {}
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
            found[_shown(Diagnostic(name, line, None, kind, message), lines, column)] = None
        else:
            where = _line_of(details, lines)
            found[Diagnostic(name, where, None, kind, message, details=tuple(details))] = None
    return Log(tuple(sorted(found, key=lambda each: each.severity != "error")), ())


def _blocks(log: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines that begin a message, each with those that are indented below it."""
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


def _shown(each: Diagnostic, lines: Sequence[str], column: int) -> Diagnostic:
    """Return a diagnostic with its line and a caret below it; `column` counts bytes from 0."""
    if each.line is None or not 0 < each.line <= len(lines):
        return each
    line = lines[each.line - 1].rstrip("\r")
    ahead = line.encode()[:column].decode(errors="ignore")
    caret = "".join(sign if sign.isspace() else " " for sign in ahead)
    return each._replace(column=len(ahead) + 1, details=(f"  {line}", f"  {caret}^"))


def _line_of(details: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the one line that holds an instruction which the verifier shows, the first such; None where none does.

    The verifier knows no lines, and prints instructions as it would write them.
    """
    code = [line.partition(";")[0].strip() for line in lines]
    once = {line for line, count in Counter(code).items() if count == 1}
    return next((code.index(each.strip()) + 1 for each in details if each.strip() in once), None)


# --- what would help ----------------------------------------------------------------------------------


def _hints(diagnostics: Sequence[Diagnostic], request: Request) -> list[str]:
    """Return what would help against errors, each once: "help: ..."."""
    found = (_hint(each, request) for each in diagnostics if each.severity == "error")
    return list(dict.fromkeys(f"help: {each}" for each in found if each is not None))


def _hint(each: Diagnostic, request: Request) -> str | None:
    message = each.message
    if "IR version" in message:
        return "the metadata must name the version: !nvvmir.version = !{!0} and !0 = !{i32 2, i32 0}"
    if re.search(r"data ?layout", message, re.IGNORECASE):
        return f'what works for every target is: target datalayout = "{DATA_LAYOUT}"'
    if "triple" in message:
        return f'what works for every target is: target triple = "{TRIPLE}"'
    if "non-void entry function" in message:
        return "a kernel returns void; what it computes goes into memory that a parameter points to"
    if _reads_llvm_7(request):
        word = _word_at(each)
        reads = f"for compute_{request['arch']} libNVVM reads the IR of LLVM 7"
        if word == "ptr":
            return f"{reads}, which has no `ptr`: typed pointers, like `float*`, work for every target"
        if word in _LATER.split():
            return f"{reads}, which has no `{word}` yet; for compute_100 and later it reads a newer LLVM's"
        if "Reader: 'LLVM 7" in message:
            return f"{reads}, without opaque pointers: write bitcode for that, or keep the IR as text"
    return None


def _reads_llvm_7(request: Request) -> bool:
    # Source: nvvm.h, nvvmLLVMVersion and -nvvm-latest; libNVVM 12.9 has neither, but acts alike.
    return int(request["arch"].rstrip("af")) < 100 and "-nvvm-latest" not in request["options"]


def _word_at(each: Diagnostic) -> str:
    """Return the word that a diagnostic's caret points to."""
    if each.column is None:
        return ""
    match = re.match(r"[\w.]+", each.details[0][2 + each.column - 1 :])
    return match[0] if match else ""
