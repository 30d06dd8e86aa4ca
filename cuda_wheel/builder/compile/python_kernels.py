"""Import a kernel in Python from the project, and let its language's compiler compile it. Runs in workers only.

The error of either becomes a message that names the line of the source.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from cuda_wheel.builder.compile.python_modules import ProjectModules, StandIn, StandInError
from cuda_wheel.builder.errors import CompileError, ToolchainError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.runtime.manifest import full_name, python_language
from cuda_wheel.runtime.parts.python_kernels.signatures import kernel_path, module_and_function

__all__ = ["compile_with", "known_values"]

T = TypeVar("T")


def compile_with(job: Job, modules: ProjectModules, compile_found: Callable[[Any], T]) -> T:
    """Return what a function makes of a job's kernel. It gets what the kernel's module defines under the kernel's name.

    Raises CompileError for what it, or the import, raises. A CompileError of its own is raised as it is.
    """
    module, name = module_and_function(kernel_path(job.variant))
    with modules.active():
        while True:
            found = _imported(job, modules, module, name)
            try:
                return compile_found(found)
            except CompileError:
                raise
            except (Exception, StandInError) as error:
                # A kernel may mention a module, of which the compiler asks for a function.
                absent = (each for each in _chain(error) if isinstance(each, ModuleNotFoundError))
                if not any(modules.replace(each) for each in absent):
                    raise CompileError(_error_text(job, error, "does not compile")) from error


def _imported(job: Job, modules: ProjectModules, module: str, name: str) -> Any:
    try:
        return modules.attribute(module, name)
    except AttributeError as error:
        raise CompileError(_error_text(job, error, f"defines no {name}")) from error
    except (Exception, StandInError) as error:
        raise CompileError(_error_text(job, error, "cannot be imported")) from error


def known_values(capability: int) -> dict[str, object]:
    """Return what PyTorch would say on a machine with a GPU of this compute capability, on which the kernel runs."""
    return {
        "torch.cuda.get_device_capability()": divmod(capability, 10),
        "torch.cuda.get_device_properties().warp_size": 32,
        "torch.cuda.is_available()": True,
        "torch.utils._triton.has_triton()": True,
        "torch.utils._triton.has_triton_package()": True,
        "torch.version.hip": None,
    }


def _error_text(job: Job, error: BaseException, what: str) -> str:
    """Return the message for an exception that the project's Python or the compiler raised: "demo/ops.py:7: error:
    ..."."""
    if isinstance(error, ToolchainError):
        return str(error)
    chain = _chain(error)
    line = None
    for each in chain:
        node = getattr(each, "node", None)
        lines = [frame.lineno for frame in traceback.extract_tb(each.__traceback__) if frame.filename == job.source]
        if node is not None and hasattr(node, "lineno") and getattr(each, "src", None):
            line = _line_in_file(job, str(each.src), node.lineno)  # type: ignore[attr-defined]
        elif lines:
            line = lines[-1]
    innermost = chain[-1]
    reason = str(getattr(innermost, "error_message", None) or innermost) or type(innermost).__name__
    if isinstance(innermost, StandInError):
        reason = str(innermost)
    elif not isinstance(innermost, CompileError) and type(innermost).__module__ == "builtins":
        reason = f"{type(innermost).__name__}: {reason}"
    if StandIn.__name__ in reason:
        reason += f" ({StandIn.__name__} is a value of a package that is not installed in the environment of the build)"
    reason = "\n".join([reason, *(note for each in chain for note in getattr(each, "__notes__", ()))])
    place = job.source if line is None else f"{job.source}:{line}"
    variant = dict(job.variant)
    kernel = full_name(str(variant.pop(python_language([job.variant]))), tuple(variant.items()))
    return f"{place}: error: {kernel} {what}: {reason}"


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception, that which caused it, and so on."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def _line_in_file(job: Job, text: str, line: int) -> int | None:
    """Return the line in the source of line number `line` of a function's text; None if the text is not there."""
    whole = job.text.decode(errors="surrogateescape").replace("\r\n", "\n")
    at = whole.find(text.split("\n", 1)[0])
    return None if at < 0 else whole.count("\n", 0, at) + line
