"""`cuda-wheel cache`: show the contents of the cache; limit its size, or clear it."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import Any

from cuda_wheel.builder.report.quantities import size_text
from cuda_wheel.cli.arguments import add_json_option, argument_type, print_json
from cuda_wheel.inspect.doctor import cache_contents
from cuda_wheel.runtime.parts.user_cache import Cache, cache_limit, parse_size

__all__ = ["add_arguments", "cache_lines", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--prune",
        type=argument_type(parse_size),
        metavar="SIZE",
        help="remove the least recently used entries until at most SIZE is left: 500MiB",
    )
    group.add_argument("--clear", action="store_const", const=0, dest="prune", help="remove every entry")
    add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Remove entries if an option asks for it, and show the cache. Return 1 if more than the requested size is left,
    else 0."""
    cache = Cache()
    cache_limit()  # raises for an invalid size, before any entry is removed
    removed = None if options.prune is None else cache.prune(options.prune, wait=True)
    contents = cache_contents(cache)
    if removed is not None:
        contents["removed"] = {"entries": removed[0], "bytes": removed[1]}
    if options.json:
        print_json(contents)
    else:
        if removed is not None:
            print(f"removed {_entries_text(contents['removed'])}")
        print("\n".join(cache_lines(contents)))
    if removed is not None and contents["bytes"] > options.prune:
        print(
            f"cuda-wheel: {contents['folder']} still holds more than {size_text(options.prune)}: an entry cannot be "
            "removed, or another process is adding entries",
            file=sys.stderr,
        )
        return 1
    return 0


def cache_lines(contents: dict[str, Any]) -> list[str]:
    """Return a line about the cache and, if there is a read-only cache, one about it. `contents` is the result of
    `cache_contents`."""
    lines = [f"{_folder_text(contents)}; at most {size_text(contents['limit'])}; chosen by {contents['set_by']}"]
    second = contents["read_only"]
    if second:
        text = f"{second['folder']}: {second['error']}" if "error" in second else _folder_text(second)
        lines.append(f"{text}; read only, chosen by CUDA_WHEEL_CACHE_READONLY")
    return lines


def _folder_text(contents: dict[str, Any]) -> str:
    times = [contents[key] for key in ("oldest_use", "newest_use") if contents[key]]
    local = [f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}" for time in times]
    used = f", used {' to '.join(dict.fromkeys(local))}" if local else ""
    return f"{contents['folder']}: {_entries_text(contents)}{used}"


def _entries_text(contents: dict[str, Any]) -> str:
    return f"{contents['entries']} {'entry' if contents['entries'] == 1 else 'entries'}, {size_text(contents['bytes'])}"
