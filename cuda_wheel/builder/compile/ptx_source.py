"""Read a source that is PTX already."""

from __future__ import annotations

from cuda_wheel.builder.errors import CompileError
from cuda_wheel.builder.images.assembly import described
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.timing import phase
from cuda_wheel.runtime.formats import ptx

__all__ = ["read_ptx_source"]


@phase("compiling")
def read_ptx_source(job: Job) -> Compiled:
    """Return a PTX source as a job's result; raises CompileError if it is not PTX that suits the job's architecture."""
    text = job.text.decode()
    try:
        target = ptx.target(text)
        compiled = described(job.text)
    except ValueError as error:
        raise CompileError(f"{job.source}: error: {error}") from error
    suits = target == job.arch if target[-1] in "af" else int(target) <= int(job.arch.rstrip("af"))
    if not suits:
        raise CompileError(
            f"{job.source}: error: this PTX is for sm_{target} and cannot become an image for {job.arch}: remove "
            f"{job.arch} from architectures"
        )
    return compiled
