"""An installed module is linked with its user's pieces, by nvJitLink or the driver; also by a copy of the loader.

NVRTC and nvJitLink are real; the driver and its linker are stand-ins.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cuda_wheel as package
from cuda_wheel import DriverError, ImageError, JitOptions, LinkError
from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.text import manifest_text
from cuda_wheel.builder.wheel.loader_copy import copied_files
from cuda_wheel.runtime.errors import PARTS
from cuda_wheel.runtime.manifest import External, Image, KernelInfo, Manifest, Parameter, Target, dotted
from cuda_wheel.runtime.parts.formats import ptx
from cuda_wheel.runtime.parts.linking import link as link_module
from cuda_wheel.runtime.parts.linking import prepared_link
from cuda_wheel.runtime.parts.linking.cuda_compiler import nvrtc_version
from cuda_wheel.runtime.parts.linking.inputs import link_input_of
from cuda_wheel.runtime.parts.linking.strategy import relocatable_group
from cuda_wheel.runtime.parts.user_cache import Cache
from tests.support.driver import Driver, Result
from tests.support.linkable import APPLY, USER, compiled, fatbin, piece
from tests.support.loaded_modules import forget_package
from tests.support.processes import run

Use = Callable[..., Driver]


# --- an installed module, linked with its user's pieces ----------------------------------------------------------


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that installs a module with relocatable images; `forms` has kind and architecture of each."""

    def make(
        name: str = "lib.kernels.apply", text: str = APPLY, forms: Any = (("ltoir", "80"), ("ptx", "80"))
    ) -> Manifest:
        package_, _, stem = name.rpartition(".")
        folder = tmp_path.joinpath("site", *package_.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        images, content = [], b""
        for kind, arch in forms:
            code = compiled(text, kind, arch)
            target = Target.parse(("sm_" if kind == "cubin" else "compute_") + arch)
            version = (8, 0) if kind == "ptx" else None
            release = (12, 0) if kind == "ptx" else nvrtc_version()
            images.append(
                Image(
                    kind,
                    target,
                    version,
                    version,
                    release,
                    len(content),
                    len(code),
                    hashlib.sha256(code).hexdigest(),
                    {},
                    f"src/{stem}.cu",
                )
            )  # type: ignore[arg-type]
            content += code
        manifest = Manifest(
            name=name,
            fatbin=f"{stem}.fatbin",
            fatbin_size=len(content),
            fatbin_sha256=hashlib.sha256(content).hexdigest(),
            toolchain={"nvrtc": dotted(nvrtc_version() or (0, 0)) + ".1"},
            sources=(f"src/{stem}.cu",),
            options=(),
            images=tuple(images),
            kernels=tuple(
                KernelInfo(symbol, symbol, found)
                for symbol, found in ptx.kernels(compiled(text, "ptx").decode()).items()
            ),
            extern=(External("user_transform", "user_transform", "user_transform(float)"),)
            if "user_transform(float)" in text
            else (),
        )
        (folder / f"{stem}.fatbin").write_bytes(content)
        (folder / f"{stem}.fatbin.json").write_text(manifest_text(manifest))
        return manifest

    monkeypatch.syspath_prepend(tmp_path / "site")
    yield make
    forget_package("lib")


NAME = "lib.kernels.apply"


@pytest.mark.parametrize("stem", ["lib", "a", "o", "cu"])
def test_a_module_may_be_named_like_a_suffix(stem: str, wheel) -> None:
    wheel(f"lib.kernels.{stem}", USER)
    assert link_input_of(f"lib.kernels.{stem}").kind == "module"
    with pytest.raises(ImageError, match=f"nowhere.{stem} to link cannot be read"):
        link_input_of(f"nowhere.{stem}")


def test_a_module_is_linked_with_what_its_user_brings(wheel, use: Use) -> None:
    wheel()
    driver = use((9, 0))
    module = package.load(NAME, link=[USER])
    assert (module.how, str(module.image.target), module.link.mode) == ("link", "sm_90", "lto")
    assert module.link.pieces == (f"{NAME}:apply.cu", "piece.cu")
    assert driver.loaded == [module.link.cubin] and module["apply"].handle
    assert module.jit.registers["apply"] > 0 and module.jit.seconds == module.link.seconds
    assert package.load(NAME, link=[USER]) is module
    assert package.load(NAME, link=[USER.replace("2 *", "3 *")]) is not module
    assert package.load(NAME, link=[USER], jit=JitOptions(lto=False)).link.mode == "ptx"


def test_a_link_after_an_edit_has_the_types_of_the_edit(wheel, use: Use, tmp_path: Path) -> None:
    """The code of both is equal."""
    wheel()
    use((9, 0))
    before = package.load(NAME, link=[USER])
    (path,) = tmp_path.rglob("apply.fatbin.json")
    manifest = manifest_of(path.read_bytes(), "x")
    (kernel,) = manifest.kernels
    first, *others = kernel.parameters
    edited = kernel._replace(parameters=(first._replace(cpp="unsigned int*"), *others))
    path.write_text(manifest_text(manifest._replace(kernels=(edited,))))
    after = package.load(NAME, link=[USER])
    assert after.link.cubin == before.link.cubin
    assert after["apply"].info.parameters[0].cpp == "unsigned int*" != before["apply"].info.parameters[0].cpp


def test_a_second_process_only_loads_the_cached_result(wheel, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel()
    use((9, 0))
    package.load(NAME, link=[USER])
    use((9, 0))  # a new driver: no module is loaded
    monkeypatch.setattr(prepared_link, "link_by_nvjitlink", lambda *_: pytest.fail("linked again"))
    monkeypatch.setattr(prepared_link, "compile_cuda", lambda *_: pytest.fail("compiled again"))
    module = package.load(NAME, link=[USER])
    assert module.link.cached and module.link.log and module.jit.registers


def test_nothing_is_linked_where_that_is_forbidden(wheel, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel()
    use((9, 0))
    package.load(NAME, link=[USER])  # that the cache has the result does not count, nor that it is loaded
    driver = use((9, 0))
    for name in ("link_by_nvjitlink", "link_by_driver", "compile_cuda"):
        monkeypatch.setattr(prepared_link, name, lambda *_: pytest.fail("linked"))
    with pytest.raises(LinkError, match=rf"^{NAME}, piece.cu must be linked on .* JitOptions\(allow=False\) forbids"):
        package.load(NAME, link=[USER], jit=JitOptions(allow=False))
    monkeypatch.setenv("CUDA_WHEEL_JIT", "error")
    with pytest.raises(LinkError, match="CUDA_WHEEL_JIT=error forbids"):
        package.load(NAME, link=[USER])
    assert driver.loaded == []


def test_the_relocatable_images_of_the_highest_suitable_target_are_linked(wheel) -> None:
    manifest = wheel(
        forms=[("ltoir", "75"), ("ptx", "75"), ("ltoir", "80"), ("ptx", "80"), ("ptx", "90"), ("ptx", "90a")]
    )
    for kind, capability, expected in [
        ("ltoir", (9, 0), "80"),
        ("ptx", (9, 0), "90a"),
        ("ptx", (8, 9), "80"),
        ("ltoir", (7, 5), "75"),
    ]:
        group = relocatable_group(manifest, kind, capability, None)
        assert [str(image.target) for image in group] == [f"compute_{expected}"]
    assert relocatable_group(manifest, "ptx", (7, 0), None) == ()


def test_a_modules_undefined_function_is_reported_with_its_declaration(wheel, use: Use) -> None:
    wheel()
    use((9, 0))
    for jit in (JitOptions(), JitOptions(lto=False)):
        with pytest.raises(LinkError) as caught:
            package.load(NAME, link=[USER.replace("user_", "my_")], jit=jit)
        assert str(caught.value).splitlines()[:3] == [
            f"{NAME}:apply.cu needs user_transform, which no piece defines; its declaration: user_transform(float)",
            f"  {NAME}:apply.cu defines apply",
            "  piece.cu defines my_transform",
        ]
    assert package.load(NAME, link=[USER]).link  # an error is not remembered


def test_a_kernel_of_the_module_may_not_be_defined_again(wheel, use: Use) -> None:
    wheel()
    use((9, 0))
    with pytest.raises(LinkError, match=f"apply is defined twice: by {NAME}:apply.cu and by user.ptx"):
        package.load(NAME, link=[piece(APPLY, "ptx", "user"), USER])


def test_another_packages_module_is_a_piece(wheel, use: Use) -> None:
    wheel()
    wheel("lib.more.user", USER + 'extern "C" __global__ void other(int* x) { *x = 1; }')
    use((9, 0))
    module = package.load(NAME, link=["lib.more.user"])
    assert module.link.mode == "lto" and set(module) == {"apply", "other"}


def test_kernels_and_variables_of_the_pieces_are_in_the_module(wheel, use: Use) -> None:
    wheel()
    driver = use((9, 0))
    driver.kernels = {"apply": [], "_Z5extraPii": [(0, 8), (8, 4)]}
    module = package.load(
        NAME, link=[USER + "__device__ int seen = 1; __global__ void extra(int* x, int n) { *x = n + seen; }"]
    )
    assert set(module) == {"apply", "extra"}
    assert module["extra"].info.parameters == (Parameter("b64", 0, 8), Parameter("b32", 8, 4))
    assert module.globals["seen"].size == 4


def test_a_module_without_relocatable_images_is_reported(wheel, use: Use, tmp_path: Path) -> None:
    manifest = wheel()
    ready = manifest._replace(
        images=tuple(image._replace(source=None) for image in manifest.images if image.kind == "ptx")
    )
    (tmp_path / "site/lib/kernels/apply.fatbin.json").write_text(manifest_text(ready))
    use((9, 0))
    with pytest.raises(LinkError, match=r"has no relocatable images.*its author can set `relocatable = true`"):
        package.load(NAME, link=[USER])


def test_a_gpu_without_a_suitable_relocatable_image_is_reported(wheel, use: Use) -> None:
    wheel()
    use((7, 5))
    with pytest.raises(LinkError, match=r"for compute_80 only, and none of these suits compute capability 7\.5"):
        package.load(NAME, link=[USER])


def test_pieces_must_be_a_list(wheel, use: Use) -> None:
    wheel()
    use((9, 0))
    with pytest.raises(ImageError, match=r"must be a list, not str"):
        package.load(NAME, link=USER)


# --- the driver's linker --------------------------------------------------------------------------------


@pytest.fixture
def no_nvjitlink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "nvjitlink_version", lambda: None)


def test_without_nvjitlink_the_driver_links(wheel, use: Use, no_nvjitlink: None) -> None:
    wheel()
    driver = use((9, 0))
    driver.linker.result = compiled(APPLY, "cubin", "90")
    driver.linker.errors = b"a warning"
    jit = JitOptions(verbose=False, max_registers=40, optimization_level=3, lineinfo=True)
    module = package.load(
        NAME, link=[piece(USER, "ptx", "user"), piece("__device__ int more;", "cubin", "more")], jit=jit
    )
    link = module.link
    assert (link.mode, link.linker, link.log, link.errors, link.linker_seconds) == (
        "ptx",
        "the driver's",
        "linked",
        "a warning",
        0.0125,
    )
    assert link.why.startswith("PTX by the driver's linker: nvJitLink is not installed")
    linker = driver.linker
    assert [(kind, name) for kind, name, _ in linker.inputs] == [
        (1, f"{NAME}:apply.cu".encode()),
        (1, b"user.ptx"),
        (0, b"more.cubin"),
    ]
    assert all(content.endswith(b"\0") and b".version" in content for kind, _, content in linker.inputs if kind == 1)
    assert linker.inputs[2][2].startswith(b"\x7fELF")
    figures = {option: linker.options[option] for option in (0, 4, 6, 7, 9, 12, 13)}
    assert figures == {0: 40, 4: 1 << 16, 6: 1 << 16, 7: 3, 9: 90, 12: 0, 13: 1}
    assert linker.contexts == [0] and linker.alive == 0
    assert driver.cuCtxGetDevice()[0] == Result.CUDA_ERROR_INVALID_CONTEXT  # the context is no longer current
    assert driver.loaded == [linker.result]


def test_the_drivers_result_is_cached_for_that_release_of_the_driver(
    wheel, use: Use, no_nvjitlink: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two releases of the driver for one CUDA version compile differently. Of an unknown one nothing is kept."""
    wheel()
    for version, build, cached in (
        (13000, "580.65.06", False), (13000, "580.65.06", True), (13000, "580.95.05", False),
        (12090, "580.95.05", False), (13000, None, False), (13000, None, False),
    ):  # fmt: skip
        monkeypatch.setattr(prepared_link, "driver_build", lambda build=build: build)
        driver = use((9, 0), version=version)
        driver.linker.result = compiled(APPLY, "cubin", "90")
        assert package.load(NAME, link=[piece(USER, "ptx", "user")]).link.cached is cached


def test_the_current_context_is_linked_in(wheel, use: Use, no_nvjitlink: None) -> None:
    wheel()
    driver = use((8, 0), (9, 0))
    driver.context.device = 1
    driver.linker.result = compiled(APPLY, "cubin", "90")
    package.load(NAME, link=[piece(USER, "ptx", "user")])
    driver.linker.result = compiled(APPLY, "cubin", "80")
    package.load(NAME, link=[piece(USER, "ptx", "user")], device=0)
    assert driver.linker.contexts == [1, 0]
    assert driver.context.device == 1


@pytest.mark.parametrize("function", ["cuLinkAddData", "cuLinkComplete"])
def test_an_error_of_the_drivers_linker_is_reported_with_its_log(
    function: str, wheel, use: Use, no_nvjitlink: None
) -> None:
    wheel()
    driver = use((9, 0))
    driver.linker.codes = {function: Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION}
    driver.linker.errors = b"ptxas fatal : Unsupported .version 99.0"
    with pytest.raises(LinkError) as caught:
        package.load(NAME, link=[piece(USER, "ptx", "user")])
    message = str(caught.value)
    assert "comes from a newer CUDA release than the driver's linker" in message
    assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): because\nptxas fatal : Unsupported .version 99.0" in message
    assert driver.linker.alive == 0 and Cache().entries() == []


def test_a_driver_without_a_compiler_is_reported(wheel, use: Use, no_nvjitlink: None) -> None:
    wheel()
    use((9, 0)).linker.codes = {"cuLinkCreate": Result.CUDA_ERROR_JIT_COMPILER_NOT_FOUND}
    with pytest.raises(DriverError, match=r"starting the driver's linker.*JIT_COMPILER_NOT_FOUND"):
        package.load(NAME, link=[piece(USER, "ptx", "user")])


# --- a copy in a wheel ----------------------------------------------------------------------------------


def test_a_vendored_copy_links_too(tmp_path: Path) -> None:
    folder = tmp_path / "demo" / "_cuda_wheel"
    folder.mkdir(parents=True)
    (tmp_path / "demo/__init__.py").touch()
    for name, content in copied_files(PARTS).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (tmp_path / "user.fatbin").write_bytes(fatbin(compiled(USER, "cubin", "90")))
    program = (
        "import sys; sys.modules['cuda_wheel'] = None\n"
        "from demo import _cuda_wheel\n"
        f"print(_cuda_wheel.link([{APPLY!r}, 'user.fatbin'], arch='90').why)\n"
        f"print(_cuda_wheel.link([{APPLY!r}, {USER!r}], arch='90').why)\n"
    )
    result = run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert result.stdout.splitlines() == [
        "PTX: user.fatbin is a fatbin, not LTO-IR",
        "LTO: every piece has LTO-IR",
    ]
