"""The hooks of `cuda_wheel.backend`, with a wrapped back end that is part of the project and builds any wheel."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.inspect.archive import open_wheel
from tests.builder.wheel.test_tuned_tables import SOURCE, table
from tests.support.processes import run
from tests.support.projects import KERNEL, write_files
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain

BACK_END = '''\
"""Builds a wheel and an sdist of the files that are listed in wheel.json and sdist.json: name -> text."""
import json, os, tarfile, time, zipfile
print("the wrapped back end")
class Hooks:
    @staticmethod
    def build_wheel(folder, config_settings=None, metadata_directory=None):
        if config_settings and "fail" in config_settings:
            raise SystemExit(7) if config_settings["fail"] == "exit" else RuntimeError("a fault of its own")
        name = "demo-1-py3-none-any.whl"
        with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
            for path, text in json.load(open("wheel.json")).items():
                info = zipfile.ZipInfo(path, time.localtime()[:6])
                info.external_attr = 0o100775 << 16 if path.endswith("/run") else 0o100664 << 16
                archive.writestr(info, text)
        return name
    @staticmethod
    def build_sdist(folder, config_settings=None):
        with tarfile.open(os.path.join(folder, "demo-1.tar.gz"), "w:gz") as archive:
            for path in json.load(open("sdist.json")):
                archive.add(path, f"demo-1/{path}")
        return "demo-1.tar.gz"
    @staticmethod
    def get_requires_for_build_wheel(config_settings=None):
        return ["ninja", *(config_settings or {})]
    @staticmethod
    def build_editable(folder, config_settings=None, metadata_directory=None):
        return f"editable {config_settings} {metadata_directory}"
'''

METADATA = {
    "demo-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1\n",
    "demo-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: own\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "demo-1.dist-info/RECORD": "",
}
PACKAGE = {"demo/__init__.py": "a = 1", "demo/fill.cu": KERNEL}
SETTINGS = 'backend = "own_back_end:Hooks"\nbackend-path = ["tools"]\narchitectures = ["80"]\n'
HEAD = '[build-system]\nrequires = ["cuda-wheel"]\nbuild-backend = "cuda_wheel.backend"\n[tool.cuda-wheel]\n'

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, kept_cache: str, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a project from its files, the files of the wheel that the wrapped back end builds,
    and the settings."""
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", kept_cache)

    def make(wheel: dict[str, str] = PACKAGE, settings: str = SETTINGS, **files: str) -> Path:
        return write_files(
            tmp_path / "project",
            **{
                **{f"src/{path}": text for path, text in PACKAGE.items()},
                "pyproject.toml": HEAD + settings,
                "tools/own_back_end.py": BACK_END,
                "wheel.json": json.dumps({**wheel, **METADATA}),
                "sdist.json": '["pyproject.toml", "src/demo/__init__.py"]',
                **files,
            },
        )

    return make


def call(project: Path, hook: str) -> subprocess.CompletedProcess[str]:
    """Call a hook in the project's folder, as front ends do, and print what it returns."""
    program = f"import cuda_wheel.backend as backend; print('returned', backend.{hook})"
    return run(sys.executable, "-c", program, cwd=project)


def built(project: Path) -> Path:
    result = call(project, "build_wheel('dist')")
    assert result.returncode == 0 and "returned demo-1-py3-none-any.whl" in result.stdout, result.stdout
    return project / "dist/demo-1-py3-none-any.whl"


def refused(project: Path, hook: str = "build_wheel('dist')") -> str:
    """Return the output of a hook that must fail without a traceback and without a file."""
    result = call(project, hook)
    assert result.returncode == 1 and "Traceback" not in result.stdout and not (project / "dist").exists(), (
        result.stdout
    )
    return result.stdout


# --- the wheel --------------------------------------------------------------------------------------


def test_the_wheel_gets_images_manifest_sbom_and_record_and_loses_the_sources(make: Make) -> None:
    wheel = built(make({**PACKAGE, "demo/k.cuh": "", "demo-1.data/scripts/run": "#!/bin/sh\n"}))
    files = contents(wheel)
    images = {"demo/fill.fatbin", "demo/fill.fatbin.json", "demo-1.dist-info/sboms/cuda-wheel.cdx.json"}
    assert files.keys() == {"demo/__init__.py", "demo-1.data/scripts/run", *METADATA, *images}
    *rows, last = csv.reader(files["demo-1.dist-info/RECORD"].decode().splitlines())
    assert last == ["demo-1.dist-info/RECORD", "", ""]
    assert {name for name, _, _ in rows} == files.keys() - {"demo-1.dist-info/RECORD"}
    for name, digest, size in rows:
        expected = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={expected}", str(len(files[name])))
    with open_wheel(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
        assert [info.filename for info in archive.infolist()][-1] == "demo-1.dist-info/RECORD"
    assert (modes["demo-1.data/scripts/run"], modes["demo/__init__.py"]) == (0o100755, 0o100644)


def test_the_same_inputs_give_the_same_bytes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make()
    first = built(project).read_bytes()
    (project / "wheel.json").write_text(json.dumps({**METADATA, **PACKAGE}))  # in another order, and some seconds later
    assert built(project).read_bytes() == first
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with zipfile.ZipFile(built(project)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_sources_stay_if_the_settings_say_so(make: Make) -> None:
    assert "demo/fill.cu" in contents(built(make(settings=SETTINGS + "exclude-sources = false\nsbom = false\n")))


def test_what_module_tables_name_is_left_out_too(make: Make) -> None:
    table = '[[tool.cuda-wheel.module]]\nname = "demo.both"\nsources = ["src/demo/a.cu", "csrc/b.cu"]\nlink = "lto"\n'
    two = {"src/demo/a.cu": 'extern "C" __global__ void a() {}\n', "csrc/b.cu": 'extern "C" __global__ void b() {}\n'}
    files = contents(built(make({**PACKAGE, "demo/a.cu": two["src/demo/a.cu"]}, SETTINGS + table, **two)))
    assert {name for name in files if "fatbin" in name or name.endswith(".cu")} == {
        f"demo/{module}.fatbin{end}" for module in ("fill", "both") for end in ("", ".json")
    }


def test_a_named_source_of_any_suffix_is_left_out(make: Make) -> None:
    table = '[[tool.cuda-wheel.module]]\nname = "demo.empty"\nsources = ["src/demo/empty.ptx"]\n'
    ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry empty() { ret; }\n"
    files = contents(built(make({**PACKAGE, "demo/empty.ptx": ptx}, SETTINGS + table, **{"src/demo/empty.ptx": ptx})))
    assert "demo/empty.fatbin" in files and "demo/empty.ptx" not in files


def test_images_are_beside_a_package_that_is_not_at_the_top_of_the_archive(make: Make) -> None:
    wheel = {"demo-1.data/purelib/demo/__init__.py": "a = 1", "other.so": ""}
    files = contents(built(make(wheel)))
    assert "demo-1.data/purelib/demo/fill.fatbin" in files and "demo/fill.fatbin" not in files


def test_a_vendored_loader_has_the_parts_that_generated_files_need(make: Make) -> None:
    wheel = {**PACKAGE, "demo/made.py": "from demo._cuda_wheel import tuned"}
    files = contents(built(make(wheel, SETTINGS + 'loader = "vendor"\n')))
    assert "demo/_cuda_wheel/loading.py" in files and "demo/_cuda_wheel/parts/tuned_tables.py" in files


def test_a_package_that_attaches_its_kernels_gets_a_stub(make: Make) -> None:
    text = "import cuda_wheel\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n"
    files = contents(built(make({**PACKAGE, "demo/__init__.py": text})))
    assert b"fill: Kernel" in files["demo/__init__.pyi"]


def test_what_the_wheel_has_already_is_not_replaced(make: Make) -> None:
    output = refused(make({**PACKAGE, "demo/fill.fatbin": "old"}))
    assert "own_back_end:Hooks puts demo/fill.fatbin into the wheel, and so would this build" in output


def test_a_wheel_without_a_record_is_refused(make: Make) -> None:
    project = make()
    (project / "wheel.json").write_text(json.dumps(PACKAGE))
    assert "demo-1-py3-none-any.whl, which is not a valid wheel: it has 0 files *.dist-info/RECORD" in refused(project)


def test_a_source_that_does_not_compile_is_an_error_of_the_source(make: Make) -> None:
    text = "__global__ void fill() { x; }\n"
    assert "src/demo/fill.cu:1" in refused(make({"demo/__init__.py": "a = 1"}, **{"src/demo/fill.cu": text}))


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_table_of_tuned_choices_is_in_the_wheel_once(is_packed: bool, make: Make) -> None:
    module = (
        '[[tool.cuda-wheel.module]]\nname = "demo.scale"\ninstantiate = ["scale<float>"]\nvariants = { TILE = [4] }\n'
    )
    wheel = {"demo/__init__.py": "a = 1"} | ({"demo/scale.tuned.json": table()} if is_packed else {})
    tree = {"src/demo/scale.cu": SOURCE, "src/demo/scale.tuned.json": table()}
    with zipfile.ZipFile(built(make(wheel, SETTINGS + module, **tree))) as archive:
        assert archive.namelist().count("demo/scale.tuned.json") == 1
        assert archive.read("demo/scale.tuned.json").decode() == table()


def test_an_invalid_pattern_of_sources_is_an_error_in_words(make: Make) -> None:
    project = make(settings=SETTINGS + 'sources = ["**a/*.cu"]\n' + '[[tool.cuda-wheel.module]]\nname = "demo.b"\n')
    for hook in ("build_wheel('dist')", "build_sdist('dist')"):
        assert 'not valid: "**" can only be an entire path component' in refused(project, hook)


# --- the sdist --------------------------------------------------------------------------------------


def test_the_sdist_gets_what_builds_read(make: Make) -> None:
    table = 'include-dirs = ["include"]\nsources = ["!src/demo/old.cu"]\n'
    table += '[[tool.cuda-wheel.module]]\nname = "demo.more"\nsources = ["csrc/more.cu"]\n'
    project = make(
        settings=SETTINGS + table,
        **{
            "src/demo/fill.cu": '#include "near.h"\n' + KERNEL,
            "src/demo/near.h": "",
            "src/demo/fill.tuned.json": "{}",
            "src/demo/old.cu": KERNEL,
            "include/far.h": "",
            "csrc/more.cu": KERNEL,
            "examples/other.cu": KERNEL,
        },
    )
    result = call(project, "build_sdist('dist')")
    assert "returned demo-1.tar.gz" in result.stdout, result.stdout
    added = {f"src/demo/{name}" for name in ("fill.cu", "fill.tuned.json", "near.h")} | {
        "include/far.h",
        "csrc/more.cu",
    }
    assert f"because own_back_end:Hooks left them out and builds read them: {', '.join(sorted(added))}" in result.stdout
    first = (project / "dist/demo-1.tar.gz").read_bytes()
    with tarfile.open(project / "dist/demo-1.tar.gz") as archive:
        assert set(archive.getnames()) == {
            f"demo-1/{path}" for path in (*added, "pyproject.toml", "src/demo/__init__.py")
        }
        assert archive.extractfile("demo-1/src/demo/fill.cu").read().decode().startswith("#include")  # type: ignore[union-attr]
    assert "returned" in call(project, "build_sdist('dist')").stdout
    assert (project / "dist/demo-1.tar.gz").read_bytes() == first


# --- the hooks --------------------------------------------------------------------------------------


def test_requirements_and_editable_installs_are_the_wrapped_back_ends_own(make: Make) -> None:
    project = make()
    assert "returned ['ninja', 'x']" in call(project, "get_requires_for_build_wheel({'x': '1'})").stdout
    assert "returned []" in call(project, "get_requires_for_build_sdist()").stdout
    assert "returned editable {'a': 'b'} meta" in call(project, "build_editable('dist', {'a': 'b'}, 'meta')").stdout
    named = "build_editable('dist', metadata_directory='meta', config_settings=None)"
    assert "returned editable None meta" in call(project, named).stdout
    program = (
        "import cuda_wheel.backend as b; print([hasattr(b, f'prepare_metadata_for_build_{k}') for k in ('wheel',)])"
    )
    assert "[False]" in run(sys.executable, "-c", program, cwd=project).stdout


def test_a_failure_of_the_wrapped_back_end_is_its_own(make: Make) -> None:
    project = make()
    raised = call(project, "build_wheel('dist', {'fail': 'raise'})")
    assert raised.returncode == 1 and "RuntimeError: a fault of its own" in raised.stdout
    exited = call(project, "build_wheel('dist', {'fail': 'exit'})")
    assert exited.returncode == 7 and "Traceback" not in exited.stdout
    for result in (raised, exited):
        assert "build_wheel of the build back end own_back_end:Hooks failed, before any kernel" in result.stdout


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", 'wraps another one: name it, such as backend = "uv_build", in [tool.cuda-wheel]'),
        ('backend = "no_such.module"', "the module no_such is not installed. Add its distribution to build-system.req"),
        ('backend = "own_back_end"\nbackend-path = ["tools"]', "own_back_end has no hook build_wheel"),
        ('backend = "own_back_end:Other"\nbackend-path = ["tools"]', "own_back_end has no Other"),
        ('backend = "elsewhere"\nbackend-path = ["tools"]', "no module elsewhere in backend-path (tools)"),
        ('backend = "own_back_end"\nbackend-path = ["../tools"]', "../tools is not a folder of the project"),
        ('backend = "faulty"\nbackend-path = ["tools"]', "cannot be imported: No module named 'absent'"),
        ('backend-path = ["tools"]\nbackend = 1', "tool.cuda-wheel.backend must be a string"),
    ],
)
def test_a_wrong_setting_is_an_error_in_words(settings: str, message: str, make: Make) -> None:
    assert message in refused(make(settings=settings, **{"tools/faulty.py": "import absent"}))


def test_hooks_that_a_back_end_may_lack_report_a_wrong_setting_too(make: Make) -> None:
    project = make(settings='backend = "no_such"')
    assert "the module no_such is not installed" in refused(project, "build_editable('dist')")
    assert "the module no_such is not installed" in refused(project, "prepare_metadata_for_build_wheel('dist')")


def test_the_key_is_for_this_back_end_alone(make: Make) -> None:
    project = make()
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("cuda_wheel.backend", "setuptools.build_meta"))
    message = 'backend = "own_back_end:Hooks" is for projects whose build-backend is "cuda_wheel.backend", and this one'
    assert message in call(project, "get_requires_for_build_wheel()").stdout


# --- the command line -------------------------------------------------------------------------------


def test_the_command_line_finds_the_modules_by_a_build_of_the_wrapped_back_end(cuda_wheel, make: Make) -> None:
    project = make({"demo/__init__.py": "a = 1"})
    result = cuda_wheel("build", project, "--dry-run", "--json")
    assert [module["name"] for module in json.loads(result.stdout)["modules"]] == ["demo.fill"]
    (project / "wheel.json").write_text("no JSON")
    result = cuda_wheel("build", project, "--dry-run")
    assert result.returncode == 1 and "must build project to know what goes into the wheel" in result.stdout
    assert "JSONDecodeError" in result.stdout
