"""Compile CUDA C++ for a link with NVRTC, and find out beforehand what its macros may do.

`pasted_tokens` returns the tokens that the preprocessor may join to other identifiers (`a ## b`), and rather too many
than too few: all tokens of the texts, if this module cannot follow how a macro is used. `may_use_build_time` returns
whether a program may use `__DATE__`, `__TIME__` or `__TIMESTAMP__`. Both are pure.
"""

import ctypes
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ...errors import LinkError
from ...jit import JitOptions
from ...manifest import Target, Version, dotted
from ..cuda_libraries import library_release, loaded_build, open_library, read_output
from ..floating_point import FloatingPoint

__all__ = [
    "can_be_joined",
    "compile_cuda",
    "may_use_build_time",
    "nvrtc_build",
    "nvrtc_options",
    "nvrtc_version",
    "pasted_tokens",
    "spliced",
]


_SPLICE = re.compile(rb"\\\r?\n")
"""Matches a line splice: a backslash and the newline after it."""

_TRIGRAPH_SPLICE = re.compile(rb"\?\?/\r?\n")
"""Matches a line splice that is written with "??/", the trigraph of a backslash, and is valid only up to C++14."""

_DEFINITION = re.compile(
    rb"^[ \t]*(?:#|%:|\?\?=)[ \t]*define[ \t]+(\w+)([^\n]*)|(?:-D[ \t]*|define-macro[= ])(\w+)=(\S*)", re.MULTILINE
)
"""Matches a macro definition: in a source, "#define NAME BODY" with the groups 1 and 2; in compiler options,
"-DNAME=VALUE" with the groups 3 and 4."""

# Half of "??=??=" is enough, although a "??=" may also begin a directive.
_PASTE = re.compile(rb"##|%:%:|\?\?=")
"""Matches the preprocessor's operator "##", which joins two tokens, in each of its spellings: "##", "%:%:" and
"??=??=". A single "??=" matches too."""

# Some of these macros join tokens. Every compilation with host code defines CCCL_META_UNROLL_LIMIT, as a number.
# No macro in the toolkit's other headers both joins tokens and is meant for programs.
_CCCL = re.compile(rb"_?CCCL_(?!META_UNROLL_LIMIT)\w*")
"""Matches the name of a macro of CCCL (NVIDIA's C++ libraries), such as "_CCCL_PP_CAT". Every such macro counts as one
that joins tokens. "CCCL_META_UNROLL_LIMIT" does not match."""

_LOCATION = b"__location__"
"""NVRTC's macro that puts two underscores before and after its argument: `__location__(x)` is `__x__`."""

_TOKEN = re.compile(rb"\w+")

_FOLLOWING = re.compile(rb"\s*([(),])")

_PARENTHESIS = re.compile(rb"[()]")

_LONGEST_CALL = 20_000
"""Number of bytes after the "(" of a macro call in which its ")" is searched."""


def spliced(text: bytes) -> Iterator[bytes]:
    """Yield a text without its line splices and, if it has trigraphs of a backslash, also without their splices."""
    joined = _SPLICE.sub(b"", text)
    yield joined
    if b"??/" in joined:
        yield _TRIGRAPH_SPLICE.sub(b"", joined)


def pasted_tokens(texts: Sequence[bytes]) -> set[bytes]:
    """Return the identifiers and numbers that macros in these texts may join to other tokens.

    `texts` are a program's own sources, headers and options, each as `spliced` yields it. The result has all tokens in
    arguments and bodies of macros that join tokens, and in the bodies of macros that are named there.
    """
    bodies: dict[bytes, list[bytes]] = {}
    for text in texts:
        for name, body, option, value in _DEFINITION.findall(text):
            bodies.setdefault(name or option, []).append(body or value)
    words = {name: _tokens(each) for name, each in bodies.items()}
    pasting = {name for name, each in bodies.items() if any(map(_PASTE.search, each))} | {_LOCATION}
    pasting |= {match for text in texts for match in _CCCL.findall(text)}
    pasting = _grown(pasting, lambda known: {name for name, each in words.items() if each & known})
    tokens = set().union(*(words.get(name, set()) for name in pasting))
    takes_arguments = {name for name in pasting if any(body.startswith(b"(") for body in bodies.get(name, [b"("]))}
    for name, arguments in [call for text in texts for call in _calls(_DEFINITION.sub(b"", text), pasting)]:
        if arguments is None and name in takes_arguments:  # the name is an argument of another macro, for example
            return _tokens(texts) | {b"_", b"__"}
        tokens |= _tokens([arguments or b""])
    tokens = _grown(tokens, lambda known: set().union(*(words[name] for name in known & words.keys())))
    return tokens | ({b"_", b"__"} if pasting - bodies.keys() else set())


def _tokens(texts: Iterable[bytes]) -> set[bytes]:
    return {token for text in texts for token in _TOKEN.findall(text)}


def _grown(known: set[bytes], follow: Callable[[set[bytes]], set[bytes]]) -> set[bytes]:
    """Return `known` and all names that result from it in one or more steps. `follow`: names -> the names that result
    from them in one step."""
    while more := follow(known) - known:
        known = known | more
    return known


def _calls(text: bytes, names: set[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield (macro name, text between its parentheses) for each use in `text` of a macro in `names`: b"CAT(a, b)" ->
    (b"CAT", b"a, b").

    A name counts as a use only before "(", ")" or ",". The second item is None if no "(" follows the name, or if the
    closing parenthesis is not found.
    """
    for match in _TOKEN.finditer(text):
        if match[0] in names:
            following = _FOLLOWING.match(text, match.end())
            if following is not None:
                yield match[0], _until_closing(text, following.end()) if following[1] == b"(" else None


def _until_closing(text: bytes, start: int) -> bytes | None:
    depth = 1
    for match in _PARENTHESIS.finditer(text, start, start + _LONGEST_CALL):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return text[start : match.start()]
    return None


def can_be_joined(word: bytes, tokens: set[bytes]) -> bool:
    """Return whether a word is a concatenation of tokens, each of which may occur any number of times."""
    ends = [0]
    for end in range(1, len(word) + 1):
        if any(word[start:end] in tokens for start in ends):
            ends.append(end)
    return ends[-1] == len(word)


_MACROS = (b"__DATE__", b"__TIME__", b"__TIMESTAMP__")


def may_use_build_time(texts: Iterable[bytes]) -> bool:
    """Return whether a program may use the time of its compilation; `texts` are its sources, headers and options.

    True if a text contains `__DATE__`, `__TIME__` or `__TIMESTAMP__`, even in a comment or string, or if the
    preprocessor may join one from other tokens, such as `__TI` and `ME__`. The toolkit's headers use none of these
    macros, so they need not be among the texts.
    """
    joined = [each for text in texts for each in spliced(text)]
    if any(macro in text for text in joined for macro in _MACROS):
        return True
    tokens = pasted_tokens(joined)
    return any(can_be_joined(macro, tokens) for macro in _MACROS)


def nvrtc_version() -> Version | None:
    """Return the CUDA release of the installed NVRTC; None without one."""
    return library_release(open_library("nvrtc"), "nvrtc")


def nvrtc_build() -> str | None:
    """Return an identifier of the exact build of the installed NVRTC; None if it is unknown."""
    return loaded_build("nvrtc")


def nvrtc_options(lto: bool, options: JitOptions, floating_point: FloatingPoint) -> list[str]:
    """Return the options for NVRTC that do not depend on the GPU."""
    form = ["-rdc=true", "-std=c++17", *["-dlto"] * lto, *["-lineinfo"] * options.lineinfo]
    return [*form, *floating_point.nvrtc_options()]


def compile_cuda(
    text: bytes,
    name: str,
    folder: str | None,
    target: Target,
    lto: bool,
    options: JitOptions,
    floating_point: FloatingPoint = FloatingPoint(),  # noqa: B008 - immutable
) -> tuple[bytes, str]:
    """Return what NVRTC compiles from CUDA C++, LTO-IR if `lto` and else relocatable PTX, and NVRTC's log.

    NVRTC looks for headers in `folder`, then among the installed ones of the toolkit and CCCL. Raises LinkError with
    NVRTC's log.
    """
    library = open_library("nvrtc")
    if library is None:
        raise LinkError(f"{name} needs NVRTC, which is not installed")
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    arch = _compute_arch(library, target)
    folders = [folder] if folder else []
    if b"include" in text:
        folders += _header_folders()
    options_given = [
        f"-arch=compute_{arch}",
        *nvrtc_options(lto, options, floating_point),
        *(f"-I{path}" for path in folders),
    ]
    arguments = (ctypes.c_char_p * len(options_given))(*map(os.fsencode, options_given))
    program, check = ctypes.c_void_p(), partial(_check, library)
    check(library.nvrtcCreateProgram(ctypes.byref(program), text, name.encode(errors="replace"), 0, None, None))
    try:
        result = library.nvrtcCompileProgram(program, len(arguments), arguments)
        output = read_output(library, "nvrtcGetProgramLog", program, check).rstrip(b"\0\n ")
        log = re.sub(r"^(\S[^(\n]*)\((\d+)\): ", r"\1:\2: ", output.decode(errors="replace"), flags=re.MULTILINE)
        if result:
            raise LinkError(f"{name} does not compile for compute_{arch}:\n{log or _error_name(library, result)}")
        code = read_output(library, "nvrtcGetLTOIR" if lto else "nvrtcGetPTX", program, check)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    return (code if lto else code.rstrip(b"\0")), log


def _compute_arch(library: Any, target: Target) -> str:
    """Return the newest architecture that NVRTC can compile for and the target GPU can run: "90a" for sm_90a, or an
    older one, such as "80", if NVRTC does not know 9.0. Raise LinkError if NVRTC knows only architectures newer than
    the target."""
    count = ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    supported = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(supported))
    number = 10 * target.major + target.minor
    if number in supported:
        return target.arch
    older = [arch for arch in supported if arch < number]
    if not older:
        release = dotted(nvrtc_version() or (0, 0))
        raise LinkError(f"NVRTC {release} compiles for {min(supported)} and later, not for {target}")
    return str(max(older))


def _header_folders() -> list[str]:
    """Return the folders with the installed headers of the toolkit and of CCCL; [] if `cuda.pathfinder` is not
    installed."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory  # optional: a machine without it has no headers
    except ImportError:
        return []
    found = []
    for name in ("cccl", "cudart", "nvcc"):
        try:
            found.append(find_nvidia_header_directory(name))
        except RuntimeError:  # this release of cuda.pathfinder does not know the name
            continue
    return list(dict.fromkeys(path for path in found if path))


def _check(library: Any, result: int) -> None:
    if result:
        raise LinkError(f"NVRTC answered {_error_name(library, result)}")


def _error_name(library: Any, result: int) -> str:
    name: bytes = library.nvrtcGetErrorString(result)
    return name.decode()
