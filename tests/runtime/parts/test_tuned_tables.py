"""Tables of tuned choices: what is read, which row is chosen, and the kernel that comes of it."""

from __future__ import annotations

import json
import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cuda_wheel
from cuda_wheel.runtime.errors import ArgumentError, DriverError, ImageError
from cuda_wheel.runtime.parts.tuned_rows import Row, choose, parse_table
from cuda_wheel.tuning.tuner import merged_rows, table_text
from tests.support.driver import Driver
from tests.support.loaded_modules import forget_package

pytestmark = pytest.mark.one_toolchain

MACROS = {"MATH_TYPE": "double", "NUM_MODES": 4}


def row(gpu: str = "Stand-in", capability: tuple[int, int] = (8, 6), **changes: Any) -> Row:
    parameters = {"block": 128, "tile": (8, 16), "split": False, "what": None}
    given = Row("update", gpu, capability, {"n": 1000}, dict(MACROS), "update", parameters, 3.25, 4.0)
    return given._replace(**changes)


def test_a_table_is_read_as_it_was_written_in_one_order() -> None:
    rows = [
        row(problem={"n": n, "dtype": dtype}, gpu=gpu, capability=capability, name=name)
        for name in ("update", "apply")
        for gpu, capability in (("NVIDIA B", (9, 0)), ("NVIDIA \N{MICRO SIGN}", (9, 0)), ("NVIDIA Z", (8, 0)))
        for n in (9, 100)
        for dtype in ("float", "double")
    ]
    text = table_text("demo.update", rows)
    assert text == table_text("demo.update", reversed(rows))
    read = parse_table(text.encode(), "demo.update", "x")
    assert sorted(map(repr, read)) == sorted(map(repr, rows))
    assert table_text("demo.update", read) == text
    order = [(each.name, each.compute_capability, each.gpu, each.problem["dtype"], each.problem["n"]) for each in read]
    assert order == sorted(order)
    assert len(text.splitlines()) == len(rows) + 6  # a line for each, so that a review shows what changed


def test_new_rows_replace_those_of_their_gpu_and_name_alone() -> None:
    old = [row(), row(problem={"n": 5}), row("NVIDIA A"), row(name="apply")]
    new = [row(microseconds=1.0, problem={"n": 7})]
    assert merged_rows(old, new) == merged_rows(reversed(old), new) == [row(name="apply"), row("NVIDIA A"), new[0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.update(format=2), "its format is 2, and this cuda-wheel reads format 1"),
        (lambda table: table.update(module="demo.other"), "it is the table of 'demo.other', not of 'demo.update'"),
        (lambda table: table.pop("choices"), "'choices' is missing"),
        (lambda table: table.update(choices=3), "not iterable"),
        (lambda table: table["choices"].append([]), "choice 2: it has the keys"),
        (lambda table: table["choices"][0].pop("gpu"), "choice 1: it has the keys name, compute_capability"),
        (lambda table: table["choices"][0].update(more=1), "choice 1: it has the keys"),
        (lambda table: table["choices"][0].update(kernel=""), "choice 1: kernel must be a string, not ''"),
        (lambda table: table["choices"][0].update(problem={}), "choice 1: a problem needs at least one size"),
        (
            lambda table: table["choices"][0].update(problem={"n": 1.5}),
            "the problem's n must be an integer or a string",
        ),
        (
            lambda table: table["choices"][0].update(problem={"n": -1}),
            "the problem's n is a size, from 0 to 2**63 - 1, and not -1",
        ),
        (lambda table: table["choices"][0].update(problem={"n": 1 << 63}), "is a size, from 0 to 2**63 - 1"),
        (lambda table: table["choices"][0].update(compute_capability=[8]), "choice 1: not enough values"),
        (lambda table: table["choices"][0].update(compute_capability=[8, -1]), "-1 is not an integer from 0 on"),
        (lambda table: table["choices"][0].update(variant={"A B": 1}), "'A B' with the value 1 is not a macro"),
        (lambda table: table["choices"][0].update(parameters={"x": {}}), "the parameter x must be a number"),
        (lambda table: table["choices"][0].update(microseconds="fast"), "choice 1: could not convert string"),
        (lambda table: table["choices"][0].update(microseconds=float("nan")), "choice 1: its times must be numbers"),
        (lambda table: table["choices"][0].update(first_microseconds=-1), "choice 1: its times must be numbers"),
        (lambda table: table["choices"].append(table["choices"][0]), "two choices 'update' for Stand-in and n=1000"),
        (
            lambda table: table["choices"].append({**table["choices"][0], "problem": {"m": 1}}),
            "the problems of 'update' have different keys",
        ),
        (
            lambda table: table["choices"].append({**table["choices"][0], "problem": {"n": "1"}}),
            "the problems of 'update' have different keys",
        ),
    ],
)
def test_a_table_that_is_not_valid_is_refused_with_the_reason(change: Callable[[Any], object], message: str) -> None:
    table = json.loads(table_text("demo.update", [row()]))
    change(table)
    with pytest.raises(ImageError, match=r"x\.json is not a valid table of tuned choices") as error:
        parse_table(json.dumps(table).encode(), "demo.update", "x.json")
    assert message in str(error.value) and "Make it again with cuda-wheel tune." in str(error.value)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode) | st.just(b"[" * 100_000))
def test_any_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ImageError, match="is not a valid table"):
        parse_table(content, "demo.update", "x")


def test_the_gpu_decides_first_then_the_nearest_size_by_ratio() -> None:
    rows = [
        row(gpu, capability, problem={"n": n}, kernel=f"{gpu} {n}")
        for gpu, capability in (("L4", (8, 9)), ("A100", (8, 0)), ("A30", (8, 0)), ("H200", (9, 0)), ("B200", (10, 0)))
        for n in (0, 99, 9999)
    ]

    def chosen(gpu: str, capability: tuple[int, int], n: int) -> str:
        found = {choose(each, "x", "update", {"n": n}, gpu, capability).kernel for each in (rows, rows[::-1])}
        (kernel,) = found  # the order of the rows does not matter
        return kernel

    assert chosen("H200", (9, 0), 99) == "H200 99"
    assert chosen("H100", (9, 0), 998) == "H200 99" and chosen("H100", (9, 0), 1000) == "H200 9999"
    assert chosen("H200", (9, 0), 999) == "H200 99"  # the same ratio to both: the smaller one
    assert chosen("H200", (9, 0), 3) == "H200 0" and chosen("H200", (9, 0), (1 << 63) - 1) == "H200 9999"
    assert chosen("A30", (8, 0), 99) == "A30 99" and chosen("A10", (8, 6), 99) == "L4 99"
    assert chosen("X", (8, 0), 99) == "A100 99"  # the first by name
    assert chosen("X", (7, 5), 99) == "L4 99" and chosen("X", (12, 0), 99) == "B200 99"
    assert chosen("X", (9, 5), 99) == "H200 99"


def test_of_two_equally_near_gpus_the_lower_compute_capability_is_chosen() -> None:
    rows = [row("new", (11, 0)), row("old", (9, 0))]
    assert choose(rows, "x", "update", {"n": 1}, "X", (10, 0)).gpu == "old"


def test_rounding_of_the_logarithms_does_not_decide() -> None:
    rows = [row(problem={"n": 48}), row(problem={"n": 0})]  # 49 / 7 == 7 / 1, and log(7) is not log(49) - log(7)
    assert choose(rows, "x", "update", {"n": 6}, "X", (8, 6)).problem == {"n": 0}


def test_several_sizes_count_together_and_strings_must_be_equal() -> None:
    rows = [
        row(problem={"m": m, "n": n, "dtype": dtype}, gpu=gpu)
        for m, n, dtype, gpu in ((63, 63, "float", "G"), (7, 511, "float", "G"), (63, 63, "double", "other"))
    ]

    def chosen(**problem: int | str) -> dict[str, Any]:
        return choose(rows, "x", "update", problem, "G", (8, 6)).problem

    assert chosen(m=50, n=70, dtype="float") == rows[0].problem
    assert chosen(dtype="float", n=500, m=10) == rows[1].problem
    assert chosen(m=7, n=511, dtype="double") == rows[2].problem  # strings come before the GPU
    with pytest.raises(
        ImageError, match=r"x has no choice 'update' for dtype=half; it was tuned for dtype=double; dtype=float"
    ):
        chosen(m=1, n=1, dtype="half")
    with pytest.raises(ImageError, match="x has no choice 'other'; it has 'update'"):
        choose(rows, "x", "other", {"n": 1}, "G", (8, 6))
    for problem in ({"m": 1, "n": 1}, {"m": 1, "n": 1, "dtype": 4}, {"m": 1, "n": 1, "dtype": "float", "k": 1}):
        with pytest.raises(
            ArgumentError, match=r"the problem of 'update' has m \(integer\), n \(integer\), dtype \(string\)"
        ):
            chosen(**problem)


@pytest.fixture
def site(variants_build: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a copy of the built package with variants on the path, with a table, and return the package's folder."""
    shutil.copytree(variants_build[0], tmp_path / "site")
    table = table_text("demo.update", [row(), row(problem={"n": 10}, kernel="gemm<MATH_TYPE, NUM_MODES>")])
    (tmp_path / "site/demo/update.tuned.json").write_text(table)
    put_on_path(tmp_path / "site", monkeypatch)
    return tmp_path / "site/demo"


def put_on_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(place))
    forget_package("demo")


def test_a_program_gets_the_kernel_of_the_variant_and_the_parameters(site: Path, use: Callable[..., Driver]) -> None:
    driver = use((8, 6))
    choice = cuda_wheel.tuned("demo.update", "update", {"n": 900})
    assert isinstance(choice, cuda_wheel.Choice) and not driver.loaded  # nothing is loaded before it is used
    assert choice.kernel.name == choice.kernel_name == "update" and choice.kernel.module.variant == MACROS
    assert (choice["block"], choice["tile"], choice["split"], choice["what"]) == (128, (8, 16), False, None)
    assert (choice.gpu, choice.problem, choice.variant) == ("Stand-in", {"n": 1000}, MACROS)
    assert repr(choice).startswith(
        "<Choice demo.update: update, MATH_TYPE=double, NUM_MODES=4, block=128, tile=(8, 16)"
    )
    choice.kernel.launch(2, choice["block"], 0, 900)
    assert driver.launches[-1].block == (128, 1, 1)
    with pytest.raises(ArgumentError, match=r"<Choice demo.update: .*> has no parameter 'blok'"):
        choice["blok"]
    assert cuda_wheel.tuned("demo.update", "update", {"n": 900}) is choice
    assert cuda_wheel.tuned("demo.update", "update", {"n": 3}).kernel.symbol == "_Z4gemmIdLi4EEvPT_"
    kernel = choice.kernel
    assert choice.kernel is kernel
    kernel.module.unload()
    assert choice.kernel is not kernel and choice.kernel.module.is_loaded


def test_the_gpu_in_use_decides(site: Path, use: Callable[..., Driver]) -> None:
    rows = [row("Stand-in", (8, 0), problem={"n": 4}), row("Other", (9, 0), problem={"n": 4})]
    (site / "update.tuned.json").write_text(table_text("demo.update", rows))
    driver = use((8, 0), (9, 0))
    names = {0: b"NVIDIA 8\0", 1: b"NVIDIA 9\0"}
    driver.cuDeviceGetName = lambda size, device: (0, names[int(device)])  # type: ignore[method-assign]
    ask = lambda **device: cuda_wheel.tuned("demo.update", "update", {"n": 4}, **device)  # noqa: E731
    assert ask().gpu == "Stand-in" and ask(device=1).gpu == "Other"
    driver.context.device = 1
    assert ask().gpu == "Other" and ask(device=0).gpu == "Stand-in"
    assert [str(ask(device=number).kernel.module.image.target) for number in (0, 1)] == ["sm_80", "sm_90"]


def test_what_cannot_be_chosen_is_an_error_with_words(site: Path, use: Callable[..., Driver]) -> None:
    use((8, 6))
    with pytest.raises(
        ImageError, match=r"demo.plain has no table of tuned choices \(.*plain.tuned.json\): make it with"
    ):
        cuda_wheel.tuned("demo.plain", "plain", {"n": 1})
    with pytest.raises(ImageError, match="'demo' is not a module's dotted name"):
        cuda_wheel.tuned("demo", "plain", {"n": 1})
    with pytest.raises(ArgumentError, match=r"the problem's n must be an integer or a string, not \[1\]"):
        cuda_wheel.tuned("demo.update", "update", {"n": [1]})  # type: ignore[dict-item]
    with pytest.raises(ArgumentError, match=r"the problem's n must be an integer or a string, not 1.5"):
        cuda_wheel.tuned("demo.update", "update", {"n": 1.5})  # type: ignore[dict-item]
    (site / "update.tuned.json").write_text("{}")
    use((8, 6))
    with pytest.raises(ImageError, match="'format' is missing"):
        cuda_wheel.tuned("demo.update", "update", {"n": 1})
    use((8, 6), cuInit=100)
    with pytest.raises(DriverError):
        cuda_wheel.tuned("demo.update", "update", {"n": 1})


def test_the_table_is_found_in_a_zip_archive(
    site: Path, use: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 6))
    with zipfile.ZipFile(tmp_path / "demo.zip", "w") as archive:
        for path in site.iterdir():
            if path.is_file():
                archive.write(path, f"demo/{path.name}")
    put_on_path(tmp_path / "demo.zip", monkeypatch)
    assert cuda_wheel.tuned("demo.update", "update", {"n": 900}).kernel.name == "update"
    with pytest.raises(ImageError, match=r"demo\.plain has no table"):
        cuda_wheel.tuned("demo.plain", "plain", {"n": 1})


def test_threads_get_one_choice_and_a_table_is_read_once(
    site: Path, use: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    use((8, 6))
    cuda_wheel.tuned("demo.update", "update", {"n": 1})
    (site / "update.tuned.json").unlink()
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(cuda_wheel.tuned("demo.update", "update", {"n": 77}).kernel))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len({each.handle for each in found}) == 1
