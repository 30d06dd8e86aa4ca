"""The comparison of translated host functions with the originals: projects, cases, verdicts, and the page."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tomllib

pytestmark = pytest.mark.one_toolchain

THIRD_PARTY = Path(__file__).parents[2] / "benchmarks/third_party"
SCRIPTS = ("compare", "originals", "population", "translate", "verdicts")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Return the modules of benchmarks/third_party/host_functions, which are scripts that import each other."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(THIRD_PARTY / "host_functions"), *sys.path])  # the scripts add to it
    yield SimpleNamespace(**{name: __import__(name) for name in SCRIPTS})
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(str(THIRD_PARTY.parent)) or name == "ports":
            del sys.modules[name]


# --- projects ---------------------------------------------------------------------------------------------------------


def test_a_project_gets_the_sources_and_what_they_include(scripts: SimpleNamespace, tmp_path: Path) -> None:
    for path, text in {
        "src/a.cu": '#include "a.h"\n#include <deep/c.h>\n#if 0\n#include "../other/b.h"\n#endif\n#include <vector>\n',
        "src/a.h": '// #include "unused.h"\n#include MACRO\n',
        "src/unused.h": "",
        "other/b.h": '#include "b.h"\n',
        "include/deep/c.h": '#include "d.inl"\n#include <src/unused.h>\n',
        "include/deep/d.inl": '#include "../../../outside.h"\n',
    }.items():
        (tmp_path / "home" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / path).write_text(text)
    (tmp_path / "outside.h").touch()
    found = scripts.translate.needed(tmp_path / "home", ["src/a.cu"], ["include"])
    assert found == {"src/a.cu", "src/a.h", "other/b.h", "include/deep/c.h", "include/deep/d.inl"}


def test_macros_are_those_of_the_build_and_a_standard_before_17_is_raised(scripts: SimpleNamespace) -> None:
    package = scripts.population.Package(
        "a-b", "o/r", "", "torch", (".",), ("k.cu",),
        options=("-UX", "-use_fast_math"), cxx_options=("-DWITH_CUDA", "-std=c++14", "-fopenmp"),
    )  # fmt: skip
    cuda = scripts.translate.defines(package, "k.cu")
    assert "-D__CUDA_NO_HALF_OPERATORS__" in cuda and "-UX" in cuda and "-DTORCH_EXTENSION_NAME=a_b" in cuda
    assert "-DWITH_CUDA" not in cuda and "-use_fast_math" not in cuda
    cpp = ["-DWITH_CUDA", "-DNDEBUG", "-DTORCH_EXTENSION_NAME=a_b"]
    assert scripts.translate.defines(package, "a.cpp") == cpp
    assert scripts.population.cxx_options(package) == ["-DWITH_CUDA", "-std=c++17", "-fopenmp", "-DNDEBUG"]
    for given, used in (("-std=c++11", "-std=c++17"), ("-std=c++20", "-std=c++20")):
        assert scripts.population.cxx_options(replace(package, cxx_options=(given,))) == [used, "-DNDEBUG"]


def test_every_name_of_the_list_can_be_chosen_in_both_spellings(scripts: SimpleNamespace) -> None:
    def chosen(**options: Any) -> list[str]:
        options = {"only": None, "apart": False, "second": False} | options
        return [package.name for package in scripts.population.chosen(SimpleNamespace(**options))]

    assert "warp-rnnt" in chosen() and "msn-emd" not in chosen() and "msn-emd" in chosen(apart=True)
    assert chosen(only=["warp_rnnt", "msn-emd"]) == ["warp-rnnt", "msn-emd"]
    second = [package.name for package in scripts.population.SECOND]
    assert chosen(second=True) == second and not {*second} & {*chosen(apart=True)}
    assert chosen(only=["curope", "sam2"]) == ["sam2", "curope"]
    with pytest.raises(SystemExit, match="not in the list: other"):
        chosen(only=["sam2", "other"])


def test_only_files_with_kernels_become_modules_and_each_gets_a_name(scripts: SimpleNamespace) -> None:
    def tree(path: str, *kernels: tuple[bool, bool]) -> SimpleNamespace:
        declared = {
            number: SimpleNamespace(is_kernel=is_kernel, is_own=own) for number, (is_kernel, own) in enumerate(kernels)
        }
        return SimpleNamespace(path=path, declarations=declared)

    trees = [
        tree("a/x-y.cu", (True, True)), tree("b/x-y.cu", (False, True), (True, True)),
        tree("library.cu", (True, False), (False, True)), tree("a/x.cpp", (True, True)),
    ]  # fmt: skip
    assert scripts.translate.modules_of(trees, "p") == {"a/x-y.cu": "p.x_y", "b/x-y.cu": "p.x_y_1"}


def test_a_project_is_one_that_hatchling_builds_with_the_headers_of_its_machine(
    scripts: SimpleNamespace, tmp_path: Path
) -> None:
    package = scripts.population.Package("a-b", "o/r", "", "torch", (".",), ("k.cu",), include=("include",))
    scripts.translate.write_project(tmp_path, package, {"src/k.cu": "ported_a_b.k"}, "x = 1\n")
    table = tomllib.loads((tmp_path / "pyproject.toml").read_text())
    assert table["build-system"]["requires"] == ["hatchling", "cuda-wheel[tools]", "torch"]
    settings = table["tool"]["cuda-wheel"]
    assert settings["module"] == [{"name": "ported_a_b.k", "sources": ["src/k.cu"]}]
    assert settings["architectures"] == ["90-real"] and settings["include-dirs"] == ["include"]
    assert "system-include-dirs" not in settings and "-std=c++17" in settings["options"]
    assert (tmp_path / "ported_a_b/__init__.py").read_text() == "x = 1\n"


def test_an_original_is_built_for_one_gpu_with_the_options_of_its_own_build(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpp_extension = pytest.importorskip("torch.utils.cpp_extension")
    asked: dict[str, Any] = {}

    def load(name: str, sources: list[str], **options: Any) -> str:
        asked.update(options, name=name, sources=sources)
        return "module"

    monkeypatch.setattr(cpp_extension, "load", load)
    monkeypatch.setattr(scripts.originals, "find_toolkit", lambda: None)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "8.0;9.0+PTX")
    package = scripts.population.Package(
        "a-b", "o/r", "", "torch", (".",), ("k.cu",), ("a.cpp",), ("include",), ("-DBEGIN=namespace x {", "-std=c++14")
    )
    project = scripts.population.project_of(package, tmp_path)
    project.mkdir(parents=True)
    (project / "k.cu").touch()
    for text, expected in [("PYBIND11_MODULE(a, m)", "module"), ("TORCH_LIBRARY(a, m)", None)]:
        (project / "a.cpp").write_text(text)
        scripts.originals.built(package, tmp_path).unlink(missing_ok=True)
        assert scripts.originals.load(package, tmp_path) == expected
        assert asked["is_python_module"] is (expected is not None)
    assert os.environ["TORCH_CUDA_ARCH_LIST"] == "9.0"
    assert asked["name"] == "a_b" and asked["sources"] == [str(project / "a.cpp"), str(project / "k.cu")]
    assert asked["extra_include_paths"] == [str(project / "include")]
    assert "'-DBEGIN=namespace x {'" in asked["extra_cuda_cflags"]  # the shell takes it apart otherwise
    assert "-std=c++17" in asked["extra_cuda_cflags"] and "-std=c++14" not in asked["extra_cuda_cflags"]
    assert asked["extra_cflags"] == ["-std=c++17", "-DNDEBUG"]
    assert scripts.originals.built(package, tmp_path).exists()
    # What is built, here or on another machine, is only loaded.
    monkeypatch.setattr(cpp_extension, "load", None)
    loaded: list[Path] = []
    monkeypatch.setattr(pytest.importorskip("torch").ops, "load_library", loaded.append)
    assert scripts.originals.load(package, tmp_path) is None
    assert loaded == [scripts.originals.built(package, tmp_path).with_name("a_b.so")]


# --- cases ------------------------------------------------------------------------------------------------------------


def case(function: str, *arguments: Any, racy: bool = False, after: Callable[[Any], Any] = list) -> SimpleNamespace:
    """Return a case; arguments are made anew where they are lists of numbers."""

    def made() -> list[Any]:
        torch = pytest.importorskip("torch")
        return [torch.tensor(each) if isinstance(each, list) else each for each in arguments]

    return SimpleNamespace(function=function, arguments=made, is_racy=racy, after=after)


def of(scripts: SimpleNamespace, name: str, function: Any, *arguments: Any) -> list[dict[str, Any]]:
    """Return what a side gives for a call of `function`."""
    module = ModuleType("side")
    if function is not None:
        setattr(module, name, function)
    return [scripts.compare.outcome(scripts.compare.functions_of(module), case(name, *arguments))]


def raises(kind: type[Exception]) -> Any:
    def function(*arguments: Any) -> None:
        raise kind("no\nmore")

    return function


def test_calls_with_the_same_results_have_the_same_bits(scripts: SimpleNamespace) -> None:
    torch = pytest.importorskip("torch")
    nan = torch.tensor([float("nan"), -0.0])
    for theirs, ours in [
        (lambda x: x + 1, lambda x: 1 + x),
        (lambda x: (x.add_(1), 2, None, 0.5, "a"), lambda x: (x.add_(1), 2, None, 0.5, "a")),
        (lambda x: nan, lambda x: nan.clone()),
        (lambda x: torch.rand(3), lambda x: torch.rand(3)),  # the generators are seeded
        (lambda x: x.view(1, 2), lambda x: x.as_strided((1, 2), (9, 1))),  # nor one of one element
        (lambda x: x.new_empty(0, 3).t(), lambda x: x.new_empty(3, 0)),  # strides of no elements mean nothing
    ]:
        sides = (of(scripts, "f", each, [1.0, 2.0]) for each in (theirs, ours))
        assert scripts.compare.verdict(*sides) == "same bits"


def test_a_difference_of_any_kind_is_seen_and_named(scripts: SimpleNamespace) -> None:
    torch = pytest.importorskip("torch")

    def change(x: Any) -> Any:
        x += 1

    for theirs, ours, says in [
        (lambda x: x * 3, lambda x: x * 3.0000002, "tensor 0: 2 of 2 elements differ"),
        (lambda x: torch.tensor(0.0), lambda x: torch.tensor(-0.0), "tensor 0: 0 of 1 elements differ"),
        (lambda x: x, lambda x: x.double(), "tensor 0: [2] torch.float64 and not [2] torch.float32"),
        (lambda x: x, lambda x: x[:1], "result sizes[0]: 1 and not 2"),
        (change, lambda x: None, "tensor 0: 2 of 2 elements differ"),  # an argument
        (lambda x: (x, x), lambda x: [x, x], "result: {'list': ["),
        (lambda x: (x, x), lambda x: (x,), "result tuple: ["),
        (lambda x: 1, lambda x: 1.0, "result: {'float': '0x1.0000000000000p+0'} and not {'int': '1'}"),
        (lambda x: 1, lambda x: True, "result: {'bool': 'True'}"),
        (lambda x: 0.1, lambda x: 0.1 + 1e-18, ""),
        (lambda x: 0.1, lambda x: 0.30000000000000004 - 0.2, "result float: "),
        (lambda x: x, lambda x: None, "result: {'NoneType': 'None'}"),
        (lambda x: torch.ones(2, 3), lambda x: torch.ones(3, 2).t(), "result strides[0]: 1 and not 3"),
        (lambda x: x, lambda x: x.clone().requires_grad_(), "result grad: True and not False"),
        (lambda x: {"a": x}, lambda x: {"b": x}, "result dict[0][0]: 'b' and not 'a'"),
        (raises(ValueError), lambda x: x, "only the original raises ValueError: no\nmore"),
    ]:
        found = scripts.compare.verdict(*(of(scripts, "f", each, [1.0, 2.0]) for each in (theirs, ours)))
        assert found.startswith(f"DIFFERS: {says}" if says else "same bits"), found


def test_a_launch_without_blocks_and_an_order_that_differs_are_told_apart(scripts: SimpleNamespace) -> None:
    torch = pytest.importorskip("torch")

    def fails(x: Any) -> None:
        raise RuntimeError("CUDA error: invalid argument\nSearch for ...")

    ours = of(scripts, "f", lambda x: x, [1.0])
    assert scripts.compare.verdict(of(scripts, "f", fails, [1.0]), ours).startswith("EMPTY LAUNCH: only the original")

    def given(*numbers: float) -> dict[str, Any]:
        return {"shape": {"result": 0}, "tensors": [torch.tensor(numbers)]}

    first, same, other = given(1.0, 2.0), given(1.0, 2.0), given(1.0, 2.5)
    assert scripts.compare.verdict([first, same, same], [other]).startswith("DIFFERS: ")
    assert scripts.compare.verdict([first, same, other], [other]) == "same bits"


def test_a_case_says_what_of_its_arguments_is_compared(scripts: SimpleNamespace) -> None:
    pytest.importorskip("torch")

    def adds(*amounts: int) -> list[dict[str, Any]]:
        def function(*tensors: Any) -> None:
            for tensor, amount in zip(tensors, amounts, strict=True):
                tensor.add_(amount)

        made = case("f", [1.0], [2.0], after=lambda arguments: arguments[1:])
        return [scripts.compare.outcome(lambda _: function, made)]

    assert scripts.compare.verdict(adds(0, 1), adds(5, 1)) == "same bits"
    assert scripts.compare.verdict(adds(0, 1), adds(0, 2)).startswith("DIFFERS: tensor 0: 1 of 1 elements differ")


def test_pages_are_compared_in_the_place_of_their_addresses(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(__import__("cases"), "DEVICE", "cpu")
    pages = __import__("cases.omniserve_pages", fromlist=["table"])

    def fill(memory: Any) -> None:
        memory[:] = torch.arange(len(memory))[:, None]

    tables = [pages.table(2, 3, 32, fill) for _ in range(2)]
    for each in tables:
        assert each.shape == (2, 2, 3) and each.is_contiguous() and each.dtype == torch.long
        found = [ctypes.string_at(address, 32) for address in each.flatten().tolist()]
        assert sorted(found) == [bytes([n]) * 32 for n in range(12)] and found != sorted(found)
    one, other = (pages.memory_of([each, 5]) for each in tables)
    assert torch.equal(one[0], other[0]) and one[1] == 5 and not torch.equal(*tables)
    ctypes.memset(int(tables[1][0, 0, 0]), 77, 1)
    assert not torch.equal(one[0], other[0])


def test_exceptions_are_compared_by_type_and_what_is_not_translated_fails(scripts: SimpleNamespace) -> None:
    pytest.importorskip("torch")
    verdict = scripts.compare.verdict
    raising = {kind: of(scripts, "f", raises(kind)) for kind in (RuntimeError, ValueError, NotImplementedError)}
    fine = of(scripts, "f", lambda: 1)
    assert verdict(raising[RuntimeError], raising[RuntimeError]) == "both raise: RuntimeError: no\nmore"
    assert (
        verdict(raising[RuntimeError], raising[ValueError])
        == "both raise: RuntimeError: no\nmore, the port ValueError: no\nmore"
    )
    assert verdict(fine, raising[ValueError]) == "FAILED: ValueError: no\nmore"
    assert verdict(raising[RuntimeError], raising[NotImplementedError]).startswith("FAILED: NotImplementedError")
    assert verdict(raising[NotImplementedError], raising[NotImplementedError]).startswith("both raise")
    missing = of(scripts, "f", None)
    assert verdict(fine, missing).startswith("FAILED: AttributeError")
    assert verdict(missing, fine).startswith("NOT COMPARED: AttributeError")
    assert verdict("crashed: SIGSEGV", fine) == "NOT COMPARED: the original crashed: SIGSEGV"
    assert verdict(fine, "crashed: SIGSEGV") == "FAILED: the port crashed: SIGSEGV"


def test_racy_cases_may_differ_as_two_calls_of_the_original_do_and_no_more(scripts: SimpleNamespace) -> None:
    torch = pytest.importorskip("torch")

    def returns(*values: Any, dtype: Any = torch.float) -> list[dict[str, Any]]:
        return [of(scripts, "f", lambda value=value: torch.tensor(value, dtype=dtype).view(-1))[0] for value in values]

    def kind(*arguments: Any) -> str:
        return str(scripts.verdicts.kind(scripts.compare.verdict(*arguments)))

    as_two = "as two calls of the original"
    assert kind(returns(1.0, 1.0), returns(1.00001)) == "DIFFERS"
    assert kind(returns(1.0), returns(1.00001)) == "DIFFERS"
    assert kind(returns(1.0, 1.00001), returns(1.000011)) == as_two
    assert kind(returns(1.0, 1.00001), returns(1.00001)) == "same bits"
    assert kind(returns(1.0, 1.1), returns(0.85)) == as_two
    assert kind(returns(1.0, 1.1), returns(1.3)) == "DIFFERS"
    nan = float("nan")
    assert kind(returns([1.0, nan], [1.1, nan]), returns([0.85, nan])) == as_two
    assert kind(returns([1.0, nan], [1.1, nan]), returns([1.3, nan])) == "DIFFERS"
    assert kind(returns([1.0, nan], [1.1, nan]), returns([1.0, 1.0])) == "DIFFERS"
    assert kind(returns(4, 6, dtype=torch.int), returns(5, dtype=torch.int)) == as_two
    assert kind(returns(4, 4, dtype=torch.int), returns(5, dtype=torch.int)) == "DIFFERS"
    assert kind(returns(1.0, 1.1), returns(1.05, dtype=torch.double)) == "DIFFERS"


SIDE = """\
import os, signal, sys, time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, {folder!r})
import compare

compare.LIMIT = 1
functions = {{
    "fine": lambda: 7,
    "crashes": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hangs": lambda: time.sleep(60),
    "leaves": lambda: os._exit(5),
}}
names = {names!r}
first = int(sys.argv[1])
if first >= {loads_until}:
    sys.exit("no such library")
cases = [SimpleNamespace(function=name, arguments=list, is_racy=name == "fine", after=list) for name in names]
compare.run_side(functions.__getitem__, cases, Path({results!r}), first, again=2)
"""


def test_a_crash_or_a_call_that_hangs_costs_one_case(scripts: SimpleNamespace, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    names = ["fine", "crashes", "crashes", "hangs", "fine", "leaves", "fine"]
    results = tmp_path / "results"
    script = tmp_path / "side.py"
    folder = str(THIRD_PARTY / "host_functions")
    for loads_until, lost in [
        (9, {1: "crashed: SIGSEGV", 2: "crashed: SIGSEGV", 3: "was stopped after 60 s", 5: "ended with exit code 5"}),
        (
            2,
            {1: "crashed: SIGSEGV"}
            | dict.fromkeys(range(2, 7), "is not loaded (ended with exit code 1): no such library"),
        ),
    ]:
        script.write_text(SIDE.format(folder=folder, names=names, results=str(results), loads_until=loads_until))
        assert scripts.compare.run_cases([sys.executable, str(script)], results, len(names)) == lost
        for number in {*range(len(names))} - {*lost}:
            found = scripts.compare.outcomes(results, number, lost)
            assert [each["shape"]["result"] for each in found] == [{"int": "7"}] * 3


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_worst_case_of_a_function_is_what_is_said_of_it(scripts: SimpleNamespace) -> None:
    cases = {
        "a": ["same bits", "close: tensor 0", "both raise: E: e"],
        "b": ["same bits", "FAILED: E: e", "DIFFERS: tensor 0"],
        "c": ["same bits", "FAILED: E: e"],
        "d": ["both raise: E: e", "NOT COMPARED: E"],
        "e": ["NOT COMPARED: E"],
        "f": ["the original differs between two calls; the port: tensor 0"],
    }
    listed = [{"function": name, "what": "", "verdict": each} for name, found in cases.items() for each in found]
    assert scripts.verdicts.worst(listed) == {
        "a": "equal", "b": "DIFFERS", "c": "FAILED", "d": "only raises", "e": "NOT COMPARED", "f": "equal",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a launch of kernel_warp, which is no kernel of the file", "a launch of …, which is no kernel of the file"),
        ("at::bmm is not translated", "at::bmm is not translated"),
        ("a variable of type rnntStatus_t", "a variable of type …"),
        ("a conversion of std::vector<int> to my::Type<3> *", "a conversion of … to … *"),
        ("memory of a tensor is read on the host (data_ptr)", "memory of a tensor is read on the host (…)"),
        ("the operator + of int and long is not translated", "the operator + of int and long is not translated"),
    ],
)
def test_reasons_are_counted_without_the_names_of_the_extension(
    scripts: SimpleNamespace, text: str, expected: str
) -> None:
    assert scripts.verdicts.reason(text) == expected


def test_the_page_tells_what_is_whole_what_differs_and_why_the_rest_is_not_translated(
    scripts: SimpleNamespace, tmp_path: Path
) -> None:
    def function(name: str, *lines: int, reason: str = "at::bmm is not translated") -> dict[str, Any]:
        failures = [{"path": "a.cu", "line": line, "reason": reason} for line in lines]
        return {"name": name, "is_whole": not failures, "failures": failures}

    def cases(function: str, *verdicts: str) -> list[dict[str, str]]:
        return [
            {"function": function, "what": f"case {number}", "verdict": each} for number, each in enumerate(verdicts)
        ]

    every = {
        "one": [
            *cases("f", "same bits", "close: tensor 0", "DIFFERS: tensor 1\n of 2"),
            *cases("ns::g", "FAILED: NotImplementedError: a.cu:3"),
            *cases("k", "FAILED: TypeError: t"),
        ],
        "two": cases("h", "same bits", "both raise: E: e"),
    }
    extensions: dict[str, Any] = {
        name: {"cases": found, "functions": scripts.verdicts.worst(found), "apart": name == "two"}
        for name, found in every.items()
    }
    extensions["one"]["translated"] = {
        "functions": [function("f"), function("g", 3, 4), function("k"), function("l", 3)],
        "launches": 7, "translated_launches": 6,
    }  # fmt: skip
    extensions["two"]["translated"] = {
        "functions": [function("h"), function("i", 9, reason="the member x_y")],
        "launches": 2, "translated_launches": 1,
    }  # fmt: skip
    extensions["three"] = {
        "failed": "the original is not built",
        "translated": {"failed": "E: e\nmore"},
        "apart": False,
    }
    machine = {"gpu": "a GPU", "torch": "2.11", "python": "3.12"}
    counts = dict.fromkeys(("passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected"), 0)
    (tmp_path / "compared.json").write_text(json.dumps({"machine": machine, "extensions": extensions}))
    (tmp_path / "ends.json").write_text(json.dumps({"one": {"by_hand": 3, "tests": counts | {"passed": 5}}}))
    page = tmp_path / "page.md"
    scripts.verdicts.main([str(tmp_path / "compared.json"), str(tmp_path / "ends.json"), str(page)])
    text = page.read_text()
    for line in [
        "- 3 extensions define 6 functions; 1 of them, with 2, were kept apart.",
        "| functions that are whole | 3 of 6 (50 %) | 1 of 2 (50 %) |",
        "| launches that are translated | 7 of 9 (78 %) | 1 of 2 (50 %) |",
        "| functions compared | 2 | 1 |",
        "| of them equal | 1 | 1 |",
        "| wrong in silence | 1 | 0 |",
        "| fail loudly | 2 | 0 |",
        "| not compared | 2 | 1 |",
        "| one | 4 | 2 | 7 | 6 | 5 | 1 | 1 | 0 | 0 | 1 | 2 | 0 |",
        "| two (apart) | 2 | 1 | 2 | 1 | 2 | 1 | 0 | 1 | 0 | 0 | 0 |",
        "- three: not translated: E: e\n- three: not compared: the original is not built",
        "## Calls with other results\n\n- one: f, case 2: DIFFERS: tensor 1 of 2\n\n",
        "Of functions that are whole:\n\n- one: k, case 0: FAILED: TypeError: t\n\n",
        "| at::bmm is not translated | 2 | 2 | one: a.cu:3 |\n| the member … | 1 | 1 | two: a.cu:9 |",
        "| one | 3 |",
        "| one | 5 | 0 |",
    ]:
        assert f"\n{line}" in text, line
    scripts.verdicts.main([str(tmp_path / "compared.json"), str(page)])
    assert "by commands" not in page.read_text()
