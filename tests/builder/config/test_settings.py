"""`[tool.cuda-wheel]`: every key, and the errors for invalid values."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.one_toolchain

WHOLE = """
architectures = ["75", "80-real", "90a-real", "100f-real", "120-virtual"]
sources = ["src/**/*.cu"]
include-dirs = ["include"]
std = "c++20"
defines = { BLOCK = 256, DEBUG = true, NAME = "x", RATIO = 0.5 }
options = ["--use_fast_math"]
lineinfo = true
ptx-version = "8.0"
compress = "size"
exclude-sources = false
loader = "dependency"
timeout = 60
memory-limit = "2GiB"

[[module]]
name = "pkg.kernels.gemm"
sources = ["src/pkg/kernels/gemm.cu"]
instantiate = ["gemm<float, 16>", "gemm<__half, 32>"]
link = "none"
architectures = "90a-real"
"""


def read(text: str, environ: dict[str, str] | None = None) -> Config:
    return Config.from_table(tomllib.loads(text), environ)


def test_every_key_is_read() -> None:
    config = read(WHOLE)
    assert config.architectures.entries == ("75", "80-real", "90a-real", "100f-real", "120-virtual")
    assert config.defines == (("BLOCK", "256"), ("DEBUG", "1"), ("NAME", "x"), ("RATIO", "0.5"))
    assert (config.timeout, config.memory_limit, config.ptx_version) == (60.0, 2 << 30, "8.0")
    assert (config.lineinfo, config.exclude_sources, config.compress) == (True, False, "size")
    (module,) = config.module
    assert module.instantiate == ("gemm<float, 16>", "gemm<__half, 32>")
    assert module.architectures.entries == ("90a-real",)
    assert module.std == "c++20"  # from the project's table


def test_all_keys_are_optional() -> None:
    config = read("")
    assert config == Config()
    assert config.architectures.entries == ("default",)


WRONG = [
    (
        'instantiate = ["k<int>"]',
        'has no key "instantiate": it is a key of modules: put it into a [[tool.cuda-wheel.module]].',
    ),
    ("architecture = []", 'tool.cuda-wheel has no key "architecture": did you mean "architectures"?'),
    ("include_dirs = []", 'did you mean "include-dirs"?'),
    ("zzz = 1", "the known keys are architectures, backend, backend-path, compress, defines, "),
    ("architectures = 80", "tool.cuda-wheel.architectures must be a string or a list of strings, not 80."),
    ("architectures = [80]", "tool.cuda-wheel.architectures must be a string or a list of strings"),
    ('sources = "x.cu"', "tool.cuda-wheel.sources must be a list of strings, not 'x.cu'."),
    ("sources = [1]", "tool.cuda-wheel.sources[0] must be a string, not 1."),
    ('std = "17"', 'tool.cuda-wheel.std must be "c++03", "c++11", "c++14", "c++17", "c++20", "c++23" or "c++26", not'),
    ("defines = []", "tool.cuda-wheel.defines must be a table of macros"),
    ("defines = { BLOCK = [] }", "tool.cuda-wheel.defines.BLOCK must be a string, a number, true or false"),
    ('defines = { "A B" = 1 }', "tool.cuda-wheel.defines: 'A B' is not a macro name"),
    ('options = ["-rdc=true"]', "tool.cuda-wheel.options: '-rdc=true' is set by the keys link and relocatable"),
    (
        'options = ["--std=c++20"]\nstd = "c++17"',
        "tool.cuda-wheel.options and tool.cuda-wheel.std contradict each other",
    ),
    ('options = ["-lineinfo"]\nlineinfo = false', "options and tool.cuda-wheel.lineinfo contradict each other"),
    ('lineinfo = "yes"', "tool.cuda-wheel.lineinfo must be true or false, not 'yes'."),
    ('ptx-version = "9"', 'tool.cuda-wheel.ptx-version must be "auto", "as-compiled" or a PTX ISA version'),
    ("ptx-version = 8.0", "tool.cuda-wheel.ptx-version must be"),
    ('compress = "zip"', 'tool.cuda-wheel.compress must be "none", "speed", "balance" or "size", not \'zip\'.'),
    ('loader = "copy"', 'tool.cuda-wheel.loader must be "dependency" or "vendor"'),
    ("backend = 1", "tool.cuda-wheel.backend must be a string"),
    (
        'backend = "poetry-core"',
        "must be a build back end such as \"uv_build\", not 'poetry-core'; the back end of that distribution is "
        '"poetry.core.masonry.api"',
    ),
    ('backend = "uv build"', "tool.cuda-wheel.backend must be a build back end such as \"uv_build\", not 'uv build'."),
    ('backend = "hatchling.build"', "tool.cuda-wheel.backend: cuda-wheel has a hook for hatchling.build"),
    ('backend = "setuptools.build_meta:__legacy__"', "cuda-wheel has a hook for setuptools.build_meta"),
    ('backend = "cuda_wheel.backend"', "must name the back end that cuda_wheel.backend wraps, not cuda_wheel.backend"),
    ('backend-path = "here"', "tool.cuda-wheel.backend-path must be a list of strings"),
    ("timeout = 0", "tool.cuda-wheel.timeout must be a number of seconds above 0 and below 1000000, not 0."),
    ("timeout = true", "tool.cuda-wheel.timeout must be a number of seconds"),
    ('memory-limit = "512MiB"', "tool.cuda-wheel.memory-limit must be at least 1GiB, which the compiler itself needs"),
    ('memory-limit = "99999999TiB"', "tool.cuda-wheel.memory-limit must be"),
    ('sources = ["a\\u0000b"]', "tool.cuda-wheel.sources[0] must not contain a NUL"),
    ('defines = { A = "\\u0000" }', "tool.cuda-wheel.defines.A must be one line of C++"),
    ('options = ["--pch"]', "tool.cuda-wheel.options: '--pch' makes the compiler write a file into the project"),
    ('memory-limit = "8GB"', 'tool.cuda-wheel.memory-limit must be an amount of memory such as "8GiB"'),
    ("memory-limit = 8", "tool.cuda-wheel.memory-limit must be an amount of memory"),
    ("module = {}", "tool.cuda-wheel.module must be an array of tables, not {}: write [[tool.cuda-wheel.module]]."),
    ("[[module]]", "tool.cuda-wheel.module[0] has no name"),
    ('[[module]]\nname = "a.b"\nnames = []', 'tool.cuda-wheel.module[0] has no key "names": did you mean "name"?'),
    (
        '[[module]]\nname = "a.b"\nlink = "no"',
        'tool.cuda-wheel.module[0].link must be "none", "ptx" or "lto", not \'no\'',
    ),
    ('[[module]]\nname = "a.b"\nlink = "static"', 'must be "none", "ptx" or "lto"'),
    ('[[module]]\nname = "a.b"\ntimeout = 3', 'tool.cuda-wheel.module[0] has no key "timeout"'),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_value_is_named_with_its_key(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert message in str(caught.value)


# --- the schema ------------------------------------------------------------------------------------

# The validator refuses these for the content of strings, which the schema does not check.
BEYOND_A_SCHEMA = (
    "is set by the key",
    "contradict each other",
    "makes the compiler write",
    "must be at least",
    "99999999TiB",
    "u0000",
)


@pytest.fixture(scope="module")
def accepts() -> Callable[[str], bool]:
    """Return a function that tells whether validate-pyproject, with our plug-in found by itself, accepts a table."""
    from validate_pyproject.api import Validator
    from validate_pyproject.errors import ValidationError

    validator = Validator()

    def accepts(text: str) -> bool:
        project = {"project": {"name": "demo", "version": "1"}, "tool": {"cuda-wheel": tomllib.loads(text)}}
        try:
            validator(project)
        except ValidationError:
            return False
        return True

    return accepts


def test_the_schema_accepts_what_the_validator_accepts(accepts: Callable[[str], bool]) -> None:
    assert accepts("")
    assert accepts(WHOLE)


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_the_schema_refuses_what_the_validator_refuses(text: str, message: str, accepts: Callable[[str], bool]) -> None:
    assert accepts(text) == any(reason in text + message for reason in BEYOND_A_SCHEMA)


def test_macros_of_a_module_are_added_to_those_of_the_project() -> None:
    config = read(
        """
defines = { TILE = 16, DEBUG = true }
[[module]]
name = "demo.a"
defines = { TILE = 32, OWN = 1 }
[[module]]
name = "demo.b"
"""
    )
    assert [dict(each.defines) for each in config.module] == [
        {"DEBUG": "1", "OWN": "1", "TILE": "32"},
        {"DEBUG": "1", "TILE": "16"},
    ]
    with pytest.raises(ConfigError, match=r"module\[0\]\.options: '-DA=2' changes A = 1 of tool\.cuda-wheel\.defines"):
        own = {"name": "demo.a", "defines": {"B": 1}, "options": ["-DA=2"]}
        Config.from_table({"defines": {"A": 1}, "module": [own]})
