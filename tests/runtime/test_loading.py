"""Find and read a module's files, and handle driver errors.

The driver is a stand-in that injects errors; `tests/gpu` shows that images load and run on a GPU.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import subprocess
import sys
import traceback
import tracemalloc
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import cuda_wheel
import cuda_wheel as package
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.builder.wheel.outputs import write
from cuda_wheel.runtime import loading
from cuda_wheel.runtime import manifest as manifest_module
from cuda_wheel.runtime import module as module_module
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.manifest import Target
from cuda_wheel.runtime.module import _loaded as loaded_modules
from tests.support.driver import Driver, Result
from tests.support.loaded_modules import forget_all
from tests.support.processes import run
from tests.support.projects import KERNEL, ROOT

pytestmark = pytest.mark.one_toolchain

SAXPY = "saxpy_demo.kernels.saxpy"


def imported(program: str, after: str = "pass", **environ: str) -> set[str]:
    """Return the modules that `program` imports in a process that has run `after` before."""
    code = f"import sys\n{after}\nbefore = set(sys.modules)\n{program}\nprint(*sorted(set(sys.modules) - before))"
    result = run(sys.executable, "-c", code, **environ)
    assert result.returncode == 0, result.stdout
    return set(result.stdout.split())


def test_importing_the_package_imports_nothing_else() -> None:
    assert imported("import cuda_wheel") == {"cuda_wheel"}


CORE = ("errors", "manifest", "rules", "files", "driver", "loading", "module")
"""The files of the runtime that every load imports."""


def test_the_core_of_the_runtime_is_small() -> None:
    folder = Path(loading.__file__).parent
    texts = [(folder / f"{name}.py").read_text(encoding="utf-8") for name in CORE]
    assert sum(1 for text in texts for line in text.splitlines() if line.strip()) <= 1565


def test_loading_imports_only_the_core(site: Path) -> None:
    program = """
from types import SimpleNamespace
import cuda_wheel.runtime.loading
answers = dict(cuCtxGetDevice=0, cuDriverGetVersion=13000, cuDeviceGetAttribute=8, cuLibraryLoadData=1)
calls = {name: (lambda *_, value=value: (0, value)) for name, value in answers.items()}
attributes = dict.fromkeys(f"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_{which}" for which in ("MAJOR", "MINOR"))
cuda_wheel.runtime.driver._State.bindings = SimpleNamespace(
    CUresult=SimpleNamespace(CUDA_ERROR_INVALID_CONTEXT=201),
    CUdevice_attribute=SimpleNamespace(**attributes), cuDeviceGet=lambda _: (0, 0), **calls
)
assert len(cuda_wheel.load("saxpy_demo.kernels.saxpy")) == 1
"""
    # Some releases of cuda-bindings import the first two.
    before = "import importlib, json\nfrom cuda.bindings import driver"
    modules = imported(program, before, PYTHONPATH=f"{ROOT}{os.pathsep}{site}")
    # The package of this kernel calls `attach`.
    own = {
        "cuda_wheel",
        "cuda_wheel.runtime",
        *(f"cuda_wheel.runtime.{name}" for name in (*CORE, "parts", "parts.attach")),
    }
    assert {name for name in modules if name.startswith("cuda_wheel")} == own
    # What finds a package that is not imported yet, and Python's own SHA-256.
    allowed = {"importlib._abc", "importlib.util", "_sha2", "_sha256"}
    assert modules - own - allowed == {"saxpy_demo", "saxpy_demo.kernels"}


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts what a process reads")
def test_only_the_chosen_image_of_a_large_fatbin_is_read(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((8, 0))
    image = enlarge(site, 500 << 20)

    def read() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = read()
    tracemalloc.start()
    try:
        module = cuda_wheel.load(SAXPY)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read() - before < 1 << 20  # other threads read as well
    assert held < 1 << 20
    assert module.image.offset > 400 << 20
    assert driver.loaded == [image]


def test_a_large_fatbin_in_a_zip_takes_little_memory(
    site: Path, tmp_path: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is unpacked up to the image, block by block."""
    driver = use((8, 0))
    image = enlarge(site, 100 << 20)
    with zipfile.ZipFile(tmp_path / "large.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in site.rglob("saxpy_demo/**/*"):
            archive.write(path, path.relative_to(site).as_posix())
    monkeypatch.setattr(sys, "path", [str(tmp_path / "large.zip"), *(each for each in sys.path if each != str(site))])
    importlib.invalidate_caches()
    tracemalloc.start()
    try:
        cuda_wheel.load(SAXPY)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "large.zip" in sys.modules["saxpy_demo"].__file__
    assert driver.loaded == [image]
    assert held < 64 << 20


def enlarge(site: Path, size: int) -> bytes:
    """Move the images of saxpy to the end of a fatbin of `size` bytes; return the image for compute capability 8.0.

    The rest of the file is a hole.
    """
    fatbin = site / "saxpy_demo/kernels/saxpy.fatbin"
    content, path = fatbin.read_bytes(), fatbin.with_name("saxpy.fatbin.json")
    manifest = manifest_of(path.read_bytes(), "x")
    start = size * 9 // 10
    with fatbin.open("r+b") as file:
        file.truncate(0)
        file.truncate(size)
        file.seek(start)
        file.write(content)
    images = tuple(image._replace(offset=image.offset + start) for image in manifest.images)
    path.write_text(manifest_text(manifest._replace(fatbin_size=size, images=images)))
    (chosen,) = (image for image in manifest.images if str(image.target) == "sm_80")
    return content[chosen.offset : chosen.offset + chosen.size]


@pytest.mark.slow
def test_a_copy_of_the_loader_needs_no_other_file(unpacked: Callable[[str], Path], tmp_path: Path) -> None:
    """The copied files import the standard library and cuda.bindings only."""
    write({f"alone/{name}": content for name, content in copied_files(PARTS).items()}, tmp_path)
    program = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(unpacked("stencil"))!r}]
import alone
try:
    alone.load("stencil_demo.kernels.stencil")
except alone.DriverError as error:
    print(error)
assert "alone.loading" in sys.modules and "alone.launching" not in sys.modules
import alone.launching
assert alone.launching.ArgumentError is alone.ArgumentError
import importlib, pkgutil
for found in pkgutil.walk_packages(alone.__path__, "alone."):
    importlib.import_module(found.name)
assert not [name for name in sys.modules if name.startswith(("cuda_wheel.", "hatch", "rich", "packaging"))]
"""
    result = run(sys.executable, "-c", program, CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 0, result.stdout
    assert "driver is installed" in result.stdout


def test_the_driver_gets_the_bytes_of_the_image_that_was_chosen(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((8, 6))
    module = cuda_wheel.load(SAXPY)
    image = module.image
    fatbin = (site / "saxpy_demo/kernels/saxpy.fatbin").read_bytes()
    assert str(image.target) == "sm_80"
    assert driver.loaded == [fatbin[image.offset : image.offset + image.size]]
    assert (module.handle, module["saxpy"].handle) == (0xF00D, 0xBEEF)
    assert cuda_wheel.load(SAXPY) is module


def test_ptx_goes_to_the_driver_with_its_end_marked(
    fixture_wheel, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use((12, 0))
    monkeypatch.syspath_prepend(fixture_wheel("half_precision"))
    module = cuda_wheel.load("half_demo.kernels.scale")
    assert (module.how, str(module.image.target)) == ("jit", "compute_75")
    assert driver.loaded[0].startswith(b"\n.version 6.3\n")
    assert driver.loaded[0].endswith(b"}\n\0")
    sys.modules.pop("half_demo", None)


@pytest.fixture
def built(
    make_project: Callable[..., Path],
    cuda_wheel: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str], Path]:
    """Return a function that builds demo.packed with settings, puts it on the path, and returns its folder."""

    def build(settings: str) -> Path:
        project = make_project(f"[tool.cuda-wheel]\n{settings}", **{"demo/packed.cu": KERNEL})
        result = cuda_wheel("build", project, "-o", tmp_path / "out")
        assert result.returncode == 0, result.stdout
        monkeypatch.syspath_prepend(tmp_path / "out")
        return tmp_path / "out"

    return build


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compress", "compression"), [("speed", "lz4"), ("balance", "zstd"), ("size", "zstd"), ("none", "none")]
)
def test_a_compressed_fatbin_goes_to_the_driver_whole(
    compress: str, compression: str, built, cuda_wheel, extra: str, use: Callable[..., Driver]
) -> None:
    folder = built(f'compress = "{compress}"\narchitectures = ["80", "90"]')
    assert cuda_wheel("verify", folder).returncode == 0
    content = (folder / "demo/packed.fatbin").read_bytes()
    text = (folder / "demo/packed.fatbin.json").read_text()
    made = manifest_of(text, "x")
    assert made.compression == compression
    assert (b"\x28\xb5\x2f\xfd" in content) == (compression == "zstd")
    assert all((image.offset is None) == (compress != "none") for image in made.images)
    assert min(image.driver for image in made.images) >= (12, 4) or compression != "zstd"
    first = (12, 0) if extra == "cu12" else (13, 0)  # of machine code
    for version in ((12, 3), (12, 4), (13, 0)):
        driver = use((8, 0), version=version[0] * 1000 + version[1] * 10)
        if compression == "zstd" and version < (12, 4):
            with pytest.raises(package.NoImageError, match="compressed with zstd"):
                loading.load("demo.packed")
            assert driver.loaded == []
            continue
        assert loading.load("demo.packed").how == ("native" if version >= first else "jit")
        assert (driver.loaded == [content]) == (compress != "none")


def test_a_manifest_that_hides_its_compression_does_not_pass_verify(built, cuda_wheel) -> None:
    """Its hash is right, as whoever changes a manifest can make it."""
    folder = built('compress = "size"\narchitectures = ["80-real"]')
    path = folder / "demo/packed.fatbin.json"
    made = manifest_of(path.read_text(), "x")
    path.write_text(manifest_text(made._replace(compression="lz4")))
    result = cuda_wheel("verify", folder)
    assert result.returncode == 1
    assert 'the compression of packed.fatbin is "zstd", not "lz4"' in result.stdout


# --- what is not known to load --------------------------------------------------------------------------


def test_jetson_gets_ptx_if_there_is_any(built, use: Callable[..., Driver]) -> None:
    built('architectures = ["80-real", "75-virtual"]')
    driver = use((8, 7))
    module = loading.load("demo.packed")
    assert (module.how, str(module.image.target)) == ("jit", "compute_75")
    assert len(driver.loaded) == 1


def test_jetson_is_tried_with_machine_code_if_there_is_nothing_else(built, use: Callable[..., Driver]) -> None:
    folder = built('architectures = ["75-real", "80-real"]')
    driver = use((8, 7))
    module = loading.load("demo.packed")
    assert (module.how, str(module.image.target), module["fill"].handle) == ("native", "sm_80", 0xBEEF)
    assert driver.loaded[0] in (folder / "demo/packed.fatbin").read_bytes()
    assert loading.load("demo.packed") is module
    assert len(driver.loaded) == 1


@pytest.mark.slow
@pytest.mark.parametrize("call", ["cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetAttribute"])
def test_a_driver_that_refuses_what_was_not_known_to_run_is_quoted(
    built, use: Callable[..., Driver], call: str
) -> None:
    """Drivers look at machine code late: when a GPU first needs it."""
    built('architectures = ["75-real", "80-real"]')
    driver = use((8, 7), **{call: Result.CUDA_ERROR_NO_BINARY_FOR_GPU})
    for _ in range(2):
        with pytest.raises(package.NoImageError) as caught:
            loading.load("demo.packed")
        lines = str(caught.value).splitlines()
        assert lines[0].startswith("demo.packed has no image for a GPU of compute capability 8.7 with a driver for")
        assert lines[1].startswith("  cubin sm_80: not known to run: it is machine code for 8.0, the GPU is 8.7, and ")
        assert "; the driver refused it: " in lines[1]
        assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in lines[1]
        assert lines[2:] == [
            "  cubin sm_75: is machine code for 7.x, the GPU is 8.7",
            'The wheel\'s authors can add "87-real", or a lower "-virtual" target, to architectures.',
        ]
    assert driver.unloaded == [0xF00D] * (0 if call == "cuLibraryLoadData" else 2)


def test_other_errors_of_what_was_not_known_to_run_stay_what_they_are(built, use: Callable[..., Driver]) -> None:
    built('architectures = ["80-real"]')
    use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_OUT_OF_MEMORY)
    with pytest.raises(package.DriverError, match=r"loading demo\.packed, cubin sm_80: .*OUT_OF_MEMORY"):
        loading.load("demo.packed")


def test_without_a_context_the_driver_need_not_say_whether_it_runs_code(built, use: Callable[..., Driver]) -> None:
    built('architectures = ["80-real"]')
    driver = use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_INVALID_CONTEXT)
    assert loading.load("demo.packed").how == "native"
    assert driver.unloaded == []


def test_what_one_gpu_refuses_another_may_load(built, use: Callable[..., Driver]) -> None:
    built('architectures = ["80-real"]')
    driver = use((8, 7), (8, 6), cuKernelGetAttribute=Result.CUDA_ERROR_NO_BINARY_FOR_GPU)
    with pytest.raises(package.NoImageError, match="the driver refused it"):
        loading.load("demo.packed", device=0)
    assert loading.load("demo.packed", device=1).how == "native"
    assert len(driver.loaded) == 2


def test_a_driver_that_chooses_unreadable_ptx_from_a_compressed_fatbin_is_quoted(
    built, use: Callable[..., Driver], extra: str
) -> None:
    folder = built('compress = "speed"\narchitectures = ["80-real", "75-virtual", "90-virtual"]')
    path = folder / "demo/packed.fatbin.json"
    made = manifest_of(path.read_text(), "x")
    images = [each._replace(driver=(13, 4)) if str(each.target) == "compute_90" else each for each in made.images]
    path.write_text(manifest_text(made._replace(images=tuple(images))))
    use((9, 0))
    assert loading.load("demo.packed").how == "jit"
    use((9, 0), cuLibraryGetKernel=Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    with pytest.raises(package.NoImageError) as caught:
        loading.load("demo.packed")
    assert "the driver may choose ptx compute_90" in str(caught.value)
    assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" in str(caught.value)
    assert str(caught.value).endswith("\nUpdate the NVIDIA driver.")


def test_a_loose_cubin_of_another_minor_version_is_tried_on_jetson(built, use: Callable[..., Driver]) -> None:
    folder = built('architectures = ["80-real"]')
    image = manifest_of((folder / "demo/packed.fatbin.json").read_text(), "x").images[0]
    cubin = (folder / "demo/packed.fatbin").read_bytes()[image.offset : image.offset + image.size]
    use((8, 7))
    assert len(package.load_code(cubin)) == 1
    use((8, 7), cuKernelGetAttribute=Result.CUDA_ERROR_NO_BINARY_FOR_GPU)
    with pytest.raises(package.NoImageError, match=r"^piece.cubin is not known to run: .*refused it"):
        package.load_code(cubin)


def test_a_package_in_a_zip_loads(fixture_wheel, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch) -> None:
    driver = use((8, 0))
    forget_all()
    monkeypatch.syspath_prepend(fixture_wheel("saxpy"))
    importlib.invalidate_caches()
    module = cuda_wheel.load(SAXPY)
    with zipfile.ZipFile(fixture_wheel("saxpy")) as archive:
        fatbin = archive.read("saxpy_demo/kernels/saxpy.fatbin")
    assert driver.loaded == [fatbin[module.image.offset : module.image.offset + module.image.size]]


@pytest.mark.parametrize("first", [b"PK", b"kernels/saxpy.fatbin"])
def test_a_damaged_zip_is_an_image_error(
    first: bytes, fixture_wheel, tmp_path: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All bytes from one of its files on are damaged, except the directory."""
    driver = use((8, 0))
    forget_all()
    content = bytearray(fixture_wheel("saxpy").read_bytes())
    directory = content.index(b"PK\x01\x02")
    for place in range(content.index(first), directory):
        content[place] ^= 0x55
    path = tmp_path / f"damaged{len(first)}.whl"
    path.write_bytes(content)
    monkeypatch.syspath_prepend(path)
    for act in (lambda: cuda_wheel.load(SAXPY), lambda: cuda_wheel.attach("saxpy_demo.kernels")):
        with pytest.raises(cuda_wheel.ImageError, match="saxpy_demo"):
            act()
    assert driver.loaded == []


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({"cuInit": Result.CUDA_ERROR_NO_DEVICE}, "the NVIDIA driver is installed, but sees no GPU"),
        (
            {"cuInit": Result.CUDA_ERROR_OUT_OF_MEMORY},
            "initialising the driver: the driver returned CUDA_ERROR_OUT_OF_MEMORY",
        ),
        ({"cuDeviceGet": Result.CUDA_ERROR_INVALID_DEVICE}, r"CUDA_ERROR_INVALID_DEVICE \(101\): because"),
        ({"cuLibraryLoadData": Result.CUDA_ERROR_OUT_OF_MEMORY}, f"loading {SAXPY}, cubin sm_80: the driver returned"),
        ({"cuLibraryGetKernel": Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION}, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    ],
)
def test_a_driver_error_says_what_failed(site: Path, use: Callable[..., Driver], faults, message: str) -> None:
    use((8, 0), **faults)
    with pytest.raises(cuda_wheel.DriverError, match=message):
        cuda_wheel.load(SAXPY)["saxpy"]


def test_without_a_driver_a_damaged_image_is_told_too(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 6), cuInit=Result.CUDA_ERROR_NO_DEVICE)
    with pytest.raises(cuda_wheel.DriverError) as caught:
        cuda_wheel.load(SAXPY)
    without, frames = str(caught.value), traceback.extract_tb(caught.value.__traceback__)
    assert "would not load with a driver either" not in without
    assert [frame.name for frame in frames] == ["test_without_a_driver_a_damaged_image_is_told_too", "load"]
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None
    fatbin = site / "saxpy_demo/kernels/saxpy.fatbin"
    fatbin.write_bytes(fatbin.read_bytes().replace(b"saxpy", b"daxpy"))
    with pytest.raises(cuda_wheel.DriverError) as caught:
        cuda_wheel.load(SAXPY)
    first, second = str(caught.value).split("\nThe module would not load with a driver either: ")
    assert first == without and "saxpy.fatbin.json is damaged: the SHA-256 of " in second


def test_loading_again_after_a_driver_error_works(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 0), cuLibraryLoadData=Result.CUDA_ERROR_OUT_OF_MEMORY)
    with pytest.raises(cuda_wheel.DriverError):
        cuda_wheel.load(SAXPY)
    use((8, 0))
    assert cuda_wheel.load(SAXPY)["saxpy"].handle


def test_a_damaged_image_never_reaches_the_driver(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((8, 0))
    fatbin = site / "saxpy_demo/kernels/saxpy.fatbin"
    fatbin.write_bytes(fatbin.read_bytes().replace(b"saxpy", b"daxpy"))
    with pytest.raises(
        cuda_wheel.ImageError, match="is damaged: the SHA-256 of cubin sm_80 is not the one in the manifest"
    ):
        cuda_wheel.load(SAXPY)
    fatbin.unlink()
    with pytest.raises(cuda_wheel.ImageError, match=r"saxpy\.fatbin beside .* cannot be read"):
        cuda_wheel.load(SAXPY)
    assert driver.loaded == []


def test_a_load_after_an_edit_has_the_types_of_the_edit(site: Path, use: Callable[..., Driver]) -> None:
    """`const float*` edited to `const int*` may give the same machine code, and other parameters."""
    driver = use((9, 0))
    before = loading.load(SAXPY)
    path = next(site.rglob("saxpy.fatbin.json"))
    manifest = manifest_of(path.read_bytes(), "x")
    (kernel,) = manifest.kernels
    parameters = tuple(each._replace(cpp=each.cpp.replace("float*", "int*")) for each in kernel.parameters)
    path.write_text(manifest_text(manifest._replace(kernels=(kernel._replace(parameters=parameters),))))
    after = loading.load(SAXPY)
    assert after["saxpy"].info.parameters == parameters != before["saxpy"].info.parameters
    assert driver.loaded[0] == driver.loaded[1]
    assert loading.load(SAXPY) is after


def test_unloading_a_module_invalidates_it_for_everyone(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((8, 0))
    module = cuda_wheel.load(SAXPY)
    attribute = cuda_wheel.attach("saxpy_demo.kernels")[0]
    lazy = attribute("saxpy")
    kernel = module["saxpy"]
    launch, lazy_launch = kernel.launch, lazy.launch
    for each in (kernel, lazy):
        each.launch(1, 1, 1.0, None, None, 0)
    launch_again = kernel.launch  # what launches from the second time on
    driver.codes = [Result.CUDA_ERROR_OUT_OF_MEMORY]
    module.unload()
    module.unload()
    assert driver.unloaded == [0xF00D] and len(driver.launches) == 2
    uses = [launch, lazy_launch, launch_again, kernel.launch, lazy.launch]
    for refused in (
        *(lambda launch=launch: launch(1, 1, 1.0, None, None, 0) for launch in uses),
        lambda: kernel.handle,
        lambda: int(lazy),
        lambda: kernel.attributes,
        lambda: kernel.occupancy(32),
        lambda: module.handle,
    ):
        with pytest.raises(cuda_wheel.DriverError, match=f"^{SAXPY} was unloaded: load it again$"):
            refused()
    assert len(driver.launches) == 2
    again = cuda_wheel.load(SAXPY)
    assert again is not module and again["saxpy"].handle == 0xBEEF and len(driver.loaded) == 2


def test_an_error_while_unloading_is_raised(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 0), cuLibraryUnload=Result.CUDA_ERROR_ILLEGAL_ADDRESS)
    module = cuda_wheel.load(SAXPY)
    with pytest.raises(
        cuda_wheel.DriverError, match=f"unloading {SAXPY}: .*ILLEGAL_ADDRESS.* A kernel that was launched"
    ):
        module.unload()
    assert cuda_wheel.load(SAXPY) is not module


@pytest.mark.skipif(
    sys.version_info < (3, 14) and not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="Python 3.13t never frees functions and their globals after the first thread was started",
)
def test_an_unloaded_module_leaves_no_memory_behind(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 0))
    module = cuda_wheel.load(SAXPY)
    module["saxpy"].launch(1, 1, 1.0, None, None, 0)
    module.unload()
    gone = weakref.ref(module)
    del module
    gc.collect()
    assert gone() is None and not loaded_modules._modules


def test_hash_checks_can_be_switched_off(
    site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes then go to the driver unchecked, except truncated ones: the driver would read past their end."""
    driver = use((8, 0))
    monkeypatch.setenv("CUDA_WHEEL_VERIFY", "off")
    fatbin = site / "saxpy_demo/kernels/saxpy.fatbin"
    damaged = fatbin.read_bytes().replace(b"saxpy", b"daxpy")
    fatbin.write_bytes(damaged)
    manifest = fatbin.with_name("saxpy.fatbin.json")
    manifest.write_text(manifest.read_text().replace('"registers":10', '"registers":11'))
    module = cuda_wheel.load(SAXPY)
    assert driver.loaded == [damaged[module.image.offset : module.image.offset + module.image.size]]
    forget_all()
    fatbin.write_bytes(damaged[: module.image.offset + module.image.size - 1])
    with pytest.raises(cuda_wheel.ImageError, match="is damaged: it ends before the end of cubin sm_80"):
        cuda_wheel.load(SAXPY)
    sections = module.image.offset + int.from_bytes(damaged[module.image.offset + 40 :][:8], "little")
    astray = damaged[: sections + 64 + 27] + b"\x7f" + damaged[sections + 64 + 28 :]  # the first one's place
    fatbin.write_bytes(astray)
    with pytest.raises(cuda_wheel.ImageError, match="is damaged: in cubin sm_80, it is cut short"):
        cuda_wheel.load(SAXPY)
    manifest.write_text(
        manifest.read_text().replace(f'"size":{len(damaged)}', '"size":0'.ljust(7 + len(str(len(damaged)))))
    )
    with pytest.raises(cuda_wheel.ImageError, match="is not a cuda-wheel manifest"):
        cuda_wheel.load(SAXPY)
    assert len(driver.loaded) == 1


def test_only_off_switches_hash_checks_off(
    site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = use((8, 0))
    monkeypatch.setenv("CUDA_WHEEL_VERIFY", "0")
    fatbin = site / "saxpy_demo/kernels/saxpy.fatbin"
    fatbin.write_bytes(fatbin.read_bytes().replace(b"saxpy", b"daxpy"))
    with (
        pytest.warns(RuntimeWarning, match='CUDA_WHEEL_VERIFY must be "on" or "off", not \'0\'; "on" is used'),
        pytest.raises(cuda_wheel.ImageError, match="is damaged"),
    ):
        cuda_wheel.load(SAXPY)
    assert driver.loaded == []


@pytest.mark.parametrize(("damage", "message"), [
    (lambda text: text.replace('"format": 4', '"format": 5'), "was written by cuda-wheel 0.1.0, in manifest format 5; this "
     "version reads format 4 only. Install cuda-wheel 0.1.0 or later to load it."),
    (lambda text: text.replace('"nvrtc":"1', '"nvrtc":"2'), "is damaged: its SHA-256 is not the one that it contains"),
    (lambda text: text.replace('"registers":10', '"registers":11'), "do not have the SHA-256 that it contains"),
    (lambda text: text[:-9], "it ends after "),
    (lambda text: text, "bytes, more than the 400 that a manifest may have"),
])  # fmt: skip
def test_every_reader_reports_an_unusable_manifest(
    damage: Callable[[str], str],
    message: str,
    site: Path,
    use: Callable[..., Driver],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from cuda_wheel.cli.main import main

    driver = use((8, 0))
    manifest = site / "saxpy_demo/kernels/saxpy.fatbin.json"
    if "400 that" in message:
        monkeypatch.setattr("cuda_wheel.runtime.manifest.LARGEST", 400)
    manifest.write_text(damage(manifest.read_text()))
    with pytest.raises(cuda_wheel.ImageError) as caught:
        cuda_wheel.load(SAXPY)
    assert message in str(caught.value)
    assert str(manifest) in str(caught.value)
    if "SHA-256" not in message:  # only the names are read when a package is imported
        with pytest.raises(cuda_wheel.ImageError, match=str(manifest)):
            cuda_wheel.attach("saxpy_demo.kernels")
    with zipfile.ZipFile(site / "saxpy.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in site.rglob("*/*.*"):
            wheel.write(path, path.relative_to(site).as_posix())
    for path in (site, site / "saxpy.whl", manifest.with_suffix("")):
        commands = ["inspect"], ["inspect", "--json"], ["inspect", "--size"], ["coverage"], ["verify"]
        for command in (*commands, ["explain", "--device", "sm_80", "--driver", "12.2"]):
            assert main([*command, str(path)]) == 1
            output = capsys.readouterr()
            assert message in output.err
            assert "saxpy.fatbin.json" in output.err
            assert output.out == ""
    assert driver.loaded == []


def test_a_manifest_of_another_module_is_refused(site: Path, use: Callable[..., Driver]) -> None:
    use()
    folder = site / "saxpy_demo/kernels"
    (folder / "other.fatbin.json").write_bytes((folder / "saxpy.fatbin.json").read_bytes())
    with pytest.raises(cuda_wheel.ImageError, match=f"is the manifest of '{SAXPY}', not of 'saxpy_demo.kernels.other'"):
        cuda_wheel.load("saxpy_demo.kernels.other")


@pytest.mark.slow
def test_kernels_are_found_by_name_expression_and_symbol(
    fixture_wheel, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 0))
    monkeypatch.syspath_prepend(fixture_wheel("matmul_templates"))
    module = cuda_wheel.load("matmul_demo.kernels.matmul")
    assert list(module) == ["matmul<double, 8>", "matmul<float, 16>"]
    assert module["matmul<float,16>"].symbol == module["matmul< float, 16 >"].symbol == "_Z6matmulIfLi16EEvPKT_S2_PS0_i"
    with pytest.raises(
        cuda_wheel.UnknownKernelError, match="no kernel 'matmul<float, 32>'; did you mean matmul<float, 16>"
    ):
        module["matmul<float, 32>"]
    with pytest.raises(KeyError):
        module["nothing of the kind"]
    sys.modules.pop("matmul_demo", None)


def test_kernels_with_the_same_name_are_found_by_symbol() -> None:
    infos = tuple(manifest_module.KernelInfo("f", symbol, ()) for symbol in ("_Z1fi", "_Z1ff"))
    manifest = manifest_module.Manifest("a.b", "b.fatbin", 0, "", {}, (), (), (), infos)
    module = module_module.Module(
        manifest, manifest_module.Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 0, "", {}), "native", 0
    )
    assert list(module) == ["_Z1fi", "_Z1ff"]
    with pytest.raises(
        cuda_wheel.UnknownKernelError, match="several kernels 'f'; use the symbol instead: _Z1fi, _Z1ff"
    ):
        module["f"]


def test_modules_and_kernels_cannot_be_pickled(site: Path, use: Callable[..., Driver]) -> None:
    use()
    module = cuda_wheel.load(SAXPY)
    for thing in (module, module["saxpy"]):
        with pytest.raises(TypeError, match="belongs to this process"):
            pickle.dumps(thing)
