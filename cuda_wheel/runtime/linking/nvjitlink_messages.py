"""What the messages of nvJitLink mean, and of the assembler and the driver's linker, whose words are the same.

Source: nvJitLink 12.9 and 13.5, and driver 580. The patterns are compiled when a link fails, and not at import, which
would take longer than a link.
"""

import enum
import re

__all__ = [
    "Cause",
    "causes",
    "duplicate_message",
    "duplicate_symbols",
    "locate_errors",
    "locate_link_errors",
    "undefined_message",
    "undefined_symbols",
    "unreported_errors",
]


class Cause(enum.Enum):
    """Why a link failed."""

    UNDEFINED = "a symbol has no definition"
    DUPLICATE = "a symbol has two definitions"
    LTOIR_FOR_NEWER_GPU = "LTO-IR is for a newer GPU than the target"
    PTX_FOR_NEWER_GPU = "PTX is for a newer GPU than the target"
    NEEDS_LTO = "an input holds LTO-IR, and the link is without LTO"
    BAD_INPUT = "an input is machine code for another GPU, or damaged"
    DAMAGED = "an input is damaged"
    NEWER_LTOIR = "LTO-IR comes from a newer CUDA release than the linker"
    NEWER_PTX = "PTX comes from a newer CUDA release than the linker"


_PATTERNS = {
    Cause.UNDEFINED: r"Undefined reference|Unresolved extern",
    Cause.DUPLICATE: r"Multiple definition|multiply defined",
    Cause.LTOIR_FOR_NEWER_GPU: r"LTOIR arch newer",
    Cause.PTX_FOR_NEWER_GPU: r"SM version specified by \.target is higher",
    Cause.NEEDS_LTO: r"nvvm input without LTO|without LTO enabled",
    Cause.BAD_INPUT: r"bad input",
    Cause.DAMAGED: r"INVALID_INPUT|INCORRECT_INPUT_TYPE|parse Malformed|parse Invalid|Internal error|archive format",
    Cause.NEWER_LTOIR: r"newer version of nvJitLink|IR_VERSION_MISMATCH|incompatible IR detected|OUTDATED_LIBRARY",
    Cause.NEWER_PTX: r"Unsupported \.version|UNSUPPORTED_PTX_VERSION",
}

_UNDEFINED = r"(?:Unresolved extern (?:function|variable)|Undefined reference to) '([^']+)'"

_DUPLICATE = r"Multiple definition of '([^']+)'|Linking globals named '([^']+)': symbol multiply defined"

_UNREPORTED = r"error\s*: |.*(?:Multiple definition of|Unresolved extern variable|Undefined reference to) '"

_NOISE = (
    r"ERROR \d+: (?:finish|complete)$|ERROR [\w ]*: JIT the PTX \(ltoPtx\)$|ERROR in nvvmCompileProgram.*"
    r"|ERROR \w+ \(\d+\) in nvvmCompileProgram callback$"
)
"""Lines that follow another error and say nothing more."""

_ASSEMBLER_ERROR = r"ptxas [^\n]*?, line (\d+); (?:error|fatal)\s*: "


def causes(log: str) -> list[Cause]:
    """Return the causes that a linker's log names, in the order of `Cause`."""
    return [cause for cause, pattern in _PATTERNS.items() if re.search(pattern, log)]


def undefined_symbols(log: str) -> list[str]:
    """Return the symbols that a log says nobody defines."""
    return list(dict.fromkeys(re.findall(_UNDEFINED, log)))


def duplicate_symbols(log: str) -> list[str]:
    """Return the symbols that a log says are defined twice."""
    return list(dict.fromkeys(match[1] or match[2] for match in re.finditer(_DUPLICATE, log)))


def unreported_errors(output: str) -> list[str]:
    """Return the errors in what nvJitLink logged and printed during a link that it called a success.

    It defines a variable that no input defines, and takes one of two definitions.
    """
    lines = (line.removeprefix("@E@") for line in output.splitlines())
    return [line for line in lines if re.match(_UNREPORTED, line)]


def undefined_message(symbol: str) -> str:
    """Return nvJitLink's message for a symbol that no input defines."""
    return f"error   : Undefined reference to '{symbol}'"


def duplicate_message(symbol: str, source: str, first: str) -> str:
    """Return nvJitLink's message for a symbol that `source` defines after `first` did."""
    return f"error   : Multiple definition of '{symbol}' in '{source}', first defined in '{first}'"


def locate_errors(log: str, source: str) -> str:
    """Return an assembler's log with each error at its line of `source`: "k.ptx:9: error: ..."."""
    return re.sub(_ASSEMBLER_ERROR, lambda match: f"{source}:{match[1]}: error: ", log)


def locate_link_errors(log: str) -> str:
    """Return a linker's log with each assembler error at its line of the input that it names, and without noise."""
    located = re.sub(_ASSEMBLER_ERROR + r"(.*)\n(?:.*\n)*?.*JIT the PTX \(([^)\n]*)\)", r"\3:\1: error: \2", log)
    return re.sub(_NOISE, "", located, flags=re.MULTILINE)
