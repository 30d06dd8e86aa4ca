"""Keep compilation results in the user's cache folder."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from .digest import sha256_of
from .errors import CudaWheelError

__all__ = [
    "Cache",
    "cache_folder",
    "cache_limit",
    "parse_size",
    "warn",
]

T = TypeVar("T")


def cache_folder() -> str:
    """Return where results are kept: CUDA_WHEEL_CACHE_DIR, else the user's folder for caches, by the platform's
    convention."""
    named = os.environ.get("CUDA_WHEEL_CACHE_DIR")
    if named:
        return named
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        return os.path.join(base, "cuda-wheel", "Cache")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/cuda-wheel")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "cuda-wheel")


def parse_size(text: str) -> int:
    """Return the bytes of an amount such as "500MiB", "2 GiB" or "0"; ValueError for another form."""
    number = text.strip()
    if number == "0":
        return 0
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        digits = number.removesuffix(unit).rstrip()
        if number.endswith(unit) and digits.isascii() and digits.isdigit():
            return int(digits) << 10 * power
    raise ValueError(f'{text!r} is not an amount of bytes such as "500MiB" or "2GiB"')


def cache_limit() -> int:
    """Return how many bytes the cache may take: CUDA_WHEEL_CACHE_SIZE, else 2 GiB.

    Raises CudaWheelError where that variable is no amount.
    """
    named = os.environ.get("CUDA_WHEEL_CACHE_SIZE")
    try:
        return parse_size(named) if named else Cache.LIMIT
    except ValueError as error:
        raise CudaWheelError(f"the environment variable CUDA_WHEEL_CACHE_SIZE: {error}.") from None


class Cache:
    """What was compiled, kept for this user: entries in one folder, by key.

    Safe under concurrent use and kills, without locks: each entry is written under another name, then renamed. Each
    carries the SHA-256 of its key and content. One that is damaged, or that its reader does not understand, is told of
    once and counts as absent, as another user's does. (That is no protection from programs of the same user, who may as
    well change what is installed.) Folders and entries are for this user alone, whatever the umask. A folder that
    cannot be written to makes every `put` a warning: what was compiled is there all the same.

    `second` is the cache in the folder that CUDA_WHEEL_CACHE_READONLY names, or None. It is looked into for what the
    first does not have, and never written to. Its entries may be another user's: who names it trusts it. They are not
    copied, so that nothing of it is used any more when it is not named any more.
    """

    LIMIT = 2 << 30
    """Bytes that all entries may take where CUDA_WHEEL_CACHE_SIZE says nothing. Those used longest ago go first."""

    LEFT = 3600
    """Seconds after which what a process was writing, and did not rename, is taken for what a killed one left."""

    def __init__(self, folder: str | None = None, read_only: bool = False) -> None:
        """Without `folder`, those that the environment names; with `read_only`, other users' entries count too."""
        self.folder = folder or cache_folder()
        second = None if folder else os.environ.get("CUDA_WHEEL_CACHE_READONLY")
        self.second = Cache(second, read_only=True) if second else None
        self._read_only = read_only
        self._limit: int | None = None  # not before something is put: loading what is there needs none
        self._room = 0  # bytes that may be put before the bound is seen to again

    @staticmethod
    def key(*parts: str) -> str:
        """Return the key (hexadecimal) of what these parts decide."""
        return sha256_of("\0".join(parts).encode(errors="surrogateescape"))

    def get(self, key: str) -> bytes | None:
        """Return the content of the entry `key` (hexadecimal); None where there is none that is whole."""
        return self.read(key, bytes)

    def read(self, key: str, understand: Callable[[bytes], T]) -> T | None:
        """Return what `understand` makes of the content of the entry `key`; None where there is none that is whole, and
        that it makes something of."""
        return next(self.found(key, understand), None)

    def has(self, key: str) -> bool:
        """Return whether there is an entry `key`. That it is whole is for `get` to see."""
        return os.path.exists(self._path(key)) or (self.second is not None and self.second.has(key))

    def found(self, key: str, understand: Callable[[bytes], T]) -> Iterator[T]:
        """Yield what `read` returns, of this folder and then of the second one."""
        content = self._read(key)
        if content is not None:
            try:
                understood = understand(content)
            except Exception:  # another program, or another version of this one, may have written anything
                self._warn_of_damage()
            else:
                yield understood
        if self.second is not None:
            yield from self.second.found(key, understand)

    def put(self, key: str, content: bytes) -> None:
        """Keep `content` as the entry `key`."""
        path = self._path(key)
        temporary = f"{path}.{os.urandom(8).hex()}.part"
        limit = self._bound()
        try:
            if 64 + len(content) <= limit:
                for folder in (self.folder, os.path.dirname(path)):  # makedirs gives the mode to the last one alone
                    os.makedirs(folder, mode=0o700, exist_ok=True)
                try:
                    # "x": whoever else may write to the folder has no link there that leads elsewhere.
                    with open(temporary, "xb", opener=_private) as file:
                        file.write(self._digest(key, content) + content)
                    os.replace(temporary, path)
                finally:
                    if os.path.exists(temporary):
                        os.unlink(temporary)
        except OSError as error:
            if isinstance(error, PermissionError) and self._read(key) is not None:
                return  # Windows replaces no file that another process is reading
            warn(
                f"cuda-wheel cannot keep what it compiled in {self.folder} ({error.strerror or error}), and will "
                "compile it again next time. CUDA_WHEEL_CACHE_DIR names another folder."
            )
            return
        self._room -= len(content)
        if self._room <= 0:  # not each time: it looks at every entry
            self.prune(limit)
            self._room = limit // 16

    def entries(self) -> list[tuple[float, int, str]]:
        """Return every entry's time of last use (seconds since the epoch), size in bytes, and path; oldest first."""
        return sorted(file for file in self._files() if not file[2].endswith(".part"))

    def prune(self, limit: int) -> tuple[int, int]:
        """Remove what was used longest ago, until the entries take `limit` bytes at most, and what killed processes
        left; return how many entries were removed, and their bytes.

        What is not an entry by its place, name and owner is left alone, as is what cannot be removed. The folders stay:
        another process may be about to write into one.
        """
        files = sorted(self._files())
        for used, _, path in files:
            if path.endswith(".part") and used < time.time() - self.LEFT:
                _removed(path)
        entries = [(size, path) for _, size, path in files if not path.endswith(".part")]
        total = sum(size for size, _ in entries)
        sizes = []
        for size, path in entries:
            if total <= limit:
                break
            if _removed(path):
                total -= size
                sizes.append(size)
        return len(sizes), sum(sizes)

    def _path(self, key: str) -> str:
        return os.path.join(self.folder, key[:2], key[2:])

    def _read(self, key: str) -> bytes | None:
        path = self._path(key)
        try:
            with open(path, "rb", opener=_at_once) as file:
                if not self._counts(os.fstat(file.fileno())):
                    return None
                digest, content = file.read(64), file.read()
        except OSError as error:
            if self._read_only and not (isinstance(error, FileNotFoundError) and os.path.isdir(self.folder)):
                warn(
                    f"nothing is taken from {self.folder}, which CUDA_WHEEL_CACHE_READONLY names: "
                    f"{error.strerror or error}."
                )
            return None
        if self._digest(key, content) != digest:
            self._warn_of_damage()
            return None
        if not self._read_only:
            with suppress(OSError):  # another process removed it, or nobody may write here
                os.utime(path)  # it was used now
        return content

    def _digest(self, key: str, content: bytes) -> bytes:
        return sha256_of(key.encode() + content).encode()

    def _warn_of_damage(self) -> None:
        warn(
            f"something that cuda-wheel kept in {self.folder} is damaged, or another program wrote it; it is not used, "
            "and made again."
        )

    def _counts(self, status: os.stat_result) -> bool:
        return self._read_only or not hasattr(os, "getuid") or status.st_uid == os.getuid()

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Yield time, size and path, as `entries` does, of what has an entry's place, name and owner, or is being
        written as one (".part").

        The user may have named a folder with other things in it. No link is followed.
        """
        for folder in _listed(self.folder):
            if len(folder.name) == 2 and _is_hexadecimal(folder.name) and folder.is_dir(follow_symlinks=False):
                for file in _listed(folder.path):
                    name, dot, rest = file.name.partition(".")
                    if len(name) == 62 and _is_hexadecimal(name) and (not dot or rest.endswith(".part")):
                        try:
                            status = file.stat(follow_symlinks=False)
                        except OSError:  # another process removed it
                            continue
                        if file.is_file(follow_symlinks=False) and self._counts(status):
                            yield status.st_mtime, status.st_size, file.path

    def _bound(self) -> int:
        if self._limit is None:
            try:
                self._limit = cache_limit()
            except CudaWheelError as error:  # builds and the command refuse it; nothing that loads fails for it
                self._limit = self.LIMIT
                warn(f"{error} The cache is bounded to 2 GiB.")
        return self._limit


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # another user's pipe would be waited for


def _listed(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # it is not there, or another user's
        return []


def _is_hexadecimal(text: str) -> bool:
    return not text.strip("0123456789abcdef")


def _removed(path: str) -> bool:
    """Remove a file; return whether it is gone, be it by another process."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def warn(text: str) -> None:
    import warnings

    warnings.warn(text, RuntimeWarning, stacklevel=2)  # each text once: Python counts by this place
