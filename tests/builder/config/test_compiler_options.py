"""Compiler options: NVRTC's are passed on; nvcc's are translated, ignored with a message, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.compile.nvrtc_request import nvrtc_request
from cuda_wheel.builder.config.compiler_options import (
    macro_definitions,
    macro_options,
    read_options,
    split_undefinitions,
)
from cuda_wheel.builder.config.settings import Config, ignored_options
from cuda_wheel.builder.errors import ConfigError
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.toolchain.nvrtc import compile_text
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from tests.support.processes import run_cuda_wheel

PASTED = [
    ["-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda", "--use_fast_math", "-std=c++17", "--threads", "4"],
    ["-O2", "-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]", "-lineinfo"],
    ["-Xcompiler", "-fPIC", "-Xcompiler=-Wall,-O3", "--compiler-options", "'-fPIC'", "-fPIC", "-t0", "-ccbin", "g++"],
    [
        "-U__CUDA_NO_HALF_OPERATORS__",
        "-DNDEBUG",
        "-D",
        "X=1",
        "-I",
        "include",
        "--ptxas-options=-v",
        "-Xptxas",
        "-O3,-v",
    ],
    [
        "-Xcudafe",
        "--diag_suppress=177",
        "--diag-suppress",
        "177",
        "-Wno-deprecated-gpu-targets",
        "-w",
        "-c",
        "-o",
        "x.o",
    ],
    [
        "-allow-unsupported-compiler",
        "--forward-unknown-to-host-compiler",
        "-lcublas",
        "-L/usr/lib",
        "--extended-lambda",
    ],
    ["-g", "-res-usage", "--split-compile=2", "-split-compile", "4", "-maxrregcount", "64", "--compress-mode=size"],
]
"""Lists as they stand in real setup.py files."""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-Xcompiler", "-fopenmp"], ["-D_OPENMP=201511", "-D_REENTRANT=1"]),
        (["-fopenmp"], ["-D_OPENMP=201511", "-D_REENTRANT=1"]),
        (["-Xcompiler=-funsigned-char,-Wall"], ["-D__CHAR_UNSIGNED__=1"]),
        (["--compiler-options", "-mpopcnt -fPIC"], ["-D__POPCNT__=1"]),
        (["-Xcompiler", "-ffinite-math-only"], ["-U__FINITE_MATH_ONLY__", "-D__FINITE_MATH_ONLY__=1"]),
        (["-Xcompiler", "-include,config.h"], ["--pre-include=config.h"]),
        (["-Xcompiler", "-include", "-Xcompiler=config.h,-fPIC"], ["--pre-include=config.h"]),
        (["-Xcompiler", "-D", "-O3", "-Xcompiler", "X=1"], ["-D", "X=1"]),
        (["-Xcompiler", "-isystem,third_party"], ["--include-path=third_party"]),
        (["-Xcompiler", "-Wp,-DPASSED=1"], ["-D", "PASSED=1"]),
        (["-std=gnu++17"], ["-U__STRICT_ANSI__", "-Dlinux=1", "-Dunix=1"]),
    ],
)
def test_options_of_gcc_that_change_macros_of_device_code_are_kept(options: list[str], expected: list[str]) -> None:
    # As nvcc 13.0 hands them on to GCC, which preprocesses device code, and as GCC 12.2 defines the macros.
    assert list(read_options(options, "options").arguments) == expected


@pytest.mark.parametrize("option", ["-std=c++20", "-imacros=m.h", "-fshort-wchar", "-m32", "-undef", "-fchar8_t"])
def test_options_of_gcc_that_change_device_code_otherwise_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"'-Xcompiler {option}'")):
        read_options(["-Xcompiler", option], "options")


def test_an_option_of_gcc_without_its_value_is_an_error() -> None:
    with pytest.raises(ConfigError, match=re.escape("options: '-Xcompiler -include' has no value.")):
        read_options(["-Xcompiler", "-include"], "options")


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--use_fast_math", "-DX", "-D", "Y=2", "-U", "Z", "-Iinclude"], None),
        (["-maxrregcount", "32", "--fmad=false", "-G", "--diag-suppress", "177"], None),
        (["--no-such-option", "value"], None),
        (["--pre-include=a.h", "-default-device", "--device-int128", "-Ofc=max", "--minimal"], None),
        (["-isystem", "include"], ["--include-path=include"]),
        (["--extended-lambda", "-nohdinitlist"], ["-Xcudafe=--extended-lambda", "--builtin-initializer-list=false"]),
        (["-Xptxas", "-O1,-dlcm=cg"], ["--ptxas-options=-O1", "--ptxas-options=-dlcm=cg"]),
        (["-Xptxas=--maxrregcount=32"], ["--ptxas-options=--maxrregcount=32"]),
        (["-Xcudafe", "--diag_suppress=177,550"], ["--diag-suppress=177,550"]),
        (
            ["-Xcudafe", '"--diag_error=1 --display_error_number"'],
            ["--diag-error=1", "-Xcudafe=--display_error_number"],
        ),
        (["-rdc=false", "-O3", "-DX"], ["-DX"]),
        (["-Xcompiler -fPIC", "-DX"], ["-DX"]),
        (["-ftz=true", "-fmad=false", "-prec-div=false"], None),
        (["-opt-info", "inline"], ["--optimization-info=inline"]),
        (["-Xcompiler", "-DX=1,-O3,-U,Y,-Iinclude"], ["-D", "X=1", "-U", "Y", "-I", "include"]),
        (["--compiler-options='-fPIC -DX'"], ["-D", "X"]),
        (["-O3 --use_fast_math", "-DS=a -b", "-Xcompiler -fPIC -O2"], ["--use_fast_math", "-DS=a -b"]),
        (
            ["-expt-relaxed-constexpr"],
            ["-Xcudafe=--relaxed_constexpr", "-Xcudafe=--diag_suppress=unannotated_function_in_jit"],
        ),
        (
            ["-Xcudafe", "--diag_suppress=177,--diag_suppress=set_but_not_used"],
            ["--diag-suppress=177", "-Xcudafe=--diag_suppress=set_but_not_used"],
        ),
        (["-rdc", "false", "-MF", "x.d", "--machine", "64", "-idp", "/x", "-ldir", "x"], []),
    ],
)
def test_what_nvrtc_gets(options: list[str], arguments: list[str] | None) -> None:
    assert read_options(options, "options").arguments == tuple(options if arguments is None else arguments)


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-std=c++20"], {"std": "c++20"}),
        (["--std", "c++20", "-std=c++20"], {"std": "c++20"}),
        (["-lineinfo"], {"lineinfo": True}),
        (["--generate-line-info"], {"lineinfo": True}),
        (["-Werror", "all-warnings"], {"warnings-as-errors": True}),
        (["-Werror", "-lineinfo"], {"warnings-as-errors": True, "lineinfo": True}),
        (["--Werror=all-warnings"], {"warnings-as-errors": True}),
        (["-arch=sm_80"], {"architectures": ("80",)}),
        (["-arch", "sm_90a", "--gpu-architecture=compute_75"], {"architectures": ("90a", "75-virtual")}),
        (["-arch=native"], {"architectures": ("native",)}),
        (["-arch=compute_80", "-code=sm_80"], {"architectures": ("80-real",)}),
        (["-code", "sm_90,compute_90", "-arch=sm_90"], {"architectures": ("90-real", "90-virtual")}),
        (["-Xcudafe", "--promote_warnings"], {"warnings-as-errors": True}),
        (["-gencode=arch=compute_80,code=sm_80"], {"architectures": ("80-real",)}),
        (["-gencode", "arch=compute_90,code=compute_90"], {"architectures": ("90-virtual",)}),
        (["-gencode arch=compute_90a,code=sm_90a"], {"architectures": ("90a-real",)}),
        (
            ["--generate-code=arch=compute_80,code=[sm_80,compute_80]", "-gencode=arch=compute_80,code=sm_80"],
            {"architectures": ("80-real", "80-virtual")},
        ),
    ],
)
def test_options_that_are_keys(options: list[str], expected: dict[str, Any]) -> None:
    read = read_options(options, "options")
    assert (read.keys, read.arguments) == (expected, ())


@pytest.mark.one_toolchain
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pch"], "'--pch' makes the compiler write a file"),
        (["--time=x"], "write a file"),
        (["-fdevice-time-trace", "x"], "write a file"),
        (["--pch-dir=."], "precompiled headers"),
        (["-rdc=true"], "'-rdc=true' is set by the keys link and relocatable"),
        (["-dc"], "keys link and relocatable"),
        (["-dlto"], "keys link and relocatable"),
        (["--fdevice-syntax-only"], "something else than the images"),
        (["-frandom-seed=1"], "is set by cuda-wheel"),
        (["-m32"], "32-bit"),
        (["-Xptxas", "-arch=sm_90"], "'-Xptxas -arch=sm_90' is set by the key architectures"),
        (["--ptxas-options=--gpu-name=sm_90"], "is set by the key architectures"),
        (["--ptxas-options=-c"], "keys link and relocatable"),
        (["-Xptxas=-o,x"], "something else"),
        (["-Xptxas=--fmad=false"], "write --fmad in its place"),
        (["-Xptxas", "-lineinfo"], "key lineinfo"),
        (["-Xcudafe", "--dependencies"], "--dependencies is an internal option"),
        (["-Xnvvm", "-opt=0"], "'-Xnvvm"),
        (["-code=sm_80"], "stands without -arch=compute_XY; use the key architectures"),
        (["-arch=compute_80", "-code=sm_86"], "assembles code of compute_80 as sm_86"),
        (["-arch=compute_80", "-code=80"], "is not nvcc's arch=compute_XY"),
        (["--entries", "k"], "'--entries' is set by the key instances"),
        (["-optf", "x"], "write them into options"),
        (["--ltoir"], "something else"),
        (["-rdc", "true"], "'-rdc true' is set by the keys link and relocatable"),
        (["-gencode=arch=compute_80,code=sm_86"], "assembles code of compute_80 as sm_86"),
        (["-gencode=arch=sm_80"], "is not nvcc's arch=compute_XY"),
        (["-std=c++17", "-std=c++20"], "names c++17 and c++20"),
    ],
)
def test_options_that_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read_options(options, "options")


@pytest.mark.one_toolchain
@pytest.mark.parametrize("options", PASTED, ids=lambda options: options[0])
def test_every_option_of_a_pasted_list_is_passed_on_a_key_or_told(options: list[str]) -> None:
    config = Config.from_table({"options": options})
    read = read_options(config.options, "options")
    assert read_options(read.arguments, "options") == (read.arguments, {}, {})
    told = " ".join(text for texts in read.ignored.values() for text in texts)
    keys = r"-std|-lineinfo|-gencode|arch="
    for option in options:
        value = re.sub(r"^--?(Xptxas|Xcudafe|expt-.*|extended-.*)$|,.*", "", option).rpartition("=")[2]
        assert re.match(keys, option) or value in told or any(value in each for each in read.arguments), option
    lines = ignored_options([config])
    assert all(line.startswith("tool.cuda-wheel.options: ignored ") for line in lines)
    assert len(lines) == len(read.ignored)


@pytest.mark.one_toolchain
def test_keys_in_options_reach_the_settings_of_the_same_table() -> None:
    options = ["-std=c++20", "-lineinfo", "-gencode=arch=compute_80,code=sm_80", "--Werror=all-warnings"]
    config = Config.from_table({"options": options, "module": [{"name": "a.b", "options": ["-arch=sm_90"]}]})
    assert (config.std, config.lineinfo, config.warnings_as_errors) == ("c++20", True, True)
    assert config.architectures.entries == ("80-real",)
    assert config.module[0].architectures.entries == ("90",)
    assert config.module[0].std == "c++20"
    same = Config.from_table({"options": options, "std": "c++20", "architectures": ["80-real"], "lineinfo": True})
    assert same.std == "c++20"
    for other in ({"std": "c++17"}, {"architectures": ["90"]}, {"lineinfo": False}):
        with pytest.raises(ConfigError, match="contradict each other"):
            Config.from_table({"options": options} | other)


SOURCE = """\
__device__ int square(int x) { return x * x; }
__global__ void k(float* y)
{
    int unused = 0;
    y[0] = square(threadIdx.x) + y[2] * y[3] / y[1];
}
"""

LAMBDAS = """\
template <class F> __device__ float apply(F f, float x) { return f(x); }
__global__ void k(float* y)
{
    auto f = [=] __device__(float v) { return v * 2; };
    auto g = [] __host__ __device__(float v) { return v + 1; };
    y[0] = apply(f, y[2]) + apply(g, y[3]);
}
"""


@pytest.fixture
def built(make_project: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[str, bytes]]:
    """Return a function that builds SOURCE with options and returns the output and the fatbin."""

    def build(options: list[str], table: str = "", expected: int = 0, source: str = SOURCE) -> tuple[str, bytes]:
        text = f'[tool.cuda-wheel]\nptx-version = "as-compiled"\noptions = {options!r}\n{table}'
        project = make_project(text, **{"demo/k.cu": source, "include/x.h": ""})
        output = tmp_path / "out"
        result = run_cuda_wheel("build", project, "-o", output, cwd=tmp_path)
        assert result.returncode == expected, result.stdout
        return result.stdout, b"" if expected else (output / "demo/k.fatbin").read_bytes()

    return build


@pytest.mark.slow
@pytest.mark.parametrize("options", PASTED, ids=lambda options: options[0])
def test_a_pasted_list_builds_as_the_options_that_count(options: list[str], built) -> None:
    config = Config.from_table({"options": options})
    entries = config.architectures.entries if "-gencode" in " ".join(options) else ("80-real",)
    given = "" if "-gencode" in " ".join(options) else 'architectures = ["80-real"]\n'
    output, fatbin = built(options, given)
    assert ("options: ignored " in output) == bool(ignored_options([config]))
    alone = [*read_options(options, "options").arguments]
    lines = f"architectures = {[*entries]!r}\nstd = {config.std!r}\nlineinfo = {str(config.lineinfo).lower()}\n"
    plain, same = built(alone, lines)
    assert "ignored" not in plain
    assert fatbin == same


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--split-compile=2", "-split-compile=0", "--ptxas-options=--split-compile=2"])
def test_split_compilation_is_left_out(option: str, built) -> None:
    output, fatbin = built([option], 'architectures = ["80-real"]\n')
    assert f"options: ignored {option}: only makes compiling faster" in output
    assert fatbin == built([], 'architectures = ["80-real"]\n')[1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--expt-relaxed-constexpr"]])
def test_constexpr_functions_without_a_mark_compile_with_nvccs_option_and_without(options: list[str], built) -> None:
    built(options, 'architectures = ["80-real"]\n', source=SOURCE.replace("__device__", "constexpr"))


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--extended-lambda"], ["--expt-extended-lambda"]])
def test_lambdas_with_a_mark_compile_with_nvccs_option_and_without(options: list[str], built) -> None:
    built(options, 'architectures = ["80-real"]\n', source=LAMBDAS)


def test_an_unknown_standard_is_refused_with_those_that_the_compiler_knows(toolchain: Toolchain, built) -> None:
    table = 'architectures = ["80-real"]\nstd = "c++26"\n'
    output, _ = built([], table, expected=1)
    known = ["c++03", "c++11", "c++14", "c++17", "c++20", *(["c++23"] if toolchain.nvrtc.startswith("13.5") else [])]
    listed = ", ".join(f'"{each}"' for each in known)
    assert f'this NVRTC does not compile std = "c++26", only {listed}. Set one of these' in output


OF_NVCC = """
--objdir-as-tempdir -objtemp --library=l -ll -l l --define-macro=X -DX -D X --undefine-macro=X -UX -U X --include-path=i
-Ii -I i --system-include=i -isystem=i -isystem i --library-path=p -Lp -L p --output-directory=d -odir d
--compiler-bindir=g -ccbin g --allow-unsupported-compiler --archiver-binary=a -arbin a --cudart=none -cudart none
--cudadevrt=none --libdevice-directory=d -ldir d --target-directory=d -target-dir d --use-local-env --profile -pg --debug
-g --device-debug -G --generate-line-info -lineinfo --optimization-info=inline -opt-info inline --optimize=3 -O3 -O 3
--Ofast-compile=mid -Ofc mid --dopt=on -dopt on --ftemplate-backtrace-limit=9 --ftemplate-depth=99 -ftemplate-depth 99
--no-exceptions -noeh --shared -x cu -std=c++17 --no-host-device-initializer-list -nohdinitlist -nohdmoveforward
--no-host-device-move-forward --expt-relaxed-constexpr --extended-lambda --expt-extended-lambda --machine=64 -m 64 -m64
--compiler-options=-Wall -Xcompiler -Wall --linker-options=-s -Xlinker -s -Xarchive -s --ptxas-options=-v -Xptxas -v
--nvlink-options=-v -Xnvlink -v --static-global-template-stub=true --device-entity-has-hidden-visibility=true
--forward-unknown-to-host-compiler --forward-unknown-to-host-linker --forward-unknown-opts --dont-use-profile -noprof
--dryrun --verbose -v --threads=2 -t 2 --split-compile=2 --split-compile-extended=2 --keep --keep-dir=d --save-temps
--clean-targets -clean --run-args=a --input-drive-prefix=p -idp p -ddp p -dp p -M -MM -MD -MMD -MP -MF f -MT t
--generate-dependencies --dependency-output=f --dependency-target-name=t --compile -c --output-file=o -o o
--no-align-double --no-device-link -nodlink -gencode arch=compute_80,code=sm_80 --relocatable-device-code=false
--maxrregcount=64 -maxrregcount 64 --use_fast_math --ftz=true -ftz true --prec-div=true --prec-sqrt=true --fmad=true
--extra-device-vectorization --default-stream=legacy -default-stream per-thread --disable-warnings -w
--keep-device-functions --source-in-ptx -src-in-ptx --restrict --Wreorder -Wreorder --Wdefault-stream-launch
--Wmissing-launch-bounds --Wext-lambda-captures-this --Wno-deprecated-declarations -Wno-deprecated-gpu-targets
--Werror=all-warnings -Werror cross-execution-space-call --resource-usage -res-usage --no-compress --qpp-config=q
--display-error-number -err-no --diag-error=177 --diag-suppress=177 -diag-suppress 177
--diag-warn=177 --host-linker-script=use-lcs -hls use-lcs --augment-host-linker-script -aug-hls --brief-diagnostics=true
-brief-diag true --jump-table-density=5 -jtd 5 --device-stack-protector=true --compress-mode=size --jobserver
-Xfatbin -compress-all -Xcudafe --diag_suppress=177
"""
"""The options of nvcc 13.0 (`nvcc --help`), long and short, except for those that are refused."""


def test_no_option_of_nvcc_reaches_nvrtc_that_nvrtc_does_not_know(job_of: Callable[..., Job]) -> None:
    read = read_options(OF_NVCC.split(), "options")
    assert set(read.keys) == {"architectures", "lineinfo", "std", "warnings-as-errors"}
    result = compile_text(nvrtc_request(job_of("__global__ void k() {}", options=read.arguments)))
    assert not result["error"], result["log"]


def test_options_about_macros_are_read_in_each_form() -> None:
    arguments = ["-D", "A=1", "-O3", "-UB", "--define-macro=F(x)=x + 1", "--undefine-macro", "A", "-D=B", "-UC"]
    assert [(each.name, each.value) for each in macro_options(arguments)] == [
        *(("A", "1"), ("B", None), ("F", "x + 1")),
        *(("A", None), ("B", "1"), ("C", None)),
    ]
    assert macro_definitions(arguments) == ["A=1", "F(x)=x + 1", "B"]
    kept = ["-D", "A=1", "-O3", "--define-macro=F(x)=x + 1", "-D=B"]
    assert split_undefinitions(arguments) == (kept, ["A", "C"])
