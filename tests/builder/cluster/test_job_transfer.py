"""What is sent to a cluster and back, without a cluster."""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.cluster import dask_cluster
from cuda_wheel.builder.cluster.dask_cluster import files_to_send
from cuda_wheel.builder.cluster.job_transfer import (
    NotPortableError,
    RemoteCall,
    Versions,
)
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Compiled, Job
from cuda_wheel.builder.toolchain.find import find_toolchain
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.executor import Call
from cuda_wheel.builder.workers.pool import Workers

pytestmark = pytest.mark.one_toolchain


@pytest.fixture
def compile_remotely(answered: Callable[[RemoteCall], tuple[bytes, str]]) -> Callable[[Job], Compiled]:
    """Return a function that compiles a job as another machine does."""

    def compile(job: Job) -> Compiled:
        call = RemoteCall(Call(compile_job, job))
        result: Compiled = call.result(*answered(call), dask_cluster._hash_file)
        return result

    return compile


def sent_files(job: Job) -> Mapping[str, bytes]:
    """Return the files that are sent with a job."""
    folders = [folder for folder in job.include_dirs if not os.path.isabs(folder)]
    return files_to_send(job.root, job.source, job.text, job.options, folders)


PROJECT = {
    "demo/own.h": "",
    "demo/detail/x.h": '#include "../own.h"\n',
    "include/lib/a.h": "#define A 1\n",
    "include/lib/b.h": "#define A 2\n",
    "include/.hidden/c.h": "",
    "unrelated/d.h": "",
    "empty.h": "",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ('#include "own.h"\n#include "../empty.h"', {"demo/own.h", "empty.h"}),
        ('#include "detail/x.h"', {"demo/detail/x.h", "demo/own.h"}),
        ("#include <lib/a.h>", {"include/lib/a.h"}),
        ("#if 0\n#include <lib/a.h>\n#endif", {"include/lib/a.h"}),
        ("#define X <lib/a.h>\n#include X", {"include/lib/a.h", "include/lib/b.h", "demo/own.h"}),
        ("#if __has_include(<lib/a.h>)\n#endif", {"include/lib/a.h", "include/lib/b.h", "demo/own.h"}),
    ],
)
def test_every_file_that_a_source_may_include_is_sent(
    text: str,
    expected: set[str],
    make: Callable[..., Job],
    compile_remotely: Callable[[Job], Compiled],
    workers: Workers,
) -> None:
    job = make(f"{text}\n__global__ void k() {{}}", PROJECT)
    files = set(sent_files(job))
    assert expected <= files and "unrelated/d.h" not in files
    assert compile_remotely(job) == workers.submit(compile_job, job).result()


def test_warnings_have_the_paths_of_this_machine(
    make: Callable[..., Job], compile_remotely: Callable[[Job], Compiled], workers: Workers
) -> None:
    job = make(
        '#include "own.h"\n#include <cuda/std/span>\n__global__ void k() { int unused; }',
        {"demo/own.h": "__device__ inline int f() { int never; return 1; }\n"},
    )
    result = compile_remotely(job)
    assert "demo/own.h:1" in result.log and "demo/k.cu:3" in result.log
    assert result == workers.submit(compile_job, job).result()
    assert result.headers is not None and str(Path(job.root, "demo/own.h")) in result.headers


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ('#include "../../outside.h"', {}),
        ("", {"options": ("-Iinclude",)}),
        ("", {"options": ("--pre-include=demo/own.h",)}),
    ],
)
def test_a_job_that_may_read_other_files_is_not_portable(
    text: str, changes: dict[str, Any], make: Callable[..., Job], tmp_path: Path
) -> None:
    (tmp_path / "outside.h").write_text("")
    with pytest.raises(NotPortableError):
        sent_files(make(text, **changes))


def _with_folder(job: Job) -> Compiled:
    return replace(compile_job(job), ptx=job.root.encode())


@pytest.mark.slow
def test_a_job_whose_image_contains_a_folder_is_not_portable(
    make: Callable[..., Job], answered: Callable[[RemoteCall], tuple[bytes, str]]
) -> None:
    call = RemoteCall(Call(_with_folder, make()))
    content, digest = answered(call)
    with pytest.raises(NotPortableError):
        call.result(content, digest, dask_cluster._hash_file)


def test_a_result_that_changed_on_its_way_is_an_error(
    make: Callable[..., Job], answered: Callable[[RemoteCall], tuple[bytes, str]]
) -> None:
    call = RemoteCall(Call(compile_job, make()))
    content, digest = answered(call)
    with pytest.raises(ValueError, match="SHA-256"):
        call.result(content[:-1] + b"?", digest, dask_cluster._hash_file)


def test_no_paths_of_this_machine_are_sent(make: Callable[..., Job], versions: Versions) -> None:
    job = make('#include "own.h"\n__global__ void k() {}', PROJECT)
    _, content = pickle.loads(RemoteCall(Call(compile_job, job)).pack(versions, 300, None, files_to_send))
    parcel = zlib.decompress(content)
    for path in (job.root, job.library, *(folder for folder in job.include_dirs if os.path.isabs(folder))):
        assert os.fsencode(path) not in parcel
    assert pickle.loads(parcel).job.text == job.text


def test_a_call_about_no_job_or_several_cannot_be_sent(toolchain: Toolchain, make: Callable[..., Job]) -> None:
    for argument in (None, toolchain, (make(), make())):
        with pytest.raises(ValueError, match="one job"):
            RemoteCall(Call(find_toolchain, argument))
