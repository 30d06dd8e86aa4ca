"""hatchling: the contents of the wheel, and the messages of failed builds."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

import cuda_wheel
from tests.support.processes import build_wheel, pip_wheel, run
from tests.support.projects import KERNEL, copy_fixture
from tests.support.wheels import contents

pytestmark = pytest.mark.one_toolchain


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_is_pure_and_contains_images_instead_of_sources(fixture_wheel) -> None:
    wheel = fixture_wheel("matmul_templates")
    assert wheel.name == "matmul_demo-1.0-py3-none-any.whl"
    assert {name for name in contents(wheel) if not name.startswith("matmul_demo-")} == {
        "matmul_demo/__init__.py",
        "matmul_demo/__main__.py",
        "matmul_demo/kernels/__init__.py",
        "matmul_demo/kernels/matmul.fatbin",
        "matmul_demo/kernels/matmul.fatbin.json",
    }
    assert "Root-Is-Purelib: true" in contents(wheel)["matmul_demo-1.0.dist-info/WHEEL"].decode()


@pytest.mark.slow
def test_nothing_is_written_into_the_source_tree(tmp_path: Path, extra: str) -> None:
    project = copy_fixture("saxpy", tmp_path / "project", extra)
    before = snapshot(project)
    assert build_wheel(project, tmp_path / "dist").returncode == 0
    assert snapshot(project) == before


@pytest.mark.slow
def test_sources_stay_in_the_wheel_if_configured(make_project, tmp_path: Path) -> None:
    project = make_project(
        '[tool.cuda-wheel]\narchitectures = "80"\nexclude-sources = false',
        **{"demo/fill.cu": KERNEL, "demo/fill.cuh": "// header\n"},
    )
    assert build_wheel(project, tmp_path / "dist").returncode == 0
    assert {"demo/fill.cu", "demo/fill.cuh", "demo/fill.fatbin"} < set(
        contents(tmp_path / "dist/demo-1-py3-none-any.whl")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", ["[tool.hatch.build.targets.wheel]\nexclude = ['*.txt']", "[tool.hatch.build]\nexclude = ['*.txt']"]
)
def test_the_projects_own_exclusions_still_apply(table: str, make_project, tmp_path: Path) -> None:
    project = make_project(hook="", **{"demo/fill.cu": KERNEL, "demo/secret.txt": "x", "demo/open.md": "x"})
    pyproject = (project / "pyproject.toml").read_text()
    if "wheel]" in table:
        pyproject = pyproject.replace('packages = ["demo"]', "packages = ['demo']\nexclude = ['*.txt']")
    else:
        pyproject += "\n" + table
    pyproject += "\n[tool.hatch.build.targets.wheel.hooks.cuda]\n[tool.cuda-wheel]\narchitectures = '80'\n"
    (project / "pyproject.toml").write_text(pyproject)
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    names = set(contents(tmp_path / "dist/demo-1-py3-none-any.whl"))
    assert {"demo/fill.fatbin", "demo/open.md"} < names
    assert not {"demo/fill.cu", "demo/secret.txt"} & names


@pytest.mark.slow
@pytest.mark.parametrize(
    "selection",
    ['artifacts = ["*.cu"]', '[tool.hatch.build.targets.wheel.force-include]\n"demo/fill.cu" = "demo/fill.cu"'],
)
def test_sources_stay_out_of_the_wheel_however_they_are_selected(selection: str, make_project, tmp_path: Path) -> None:
    project = make_project(hook="")
    table = '\n[tool.hatch.build.targets.wheel.hooks.cuda]\n[tool.cuda-wheel]\narchitectures = "80"\n'
    with (project / "pyproject.toml").open("a") as stream:
        stream.write(f"{selection}\n{table}")
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    names = set(contents(tmp_path / "dist/demo-1-py3-none-any.whl"))
    assert "demo/fill.fatbin" in names
    assert "demo/fill.cu" not in names


@pytest.mark.slow
def test_rewritten_paths_determine_the_module_names(make_project, tmp_path: Path) -> None:
    project = make_project(hook="", **{"lib/native/k.cu": KERNEL, "lib/native/__init__.py": ""})
    text = (
        (project / "pyproject.toml")
        .read_text()
        .replace(
            'packages = ["demo"]',
            'only-include = ["lib", "demo"]\n[tool.hatch.build.targets.wheel.sources]\n"lib/native" = "demo/gpu"',
        )
    )
    text += "\n[tool.hatch.build.targets.wheel.hooks.cuda]\n[tool.cuda-wheel]\narchitectures = '80'\n"
    (project / "pyproject.toml").write_text(text)
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    assert "demo/gpu/k.fatbin" in contents(tmp_path / "dist/demo-1-py3-none-any.whl")
    assert "demo.gpu.k: 1 kernel" in result.stdout


@pytest.mark.slow
def test_a_vendored_loader_is_the_same_files_and_two_lines_more(make_project, tmp_path: Path) -> None:
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"\nloader = "vendor"')
    assert build_wheel(project, tmp_path / "dist").returncode == 0
    files = contents(tmp_path / "dist/demo-1-py3-none-any.whl")
    prefix = "demo/_cuda_wheel/"
    copy = {name.removeprefix(prefix): content for name, content in files.items() if name.startswith(prefix)}
    runtime = Path(cuda_wheel.__file__).parent / "runtime"
    assert {"__init__.py", "loading.py", "launching.py"} <= set(copy)
    version = cuda_wheel.__version__
    lines = f'__version__ = "{version}"\nVENDORED_FROM = "cuda-wheel {version}"\n'.encode()
    assert copy.pop("__init__.py") == (runtime / "__init__.py").read_bytes() + lines
    assert copy.pop("py.typed") == b""
    assert copy == {name: (runtime / name).read_bytes() for name in copy}


def test_a_vendored_loader_loads_without_cuda_wheel(make_project, tmp_path: Path) -> None:
    """Without a GPU, loading gets as far as the driver."""
    project = make_project('[tool.cuda-wheel]\narchitectures = "80"\nloader = "vendor"')
    assert build_wheel(project, tmp_path / "dist").returncode == 0
    site = tmp_path / "site"
    with zipfile.ZipFile(tmp_path / "dist/demo-1-py3-none-any.whl") as archive:
        archive.extractall(site)
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cuda_wheel":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from demo._cuda_wheel import DriverError, load
try:
    load("demo.fill")
except DriverError as error:
    print("DriverError:", error)
"""
    result = run(sys.executable, "-c", program, cwd=site, CUDA_VISIBLE_DEVICES="")
    assert result.stdout.startswith("DriverError: "), result.stdout


@pytest.mark.slow
def test_an_sdist_needs_no_compiler(bare_python: Path, tmp_path: Path, extra: str) -> None:
    project = copy_fixture("saxpy", tmp_path / "project", extra)
    program = "from hatchling.build import build_sdist; build_sdist('dist')"
    result = run(bare_python, "-c", program, cwd=project)
    assert result.returncode == 0, result.stdout
    assert list((project / "dist").glob("*.tar.gz"))


def test_an_editable_install_generates_nothing(bare_python: Path, tmp_path: Path, extra: str) -> None:
    project = copy_fixture("saxpy", tmp_path / "project", extra)
    program = "from hatchling.build import build_editable; build_editable('dist')"
    result = run(bare_python, "-c", program, cwd=project)
    assert result.returncode == 0, result.stdout
    (wheel,) = (project / "dist").glob("*.whl")
    assert not [name for name in contents(wheel) if "fatbin" in name]


@pytest.mark.slow
def test_two_builds_in_different_folders_give_the_same_bytes(tmp_path: Path, extra: str) -> None:
    digests = set()
    for folder in ("one", "a/much/longer path/two"):
        project = copy_fixture("reduce_cub", tmp_path / folder / "project", extra)
        environ = {"CUDA_WHEEL_CACHE_DIR": str(tmp_path / folder / "cache"), "CUDAARCHS": "80"}
        assert build_wheel(project, tmp_path / folder / "dist", **environ).returncode == 0
        (wheel,) = (tmp_path / folder / "dist").glob("*.whl")
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(digests) == 1


@pytest.mark.slow
def test_cudaarchs_overrides_for_one_build(tmp_path: Path, extra: str) -> None:
    project = copy_fixture("saxpy", tmp_path / "project", extra)
    result = build_wheel(project, tmp_path / "dist", CUDAARCHS="86-real;89-virtual")
    assert result.returncode == 0
    assert "saxpy_demo.kernels.saxpy: 1 kernel, cubin sm_86, ptx compute_89 (PTX 7.8), " in result.stdout


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defect", "messages"),
    [
        ("bad_architecture", ["tool.cuda-wheel.architectures: 'ampere' is not an architecture."]),
        ("unknown_key", ['tool.cuda-wheel has no key "architecture": did you mean "architectures"?']),
        ("two_modules_of_one_name", ["demo/fill.cu and demo/other.cu would both become the module demo.fill"]),
        (
            "syntax_error",
            ["demo/fill.cu does not compile for sm_", 'demo/fill.cu:5:1: error: expected a ";"', "    }\n", "    ^\n"],
        ),
        (
            "missing_header",
            ['demo/fill.cu:1:23: error: cannot open source file "nowhere.cuh"', '#include "nowhere.cuh"'],
        ),
        ("no_cuda_sources", ["there is nothing to compile: no .cu file is in the packages"]),
    ],
)
def test_a_defect_ends_the_build_with_a_clean_message(
    defect: str, messages: list[str], tmp_path: Path, extra: str
) -> None:
    project = copy_fixture(f"defects/{defect}", tmp_path / defect, extra)
    before = snapshot(project)
    result = pip_wheel(project, tmp_path / "dist")
    assert result.returncode != 0
    for message in messages:
        assert message in result.stdout
    assert "Traceback" not in result.stdout
    assert not list(tmp_path.rglob("*.whl"))
    assert not list(tmp_path.rglob("*.fatbin*"))
    assert snapshot(project) == before


def test_pip_shows_the_compilers_message_by_default(tmp_path: Path, extra: str) -> None:
    project = copy_fixture("defects/syntax_error", tmp_path / "project", extra)
    result = run(
        sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", tmp_path / "dist", project
    )
    assert result.returncode != 0
    assert 'demo/fill.cu:5:1: error: expected a ";"' in result.stdout


def test_options_in_the_hooks_own_table_are_an_error(make_project, tmp_path: Path) -> None:
    project = make_project(hook='[tool.hatch.build.targets.wheel.hooks.cuda]\narchitectures = "80"')
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode != 0
    assert (
        "the table of the hook cuda has no options of its own: move architectures to [tool.cuda-wheel]."
        in result.stdout
    )


@pytest.mark.slow
def test_the_hook_has_two_names_of_which_a_project_uses_one(make_project, tmp_path: Path) -> None:
    alias = "[tool.hatch.build.targets.wheel.hooks.cuda-wheel]"
    table = '[tool.cuda-wheel]\narchitectures = "80-real"\n'
    result = build_wheel(make_project(table, hook=alias), tmp_path / "dist")
    assert result.returncode == 0, result.stdout
    assert "demo/fill.fatbin" in contents(tmp_path / "dist/demo-1-py3-none-any.whl")
    # One table is for every target, the other for wheels.
    result = build_wheel(make_project(table, hook=f"[tool.hatch.build.hooks.cuda]\n{alias}"), tmp_path / "dist")
    assert result.returncode != 0
    assert (
        "pyproject.toml has tables of the hooks cuda and cuda-wheel, which are two names of one hook" in result.stdout
    )
    result = build_wheel(make_project(hook=f'{alias}\narchitectures = "80"'), tmp_path / "dist")
    assert "the table of the hook cuda-wheel has no options of its own" in result.stdout


def test_a_wheel_of_a_project_without_the_hook_says_what_to_add(make_project, tmp_path: Path) -> None:
    attach = "import cuda_wheel\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n"
    project = make_project("[tool.cuda-wheel]\n", hook="", **{"demo/fill.cu": KERNEL, "demo/__init__.py": attach})
    assert build_wheel(project, tmp_path / "dist").returncode == 0
    run(sys.executable, "-m", "zipfile", "-e", tmp_path / "dist/demo-1-py3-none-any.whl", tmp_path / "site")
    attached = run(sys.executable, "-c", "import demo", PYTHONPATH=str(tmp_path / "site"))
    (tmp_path / "site/demo/__init__.py").write_text("")
    loaded = run(sys.executable, "-c", "import cuda_wheel; cuda_wheel.load('demo.fill')", PYTHONPATH=tmp_path / "site")
    for result in (attached, loaded):
        assert result.returncode != 0
        assert "fill.cu is there, but was not compiled" in result.stdout
        assert "add the table [tool.hatch.build.targets.wheel.hooks.cuda]" in result.stdout


def test_a_source_outside_the_project_is_rejected(make_project, tmp_path: Path) -> None:
    outside = tmp_path / "outside.cu"
    outside.write_text(KERNEL)
    project = make_project(f"[tool.hatch.build.targets.wheel.force-include]\n'{outside}' = 'demo/outside.cu'")
    result = build_wheel(project, tmp_path / "dist")
    assert result.returncode != 0
    assert "outside.cu is for the wheel, but lies outside the project" in result.stdout
