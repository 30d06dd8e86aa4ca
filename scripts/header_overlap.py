"""Compare the headers of this project with those of other projects, by runs of tokens.

    python scripts/header_overlap.py [--limit 0.25] [--all] FOLDER...

The folders are those of the other projects' headers: PyTorch's `include`, the toolkit's, CCCL's, libstdc++'s
(/usr/include/c++/12). A header's share is the part of its runs of 20 C++ tokens, without comments and white space, that
occur in any header of the folders. Lists the headers above the limit except the named exceptions, or all headers with
`--all`; the exit status is 1 if a header that is no exception is above the limit.
"""

from __future__ import annotations

import argparse
import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

OURS = (ROOT / "cuda_wheel/builder/headers",)
"""The folders of this project's headers."""

RUN = 20
"""Number of tokens in a run."""

LIMIT = 0.25
"""Largest share, from 0 to 1, that needs no reason."""

_INCLUDES = "A list of includes in alphabetical order."
_NAMES = "The names that the C++ standard lists for the header, each as a using-declaration."

EXCEPTIONS = {
    "std/cub/cub.cuh": _INCLUDES,
    "cuda/cub/device/cuda_wheel_all.h": _INCLUDES,
    "std/cctype": _NAMES,
    "std/cfenv": _NAMES,
    "std/cwctype": _NAMES,
    "std/numbers": "The constants of the C++ standard, 13 lines.",
    "pytorch/cuda_wheel_detail/pytorch/reduced_floats.h": _INCLUDES,
    "pytorch/cuda_wheel_detail/pytorch/scalar_types.h": "PyTorch's element types in the order of their numbers.",
}
"""Path of a header, relative to its folder of `OURS` -> reason why it may have a larger share."""

_BYTES = array("I").itemsize

_TOKEN = re.compile(
    r"""/\*.*?(?:\*/|\Z)|//(?:\\\r?\n|[^\n])*|\\\r?\n
    |((?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
        |"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?
        |[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|'?[\w.])*
        |<<=|>>=|\.\.\.|<=>|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%^&|]=|\#\#|[^\s])""",
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> list[str]:
    """Return the C++ tokens of a text, including the tokens of preprocessor directives."""
    return [found[1] for found in _TOKEN.finditer(text) if found[1]]


def headers_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, except libraries and bytecode; C++ headers may have any suffix."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".a", ".so", ".pyc"))


def shares(ours: Iterable[Path], others: Iterable[Path]) -> dict[Path, float]:
    """Return path -> share, from 0 to 1, for each header below the folders `ours`: the part of its runs that headers
    below `others` contain.

    Headers with fewer tokens than a run are left out.
    """
    numbers: dict[str, int] = {}
    packed = {}
    for path in (path for folder in ours for path in headers_below(folder)):
        found = tokens(path.read_text(encoding="utf-8"))
        packed[path] = array("I", (numbers.setdefault(each, len(numbers) + 1) for each in found)).tobytes()
    wanted = {run for content in packed.values() for run in _runs(content)}
    taken: set[bytes] = set()
    for path in (path for folder in others for path in headers_below(folder)):
        taken.update(wanted.intersection(_known_runs(path.read_text(encoding="utf-8", errors="replace"), numbers)))
    return {
        path: sum(run in taken for run in runs) / len(runs)
        for path, content in packed.items()
        if (runs := list(_runs(content)))
    }


def _runs(content: bytes) -> Iterator[bytes]:
    """Yield all runs of RUN tokens, as bytes, in a sequence of tokens packed as unsigned integers."""
    return (content[at : at + RUN * _BYTES] for at in range(0, len(content) - RUN * _BYTES + 1, _BYTES))


def _known_runs(text: str, numbers: dict[str, int]) -> Iterator[bytes]:
    """Yield the runs of a text in which every token has a number in `numbers` (token -> number)."""
    found = array("I", (numbers.get(each, 0) for each in tokens(text)))
    start = 0
    for at in [*(at for at, number in enumerate(found) if number == 0), len(found)]:
        if at - start >= RUN:
            yield from _runs(found[start:at].tobytes())
        start = at + 1


def above(limit: float, found: dict[Path, float], exceptions: Iterable[str]) -> dict[str, float]:
    """Return name -> share of the headers above a limit, without those in `exceptions`."""
    named = {name_of(path): share for path, share in found.items() if share > limit}
    return {name: share for name, share in named.items() if name not in exceptions}


def name_of(path: Path) -> str:
    """Return the path of one of our headers, relative to its folder of `OURS`."""
    folder = next(folder for folder in OURS if folder in path.parents)
    return path.relative_to(folder).as_posix()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--all", action="store_true", help="list the exceptions and all headers below the limit too")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    found = shares(OURS, arguments.folders)
    rejected = above(arguments.limit, found, EXCEPTIONS)
    listed = above(-1, found, ()) if arguments.all else rejected
    for name, share in sorted(listed.items(), key=lambda each: -each[1]):
        print(f"{share:5.2f}  {name}{'  ' + EXCEPTIONS[name] if name in EXCEPTIONS else ''}")
    return 1 if rejected else 0


if __name__ == "__main__":
    sys.exit(main())
