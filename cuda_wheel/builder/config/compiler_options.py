"""Read the compiler options in `options`: those of NVRTC, and those of nvcc that people paste.

NVRTC gets what it knows. What a key of the table sets becomes that key. What only the host compiler, the linker or a
run of nvcc needs is ignored, and told. What would change the result unseen is an error.

`option_table` lists them.

The table of compiler options in `options`: those of NVRTC, and those of nvcc that people paste.

Sources: NVRTC, "Supported Compile Options"; nvcc, "NVCC Command Options"; and trials with NVRTC 12.9 and 13.5.

Read the compiler's options that define and undefine macros. Source: NVRTC, "Supported Compile Options".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cuda_wheel.builder.errors import ConfigError

__all__ = [
    "FRONT_END",
    "GNU_STANDARD",
    "HOST",
    "HOST_MACROS",
    "HOST_REFUSED",
    "IGNORED",
    "IGNORED_PATTERNS",
    "IGNORED_WITH_VALUE",
    "PROCESSOR",
    "PROCESSOR_OPTION",
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


VALUE = (
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

HOST = "for the host compiler; a wheel has device code only"
PROCESSOR = (
    "for the host compiler; the macros of the processor that it names, such as __AVX2__, stay undefined: define those "
    "that the sources ask for"
)
PROCESSOR_OPTION = r"-march=.+|-m(no-)?(avx|sse|amx|bmi|aes|sha|fma|lzcnt|adx|rdrnd|pclmul).*"
_WARNINGS = "for warnings of nvcc or of the host compiler; NVRTC has --diag-suppress"
_LINKER = "for the linker of host code; a wheel has device code only"
_RUN = "for one run of nvcc; cuda-wheel calls no nvcc"
_PARALLEL = (
    "only makes compiling faster, and some compilers then generate other machine code each time; cuda-wheel runs "
    "compile jobs in parallel"
)

_FAST = (
    *("-D__FAST_MATH__=1", "-U__FINITE_MATH_ONLY__", "-D__FINITE_MATH_ONLY__=1", "-D__ASSOCIATIVE_MATH__=1"),
    *("-D__NO_MATH_ERRNO__=1", "-D__NO_SIGNED_ZEROS__=1", "-D__NO_TRAPPING_MATH__=1", "-D__RECIPROCAL_MATH__=1"),
    *("-U__STDC_IEC_559__", "-U__STDC_IEC_559_COMPLEX__", "-U__STDC_IEC_60559_BFP__", "-U__STDC_IEC_60559_COMPLEX__"),
)
_SSE3 = ("-D__SSE3__=1",)
_SSSE3 = (*_SSE3, "-D__SSSE3__=1")
_SSE4_1 = (*_SSSE3, "-D__SSE4_1__=1")
_SSE4_2 = (*_SSE4_1, "-D__SSE4_2__=1", "-D__CRC32__=1", "-D__POPCNT__=1")
_AVX = (*_SSE4_2, "-D__AVX__=1", "-D__XSAVE__=1", "-U__BIGGEST_ALIGNMENT__", "-D__BIGGEST_ALIGNMENT__=32")

HOST_MACROS: dict[str, tuple[str, ...]] = {
    "-ffast-math|-Ofast": _FAST,
    "-ffinite-math-only": ("-U__FINITE_MATH_ONLY__", "-D__FINITE_MATH_ONLY__=1"),
    "-fno-math-errno": ("-D__NO_MATH_ERRNO__=1",),
    "-fno-signed-zeros": ("-D__NO_SIGNED_ZEROS__=1",),
    "-fno-trapping-math": ("-D__NO_TRAPPING_MATH__=1",),
    "-freciprocal-math": ("-D__RECIPROCAL_MATH__=1",),
    "-fopenmp": ("-D_OPENMP=201511", "-D_REENTRANT=1"),
    "-pthreads?": ("-D_REENTRANT=1",),
    "-funsigned-char|-fno-signed-char": ("-D__CHAR_UNSIGNED__=1",),
    "-fno-rtti": ("-U__GXX_RTTI",),
    "-fsanitize=address.*": ("-D__SANITIZE_ADDRESS__=1",),
    "-fsanitize=thread.*": ("-D__SANITIZE_THREAD__=1",),
    "-msse3": _SSE3,
    "-mssse3": _SSSE3,
    r"-msse4\.1": _SSE4_1,
    r"-msse4(\.2)?": _SSE4_2,
    "-mpopcnt": ("-D__POPCNT__=1",),
    "-mavx": _AVX,
    "-mavx2": (*_AVX, "-D__AVX2__=1"),
    "-mfma": (*_AVX, "-D__FMA__=1", "-D__FP_FAST_FMA=1", "-D__FP_FAST_FMAF=1"),
    "-mf16c": (*_AVX, "-D__F16C__=1"),
}
"""Options of GCC that decide what device code sees, by pattern: nvcc has it preprocess device code too, so that their
macros are defined there; they have no other effect on it. As GCC 12.2 defines them. `__EXCEPTIONS` stays defined with
-fno-exceptions: NVRTC's cannot be undefined."""

_GCC_FILE = "gives the preprocessor a file of macros; write -include, or the key defines."
_OTHER_LANGUAGE = "changes what macros say of the C++ standard, and not what the compiler does; use the key std."

HOST_REFUSED = {
    "-imacros.*": _GCC_FILE,
    "-std=.*|-ansi": _OTHER_LANGUAGE,
    "-f(no-)?(short-wchar|char8_t|concepts|coroutines|implicit-constexpr|abi-version=.*)": _OTHER_LANGUAGE,
    "-undef|-nostdinc(\\+\\+)?|-m32|-mx32|-m16": "makes the preprocessor describe another machine; leave it out.",
}
"""Options of GCC that change what device code sees in a way that is not supported, by pattern, and what to do."""

IGNORED = {
    "O": "for host code; device code is optimised by default (less: --ptxas-options=-O0); no __OPTIMIZE__",
    "optimize": "for host code; device code is optimised by default (less: --ptxas-options=-O0)",
    **dict.fromkeys(("Xcompiler", "compiler-options", "ccbin", "compiler-bindir", "default-stream"), HOST),
    **dict.fromkeys(("forward-unknown-to-host-compiler", "forward-unknown-opts", "no-align-double"), HOST),
    **dict.fromkeys(("allow-unsupported-compiler", "static-global-template-stub", "m64", "m", "machine"), HOST),
    **dict.fromkeys(("device-entity-has-hidden-visibility", "dont-use-profile", "noprof", "use-local-env"), HOST),
    "force-cl-env-setup": HOST,
    "keep-device-functions": "a program finds kernels and variables by name, and no other functions",
    **dict.fromkeys(("g", "debug", "pg", "profile", "noeh", "no-exceptions", "pthread", "s", "pipe", "ansi"), HOST),
    **dict.fromkeys(("Xlinker", "linker-options", "Xarchive", "archive-options", "Xnvlink", "nvlink-options"), _LINKER),
    **dict.fromkeys(("cudart", "cudadevrt", "shared", "library", "library-path", "L", "l", "nodlink"), _LINKER),
    **dict.fromkeys(("no-device-link", "host-linker-script", "hls", "augment-host-linker-script", "aug-hls"), _LINKER),
    **dict.fromkeys(("forward-unknown-to-host-linker", "archiver-binary", "arbin"), _LINKER),
    **dict.fromkeys(("c", "compile", "o", "output-file", "x", "v", "verbose", "dryrun", "keep", "keep-dir"), _RUN),
    **dict.fromkeys(("MD", "MMD", "MF", "MT", "MP", "M", "MM", "odir", "output-directory", "save-temps"), _RUN),
    **dict.fromkeys(("generate-dependencies-with-compile", "generate-nonsystem-dependencies-with-compile"), _RUN),
    **dict.fromkeys(("generate-dependencies", "generate-nonsystem-dependencies", "dependency-output"), _RUN),
    **dict.fromkeys(("generate-dependency-targets", "dependency-target-name", "objdir-as-tempdir", "objtemp"), _RUN),
    **dict.fromkeys(("input-drive-prefix", "idp", "dependency-drive-prefix", "ddp", "drive-prefix", "dp"), _RUN),
    **dict.fromkeys(("clean-targets", "clean", "run-args", "libdevice-directory", "ldir", "jobserver"), _RUN),
    **dict.fromkeys(("target-directory", "target-dir", "qpp-config"), _RUN),
    **dict.fromkeys(("Wmissing-launch-bounds", "Wext-lambda-captures-this"), _WARNINGS),
    **dict.fromkeys(("Wreorder", "Wdefault-stream-launch"), _WARNINGS),
    **dict.fromkeys(("res-usage", "resource-usage"), "the manifest has the resources of every kernel"),
    **dict.fromkeys(("t", "threads", "split-compile", "split-compile-extended"), _PARALLEL),
    **dict.fromkeys(("Xfatbin", "fatbin-options", "compress-mode", "no-compress"), "the key compress decides"),
    **dict.fromkeys(("src-in-ptx", "source-in-ptx"), "a wheel's PTX has no comments"),
    "ftemplate-depth": "templates may nest 1,200 deep",
    "ftemplate-backtrace-limit": "NVRTC has its own limit",
}
"""Options without an effect on the images, by name, and why."""

IGNORED_WITH_VALUE = (
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
    "m",
    "machine",
    "static-global-template-stub",
    "device-entity-has-hidden-visibility",
    "host-linker-script",
    "hls",
    "archiver-binary",
    "arbin",
    "output-directory",
    "dependency-output",
    "dependency-target-name",
    "input-drive-prefix",
    "idp",
    "dependency-drive-prefix",
    "ddp",
    "drive-prefix",
    "dp",
    "run-args",
    "libdevice-directory",
    "ldir",
    "target-directory",
    "target-dir",
    "qpp-config",
)
"""Those of them whose value may be the next option."""

IGNORED_PATTERNS = {
    r"-O(\d|s|fast|max|min)?": IGNORED["O"],
    r"-t\d+": _PARALLEL,
    r"-[lL].+": _LINKER,
    PROCESSOR_OPTION: PROCESSOR,
    r"-f(?!tz|mad|device|random).+|-m(?!axrregcount|inimal|odify|achine|32).+": HOST,
    r"--?Wno-.+|-W(?!error|reorder|default-stream-launch).+": _WARNINGS,
}

_FILES = "makes the compiler write a file into the project; leave it out."
_PRECOMPILED = "is for precompiled headers, which cuda-wheel makes by itself; leave it out."
_LINK = (
    "is set by the keys link and relocatable; use those if sources call each other's functions, and otherwise leave it "
    "out."
)
_OUTPUT = "makes something else than the images of a wheel; leave it out."

REFUSED = {
    **dict.fromkeys(("pch", "create-pch", "use-pch", "time", "fdevice-time-trace"), _FILES),
    **dict.fromkeys(("pch-dir", "pch-verbose", "pch-messages", "instantiate-templates-in-pch"), _PRECOMPILED),
    **dict.fromkeys(("rdc", "relocatable-device-code", "dc", "device-c", "dw", "device-w"), _LINK),
    **dict.fromkeys(("dlto", "dlink-time-opt", "lto", "gen-opt-lto", "ewp", "extensible-whole-program"), _LINK),
    **dict.fromkeys(("relocatable-link", "r", "relocatable-ptx", "reloc-ptx"), _LINK),
    **dict.fromkeys(("optix-ir", "fdevice-syntax-only", "ptx", "cubin", "fatbin", "E", "preprocess", "ltoir"), _OUTPUT),
    **dict.fromkeys(("cuda", "link", "dlink", "lib", "run", "device-link"), _OUTPUT),
    **dict.fromkeys(("compile-as-tools-patch", "astoolspatch", "help", "h", "version", "V"), _OUTPUT),
    **dict.fromkeys(("list-gpu-code", "code-ls", "list-gpu-arch", "arch-ls"), _OUTPUT),
    **dict.fromkeys(("entries", "e"), "is set by the key instances of a module; use that."),
    **dict.fromkeys(("options-file", "optf"), "names a file of options; write them into options."),
    "frandom-seed": "is set by cuda-wheel, so that builds are reproducible; leave it out.",
    "m32": "is for 32-bit code, which no current GPU runs; leave it out.",
    **dict.fromkeys(
        ("fdevice-sanitize", "sanitize"), "makes code for a checker that cuda-wheel does not run; leave it out."
    ),
    "Xnvvm": "is undocumented and gets lost where code is linked; leave it out.",
}
"""Options that would change the result unseen, or contradict what cuda-wheel sets, and what to do."""

PTXAS_IGNORED = {
    **dict.fromkeys(("v", "verbose"), "the manifest has the resources of every kernel"),
    **dict.fromkeys(("split-compile", "extended-split-compile"), _PARALLEL),
}

PTXAS_REFUSED = {
    **dict.fromkeys(("arch", "gpu-name"), "is set by the key architectures; use that."),
    **dict.fromkeys(("lineinfo", "generate-line-info"), "is set by the key lineinfo; use that."),
    **dict.fromkeys(("c", "compile-only", "ewp", "extensible-whole-program", "r"), _LINK),
    **dict.fromkeys(("o", "output-file", "optf", "options-file", "input-as-string", "e", "entry"), _OUTPUT),
    "preserve-relocs": _OUTPUT,
    "fmad": "is lost where code is linked; write --fmad in its place.",
}

TRANSLATED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("isystem", "system-include"), ("--include-path={}",)),
    **dict.fromkeys(("optimization-info", "opt-info"), ("--optimization-info={}",)),
    # NVRTC's front end is that of nvcc and knows both, though NVRTC's own messages say otherwise. A host function,
    # which a constexpr function without a mark is, is only a discretionary error.
    "expt-relaxed-constexpr": (
        "-Xcudafe=--relaxed_constexpr",
        "-Xcudafe=--diag_suppress=unannotated_function_in_jit",
    ),
    **dict.fromkeys(("extended-lambda", "expt-extended-lambda"), ("-Xcudafe=--extended-lambda",)),
    **dict.fromkeys(("nohdmoveforward", "no-host-device-move-forward"), ("--builtin-move-forward=false",)),
    **dict.fromkeys(("nohdinitlist", "no-host-device-initializer-list"), ("--builtin-initializer-list=false",)),
}
"""nvcc's options that NVRTC has under other names; "{}" is the value."""

FRONT_END = (
    "--display_error_number",
    "--no_warnings",
    "--extended-lambda",
    "--relaxed_constexpr",
)
"""Options of the front end that need no value and do no harm."""

GNU_STANDARD = ("-U__STRICT_ANSI__", "-Dlinux=1", "-Dunix=1")
"""The macros by which -std=gnu++17 differs from -std=c++17 with GCC, for the compiler."""

RELOCATABLE = ("rdc", "relocatable-device-code")
TARGETS = ("gencode", "generate-code", "arch", "gpu-architecture", "code", "gpu-code")


class CompilerOptions(NamedTuple):
    """What a list of options means."""

    arguments: tuple[str, ...]
    """What NVRTC gets."""
    keys: Mapping[str, object]
    """Values of keys of the same table: "std", "lineinfo", "warnings-as-errors", and the entries of "architectures"."""
    ignored: Mapping[str, tuple[str, ...]]
    """The options that have no effect, by the reason."""


# --- reading a list -----------------------------------------------------------------------------------


class _ReadOption(NamedTuple):
    name: str
    """Without dashes."""
    value: str | None
    written: tuple[str, ...]


def read_options(options: Sequence[str], where: str) -> CompilerOptions:
    """Return what a list of options means. Raises ConfigError, which names the list as `where`."""
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
        """The last option for the host compiler, if it has no value yet."""

    def result(self) -> CompilerOptions:
        for option in self._unfinished:
            raise ConfigError(f"{self._where}: '-Xcompiler {option}' has no value.")
        targets = self._targets.entries()
        keys = {**self._keys, "architectures": targets} if targets else self._keys
        return CompilerOptions(tuple(self._arguments), keys, self._ignored)

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
        """Read the options that nvcc passes to the host compiler.

        It also preprocesses device code, so that macros, include folders and included files count.
        """
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
        """Read one option of the host compiler that is not about macros or include folders by itself."""
        where = f"{self._where}: {' '.join(written)!r}"
        for pattern, reason in HOST_REFUSED.items():
            if re.fullmatch(pattern, word):
                raise ConfigError(f"{where} {reason}")
        macros = next((macros for pattern, macros in HOST_MACROS.items() if re.fullmatch(pattern, word)), None)
        if macros is not None:
            self._arguments += macros
        else:
            self._ignore(written, PROCESSOR if re.fullmatch(PROCESSOR_OPTION, word) else HOST)

    def _front_end(self, value: str, where: str) -> None:
        """Read options of the compiler's front end, of which few are known."""
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
    """Yield the options with their values, which follow "=" or a space, or are the next entry."""
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
    """Return the options in an entry such as "-O3 --use_fast_math", which nvcc's users write as one string."""
    first = entry.split(" ", 1)[0]
    if " -" not in entry or "=" in first or takes_value(first) or re.match(r"-[DUIlL]", first):
        return [entry]
    try:
        from shlex import split  # few projects have quoted options

        return split(entry)
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
    """Return why an option has no effect; None if NVRTC gets it."""
    written = option.written[0]
    if not written.startswith("-"):
        return None
    if option.name in IGNORED and not (written.startswith("--") and len(option.name) == 1):
        return IGNORED[option.name]
    if option.name == "Werror":
        return "errors of nvcc; the key warnings-as-errors makes every warning an error"
    return next((reason for pattern, reason in IGNORED_PATTERNS.items() if re.fullmatch(pattern, written)), None)


def _ptxas(value: str, shown: str, ignore: Callable[[Iterable[str], str], None]) -> Iterator[str]:
    """Yield NVRTC's options for the assembler's, which nvcc separates by commas."""
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
        """The value of -arch if -code may say more."""
        self._codes: list[tuple[str, str]] = []
        """The values of -code, and where each stands."""

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
        """Return the entries of `architectures`. nvcc has one -arch, whose images -code chooses."""
        for words, where in self._codes:
            if not self._architecture:
                raise ConfigError(f"{where} stands without -arch=compute_XY; use the key architectures.")
            for entry in (self._architecture, f"{self._architecture}-virtual"):
                self._entries.pop(entry, None)
            self._entries |= dict.fromkeys(_codes(self._architecture, words, where))
        return tuple(self._entries)


def _codes(architecture: str, codes: str, where: str) -> Iterator[str]:
    """Yield the entries for code such as "[sm_80,compute_80]" of a virtual architecture such as "80"."""
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
    """One or two: the value may be the argument after the option."""
    text: str
    """What is defined or undefined: "NAME", "NAME=VALUE" or "NAME(X)=VALUE"."""
    is_definition: bool

    @property
    def name(self) -> str:
        return re.split("[=(]", self.text, maxsplit=1)[0].strip()

    @property
    def value(self) -> str | None:
        """What the macro stands for; None if the option undefines it."""
        _, equals, value = self.text.partition("=")
        return (value if equals else "1") if self.is_definition else None


def macro_options(arguments: Sequence[str]) -> list[MacroOption]:
    """Return those of NVRTC's arguments that are about macros."""
    return [each for each in _options(arguments) if isinstance(each, MacroOption)]


def macro_definitions(arguments: Sequence[str]) -> list[str]:
    """Return the macros that NVRTC's arguments define: "NAME", "NAME=VALUE" or "NAME(X)=VALUE"."""
    return [option.text for option in macro_options(arguments) if option.is_definition]


def defined_macros(arguments: Sequence[str]) -> frozenset[str]:
    """Return the names of the macros that NVRTC's arguments define."""
    return frozenset(option.name for option in macro_options(arguments) if option.is_definition)


def split_undefinitions(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return NVRTC's arguments without those that undefine macros, and the names of the macros that these undefine and
    no later one defines."""
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
    """Yield arguments, of which one or two are an option about a macro."""
    remaining = iter(arguments)
    for first in remaining:
        match = _MACRO.fullmatch(first)
        if match is None:
            yield first
            continue
        following = () if match[2] else (next(remaining, ""),)
        text = "".join((match[2], *following)).strip()
        yield MacroOption((first, *following), text, match[1] in ("-D", "--define-macro"))
