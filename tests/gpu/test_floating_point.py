"""Results with every floating-point option and in every way to machine code, compared with NumPy's.

NumPy rounds after each operation, as code with --fmad=false does. Computed in double precision, the same products and sums
are exact, and rounded once they are the results of contracted instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel import JitOptions, LinkInput
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.manifest import Target
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.parts.floating_point import FloatingPoint, floating_point
from cuda_wheel.runtime.parts.linking.cuda_compiler import _header_folders as header_folders
from cuda_wheel.runtime.parts.linking.cuda_compiler import compile_cuda, nvrtc_version
from tests.gpu.conftest import prebuilt_sets
from tests.gpu.support import Memory
from tests.support.projects import FIXTURES, FLOATING
from tests.support.toolchains import installed_extra

pytestmark = pytest.mark.usefixtures("context", "nothing_loaded")

OPTIONS = {
    "default": (),
    "exact": ("--fmad=false",),
    "fast": ("--use_fast_math",),
    "exact_fast": ("--use_fast_math", "--fmad=false"),
}
"""The options of the fixture's modules, by the end of their names."""

WAYS = ["plain", "lineinfo", "library", "linked_ptx", "linked_lto"]

N = 1 << 14


def check(module: Module, chosen: FloatingPoint) -> None:
    """Compare the kernels' results with what these options make of them."""
    draw = np.random.default_rng(0)
    x, y, z = (draw.uniform(1, 2, N) for _ in range(3))
    for kernel, kind in (("half_products", np.float16), ("products", np.float32)):
        a, b, c = x.astype(kind), y.astype(kind), (-2 * z).astype(kind)  # of another sign: rounding shows
        contracted = (a.astype(np.float64) * b + c).astype(kind)
        separate = a * b + c
        assert (contracted != separate).mean() > 0.05
        contracts = chosen.assembler_fma if kind == np.float16 else chosen.fma
        np.testing.assert_array_equal(run(module, kernel, a, b, c), contracted if contracts else separate, kernel)
    halves = [each.astype(np.float16) for each in (x, y, -2 * z)]
    pairs = run(module, "pair_products", *(each.view(np.uint32) for each in halves)).view(np.float16)
    np.testing.assert_array_equal(pairs, run(module, "half_products", *halves), "pair_products")

    small = (x * 1e-39).astype(np.float32)  # denormal
    zero = np.zeros(N, np.float32)
    np.testing.assert_array_equal(run(module, "sums", small, zero, zero), zero if chosen.ftz else small, "sums")
    a, b = x.astype(np.float32), y.astype(np.float32)
    for kernel, exact, is_exact in (("quotients", a / b, chosen.prec_div), ("roots", np.sqrt(a), chosen.prec_sqrt)):
        result = run(module, kernel, a, b, zero)
        np.testing.assert_allclose(result, exact, rtol=1e-6)
        assert (result == exact).all() == is_exact, kernel


def run(module: Module, kernel: str, *arrays: Any) -> Any:
    """Return a kernel's results, as an array like the first one given."""
    memory = [Memory(each) for each in arrays]
    result = Memory(np.zeros_like(arrays[0]))
    count = len(arrays[0])
    pointers = [each.address for each in (*memory, result)]
    module[kernel].launch(-(-count // 256), 256, *pointers, count)
    return result.numpy()


# --- wheels ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["here", *(name for name in prebuilt_sets() if not name.endswith("-as-compiled"))])
def floating(request: pytest.FixtureRequest, install: Callable[[Path], Path]) -> str:
    """Install the fixture, built here or prebuilt, and return "here" or the prebuilt set."""
    if request.param != "here":
        install(request.getfixturevalue("prebuilt")(request.param, FLOATING))
    elif installed_extra() is None:
        pytest.skip("no toolchain is installed here to build with")
    else:
        install(request.getfixturevalue("fixture_wheel")(FLOATING))
    return str(request.param)


def test_a_wheels_modules_compute_as_their_options_say(floating: str) -> None:
    """In every way; from machine code, or from PTX that the driver compiles."""
    checked = []
    for way in WAYS:
        for name, options in OPTIONS.items():
            if name != "exact_fast" or way in ("library", "linked_lto"):
                module = cuda_wheel.load(f"floating_demo.{way}_{name}")
                check(module, floating_point(options))
                checked.append(module.how)
    print(floating, checked)
    assert len(checked) == 17


@pytest.mark.parametrize("jit", [JitOptions(), JitOptions(lto=False), JitOptions(linker="driver")], ids=repr)
@pytest.mark.parametrize("name", OPTIONS)
def test_a_wheels_module_is_linked_with_its_own_options(name: str, jit: JitOptions, floating: str) -> None:
    module = cuda_wheel.load(f"floating_demo.linked_lto_{name}", link=[], jit=jit)
    print(floating, module.link)
    check(module, floating_point(OPTIONS[name]))


def test_modules_with_different_options_keep_their_own_in_one_link(floating: str) -> None:
    other = LinkInput("cuda", "other.cu", b'extern "C" __global__ void other(float* x) { *x = x[0] * x[1] + x[2]; }')
    jit = JitOptions(floating_point=("--fmad=true",))
    try:
        module = cuda_wheel.load("floating_demo.linked_lto_exact", link=[other], jit=jit)
    except cuda_wheel.LinkError as error:
        pytest.skip(f"there is no NVRTC here, or nothing reads its PTX: {error}")
    assert module.link is not None and module.link.mode == "ptx"
    check(module, floating_point(OPTIONS["exact"]))
    x, y, z = np.float32([1.1]), np.float32([1.3]), np.float32([-1.43])
    memory = Memory(np.concatenate([x, y, z]))
    module["other"].launch(1, 1, memory.address)
    assert memory.numpy()[0] == np.float32(np.float64(x[0]) * y[0] + z[0]) != x[0] * y[0] + z[0]


# --- code without a manifest ----------------------------------------------------------------------------


@pytest.fixture
def text() -> str:
    return (FIXTURES / FLOATING / "src/floating_demo/kernels.cuh").read_text()


@pytest.fixture
def code(nvrtc: None, text: str) -> Callable[[str, tuple[str, ...]], LinkInput]:
    """Return a function that compiles the fixture's kernels to a piece of a kind, with these options."""
    if (nvrtc_version() or (0, 0)) > device_and_driver()[1]:
        pytest.skip("NVRTC's PTX is newer than the driver")
    if not any(Path(folder, "cuda_fp16.h").is_file() for folder in header_folders()):
        pytest.skip("the toolkit's headers are not installed")

    def compile(kind: str, options: tuple[str, ...]) -> LinkInput:
        if kind == "cuda":
            return LinkInput("cuda", "made.cu", text.encode())
        target = Target(*device_and_driver()[0], "", True)
        lto = kind == "ltoir"
        content, _ = compile_cuda(text.encode(), "made.cu", None, target, lto, JitOptions(), floating_point(options))
        return LinkInput(kind, f"made.{kind}", content)  # type: ignore[arg-type]

    return compile


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    ("kind", "jit"),
    [
        ("cuda", JitOptions()),
        ("cuda", JitOptions(lto=False)),
        ("cuda", JitOptions(linker="driver")),
        ("ltoir", JitOptions()),
        ("ptx", JitOptions()),
        ("ptx", JitOptions(linker="driver")),
    ],
)
def test_pieces_are_linked_with_the_callers_options(kind: str, jit: JitOptions, name: str, code) -> None:
    options = OPTIONS[name]
    linked = cuda_wheel.link([code(kind, options)], jit=jit._replace(floating_point=options))
    print(linked)
    check(cuda_wheel.load_code(linked.cubin), floating_point(options))


@pytest.mark.parametrize("name", OPTIONS)
def test_the_driver_compiles_raw_ptx_with_the_callers_options(name: str, code) -> None:
    options = OPTIONS[name]
    module = cuda_wheel.load_code(code("ptx", options), jit=JitOptions(floating_point=options))
    assert module.how == "jit"
    check(module, floating_point(options))
