"""Compile a text that a program makes or reads, as a module of one source: for one GPU, and cached."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuda_wheel.builder.config.settings import TABLE, Config
from cuda_wheel.builder.editable.kept_modules import Opened, Work, kept_module
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.builder.sources.include_graph import option_folders
from cuda_wheel.builder.sources.modules import SourceModule
from cuda_wheel.builder.sources.pytorch_options import with_pytorch_options
from cuda_wheel.builder.sources.source_files import Source
from cuda_wheel.runtime.manifest import Version

__all__ = ["compile_text"]


def compile_text(
    name: str,
    text: bytes,
    table: Mapping[str, Any],
    include_dirs: tuple[str, ...],
    ask_capability: Callable[[], Version],
) -> tuple[bytes, bytes]:
    """Return the manifest and fatbin of a text in CUDA C++, compiled for the compute capability of the GPU in use.

    `table` has keys of a module's table; `include_dirs` are absolute paths. Raises ConfigError, ToolchainError or
    CompileError.
    """
    options = table.get("options", ())
    # There is no project for relative folders among the options to start from.
    include_dirs = (*(os.path.abspath(folder) for folder in option_folders(options)), *include_dirs)
    options = [*options, *(f"--include-path={folder}" for folder in include_dirs)]
    try:
        return _compiled(name, text, {**table, "name": name, "options": options}, include_dirs, ask_capability)
    except (ConfigError, CompileError) as error:
        message = str(error).replace(f"{TABLE}.module[0].", "")
        searched = ", ".join(include_dirs) or "none; name some in include_dirs"
        raise type(error)(
            re.sub("no file of the project .* are: .*", lambda _: f"the folders searched are: {searched}", message)
        ) from error


def _compiled(
    name: str,
    text: bytes,
    table: Mapping[str, Any],
    include_dirs: tuple[str, ...],
    ask_capability: Callable[[], Version],
) -> tuple[bytes, bytes]:
    config = Config.from_table({"module": [table]})
    source = Source(f"{name}.cu", "cuda", text)
    settings = with_pytorch_options(config.module[0], [source], Path(), lambda path: None)
    module = SourceModule(name, (source,), (), settings, on_demand=True)

    @contextmanager
    def opened() -> Iterator[Opened]:
        with scratch() as folder:
            yield folder, config, module

    work = Work(f"text {(config, module)!r}", include_dirs, opened, is_temporary=True)
    return kept_module(work, ask_capability)
