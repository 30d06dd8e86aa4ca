"""The `cuda-wheel` command: parse the command line and run one of the commands."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import time
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn

from cuda_wheel import __version__
from cuda_wheel.cli.arguments import printable
from cuda_wheel.runtime.errors import CudaWheelError

__all__ = ["main"]

COMMANDS = {
    "init": "write what a project needs to build its kernels, and a first kernel if it has none",
    "import": "propose the tables for the sources of a PyTorch extension, or for kernels in strings, and compile them",
    "inspect": "show the modules, images and kernels in a wheel or package",
    "explain": "show which image a GPU and driver get, and why",
    "coverage": "show which GPUs and drivers get an image, and which do not",
    "doctor": "show what this machine has: driver, GPUs, compilers, cache, packages",
    "cache": "show the contents of the cache; limit its size, or clear it",
    "verify": "check every image against its manifest, and a wheel as a whole",
    "build": "compile a project's images, without building a wheel",
    "split": "make a base wheel with PTX, and a companion wheel with machine code for each compute capability",
    "tune": "measure kernels and launch configurations on this machine's GPU, and write a table of the best",
    "stubs": "write the stubs of a project's packages into its source tree, for editable installs",
    "ide": "write the file by which clangd, and so an editor, reads the CUDA sources of a project",
    "cmake-dir": "print the folder of the CMake module CudaWheel",
}
"""Name of a command -> its help text. The module of a command, such as `cuda_wheel.cli.cmake_dir_command` for
"cmake-dir", defines `add_arguments(parser)` and `run(options)`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0 for success, 1 for failure, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names may contain characters the terminal cannot show
    arguments = sys.argv[1:] if arguments is None else arguments
    _Parser.given = arguments
    options = command_parser(_chosen_command(arguments)).parse_args(arguments)
    began = time.monotonic()
    try:
        status: int = options.run(options)
        if sys.stdout is not None:  # a process may have no standard streams
            sys.stdout.flush()
    except CudaWheelError as error:
        if options.verbose:
            traceback.print_exc()
        print(f"cuda-wheel: {printable(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"cuda-wheel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.verbose:
        seconds = time.monotonic() - began
        python = f"Python {sys.version.split()[0]} in {sys.prefix}"
        print(f"cuda-wheel {__version__}, {python}: {seconds:.1f} s", file=sys.stderr)
    return status


def _chosen_command(arguments: Sequence[str]) -> str | None:
    """Return the name of the command in a command line, such as "inspect". This is the first argument that does not
    begin with "-". Return None if there is no such argument, or if this argument is not in COMMANDS."""
    first = next((argument for argument in arguments if not argument.startswith("-")), None)
    return first if first in COMMANDS else None


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors say which command or option may be meant."""

    given: Sequence[str] = ()
    """The command line that is being parsed."""
    commands: Sequence[str] = ()
    """The names of the commands; () in the parser of one command."""
    options: Sequence[str] = ()
    """The options of the chosen command, and those of the program."""

    def error(self, message: str) -> NoReturn:
        words = (word.partition("=")[0] for word in self.given if word.startswith("--"))
        unknown = [(word, self.options) for word in words if not any(each.startswith(word) for each in self.options)]
        if self.commands and (found := re.search(r"invalid choice: '([^']*)'", message)):
            unknown.insert(0, (found[1], self.commands))
        for word, known in unknown:
            if similar := get_close_matches(word, known, n=2):
                message += f"\n{word}: did you mean {' or '.join(similar)}?"
        super().error(message)


def command_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Return the parser of the command line. Only the chosen command's module is imported, and only its arguments are
    added, which keeps start-up short."""
    parser = _Parser(prog="cuda-wheel", description="CUDA kernels in ordinary Python wheels.")
    parser.add_argument("--version", action="version", version=f"cuda-wheel {__version__}")
    parser.commands, parser.options = tuple(COMMANDS), tuple(parser._option_string_actions)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, description in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=description)
        if name == chosen:
            command = import_module(f"cuda_wheel.cli.{name.replace('-', '_')}_command")
            command.add_arguments(subparser)
            amount = subparser.add_mutually_exclusive_group()
            amount.add_argument("-q", "--quiet", action="store_true", help="print only results, warnings and errors")
            amount.add_argument("-v", "--verbose", action="store_true", help="print also steps, times and tracebacks")
            subparser.set_defaults(run=command.run, refuse=subparser.error)
            parser.options = subparser.options = (*parser.options, *subparser._option_string_actions)
    return parser
