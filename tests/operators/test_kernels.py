"""The kernel of a call is chosen by value: by its name, and by the variant of its module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cuda_wheel.operators import kernels as kernels_module
from cuda_wheel.operators.declarations import declared
from cuda_wheel.operators.kernels import KernelChoice, KernelInstances
from cuda_wheel.runtime.errors import ArgumentError, UnknownKernelError, UnknownVariantError
from cuda_wheel.runtime.manifest import Carried, Manifest, same_macros
from cuda_wheel.runtime.parts.variants import unknown_variant
from tests.torch.stand_in_kernels import StandIn

pytestmark = pytest.mark.one_toolchain

TYPES = "const float*, float*"


class Installed:
    """A module that is installed: its variants, and what `load` is asked for. It can compile more if it is `open`."""

    def __init__(self, variants: Mapping[Any, list[StandIn]], is_open: bool = False) -> None:
        self.kernels = variants
        carried = Carried(0, 9, "c" * 64) if is_open else None
        self.manifests = {
            same_macros(macros): Manifest(
                "demo.k", "k.fatbin", 0, f"{len(macros)}" * 64, {}, (), (), (), tuple(each.info for each in kernels),
                variant=macros, specialize=carried,
            )
            for macros, kernels in variants.items()
        }  # fmt: skip
        self.loaded: list[Any] = []
        self.compiled = StandIn("knn<9>", TYPES)

    def files_and_manifest(self, name: str, device: Any, macros: Any, needs_gpu: bool) -> tuple[None, Manifest]:
        found = self.manifests.get(same_macros(macros))
        if found is None:
            raise unknown_variant(name, macros, [each for each in self.kernels if each])
        return None, found

    def load(self, name: str, device: int, **macros: Any) -> Any:
        self.loaded.append((name, device, macros))
        own = next((kernels for each, kernels in self.kernels.items() if same_macros(each) == same_macros(macros)), [])
        return {each.name: each for each in own} | {self.compiled.name: self.compiled}


def install(monkeypatch: pytest.MonkeyPatch, *args: Any, **more: Any) -> Installed:
    found = Installed(*args, **more)
    monkeypatch.setattr(kernels_module, "files_and_manifest", found.files_and_manifest)
    monkeypatch.setattr(kernels_module, "load", found.load)
    return found


def knn(*sizes: int, types: str = TYPES) -> list[StandIn]:
    return [StandIn(f"knn<{size}>", types) for size in sizes]


@pytest.mark.parametrize("kernels", ["knn<*>", "knn< * >", "*", ["knn<2>", "knn< 3 >"], ("knn<?>",)])
def test_a_function_names_the_kernel(kernels: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, {(): knn(2, 3)})
    instances = KernelInstances("a::b", lambda k: f"knn<{k}>", "demo.k", kernels)
    assert instances.chooser is not None and instances.chooser.names == ("k",) and instances.variant_chooser is None
    assert [info.name for info in instances.described] == ["knn<2>", "knn<3>"]
    choice = instances.choice((), "knn<3>")
    assert instances.chosen(choice) == module.kernels[()][1].info
    assert instances.identity(choice) == ("demo.k", "_Zknn<3>", "0" * 32)
    assert instances.loaded_choice(choice, 1) is module.kernels[()][1] and module.loaded == [("demo.k", 1, {})]


def test_a_name_that_is_not_listed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {(): [*knn(2, 3, 16), StandIn("other", TYPES)]})
    instances = KernelInstances("a::b", lambda k: f"knn<{k}>", "demo.k", ["knn<2>", "knn<16>"])
    for name, message in (
        ("knn<17>", r"'knn<17>', .* the nearest are knn<16>, knn<2>; demo\.k is not built with specialize = true"),
        ("knn<3>", r"'knn<3>', which is not one of kernels; the nearest are .*; demo\.k has it: list it"),
        ("mean", r"'mean', which is not one of kernels; the nearest are [^;]*$"),
    ):
        with pytest.raises(ArgumentError, match=f"^a::b: kernel returned {message}"):
            instances.chosen(instances.choice((), name))
    for wrong in (None, 5, ""):
        with pytest.raises(ArgumentError, match=r"^a::b: kernel must return the name of a kernel, not "):
            instances.choice((), wrong)


def test_an_instance_may_be_compiled_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, {(): [*knn(2), StandIn("knn<4>", "float*"), StandIn("x", TYPES)]}, is_open=True)
    instances = KernelInstances("a::b", lambda k: f"knn<{k}>", "demo.k", ["knn<2>"])
    choice = instances.choice((), "knn<9>")
    assert instances.chosen(choice) is None
    assert instances.identity(choice) == ("demo.k", "knn<9>", "c" * 32), "the sources identify it"
    assert instances.loaded_choice(choice, 0) is module.compiled
    with pytest.raises(ArgumentError, match=r"^a::b: kernel returned 'knm<9>'"):  # no template has this name
        instances.chosen(instances.choice((), "knm<9>"))
    for _ in range(2):  # again, and in another thread
        with pytest.raises(ArgumentError, match=r"kinds .*: knn<2> takes \(const float\*, float\*\), and knn<4> takes"):
            instances.chosen(instances.choice((), "knn<4>"))
    module.compiled = StandIn("knn<9>", "const float*, int")
    with pytest.raises(ArgumentError, match=r"different kinds .*, and knn<9> takes \(const float\*, int\)"):
        instances.loaded_choice(choice, 0)


FLOAT, DOUBLE = (("N", 2), ("T", "float")), (("N", 4), ("T", "double"))


def test_a_variant_is_chosen_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, {FLOAT: knn(2), DOUBLE: knn(2, 3, types="const double*, double*")})
    instances = KernelInstances("a::b", "knn<2>", "demo.k", variant=lambda n, t: {"N": n, "T": t})
    assert instances.variant_chooser is not None and instances.variant_chooser.names == ("n", "t")
    for macros, kernels in module.kernels.items():
        choice = instances.choice((), macros=dict(macros))
        assert instances.chosen(choice) == kernels[0].info
        assert instances.identity(choice).module == f"demo.k[{', '.join(f'{name}={value}' for name, value in macros)}]"
        assert instances.loaded_choice(choice, 0) is kernels[0]
    with pytest.raises(ArgumentError, match=r"^a::b: demo\.k has no variant N=2, T=double\. Its variants, the nearest"):
        instances.chosen(instances.choice((), macros={"N": 2, "T": "double"}))
    for wrong in (None, 5, {"N": None}, {5: 5}):
        with pytest.raises(
            ArgumentError, match=r"^a::b: variant (must be a mapping of macros|maps names of macros to)"
        ):
            instances.choice((), macros=wrong)
    both = KernelInstances("a::b", lambda k: f"knn<{k}>", "demo.k", "knn<*>", lambda n: {})
    assert both.loaded_choice(both.choice((), "knn<3>", dict(DOUBLE)), 0) is module.kernels[DOUBLE][1]
    with pytest.raises(ArgumentError, match="'knn<3>', which is not one of kernels"):  # of this variant
        both.chosen(both.choice((), "knn<3>", dict(FLOAT)))


def test_macros_of_equal_value_and_other_text_are_other_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (("N", 1),), (("N", "1.0"),)
    module = install(monkeypatch, {one: knn(2), other: knn(2)})
    instances = KernelInstances("a::b", "knn<2>", "demo.k", variant=lambda n: {"N": n})
    for value, macros in ((1, one), (True, one), ("1", one), (1.0, other)):
        kernel = instances.loaded_choice(instances.choice((), macros={"N": value}), 0)
        assert kernel is module.kernels[macros][0]


def test_one_variant_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, {FLOAT: knn(2), DOUBLE: knn(3)})
    instances = KernelInstances("a::b", {"float32": "knn<3>"}, "demo.k", variant=dict(DOUBLE))
    assert instances.loaded(("float32",), 0) is module.kernels[DOUBLE][0]
    assert module.loaded == [("demo.k", 0, {"N": "4", "T": "double"})]
    with pytest.raises(UnknownVariantError, match="has no variant N=5"):
        KernelInstances("a::b", "knn<3>", "demo.k", variant={"N": 5, "T": "double"})
    with pytest.raises(UnknownVariantError, match="has variants, and none is named"):
        KernelInstances("a::b", "knn<3>", "demo.k")
    with pytest.raises(UnknownKernelError, match="has no kernel 'knn<2>'"):
        KernelInstances("a::b", "knn<2>", "demo.k", variant=dict(DOUBLE))


def test_a_variant_may_be_compiled_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    module = install(monkeypatch, {FLOAT: knn(9)}, is_open=True)
    for variant in ({"N": 7, "T": "float"}, lambda n: None):
        instances = KernelInstances("a::b", "knn<9>", "demo.k", variant=variant)
        choice = instances.choice((), macros={"N": 7, "T": "float"})
        assert instances.chosen(choice) is None and instances.name == "knn<9>"
        assert instances.identity(choice) == ("demo.k[N=7, T=float]", "knn<9>", "c" * 32)
        assert instances.loaded_choice(choice, 0) is module.compiled
    with pytest.raises(ArgumentError, match="has no variant M=7"):  # no variant has this macro
        instances.chosen(instances.choice((), macros={"M": 7}))
    install(monkeypatch, {(): knn(9)})
    with pytest.raises(ArgumentError, match=r"^a::b: variant chooses one, but demo\.k has no variants"):
        KernelInstances("a::b", "knn<9>", "demo.k", variant=lambda n: {})


def test_without_functions_a_choice_is_by_element_types() -> None:
    one, two = knn(2, 3)
    instances = KernelInstances("a::b", {"float32": one, "float64": two}, None)
    assert instances.choice(("float64",)) == KernelChoice(("float64",))
    assert instances.loaded(("float64",), 0) is two and instances.accepted == [("float32",), ("float64",)]
    with pytest.raises(ArgumentError, match=r"^a::b has no kernel for int32"):
        instances.chosen(instances.choice(("int32",)))


def test_functions_may_name_inputs_values_and_more_arguments() -> None:
    def declare(kernel: Any, **more: Any) -> Any:
        given = {"values": {}, "defaults": {"train": True, "beta": 2.0}, **more}
        return declared(
            "a::b", kernel, None, "x, y, n, beta", {"y": "x"}, {"n": lambda x, k: k, **given["values"]},
            given["defaults"], (), {"grid": lambda k: k, "block": 1}, kernels=[StandIn("k", f"{TYPES}, int, float")],
            more_arguments={"k": int, "rate": float, "train": bool},
        )  # fmt: skip

    declaration = declare(lambda x, n, k, train: "k")
    assert [(each.name, each.type, each.default) for each in declaration.arguments.inputs] == [
        ("x", "Pointer", None),
        ("k", "Integer", None),
        ("rate", "Real", None),
        ("beta", "Real", 2.0),
        ("train", "bool", True),
    ]
    for wrong in (lambda y: "k", lambda *x: "k", lambda *, x: "k"):
        with pytest.raises(ArgumentError, match=r"^a::b: kernel is a function of "):
            declare(wrong)
