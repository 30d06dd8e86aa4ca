"""The `cuda-wheel` command: its output, JSON and exit statuses."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from cuda_wheel import __version__
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from tests.support.manifests import plain, text_of
from tests.support.processes import run, run_cuda_wheel
from tests.support.projects import KERNEL

pytestmark = pytest.mark.one_toolchain

Command = Callable[..., subprocess.CompletedProcess[str]]


def test_inspect_prints_the_documented_json(fixture_wheel, cuda_wheel: Command, extra: str) -> None:
    wheel = fixture_wheel("saxpy")
    (module,) = json.loads(cuda_wheel("inspect", wheel, "--json").stdout)["modules"]
    assert module["name"] == "saxpy_demo.kernels.saxpy"
    assert module["fatbin"] == "saxpy.fatbin"
    assert module["toolchain"]["nvrtc"].startswith("12.9." if extra == "cu12" else "13.")
    assert [kernel["name"] for kernel in module["kernels"]] == ["saxpy"]
    assert module["kernels"][0]["symbol"] == "_Z5saxpyfPKfPfi"
    with zipfile.ZipFile(wheel) as archive:
        fatbin = archive.read("saxpy_demo/kernels/saxpy.fatbin")
    for image in module["images"]:
        content = fatbin[image["offset"] : image["offset"] + image["size"]]
        assert sha256(content).hexdigest() == image["sha256"]
        assert content.startswith(
            b"\x7fELF" if image["kind"] == "cubin" else b"\n.version " + image["ptx_version"].encode()
        )


def test_inspect_takes_a_wheel_a_folder_a_fatbin_a_manifest_and_a_package(
    fixture_wheel, unpacked, cuda_wheel: Command
) -> None:
    folder = unpacked("saxpy")
    (fatbin,) = folder.rglob("*.fatbin")
    answers = {
        cuda_wheel("inspect", path, "--json", PYTHONPATH=str(folder)).stdout
        for path in (fixture_wheel("saxpy"), folder, fatbin, f"{fatbin}.json", "saxpy_demo", "saxpy_demo.kernels")
    }
    assert len(answers) == 1


def test_inspect_draws_a_table(fixture_wheel, cuda_wheel: Command) -> None:
    text = cuda_wheel("inspect", fixture_wheel("matmul_templates"), COLUMNS="100").stdout
    assert "matmul_demo.kernels.matmul" in text
    assert "matmul<float, 16>(const float*, const float*, float*, int)" in text
    assert "sm_90" in text
    assert "6.3 (was " in text and "8.6 (was " in text  # PTX for compute_75 and for compute_100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "driver", "how", "target"),
    [
        ("sm_80", "13.0", "native", "sm_80"),
        ("8.6", "13.0", "native", "sm_80"),
        ("sm_90", "13.0", "native", "sm_90"),
        ("sm_100", "13.0", "jit", "compute_80"),
        ("sm_70", "13.0", None, None),
        ("sm_100", "10.2", None, None),
    ],
)
def test_explain_names_the_image_and_the_reasons(
    fixture_wheel, cuda_wheel: Command, device: str, driver: str, how: str | None, target: str | None
) -> None:
    wheel = fixture_wheel("reduce_cub")
    result = cuda_wheel("explain", wheel, "--device", device, "--driver", driver, "--json")
    (module,) = json.loads(result.stdout)["modules"]
    assert result.returncode == (1 if how is None else 0)
    assert module["name"] == "reduce_demo.kernels.reduce"
    assert module["how"] == how
    assert (module["image"] and module["image"]["target"]) == target
    assert len(module["rejected"]) == (4 if how is None else 3)
    assert all(item["reason"] and item["image"]["sha256"] for item in module["rejected"])
    plain = cuda_wheel("explain", wheel, "--device", device, "--driver", driver)
    assert plain.returncode == result.returncode
    assert (f"{target}" if how else "no image fits") in plain.stdout


@pytest.mark.slow
def test_explain_uses_nvjitlink_if_it_is_given(fixture_wheel, cuda_wheel: Command) -> None:
    arguments = ("explain", fixture_wheel("reduce_cub"), "--device", "sm_100", "--driver", "10.2", "--json")
    assert json.loads(cuda_wheel(*arguments).stdout)["modules"][0]["image"] is None
    result = cuda_wheel(*arguments, "--nvjitlink", "10.2")
    assert json.loads(result.stdout)["modules"][0]["how"] is None  # nvJitLink 10.2 reads only PTX up to 6.5
    result = cuda_wheel("explain", *arguments[1:3], "sm_100", "--driver", "12.0", "--nvjitlink", "12.9")
    assert "jit" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "driver", "status", "text"),
    [
        ("8.7", "13.0", 1, "cubin sm_80, native, not known to run: it is machine code for 8.0, the GPU is 8.7"),
        ("8.9", "13.0", 0, "cubin sm_80, native\n"),
        ("12.0", "12.6", 1, "the driver does not support this GPU: drivers for CUDA 12.8 and later do\n"),
        ("7.0", "13.1", 1, "the driver does not support this GPU: drivers for CUDA 9.0 to 13.0 do\n"),
        ("8.8", "13.0", 0, "cubin sm_80, native\n"),  # a GPU that is not in the table
    ],
)
def test_explain_never_promises_what_is_not_known(
    device: str, driver: str, status: int, text: str, make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75-real", "80-real", "120"]')
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    arguments = ("explain", tmp_path / "out", "--device", device, "--driver", driver)
    result, in_json = cuda_wheel(*arguments), cuda_wheel(*arguments, "--json")
    assert (result.returncode, in_json.returncode) == (status, status)
    assert text in result.stdout
    document = json.loads(in_json.stdout)
    (module,) = document["modules"]
    assert (document["unsupported"] is not None) == ("does not support" in text)
    assert (module["doubt"] is not None) == ("not known" in text)


def test_explain_says_once_what_several_modules_and_images_have_in_common(
    make_project, cuda_wheel: Command, tmp_path: Path
) -> None:
    table = '[tool.cuda-wheel]\narchitectures = ["75-real", "80-real", "90", "100-real"]\n'
    table += '[[tool.cuda-wheel.module]]\nname = "demo.other"\narchitectures = ["80-real"]\n'
    project = make_project(table, **{f"demo/{name}.cu": KERNEL for name in ("one", "other", "two")})
    assert cuda_wheel("build", project, "-o", tmp_path / "out").returncode == 0
    result = cuda_wheel("explain", tmp_path / "out", "--device", "sm_75", "--driver", "12.2")
    assert result.stdout.splitlines()[1:] == [
        "demo.one, demo.two: cubin sm_75, native",
        "  not cubin sm_80, sm_90, sm_100: are machine code for 8.x, 9.x, 10.x, the GPU is 7.5",
        "  not ptx compute_90 (PTX 7.8): needs compute capability 9.0 or later",
        "demo.other: no image fits",
        "  not cubin sm_80: is machine code for 8.x, the GPU is 7.5",
    ]


@pytest.mark.slow
def test_explain_knows_the_compression(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    for compress, status in (("size", 1), ("speed", 0)):
        project = make_project(f'[tool.cuda-wheel]\ncompress = "{compress}"\narchitectures = ["80-real", "75-virtual"]')
        assert cuda_wheel("build", project, "-o", tmp_path / compress).returncode == 0
        result = cuda_wheel("explain", tmp_path / compress, "--device", "8.6", "--driver", "12.2")
        assert result.returncode == (status or "not known" in result.stdout)
        assert (
            "the fatbin is compressed with zstd; drivers before CUDA 12.4 do not read it" in result.stdout
        ) == status
        assert (
            "no image fits"
            not in cuda_wheel("explain", tmp_path / compress, "--device", "8.6", "--driver", "12.4").stdout
        )


def test_explain_without_a_gpu_says_so(fixture_wheel, cuda_wheel: Command) -> None:
    result = cuda_wheel("explain", fixture_wheel("saxpy"), CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 1
    assert result.stdout.startswith("cuda-wheel: ")
    assert "driver is installed" in result.stdout


def test_verify_passes_what_was_built(fixture_wheel, unpacked, cuda_wheel: Command) -> None:
    for path in (fixture_wheel("stencil"), unpacked("stencil")):
        result = cuda_wheel("verify", path)
        assert result.returncode == 0
        assert result.stdout.startswith("stencil_demo.kernels.stencil: matches its manifest\n")


def change(fatbin: Path, at: int) -> None:
    content = bytearray(fatbin.read_bytes())
    content[at] ^= 1
    fatbin.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda fatbin, images: change(fatbin, images[0]["offset"] + 9), "cubin sm_80 differs from the manifest"),
        (
            lambda fatbin, images: change(fatbin, images[2]["offset"] + 9),
            "ptx compute_90 (PTX 7.8) differs from the manifest",
        ),
        (lambda fatbin, images: change(fatbin, 0), "stencil.fatbin differs from the manifest between its images"),
        (lambda fatbin, images: fatbin.write_bytes(fatbin.read_bytes()[:-1]), "bytes, not"),
        (lambda fatbin, images: fatbin.unlink(), "stencil.fatbin cannot be read"),
    ],
)
def test_verify_names_what_differs(damage, message: str, unpacked, cuda_wheel: Command) -> None:
    folder = unpacked("stencil")
    (fatbin,) = folder.rglob("*.fatbin")
    damage(fatbin, plain(Path(f"{fatbin}.json").read_text())["images"])
    result = cuda_wheel("verify", folder)
    assert result.returncode == 1
    assert result.stdout.startswith("stencil_demo.kernels.stencil: ")
    assert message in result.stdout


def rewritten(text: str, path: tuple[str | int, ...], value: object) -> str:
    """Return a manifest with a changed value and the right SHA-256 for it."""
    place = document = plain(text)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return manifest_text(manifest_of(text_of(document), "x"))


FORGERIES: list[tuple[tuple[str | int, ...], object, str]] = [
    (("images", 0, "target"), "sm_86", "cubin sm_86 is for sm_80"),
    (("images", 2, "ptx_version"), "8.0", "ptx compute_90 (PTX 8.0) is PTX 7.8"),
    (("images", 2, "target"), "compute_75", "ptx compute_75 (PTX 7.8) is for compute_90"),
    (("kernels", 0, "symbol"), "other", "cubin sm_80 has no kernel other"),
    (("kernels", 0, "parameters", -1, "size"), 2, "cubin sm_80 has other parameters for _Z"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "value", "message"), FORGERIES)
def test_verify_names_where_images_contradict_the_manifest(
    path: tuple[str | int, ...], value: object, message: str, fixture_wheel, tmp_path: Path, cuda_wheel: Command
) -> None:
    """The manifest and, in the second case, RECORD have the right hashes for the change."""
    with zipfile.ZipFile(fixture_wheel("stencil")) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = next(name for name in files if name.endswith(".fatbin.json"))
    record = next(name for name in files if name.endswith("/RECORD"))
    old = files[manifest]
    files[manifest] = rewritten(old.decode(), path, value).encode()
    assert recorded(old) in files[record]
    whole = files | {record: files[record].replace(recorded(old), recorded(files[manifest]))}
    for number, (content, also) in enumerate(
        [
            (files, "RECORD: stencil_demo/kernels/stencil.fatbin.json differs from RECORD"),
            (whole, "RECORD: matches the files"),
        ]
    ):
        with zipfile.ZipFile(tmp_path / f"{number}.whl", "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
        result = cuda_wheel("verify", tmp_path / f"{number}.whl")
        assert result.returncode == 1
        assert message in result.stdout
        assert also in result.stdout


def recorded(content: bytes) -> bytes:
    """Return the hash and size of a file as RECORD lists them."""
    return urlsafe_b64encode(sha256(content).digest()).rstrip(b"=") + b",%d" % len(content)


def test_verify_checks_installed_files_against_record(unpacked, cuda_wheel: Command) -> None:
    folder = unpacked("saxpy")
    path = folder / "saxpy_demo/kernels/saxpy.fatbin.json"
    path.write_text(rewritten(path.read_text(), ("options",), ["--other"]))
    for place in (folder, folder / "saxpy_demo", path.with_suffix("")):
        result = cuda_wheel("verify", place)
        assert (result.returncode, f"{path} differs from RECORD" in result.stdout) == (1, True)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("command", ["inspect", "explain", "verify", "coverage"])
def test_a_malicious_wheel_is_rejected(command: str, fixture_wheel, tmp_path: Path, capsys) -> None:
    from cuda_wheel.cli.main import main

    path = tmp_path / "saxpy.whl"
    name = "saxpy_demo/kernels/saxpy.fatbin"
    for more, message in (
        (name, f"it contains '{name}' twice"),
        (name.upper(), f"it contains '{name}' twice"),
        ("../x", "'../x' would be unpacked outside the target directory"),
        ("/x", "'/x' would be unpacked outside"),
        ("C:\\x", "'C:"),
    ):
        path.write_bytes(fixture_wheel("saxpy").read_bytes())
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(more, "x")
        assert main([command, str(path)]) == 1
        assert message in capsys.readouterr().err
    content = bytearray(fixture_wheel("saxpy").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (3 << 30).to_bytes(4, "little")  # the uncompressed size
    path.write_bytes(content)
    assert main([command, str(path)]) == 1
    assert "bytes, which is too much for a wheel of its size" in capsys.readouterr().err
    content = bytearray(fixture_wheel("saxpy").read_bytes())
    for place in [match.start() for match in re.finditer(rb"PK\x01\x02", content)]:
        content[place + 8] |= 1  # encrypted
    path.write_bytes(content)
    assert main([command, str(path)]) == 1
    assert "is encrypted" in capsys.readouterr().err


def test_names_are_not_markup(unpacked, capsys: pytest.CaptureFixture[str]) -> None:
    from cuda_wheel.cli.main import main

    folder = unpacked("saxpy")
    path = folder / "saxpy_demo/kernels/saxpy.fatbin.json"
    path.write_text(rewritten(path.read_text(), ("images", -1, "source"), "[/b].cu"))
    assert main(["inspect", str(folder)]) == 0
    assert "[/b].cu" in capsys.readouterr().out
    assert main(["inspect", "--size", str(folder)]) == 0
    assert "[/b].cu" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("command", ["inspect", "explain", "verify"])
def test_a_path_without_modules_is_an_error(command: str, cuda_wheel: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("nothing")
    (tmp_path / "broken.fatbin.json").write_text("{")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w"):
        pass
    for path, message in {
        tmp_path / "empty": "contains no module",
        tmp_path / "empty.whl": "contains no module",
        tmp_path / "text": "is neither a wheel nor a fatbin with its manifest",
        tmp_path / "nowhere.whl": "nowhere.whl does not exist",
        "nowhere": "no package of that name is installed",
        "json": "contains no module",
        "json.decoder": "no package of that name is installed",
        tmp_path / "broken.fatbin.json": "is not a cuda-wheel manifest",
    }.items():
        result = cuda_wheel(command, path)
        assert result.returncode == 1
        assert message in result.stdout
        assert "Traceback" not in result.stdout


@pytest.mark.slow
def test_a_damaged_wheel_is_an_error_without_a_traceback(fixture_wheel, cuda_wheel: Command, tmp_path: Path) -> None:
    content = fixture_wheel("saxpy").read_bytes()
    random = Random(0)
    for number in range(12):
        damaged = bytearray(content)
        for _ in range(1 + number):
            damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        path = tmp_path / "damaged.whl"
        path.write_bytes(damaged[: random.randrange(len(damaged))] if number % 3 == 0 else damaged)
        result = cuda_wheel("verify", path)
        assert "Traceback" not in result.stdout
        assert result.returncode in (0, 1)  # the changed bit may be outside the module's files


@pytest.mark.slow
def test_names_that_the_terminal_cannot_show_are_escaped(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"', **{"demo/größe.cu": KERNEL})
    assert cuda_wheel("build", project, "-o", tmp_path / "out", PYTHONIOENCODING="ascii").returncode == 0
    assert "demo.gr\\xf6\\xdfe" in cuda_wheel("verify", tmp_path / "out", PYTHONIOENCODING="ascii").stdout
    for encoding in ("ascii", "latin-1", "utf-8"):
        result = cuda_wheel("inspect", tmp_path / "out", "--json", PYTHONIOENCODING=encoding)
        assert json.loads(result.stdout)["modules"][0]["name"] == "demo.größe"


def test_an_output_folder_that_cannot_be_written_is_an_error(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = cuda_wheel("build", make_project('[tool.cuda-wheel]\narchitectures = "80"'), "-o", tmp_path / "file")
    assert result.returncode == 1
    assert "fill.fatbin cannot be written: Not a directory." in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_standard_output_is_an_error(fixture_wheel) -> None:
    command = [sys.executable, "-m", "cuda_wheel", "verify", str(fixture_wheel("saxpy"))]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode != 0
    assert "No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


def test_build_writes_the_images_and_nothing_else(make_project, cuda_wheel: Command, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"')
    before = sorted(project.rglob("*"))
    result = cuda_wheel("build", project, "-o", tmp_path / "out")
    assert result.returncode == 0
    assert sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")) == [
        "demo/fill.fatbin",
        "demo/fill.fatbin.json",
    ]
    assert sorted(project.rglob("*")) == before
    assert result.stdout.splitlines()[1].startswith("demo.fill: 1 kernel, cubin sm_80, ptx compute_80 (PTX 7.0), ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_build_shows_a_bar_on_a_terminal_and_the_lines_after_it(make_project, tmp_path: Path) -> None:
    # One at a time, and so many that the bar is drawn between them, on any machine.
    project = make_project('[tool.cuda-wheel]\narchitectures = ["75", "80", "86", "89", "90", "100", "120", "121"]')
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "cuda_wheel", "build", project, "-o", tmp_path / "out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "CUDA_WHEEL_JOBS": "1"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal is closed
            while output := os.read(ours, 4096):
                seen += output
        lines = process.stdout.read().splitlines()
    os.close(ours)
    assert process.returncode == 0
    assert b"compiling" in seen
    assert b"8/8" in seen
    assert re.search(rb"\d:\d\d:\d\d .*\d:\d\d:\d\d left", seen)
    assert [line.partition(",")[0] for line in lines[:2]] == ["cuda-wheel: 1 module", "demo.fill: 1 kernel"]
    assert re.fullmatch(r"cuda-wheel: 8 jobs in \d+\.\d s: 8 compiled(; workers: .*)?", lines[2])
    assert len(lines) == 3


def test_build_without_a_valid_project_is_an_error(cuda_wheel: Command, tmp_path: Path) -> None:
    assert "it has no pyproject.toml" in cuda_wheel("build", tmp_path, "-o", tmp_path / "out").stdout
    (tmp_path / "pyproject.toml").write_text("[build-system\n")
    assert "pyproject.toml cannot be read" in cuda_wheel("build", tmp_path, "-o", tmp_path / "out").stdout
    (tmp_path / "pyproject.toml").write_text('[build-system]\nbuild-backend = "flit_core.buildapi"\n')
    result = cuda_wheel("build", tmp_path, "-o", tmp_path / "out")
    assert result.returncode == 1
    assert (
        "the build back end 'flit_core.buildapi', whose layout cuda-wheel does not know; it knows hatchling.build"
        in result.stdout
    )


@pytest.mark.parametrize(
    "arguments",
    [(), ("inspect",), ("explain", "x", "--device", "ampere"), ("explain", "x", "--driver", "twelve"), ("fly",)],
)
def test_wrong_usage_is_status_2(arguments: tuple[str, ...], cuda_wheel: Command) -> None:
    result = cuda_wheel(*arguments)
    assert result.returncode == 2
    assert result.stdout.startswith("usage: cuda-wheel")


def test_the_version_is_printed(cuda_wheel: Command) -> None:
    assert cuda_wheel("--version").stdout == f"cuda-wheel {__version__}\n"


@pytest.mark.slow
def test_inspect_and_explain_show_what_is_for_linking(fixture_wheel, cuda_wheel: Command) -> None:
    wheel = fixture_wheel("plugin")
    shown = cuda_wheel("inspect", wheel, COLUMNS="200").stdout
    assert "user_transform: for linking with other modules" in shown
    assert 'to be defined by the linking code, extern "C" float user_transform(float x, float parameter)' in shown
    explained = cuda_wheel("explain", wheel, "--device", "sm_90", "--driver", "13.0")
    assert explained.returncode == 0
    assert (
        "plugin_demo.kernels.waves: ptx compute_90 (PTX 7.8), jit, to be linked: load(..., link=[...])"
        in explained.stdout
    )


@pytest.mark.parametrize("words", [["--version"], ["inspect", "nowhere.whl"], ["build"], ["nonsense"]], ids=" ".join)
def test_the_command_gives_in_the_process_of_the_tests_what_it_gives_in_its_own(
    words: list[str], tmp_path: Path
) -> None:
    alone = run(sys.executable, "-m", "cuda_wheel", *words, cwd=tmp_path)
    inside = run_cuda_wheel(*words, cwd=tmp_path)
    assert (inside.returncode, inside.stdout) == (alone.returncode, alone.stdout)
