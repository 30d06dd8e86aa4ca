"""Structs of the project in translated host functions: their layout, and what becomes of objects of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cuda_wheel.migrate.host_functions.nodes import Declaration, Record, RecordField, SourceTree
from cuda_wheel.migrate.host_functions.python_code import lines
from cuda_wheel.migrate.host_functions.records import PythonClass, RecordTable, RecordTranslator
from cuda_wheel.migrate.host_functions.values import Untranslated


def fields(*given: tuple[str, str, int]) -> tuple[RecordField, ...]:
    return tuple(RecordField(*each) for each in given)


def class_of(*records: Record) -> PythonClass:
    """Return the class of the last one of these structs."""
    source = SourceTree("a.cu", records={each.name: each for each in records})
    return RecordTable().class_of(records[-1], source, tuple)


BASE = Record("Base", 8, fields(("batch", "int", 0), ("scale", "float", 32)))
MODE = Record("Mode", 1, kind="ENUM_DECL", underlying="unsigned char")


def test_structure_with_the_layout_of_the_struct() -> None:
    record = Record(
        "ns::Params<float>",
        64,
        fields(
            ("rows", "long", 64),
            ("x", "float *__restrict", 128),
            ("in", "short[2][3]", 192),
            ("mode", "Mode", 288),
            ("inner", "Base", 320),
            ("shift", "float3", 384),
        ),
        ("Base",),
    )
    made = class_of(BASE, MODE, record)
    assert made.name == "Params_float"
    structure: Any = made.structure
    assert (structure.rows.offset, structure.x.offset, structure.in_.offset, structure.shift.offset) == (8, 16, 24, 48)
    assert (structure.in_.size, structure.mode.size) == (12, 1)
    assert '        ("in_", ctypes.c_int16 * 3 * 2),' in made.lines
    namespace: dict[str, Any] = {"ctypes": ctypes}
    exec("\n".join([*class_of(BASE).lines, *made.lines]), namespace)
    assert ctypes.sizeof(namespace["Params_float"]) == 64
    assert namespace["Params_float"](batch=3).batch == 3


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Record("S", 16, fields(("a", "int", 0))), "16 bytes"),  # alignas(16)
        (Record("S", 16, fields(("a", "int", 64))), "bit 64"),  # virtual functions
        (Record("S", 4, (RecordField("a", "int", 0, True),)), "bit-field"),
        (Record("S", 4, fields(("", "int", 0))), "no name"),
        (Record("S", 4, fields(("a", "int", 0)), kind="UNION_DECL"), "union"),
        (Record("S", 8), "virtual functions"),
        (Record("S", 4, fields(("a", "int", 0)), ("Other",)), "base class Other"),
        (Record("S", 8, fields(("a", "std::mutex", 0))), "std::mutex"),
    ],
)
def test_refused_structs(record: Record, words: str) -> None:
    with pytest.raises(Untranslated) as caught:
        class_of(record)
    assert words in caught.value.reason


def test_struct_with_a_tensor_is_a_dataclass() -> None:
    made = class_of(BASE, Record("Result", 40, fields(("list", "std::vector<at::Tensor>", 0), ("b", "Base", 192))))
    assert made.structure is None
    assert "    list_: list = dataclasses.field(default_factory=list)" in made.lines
    assert "    b: Base = dataclasses.field(default_factory=Base)" in made.lines


def test_only_used_classes_are_written_nested_ones_first() -> None:
    table = RecordTable()
    outer, other = Record("Outer", 8, fields(("inner", "Base", 0))), Record("Other", 4, fields(("a", "int", 0)))
    source = SourceTree("a.cu", records={each.name: each for each in (BASE, outer, other)})
    for each in (outer, other):
        table.class_of(each, source, tuple)
    written = [line for line in table.text({"Outer"}) if line.startswith("class")]
    assert written == ["class Base(ctypes.Structure):", "class Outer(ctypes.Structure):"]


# --- functions ------------------------------------------------------------------------------------------

STUBS = """
struct dim3 { unsigned x, y, z; dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1); };
"""

CODE = """
#include "stubs.h"
#define __global__ __attribute__((global))
typedef unsigned long size_t;
extern "C" void *memset(void *, int, size_t);
struct CUstream_st;
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, CUstream_st * = nullptr);
extern "C" int cudaConfigureCall(dim3, dim3, size_t = 0, CUstream_st * = nullptr);
enum Mode { kOne = 1, kTwo };
struct Base { int batch; float scale; };
struct Params : Base { long n = 3; void *p; float w[2]; Mode mode = kTwo; };
struct Functor { };
struct Point { float x, y; Point(float x_, float y_ = 2.f) : x(x_), y(y_) {} float sum() const { return x + y; }
  void grow(float by) { x *= by; } };
template <typename T> struct Sized { T first = 5; int second; };
__global__ void k(Params, Functor, Base);
__global__ void g(dim3, dim3);
template <class T> __global__ void shift(T, int) {}
template <class T> __global__ void shift(T, Functor) {}
template <class F, class... Args> __global__ void each(int, F, Args...) {}
template <class F, class... Args> void apply(int n, F f, Args... args) { each<F><<<n, 1>>>(n, f, args...); }
int height(dim3 grid) { return grid.y * 10 + grid.z; }
void set(Params &params) { params.batch = 7; params.w[1] = 0.5f; params.p = nullptr; params.mode = kOne; }
int changed(Params params, Base *base) { params.n += 1; base->batch = 4; return params.n; }
void clear(Params &params) { memset(&params, 0, sizeof(params)); }
void run() {
  Params params;
  Params copy = params;
  set(params);
  Base base{1, 2.5f}, other = {.scale = 1.5f};
  int n = changed(params, &base);
  Point point(1.f);
  point.grow(3.f);
  Sized<int> sized;
  other.scale = point.sum();
  k<<<n, sized.first>>>(params, Functor(), base);
  k<<<1, 1>>>(copy, Functor{}, params);
  clear(params);
  k<<<1, 1>>>(params, Functor(), other);
  dim3 grid(4, 3), block;
  block.y = height(grid);
  g<<<grid, 1>>>(grid, block);
  apply(2, Functor(), 2.5f, 7);
  shift<long><<<1, 1>>>(5, 6);
  shift<long><<<1, 1>>>(5, Functor());
}
"""


class Module:
    """What a function asks of its extension, without an extension."""

    aten = None

    def __init__(self) -> None:
        self.table = RecordTable()
        self.waiting: list[Declaration] = []

    def kernels_of(self, declared: Declaration) -> str:
        return "kernels"

    def function_name(self, declared: Declaration, source: SourceTree, is_on_cpu: bool) -> str:
        made = f"make_{declared.name}" if declared.kind == "CONSTRUCTOR" else declared.name
        self.waiting.append(declared)
        return made

    def definition(self, declared: Declaration) -> Declaration | None:
        return declared if declared.body is not None else None

    def record(self, record: Record, source: SourceTree) -> PythonClass:
        return self.table.class_of(record, source, self.table.names)


class Kernels(dict[str, Any]):
    """Notes the launches: grid, block and arguments as bytes."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, ...]] = []
        self.names: list[Any] = []

    def __missing__(self, key: Any) -> Any:
        self.names += [key] if isinstance(key, tuple) or key.startswith("_Z") else []
        return self

    def launch(self, grid: int, block: int, *arguments: Any) -> None:
        self.launches.append(
            (grid, block, *(bytes(each) if isinstance(each, ctypes.Structure | bytes) else each for each in arguments))
        )


def translated(source: SourceTree) -> dict[str, Any]:
    """Return the namespace of the Python module that `run` and what it calls become."""
    module = Module()
    by_name = {each.name: each for each in source.declarations.values() if each.body is not None}
    module.waiting.append(by_name["run"])
    text: list[str] = []
    done = set()
    while module.waiting:
        declared = module.waiting.pop()
        if declared.usr in done:
            continue
        done.add(declared.usr)
        made = RecordTranslator(module, source, declared, CODE.splitlines()).translate()
        assert not made.failures
        shown = f"make_{made.name}" if declared.kind == "CONSTRUCTOR" else made.name
        text += [
            f"def {shown}({', '.join([*made.template, *(each for each, _ in made.parameters)])}):",
            *lines(made.body or [], 4),
        ]
        text += [] if made.body else ["    pass"]
    words = set("\n".join(text).replace("(", " ").replace(".", " ").split())
    head = [
        "import ctypes",
        "from cuda_wheel.torch.arithmetic import dim3, uint32",
        "float32 = lambda x: ctypes.c_float(x).value",
        "int32 = int",
        *module.table.text(words),
    ]
    types = SimpleNamespace(float32="float", int32="int")
    namespace: dict[str, Any] = {"kernels": Kernels(), "torch": types}
    exec("\n".join(head + text), namespace)
    return namespace


def test_objects_are_changed_and_copied_as_in_cpp(read_source: Callable[[str, str, str], SourceTree]) -> None:
    source = read_source("a.cu", CODE, STUBS)
    namespace = translated(source)
    namespace["run"]()
    params, base = namespace["Params"], namespace["Base"]
    first, second, third, fourth, fifth, *others = namespace["kernels"].launches
    changed = params(n=3, batch=7, w=(0, 0.5), mode=1)
    assert first == (4, 5, bytes(changed), b"\0", bytes(base(4, 2.5)))
    # The copy was made before the change, and the part of a struct is what its base class has.
    assert second == (1, 1, bytes(params(n=3, mode=2)), b"\0", bytes(base(7, 0)))
    assert third == (1, 1, bytes(ctypes.sizeof(params)), b"\0", bytes(base(0, 5.0)))
    assert fourth == ((4, 3), 1, (4, 3, 1), (1, 31, 1))
    assert fifth == (2, 1, 2, b"\0", 2.5, 7) and others == [(1, 1, 5, 6), (1, 1, 5, b"\0")]
    symbols = ["_Z5shiftIlEvT_i", "_Z5shiftIlEvT_7Functor"]  # of two kernels with one name
    assert namespace["kernels"].names == [("each", "Functor", "float", "int"), *symbols]
