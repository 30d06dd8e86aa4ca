"""Parse `architectures` in all its spellings, and resolve it to the targets of a toolchain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.runtime.manifest import Target, Version, dotted

__all__ = [
    "DEFAULT",
    "HELP",
    "first_capability",
    "is_specific",
    "language_targets",
    "named_targets",
    "settle",
    "split",
    "tile_targets",
]

_NUMBER = re.compile(r"(?P<number>\d{2,3})(?P<suffix>[af]?)(?:-(?P<form>real|virtual))?")

_PREFIXED = re.compile(r"(?P<prefix>sm|compute)_(?P<number>\d{2,3})(?P<suffix>[af]?)")

_DOTTED = re.compile(r"(?P<major>\d{1,2})\.(?P<minor>\d)(?P<suffix>[af]?)(?P<ptx>\+PTX)?", re.IGNORECASE)

DEFAULT = "default"
"""Value of the setting `architectures` for a project that does not set it."""

_DEFAULT_REAL = (75, 80, 90, 100, 120)
"""Architectures for which "default" has machine code, as numbers (75 is 7.5): the first of each major generation since
7.5. 11.0 (Jetson) is left out, because CUDA 12 has no name for it."""

# The PTX of 75 runs on all these GPUs, and with drivers that are too old for the machine code. The PTX of 100 gives
# later GPUs newer features. Unlike the PTX of 120, it also runs on 11.0.
_DEFAULT_VIRTUAL = (75, 100)
"""Architectures for which "default" has PTX, as numbers (75 is 7.5). If the fatbin has no machine code for a
GPU, the driver compiles the PTX."""

_WORDS = (DEFAULT, "all", "all-major", "native")

HELP = (
    'Write "default", "all-major", "all", "native", or a list of "86" (machine code and PTX), "86-real" (machine '
    'code), "86-virtual" (PTX); "sm_86", "compute_86" and "8.6+PTX" are accepted too.'
)


def split(text: str) -> list[str]:
    """Return the entries of an `architectures` string, such as CMake's "75;80-real" or PyTorch's "8.0 9.0+PTX"."""
    return [entry for entry in re.split(r"[;,\s]+", text) if entry]


def is_specific(entry: str) -> bool:
    """Return whether an entry names an "a" or "f" target."""
    matches = (pattern.fullmatch(entry) for pattern in (_NUMBER, _PREFIXED, _DOTTED))
    return any(match is not None and match["suffix"] for match in matches)


def settle(
    entries: Sequence[str],
    supported: Iterable[int],
    installed_gpus: Callable[[], Iterable[Version]],
    where: str,
    compiler: str,
) -> tuple[Target, ...]:
    """Return the targets of `entries`, without duplicates: real ones first, in ascending order.

    `supported` is the result of nvrtcGetSupportedArchs; `installed_gpus` returns the compute capabilities of the GPUs
    in this machine, and is called for "native" only; messages name the setting as `where` and NVRTC as `compiler`.

    Raises ConfigError for an unknown spelling, for a target that the compiler does not support, and for an empty list.
    """
    known = sorted(supported)
    targets = named_targets(entries, where)
    for word in {entry.lower() for entry in entries} & set(_WORDS):
        if word == "native":
            targets |= {Target(*capability, "", True) for capability in installed_gpus()}
        else:
            targets |= _expand(word, known)
    if not targets:
        raise ConfigError(f"{where} is empty: it must name at least one target. {HELP}")
    for target in sorted(targets):
        _check(target, known, where, compiler)
    return tuple(sorted(targets, key=lambda target: (not target.real, target)))


def named_targets(entries: Iterable[str], where: str) -> set[Target]:
    """Return the targets of entries that name one architecture each, such as "80-real"; words such as "all" are
    skipped.

    Raises ConfigError for an unknown spelling.
    """
    return {target for entry in entries if entry.lower() not in _WORDS for target in _parse(entry, where)}


def _expand(word: str, known: Sequence[int]) -> set[Target]:
    """Return the targets for a word in `architectures`: "default", "all" or "all-major". `known` are the architectures
    that the compiler supports, as numbers (75 is 7.5), in ascending order.

    "all" has machine code for every architecture. "all-major" has machine code for the earliest architecture and the
    first of each major generation. Both have PTX for the first architecture of the latest generation.
    """
    # "default" is the same for all compilers that support its targets. The other words are as in nvcc and CMake.
    if word == DEFAULT:
        return {
            _target(number, "", real)
            for numbers, real in ((_DEFAULT_REAL, True), (_DEFAULT_VIRTUAL, False))
            for number in numbers
            if number in known
        }
    major = [number for number in known if number % 10 == 0]
    real = known if word == "all" else {known[0], *major}
    return {_target(number, "", True) for number in real} | {_target(major[-1], "", False)}


def _parse(entry: str, where: str) -> set[Target]:
    if match := _NUMBER.fullmatch(entry):
        forms = {"real": [True], "virtual": [False], None: [True, False]}[match["form"]]
        return {_target(int(match["number"]), match["suffix"], real) for real in forms}
    if match := _PREFIXED.fullmatch(entry):
        return {_target(int(match["number"]), match["suffix"], match["prefix"] == "sm")}
    if match := _DOTTED.fullmatch(entry):
        number = int(match["major"] + match["minor"])
        return {_target(number, match["suffix"].lower(), real) for real in ([True, False] if match["ptx"] else [True])}
    raise ConfigError(f"{where}: {entry!r} is not an architecture. {HELP}")


def _target(number: int, suffix: str, real: bool) -> Target:
    return Target(number // 10, number % 10, suffix, real)


def _check(target: Target, known: Sequence[int], where: str, compiler: str) -> None:
    number = target.major * 10 + target.minor
    if number not in known:
        other = "cuda-wheel[cu12] reaches back to sm_50" if number < known[0] else "a newer toolchain may have it"
        raise ConfigError(
            f"{where}: {compiler} cannot compile for {target}; it can for {', '.join(map(str, known))}. "
            f"Leave {target} out, or change the toolchain in build-system.requires: {other}."
        )
    first = {"a": 90, "f": 100}.get(target.suffix, 0)
    if number < first:
        raise ConfigError(
            f'{where}: {target} does not exist: "{target.suffix}" targets begin with sm_{first}{target.suffix}.'
        )


_TRITON_DEFAULT = (80, 90, 100, 120)
"""Architectures for which "default" has machine code of Triton kernels. Triton does not promise support before 8.0.
Source: Triton, README, "Compatibility"."""

_FIRST: dict[str, Version] = {"triton": (8, 0), "tile": (8, 0)}
"""Language of kernels -> first compute capability that its makers promise to support, if that is not each target of the
toolchain. For Triton, see above; for CUDA Tile ("tile", in C++ or Python): nvcc, "Tile Compilation in CUDA"."""


def first_capability(language: str) -> Version:
    """Return the first compute capability that kernels in a language can have images for; "" is CUDA C++."""
    return _FIRST.get(language, (0, 0))


_FIRST_SPECIFIC = 90
"""First architecture for which Triton and tileiras generate code for "a" targets only. Source:
`sm_arch_from_capability` in Triton's back end for NVIDIA GPUs, 3.4 to 3.9; what tileiras 13.3 to 13.5 passes to
ptxas."""


def _triton_targets(entries: Sequence[str], targets: Iterable[Target], where: str) -> tuple[Target, ...]:
    """Return the targets for which Triton compiles in place of `targets`, which `entries` name.

    From 9.0 on, machine code is for an "a" target, which one compute capability runs, and PTX would be too. So PTX is
    for the highest of the named architectures before 9.0, or else for 8.0: it runs on all later GPUs. Raises
    ConfigError for an "f" target, which Triton does not have.
    """
    chosen = list(targets)
    if {entry.lower() for entry in entries} == {DEFAULT}:
        chosen = [_target(number, "", True) for number in _TRITON_DEFAULT] + [_target(_TRITON_DEFAULT[0], "", False)]
    family = next((target for target in chosen if target.suffix == "f"), None)
    if family is not None:
        raise ConfigError(
            f'{where} has {family.arch}: Triton has no family targets. Write the compute capabilities, such as "100".'
        )
    portable = [target for target in chosen if _number(target) < _FIRST_SPECIFIC]
    fallback = max(portable, key=_number)._replace(real=False) if portable else _target(80, "", False)
    found = [
        each
        if _number(each) < _FIRST_SPECIFIC or each.suffix
        else (each._replace(suffix="a") if each.real else fallback)
        for each in chosen
    ]
    return tuple(sorted({*found}, key=lambda target: (not target.real, target)))


def _numba_targets(entries: Sequence[str], targets: Iterable[Target], where: str) -> tuple[Target, ...]:
    """Return `targets`: PTX of Numba's compiler, from which images are assembled, is for a portable target.

    Raises ConfigError for "a" and "f" targets, whose instructions Numba's language does not have.
    """
    specific = next((target for target in targets if target.suffix), None)
    if specific is not None:
        number = _number(specific)
        raise ConfigError(
            f"{where} has {specific.arch}: Numba kernels use no instructions of single architectures. Write "
            f'"{number}-real" for machine code, or give the kernel\'s table architectures of its own.'
        )
    return tuple(targets)


_RULES = {"triton": _triton_targets, "numba": _numba_targets}
"""Language of kernels in Python -> function of (entries of `architectures`, their targets, where they stand) that
returns the targets for which its compiler compiles."""


def language_targets(
    language: str, entries: Sequence[str], targets: Iterable[Target], where: str
) -> tuple[Target, ...]:
    """Return the targets for which the compiler of a language, such as "triton", compiles in place of `targets`, which
    `entries` name. Raises ConfigError for a target that it does not have."""
    return _RULES[language](entries, targets, where)


# An image is for one compute capability. Those of Jetson GPUs are left out, as in the other defaults.
_TILE_DEFAULT = (80, 86, 89, 90, 100, 103, 120, 121)
"""Architectures for which "default" has machine code of CUDA Tile kernels, as far as tileiras has them."""


def tile_targets(
    entries: Sequence[str], targets: Iterable[Target], where: str, supported: Sequence[int], assembler: str
) -> tuple[Target, ...]:
    """Return the targets for which tileiras compiles CUDA Tile kernels in place of `targets`, which `entries` name.

    `supported` are the architectures that tileiras has, `assembler` is its name with its release. There is no PTX, and
    machine code from 9.0 on is for an "a" target. As nvcc does, architectures before 8.0 are left out. Raises
    ConfigError if none is left, and for "f" targets and architectures that tileiras does not have.
    """
    words = {entry.lower() for entry in entries} & set(_WORDS)
    named = {_number(target): target for target in targets if target.real and target.capability >= _FIRST["tile"]}
    numbers = set(named)
    if DEFAULT in words:
        written = {_number(target) for target in named_targets(entries, where) if target.real}
        numbers = {number for number in written if number in named} | {
            each for each in _TILE_DEFAULT if each in supported
        }
    elif words:
        numbers = {number for number in numbers if number in supported}
    family = next((target for target in named.values() if target.suffix == "f"), None)
    if family is not None:
        raise ConfigError(
            f"{where} has {family.arch}: CUDA Tile kernels have no family targets. Write the compute capabilities, "
            'such as "100-real".'
        )
    if not numbers:
        raise ConfigError(
            f"{where} has no architecture for CUDA Tile kernels, which become machine code for compute capability "
            f'{dotted(_FIRST["tile"])} or later, and no PTX. Write "default" or a list such as ["80-real", "90-real"], '
            "in the module's own table if other modules need the architectures of all."
        )
    other = next((number for number in sorted(numbers) if number not in supported), None)
    if other is not None:
        raise ConfigError(
            f"{where}: {assembler} cannot compile CUDA Tile kernels for {other}; it can for "
            f"{', '.join(map(str, supported))}."
        )
    found = (_target(number, "a" if number >= _FIRST_SPECIFIC else "", True) for number in numbers)
    return tuple(sorted(found))


def _number(target: Target) -> int:
    return 10 * target.major + target.minor
