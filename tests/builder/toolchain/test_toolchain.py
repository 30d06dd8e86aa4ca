"""The include folders of a source are searched in an order that gives each header from the right place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuda_wheel.builder.toolchain.toolchain import (
    CCCL_OF_CUDA_12,
    HEADER_GROUPS,
    HEADERS,
    HOST_LIBRARIES,
    INCLUDE,
    STAND_INS,
    Headers,
    Toolchain,
)

pytestmark = pytest.mark.one_toolchain

SEPARATE = (
    Headers("cccl", "2.8.2", "/cccl", "", ""),
    Headers("cudart", "12.9", "/cuda", "", ""),
    Headers("cutlass", "4.2", "/cutlass", "", ""),
    Headers("curand", "12.9", "/cuda", "", ""),
)
"""Groups of a toolchain in which a group that only some builds need shares a folder with one that all need."""


def toolchain(*headers: Headers) -> Toolchain:
    folders = tuple(dict.fromkeys(each.folder for each in headers))
    return Toolchain("12.9.86", "12.9", "12.9", (80,), folders, (), headers)


def test_folders_outside_the_project_come_between_the_toolkits_and_those_that_only_some_projects_need() -> None:
    folders = toolchain(*SEPARATE).include_folders(["own"], ["/mine"])
    assert folders[:2] == (HOST_LIBRARIES, "own") and folders[-4:] == ("/cccl", "/cuda", "/mine", "/cutlass")


@pytest.mark.parametrize("own", [(), ("demo", "include")])
@pytest.mark.parametrize("system", [(), ("/mine", "/other")])
def test_every_folder_is_searched_and_stand_ins_come_before_what_they_stand_for(
    own: tuple[str, ...], system: tuple[str, ...]
) -> None:
    made = toolchain(*SEPARATE)
    folders = made.include_folders(own, system)
    assert {*folders} == {*own, *system, *made.header_folders} >= {str(INCLUDE), *STAND_INS, *made.include_dirs}
    first = {folder: folders.index(folder) for folder in folders}
    for before, after in (
        *((stand_ins, folder) for stand_ins in (str(INCLUDE), *STAND_INS) for folder in made.include_dirs),
        *((HOST_LIBRARIES, folder) for folder in own),  # a project may have a copy of {fmt}
        *((folder, str(INCLUDE)) for folder in own),  # but its own headers of other names win
    ):
        assert first[before] < first[after], (before, after)


def test_every_folder_of_stand_ins_exists() -> None:
    assert all(map(os.path.isdir, (INCLUDE, *STAND_INS)))
    assert Path(HOST_LIBRARIES, "fmt").is_dir()


def test_the_compilers_own_groups_are_needed_and_libraries_are_not() -> None:
    assert HEADERS.keys() == {"cccl", "cudart", "crt"}
    assert HEADERS["crt"] == HEADER_GROUPS["crt"].header == "crt/host_defines.h"
    optional = {name for name, group in HEADER_GROUPS.items() if group.has_own_releases}
    assert {"cutlass", "pytorch"} <= optional and not optional & HEADERS.keys()


def test_the_cccl_of_a_later_cuda_is_never_older() -> None:
    releases = [CCCL_OF_CUDA_12[minor] for minor in sorted(CCCL_OF_CUDA_12)]
    assert releases == sorted(releases) and releases[-1] < (3, 0)
    assert min(CCCL_OF_CUDA_12) == 4  # the first CUDA with nvFatbin


def test_the_name_of_a_toolchain_has_its_exact_release() -> None:
    assert toolchain().name == "NVRTC 12.9.86"
