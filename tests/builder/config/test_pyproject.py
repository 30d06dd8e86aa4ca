"""Settings are read from pyproject.toml, and messages about them name the arguments of a CMake call."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.config.pyproject import CMakeCall, is_concerned, read_config, read_pyproject
from cuda_wheel.builder.errors import CompileError, ConfigError

pytestmark = pytest.mark.one_toolchain


def written(folder: Path, text: str) -> Path:
    """Write a pyproject.toml into a folder and return the folder."""
    (folder / "pyproject.toml").write_text(text)
    return folder


# --- pyproject.toml -----------------------------------------------------------------------------------


def test_a_project_without_a_table_has_the_default_settings(tmp_path: Path) -> None:
    config = read_config(written(tmp_path, '[project]\nname = "demo"\n'), {})
    assert (config.std, config.architectures.entries, config.module) == ("c++17", ("default",), ())


def test_the_environment_replaces_the_architectures_of_the_table(tmp_path: Path) -> None:
    root = written(tmp_path, '[tool.cuda-wheel]\narchitectures = "75"\nstd = "c++20"\n')
    config = read_config(root, {"CUDAARCHS": "90-real", "CXXFLAGS": "-O0"})
    assert (config.std, config.architectures.entries) == ("c++20", ("90-real",))


def test_given_modules_replace_those_of_the_table_and_nothing_else(tmp_path: Path) -> None:
    root = written(tmp_path, '[tool.cuda-wheel]\nstd = "c++20"\n[[tool.cuda-wheel.module]]\nname = "demo.old"\n')
    assert [module.name for module in read_config(root, {}).module] == ["demo.old"]
    config = read_config(root, {}, [{"name": "demo.new"}])
    assert [(module.name, module.std) for module in config.module] == [("demo.new", "c++20")]


@pytest.mark.parametrize(
    "table", ["[tool.cuda_wheel]", "[tool.cudawheel]", "[tool.cuda]", "[cuda-wheel]", "[cuda_wheel]"]
)
def test_a_misspelt_table_is_an_error_unless_the_right_one_exists(table: str, tmp_path: Path) -> None:
    root = written(tmp_path, f'{table}\nstd = "c++20"\n')
    with pytest.raises(ConfigError) as failure:
        read_config(root, {})
    assert f"has a table {table}, which cuda-wheel does not read: rename it to [tool.cuda-wheel]." in str(failure.value)
    assert read_config(written(tmp_path, f"{table}\n[tool.cuda-wheel]\n"), {}).std == "c++17"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool", r"pyproject\.toml cannot be read: Expected"),
        ("a = " + "[" * 10_000, r"pyproject\.toml cannot be read: "),
        ("tool = 1\n", r"pyproject\.toml cannot be read: tool must be a table\."),
        ("build-system = []\n", r"pyproject\.toml cannot be read: build-system must be a table\."),
    ],
)
def test_a_file_that_is_no_pyproject_is_an_error_that_names_it(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        read_pyproject(written(tmp_path, text))


def test_a_folder_without_the_file_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not a Python project: it has no pyproject\.toml\."):
        read_pyproject(tmp_path)


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        (["cuda-wheel"], True),
        (["hatchling", "cuda-wheel[cu12]>=1"], True),
        (["CUDA_Wheel"], True),
        (["cuda.wheel==1"], True),
        (["cuda-wheels"], False),
        (["my-cuda-wheel"], False),
        (["cuda"], False),
        ([1, None], False),
        ([], False),
    ],
)
def test_a_project_that_requires_cuda_wheel_is_concerned(requires: list[object], expected: bool) -> None:
    """An extra, a version or another spelling of the name makes no difference; another distribution does."""
    assert is_concerned({"build-system": {"requires": requires}}) == expected


def test_a_project_with_the_table_is_concerned() -> None:
    assert is_concerned({"tool": {"cuda-wheel": {}}})
    assert not is_concerned({"tool": {"cuda": {}}})
    assert not is_concerned({})


# --- a CMake call -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (None, "CMakeLists.txt"),
        ("/a project/cuda/CMakeLists.txt", "cuda/CMakeLists.txt"),
        ("/elsewhere/kernels.cmake", "/elsewhere/kernels.cmake"),
    ],
)
def test_a_call_is_named_by_its_file_and_its_target(file: str | None, shown: str) -> None:
    request = {"root": "/a project", "module": {"name": "demo.kernels.k", "std": "c++20"}} | (
        {"file": file} if file else {}
    )
    call = CMakeCall.of(request)
    assert str(call) == f"{shown}: cuda_wheel_add_module(TARGET k)"
    assert set(call.keys) == {"name", "std"}


def test_messages_name_the_arguments_of_the_call_and_leave_code_as_it_is() -> None:
    call = CMakeCall("cuda/CMakeLists.txt", "k", {"std", "options"})
    assert str(call) == "cuda/CMakeLists.txt: cuda_wheel_add_module(TARGET k)"
    for text, expected in {
        "tool.cuda-wheel.module[0].extern-default: there is no file x.cu.": "EXTERN_DEFAULT: there is no file x.cu.",
        "tool.cuda-wheel.options: ignored -O3": "OPTIONS: ignored -O3",
        "tool.cuda-wheel.defines must be a table": "tool.cuda-wheel.defines must be a table",  # the call has none
        'help: this is C++20: set std = "c++20"': "help: this is C++20: set STD c++20",
        'help: add "include" to include-dirs': 'help: add "include" to INCLUDE_DIRECTORIES',
        "name the library's folder in system-include-dirs": "name the library's folder in SYSTEM_INCLUDE_DIRECTORIES",
        'set missing-headers = ["Eigen/*"]': "set MISSING_HEADERS Eigen/*",
        'architectures = ["80-real", "90"], the links in instances': "ARCHITECTURES 80-real 90, the links in instances",
        'set options = ["-I my folder"]': 'set OPTIONS "-I my folder"',
        "give the module its own [[tool.cuda-wheel.module]] table": "give the module its own call of cuda_wheel_add_module",
        '[[tool.cuda-wheel.module]]\nname = "a.k"\ninstantiate = ["t<int, 4>"]': 'INSTANTIATE "t<int, 4>"',
        '  const char* std = "include-dirs";': '  const char* std = "include-dirs";',
        'k.cu:1: error: link = "lto"': 'k.cu:1: error: link = "lto"',
    }.items():
        assert call.in_its_terms(text) == expected


def test_a_settings_error_names_the_call_unless_it_is_about_the_projects_own_table() -> None:
    call = CMakeCall("CMakeLists.txt", "k", {"std"})
    for text, expected in {
        'tool.cuda-wheel.module[0].std must be "c++17", not 1.': (
            'CMakeLists.txt: cuda_wheel_add_module(TARGET k): STD must be "c++17", not 1.'
        ),
        "tool.cuda-wheel.timeout must be a number": "tool.cuda-wheel.timeout must be a number",
    }.items():
        with pytest.raises(ConfigError) as failure, call.named_in_errors():
            raise ConfigError(text)
        assert str(failure.value) == expected


def test_a_compile_error_keeps_its_first_line_for_editors() -> None:
    call = CMakeCall("CMakeLists.txt", "k", {"std"})
    with pytest.raises(CompileError) as failure, call.named_in_errors():
        raise CompileError('k.cu:1:2: error: no\n\nhelp: set std = "c++20"')
    assert str(failure.value) == "k.cu:1:2: error: no\n\nhelp: set STD c++20"


def test_other_errors_are_not_changed() -> None:
    with pytest.raises(ValueError, match=r"^include-dirs$"), CMakeCall("x", "k", ()).named_in_errors():
        raise ValueError("include-dirs")
