"""Damaged and forged wheels: the result is a CudaWheelError or the right result, and never an image that the author did
not build.

Damage makes a file differ from the hash in the manifest, from the manifest's own hash, or from RECORD. A forger can
correct these hashes; the remaining forgeries describe one of the author's images wrongly, which the driver rejects, or are
not valid manifests.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import signal
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import CudaWheelError
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import _line
from cuda_wheel.cli import main
from cuda_wheel.runtime import loading
from cuda_wheel.runtime.manifest import Image, Manifest
from cuda_wheel.runtime.rules import resolve, unsupported
from tests.soak import SOAK, amount
from tests.support.driver import Driver, Result
from tests.support.loaded_modules import forget_loaded_modules, forget_package, reset_driver
from tests.support.manifests import assembled
from tests.support.processes import build_wheel
from tests.support.projects import pyproject_head
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

SEED = secrets.randbits(32) if SOAK else 0
GPUS = [(8, 0), (8, 6), (9, 0), (12, 0)]
PAIR = """
__constant__ float factors[4];
__global__ void first(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = factors[0] * x[0]; }
template <typename T> __global__ void second(T a, T* y) { y[threadIdx.x] = a; }
template __global__ void second<float>(float, float*);
template __global__ void second<double>(double, double*);
"""
OTHER = 'extern "C" __global__ void other(int* x, int n) { x[blockIdx.x] = n; }\n'
APPLY = """
extern "C" __device__ float user(float x);
__global__ void apply(float* x) { x[threadIdx.x] = user(x[threadIdx.x]); }
"""
TABLE = """
[tool.cuda-wheel]
architectures = ["80-real", "90-real", "80-virtual"]
[[tool.cuda-wheel.module]]
name = "damaged.apply"
extern = ["user"]
"""


# --- the original wheel ---------------------------------------------------------------------------


class OriginalWheel:
    """A wheel with its files and manifests, and its images by the bytes that the driver gets."""

    def __init__(self, wheel: Path) -> None:
        self.wheel = wheel
        self.files = contents(wheel)
        self.manifests = {
            manifest.name: manifest
            for name, text in self.files.items()
            if name.endswith(".fatbin.json")
            for manifest in [manifest_of(text, name)]
        }
        self.images: dict[bytes, tuple[Manifest, Image]] = {}
        for manifest in self.manifests.values():
            for image in manifest.images:
                self.images[self.code(manifest, image)] = manifest, image

    def code(self, manifest: Manifest, image: Image) -> bytes:
        fatbin = self.files[f"damaged/{manifest.fatbin}"]
        return fatbin[image.offset : image.offset + image.size] + b"\0" * (image.kind == "ptx")


class StrictDriver(Driver):
    """A stand-in driver that loads only the author's images, each only on GPUs that it supports, with their kernels."""

    def __init__(self, original: OriginalWheel) -> None:
        super().__init__(*GPUS)
        self.original = original
        self.foreign: list[bytes] = []
        self.gpu = GPUS[0]

    def cuLibraryLoadData(self, code: bytes, *rest: Any) -> tuple[Any, ...]:
        self.loaded.append(code)
        if code not in self.original.images:
            self.foreign.append(code)
            return Result.CUDA_ERROR_INVALID_IMAGE, None
        _, image = self.original.images[code]
        if unsupported(image.target, self.gpu) or image.source is not None:
            return Result.CUDA_ERROR_NO_BINARY_FOR_GPU, None
        return Result.CUDA_SUCCESS, list(self.original.images).index(code)

    def cuLibraryGetKernel(self, library: int, symbol: bytes) -> tuple[Any, ...]:
        manifest, _ = list(self.original.images.values())[library]
        symbols = [kernel.symbol.encode() for kernel in manifest.kernels]
        if symbol not in symbols:
            return Result.CUDA_ERROR_NOT_FOUND, None
        return Result.CUDA_SUCCESS, symbols.index(symbol)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, extra: str) -> OriginalWheel:
    root = tmp_path_factory.mktemp("damaged")
    project = root / "project"
    (project / "damaged").mkdir(parents=True)
    hook = '[tool.hatch.build.targets.wheel]\npackages = ["damaged"]\nhooks.cuda = {}\n'
    (project / "pyproject.toml").write_text(pyproject_head("hatchling", extra) + hook + TABLE)
    for name, text in {"__init__.py": "", "pair.cu": PAIR, "other.cu": OTHER, "apply.cu": APPLY}.items():
        (project / "damaged" / name).write_text(text)
    result = build_wheel(project, root / "dist", CUDA_WHEEL_CACHE_DIR=str(root / "cache"))
    assert result.returncode == 0, result.stdout
    return OriginalWheel(next((root / "dist").glob("*.whl")))


@pytest.fixture
def driver(original: OriginalWheel, monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictDriver]:
    driver = StrictDriver(original)
    # Building the parser takes as long as a command.
    monkeypatch.setattr(main, "command_parser", cache(main.command_parser))
    reset_driver(driver)
    forget_loaded_modules()
    yield driver
    reset_driver()
    forget_loaded_modules()


@pytest.fixture
def site(original: OriginalWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the unpacked wheel, which is on `sys.path`."""
    folder = tmp_path / "site"
    with zipfile.ZipFile(original.wheel) as archive:
        archive.extractall(folder)
    monkeypatch.syspath_prepend(folder)
    yield folder
    forget_package("damaged")


# --- mutations -----------------------------------------------------------------------------


def mutations(what: str, count: int) -> Iterator[tuple[str, Random]]:
    """Yield seeds, each with its random generator; a failure names the seed."""
    for number in range(count):
        seed = f"{what} {SEED} {number}"
        yield seed, Random(seed)


def damaged(content: bytes, others: list[bytes], random: Random) -> bytes:
    """Return content damaged as by a disk, a network or a program."""

    def place() -> int:
        return random.randrange(len(content) + 1)

    def flip() -> bytes:
        changed = bytearray(content)
        for _ in range(random.choice([1, 1, 1, 2, 10, 100])):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return bytes(changed)

    def header() -> bytes:
        """Change a number in the header of the fatbin or of one of its entries."""
        form, numbers = random.choice([("<H", [0, 1, 0xFFFF]), ("<I", [0, 1 << 31]), ("<Q", [0, 64, 1 << 40, 1 << 63])])
        changed, at = bytearray(content), random.randrange(min(len(content) - 8, 128))
        struct.pack_into(form, changed, at, random.choice(numbers))
        return bytes(changed)

    def splice() -> bytes:
        other = random.choice(others)
        start = random.randrange(len(other))
        part = other[start : start + random.choice([1, 64, 4096])]
        at = place()
        return content[:at] + part + content[at + random.choice([0, len(part)]) :]

    start, end = sorted((place(), place()))
    ways: list[Callable[[], bytes]] = [
        flip,
        flip,
        header,
        splice,
        lambda: content[:start],
        lambda: content[start:],
        lambda: content[:start] + content[end:],
        lambda: content[:start] + bytes(end - start) + content[end:],
        lambda: content[:end] + content[start:],
        lambda: content[:start] + random.randbytes(random.choice([1, 8, 500])) + content[start:],
        lambda: random.choice(others),
        lambda: b"",
    ]
    return random.choice(ways)()


STRANGE: list[Any] = [
    None, True, 0, 1, -1, 7, 1 << 31, 1 << 48, 1 << 64, 10**400, 1.5, float("nan"), float("inf"), "", "x", "0", "a" * 64,
    "0" * 64, "\0", "\ud800", "\x1b[31m", "[/b]", "[bold", "\u202e", "../x", "sm_80", "sm_90a", "compute_80", "compute_999f",
    "sm_" + "9" * 4000, "12.0", "9" * 4000 + ".0", "ptx", "cubin", "ltoir", "é", "_Z5firstPKfPfi", [], {}, [[]], [{}], {"": 0},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a JSON document."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def change_document(document: Any, random: Random) -> None:
    """Change a few values of a manifest's document."""
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        every = [path for path in places(document) if path != ("sha256",)]
        path = random.choice(every)
        parent, key, value = at(document, path[:-1]), path[-1], at(document, path)
        way = random.randrange(9)
        if way == 0:
            parent[key] = random.choice(STRANGE)
        elif way == 1:
            del parent[key]
        elif way == 2 and isinstance(parent, list):
            parent.append(json.loads(json.dumps(value)))
        elif way == 3 and isinstance(parent, dict):
            parent[random.choice(STRANGE[13:30])] = parent.pop(key)
        elif way == 4 and type(value) is int:
            parent[key] = random.choice([value + 1, value - 1, -value, value * 2, value << 40, value // 2])
        elif way == 5 and isinstance(value, str) and value:
            index = random.randrange(len(value))
            parent[key] = value[:index] + chr(ord(value[index]) ^ 1 << random.randrange(7)) + value[index + 1 :]
        elif way == 6:
            nested: Any = value
            for _ in range(random.choice([1, 50, 200])):
                nested = [nested]
            parent[key] = nested
        else:  # exchange it with another value of the same type under the same key
            alike = [each for each in every if type(at(document, each)) is type(value) and each[-1:] == path[-1:]]
            other = random.choice(alike)
            if path[: len(other)] != other and other[: len(path)] != path:
                parent[key], at(document, other[:-1])[other[-1]] = at(document, other), value


def manifest_text(document: dict[str, Any], forged: bool) -> bytes:
    """Return a manifest's text; a forger corrects its SHA-256s and sizes."""
    module, kernels = document.get("module"), document.get("kernels")
    if forged and isinstance(module, dict) and isinstance(kernels, list):
        return assembled(module, kernels).encode()
    first = json.dumps({key: value for key, value in document.items() if key not in ("module", "kernels")})[:-1]
    blocks = ",\n".join(map(_line, kernels)) if isinstance(kernels, list) else json.dumps(kernels)
    return f'{first}, "module":\n{_line(module)}\n, "kernels": [\n{blocks}\n]}}\n'.encode()


def rewritten_text(text: bytes, random: Random) -> bytes:
    """Return a manifest's text in another form, valid JSON or not, that another program might write."""
    line = random.choice(text.splitlines(keepends=True)[1:-1])
    ways: list[Callable[[], bytes]] = [
        lambda: b"\xef\xbb\xbf" + text,
        lambda: text.decode().encode("utf-16"),
        lambda: text.replace(line, line + line, 1),
        lambda: text.replace(
            b": 0", b": " + random.choice([b"NaN", b"-Infinity", b"0e9", b"-0", b"00", b"1" * 5000]), 1
        ),
        lambda: b"[" * 200_000,
        lambda: b'{"a":' * 100_000,
        lambda: text + text,
        lambda: text.replace(b"\n", b"\r\n"),
    ]
    return random.choice(ways)()


# --- checks ---------------------------------------------------------------------------------


@contextmanager
def time_limit(seed: str) -> Iterator[None]:
    """Fail if the block hangs, and name the seed if it fails."""

    def alarm(*_: object) -> None:
        raise TimeoutError("no result after 120 s")

    if hasattr(signal, "SIGALRM"):
        previous = signal.signal(signal.SIGALRM, alarm)
        remaining, _ = signal.setitimer(signal.ITIMER_REAL, 120)  # the test's own time limit
    try:
        yield
    except BaseException as error:
        raise AssertionError(f"mutation {seed!r}: {type(error).__name__}: {error}") from error
    finally:
        if hasattr(signal, "SIGALRM"):
            left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
            signal.setitimer(signal.ITIMER_REAL, max(remaining - (120 - left), 0.001) if remaining else 0)


def command(*arguments: object) -> tuple[int, str]:
    """Run `cuda-wheel` in this process and return its exit status and output."""
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        status = main.main([str(argument) for argument in arguments])
    assert status in (0, 1)
    assert not re.search("[\0-\x09\x0b-\x1f]|Traceback", output.getvalue()), output.getvalue()
    return status, output.getvalue()


def run_commands(path: Path, random: Random) -> None:
    """Run commands that read a path; slow commands run rarely."""
    ways = [["inspect", "--json"]] * 6 + [["inspect"]] * 4 + [["inspect", "--size"], ["coverage"]]
    command(*random.choice(ways), path)
    device, driver = random.choice([("sm_86", "13.0"), ("sm_120", "12.0")])
    command("explain", path, "--device", device, "--driver", driver)


def check_loads(original: OriginalWheel, driver: StrictDriver, forged: bool) -> None:
    """Load every module on every GPU: the result is a CudaWheelError or the author's kernels."""
    forget_loaded_modules()
    for name, manifest in original.manifests.items():
        for number, gpu in enumerate(GPUS):
            driver.gpu = gpu
            try:
                module = loading.load(name, device=number)
                kernels = {name: module[name] for name in module}
            except CudaWheelError:
                continue
            if not forged:
                expected = resolve(manifest, gpu, (13, 0)).image
                assert (module.manifest, module.image) == (manifest, expected)
                assert driver.loaded[-1] == original.code(manifest, expected)
                infos = {kernel.name: kernel for kernel in manifest.kernels}
                assert {name: kernel.info for name, kernel in kernels.items()} == infos
    with suppress(CudaWheelError):
        package.attach("damaged")
    assert driver.foreign == []


def check_changed(
    original: OriginalWheel,
    site: Path,
    driver: StrictDriver,
    path: Path,
    changed: bytes,
    seed: str,
    random: Random,
    forged=False,
) -> None:
    """Replace a file of a module, check everything that reads the module, and restore the file."""
    content = path.read_bytes()
    path.write_bytes(changed)
    with time_limit(seed):
        check_loads(original, driver, forged=forged)
        run_commands(site, random)
        assert command("verify", site)[0] == (changed != content)
    path.write_bytes(content)


def check_changed_manifests(
    original: OriginalWheel,
    site: Path,
    driver: StrictDriver,
    kind: str,
    number: int,
    change: Callable[[bytes, Random], bytes],
    forged: bool,
) -> None:
    """Change the text of a manifest, once for each of `number` seeds, and check everything that reads the module."""
    for seed, random in mutations(kind, number):
        path = site / "damaged" / f"{random.choice(list(original.manifests.values())).fatbin}.json"
        check_changed(original, site, driver, path, change(path.read_bytes(), random), seed, random, forged)


def test_a_damaged_fatbin_gives_an_error_or_the_right_kernels(
    original: OriginalWheel, site: Path, driver: StrictDriver, count
) -> None:
    others = [each for each in original.files.values() if each]
    for seed, random in mutations("fatbin", number := amount(25, 3000)):
        path = site / "damaged" / random.choice(list(original.manifests.values())).fatbin
        changed = damaged(path.read_bytes(), others, random)
        check_changed(original, site, driver, path, changed, seed, random)
    assert driver.loaded
    count("mutations", number)


def test_a_damaged_manifest_gives_an_error_or_the_right_kernels(
    original: OriginalWheel, site: Path, driver: StrictDriver, count
) -> None:
    others = [each for each in original.files.values() if each]

    def change(text: bytes, random: Random) -> bytes:
        document = json.loads(text)
        way = random.randrange(6)
        if way < 3:
            change_document(document, random)
            return manifest_text(document, forged=False)
        return rewritten_text(text, random) if way == 3 else damaged(text, others, random)

    number = amount(60, 2500)
    check_changed_manifests(original, site, driver, "manifest", number, change, forged=False)
    count("mutations", number)


def test_a_forged_manifest_loads_only_the_authors_images(
    original: OriginalWheel, site: Path, driver: StrictDriver, count
) -> None:
    def change(text: bytes, random: Random) -> bytes:
        document = json.loads(text)
        change_document(document, random)
        changed = manifest_text(document, forged=True)
        return rewritten_text(changed, random) if random.randrange(5) == 0 else changed

    number = amount(25, 2500)
    check_changed_manifests(original, site, driver, "forged", number, change, forged=True)
    count("mutations", number)


# --- wheels -----------------------------------------------------------------------------------------


def zipped(files: list[tuple[str, bytes]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return stream.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def repacked(original: OriginalWheel, random: Random) -> bytes:
    """Return a wheel with files that the author did not add, or with wrong information about its files."""
    files = list(original.files.items())
    index = random.randrange(len(files))
    name, content = files[index]
    way = random.randrange(8)
    if way == 0:
        files.insert(random.randrange(len(files)), (name, random.choice([content, content[1:], b"{}"])))
    elif way == 1:
        start = random.choice(["../", "/", "a/../../", "C:\\", "\\", "..\\"])
        files.append((start + name, content))
    elif way == 2:
        del files[index]
    elif way == 3:
        files[index] = (name.swapcase() if random.random() < 0.5 else name + "x", content)
    elif way == 4:
        files.append(("damaged/more.fatbin.json", random.choice(list(original.files.values()))))
    elif way == 5:
        files[index] = (name, damaged(content or b"x" * 9, [b"xyz" * 9], random))
    archive = bytearray(zipped(files))
    if way > 5:
        # Change a field of the central directory, which is read first, or of a member's header: flags, method, CRC,
        # both sizes, offset.
        directory = [match.start() for match in re.finditer(b"PK\x01\x02", archive)]
        local = [match.start() for match in re.finditer(b"PK\x03\x04", archive)]
        fields = [(8, "<H"), (10, "<H"), (16, "<I"), (20, "<I"), (24, "<I"), (42, "<I")]
        where = random.choice(directory if way == 6 else local)
        field, form = random.choice(fields)
        struct.pack_into(form, archive, where + field - (0 if way == 6 else 2), random.choice([0, 1, 9, 99, 0xFFFE]))
    return bytes(archive)


def unpacked_files(wheel: bytes) -> dict[str, bytes] | None:
    """Return the files that an installer would unpack from a wheel; None if it cannot read the wheel."""
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return None


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_damaged_wheel_gives_an_error_or_the_right_kernels(
    original: OriginalWheel, driver: StrictDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count
) -> None:
    content = original.wheel.read_bytes()
    for seed, random in mutations("wheel", number := amount(25, 2000)):
        whole = random.random() < 0.5
        changed = (
            damaged(content, list(filter(None, original.files.values())), random)
            if whole
            else repacked(original, random)
        )
        path = tmp_path / f"{seed.replace(' ', '-')}.whl"
        path.write_bytes(changed)
        with time_limit(seed), monkeypatch.context() as patch:
            patch.setattr(sys, "path", [str(path), *sys.path])
            check_loads(original, driver, forged=False)
            run_commands(path, random)
            if command("verify", path)[0] == 0:
                assert unpacked_files(changed) == original.files
        forget_package("damaged")
        path.unlink()
    count("mutations", number)
