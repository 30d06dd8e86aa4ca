"""What the clock decides is compiled each time; what only looks like it is kept. NVRTC itself says which it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuda_wheel.builder.cache.compile_cache import CompileCache
from cuda_wheel.builder.compile.device_variables import uses_build_time
from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.compile_on_load import kept_modules
from cuda_wheel.builder.compile_on_load import requests as on_load
from cuda_wheel.builder.config.compiler_options import read_options
from cuda_wheel.builder.jobs import Job
from cuda_wheel.builder.sources.header_dependencies import opaque_options
from cuda_wheel.builder.toolchain.toolchain import INCLUDE, Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.parts.linking.cuda_compiler import may_use_build_time
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.editable import HATCHLING, TABLE, make_tree
from tests.support.projects import ROOT, write_files

PASTE = "#define CAT2(a, b) a##b\n#define CAT(a, b) CAT2(a, b)\n"
KERNEL = "__global__ void k(const char** x) { *x = STAMP; }\n"
CLOCKS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "plain": ("#define STAMP __TIME__\n", (), {}),
    "date": ("#define STAMP __DATE__\n", (), {}),
    "in a header": ('#include "stamp.h"\n', (), {"src/stamp.h": "#define STAMP __TIME__\n"}),
    "in an option": ("", ("--define-macro=STAMP=__TIME__",), {}),
    "in two arguments": ("", ("-D", "STAMP=__DATE__"), {}),
    "pasted": (f"{PASTE}#define STAMP CAT(__TI, ME__)\n", (), {}),
    "pasted of three": (f"{PASTE}#define STAMP CAT(__, CAT(TIME, __))\n", (), {}),
    "pasted of many": (f"{PASTE}#define STAMP CAT(CAT(__, D), CAT(CAT(A, T), CAT(E, __)))\n", (), {}),
    "pasted of an option": (f"{PASTE}#define STAMP CAT(__, CAT(PART, __))\n", ("-DPART=TIME",), {}),
    "pasted by digraphs": ("#define CAT(a, b) a %:%: b\n#define STAMP CAT(__TI, ME__)\n", (), {}),
    "pasted of a header's part": (f'#include "part.h"\n{PASTE}#define STAMP CAT(PART, ME__)\n', (),
                                  {"src/part.h": "#define PART __TI\n"}),
    "on two lines": ("#define STAMP __TI\\\nME__\n", (), {}),
}  # fmt: skip
ORDINARY: dict[str, str] = {
    "a comment": "// not __TIME__\n#define STAMP 0\n",
    "a string": '#define STAMP "__DATE__ and __TIME__"\n',
    "a macro that is not used": "#define WHEN __TIME__\n#define STAMP 0\n",
    "names of one letter": f"{PASTE}#define STAMP 0\nstruct _ {{ int D, A, T, E, I, M; }};\n",
    "parts that are not pasted": f"{PASTE}#define STAMP 0\n__device__ int __TI, ME__;\n",
    "a paste that is not used": f"{PASTE}#define STAMP 0\n#define NOW CAT(__TI, ME__)\n",
}
NVRTC_IS_NOT_ASKED = ("names of one letter", "parts that are not pasted")


def job_of(root: Path, toolchain: Toolchain, text: str, options: tuple[str, ...] = (), **files: str) -> Job:
    write_files(root, **files, **{"src/k.cu": text})
    return Job(
        toolchain.libraries[0], str(root), "src/k.cu", text.encode(), "80", True, False, ("--std=c++17", *options),
        ("src", str(INCLUDE), *toolchain.include_dirs), (), False, "auto",
    )  # fmt: skip


@pytest.mark.parametrize("name", CLOCKS)
def test_a_result_that_the_clock_decides_is_not_kept(
    name: str, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    first, options, files = CLOCKS[name]
    job = job_of(tmp_path / "project", toolchain, first + KERNEL, options, **files)
    result = workers.submit(compile_job, job).result()
    assert result.uses_build_time
    cache = Cache(str(tmp_path / "cache"))
    assert not CompileCache(cache, toolchain).store_job(job, result)
    assert CompileCache(cache, toolchain).load_job(job) is None


@pytest.mark.parametrize("name", ORDINARY)
def test_a_result_that_the_clock_does_not_decide_is_kept(
    name: str, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    job = job_of(tmp_path / "project", toolchain, ORDINARY[name] + KERNEL)
    assert may_use_build_time([job.text]) is (name not in NVRTC_IS_NOT_ASKED)
    result = workers.submit(compile_job, job).result()
    assert not result.uses_build_time
    cache = Cache(str(tmp_path / "cache"))
    assert CompileCache(cache, toolchain).store_job(job, result)


@pytest.mark.one_toolchain
def test_a_result_with_nvccs_option_for_lambdas_is_kept(tmp_path: Path, toolchain: Toolchain, workers: Workers) -> None:
    arguments = read_options(["--extended-lambda", "-Xcudafe", "--display_error_number"], "options").arguments
    job = job_of(tmp_path / "project", toolchain, "__global__ void k() {}\n", arguments)
    result = workers.submit(compile_job, job).result()
    assert CompileCache(Cache(str(tmp_path / "cache")), toolchain).store_job(job, result)
    assert opaque_options(["-Xcudafe=--xref=names"])


def without_names(job: Job) -> bool:
    """Return whether the result counts as the clock's with an NVRTC that cannot list the names."""
    request = {"library": job.library, "folder": job.root, "text": job.text, "name": "k.cu", "expressions": []}
    return uses_build_time(request | {"options": ["--gpu-architecture=sm_80", "--no-such-option"]})  # type: ignore[arg-type]


def test_a_result_is_not_kept_if_nvrtc_cannot_say(tmp_path: Path, toolchain: Toolchain, workers: Workers) -> None:
    job = job_of(tmp_path / "project", toolchain, "__global__ void k() {}\n")
    assert workers.submit(without_names, job).result()


def test_no_text_of_the_toolchain_uses_the_clock(toolchain: Toolchain) -> None:
    for folder in (str(INCLUDE), *toolchain.include_dirs):
        for path in filter(Path.is_file, Path(folder).rglob("*")):
            content = path.read_bytes()
            assert not any(word in content for word in (b"__TIME__", b"__DATE__", b"__TIMESTAMP__")), path


@pytest.mark.one_toolchain
def test_nvrtc_is_asked_for_no_fixture() -> None:
    sources = [path for path in (ROOT / "fixtures").rglob("*") if path.suffix in (".cu", ".cuh", ".h")]
    assert len(sources) > 20
    assert not [path for path in sources if may_use_build_time([path.read_bytes()])]


@pytest.mark.one_toolchain
@pytest.mark.filterwarnings("ignore:.* uses the time of the build:RuntimeWarning")
@pytest.mark.parametrize(
    ("word", "first", "table"),
    [
        ("plain", "#define ANSWER 41 + sizeof(__TIME__)\n", ""),
        ("an option", "", 'defines = { ANSWER = "sizeof(__DATE__)" }\n'),
        ("with line information", "#define ANSWER 41 + sizeof(__TIME__)\n", "lineinfo = true\n"),
        ("a header outside the project", '#include "answer.h"\n', 'options = ["-I../elsewhere"]\n'),
    ],
)
def test_a_module_with_the_clock_compiles_in_each_process_that_loads_it(
    word: str, first: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_WHEEL_CACHE_DIR", str(tmp_path / "cache"))
    project = make_tree(tmp_path / "project", HATCHLING + TABLE + table)
    (project / "demo/kernels/k.cu").write_text(f"{first}__global__ void k(int* x) {{ *x = ANSWER; }}\n")
    write_files(tmp_path, **{"elsewhere/answer.h": "#define ANSWER 41 + sizeof(__TIME__)\n"})
    compiled: list[str] = []
    call = kept_modules._compile

    def counted(*arguments: object) -> object:
        compiled.append(word)
        return call(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(kept_modules, "_compile", counted)
    for _ in range(2):
        assert on_load.compile_on_load("demo.kernels.k", [str(project / "demo/kernels")], lambda: (8, 6))
    assert len(compiled) == 2
