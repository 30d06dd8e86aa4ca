"""Compile PTX that is too new for the driver with nvJitLink, keep the result in the user's cache, and load it."""

import time
from collections.abc import Sequence

from ..driver import load_library
from ..errors import ImageError
from ..jit import Jit, JitOptions
from ..manifest import FORMAT, Image, Manifest, Version, sha256_of
from . import nvjitlink_rules as nvjitlink_rules  # `rules` imports it where this part is
from .cuda_libraries import link_code, nvjitlink_build, nvjitlink_version
from .user_cache import Cache

__all__ = ["code_and_log", "load_by_nvjitlink", "nvjitlink_options", "nvjitlink_version"]


def load_by_nvjitlink(
    manifest: Manifest, image: Image, code: bytes, options: JitOptions, capability: Version, driver: Version
) -> tuple[int, Jit]:
    """Return the handle of the library that nvJitLink compiles from PTX which the driver cannot read, and how."""
    arguments = nvjitlink_options(options)
    arch = f"{capability[0]}{capability[1]}{image.target.suffix}"
    cache, build = Cache(), nvjitlink_build()
    key = _cubin_key(code, arch, arguments, build, driver)
    started = time.perf_counter()
    result = None if build is None else cache.read(key, code_and_log)
    if result is None:
        try:
            result = link_code([("PTX", "module.ptx", code)], [f"-arch=sm_{arch}", *arguments])
        except ImageError as error:
            raise ImageError(f"nvJitLink cannot compile {manifest.full_name}, {image}: {error}") from error
        if build is not None:
            cache.put(key, result[1].encode() + b"\0" + result[0])
    cubin, log = result
    jit = Jit(options, time.perf_counter() - started, log)
    return load_library(cubin, lambda: f"loading {manifest.full_name}, {image}, compiled"), jit


def _cubin_key(code: bytes, arch: str, arguments: Sequence[str], build: str | None, driver: Version) -> str:
    """Return the cache key of the cubin that nvJitLink compiles from the PTX `code`.

    `arch`: target architecture without "sm_", such as "90a".
    `arguments`: all other command-line options of nvJitLink.
    `build`: identifier of nvJitLink's exact build; None if it is unknown.
    `driver`: CUDA release of the driver, which is a part of the key.
    """
    return Cache.key("cubin", repr((FORMAT, build, driver)), sha256_of(code), arch, *arguments)


def code_and_log(entry: bytes) -> tuple[bytes, str]:
    """Return the code and the log in a cache entry of a linker's result; raise ValueError if there is no code."""
    log, _, code = entry.partition(b"\0")
    if not code:
        raise ValueError("the entry has no code")
    return code, log.decode()


def nvjitlink_options(options: JitOptions) -> list[str]:
    """Return the options as nvJitLink spells them: ["-lineinfo", "-O3"]."""
    arguments = ["-Xptxas=-v"] if options.verbose else []
    arguments += ["-lineinfo"] if options.lineinfo else []
    arguments += [] if options.optimization_level is None else [f"-O{min(options.optimization_level, 3)}"]
    return arguments + ([] if options.max_registers is None else [f"-maxrregcount={options.max_registers}"])
