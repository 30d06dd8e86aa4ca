"""The one table of compiler options in `options`: those of NVRTC, and those of nvcc that people paste.

NVRTC gets what it knows. What a key of the table sets becomes that key. What only the host compiler, the linker or a
run of nvcc needs is ignored, and told. What would change the result unseen is an error.

Sources: NVRTC, "Supported Compile Options"; nvcc, "NVCC Command Options"; and trials with NVRTC 12.9 and 13.5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.errors import ConfigError

__all__ = ["CompilerOptions", "read_options"]


class CompilerOptions(NamedTuple):
    """What a list of options means."""

    arguments: tuple[str, ...]
    """What NVRTC gets."""
    keys: Mapping[str, object]
    """Values of keys of the same table: "std", "lineinfo", "warnings-as-errors", and the entries of "architectures"."""
    ignored: Mapping[str, tuple[str, ...]]
    """The options that have no effect, by the reason."""


# --- the table ----------------------------------------------------------------------------------------

_VALUE = (
    "D",
    "U",
    "I",
    "define-macro",
    "undefine-macro",
    "include-path",
    "pre-include",
    "include",
    "maxrregcount",
    "ftz",
    "fmad",
    "prec-div",
    "prec-sqrt",
    "dopt",
    "diag-suppress",
    "diag-error",
    "diag-warn",
    "jump-table-density",
    "jtd",
    "Ofc",
    "Ofast-compile",
)
"""NVRTC's options whose value may be the next option. What is not listed anywhere goes to NVRTC as it is."""

_HOST = "for the host compiler; a wheel has device code only"
_WARNINGS = "for warnings of nvcc or of the host compiler; NVRTC has --diag-suppress"
_LINKER = "for the linker of host code; a wheel has device code only"
_RUN = "for one run of nvcc; cuda-wheel calls no nvcc"
_PARALLEL = (
    "only makes compiling faster, and some compilers then generate other machine code each time; cuda-wheel runs "
    "compile jobs in parallel"
)

_IGNORED = {
    "O": "for host code; device code is optimised by default (less: --ptxas-options=-O0)",
    "optimize": "for host code; device code is optimised by default (less: --ptxas-options=-O0)",
    **dict.fromkeys(("Xcompiler", "compiler-options", "ccbin", "compiler-bindir", "default-stream"), _HOST),
    **dict.fromkeys(("forward-unknown-to-host-compiler", "forward-unknown-opts", "no-align-double"), _HOST),
    **dict.fromkeys(("allow-unsupported-compiler", "static-global-template-stub", "m64", "machine=64"), _HOST),
    **dict.fromkeys(("g", "debug", "pg", "profile", "noeh", "no-exceptions", "pthread", "s", "pipe", "ansi"), _HOST),
    **dict.fromkeys(("Xlinker", "linker-options", "Xarchive", "archive-options", "Xnvlink", "nvlink-options"), _LINKER),
    **dict.fromkeys(("cudart", "cudadevrt", "shared", "library", "library-path", "L", "l", "nodlink"), _LINKER),
    **dict.fromkeys(("c", "compile", "o", "output-file", "x", "v", "verbose", "dryrun", "keep", "keep-dir"), _RUN),
    **dict.fromkeys(("M", "MD", "MMD", "MF", "MT", "MP", "MM", "odir", "objdir-as-tempdir", "save-temps"), _RUN),
    **dict.fromkeys(("res-usage", "resource-usage"), "the manifest has the resources of every kernel"),
    **dict.fromkeys(("t", "threads", "split-compile", "split-compile-extended"), _PARALLEL),
    **dict.fromkeys(("Xfatbin", "fatbin-options", "compress-mode", "no-compress"), "the key compress decides"),
    **dict.fromkeys(("src-in-ptx", "source-in-ptx"), "a wheel's PTX has no comments"),
    **dict.fromkeys(("ftemplate-depth", "ftemplate-backtrace-limit"), "NVRTC has its own limits"),
}
"""Options without an effect on the images, by name, and why."""

_IGNORED_WITH_VALUE = (
    "O",
    "optimize",
    "Xcompiler",
    "compiler-options",
    "ccbin",
    "compiler-bindir",
    "default-stream",
    "Xlinker",
    "linker-options",
    "Xarchive",
    "archive-options",
    "Xnvlink",
    "nvlink-options",
    "cudart",
    "cudadevrt",
    "library",
    "library-path",
    "L",
    "l",
    "o",
    "output-file",
    "x",
    "keep-dir",
    "MF",
    "MT",
    "odir",
    "t",
    "threads",
    "split-compile",
    "split-compile-extended",
    "Xfatbin",
    "fatbin-options",
    "compress-mode",
    "ftemplate-depth",
    "ftemplate-backtrace-limit",
)
"""Those of them whose value may be the next option."""

_IGNORED_PATTERNS = {
    r"-O(\d|s|fast|max|min)?": _IGNORED["O"],
    r"-t\d+": _PARALLEL,
    r"-[lL].+": _LINKER,
    r"-f(?!tz|mad|device|random).+|-m(?!axrregcount|inimal|odify|achine|32).+": _HOST,
    r"--?Wno-.+|-W(?!error|reorder|default-stream-launch).+": _WARNINGS,
}

_FILES = "makes the compiler write a file into the project; leave it out."
_PRECOMPILED = "is for precompiled headers, which cuda-wheel makes by itself; leave it out."
_LINK = "is set by the keys link and relocatable; use those."
_OUTPUT = "makes something else than the images of a wheel; leave it out."

_REFUSED = {
    **dict.fromkeys(("pch", "create-pch", "use-pch", "time", "fdevice-time-trace"), _FILES),
    **dict.fromkeys(("pch-dir", "pch-verbose", "pch-messages", "instantiate-templates-in-pch"), _PRECOMPILED),
    **dict.fromkeys(("rdc", "relocatable-device-code", "dc", "device-c", "dw", "device-w"), _LINK),
    **dict.fromkeys(("dlto", "dlink-time-opt", "lto", "gen-opt-lto", "ewp", "extensible-whole-program"), _LINK),
    **dict.fromkeys(("optix-ir", "fdevice-syntax-only", "ptx", "cubin", "fatbin", "E", "preprocess"), _OUTPUT),
    **dict.fromkeys(("cuda", "link", "dlink", "lib", "run", "device-link"), _OUTPUT),
    "frandom-seed": "is set by cuda-wheel, so that builds are reproducible; leave it out.",
    "m32": "is for 32-bit code, which no current GPU runs; leave it out.",
    "fdevice-sanitize": "makes code for a checker that cuda-wheel does not run; leave it out.",
    "Xnvvm": "is undocumented and gets lost where code is linked; leave it out.",
}
"""Options that would change the result unseen, or contradict what cuda-wheel sets, and what to do."""

_PTXAS_IGNORED = {
    **dict.fromkeys(("v", "verbose"), "the manifest has the resources of every kernel"),
    **dict.fromkeys(("split-compile", "extended-split-compile"), _PARALLEL),
}

_PTXAS_REFUSED = {
    **dict.fromkeys(("arch", "gpu-name"), "is set by the key architectures; use that."),
    **dict.fromkeys(("lineinfo", "generate-line-info"), "is set by the key lineinfo; use that."),
    **dict.fromkeys(("c", "compile-only", "ewp", "extensible-whole-program", "r"), _LINK),
    **dict.fromkeys(("o", "output-file", "optf", "options-file", "input-as-string", "e", "entry"), _OUTPUT),
    "preserve-relocs": _OUTPUT,
    "fmad": "is lost where code is linked; write --fmad in its place.",
}

_TRANSLATED = {
    **dict.fromkeys(("isystem", "system-include"), "--include-path={}"),
    "expt-relaxed-constexpr": "--device-as-default-execution-space",  # also for constexpr functions without a mark
    # NVRTC's front end knows it, though NVRTC's own messages name nvcc's option.
    **dict.fromkeys(("extended-lambda", "expt-extended-lambda"), "-Xcudafe=--extended-lambda"),
    **dict.fromkeys(("nohdmoveforward", "no-host-device-move-forward"), "--builtin-move-forward=false"),
    **dict.fromkeys(("nohdinitlist", "no-host-device-initializer-list"), "--builtin-initializer-list=false"),
}
"""nvcc's options that NVRTC has under another name; "{}" is the value."""

# --- reading a list -----------------------------------------------------------------------------------


class _ReadOption(NamedTuple):
    name: str
    """Without dashes."""
    value: str | None
    written: tuple[str, ...]


def read_options(options: Sequence[str], where: str) -> CompilerOptions:
    """Return what a list of options means. Raises ConfigError, which names the list as `where`."""
    arguments: list[str] = []
    keys: dict[str, object] = {}
    ignored: dict[str, tuple[str, ...]] = {}
    targets: dict[str, None] = {}

    def ignore(written: Iterable[str], reason: str) -> None:
        text = " ".join(written)
        ignored[reason] = tuple(dict.fromkeys((*ignored.get(reason, ()), text)))

    for option in _split(options):
        name, value, written = option
        shown = " ".join(written)
        if name in _REFUSED and not (name in ("rdc", "relocatable-device-code") and value == "false"):
            raise ConfigError(f"{where}: {shown!r} {_REFUSED[name]}")
        if name in ("rdc", "relocatable-device-code"):
            ignore(written, "the default; the key link decides")
        elif name in _TARGETS:
            targets |= dict.fromkeys(_targets(name, value or "", f"{where}: {shown!r}"))
        elif name == "std":
            _set(keys, "std", (value or "").replace("gnu++", "c++"), where)
        elif name in ("lineinfo", "generate-line-info"):
            keys["lineinfo"] = True
        elif name == "Werror" and value in ("all-warnings", None):
            keys["warnings-as-errors"] = True
        elif name in ("Xptxas", "ptxas-options"):
            arguments += _ptxas(value or "", f"{where}: {shown!r}", ignore)
        elif name in ("Xcudafe", "cudafe-options"):
            arguments += _front_end(value or "", f"{where}: {shown!r}")
        elif name in _TRANSLATED:
            arguments.append(_TRANSLATED[name].format(value))
        elif name in ("Xcompiler", "compiler-options") and re.search(r"(^|[\s,\"'])-[DUI]", value or ""):
            raise ConfigError(
                f"{where}: {shown!r} reaches device code with nvcc; use the keys defines and include-dirs."
            )
        elif (reason := _reason_to_ignore(option)) is not None:
            ignore(written, reason)
        else:
            arguments += written
    if targets:
        keys["architectures"] = tuple(targets)
    return CompilerOptions(tuple(arguments), keys, ignored)


def _set(keys: dict[str, object], key: str, value: str, where: str) -> None:
    if keys.setdefault(key, value) != value:
        raise ConfigError(f"{where} names {keys[key]} and {value}: keep one of them.")


def _split(options: Sequence[str]) -> Iterator[_ReadOption]:
    """Yield the options with their values, which follow "=" or a space, or are the next entry."""
    entries = iter(options)
    while (entry := next(entries, None)) is not None:
        first, space, rest = entry.partition(" ")
        if space and _takes_value(first):
            yield _ReadOption(_bare(first), rest.strip(), (first, rest.strip()))
            continue
        name, equals, value = entry.partition("=")
        if equals or not _takes_value(entry):
            yield _ReadOption(_bare(name), value if equals else None, (entry,))
            continue
        following = next(entries, None)
        if _bare(name) == "Werror" and (following or "-").startswith("-"):  # as for other compilers, without a list
            yield _ReadOption("Werror", None, (entry,))
            entries = iter([*filter(None, [following]), *entries])
            continue
        yield _ReadOption(_bare(name), following, (entry,) if following is None else (entry, following))


def _bare(name: str) -> str:
    return re.sub(r"^--?", "", name)


def _takes_value(entry: str) -> bool:
    name = _bare(entry)
    special = ("std", "Xptxas", "ptxas-options", "Xcudafe", "cudafe-options", "isystem", "system-include", "Werror")
    return entry.startswith("-") and name in (*_VALUE, *_IGNORED_WITH_VALUE, *_TARGETS, *special)


def _reason_to_ignore(option: _ReadOption) -> str | None:
    """Return why an option has no effect; None if NVRTC gets it."""
    written = option.written[0]
    if not written.startswith("-"):
        return None
    if option.name in _IGNORED and not (written.startswith("--") and len(option.name) == 1):
        return _IGNORED[option.name]
    if option.name == "Werror":
        return "errors of nvcc; the key warnings-as-errors makes every warning an error"
    return next((reason for pattern, reason in _IGNORED_PATTERNS.items() if re.fullmatch(pattern, written)), None)


def _ptxas(value: str, shown: str, ignore: Callable[[Iterable[str], str], None]) -> Iterator[str]:
    """Yield NVRTC's options for the assembler's, which nvcc separates by commas."""
    for each in filter(None, re.split(r"[,\s]+", value)):
        name = _bare(each.partition("=")[0])
        if name in _PTXAS_REFUSED:
            raise ConfigError(f"{shown} {_PTXAS_REFUSED[name]}")
        if name in _PTXAS_IGNORED:
            ignore([f"--ptxas-options={each}"], _PTXAS_IGNORED[name])
        else:
            yield f"--ptxas-options={each}"


def _front_end(value: str, shown: str) -> Iterator[str]:
    """Yield NVRTC's options for those of the compiler's front end, of which few are known."""
    for each in value.replace('"', " ").split():
        match = re.fullmatch(r"--diag[_-](suppress|error|warning|warn)=([\w,]+)", each)
        if match is not None and re.fullmatch(r"[\d,]+", match[2]):
            yield f"--diag-{match[1].removesuffix('ing')}={match[2]}"
        elif match is not None or each in ("--display_error_number", "--no_warnings", "--extended-lambda"):
            yield f"-Xcudafe={each}"
        else:
            raise ConfigError(f"{shown}: {each} is an internal option of the compiler's front end; leave it out.")


# --- targets ------------------------------------------------------------------------------------------

_TARGETS = ("gencode", "generate-code", "arch", "gpu-architecture", "code", "gpu-code")


def _targets(name: str, value: str, shown: str) -> Iterator[str]:
    """Yield the entries of `architectures` that mean what nvcc's options for targets mean."""
    words = value.replace("'", "").replace('"', "")
    if name in ("code", "gpu-code"):
        raise ConfigError(f"{shown} is set by the key architectures; use that.")
    if name in ("arch", "gpu-architecture"):
        match = re.fullmatch(r"(sm|compute)_(\d+[af]?)", words)
        if match is None and words not in ("native", "all", "all-major"):
            raise ConfigError(f"{shown} names no target; use the key architectures.")
        yield words if match is None else match[2] + ("-virtual" if match[1] == "compute" else "")
        return
    match = re.fullmatch(r"arch=compute_(\d+[af]?),code=\[?((?:(?:sm|compute|lto)_\d+[af]?,?)+)\]?", words)
    if match is None:
        raise ConfigError(f"{shown} is not nvcc's arch=compute_XY,code=sm_XY; use the key architectures.")
    for kind, number in re.findall(r"(sm|compute|lto)_(\d+[af]?)", match[2]):
        if number != match[1] or kind == "lto":
            raise ConfigError(
                f"{shown} assembles code of compute_{match[1]} as {kind}_{number}, and cuda-wheel compiles for each "
                "target itself; use the key architectures."
            )
        yield f"{number}-real" if kind == "sm" else f"{number}-virtual"
