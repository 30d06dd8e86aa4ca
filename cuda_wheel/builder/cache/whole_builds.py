"""Reuse the outputs of an earlier build with unchanged inputs, without planning the build again.

For each build, one entry lists the files that it depends on, and one the files that it wrote and the messages that it
showed. So each file is examined once, and not once for each module. Headers that would be found first if they existed
are looked for by listing folders.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cuda_wheel import __version__
from cuda_wheel.builder.cache.files import DependencyCache, FileHashes, KeptFiles, Recorded, State, unchanged_since
from cuda_wheel.builder.cache.known_toolchain import recall_toolchain, toolchain_environment, toolchain_identity
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.parts.user_cache import Cache, used_in_place

if TYPE_CHECKING:
    from cuda_wheel.builder.cache.compile_cache import Place
    from cuda_wheel.builder.config.settings import Config
    from cuda_wheel.builder.sources.layout import WheelFile
    from cuda_wheel.builder.toolchain.toolchain import Toolchain

__all__ = ["Shown", "WholeBuild", "WholeBuilds"]

FORMAT = "builds 1"
"""Version of the layout of entries with builds. It is part of the key of each such entry."""

# The cluster's workers may have other files than this machine.
_OTHER_MACHINES = "CUDA_WHEEL_EXECUTOR"
"""Prefix of the names of the environment variables that let a cluster run the jobs. A build is not kept in the cache if
such a variable is set."""

_CACHE_VARIABLES = ("CUDA_WHEEL_CACHE_DIR", "CUDA_WHEEL_CACHE_READONLY", "CUDA_WHEEL_CACHE_SIZE")
"""Environment variables for the folders and the size of the cache. They do not affect the result of a build."""

_OWN = 0
"""First item of the `Place` of a file in the project's folder, as in (0, "src/k.cu")."""


class Shown(NamedTuple):
    """Messages of a build: `lines` are (True for a warning, text); `jobs` is the number of its jobs and links."""

    lines: list[tuple[bool, str]]
    jobs: int


class WholeBuild(NamedTuple):
    """The outputs of a build."""

    files: dict[str, str]
    """Path of a file in the wheel -> absolute path of the file in the cache that has its content."""
    shown: Shown


class _ListedFolder(NamedTuple):
    """The files of one folder that a build depends on.

    `number` and `path` name the folder, like a `Place`. `present` are the names of files that existed at the build, and
    `absent` the names of files that did not exist, but would have been found before others.
    """

    number: int
    path: str
    present: list[str]
    absent: list[str]


class WholeBuilds:
    """Outputs in the cache of complete builds of one project, with its present settings, environment and wheel files.

    Create it before the build reads any file: a build is not kept if a file that it depends on changes afterwards.
    """

    def __init__(self, cache: Cache, root: Path, config: Config, files: Sequence[WheelFile]) -> None:
        self._began = time.time_ns()
        self._cache = cache
        self.toolchain = recall_toolchain(cache, toolchain_environment())
        """Toolchain that the cache has for the CUDA packages and environment variables of this process; None if the
        cache has none."""
        self._root = str(root)
        self._facts = _facts(root, config, files)
        self._read = [str(file.source) for file in files if _is_read(file.destination, config)]
        """Absolute paths of the wheel's files that a build reads and that are not CUDA sources; see `_is_read`."""
        self._builds: DependencyCache[list[_ListedFolder]] = DependencyCache(cache, _parse_folders)
        self._files = KeptFiles(cache)

    # --- reuse --------------------------------------------------------------------------------------

    def find(self) -> WholeBuild | None:
        """Return the outputs of an earlier build whose inputs are all unchanged; None if there is none."""
        toolchain = self.toolchain
        if toolchain is None or self._facts is None:
            return None
        hashes = FileHashes(self._cache)
        state_of = _StateReader(self._root, toolchain.header_folders, hashes).state_of
        found = None
        for recorded in self._builds.recorded(self._request(toolchain), state_of):
            build = self._builds.read(recorded, _parse_build)
            found = None if build is None else self._restored(recorded, *build)
            if found is not None:
                break
        hashes.save()
        return found

    def _restored(
        self, recorded: Recorded[list[_ListedFolder]], outputs: Mapping[str, str], shown: Shown
    ) -> WholeBuild | None:
        """Return an earlier build as a `WholeBuild`. Return None if one of its files in the cache is missing or
        damaged.

        `recorded`: identifies the earlier build. `outputs`: path in the wheel -> SHA-256 of the content. `shown`: the
        messages of the earlier build.
        """
        key = Cache.key(FORMAT, self._cache.folder, recorded.result_key())
        memory = Cache(self._cache.folder)  # a read-only cache knows other inodes
        remembered = memory.read(key, _parse_states) or {}
        files, states = {}, {}
        for name, digest in outputs.items():
            found = self._files.find(digest, remembered.get(name))
            if found is None:
                return None
            files[name] = found[0]
            if found[1] is not None:
                states[name] = found[1]
        # With these states, the next call reads only files whose state has changed.
        if states != remembered:
            memory.put(key, json.dumps(states).encode())
        return WholeBuild(files, shown)

    # --- keep ---------------------------------------------------------------------------------------

    def keep(
        self,
        toolchain: Toolchain,
        inputs: Mapping[Place, str | None] | None,
        sources: Iterable[str],
        looked_for: Iterable[str],
        folder: Path,
        outputs: Iterable[str],
        shown: Shown | None,
    ) -> None:
        """Store the outputs of a build in the cache, unless a build with the same inputs may have other outputs.

        `outputs` are paths below `folder` and in the wheel. `inputs` is place -> SHA-256 of the files that jobs read or
        looked for (None for a file that does not exist); it is None itself if these files are not known. `sources` are
        the project-relative paths of all sources. `looked_for` are the project-relative paths where headers were looked
        for to find out which `.cu` files other sources include. `shown` are the build's messages; None if unknown.
        """
        if inputs is None or shown is None or not self._is_repeatable(toolchain, shown):
            return
        needed = {(_OWN, path) for path in sources}
        # Some back ends list the `__init__.py` of a namespace package, which does not exist.
        looked = {(_OWN, os.path.normpath(path)) for path in looked_for}
        looked |= {(_OWN, path[len(self._root) + 1 :]) for path in self._read}
        places, folders = inputs.keys() | needed | looked, toolchain.header_folders
        if any(not -len(folders) <= number <= _OWN or path.startswith(os.pardir) for number, path in places):
            return
        reader = _StateReader(self._root, folders, FileHashes(self._cache))
        listed = _grouped(places, reader)
        state = reader.state_of(listed)
        known = {
            (each.number, os.path.join(each.path, name)): digest
            for each, (digests, _) in zip(listed, state, strict=True)
            for name, digest in zip(each.present, digests, strict=True)
        }
        if not needed <= known.keys() or not self._is_unchanged(inputs, known, reader):
            return
        with used_in_place(self._cache.folder):
            pass  # makes the lock
        digests = {name: self._files.put((folder / name).read_bytes()) for name in outputs}
        build = {"outputs": digests, **shown._asdict()}
        self._builds.put(Recorded(self._request(toolchain), listed, state), json.dumps(build).encode())

    def _is_repeatable(self, toolchain: Toolchain, shown: Shown) -> bool:
        """Return whether a later build is sure to have the outputs and messages of this build if no file changes.

        `shown` are the messages of this build.
        """
        if self._facts is None or self._cache.took_from_second:  # what the second cache has is not copied
            return False
        folders = (self._root, *toolchain.header_folders, *toolchain.libraries)
        if any(path in text for _, text in shown.lines for path in folders):
            return False  # the next build may be in other folders
        # Other code generates what lies elsewhere.
        return all(path.startswith(f"{self._root}{os.sep}") for path in self._read)

    def _is_unchanged(
        self, inputs: Mapping[Place, str | None], known: Mapping[Place, str | None], reader: _StateReader
    ) -> bool:
        """Return whether no file has changed since the build read it.

        `inputs`: place -> SHA-256 when a job read the file; None if the file did not exist.
        `known`: place of an existing file -> SHA-256 now. If one is None (unreadable or outside the project), return
        False.
        `reader`: gives the paths of places.
        """
        if None in known.values() or any(known.get(place) != digest for place, digest in inputs.items()):
            return False
        return unchanged_since(self._began, [reader.path_of(place) for place in known if place[0] == _OWN])

    def _request(self, toolchain: Toolchain) -> str:
        return Cache.key(
            FORMAT, __version__, toolchain_environment(), toolchain_identity(toolchain), *(self._facts or ())
        )


# --- what decides a build besides the content of files ----------------------------------------------


def _decides_more(root: Path, config: Config) -> bool:
    """Return whether the result of a build depends on more than the settings and the files that the build reads.

    True if `system-include-dirs` or `specialize` is set, if `architectures` has "native", or if an include folder
    does not exist.
    """
    tables = (config, *config.module)
    return (
        any("native" in table.architectures.entries for table in tables)
        or any(table.system_include_dirs for table in tables)  # neither the project's files nor the toolchain's
        or any(module.specialize for module in config.module)  # its wheel has headers that no job reads
        or not all(os.path.isdir(os.path.join(root, folder)) for table in tables for folder in table.include_dirs)
    )


def _facts(root: Path, config: Config, files: Sequence[WheelFile]) -> list[str] | None:
    """Return what affects a build besides the toolchain and the content of files, as strings for a cache key.

    Return None if the build must not be kept: a cluster may run its jobs, `_decides_more` is true, or a pattern in
    the settings is invalid.
    """
    variables = {name: value for name, value in os.environ.items() if name.startswith("CUDA_WHEEL_")}
    if any(name.startswith(_OTHER_MACHINES) for name in variables) or _decides_more(root, config):
        return None
    patterns = [
        *config.sources,
        *(path for module in config.module for path in (*module.sources, *module.extern_default)),
    ]
    try:
        matches = [_matches(root, pattern) for pattern in dict.fromkeys(patterns)]
    except (ValueError, IndexError, NotImplementedError, OSError):
        return None  # the build says what is wrong with the pattern
    settings = sorted(item for item in variables.items() if item[0] not in _CACHE_VARIABLES)
    places = [(str(file.source).removeprefix(f"{root}{os.sep}"), file.destination) for file in files]
    python = repr(sys.version_info[:2])  # stubs are parsed and written with it
    return [python, repr(config), repr(settings), repr(matches), repr(places), _loader(config)]


def _matches(root: Path, pattern: str) -> tuple[str, list[str]]:
    """Return (pattern, project-relative paths that match it now). For a pattern with a leading "!", which excludes
    files, return the paths that match the text after the "!"."""
    positive = pattern.removeprefix("!")
    names = [positive] if os.path.exists(os.path.join(root, positive)) else []
    if any(character in positive for character in "*?["):
        names += sorted(str(path.relative_to(root)) for path in root.glob(positive))
    return pattern, names


def _loader(config: Config) -> str:
    """Return a string that identifies the content of the loader that is copied into the wheel; "" if the settings do
    not ask for a copy (`loader = "vendor"`)."""
    if config.loader != "vendor":
        return ""
    from cuda_wheel.builder.wheel.loader_copy import copied_files  # few wheels contain it

    return repr([(name, sha256(content).hexdigest()) for name, content in copied_files(PARTS).items()])


def _is_read(path: str, config: Config) -> bool:
    """Return whether a build reads a file that is not a CUDA source. `path` is the file's path in the wheel.

    A build reads each `__init__.py`, `__init__.pyi` and `.tuned.json`. With `loader = "vendor"`, it reads all Python
    files.
    """
    # To find out which parts of the loader the files use.
    if config.loader == "vendor" and path.endswith(".py"):
        return True
    # The `__init__` files may attach kernels; `.tuned.json` is a table of tuned choices.
    return os.path.basename(path) in ("__init__.py", "__init__.pyi") or path.endswith(".tuned.json")


# --- the content of files -----------------------------------------------------------------------------


class _StateReader:
    """Reads the present state of the files that a build depends on, folder by folder."""

    def __init__(self, root: str, toolchain: Sequence[str], hashes: FileHashes) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._toolchain = toolchain
        self._hashes = hashes
        self._is_inside = cache(self._leads_inside)

    def path_of(self, place: Place) -> str:
        """Return the absolute path of a file or folder named by a `Place`."""
        number, path = place
        return os.path.join(self._toolchain[number] if number else self._root, path)

    def state_of(self, folders: Iterable[_ListedFolder]) -> list[tuple[list[str | None], list[str]]]:
        """Return for each folder the SHA-256 of its `present` files, and the names of its `absent` files that exist
        now.

        The SHA-256 is None for a file that does not exist now.
        """
        return [(list(self._digests(folder)), self._appeared(folder)) for folder in folders]

    def digest(self, place: Place) -> str | None:
        """Return the SHA-256 of a file; None if there is none.

        Also return None for a symbolic link in the project, and for a file in a folder of the project that is, through
        symbolic links, outside the project.
        """
        path = self.path_of(place)
        if place[0] != _OWN:
            return self._hashes.of(path)
        return _read(path) if self._is_inside(os.path.dirname(path)) else None

    def _digests(self, folder: _ListedFolder) -> Iterator[str | None]:
        return (self.digest((folder.number, os.path.join(folder.path, name))) for name in folder.present)

    def _appeared(self, folder: _ListedFolder) -> list[str]:
        if not folder.absent:
            return []
        try:
            names = {name.casefold() for name in os.listdir(self.path_of((folder.number, folder.path)))}
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:  # its files may be readable
            names = None
        # Case may not count there; and what is not ASCII may be spelled in several ways.
        seen = (name for name in folder.absent if names is None or not name.isascii() or name.casefold() in names)
        return [name for name in seen if os.path.isfile(self.path_of((folder.number, os.path.join(folder.path, name))))]

    def _leads_inside(self, folder: str) -> bool:
        return (os.path.realpath(folder) + os.sep).startswith(self._real_root + os.sep)


def _grouped(places: Iterable[Place], reader: _StateReader) -> list[_ListedFolder]:
    """Group places by folder. Return a `_ListedFolder` for each folder: `present` are the names of its files that exist
    now, and `absent` the names of its files that do not."""
    names: dict[Place, list[str]] = defaultdict(list)
    for number, path in sorted(places):
        folder, name = os.path.split(path)
        names[number, folder].append(name)
    grouped = []
    for (number, path), each in names.items():
        place = reader.path_of((number, path)) + os.sep  # not a path for each: CUB alone makes thousands
        exists = {name: os.path.isfile(place + name) for name in each}
        present, absent = ([name for name in each if exists[name] is wanted] for wanted in (True, False))
        grouped.append(_ListedFolder(number, path, present, absent))
    return grouped


def _read(path: str) -> str | None:
    """Return the SHA-256 of a file of the project. Return None if the file cannot be read, or if it is a symbolic link,
    which may point outside the project."""
    # Without waiting for the other end of a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if sys.platform == "win32" and os.path.islink(path):
        return None
    try:
        with open(path, "rb", buffering=0, opener=lambda path, _: os.open(path, flags)) as file:
            return sha256(file.read()).hexdigest()
    except OSError:
        return None


def _parse_folders(listed: Any) -> list[_ListedFolder]:
    return [_ListedFolder(int(number), str(path), present, absent) for number, path, present, absent in listed]


def _parse_states(entry: bytes) -> dict[str, State]:
    return {str(name): tuple(map(int, state)) for name, state in json.loads(entry).items()}


def _parse_build(entry: bytes) -> tuple[dict[str, str], Shown]:
    build = json.loads(entry)
    return build["outputs"], Shown(build["lines"], build["jobs"])
