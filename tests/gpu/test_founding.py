"""Images of wheels, loaded and linked by path and from memory.

`test_linking` has the plug-in and the matrix product that the driver links.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cuda_wheel
from cuda_wheel import DriverError, JitOptions, LinkError, LinkInput
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.runtime.driver import device_and_driver
from cuda_wheel.runtime.module import Module
from cuda_wheel.runtime.rules import unsupported
from tests.gpu.conftest import prebuilt_sets
from tests.gpu.support import Memory
from tests.support.projects import FIXTURES
from tests.support.toolchains import installed_extra

pytestmark = pytest.mark.usefixtures("context", "nothing_loaded")


@pytest.fixture
def kernels(request: pytest.FixtureRequest, install: Callable[[Path], Path]) -> Callable[..., Path]:
    """Return a function that installs a fixture's wheel and returns its folder of kernels.

    `kind` is the suffix of the prebuilt set: in sets that end in "-jit", only PTX fits this GPU.
    """

    def install_fixture(fixture: str, kind: str = "") -> Path:
        sets = [name for name in prebuilt_sets() if "-" not in name]
        if not sets and installed_extra() is None:
            pytest.skip("no prebuilt wheels, and no toolchain to build them with")
        wheel = request.getfixturevalue("prebuilt")(sets[0] + kind, fixture) if sets else None
        site = install(wheel or request.getfixturevalue("fixture_wheel")(fixture))
        return next(site.glob("*_demo/kernels"))

    return install_fixture


def image(folder: Path, module: str, kind: str) -> bytes:
    """Return the bytes of a module's best image of a kind for this GPU, relocatable or not."""
    capability = device_and_driver()[0]
    manifest = manifest_of((folder / f"{module}.fatbin.json").read_bytes(), module)
    suits = [each for each in manifest.images if each.kind == kind and unsupported(each.target, capability) is None]
    found = max(suits, key=lambda each: each.target.capability)
    assert found.offset is not None
    return (folder / manifest.fatbin).read_bytes()[found.offset : found.offset + found.size]


def check_matmul(module: Module) -> None:
    n = 64
    a, b = np.random.default_rng(0).random((2, n, n), np.float32)
    c = Memory(np.zeros((n, n), np.float32))
    kernel = module["matmul"]
    print(module, kernel, kernel.attributes, kernel.occupancy(256), module.jit and module.jit.log, sep="\n")
    assert kernel.attributes.registers > 0 and kernel.attributes.shared >= 2 * 16 * 16 * 4
    assert kernel.occupancy(256).blocks > 0
    kernel.launch((n // 16, n // 16), (16, 16), c, Memory(a), Memory(b), n)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


@pytest.mark.parametrize("by", ["path", "bytes"])
def test_a_wheels_fatbin_is_loaded_as_a_file_and_from_memory(by: str, kernels: Callable[[str], Path]) -> None:
    path = kernels("plugin") / "matmul.fatbin"
    check_matmul(cuda_wheel.load_code(path if by == "path" else path.read_bytes()))


@pytest.mark.parametrize("by", ["path", "bytes"])
def test_ptx_of_a_source_is_loaded_as_a_file_and_from_memory(
    by: str, kernels: Callable[[str], Path], tmp_path: Path
) -> None:
    text = image(kernels("plugin"), "matmul", "ptx")
    path = tmp_path / "matmul.ptx"
    path.write_bytes(text)
    check_matmul(cuda_wheel.load_code(path if by == "path" else text))
    with pytest.raises(DriverError, match="ptxas"):
        cuda_wheel.load_code(text.replace(b"fma.rn.f32", b"fma.rn.f31"))


@pytest.mark.parametrize("linker", ["driver", "nvjitlink"])
def test_ptx_texts_and_a_cubin_are_linked_together(linker: str, kernels: Callable[..., Path], nvrtc: None) -> None:
    core = pytest.importorskip("cuda.core")
    folder = kernels("plugin")
    major, minor = device_and_driver()[0]
    options = core.ProgramOptions(arch=f"sm_{major}{minor}", relocatable_device_code=True)
    source = FIXTURES / "plugin/src/plugin_demo/kernels/matmul.cu"
    cubin = core.Program(source.read_text(), "c++", options).compile("cubin")
    texts = [LinkInput("ptx", f"{name}.ptx", image(folder, name, "ptx")) for name in ("apply", "waves")]
    linked = cuda_wheel.link([*texts, cubin], jit=JitOptions(linker=linker, lto=False))  # type: ignore[arg-type]
    print(linked, linked.log, linked.seconds)
    module = cuda_wheel.load_code(linked.cubin)
    check_matmul(module)
    x = np.random.default_rng(1).random(1 << 16, np.float32)
    result = Memory(np.zeros_like(x))
    module["apply"].launch(256, 256, Memory(x), result, np.float32(3), x.size)
    np.testing.assert_allclose(result.numpy(), 2 * (3 * x - np.floor(3 * x)), rtol=1e-5, atol=1e-5)
    with pytest.raises(LinkError, match="is finished machine code"):
        cuda_wheel.link([*texts, LinkInput("cubin", "finished.cubin", linked.cubin)], jit=JitOptions(linker=linker))  # type: ignore[arg-type]


def multiply(module: Module) -> None:
    n = 1000
    x, y = np.random.default_rng(2).random((2, n), np.float32)
    result = Memory(np.zeros(n, np.float32))
    module["multiply"].launch(4, 256, Memory(x), Memory(y), result, n)
    np.testing.assert_array_equal(result.numpy(), x * y)


def test_nvvm_ir_compiled_to_machine_code_runs(kernels: Callable[..., Path]) -> None:
    kernels("nvvm_ir")
    module = cuda_wheel.load("nvvm_demo.kernels.multiply")
    assert module.how == "native"
    multiply(module)


@pytest.mark.parametrize("linker", ["driver", "nvjitlink"])
def test_nvvm_ir_compiled_to_ptx_links_to_a_cubin(
    linker: str, kernels: Callable[..., Path], request: pytest.FixtureRequest
) -> None:
    if linker == "nvjitlink":
        request.getfixturevalue("nvjitlink")
    text = image(kernels("nvvm_ir", "-jit"), "multiply", "ptx")
    linked = cuda_wheel.link([text], jit=JitOptions(linker=linker))  # type: ignore[arg-type]
    print(linked)
    multiply(cuda_wheel.load_code(linked.cubin))
