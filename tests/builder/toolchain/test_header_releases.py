"""Which releases of headers fit a compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.toolchain import headers
from cuda_wheel.builder.toolchain.headers import HeaderRelease, fits, release_of
from cuda_wheel.builder.toolchain.packages import SearchRoot

pytestmark = pytest.mark.one_toolchain


@pytest.mark.parametrize(
    ("group", "version", "nvrtc", "expected"),
    [
        ("cudart", (12, 9), (12, 9), True),
        ("cudart", (12, 8), (12, 9), False),
        ("cudart", (13, 0), (12, 9), False),
        ("crt", (13, 5), (13, 5), True),
        ("crt", (13, 4), (13, 5), False),
        ("cccl", (2, 8, 2), (12, 9), True),
        ("cccl", (2, 8, 0), (12, 9), True),
        ("cccl", (2, 7, 0), (12, 9), False),
        ("cccl", (3, 5, 0), (12, 9), True),  # a newer one for an older toolkit, of one major version more
        ("cccl", (4, 0, 0), (12, 9), False),
        ("cccl", (2, 7, 0), (12, 8), True),
        ("cccl", (2, 6, 0), (12, 7), True),
        ("cccl", (3, 5, 0), (13, 5), True),
        ("cccl", (3, 5, 0), (13, 0), True),
        ("cccl", (3, 4, 9), (13, 5), False),
        ("cccl", (2, 8, 2), (13, 0), False),
        ("cccl", (4, 0, 0), (13, 5), True),
        ("curand", (12,), (12, 9), True),
        ("curand", (12,), (13, 0), False),
        ("curand", (12, 8), (12, 9), False),
        ("cutlass", (4, 2, 0), (12, 9), True),
        ("mathdx", (25, 6, 0), (13, 5), True),
    ],
)
def test_what_fits(group: str, version: tuple[int, ...], nvrtc: tuple[int, int], expected: bool) -> None:
    assert fits(group, HeaderRelease(version, ""), nvrtc) == expected


@pytest.mark.parametrize(
    ("files", "group", "expected"),
    [
        ({"cuda.h": "#define CUDA_VERSION 12090\n"}, "cudart", "12.9"),
        ({"cuda_runtime_api.h": "# define  CUDART_VERSION  13050\n"}, "cudart", "13.5"),
        (
            {"cuda.h": "#define CUDA_VERSION 12090\n", "cuda_runtime_api.h": "#define CUDART_VERSION 12080"},
            "cudart",
            None,
        ),
        ({"cuda.h": "// #define CUDA_VERSION 12090\n"}, "cudart", None),
        ({"cuda/std/__cccl/version.h": "#define CCCL_VERSION 2008002\n"}, "cccl", "2.8.2"),
        ({"cub/version.cuh": "#define CUB_VERSION 200301 // comment\n"}, "cccl", "2.3.1"),
        ({}, "cccl", None),
        ({"cuda.h": "#define CUDA_VERSION 12090\n"}, "crt", "12.9"),
        ({}, "crt", None),
        (
            {"cutlass/version.h": "#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 0 \n"},
            "cutlass",
            "4.2.0",
        ),
        ({"cutlass/version.h": "#define CUTLASS_MAJOR 4\n"}, "cutlass", None),
        (
            {
                "non_abi/nvshmem_version.h": "".join(
                    f"#define NVSHMEM_VENDOR_{part}_VERSION {number}\n"
                    for part, number in (("MAJOR", 3), ("MINOR", 8), ("PATCH", 1))
                )
            },
            "nvshmem",
            "3.8.1",
        ),
        ({}, "mathdx", None),
    ],
)
def test_the_release_is_read_from_macros(
    files: dict[str, str], group: str, expected: str | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    release = release_of(group, str(tmp_path), SearchRoot(str(tmp_path), False, "CUDA_HOME"))
    assert (None if release is None else str(release)) == expected
    assert release is None or Path(release.source).is_file()


def test_a_search_of_cuda_pathfinder_that_fails_finds_what_others_find(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks the system's loader in a new process, which on a slow machine takes longer than it waits."""

    def fail(name: str) -> None:
        raise ChildProcessError("Canary probe child process timed out after 10.0 seconds.")

    name = next(name for name, group in headers.HEADER_GROUPS.items() if group.pathfinder is not None)
    monkeypatch.setattr("cuda.pathfinder.locate_nvidia_header_directory", lambda name: None)
    found = list(headers._folders(name, "", 13))
    monkeypatch.setattr("cuda.pathfinder.locate_nvidia_header_directory", fail)
    assert list(headers._folders(name, "", 13)) == found
