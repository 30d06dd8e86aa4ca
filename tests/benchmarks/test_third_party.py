"""Third-party files: what is measured of one, and the page that is made of what was measured and judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.one_toolchain

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Return the modules of benchmarks/third_party, which are scripts that import each other by file name."""
    names = (
        "corpus",
        "extension_wheel",
        "measure",
        "judge",
        "machine_code",
        "docs",
        "_results",
        "_interleave",
        "_process",
    )
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "third_party"))
    monkeypatch.setattr(sys, "path", sys.path)  # the scripts add to it
    import corpus
    import extension_wheel
    import judge
    import machine_code
    import measure

    import docs

    yield SimpleNamespace(
        corpus=corpus,
        docs=docs,
        extension_wheel=extension_wheel,
        judge=judge,
        machine_code=machine_code,
        measure=measure,
    )
    for name in names:
        sys.modules.pop(name, None)


def test_a_file_is_compiled_and_its_kernels_are_named(scripts: SimpleNamespace, tmp_path: Path) -> None:
    package = scripts.corpus.Package("p", "owner/p", "", "torch", (".",), ("a.cu",))
    source = scripts.corpus.Source(package, "a.cu")
    package.home(tmp_path).mkdir()
    for text, result, kernels in [
        ("__global__ void k(int* p) { *p = 1; }", "compiled", ["k"]),
        ("__global__ void k(int* p) { *p = missing; }", "CompileError", []),
    ]:
        (package.home(tmp_path) / "a.cu").write_text(text)
        outcome = scripts.measure.compile_source(source, tmp_path, None, settings=True)
        assert (outcome.result, outcome.kernels) == (result, kernels)
        assert outcome.compile_seconds > 0


def test_files_that_fail_are_in_the_page_by_cause_and_with_what_nvcc_says(scripts: SimpleNamespace) -> None:
    every = [
        each.key for each in scripts.corpus.sources(scripts.corpus.packages(BENCHMARKS / "third_party/others.toml"))
    ]
    failures = {
        every[0]: (
            "main.cu has no kernel: it compiles to an empty image",
            "compiled",
            2,
            ["_ZN3cub1kEv", "_ZN3cub1lEv"],
        ),
        every[1]: (
            "a.cu:1:1: error: name must be a namespace name",
            "a.h:3:1: fatal error: boost/x.hpp: No such file",
            0,
        ),
        every[2]: ('a.cu:7:3: error: identifier "x" is undefined', 'a.cu(7): error: identifier "x" is undefined', 0),
        every[3]: ("a.cu:7:3: error: expected an expression", "compiled", 1, ["_Z1kv"]),
        every[4]: ("b.cu has no kernel: it compiles to an empty image", "compiled", 1, ["_Z1kv"]),
    }
    outcomes = [
        scripts.measure.Outcome(
            key, *(("CompileError", failures[key][0]) if key in failures else ("compiled",)), kernels=["k"]
        )
        for key in every
    ]
    verdicts = {
        each.key: scripts.judge.Verdict(each.key, each.result, *failures.get(each.key, ("", "compiled", 3))[1:])
        for each in outcomes
    }
    verdicts[every[-1]] = scripts.judge.Verdict(
        every[-1], "compiled", "compiled", 3, ["_ZN3cub1kEv", "_Z1kv"], ["_Z1lv"]
    )
    page = scripts.docs.suites(outcomes, verdicts)
    assert f"{len(every)} files: {len(every) - 5} compile" in page
    assert "to kernels of their own and cuda-wheel does not: 2." in page
    assert "1 of the files' own are missing, and 1 of CUB's and Thrust's" in page and "; 1 are additional" in page
    assert (
        "| 1 | the file has no kernel of its own | HeCBench src/accuracy-cuda/main.cu (nvcc: 2 of CUB or Thrust) |"
        in page
    )
    assert "| 1 | a header of another library, or of Windows | HeCBench src/aes-cuda/main.cu (boost/x.hpp) |" in page
    assert "| 1 | a part of another file, which declares what it uses;" in page
    assert "| 1 | no kernel is found (nvcc finds some) | " in page
    assert "| 1 | expected an expression (nvcc compiles it) | " in page


def test_each_part_of_the_page_keeps_the_other(scripts: SimpleNamespace, tmp_path: Path) -> None:
    page, measured, judged = (tmp_path / name for name in ("page.md", "measured.json", "judged.json"))
    page.write_text("# Files of Python packages\n\nText.\n")
    measured.write_text("[]")
    judged.write_text("[]")
    for _ in range(2):
        scripts.docs.main(["--suites", str(measured), str(judged), str(page)])
        first, _, second = scripts.docs.parts_of(page)
        assert first == "# Files of Python packages\n\nText.\n"
        assert second.startswith("# Samples and benchmark suites\n")
    scripts.docs.main([str(measured), str(page)])
    assert scripts.docs.parts_of(page)[2] == second
    scripts.docs.main(["--held-out", str(measured), str(measured), str(page)])
    held_out, suites = scripts.docs.parts_of(page)[1:]
    assert suites == second
    assert "The first result, of commit 1b24c36: " in held_out


def test_names_that_are_local_to_a_file_are_equal_in_every_compilation(scripts: SimpleNamespace) -> None:
    ours = "_Z1kIXadL_ZN36_INTERNAL_00000000_6_cpy_cu_bfba63e23oneEvEEvv"
    theirs = "_Z1kIXadL_ZN42_INTERNAL_f514e50e_6_cpy_cu_77419ff8_186783oneEvEEvv"
    assert scripts.machine_code.plain_name(ours) == scripts.machine_code.plain_name(theirs) != ours
    assert scripts.judge.of_the_source(["_ZN3cub1kEv", "_ZN6thrust1kEv", "_ZN4cubs1kEv"]) == ["_ZN4cubs1kEv"]


def test_the_wheel_of_extensions_has_a_module_for_each_of_50_files(scripts: SimpleNamespace, tmp_path: Path) -> None:
    from cuda_wheel.builder.config.pyproject import read_config

    known = {each.key: each for each in scripts.corpus.sources(scripts.corpus.packages())}
    keys = scripts.extension_wheel.FILES.read_text().split()
    every = [known[key] for key in keys]
    assert len(set(keys)) == 50
    assert all(each.package.kind == "torch" and each.path not in each.package.settings for each in every)
    for each in every:
        path = each.package.home(tmp_path / "corpus") / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        for folder in each.package.include:
            (each.package.home(tmp_path / "corpus") / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "project").mkdir()
    project = scripts.extension_wheel.make_project(every, tmp_path / "corpus", tmp_path / "project")
    config = read_config(project, {})
    assert config.architectures.entries == ("80-real", "86-real", "89-real", "90-real", "100-real", "120-real")
    for module, source in zip(config.module, every, strict=True):
        assert config.for_module(module.name).architectures == config.architectures
        assert [(project / path).is_file() for path in module.sources] == [True]
        assert len(module.include_dirs) == len(source.package.include)
