"""Link with nvJitLink, in this process or in a child process."""

import os
import sys
from collections.abc import Sequence

from ..errors import ImageError
from ..jit.nvjitlink import link_code_with_logs
from .linker_io import LinkerInput, LinkerOutput, RefusedError
from .nvjitlink_messages import Cause, causes

__all__ = ["link_by_nvjitlink", "link_by_nvjitlink_in_child"]

CHILD_TIMEOUT = 600
"""Seconds; also the default timeout of a compile job in a build."""

_CHILD_PROGRAM = """
import os, pickle, sys, types
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # keep what a library prints out of the answer
package = types.ModuleType("cuda_wheel_child")
package.__path__ = [sys.argv[1]]
sys.modules["cuda_wheel_child"] = package
sys.path[:] = sys.argv[2:]
from cuda_wheel_child.linking.linker_io import LinkerInput, RefusedError
from cuda_wheel_child.linking.nvjitlink_linker import link_by_nvjitlink
inputs, options, ptx = pickle.load(sys.stdin.buffer)
try:
    output = link_by_nvjitlink([LinkerInput(*each) for each in inputs], options, ptx)
    answer = False, tuple(output)
except RefusedError as error:
    answer = True, (str(error), error.outdated)
answers.write(pickle.dumps(answer))
answers.close()
"""
"""Imports this folder's modules, and not the package that the folder is part of, which may be the user's."""


def link_by_nvjitlink(inputs: Sequence[LinkerInput], options: Sequence[str], ptx: bool) -> LinkerOutput:
    """Return the cubin that nvJitLink links; with `ptx`, the PTX before it, which requires that all inputs are LTO-IR.

    `options` are nvJitLink's, without -ptx. Raises RefusedError with nvJitLink's log.
    """
    given = [(kind.upper(), name, content) for kind, name, content in inputs]
    try:
        code, log, errors = link_code_with_logs(given, [*options, *["-ptx"] * ptx], ptx)
    except ImageError as error:
        found = causes(f"{error}\n{error.__cause__}")
        raise RefusedError(str(error), Cause.NEWER_LTOIR in found or Cause.NEWER_PTX in found) from None
    return LinkerOutput(code.rstrip(b"\0") if ptx else code, log, errors, None)


def link_by_nvjitlink_in_child(inputs: Sequence[LinkerInput], options: Sequence[str], ptx: bool) -> LinkerOutput:
    """Do what `link_by_nvjitlink` does in a child process; in this one where no Python can be started.

    nvJitLink may crash on a damaged container, or on one that defines what another input defines; or it prints the
    error and succeeds. A container's content cannot be checked beforehand. In a child process, a crash is an error, and
    what was printed is part of the log.
    """
    import pickle  # these two are slow to import, and few links need them
    import subprocess

    if not sys.executable or getattr(sys, "frozen", False):  # a frozen application would start itself again
        return link_by_nvjitlink(inputs, options, ptx)
    request = [tuple(map(tuple, inputs)), list(options), ptx]
    command = [sys.executable, "-c", _CHILD_PROGRAM, os.path.dirname(os.path.dirname(__file__)), *sys.path]
    try:
        child = subprocess.run(
            command, input=pickle.dumps(request), capture_output=True, check=False, timeout=CHILD_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise RefusedError(f"nvJitLink did not finish in {CHILD_TIMEOUT} s", crashed=True) from None
    except OSError:  # no process can be started
        return link_by_nvjitlink(inputs, options, ptx)
    printed = child.stderr.decode(errors="replace").replace("@E@", "").strip()
    if child.returncode == 1:  # a Python exception: the link did not start
        return link_by_nvjitlink(inputs, options, ptx)
    if child.returncode:
        raise RefusedError(f"nvJitLink crashed (exit status {child.returncode})\n{printed}".rstrip(), crashed=True)
    refused, answer = pickle.loads(child.stdout)
    if refused:
        raise RefusedError("\n".join(filter(None, (answer[0], printed))), answer[1])
    output = LinkerOutput(*answer)
    return output._replace(errors="\n".join(filter(None, (output.errors, printed))))
