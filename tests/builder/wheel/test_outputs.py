"""The files that a build adds to a wheel are those that it says, each complete; sources in a wheel are read back as they were."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import BuiltModule
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import source_module
from cuda_wheel.builder.wheel.outputs import (
    Package,
    attaching_packages,
    attachment_warnings,
    carried_sources,
    known_parts,
    loader_files,
    module_files,
    move,
    output_paths,
    stub_files,
    unpack_sources,
    write,
    write_new,
)
from cuda_wheel.builder.wheel.stubs import MADE_BY
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Target

pytestmark = pytest.mark.one_toolchain

PTX = Image("ptx", Target.parse("compute_75"), (6, 3), (8, 8), (10, 0), 0, 1, "0" * 64, {})
ATTACHING = "import cuda_wheel\n__getattr__, __dir__, __all__ = cuda_wheel.attach(__name__)\n"


def built(name: str, *kernels: str) -> BuiltModule:
    manifest = Manifest(
        name, f"{name.rpartition('.')[2]}.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, ("k.cu",), (), (PTX,),
        tuple(KernelInfo(kernel, kernel, ()) for kernel in kernels),
    )  # fmt: skip
    return BuiltModule((manifest,), manifest_text(manifest).encode(), b"fatbin", None)


# --- which files ------------------------------------------------------------------------------------


def test_a_build_writes_the_files_that_it_lists(tmp_path: Path) -> None:
    modules = [built("demo.kernels.b", "run"), built("demo.a", "go")]
    names = [module.name for module in modules]
    packages = {
        "demo.kernels": Package(ATTACHING, ("__init__.py",)),
        "demo": Package(ATTACHING, ("__init__.py", "__init__.pyi"), "# the project's own"),
        "other": Package(ATTACHING, ("__init__.py",)),
    }
    for module in modules:
        write(module_files(module), tmp_path)
    write(stub_files(Config(), names, packages, tmp_path, pytest.fail), tmp_path)
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(output_paths(names, packages)) == sorted(written)
    assert written == {
        "demo/a.fatbin", "demo/a.fatbin.json", "demo/kernels/b.fatbin", "demo/kernels/b.fatbin.json",
        "demo/kernels/__init__.pyi", "demo/kernels/py.typed",
    }  # fmt: skip
    assert "run: Kernel[()]" in (tmp_path / "demo/kernels/__init__.pyi").read_text()


def test_the_paths_do_not_depend_on_the_order_of_the_names() -> None:
    assert output_paths(["demo.b", "demo.a"]) == output_paths(["demo.a", "demo.b"])


def test_only_a_stub_that_cuda_wheel_made_can_be_out_of_date(tmp_path: Path) -> None:
    module = built("demo.a", "go")
    write(module_files(module), tmp_path)
    package = Package(ATTACHING, ("a.cu",), is_typed=True)
    (current,) = stub_files(Config(), [module.name], {"demo": package}, tmp_path, pytest.fail).values()
    stubs = {current.decode(): 0, current.decode().replace("go:", "went:"): 1, "went: int\n": 0, f"{MADE_BY}\n": 1}
    for text, count in stubs.items():
        warnings: list[str] = []
        package = Package(ATTACHING, ("a.cu", "__init__.pyi"), text, is_typed=True)
        assert stub_files(Config(), [module.name], {"demo": package}, tmp_path, warnings.append) == {}
        assert len(warnings) == count and all("run `cuda-wheel stubs`" in each for each in warnings)


def test_only_a_stub_that_cuda_wheel_made_gets_a_py_typed_and_none_where_the_project_has_one(tmp_path: Path) -> None:
    module = built("demo.kernels.a", "go")
    write(module_files(module), tmp_path)
    for stub, is_typed, expected in (
        (None, False, {"demo/kernels/__init__.pyi", "demo/kernels/py.typed"}),
        (None, True, {"demo/kernels/__init__.pyi"}),
        (f"{MADE_BY}\n", False, {"demo/kernels/py.typed"}),
        (f"{MADE_BY}\n", True, set()),
        ("go: int\n", False, set()),
    ):
        packages = {"demo.kernels": Package(ATTACHING, ("a.cu",), stub, is_typed)}
        files = stub_files(Config(), [module.name], packages, tmp_path, lambda text: None)
        assert {*files} == expected == {*output_paths([module.name], packages)} - {*module_files(module)}


@pytest.mark.parametrize("place", ["demo/kernels/py.typed", "demo/py.typed", "py.typed", "demo/other/py.typed"])
def test_a_py_typed_is_for_its_package_and_those_inside(place: str, tmp_path: Path) -> None:
    files = {"demo/kernels/__init__.py": ATTACHING, place: ""}
    write_new({name: text.encode() for name, text in files.items()}, tmp_path)
    found = attaching_packages(WheelFile(tmp_path / name, name) for name in files)
    assert found["demo.kernels"].is_typed == (place in ("demo/kernels/py.typed", "demo/py.typed"))


def test_a_kernel_that_cannot_be_an_attribute_is_a_warning() -> None:
    package = Package(ATTACHING, ("__init__.py", "taken"))
    (warning,) = attachment_warnings(package, [built("demo.a", "taken", "free").manifests])
    assert warning.startswith("warning: demo does not attach the kernel taken: ")


@pytest.mark.parametrize("loader", ["vendor", "dependency"])
def test_a_vendored_loader_is_in_each_top_level_package_with_modules(loader: str) -> None:
    config = Config.from_table({"loader": loader})
    files = loader_files(config, ["demo.a", "demo.kernels.b", "more.c"], {"attach"})
    assert {name.rpartition("/_cuda_wheel/")[0] for name in files} == (
        {"demo", "more"} if loader == "vendor" else set()
    )
    known = known_parts(config, ["demo.a"], ["demo"], ["demo/a.tuned.json"])
    always = {"array-protocols"} if loader == "vendor" else set()
    assert known == (always | {"attach", "tuned-tables"} if loader == "vendor" else set())
    assert known_parts(config, ["demo.a"], ["demo.kernels"], []) == always


def test_a_package_that_attaches_its_kernels_is_found_with_what_is_in_it(tmp_path: Path) -> None:
    files = {
        "demo/__init__.py": ATTACHING,
        "demo/__init__.pyi": "stub",
        "demo/helper.py": "",
        "demo/deep/er/data.txt": "",
        "plain/__init__.py": "import cuda_wheel\nattach = cuda_wheel.attach\n",
        "broken/__init__.py": "attach(\n",
    }
    write_new({name: text.encode() for name, text in files.items()}, tmp_path)
    listed = [WheelFile(tmp_path / name, name) for name in (*files, "namespace/__init__.py")]
    found = attaching_packages(listed)
    assert list(found) == ["demo"]
    assert (found["demo"].source, found["demo"].stub) == (ATTACHING, "stub")
    assert {"helper.py", "deep", "__init__.py"} <= set(found["demo"].files)


# --- writing ----------------------------------------------------------------------------------------


def test_files_are_replaced_as_a_whole_and_leave_no_others(tmp_path: Path) -> None:
    target = tmp_path / "wheel"
    write({"demo/a.fatbin": b"old"}, target)
    with (target / "demo/a.fatbin").open("rb") as reading:
        write({"demo/a.fatbin": b"new"}, target)
        assert reading.read() == b"old"
    write_new({"demo/a.fatbin": b"moved", "more/b.fatbin": b"2"}, tmp_path / "new")
    move(["demo/a.fatbin", "more/b.fatbin"], tmp_path / "new", target, tmp_path)
    found = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"wheel/demo/a.fatbin": b"moved", "wheel/more/b.fatbin": b"2"}


def test_incomplete_files_are_never_among_those_of_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that is killed leaves them behind, and a back end may pack all that is in the folder."""
    aside, target = tmp_path / "aside", tmp_path / "wheel"
    aside.mkdir()
    write_new({"demo/a.fatbin": b"1"}, tmp_path / "new")
    seen: list[list[str]] = []
    replace = Path.replace

    def look_first(path: Path, other: Path) -> Path:
        seen.append([each.name for each in target.rglob("*") if each.is_file()])
        return replace(path, other)

    monkeypatch.setattr(Path, "replace", look_first)
    move(["demo/a.fatbin"], tmp_path / "new", target, aside)
    assert seen == [[]]


@pytest.mark.parametrize("writer", [write, write_new])
def test_a_file_that_cannot_be_written_is_an_error_that_names_it(writer, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file in place of the folder")
    with pytest.raises(ConfigError, match=r"demo.*a\.fatbin"):
        writer({"demo/a.fatbin": b"1"}, tmp_path)
    assert os.listdir(tmp_path) == ["demo"]


def test_nothing_is_left_of_a_file_that_cannot_take_its_place(tmp_path: Path) -> None:
    (tmp_path / "demo/a.fatbin").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"a\.fatbin"):
        write({"demo/a.fatbin": b"1"}, tmp_path)
    assert os.listdir(tmp_path / "demo") == ["a.fatbin"]


# --- sources in a wheel -----------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    files = {
        "src/k.cu": b'#include "k.h"\n#ifdef N\n#include "late.h"\n#endif\n#include <cuda_fp16.h>\n',
        "src/late.h": b"// \xff is no UTF-8\r\n",
        "inc/k.h": b"#pragma once\n",
        "inc/unused.h": b"",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def carried(root: Path, *headers: str, **settings: object) -> bytes:
    table = {"name": "demo.k", "sources": ["src/k.cu"], "include-dirs": ["inc"], **settings}
    module = source_module(root, Config.from_table({"module": [table]}).module[0])
    return carried_sources(root, module, headers, (str(root / "toolchain"),))


def test_sources_come_back_with_what_they_may_include_and_their_settings(root: Path, tmp_path: Path) -> None:
    text = carried(root, specialize=True, defines={"N": "1"}, variants={"M": [1, 2]}, architectures=["75"])
    table = unpack_sources(text, tmp_path / "out")
    files = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == {"src/k.cu", "src/late.h", "inc/k.h"}
    for name in files:
        assert (tmp_path / "out" / name).read_bytes() == (root / name).read_bytes()
    assert table == {
        "name": "demo.k", "sources": ["src/k.cu"], "include-dirs": ["inc"], "defines": {"N": "1"},
        "architectures": ["75"],
    }  # fmt: skip
    again = source_module(tmp_path / "out", Config.from_table({"module": [table]}).module[0])
    assert again.paths == ("src/k.cu",)


def test_headers_of_the_toolchain_and_outside_the_project_are_not_carried(root: Path, tmp_path: Path) -> None:
    for path in (root / "toolchain/t.h", tmp_path / "elsewhere.h", root / "read.h"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    text = carried(root, str(root / "toolchain/t.h"), str(tmp_path / "elsewhere.h"), str(root / "read.h"))
    assert set(json.loads(text)["files"]) == {"src/k.cu", "src/late.h", "inc/k.h", "read.h"}
    assert len(text) % 8 == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"files": {"/etc/a.cu": ""}},
        {"files": {"src/../../a.cu": ""}},
        {"files": {"src\\a.cu": ""}},
        {"files": {"c:a.cu": ""}},
        {"files": {"a.cu": 1}},
        {"files": []},
        {"module": None},
    ],
)
def test_a_text_that_is_no_sources_or_leads_out_of_the_folder_is_refused(
    changes: dict[str, object], root: Path, tmp_path: Path
) -> None:
    document = json.loads(carried(root)) | changes
    with pytest.raises(ConfigError, match="the sources that the module carries cannot be read"):
        unpack_sources(json.dumps(document).encode(), tmp_path / "deep/out")
    assert not (tmp_path / "deep/a.cu").exists()


def test_a_text_that_is_cut_short_is_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        unpack_sources(carried(root)[:-20], tmp_path / "out")
