"""The results of a module's jobs become its files, and its variants become one fatbin and one manifest."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cuda_wheel.builder.config.settings import Config
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.jobs import EMPTY, AbsentHeader, BuiltModule, Compiled, Fatbin, Job, LeftOutCode
from cuda_wheel.builder.manifest_reader import all_manifests, manifest_of
from cuda_wheel.builder.manifest_writer.packing import ModuleBuild, joined, pack_module
from cuda_wheel.builder.plan import make_plan
from cuda_wheel.builder.sources.layout import WheelFile
from cuda_wheel.builder.sources.modules import select, variants_of
from cuda_wheel.builder.toolchain.toolchain import Toolchain
from cuda_wheel.builder.workers.pool import Workers
from cuda_wheel.runtime.manifest import Image, Manifest, Parameter
from tests.support.manifests import image, manifest

pytestmark = pytest.mark.one_toolchain

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry {}(
.param .u64 k_param_0
)
{{
ret;
}}
"""


@pytest.fixture
def module(tmp_path: Path, toolchain: Toolchain) -> Callable[..., tuple[ModuleBuild, dict[Job, Compiled]]]:
    """Return a function that returns a module before its results are merged, and the results of its jobs: PTX with one
    kernel for each architecture, whose names are `kernels`."""

    def make(*kernels: str, warnings: tuple[str, ...] = (), compress: str = "none", **settings: Any):
        path = tmp_path / "demo" / "k.cu"
        path.parent.mkdir(exist_ok=True)
        path.write_text('extern "C" __global__ void k(float* x) {}\n')
        targets = ("80-virtual", "90-virtual")[: len(kernels)]
        table = {"architectures": list(targets), "module": [{"name": "demo.k"}], **settings}
        config = Config.from_table(table)
        (planned,) = make_plan(
            config, select(config, tmp_path, [WheelFile(path, "demo/k.cu")]), tmp_path, toolchain, lambda: []
        ).modules
        results = {}
        for job, name, log in zip(planned.jobs, kernels, warnings or ("",) * len(kernels), strict=True):
            text = PTX.format(name).replace("sm_80", f"sm_{job.arch}").encode()
            parameters = {name: (Parameter("u64", 0, 8),)} if name else {}
            results[job] = replace(EMPTY, ptx=text, ptx_version_compiled=(8, 8), kernels=parameters, log=log)
        return ModuleBuild(planned, toolchain, compress, len(planned.jobs)), results

    return make


def merged(made: tuple[ModuleBuild, dict[Job, Compiled]], with_images: bool = True) -> ModuleBuild:
    build, results = made
    build.merge(results, with_images)
    return build


def test_a_module_is_packed_with_each_image_at_its_place(module, workers: Workers) -> None:
    build = merged(module("k", "k"))
    warnings, built = workers.submit(pack_module, build).result()
    assert warnings == [] and isinstance(built, BuiltModule)
    found = manifest_of(built.text, "x")
    assert found == built.manifest and found.name == "demo.k" and [each.name for each in found.kernels] == ["k"]
    assert [str(each.target) for each in found.images] == ["compute_80", "compute_90"]
    assert found.fatbin_sha256 == sha256(built.fatbin).hexdigest() and found.fatbin_size == len(built.fatbin)
    for each, (_, _, (_, _, content), _) in zip(found.images, build.images, strict=True):
        assert built.fatbin[each.offset : each.offset + each.size] == content
        assert each.ptx_version == (8, 0) and each.ptx_version_compiled == (8, 8)


def test_merged_results_do_not_have_the_images_a_second_time(module) -> None:
    build = merged(module("k", "k"))
    assert {arch: (each.ptx, each.cubin, each.ltoir) for arch, each in build.results.items()} == {
        "80": (None, None, None),
        "90": (None, None, None),
    }
    assert [content[0] for _, _, content, _ in build.images] == ["ptx", "ptx"]
    assert merged(module("k", "k"), with_images=False).images == ()


def test_the_request_for_a_fatbin_names_the_module_and_its_images(module) -> None:
    name, images, compress = merged(module("k", compress="size")).bundle_request
    assert (name, compress) == ("demo.k", "size")
    assert [name for _, name in images] == ["demo.k"]


def test_a_module_that_is_done_keeps_no_results(module) -> None:
    build = merged(module("k"))
    size = len(pickle.dumps(build))
    build.examine()
    assert build.kernels
    build.release()
    assert (build.results, build.images, build.kernels, build.linked) == ({}, (), (), {})
    assert len(pickle.dumps(build)) < size


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        (("k", "other"), "some images of demo/k.cu lack kernels that others have"),
        (("", ""), "demo/k.cu has no kernel"),
    ],
)
def test_an_error_of_a_module_is_returned_with_its_warnings(
    kernels: tuple[str, ...], message: str, module, workers: Workers
) -> None:
    """It is not raised: other modules go on, and the warnings are shown too."""
    build = merged(module(*kernels, warnings=("k.cu:1: warning: unused", "")))
    warnings, error = workers.submit(pack_module, build).result()
    assert isinstance(error, CompileError) and message in str(error)
    assert warnings[0] == "k.cu:1: warning: unused\n  only for compute_80"


def test_settings_that_name_nothing_are_an_error_of_the_build(module, workers: Workers) -> None:
    build = merged(module("k", module=[{"name": "demo.k", "instances": ["*<half>"]}]))
    with pytest.raises(ConfigError, match="in instances matches no kernel"):
        workers.submit(pack_module, build).result()


def test_the_compilers_warnings_come_before_cuda_wheels(module) -> None:
    build, results = module("other", warnings=("k.cu:9: warning: unused",))
    left_out = (LeftOutCode("k.cu", 3, 5, "main", "it does not compile"),)
    absent = (AbsentHeader("k.cu", 1, "Eigen/Core", "Eigen/*"),)
    build.merge({job: replace(each, left_out=left_out, absent_headers=absent) for job, each in results.items()}, True)
    build.examine()
    assert list(build.warnings) == [
        "k.cu:9: warning: unused",
        'k.cu:1: warning: Eigen/Core is not found, and empty: missing-headers has "Eigen/*"',
        "k.cu:3: warning: body of main is left out, as host code: it does not compile",
        "demo/k.cu:1: warning: no image has the kernel k: is it inside an #if whose condition is false?",
    ]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("log", "is_warning"), [("k.cu:1: warning: unused", True), ("k.cu:1: remark: inlined", False)])
def test_warnings_are_errors_where_the_settings_say_so(strict: bool, log: str, is_warning: bool, module) -> None:
    build = merged(module("k", warnings=(log,), **{"warnings-as-errors": strict}))
    if strict and is_warning:
        with pytest.raises(CompileError) as caught:
            build.examine()
        assert str(caught.value) == f"demo/k.cu has warnings (warnings-as-errors):\n\n{log}"
    else:
        build.examine()
        assert build.warnings == [log]


def test_the_variant_is_part_of_the_name(module) -> None:
    build, _ = module("k", module=[{"name": "demo.k", "variants": {"N": [1, 2]}}])
    variant = variants_of(build.plan.module)[1]
    assert replace(build, plan=replace(build.plan, module=variant)).name == "demo.k[N=2]"


# --- variants, and sources in the wheel ----------------------------------------------------------------


def variant(number: int, fatbin: bytes, headers: tuple[str, ...] | None = ()) -> BuiltModule:
    content = (image("sm_80")._replace(size=4, sha256=sha256(fatbin[:4]).hexdigest()),)
    made = whole(*content)._replace(
        variant=(("N", number),), fatbin_size=len(fatbin), fatbin_sha256=sha256(fatbin).hexdigest()
    )
    return BuiltModule((made,), b"", fatbin, headers)


def whole(*images: Image) -> Manifest:
    return manifest(*images)._replace(name="demo.k")


def test_a_module_without_variants_and_sources_stays_as_it_is() -> None:
    built = BuiltModule((whole(image("sm_80")),), b"text", b"fatbin", ("a.h",))
    assert joined([built]) is built


def test_the_fatbins_of_variants_follow_each_other() -> None:
    fatbins = [b"\x7fELF" + bytes(12), b"\x7fELF" + bytes(28), b"\x7fELF" + bytes(4)]
    built = joined([variant(number, fatbin) for number, fatbin in enumerate(fatbins)])
    assert built.fatbin == b"".join(fatbins)
    assert all_manifests(built.text, "x") == built.manifests
    assert [dict(each.variant)["N"] for each in built.manifests] == [0, 1, 2]
    for each, fatbin in zip(built.manifests, fatbins, strict=True):
        assert built.fatbin[each.fatbin_offset : each.fatbin_offset + each.fatbin_size] == fatbin
        assert each.specialize is None


@pytest.mark.parametrize(
    ("lists", "expected"),
    [((("b.h", "a.h"), ("a.h",)), ("a.h", "b.h")), (((), ()), ()), ((("a.h",), None), None)],
)
def test_headers_are_those_of_all_variants_or_unknown(
    lists: tuple[tuple[str, ...] | None, ...], expected: tuple[str, ...] | None
) -> None:
    built = [variant(number, b"\x7fELF" + bytes(12), headers) for number, headers in enumerate(lists)]
    assert joined(built).headers == expected


@pytest.mark.parametrize("count", [0, 1, 2])
def test_sources_lie_behind_the_fatbins_and_every_variant_knows_where(count: int) -> None:
    """A count of 0 is a module without variants."""
    asked: list[tuple[str, ...]] = []

    def carry(headers: tuple[str, ...]) -> bytes:
        asked.append(headers)
        return b"sources!" * 5

    variants = [variant(number, b"\x7fELF" + bytes(12), (f"{number}.h",)) for number in range(max(count, 1))]
    if not count:
        variants = [replace(variants[0], manifests=(variants[0].manifest._replace(variant=()),))]
    built = joined(variants, carry)
    assert asked == [tuple(f"{number}.h" for number in range(len(variants)))]
    assert built.fatbin.startswith(b"".join(each.fatbin for each in variants))
    manifests = all_manifests(built.text, "x")
    assert manifests == built.manifests and len(manifests) == len(variants)
    for each in manifests:
        place = each.specialize
        assert place is not None and place.offset + place.size == len(built.fatbin)
        assert built.fatbin[place.offset :] == b"sources!" * 5
        assert place.sha256 == sha256(b"sources!" * 5).hexdigest()


def test_the_files_of_a_packed_module_are_those_of_its_fatbin(module) -> None:
    """The build's own process packs few modules itself: it gets only the fatbin from a worker."""
    build = merged(module("k"))
    build.examine()
    ((content, _),) = build.bundle_request[1]
    built = build.with_fatbin(Fatbin(b"head" + content[2], (4,)))
    assert built.manifest.images[0].offset == 4 and built.fatbin == b"head" + content[2]
    assert manifest_of(built.text, "x").kernels == build.kernels
