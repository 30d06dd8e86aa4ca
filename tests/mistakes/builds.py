"""Mistakes in a project, which its build reports."""

from __future__ import annotations

from dataclasses import dataclass, field

KERNEL = "__global__ void saxpy(float a, const float* x, float* y, int n)\n{\n    if (threadIdx.x < n)\n        y[threadIdx.x] += a * x[threadIdx.x];\n}\n"

HEAD = """\
[build-system]
requires = ["hatchling", "cuda-wheel[cu12]"]
build-backend = "hatchling.build"
[project]
name = "demo"
version = "1"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel]
packages = ["demo"]
[tool.hatch.build.targets.wheel.hooks.cuda]
"""

TABLE = '[tool.cuda-wheel]\narchitectures = ["75-virtual"]\n'


@dataclass(frozen=True)
class Mistake:
    """A mistake in a project: what differs from a project that builds, and what its build must say."""

    name: str
    said: tuple[str, ...]
    """Words that the message has, in this order."""
    table: str = TABLE
    """The end of pyproject.toml."""
    pyproject: str | bytes | None = None
    """All of pyproject.toml; None for the usual one with `table` at its end. b"" for no file."""
    files: dict[str, str] = field(default_factory=lambda: {"demo/saxpy.cu": KERNEL})
    environ: dict[str, str] = field(default_factory=dict)
    """Environment variables of the build."""
    warns: bool = False
    """Whether the build succeeds, and says it all the same."""


def table(line: str) -> str:
    return f"[tool.cuda-wheel]\n{line}\n"


def source(text: str) -> dict[str, str]:
    return {"demo/saxpy.cu": text}


BUILDS = (
    Mistake("a misspelt setting", ("architecture", "did you mean", "architectures"), table('architecture = ["80"]')),
    Mistake("an architecture that does not exist", ("architectures", "sm_79"), table('architectures = ["sm_79"]')),
    Mistake("an architecture in words", ("architectures", "hopper"), table('architectures = ["hopper"]')),
    Mistake("architectures in words of the shell", ("CUDAARCHS", "hopper"), environ={"CUDAARCHS": "hopper"}),
    Mistake(
        "a toolchain that is not installed",
        ('CUDA_WHEEL_TOOLCHAIN must be "cu12" or "cu13", not "cu19"',),
        environ={"CUDA_WHEEL_TOOLCHAIN": "cu19"},
    ),
    Mistake("a number in place of a C++ standard", ("std must be", "not 17"), table("std = 17")),
    Mistake("a C++ standard that there is not", ("std", "c++21"), table('std = "c++21"')),
    Mistake(
        "a table under a wrong name",
        ("tool.cuda_wheel", "rename", "tool.cuda-wheel"),
        '[tool.cuda_wheel]\nstd = "c++17"\n',
    ),
    Mistake(
        "settings in the hook's table",
        ("hook cuda has no options", "move architectures to [tool.cuda-wheel]"),
        'architectures = ["80"]\n',
    ),
    Mistake(
        "a hook that is not enabled",
        ("warning: pyproject.toml does not enable the build hook", "[tool.hatch.build.targets.wheel.hooks.cuda]"),
        pyproject=HEAD.replace("[tool.hatch.build.targets.wheel.hooks.cuda]\n", "") + TABLE,
        warns=True,
    ),
    Mistake(
        "a source outside the package",
        ("other/saxpy.cu",),
        table('sources = ["other/*.cu"]'),
        files={"other/saxpy.cu": KERNEL},
    ),
    Mistake(
        "a source that the back end excludes",
        ("demo/saxpy.cu is in no package", "settings of the build back end", "exclude the file"),
        pyproject=HEAD.replace('packages = ["demo"]', 'packages = ["demo"]\nexclude = ["*.cu"]')
        + table('sources = ["demo/*.cu"]'),
    ),
    Mistake(
        "a source that Git LFS did not download",
        ("demo/saxpy.cu is a pointer of Git LFS", "git lfs pull"),
        files=source("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"),
    ),
    Mistake("sources that match nothing", ("kernels/*.cu",), table('sources = ["kernels/*.cu"]')),
    Mistake("no source at all", ("nothing to compile", "no .cu file"), files={"demo/x.py": ""}),
    Mistake(
        "a Python file in place of a source",
        ("x.py",),
        '[[tool.cuda-wheel.module]]\nname = "demo.x"\nsources = ["demo/x.py"]\n',
        files={"demo/x.py": "x = 1\n"},
    ),
    Mistake(
        "a module without its file",
        ("demo/none.cu",),
        '[[tool.cuda-wheel.module]]\nname = "demo.x"\nsources = ["demo/none.cu"]\n',
    ),
    Mistake(
        "two modules of one name",
        ("demo.saxpy",),
        '[[tool.cuda-wheel.module]]\nname = "demo.saxpy"\nsources = ["demo/a.cu"]\n[[tool.cuda-wheel.module]]\nname = "demo.saxpy"\nsources = ["demo/b.cu"]\n',
        files={"demo/a.cu": KERNEL, "demo/b.cu": KERNEL},
    ),
    Mistake(
        "a module's name that is not dotted",
        ("saxpy-kernels",),
        '[[tool.cuda-wheel.module]]\nname = "saxpy-kernels"\nsources = ["demo/saxpy.cu"]\n',
    ),
    Mistake(
        "a pyproject.toml with a byte-order mark",
        ("byte-order mark", "save it as UTF-8"),
        pyproject=b"\xef\xbb\xbf" + (HEAD + TABLE).encode(),
    ),
    Mistake(
        "a pyproject.toml in UTF-16", ("byte-order mark", "save it as UTF-8"), pyproject=(HEAD + TABLE).encode("utf-16")
    ),
    Mistake("a pyproject.toml that is no TOML", ("pyproject.toml cannot be read", "line 1"), pyproject="[project\n"),
    Mistake("no pyproject.toml", ("no pyproject.toml",), pyproject=b""),
    Mistake(
        "a build back end that is not supported",
        ("poetry.core.masonry.api", "hatchling.build"),
        pyproject=HEAD.replace("hatchling.build", "poetry.core.masonry.api") + TABLE,
    ),
    Mistake("an empty source", ("demo/saxpy.cu has no kernel",), files=source("")),
    Mistake(
        "a kernel without __global__",
        ("demo/saxpy.cu", "__global__"),
        files=source("void saxpy(float* x) { x[0] = 1; }\n"),
    ),
    Mistake(
        "a template that nothing instantiates",
        ("saxpy", "instantiate"),
        files=source("template <class T> __global__ void saxpy(T* x) { *x = 1; }\n"),
    ),
    Mistake(
        "a header that is missing",
        ("demo/saxpy.cu:1", "tile.h"),
        files=source('#include "tile.h"\n' + KERNEL),
    ),
    Mistake(
        "a header of a library that is missing",
        ("cutlass", "nvidia-cutlass", "build-system.requires"),
        files=source("#include <cutlass/cutlass_none.h>\n" + KERNEL),
    ),
    Mistake(
        "a missing semicolon",
        ("demo/saxpy.cu:1", "expected a"),
        files=source("__global__ void k(int* x) { *x = 1 }\n"),
    ),
    Mistake(
        "a name that is not declared",
        ("demo/saxpy.cu:1", "blockIndex", "undefined"),
        files=source("__global__ void k(int* x) { *x = blockIndex.x; }\n"),
    ),
    Mistake(
        "a host function in a kernel",
        ("demo/saxpy.cu", "twice", "__device__"),
        files=source("int twice(int x) { return 2 * x; }\n__global__ void k(int* x) { *x = twice(*x); }\n"),
    ),
    Mistake(
        "too much shared memory",
        ("400000 bytes", "49152"),
        table('architectures = ["75-real"]'),
        files=source("__global__ void k(int* x) { __shared__ int a[100000]; a[*x] = 1; *x = a[*x + 1]; }\n"),
    ),
    Mistake(
        "a compiler option that there is not",
        ("--use_fast_maths",),
        TABLE + 'options = ["--use_fast_maths"]\n',
    ),
)
