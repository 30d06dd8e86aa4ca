"""The manifest of a module with many kernels: the kernels are in blocks, so that a program reads those it asks for.

The text is one JSON object, in lines: the format and the SHA-256 of the second line; the rest of the manifest, with the
sizes and SHA-256 of the blocks; then one line for each block. A block is a list of kernels, each with its place among
all kernels ("index") and its resources in each image. A kernel is in the block that the hash of its short name tells.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from ..digest import sha256_of

__all__ = ["BLOCK", "START", "Blocks", "folded", "head_of", "is_intact", "unfolded"]

BLOCK = 1 << 14
"""The usual size of a block, in bytes."""

START = '{"format": 3, "sha256": "'
"""What the text starts with."""

_MIDDLE = ', "blocks": ['


def folded(document: Mapping[str, Any], keys: Sequence[str], size: int) -> str | None:
    """Return the text of a manifest whose plain text has `size` bytes; None if its kernels cannot be told apart so.

    `document` is the manifest as a JSON object, without format and SHA-256; `keys` are its kernels' short names.
    """
    kernels = document["kernels"]
    names = set(keys)
    if any(item["symbol"] != key and item["symbol"] in names for item, key in zip(kernels, keys, strict=True)):
        return None  # one kernel's symbol is another's name: the symbol counts, and may be in another block
    symbols = {item["symbol"] for item in kernels}
    rows: list[list[Any]] = [[] for _ in range(-(-size // BLOCK))]
    for index, (item, key) in enumerate(zip(kernels, keys, strict=True)):
        resources = [image["resources"].get(item["symbol"]) for image in document["images"]]
        rows[_number(key, len(rows))].append(item | {"index": index, "resources": resources})
    lines = [_line(block) for block in rows]
    others = [
        image | {"resources": {key: value for key, value in image["resources"].items() if key not in symbols}}
        for image in document["images"]
    ]
    sizes = [[len(line.encode()), sha256_of(line.encode())] for line in lines]
    return _assembled(_line({**document, "kernels": len(kernels), "images": others, "blocks": sizes}), lines)


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _number(key: str, blocks: int) -> int:
    """Return the number of the block that has the kernels with a short name."""
    return int(sha256_of(key.encode(errors="surrogatepass"))[:12], 16) % blocks


def _assembled(head: str, blocks: Sequence[str]) -> str:
    digest = sha256_of(head.encode(errors="surrogatepass"))
    return f'{START}{digest}", "manifest":\n{head}\n{_MIDDLE}\n' + ",\n".join(blocks) + "\n]}\n"


def unfolded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest as one JSON object with all kernels, from the object that the text is."""
    head, kernels = document["manifest"], [row for block in document["blocks"] for row in block]
    kernels.sort(key=lambda row: row["index"])
    if [row["index"] for row in kernels] != list(range(head["kernels"])):
        raise ValueError(f"it has {len(kernels)} kernels, not {head['kernels']}")
    images = [image | {"resources": _resources(image, kernels, at)} for at, image in enumerate(head["images"])]
    return {**head, "format": document["format"], "sha256": document["sha256"], "kernels": kernels, "images": images}


def _resources(image: Mapping[str, Any], kernels: Sequence[Mapping[str, Any]], at: int) -> dict[str, Any]:
    found = {row["symbol"]: row["resources"][at] for row in kernels if row["resources"][at] is not None}
    return {**image["resources"], **found}


def is_intact(content: bytes) -> bool:
    """Return whether every line has the SHA-256 that the text says."""
    text = content.decode()
    head, *lines = text.split("\n")[1:-2]
    blocks = [line.removesuffix(",") for line in lines[1:]]
    sizes = [[len(line.encode()), sha256_of(line.encode())] for line in blocks]
    return text == _assembled(head, blocks) and json.loads(head)["blocks"] == sizes


def head_of(start: bytes, check: bool) -> tuple[dict[str, Any], int, bool] | None:
    """Return the manifest without kernels, the place of the first block in bytes, and whether it is intact.

    `start` is the start of the text; the result is None if it ends before the first block. With `check` false, it is
    taken as intact.
    """
    parts = start.split(b"\n", 3)
    if len(parts) < 4:
        return None
    first, head, middle, _ = parts
    intact = not check or _assembled(head.decode(), []).encode().startswith(b"\n".join((first, head, middle)))
    return json.loads(head), len(first) + len(head) + len(middle) + 3, intact


class Blocks(Sequence[Any]):
    """The kernels of a manifest in blocks, which are read when they are asked for.

    `read` returns the bytes of the manifest's file from an offset on; `make` returns the kernel in a row of a block.
    Both raise ImageError; so does every use of the sequence.
    """

    def __init__(self, head: Mapping[str, Any], start: int, read: Any, make: Any) -> None:
        self._count = head["kernels"]
        self._places = []
        for size, digest in head["blocks"]:
            self._places.append((start, size, digest))
            start += size + 2  # ",\n"
        self._read = read
        self._make = make
        self._rows: dict[int, list[Any]] = {}
        self._kernels: dict[int, Any] = {}

    def near(self, key: str) -> list[Any]:
        """Return kernels among which are all that have a short name, or a full name with that short name."""
        return [self._kernel(row) for row in self._block(_number(key, len(self._places)))]

    def resources(self, image: Mapping[str, Any], at: int) -> dict[str, Any]:
        """Return the resources of all kernels in image number `at`, which is `image` in the manifest."""
        return _resources(image, self._all_rows(), at)

    def _block(self, number: int) -> list[Any]:
        if number not in self._rows:
            self._rows[number] = self._read(*self._places[number])
        return self._rows[number]

    def _all_rows(self) -> list[Any]:
        rows = [row for number in range(len(self._places)) for row in self._block(number)]
        return sorted(rows, key=lambda row: row["index"])

    def _kernel(self, row: Mapping[str, Any]) -> Any:
        index = row["index"]
        if index not in self._kernels:
            self._kernels[index] = self._make(row)
        return self._kernels[index]

    def __len__(self) -> int:
        return int(self._count)

    def __iter__(self) -> Iterator[Any]:
        return map(self._kernel, self._all_rows())

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return tuple(self)[index]
