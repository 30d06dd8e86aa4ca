"""What is stored of a job's result is found again, with the paths of the files where they are for the next job."""

from __future__ import annotations

import ntpath
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cuda_wheel.builder.cache import compile_cache
from cuda_wheel.builder.cache.compile_cache import OUTSIDE, pack, path_of, place_of, unpack
from cuda_wheel.builder.cache.files import KeptFiles
from cuda_wheel.builder.jobs import EMPTY, BuiltModule
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.builder.cache.test_keys import JOB, parts_of_a_module
from tests.support.manifests import image, manifest

pytestmark = [
    pytest.mark.one_toolchain,
    pytest.mark.skipif(os.sep != "/", reason="the paths are those of POSIX"),
]

NAMED = replace(JOB, options=("-I/shared/named", "-Inear"))


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/cuda/crt/a.h", (-1, "crt/a.h")),
        ("/project/src/a.h", (0, "src/a.h")),
        ("/shared/named/a.h", (OUTSIDE, "/shared/named/a.h")),
        ("/shared/named-otherwise/a.h", (OUTSIDE, "../shared/named-otherwise/a.h")),
        ("/shared/a.h", (OUTSIDE, "../shared/a.h")),
    ],
)
def test_a_file_is_named_by_what_the_next_build_has_too(path: str, place: tuple[int, str]) -> None:
    assert place_of(path, NAMED) == place
    assert path_of(place, NAMED) == path


def test_a_file_beside_the_project_moves_with_it_and_one_that_an_option_names_stays() -> None:
    moved = replace(NAMED, root="/home/project", include_dirs=("include", "/opt/cuda"))
    found = {
        path: path_of(place_of(path, NAMED), moved)
        for path in ("/cuda/a.h", "/project/a.h", "/a.h", "/shared/named/a.h")
    }
    assert found == {
        "/cuda/a.h": "/opt/cuda/a.h",
        "/project/a.h": "/home/project/a.h",
        "/a.h": "/home/a.h",
        "/shared/named/a.h": "/shared/named/a.h",
    }


def test_a_file_on_another_drive_has_its_absolute_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """From one drive of Windows to another there is no relative path."""
    monkeypatch.setattr(compile_cache, "os", SimpleNamespace(path=ntpath, sep="\\"))
    job = replace(JOB, root="C:\\work\\project", include_dirs=())
    assert place_of("D:\\shared\\a.h", job) == (OUTSIDE, "D:\\shared\\a.h")
    assert place_of("C:\\work\\a.h", job) == (OUTSIDE, "..\\a.h")


IMAGES = [
    (b"cubin", b"the ptx", b"lto"),
    (None, b"the ptx", b"lto"),
    (b"cubin", None, b"lto"),
    (b"cubin", b"the ptx", None),
    (b"", b"the ptx", b"lto"),
    (None, None, None),
]


@pytest.mark.parametrize("images", IMAGES)
@pytest.mark.parametrize("job", [JOB, None])
def test_every_combination_of_images_is_read_as_it_was_written(images: tuple[bytes | None, ...], job: object) -> None:
    result = replace(EMPTY, **dict(zip(("cubin", "ptx", "ltoir"), images, strict=True)), headers=())  # type: ignore[arg-type]
    assert unpack(pack(result, job), job) == result  # type: ignore[arg-type]


def test_the_files_of_a_result_are_where_the_next_job_has_them() -> None:
    result = replace(EMPTY, headers=("/cuda/a.h", "/project/b.h"))
    moved = replace(JOB, root="/home/project", include_dirs=("include", "/opt/cuda"))
    assert unpack(pack(result, JOB), moved).headers == ("/opt/cuda/a.h", "/home/project/b.h")


def test_the_result_of_a_link_has_no_files() -> None:
    """A link reads none; those of its jobs are recorded with the jobs."""
    assert unpack(pack(replace(EMPTY, headers=("/cuda/a.h",)), None), None).headers == ()


def test_a_cached_modules_files_are_where_the_next_build_has_them(tmp_path: Path) -> None:
    """Most modules have one job."""
    _, planned = parts_of_a_module(tmp_path)
    module, moved = (replace(planned, jobs=(job,)) for job in (JOB, replace(JOB, root="/home/project")))
    made = manifest(image("sm_80"))
    built = BuiltModule((made,), manifest_text(made).encode(), b"fatbin", ("/cuda/a.h", "/project/b.h"))
    files = KeptFiles(Cache(str(tmp_path / "cache")))
    entry = compile_cache._pack_module(module, built, ["careful"], files)
    unpacked = compile_cache._unpack_module(entry, moved, files)
    assert unpacked is not None
    read, warnings = unpacked
    assert read == replace(built, headers=("/cuda/a.h", "/home/project/b.h"))
    assert warnings == ["careful"]
