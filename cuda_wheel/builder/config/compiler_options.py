"""Read the compiler options in the setting `options`: those of NVRTC, and those copied from nvcc's command line.

Options of NVRTC are passed on. An option for which `[tool.cuda-wheel]` has a key, such as `-lineinfo`, sets that key.
An option that only affects host code, the linker or the run of nvcc is ignored, with a message. An option that would
change the images unnoticed is an error. The data file `tables/compiler_options` lists the options of each kind.

`read_options` reads a list of options; `macro_options` and its neighbours read the macros in NVRTC's arguments.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.tables import read_table

__all__ = [
    "FRONT_END",
    "GNU_STANDARD",
    "HOST_MACROS",
    "HOST_REFUSED",
    "IGNORED",
    "IGNORED_PATTERNS",
    "IGNORED_WITH_VALUE",
    "PTXAS_IGNORED",
    "PTXAS_REFUSED",
    "REFUSED",
    "RELOCATABLE",
    "TARGETS",
    "TRANSLATED",
    "VALUE",
    "CompilerOptions",
    "MacroOption",
    "defined_macros",
    "macro_definitions",
    "macro_options",
    "read_options",
    "split_undefinitions",
    "takes_value",
]


_TABLE = read_table(
    "compiler_options",
    {
        "value": [str],
        "translated": [{"options": [str], "arguments": [str]}],
        "ignored": [{"name?": str, "reason": str, "options?": [str], "patterns?": [str], "ptxas?": [str]}],
        "ignored with value": [str],
        "refused": [{"reason": str, "options?": [str], "ptxas?": [str]}],
        "front end": [str],
        "gnu standard": [str],
        "host macros": {str: [str]},
        "host refused": [{"reason": str, "patterns": [str]}],
    },
)


def _by_option(rows: str, options: str, value: str = "reason") -> dict[str, Any]:
    """Return option -> value for the rows of one table in the data file.

    `rows`: name of the table, such as "refused". `options`: key of the list of options in a row, such as "ptxas".
    `value`: key of the value in a row, such as "reason". A row without the list is left out.
    """
    return {option: row[value] for row in _TABLE[rows] for option in row.get(options, ())}


VALUE: tuple[str, ...] = _TABLE["value"]
"""NVRTC options, without dashes, that may have their value in the next argument. These options, and all options that no
table lists, are passed to NVRTC unchanged."""

TRANSLATED: dict[str, tuple[str, ...]] = _by_option("translated", "options", "arguments")
"""nvcc option, without dashes -> the NVRTC arguments that it is translated to. "{}" in an argument stands for the
option's value."""

IGNORED: dict[str, str] = _by_option("ignored", "options")
"""Option that is ignored, without dashes -> the reason why it has no effect on the images."""

IGNORED_PATTERNS: dict[str, str] = _by_option("ignored", "patterns")
"""Regular expression -> reason. An option that the expression matches completely, dashes included, is ignored. The
reason says why it has no effect on the images."""

IGNORED_WITH_VALUE: tuple[str, ...] = _TABLE["ignored with value"]
"""Options in `IGNORED`, without dashes, whose value may be in the next argument: "ccbin", because of `-ccbin g++`. The
value of `Xcompiler` contains options. Those that affect device code are not ignored."""

# Such an option would change the images unnoticed, or contradict what cuda-wheel sets.
REFUSED: dict[str, str] = _by_option("refused", "options")
"""Option that is an error, without dashes -> end of the error message, which says what to do instead. The message
begins with the option."""

PTXAS_IGNORED: dict[str, str] = _by_option("ignored", "ptxas")
"""Option of the assembler (ptxas) that is ignored, without dashes -> the reason why it has no effect on the images."""

PTXAS_REFUSED: dict[str, str] = _by_option("refused", "ptxas")
"""Option of the assembler (ptxas) that is an error, without dashes -> end of the error message, with what to do
instead."""

FRONT_END: tuple[str, ...] = _TABLE["front end"]
"""Options of NVRTC's front end (C++ parser) that are allowed, as in `-Xcudafe=OPTION`. They take no value."""

GNU_STANDARD: tuple[str, ...] = _TABLE["gnu standard"]
"""NVRTC arguments that define the macros that GCC defines with -std=gnu++17 but not with -std=c++17."""

HOST_MACROS: dict[str, tuple[str, ...]] = _TABLE["host macros"]
"""Regular expression for a GCC option -> NVRTC arguments that define the same macros as the option.

nvcc preprocesses device code with GCC. The macros are the only effect of these options on device code."""

HOST_REFUSED: dict[str, str] = _by_option("host refused", "patterns")
"""Regular expression for a GCC option that is an error -> end of the error message, with what to do instead. Such an
option would affect device code in a way that is not supported."""

_NAMED = {row["name"]: row for row in _TABLE["ignored"] if "name" in row}
"""Name of a row in the table "ignored" -> the row. "host" is the row for options of the host compiler, and "processor"
the row for those that choose the host's processor."""

RELOCATABLE = ("rdc", "relocatable-device-code")
TARGETS = ("gencode", "generate-code", "arch", "gpu-architecture", "code", "gpu-code")


class CompilerOptions(NamedTuple):
    """A list of compiler options, as `read_options` reads it."""

    arguments: tuple[str, ...]
    """Arguments to pass to NVRTC: NVRTC's own options in the list, and translations of other options."""
    keys: Mapping[str, object]
    """Key of the settings ("std", "lineinfo", "warnings-as-errors" or "architectures") -> value that the options give
    it."""
    ignored: Mapping[str, tuple[str, ...]]
    """Reason -> the options that are ignored for this reason, as they are written."""


# --- reading a list -----------------------------------------------------------------------------------


class _ReadOption(NamedTuple):
    name: str
    """Name of the option, without dashes: "std" for "-std=c++17"."""
    value: str | None
    written: tuple[str, ...]
    """The arguments that the option consists of, as they are written: ("-std=c++17",), or ("-std", "c++17") with its
    value in the next argument."""


def read_options(options: Sequence[str], where: str) -> CompilerOptions:
    """Return the NVRTC arguments and settings that a list of options stands for, and the options without effect.

    Raises ConfigError for an option that is refused; its message calls the list `where`.
    """
    reader = _Reader(where)
    for option in _split(options):
        reader.read(option)
    return reader.result()


class _Reader:
    """Reads options one by one."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._arguments: list[str] = []
        self._keys: dict[str, object] = {}
        self._ignored: dict[str, tuple[str, ...]] = {}
        self._targets = _Targets()
        self._unfinished: tuple[str, ...] = ()
        """Option of the host compiler without its value, such as ("-include",). The value is in the next `-Xcompiler`.
        () if no option waits for its value."""

    def result(self) -> CompilerOptions:
        for option in self._unfinished:
            raise ConfigError(f"{self._where}: '-Xcompiler {option}' has no value.")
        targets = self._targets.entries()
        keys = {**self._keys, "architectures": targets} if targets else self._keys
        return CompilerOptions(tuple(self._arguments), keys, self._ignored)

    # One branch for each group of options, in the order in which a name is looked for: a reader looks up one option.
    def read(self, option: _ReadOption) -> None:
        name, value, written = option
        where = f"{self._where}: {' '.join(written)!r}"
        if name in REFUSED and not (name in RELOCATABLE and value == "false"):
            raise ConfigError(f"{where} {REFUSED[name]}")
        if name in RELOCATABLE:
            self._ignore(written, "the default; the key link decides")
        elif name in TARGETS:
            self._targets.add(name, value or "", where)
        elif name == "std":
            self._set("std", (value or "").replace("gnu++", "c++"))
            self._arguments += GNU_STANDARD if "gnu++" in (value or "") else ()
        elif name in ("lineinfo", "generate-line-info"):
            self._keys["lineinfo"] = True
        elif name == "Werror" and value in ("all-warnings", None):
            self._keys["warnings-as-errors"] = True
        elif name in ("Xptxas", "ptxas-options"):
            self._arguments += _ptxas(value or "", where, self._ignore)
        elif name in ("Xcudafe", "cudafe-options"):
            self._front_end(value or "", where)
        elif name in TRANSLATED:
            self._arguments += [each.format(value) for each in TRANSLATED[name]]
        elif name in ("Xcompiler", "compiler-options"):
            self._host_compiler(value or "", written)
        elif any(re.fullmatch(pattern, written[0]) for pattern in HOST_MACROS):  # nvcc hands unknown options on to GCC
            self._host_option(written[0], written)
        elif (reason := _reason_to_ignore(option)) is not None:
            self._ignore(written, reason)
        else:
            self._arguments += written

    def _ignore(self, written: Iterable[str], reason: str) -> None:
        text = " ".join(written)
        self._ignored[reason] = tuple(dict.fromkeys((*self._ignored.get(reason, ()), text)))

    def _set(self, key: str, value: str) -> None:
        if self._keys.setdefault(key, value) != value:
            raise ConfigError(f"{self._where} names {self._keys[key]} and {value}: keep one of them.")

    def _host_compiler(self, value: str, written: Sequence[str]) -> None:
        """Read the options for the host compiler in `value`, the value of an `-Xcompiler`, such as "-O2,-DX=1".

        Options for macros, include folders and included files become NVRTC arguments. `written` are the arguments as
        written, for error messages.
        """
        # The host compiler also preprocesses device code.
        words = [*self._unfinished, *re.findall(r"""[^\s,"']+""", value)]
        self._unfinished = ()
        while words:
            word = words.pop(0)
            preprocessor = re.fullmatch(r"(-[DUI])(.*)|-(?:isystem|iquote|idirafter)=?(.*)|-include=?(.*)", word)
            if preprocessor is None:
                self._host_option(word, written)
                continue
            given = next(filter(None, preprocessor.groups()[1:]), "")
            if not given and not words:  # as in -Xcompiler -include -Xcompiler config.h
                self._unfinished = (word,)
                break
            given = given or words.pop(0)
            if preprocessor[1]:
                self._arguments += [preprocessor[1], given]
            else:
                name = "--pre-include" if word.startswith("-include") else "--include-path"
                self._arguments.append(f"{name}={given}")

    def _host_option(self, word: str, written: Sequence[str]) -> None:
        """Read the host compiler's option `word`, which is not about macros, include folders or included files.
        `written` are the arguments that contain it, for messages.

        Raises ConfigError if the option is refused.
        """
        where = f"{self._where}: {' '.join(written)!r}"
        for pattern, reason in HOST_REFUSED.items():
            if re.fullmatch(pattern, word):
                raise ConfigError(f"{where} {reason}")
        macros = next((macros for pattern, macros in HOST_MACROS.items() if re.fullmatch(pattern, word)), None)
        if macros is not None:
            self._arguments += macros
        else:
            is_processor = any(re.fullmatch(pattern, word) for pattern in _NAMED["processor"]["patterns"])
            self._ignore(written, _NAMED["processor" if is_processor else "host"]["reason"])

    def _front_end(self, value: str, where: str) -> None:
        """Read the options in `value`, which are for the compiler's front end (C++ parser). Raises ConfigError for an
        option that is not supported. `where` begins its error message: "tool.cuda-wheel.options: '-Xcudafe --x'"."""
        for each in re.split(r"\s+|,(?=--)", value.replace('"', " ").replace("'", " ").strip()):
            match = re.fullmatch(r"--diag[_-](suppress|error|warning|warn)=([\w,]+)", each)
            if match is not None and re.fullmatch(r"[\d,]+", match[2]):
                self._arguments.append(f"--diag-{match[1].removesuffix('ing')}={match[2]}")
            elif match is not None or each in FRONT_END:
                self._arguments.append(f"-Xcudafe={each}")
            elif each == "--promote_warnings":
                self._keys["warnings-as-errors"] = True
            else:
                raise ConfigError(f"{where}: {each} is an internal option of the compiler's front end; leave it out.")


def _split(options: Sequence[str]) -> Iterator[_ReadOption]:
    """Yield the options in a list of arguments, each with its value. The value may be after "=", after a space in the
    same argument, or in the next argument."""
    entries = iter([each for option in options for each in _separated(option)])
    while (entry := next(entries, None)) is not None:
        first, space, rest = entry.partition(" ")
        if space and takes_value(first):
            yield _ReadOption(_bare(first), rest.strip(), (first, rest.strip()))
            continue
        name, equals, value = entry.partition("=")
        if equals or not takes_value(entry):
            yield _ReadOption(_bare(name), value if equals else None, (entry,))
            continue
        following = next(entries, None)
        if _bare(name) == "Werror" and (following or "-").startswith("-"):  # as for other compilers, without a list
            yield _ReadOption("Werror", None, (entry,))
            entries = iter([*filter(None, [following]), *entries])
            continue
        yield _ReadOption(_bare(name), following, (entry,) if following is None else (entry, following))


def _separated(entry: str) -> list[str]:
    """Split an argument that contains several options. For "-O3 --use_fast_math", which nvcc users write as one string,
    return ["-O3", "--use_fast_math"]. For one option, return [entry]."""
    first = entry.split(" ", 1)[0]
    if " -" not in entry or "=" in first or takes_value(first) or re.match(r"-[DUIlL]", first):
        return [entry]
    try:
        return shlex.split(entry)
    except ValueError:  # a quotation mark that is not closed
        return [entry]


def _bare(name: str) -> str:
    return re.sub(r"^--?", "", name)


def takes_value(entry: str) -> bool:
    """Return whether an entry of a list of options is an option whose value is the next entry."""
    name = _bare(entry)
    special = ("std", "Xptxas", "ptxas-options", "Xcudafe", "cudafe-options", "isystem", "system-include", "Werror")
    more = (*TARGETS, *RELOCATABLE, "optimization-info", "opt-info")
    return entry.startswith("-") and name in (*VALUE, *IGNORED_WITH_VALUE, *special, *more)


def _reason_to_ignore(option: _ReadOption) -> str | None:
    """Return the reason why an option is ignored; None if it is not ignored."""
    written = option.written[0]
    if not written.startswith("-"):
        return None
    if option.name in IGNORED and not (written.startswith("--") and len(option.name) == 1):
        return IGNORED[option.name]
    if option.name == "Werror":
        return "errors of nvcc; the key warnings-as-errors makes every warning an error"
    return next((reason for pattern, reason in IGNORED_PATTERNS.items() if re.fullmatch(pattern, written)), None)


def _ptxas(value: str, shown: str, ignore: Callable[[Iterable[str], str], None]) -> Iterator[str]:
    """Yield an NVRTC option for each assembler option in `value`, such as "-O3,-v".

    For an option without effect on the images, call `ignore(options, reason)` instead. Raises ConfigError for an option
    that is refused. `shown` begins the error message: "tool.cuda-wheel.options: '-Xptxas=-c'".
    """
    for each in filter(None, re.split(r"[,\s]+", value)):
        name = _bare(each.partition("=")[0])
        if name in PTXAS_REFUSED:
            raise ConfigError(f"{shown} {PTXAS_REFUSED[name]}")
        if name in PTXAS_IGNORED:
            ignore([f"--ptxas-options={each}"], PTXAS_IGNORED[name])
        else:
            yield f"--ptxas-options={each}"


# --- targets ------------------------------------------------------------------------------------------


class _Targets:
    """Collects the targets that nvcc's options name, as entries of `architectures`."""

    def __init__(self) -> None:
        self._entries: dict[str, None] = {}
        self._architecture = ""
        """Architecture in the latest -arch: "80" for sm_80 and compute_80. Options -code name images of this
        architecture. "" if there is no -arch, or if its value is a word such as "native"."""
        self._codes: list[tuple[str, str]] = []
        """(Value of an option -code, beginning of error messages about this option), for each option -code that was
        added. An example is ("sm_80,compute_80", "tool.cuda-wheel.options: '-code=sm_80,compute_80'")."""

    def add(self, name: str, value: str, where: str) -> None:
        words = re.sub(r"[\s'\"]", "", value)
        if name in ("code", "gpu-code"):
            self._codes.append((words, where))
        elif name in ("arch", "gpu-architecture"):
            match = re.fullmatch(r"(sm|compute)_(\d+[af]?)", words)
            if match is None and words not in ("native", "all", "all-major"):
                raise ConfigError(f"{where} names no target; use the key architectures.")
            self._architecture = "" if match is None else match[2]
            entry = words if match is None else match[2] + ("-virtual" if match[1] == "compute" else "")
            self._entries[entry] = None
        else:
            match = re.fullmatch(r"arch=compute_(\d+[af]?),code=(.*)", words)
            if match is None:
                raise ConfigError(f"{where} is not nvcc's arch=compute_XY,code=sm_XY; use the key architectures.")
            self._entries |= dict.fromkeys(_codes(match[1], match[2], where))

    def entries(self) -> tuple[str, ...]:
        """Return the targets as entries of `architectures`. Values of -code replace the entry of the only -arch: nvcc
        generates the images that -code names."""
        for words, where in self._codes:
            if not self._architecture:
                raise ConfigError(f"{where} stands without -arch=compute_XY; use the key architectures.")
            for entry in (self._architecture, f"{self._architecture}-virtual"):
                self._entries.pop(entry, None)
            self._entries |= dict.fromkeys(_codes(self._architecture, words, where))
        return tuple(self._entries)


def _codes(architecture: str, codes: str, where: str) -> Iterator[str]:
    """Yield the entries for `architectures` that stand for the images in `codes`, the value of nvcc's -code. "80" with
    "[sm_80,compute_80]" gives "80-real" and "80-virtual".

    Raises ConfigError for LTO-IR, and for code of another architecture. `where` begins the error message:
    "tool.cuda-wheel.options: '-code=sm_90'".
    """
    for code in filter(None, codes.strip("[]").split(",")):
        match = re.fullmatch(r"(sm|compute|lto)_(\d+[af]?)", code)
        if match is None:
            raise ConfigError(f"{where} is not nvcc's arch=compute_XY,code=sm_XY; use the key architectures.")
        if match[2] != architecture or match[1] == "lto":
            raise ConfigError(
                f"{where} assembles code of compute_{architecture} as {code}, and cuda-wheel compiles for each target "
                "itself; use the key architectures."
            )
        yield f"{architecture}-real" if match[1] == "sm" else f"{architecture}-virtual"


_MACRO = re.compile(r"(-[DU]|--(?:un)?define-macro)=?\s*(.*)", re.DOTALL)


class MacroOption(NamedTuple):
    """An option that defines a macro, or undefines it."""

    arguments: tuple[str, ...]
    """The arguments that the option consists of: one, or two if the macro is in an argument of its own."""
    text: str
    """What the option defines ("NAME", "NAME=VALUE" or "NAME(X)=VALUE"), or the macro that it undefines ("NAME")."""
    is_definition: bool

    @property
    def name(self) -> str:
        return re.split("[=(]", self.text, maxsplit=1)[0].strip()

    @property
    def value(self) -> str | None:
        """Replacement text of the macro, "1" if the option has none; None if the option undefines the macro."""
        _, equals, value = self.text.partition("=")
        return (value if equals else "1") if self.is_definition else None


def macro_options(arguments: Sequence[str]) -> list[MacroOption]:
    """Return the options among NVRTC's arguments that define or undefine a macro."""
    return [each for each in _options(arguments) if isinstance(each, MacroOption)]


def macro_definitions(arguments: Sequence[str]) -> list[str]:
    """Return the macros that NVRTC's arguments define: "NAME", "NAME=VALUE" or "NAME(X)=VALUE"."""
    return [option.text for option in macro_options(arguments) if option.is_definition]


def defined_macros(arguments: Sequence[str]) -> frozenset[str]:
    """Return the names of the macros that NVRTC's arguments define."""
    return frozenset(option.name for option in macro_options(arguments) if option.is_definition)


def split_undefinitions(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return NVRTC's arguments without those that undefine macros, and the names of the macros that are undefined after
    all arguments: their last option is `-U`."""
    others: list[str] = []
    is_defined: dict[str, bool] = {}
    for option in _options(arguments):
        if isinstance(option, str):
            others.append(option)
            continue
        is_defined[option.name] = option.is_definition
        others += option.arguments if option.is_definition else ()
    return others, [name for name, defined in is_defined.items() if not defined]


def _options(arguments: Sequence[str]) -> Iterator[str | MacroOption]:
    """Yield NVRTC's arguments in their order. A MacroOption replaces the one or two arguments that define or undefine a
    macro."""
    remaining = iter(arguments)
    for first in remaining:
        match = _MACRO.fullmatch(first)
        if match is None:
            yield first
            continue
        following = () if match[2] else (next(remaining, ""),)
        text = "".join((match[2], *following)).strip()
        yield MacroOption((first, *following), text, match[1] in ("-D", "--define-macro"))
