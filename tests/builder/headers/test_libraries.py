"""Host code that uses {fmt}, spdlog and nanobind compiles with their stand-ins, also beside a copy of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.cxx.demangling import signature
from cuda_wheel.builder.jobs import Compiled
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select
from cuda_wheel.builder.toolchain.toolchain import HOST_LIBRARIES, Toolchain

SOURCE = r"""
#include <fmt/format.h>
#include <fmt/color.h>
#include <fmt/ranges.h>
#include <fmt/ostream.h>
#include <spdlog/spdlog.h>
#include <spdlog/fmt/ostr.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <vector>
namespace nb = nanobind;
using namespace nb::literals;
template <class T, int N> __global__ void scale(T* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= N; }
enum class Kind { one, two };
template <> struct fmt::formatter<Kind> : formatter<string_view> {
  auto format(Kind kind, format_context& context) const { return formatter<string_view>::format("x", context); }
};
struct Point { int x, y; };
template <> struct fmt::formatter<Point> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context> auto format(const Point& p, Context& context) const -> decltype(context.out()) {
    return fmt::format_to(context.out(), "({}, {})", p.x, p.y);
  }
};
template <class... Args> void log(fmt::format_string<Args...> text, Args&&... args) {
  throw std::runtime_error(fmt::format(text, std::forward<Args>(args)...));
}
using spdlog::fmt_lib::format;
static auto logger = spdlog::stdout_color_mt("demo");
template <class T> struct Launch { static void run(nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cuda> x, cudaStream_t s) {
    spdlog::debug("scale: n={} at {}", x.size(), fmt::ptr(x.data()));
    scale<T, 2><<<1, 32, 0, s>>>(x.data(), x.shape(0));
    SPDLOG_INFO("kind {} {}", Kind::one, Point{1, 2});
    logger->warn("done"); logger->error("failed {}", 1);
    spdlog::set_level(spdlog::level::debug);
    fmt::print(stderr, "{}\n", fmt::join(std::vector<int>{1, 2}, ", "));
    fmt::print(fg(fmt::color::red) | fmt::emphasis::bold, "no {}", 1);
    fmt::memory_buffer buffer; fmt::format_to(std::back_inserter(buffer), "{:>8}", 3); std::string text = fmt::to_string(buffer);
    log("x {}", 3.0); auto more = format("{0:x}", 3) + fmt::to_string(4);
} };
template <class Scalar> void bind(nb::module_& m, const char* name) {
  m.def(name, [](nb::ndarray<const Scalar, nb::device::cuda> in, nb::ndarray<Scalar, nb::shape<-1, 3>, nb::ro> ro, int n) {
    scale<Scalar, 5><<<1, 32>>>(const_cast<Scalar*>(in.data()), n);
    const Scalar* p = ro.data();
    return nb::make_tuple(n, p != nullptr);
  }, "in"_a, "ro"_a.noconvert(), nb::kw_only(), "n"_a = 3, nb::call_guard<nb::gil_scoped_release>());
}
struct State { int count = 0; int next() { return ++count; } };
NB_MODULE(demo, m) {
  m.def("scale", &Launch<float>::run, "x"_a, "stream"_a);
  bind<double>(m, "other");
  nb::class_<State>(m, "State").def(nb::init<>()).def("next", &State::next).def_rw("count", &State::count)
    .def_prop_ro("twice", [](State& s) { return 2 * s.count; })
    .def("__repr__", [](const State& s) { return fmt::format("<{}>", s.count); });
  nb::enum_<Kind>(m, "Kind").value("one", Kind::one);
}
"""


def test_launchers_that_log_and_bind_compile(compiled: Callable[..., Compiled]) -> None:
    result = compiled(SOURCE)
    assert kernels(result) == {"scale<float, 2>", "scale<double, 5>"}
    assert (result.variables, result.left_out, result.log) == ((), (), "")


def kernels(result: Compiled) -> set[str]:
    return {signature(symbol).name for symbol in result.kernels}


@pytest.mark.one_toolchain
def test_the_releases_that_stand_ins_name_are_defaults(compiled: Callable[..., Compiled]) -> None:
    text = """
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nccl.h>
#include <pybind11/pybind11.h>
#include <spdlog/spdlog.h>
static_assert(PYBIND11_VERSION_HEX == (PYBIND11_VERSION_MAJOR << 24 | PYBIND11_VERSION_MINOR << 16 | PYBIND11_VERSION_PATCH << 8));
template <int... N> __global__ void k() {}
void use() { k<FMT_VERSION, NB_VERSION_MAJOR, NCCL_VERSION_CODE, PYBIND11_VERSION_HEX, SPDLOG_VERSION><<<1, 1>>>(); }
"""
    assert kernels(compiled(text)) == {"k<110200, 2, 22800, 34407936, 11503>"}
    numbers = {
        "FMT_VERSION": 90100,
        "NB_VERSION_MAJOR": 1,
        "SPDLOG_VER_MAJOR": 1,
        "SPDLOG_VER_MINOR": 9,
        "SPDLOG_VER_PATCH": 2,
    }
    numbers |= {"NCCL_MAJOR": 2, "NCCL_MINOR": 20, "NCCL_PATCH": 5}
    numbers |= {f"PYBIND11_VERSION_{part}": number for part, number in (("MAJOR", 3), ("MINOR", 0), ("PATCH", 1))}
    options = ("--std=c++17", *(f"--define-macro={name}={number}" for name, number in numbers.items()))
    assert kernels(compiled(text, options=options)) == {"k<90100, 1, 22005, 50331904, 10902>"}


def test_the_stand_ins_come_before_the_projects_folders(tmp_path: Path, toolchain: Toolchain) -> None:
    source = tmp_path / "demo" / "k.cu"
    source.parent.mkdir()
    (tmp_path / "third_party" / "fmt" / "include").mkdir(parents=True)
    source.write_text("#include <fmt/format.h>\n__global__ void k() {}\n")
    config = Config.from_table({"include-dirs": ["third_party/fmt/include"]})
    modules = select(config, tmp_path, [WheelFile(source, "demo/k.cu"), WheelFile(source, "demo/__init__.py")])
    for job in make_plan(config, modules, tmp_path, toolchain, lambda: ()).modules[0].jobs:
        assert job.include_dirs[:3] == (HOST_LIBRARIES, "demo", "third_party/fmt/include")
