"""Keep compilation results in the user's cache."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, BinaryIO, TypeVar

from ..errors import CudaWheelError
from ..manifest import sha256_of

__all__ = ["Cache", "cache_folder", "cache_limit", "open_private", "parse_size", "removing", "used_in_place", "warn"]


def parse_size(text: str) -> int:
    """Return the bytes of an amount such as "500MiB", "2 GiB" or "0"; raises ValueError for another form."""
    number = text.strip()
    if number == "0":
        return 0
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        digits = number.removesuffix(unit).rstrip()
        if number.endswith(unit) and digits.isascii() and digits.isdigit():
            return int(digits) << 10 * power
    raise ValueError(f'{text!r} is not an amount of memory such as "500MiB" or "2GiB"')


T = TypeVar("T")


def cache_folder() -> str:
    """Return the folder of the cache: CUDA_WHEEL_CACHE_DIR, else the platform's folder for a user's caches.

    Without a home directory, as in some containers, it is a folder among the temporary files.
    """
    named = os.environ.get("CUDA_WHEEL_CACHE_DIR")
    if named:
        folder = os.path.expanduser(named)  # a shell expands ~ in few places
    elif sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
        folder = os.path.join(base, "cuda-wheel", "Cache")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Caches/cuda-wheel")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # then it is to be ignored, says the XDG Base Directory Specification
            base = os.path.expanduser("~/.cache")
        folder = os.path.join(base, "cuda-wheel")
    if folder.startswith("~") or not (named or os.path.isabs(folder)):
        import tempfile  # only where there is no home directory

        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = os.path.join(tempfile.gettempdir(), f"cuda-wheel-{user}")
    return folder


def cache_limit() -> int:
    """Return the maximum size of the cache in bytes: CUDA_WHEEL_CACHE_SIZE, else 2 GiB.

    Raises CudaWheelError if that variable is not an amount of memory.
    """
    named = os.environ.get("CUDA_WHEEL_CACHE_SIZE")
    try:
        return parse_size(named) if named else Cache.LIMIT
    except ValueError as error:
        raise CudaWheelError(f"the environment variable CUDA_WHEEL_CACHE_SIZE: {error}.") from None


class Cache:
    """Compilation results of this user: entries in one folder, by key.

    Concurrent use and killed processes are safe without locks: each entry is written under a temporary name, then
    renamed. Each entry contains the SHA-256 of its key and content. An entry that is damaged, or that its reader cannot
    parse, is reported once and counts as absent; so does an entry of another user, without a report. (This does not
    protect from programs of the same user, which can change installed packages too.) Only this user can read folders
    and entries, whatever the umask. If the folder cannot be written to, `put` warns, and the result is used all the
    same.

    `second` is the cache in the folder named by CUDA_WHEEL_CACHE_READONLY, or None. It is searched for entries that the
    first cache lacks, and never written to. Its entries may belong to another user, whom the user trusts by setting the
    variable. They are not copied, so that none is used after the variable is unset.
    """

    LIMIT = 2 << 30
    """Maximum total size of the entries in bytes, if CUDA_WHEEL_CACHE_SIZE is unset. Above it, the least recently used
    entries are removed."""

    MOST_POSTPONED = 1 << 18
    """Maximum size in bytes of an entry in `postponed`. Such entries may be sent to another process, which writes them.
    A larger entry takes longer to send than to write."""

    ABANDONED_AFTER = 3600
    """Age in seconds above which a temporary file counts as left behind by a killed process."""

    def __init__(self, folder: str | None = None, read_only: bool = False) -> None:
        """Open the cache in `folder`, else that of the environment. `read_only` accepts other users' entries."""
        self.folder = folder or cache_folder()
        second = None if folder else os.environ.get("CUDA_WHEEL_CACHE_READONLY")
        self.second = Cache(os.path.expanduser(second), read_only=True) if second else None
        self.took_from_second = False
        """Whether any result of `read` or `found` so far came from the second cache."""
        self._read_only = read_only
        self._limit: int | None = None  # parsed by the first `put`: reading needs no limit
        self._room = 0  # bytes that may be written before the next check of the limit
        self.postponed: list[tuple[str, bytes]] | None = None
        """List of (key, bytes): small entries that are not written to files yet. None if every entry is written
        immediately. `put` and `write` add entries. An entry can be read once `write_postponed` has written it, in this
        process or another."""

    @staticmethod
    def key(*parts: str) -> str:
        """Return the key (hexadecimal) of a result that depends on these strings."""
        return sha256_of("\0".join(parts).encode(errors="surrogateescape"))

    def get(self, key: str) -> bytes | None:
        """Return the content of the entry `key` (hexadecimal); None without an intact one."""
        return self.read(key, bytes)

    def read(self, key: str, parse: Callable[[bytes], T]) -> T | None:
        """Return the result of `parse` for the entry `key`; None without an intact entry that it can parse."""
        return next(self.found(key, parse), None)

    def has(self, key: str) -> bool:
        """Return whether there is an entry `key`, which may be damaged."""
        return os.path.exists(self.path(key)) or (self.second is not None and self.second.has(key))

    def found(self, key: str, parse: Callable[[bytes], T]) -> Iterator[T]:
        """Yield the results of `parse` for the entry `key` of this cache and for that of the second one."""
        content = self._read(key)
        if content is not None:
            try:
                parsed = parse(content)
            except Exception:  # another program, or another version of this one, may have written anything
                self.warn_of_damage()
            else:
                yield parsed
        if self.second is not None:
            for parsed in self.second.found(key, parse):
                self.took_from_second = True
                yield parsed

    def put(self, key: str, content: bytes) -> None:
        """Write `content` as the entry `key`; warn if that fails."""
        self.write(key, self._digest(key, content) + content, lambda: self._read(key) is not None)

    def write(self, key: str, data: bytes, is_intact: Callable[[], bool]) -> None:
        """Write `data` as the entry `key`; warn if that fails. `data` contains its digest, or `key` is its digest.

        `is_intact` returns whether another process has written the entry meanwhile.
        """
        if self.postponed is not None and len(data) <= self.MOST_POSTPONED:
            self.postponed.append((key, data))
        elif not self._write_file(key, data, is_intact):
            return
        self._room -= len(data)
        if self._room <= 0:  # not each time: this lists every entry
            self.prune(self._checked_limit())
            self._room = self._checked_limit() // 16

    def write_postponed(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """Write entries from `postponed` of a `Cache` in this folder, which has checked the limit."""
        for key, data in entries:
            self._write_file(key, data, partial(self.has, key))

    def _write_file(self, key: str, data: bytes, is_intact: Callable[[], bool]) -> bool:
        """Write `data` as the entry `key`. Return False, usually after a warning, if writing failed; else True.

        An entry larger than the cache's limit is not written, which counts as success. `is_intact` returns whether
        another process has written the entry meanwhile. If it has, a PermissionError gives no warning.
        """
        path = self.path(key)
        temporary = f"{path}.{os.urandom(8).hex()}.part"
        try:
            if len(data) <= self._checked_limit():
                try:
                    # "x" fails for a link that another user put there.
                    with self._opened(temporary) as file:
                        file.write(data)
                    os.replace(temporary, path)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(temporary)
                    raise
        except OSError as error:
            # Windows does not replace a file that another process reads.
            if not (isinstance(error, PermissionError) and is_intact()):
                warn(
                    f"cuda-wheel cannot write to its cache in {self.folder} ({error.strerror or error}): it will "
                    "compile the same code again next time. Set CUDA_WHEEL_CACHE_DIR to another folder."
                )
            return False
        return True

    def _opened(self, path: str) -> BinaryIO:
        """Open a new file for an entry, and create its folder if needed."""
        with suppress(FileNotFoundError):
            return open(path, "xb", opener=open_private)
        for folder in (self.folder, os.path.dirname(path)):  # makedirs sets the mode of the last folder only
            os.makedirs(folder, mode=0o700, exist_ok=True)
        return open(path, "xb", opener=open_private)

    def entries(self) -> list[tuple[float, int, str]]:
        """Return every entry's time of last use (seconds since the epoch), size in bytes, and path; oldest first."""
        return sorted(file for file in self._files() if not file[2].endswith(".part"))

    def prune(self, limit: int, wait: bool = False) -> tuple[int, int]:
        """Remove abandoned files, and the least recently used entries until the rest take at most `limit` bytes.

        Nothing is removed while a build uses entries in place; with `wait`, this waits for the build. Return the number
        of removed entries and their bytes. Files that are not entries by place, name and owner stay, and so do files
        that cannot be removed. Folders stay too: another process may be about to write into one.
        """
        with removing(self.folder, wait) as is_allowed:
            return self._prune(limit) if is_allowed else (0, 0)

    def _prune(self, limit: int) -> tuple[int, int]:
        files = sorted(self._files())
        for used, _, path in files:
            if path.endswith(".part") and used < time.time() - self.ABANDONED_AFTER:
                _remove(path)
        entries = [(size, path) for _, size, path in files if not path.endswith(".part")]
        total = sum(size for size, _ in entries)
        sizes = []
        for size, path in entries:
            if total <= limit:
                break
            if _remove(path):
                total -= size
                sizes.append(size)
        return len(sizes), sum(sizes)

    def path(self, key: str) -> str:
        """Return the path of the entry `key`, which need not exist."""
        return os.path.join(self.folder, key[:2], key[2:])

    def _read(self, key: str) -> bytes | None:
        path = self.path(key)
        try:
            with open(path, "rb", opener=_open_without_waiting) as file:
                if not self.is_trusted(os.fstat(file.fileno())):
                    return None
                digest, content = file.read(64), file.read()
        except OSError as error:
            if self._read_only and not (isinstance(error, FileNotFoundError) and os.path.isdir(self.folder)):
                warn(
                    f"the read-only cache {self.folder} (CUDA_WHEEL_CACHE_READONLY) is not used: "
                    f"{error.strerror or error}."
                )
            return None
        if self._digest(key, content) != digest:
            self.warn_of_damage()
            return None
        self.mark_used(path)
        return content

    def mark_used(self, path: str) -> None:
        """Mark an entry as just used."""
        if not self._read_only:
            with suppress(OSError):  # another process removed it, or the folder is read-only
                os.utime(path)

    def _digest(self, key: str, content: bytes) -> bytes:
        return sha256_of(key.encode() + content).encode()

    def warn_of_damage(self) -> None:
        """Warn of an entry whose content is not what was written."""
        warn(
            f"an entry of the cache in {self.folder} is damaged or was written by another program; cuda-wheel ignores "
            "it and compiles again."
        )

    def is_trusted(self, status: os.stat_result) -> bool:
        """Return whether an entry's file belongs to this user, or this cache accepts other users' (`read_only`)."""
        return self._read_only or not hasattr(os, "getuid") or status.st_uid == os.getuid()

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Yield (time of last use, size in bytes, path) for each entry and each temporary file of an entry (".part").

        A file counts only if its folder, name and owner are those of an entry. Symbolic links do not count.
        """
        # The user may have named a folder with other files in it.
        for folder in _listed(self.folder):
            if len(folder.name) == 2 and _is_hexadecimal(folder.name) and folder.is_dir(follow_symlinks=False):
                for file in _listed(folder.path):
                    name, dot, rest = file.name.partition(".")
                    if len(name) == 62 and _is_hexadecimal(name) and (not dot or rest.endswith(".part")):
                        try:
                            status = file.stat(follow_symlinks=False)
                        except OSError:  # another process removed it
                            continue
                        if file.is_file(follow_symlinks=False) and self.is_trusted(status):
                            yield status.st_mtime, status.st_size, file.path

    def _checked_limit(self) -> int:
        if self._limit is None:
            try:
                self._limit = cache_limit()
            except CudaWheelError as error:  # an error for builds and the command line, but no reason to fail a load
                self._limit = self.LIMIT
                warn(f"{error} The cache is limited to 2 GiB.")
        return self._limit


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening another user's pipe would block


def _listed(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # it does not exist, or belongs to another user
        return []


def _is_hexadecimal(text: str) -> bool:
    return not text.strip("0123456789abcdef")


def _remove(path: str) -> bool:
    """Remove a file; return whether it is gone, even if another process removed it."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def warn(text: str) -> None:
    """Warn once per process and text."""
    import warnings  # only for a warning

    warnings.warn(text, RuntimeWarning, stacklevel=2)  # Python shows each text once per calling module


_NAME = "in-use"
"""Name of the lock file in the cache's folder. A process that removes entries holds an exclusive lock. A process that
uses a cached file in place, without a copy, holds a shared lock."""


@contextmanager
def used_in_place(folder: str) -> Iterator[bool]:
    """Keep all processes from removing entries of the cache in `folder`; yield whether that is certain.

    It is not certain where files cannot be locked, or if another process is removing entries.
    """
    file, _ = _locked(folder, exclusive=False, wait=False)
    try:
        yield file is not None
    finally:
        if file is not None:
            file.close()


@contextmanager
def removing(folder: str, wait: bool) -> Iterator[bool]:
    """Keep entries from being used in place; yield whether they may be removed now (`wait`: wait for that)."""
    file, is_used = _locked(folder, exclusive=True, wait=wait)
    try:
        yield not is_used
    finally:
        if file is not None:
            file.close()


def _locked(folder: str, exclusive: bool, wait: bool) -> "tuple[IO[bytes] | None, bool]":
    """Lock the lock file of the cache in `folder`. Closing the file unlocks it. With `wait`, wait for other processes.

    Return (file, False) if it is locked, (None, True) if another process has the lock, (None, False) if locking is
    impossible.
    """
    if sys.platform == "win32":
        return None, False
    try:
        import fcntl
    except ImportError:  # some builds of Python lack it
        return None, False
    try:
        # "ab": the first shared lock creates the file.
        mode = "r+b" if exclusive else "ab"
        file = open(os.path.join(folder, _NAME), mode, opener=open_private)  # noqa: SIM115 - closed by the callers
    except OSError:
        return None, False
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        file.close()
        return None, isinstance(error, BlockingIOError)
    return file, False


def open_private(path: str, flags: int) -> int:
    """Open a file, but not through a link; a new file is for this user alone. An `opener` for `open`."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
