"""Code that has no manifest is loaded with what its text or the driver says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import DriverError, ImageError, JitOptions, NoImageError
from cuda_wheel.builder.images.bundling import bundle
from cuda_wheel.builder.images.ptx_text import normalise
from cuda_wheel.runtime.manifest import Parameter, dotted
from cuda_wheel.runtime.parts.formats import ptx
from tests.support.driver import Driver, Result
from tests.support.linkable import APPLY, USER, by_nvrtc, compiled, fatbin

Use = Callable[..., Driver]

ALONE = "__global__ void fill(int* x) { *x = 7; }"
"""A program that needs no link."""


def test_loaded_ptx_has_the_parameter_types_of_its_text(use: Use, tmp_path: Path) -> None:
    driver = use((9, 0))
    text = compiled("__global__ void saxpy(float a, const float* x, int n) {}\n__constant__ int limit;", "ptx")
    (tmp_path / "saxpy.ptx").write_bytes(text)
    module = package.load_code(tmp_path / "saxpy.ptx")
    assert [parameter.type for parameter in module["saxpy"].info.parameters] == ["f32", "u64", "u32"]
    assert (module.name, module.how, str(module.image.target), list(module)) == (
        "saxpy.ptx",
        "jit",
        "compute_80",
        ["saxpy"],
    )
    assert driver.loaded[0].endswith(b"\0") and module.jit.seconds > 0 and module.globals["limit"].size == 4
    assert package.load_code(tmp_path / "saxpy.ptx") is module
    assert package.load_code(text.decode())["_Z5saxpyfPKfi"].handle
    assert (
        repr(module)
        == "<Module saxpy.ptx: 1 kernel, ptx compute_80 (PTX " + dotted(ptx.version(text.decode())) + "), jit>"
    )


def test_invalid_ptx_is_reported_with_the_compilers_log(use: Use) -> None:
    driver = use((9, 0), cuLibraryGetKernel=Result.CUDA_ERROR_INVALID_PTX)
    driver.words = b"ptxas application ptx input, line 9; error   : Unknown modifier '.xx'"
    with pytest.raises(DriverError, match=r"CUDA_ERROR_INVALID_PTX.*\n.*Unknown modifier"):
        package.load_code(compiled(APPLY.replace("user_transform(x[i])", "2 * x[i]"), "ptx"))


def test_loaded_machine_code_has_parameter_sizes(use: Use) -> None:
    use((9, 0), version=12000)
    module = package.load_code(package.link([APPLY, USER], arch="90").cubin)
    assert module["apply"].info.parameters == (Parameter("b64", 0, 8), Parameter("b32", 8, 4))
    assert module.how == "native" and module.jit is None


def test_a_loaded_fatbin_has_the_parameter_sizes_that_the_driver_reports(use: Use) -> None:
    driver = use((9, 0))
    driver.kernels = {"apply": [(0, 8), (8, 4)], "_ZN2ns4castEc4Pair": [(0, 1), (4, 12), (16, 2)]}
    module = package.load_code(fatbin(package.link([APPLY, USER], arch="90").cubin))
    assert module["apply"].info.parameters == (Parameter("b64", 0, 8), Parameter("b32", 8, 4))
    assert [parameter.type for parameter in module["ns::cast"].info.parameters] == ["b8", "b8", "b16"]
    assert module.how == "native" and module.jit is None


@pytest.fixture(params=["CUDA_WHEEL_JIT=error", "JitOptions(allow=False)"])
def forbidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, JitOptions]:
    """Forbid to compile in one of two ways, and return the arguments of `load_code` for it."""
    if request.param.startswith("JitOptions"):
        return {"jit": JitOptions(allow=False)}
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    return {}


def with_ptx(cubin: bytes) -> bytes:
    """Return a fatbin of a cubin for sm_90, the GPU's own, and of PTX."""
    ptx_text = normalise(compiled(ALONE, "ptx").decode()).encode()
    return bundle(("fill", ((("cubin", "90", cubin), "fill"), (("ptx", "80", ptx_text), "fill")), "none")).content


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (lambda cubin: compiled(ALONE, "ptx"), "piece.ptx must"),
        (with_ptx, "piece.fatbin contains more than machine code, which may"),
    ],
)
def test_ptx_is_not_loaded_where_compiling_is_forbidden(
    code: Callable[[bytes], bytes], name: str, use: Use, forbidden: dict[str, JitOptions]
) -> None:
    cubin = by_nvrtc(ALONE, ["-arch=sm_90"])["cubin"]
    driver = use((9, 0))
    with pytest.raises(NoImageError) as caught:
        package.load_code(code(cubin), **forbidden)
    assert str(caught.value) == (
        f"{name} be compiled on this machine (compute capability 9.0, driver for CUDA 13.0), which "
        f"{'JitOptions(allow=False)' if forbidden else 'CUDA_WHEEL_JIT=error'} forbids. Load machine code for sm_90: a "
        "cubin, or a fatbin of cubins alone."
    )
    assert driver.loaded == []


@pytest.mark.parametrize("compress", ["none", "size"])
def test_machine_code_is_loaded_where_compiling_is_forbidden(
    compress: str, use: Use, forbidden: dict[str, JitOptions]
) -> None:
    driver = use((9, 0))
    cubin = by_nvrtc(ALONE, ["-arch=sm_90"])["cubin"]
    packed = bundle(
        (
            "fill",
            ((("cubin", "90", cubin), "fill"), (("cubin", "80", by_nvrtc(ALONE, ["-arch=sm_80"])["cubin"]), "fill")),
            compress,
        )
    ).content
    for code in (cubin, packed):
        assert package.load_code(code, **forbidden).how == "native"
    assert driver.loaded == [cubin, packed]


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (lambda: compiled(USER, "cubin", "80"), ImageError, r"piece\.cubin is machine code for 8\.x, the GPU is 9\.0"),
        (lambda: compiled(USER, "cubin", "90")[:-50], ImageError, r"piece\.cubin is a damaged cubin: it is cut short"),
        (lambda: compiled(USER, "ptx", "100"), ImageError, r"piece\.ptx needs compute capability 10\.0 or later"),
        (lambda: fatbin(compiled(USER, "cubin", "90"))[:-50], ImageError, r"piece\.fatbin is a damaged fatbin"),
        (lambda: compiled(USER, "ltoir"), ImageError, r"piece\.ltoir is LTO-IR, not a cubin, PTX or a fatbin: link"),
        (lambda: USER, ImageError, r"piece\.cu is CUDA C\+\+, not a cubin"),
        (lambda: "nowhere.ptx", ImageError, "cannot be read"),
    ],
)
def test_code_that_this_gpu_cannot_load_is_reported(
    code: Callable[[], Any], error: type[Exception], message: str, use: Use
) -> None:
    driver = use((9, 0))
    with pytest.raises(error, match=message):
        package.load_code(code())
    assert driver.loaded == []


def test_a_fatbin_needs_a_driver_that_lists_kernels(use: Use) -> None:
    use((9, 0), version=12030)
    with pytest.raises(
        DriverError, match=r"the driver is for CUDA 12\.3, and only drivers for 12\.4 or later list the kernels"
    ):
        package.load_code(fatbin(compiled(USER, "cubin", "90")))
