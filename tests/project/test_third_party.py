"""Third-party files: what is measured of one, and the page that is made of what was measured and judged."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cuda_wheel.builder.compile.job import compile_job
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers

pytestmark = pytest.mark.one_toolchain

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Return the modules of benchmarks/third_party, which are scripts that import each other by file name."""
    names = (
        "alone",
        "corpus",
        "extension_wheel",
        "measure",
        "judge",
        "machine_code",
        "docs",
        "ports",
        "ports.results",
        "times",
        "_results",
        "_interleave",
        "_process",
    )
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "third_party"))
    monkeypatch.setattr(sys, "path", sys.path)  # the scripts add to it
    import _results
    import alone
    import corpus
    import extension_wheel
    import judge
    import machine_code
    import measure
    import times

    import docs

    yield SimpleNamespace(
        alone=alone,
        corpus=corpus,
        docs=docs,
        extension_wheel=extension_wheel,
        judge=judge,
        machine_code=machine_code,
        measure=measure,
        results=_results,
        times=times,
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
        first, _, second, *_ = scripts.docs.parts_of(page)
        assert first == "# Files of Python packages\n\nText.\n"
        assert second.startswith("# Samples and benchmark suites\n")
    scripts.docs.main([str(measured), str(measured), f"sm_120={measured}", str(page)])
    first, _, suites, *_ = scripts.docs.parts_of(page)
    assert suites == second
    assert "- With settings, for sm_120: 0 of 0 (0 %)." in first
    scripts.docs.main(["--held-out", str(measured), str(measured), str(page)])
    held_out, suites = scripts.docs.parts_of(page)[1:3]
    assert suites == second
    assert "The first result, of commit 1b24c36: " in held_out


def test_names_that_are_local_to_a_file_are_equal_in_every_compilation(scripts: SimpleNamespace) -> None:
    ours = "_Z1kIXadL_ZN36_INTERNAL_00000000_6_cpy_cu_bfba63e23oneEvEEvv"
    theirs = "_Z1kIXadL_ZN42_INTERNAL_f514e50e_6_cpy_cu_77419ff8_186783oneEvEEvv"
    assert scripts.machine_code.plain_name(ours) == scripts.machine_code.plain_name(theirs) != ours
    assert scripts.judge.of_the_source(["_ZN3cub1kEv", "_ZN6thrust1kEv", "_ZN4cubs1kEv"]) == ["_ZN4cubs1kEv"]


def test_the_files_that_are_compared_with_their_kernels_alone_are_of_the_list(scripts: SimpleNamespace) -> None:
    known = {each.key for each in scripts.corpus.sources(scripts.corpus.packages())}
    files = scripts.alone.files()
    assert len({"/".join(each.key.split("/")[:2]) for each in files}) == len(files) == 12
    for each in files:
        assert each.key in known
        assert each.instead.keys() <= each.left_out.keys()
        assert any(each.key.endswith(f"/{path}") for path in each.left_out)


def test_a_file_and_its_kernels_alone_have_the_same_kernels(
    scripts: SimpleNamespace, tmp_path: Path, toolchain: Toolchain, workers: Workers
) -> None:
    package = scripts.corpus.Package("p", "owner/p", "", "torch", (".",), ("a.cu",))
    source = scripts.corpus.Source(package, "a.cu")
    text = """#include "h.h"
    namespace { template <class T> __global__ void k(T* p) { *p = __LINE__; } }
    __global__ void other(long* p) { *p = 2; }
    void launch(torch::Tensor x) {
        k<<<1, 1>>>((int*)nullptr);
    }"""
    results = {}
    for which, pieces in (("whole", {}), ("alone", {"a.cu": [[4, 6]], "h.h": [[1, 1]]}), ("less", {"a.cu": [[3, 6]]})):
        home = tmp_path / which
        home.mkdir()
        (home / "a.cu").write_text(text)
        (home / "h.h").write_text("#include <torch/extension.h>\n")
        scripts.alone.File("owner/p/a.cu", pieces, {"h.h": ["#include <cstdint>"]}).write_alone(home)
        names = scripts.alone.names_of(list(results["whole"][0].kernels)) if results else []
        jobs = scripts.alone.jobs_of(source, home, toolchain, {"instantiate": names})
        assert [job.arch for job in jobs] == ["80", "90", "120"]
        results[which] = [workers.submit(compile_job, jobs[0]).result()]
    assert (tmp_path / "alone/a.cu").read_text() == "".join(text.splitlines(keepends=True)[:3]) + "\n\n"
    assert (tmp_path / "alone/h.h").read_text() == "#include <cstdint>\n"
    assert names == ["k<int>"]

    def codes(result: Compiled) -> dict[str, tuple[str, ...]]:
        assert result.cubin is not None
        found = scripts.machine_code.encodings(result.cubin)
        return {name: (found[name].hex(),) for name in map(scripts.machine_code.plain_name, result.kernels)}

    details = scripts.alone.details_of(results["whole"], results["alone"], codes)
    assert details == [["kernels", "identical", "compared"], ["2", "2", "2"]]
    with pytest.raises(ValueError, match="other kernels without host code: \\['_Z5otherPl'\\]"):
        scripts.alone.details_of(results["whole"], results["less"], codes)


def test_the_page_has_the_median_of_the_ratios_beside_the_goal(scripts: SimpleNamespace, tmp_path: Path) -> None:
    results = scripts.results
    goals = [results.Goal("with", "alone", 1.2)]
    details = [["kernels", "identical", "compared"], ["3", "8", "9"]]
    measured = [
        results.Result(key, "Seconds.", "s", {"alone": [1, 2, 3], "with": [whole] * 3}, "alone", 2, goals, details)
        for key, whole in (("a.cu", 2.2), ("b.cu", 2.3), ("c.cu", 9.0))
    ]
    report = results.Report("", "", {"CPU": "Fast"}, {"nvidia-cuda-nvrtc-cu12": "12.9.86"}, measured)
    report.write(tmp_path / "alone.json")
    (tmp_path / "page.md").write_text("# Files of Python packages\n\nText.\n")
    for _ in range(2):
        scripts.docs.main(["--alone", str(tmp_path / "alone.json"), str(tmp_path / "page.md")])
    first, *_, page, _, _, _ = scripts.docs.parts_of(tmp_path / "page.md")
    assert first == "# Files of Python packages\n\nText.\n"
    assert "- The median of the ratios is 1.15; the goal is at most 1.2." in page
    assert "- Host code takes 0.10 s more for each target (median)" in page
    assert "In 24 of 27 pairs" in page and "Medians of 3 rounds on Fast, with NVRTC 12.9.86." in page
    assert "| c.cu | 3 | 2.00 | 9.00 | 4.50 |" in page
    with pytest.raises(SystemExit, match=r"d\.cu: failed"):
        scripts.docs.alone(replace(report, missing=["d.cu: failed"]))


def test_the_page_names_the_files_that_take_longer_than_with_nvcc(scripts: SimpleNamespace, tmp_path: Path) -> None:
    records = [
        {"key": "a.cu", "ours": "compiled", "nvcc": "stopped", "compile_seconds": 2.0, "nvcc_seconds": 2.5},
        {"key": "b.cu", "ours": "compiled", "nvcc": "compiled", "compile_seconds": 9.0, "nvcc_seconds": 6.0},
        {"key": "c.cu", "ours": "CompileError", "nvcc": ""},
        {"key": "d.cu", "ours": "compiled", "nvcc": "error: x", "compile_seconds": 9.0, "nvcc_seconds": 1.0},
    ]
    first, more, page = (tmp_path / name for name in ("first.json", "more.json", "page.md"))
    first.write_text(json.dumps([*records, {**records[0], "key": "e.cu", "compile_seconds": 3.0}]))
    more.write_text(json.dumps([{**records[0], "key": "e.cu"}]))  # measured again
    page.write_text("# Files of Python packages\n\nText.\n")
    scripts.docs.main(["--times", str(first), str(more), str(page)])
    kept, *_, part, _, _ = scripts.docs.parts_of(page)
    assert kept == "# Files of Python packages\n\nText.\n"
    assert "- 3 files were timed. nvcc was stopped in 2 of them.\n- 1 of them take longer than with nvcc:" in part
    assert "| b.cu | 6.0 | 9.0 | 1.50 |" in part
    assert "a.cu" not in part


def test_the_targets_of_nvcc_are_those_of_the_build(scripts: SimpleNamespace) -> None:
    default = scripts.times.nvcc_targets(["default"])
    assert "-gencode=arch=compute_75,code=[sm_75,compute_75]" in default
    assert "-gencode=arch=compute_80,code=[sm_80]" in default
    assert scripts.times.nvcc_targets(["90a-real", "80-virtual"]) == [
        "-gencode=arch=compute_90a,code=[sm_90a]",
        "-gencode=arch=compute_80,code=[compute_80]",
    ]


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


def test_a_file_that_fails_is_compiled_with_what_import_proposes(scripts: SimpleNamespace, tmp_path: Path) -> None:
    package = scripts.corpus.Package("p", "owner/p", "", "plain", (".",), ("a.cu",))
    source = scripts.corpus.Source(package, "a.cu")
    package.home(tmp_path).mkdir()
    for text, proposed in [
        ("#include <absent/a.h>\n__global__ void k(int* p) { *p = 1; }", {"missing-headers": ["absent/*"]}),
        ("__global__ void k(int* p) { *p = missing; }", {}),
    ]:
        (package.home(tmp_path) / "a.cu").write_text(text)
        outcome = scripts.measure.compile_source(source, tmp_path, None, settings=True)
        assert outcome.result == "CompileError"
        outcome = scripts.measure.with_proposed_settings(outcome, source, tmp_path, True, "80")
        assert (outcome.proposed, outcome.result) == (proposed, "compiled" if proposed else "CompileError")


def test_the_forty_packages_count_what_their_dependencies_allow(scripts: SimpleNamespace) -> None:
    listed = scripts.corpus.packages(BENCHMARKS / "third_party/chosen_by_rule.toml")
    every = [each.key for each in scripts.corpus.sources(listed) if not each.package.apart]
    lost, refused = "benfred/implicit/implicit/gpu/als.cu", "NVIDIA/warp/warp/native/apic.cu"
    errors = {lost: "a.cu:1:1: error: x", refused: "a.cu:1:1: error: y", every[0]: "a.cu has no kernel: it is empty"}
    outcome = scripts.measure.Outcome
    outcomes = [outcome(each, "CompileError" if each in errors else "compiled", errors.get(each, "")) for each in every]
    outcomes[-1] = replace(outcomes[-1], proposed={"missing-headers": ["x/*"]})
    outcomes[-2] = outcome(every[-2], "timeout", "not compiled after 600 s")
    page = scripts.docs.chosen(outcomes)
    assert f"| used for development | {len(every)} | 1 | 1 | 1 | {len(every) - 5} | 1 | 1 |" in page
    assert "| 1 | timeout: not compiled after 600 s | " in page


def test_the_page_has_the_calls_of_ports_with_other_bits_and_those_that_take_long(
    scripts: SimpleNamespace, tmp_path: Path
) -> None:
    def timing(title: str, ours: list[float]) -> dict[str, object]:
        values = {"C++ extension": [10.0, 11.0, 9.0], "cuda_wheel.torch.operator": ours}
        goal = scripts.results.Goal("cuda_wheel.torch.operator", "C++ extension", 1.5)
        return asdict(scripts.results.Result(title, "1 launch", "µs", values, "C++ extension", goals=[goal]))

    calls = {"a": "same bits", "b": "close: tensor 0", "c": "DIFFERS: tensor 1", "d": "FAILED: ValueError: e"}
    ported = {"lines": 19, "host_lines": 66, "calls": calls}
    ported |= {"timings": [timing("knn: fast", [15.0, 14.0, 30.0]), timing("knn: slow", [15.1, 15.2, 1.0])]}
    counts = dict.fromkeys(("passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected"), 0)
    tested = {"knn_cuda": counts | {"passed": 9, "deselected": 2}, "apex_amp": {"stopped": "exit code 1"}}
    for name, content in (
        ("compared", {"knn_cuda": ported, "apex_amp": {"failed": "no nvcc\nlog"}}),
        ("tested", tested),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    page = tmp_path / "page.md"
    page.write_text("# Files\n\nOf 9.\n\n# Host functions in Python\n\nOld.\n")
    scripts.docs.main(["--ports", str(tmp_path / "compared.json"), str(tmp_path / "tested.json"), str(page)])
    first, *_, part = scripts.docs.parts_of(page)
    assert first == "# Files\n\nOf 9.\n"
    assert "Old." not in part
    assert "- 4 calls were compared: 1 have the same bits; 1 differ as two calls of the original do." in part
    assert "- **knn_cuda: c: DIFFERS: tensor 1**\n- **knn_cuda: d: FAILED: ValueError: e**" in part
    assert "three launches | 66 | 19 | 4 | 1 | 1 |" in part
    assert "| apex_amp | **no nvcc** |" in part
    assert "- 1 of 2 calls meet the goal. The others take 1.51 to 1.51 times as long as the C++." in part
    assert (
        "| knn: fast | 1 | 10.0 | 15.0 | 1.50 | 1.5, met |\n| knn: slow | 1 | 10.0 | 15.1 | 1.51 | 1.5, **missed** |"
        in part
    )
    assert "| package | passed | failed | deselected |" in part
    assert "| knn_cuda | 9 | 0 | 2 |\n| apex_amp | **exit code 1** | **exit code 1** | **exit code 1** |" in part
