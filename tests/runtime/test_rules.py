"""Which image suits which GPU and driver: tables and laws, without a GPU."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.manifest import Image, Manifest, Target, parse_version
from cuda_wheel.runtime.rules import Resolution, resolve, unsupported
from tests.support.manifests import image, images, manifest, one_image

pytestmark = pytest.mark.one_toolchain


def chosen(images: list[Image], device: str, driver: str, nvjitlink: str | None = None) -> str:
    linker = parse_version(nvjitlink) if nvjitlink else None
    found = resolve(manifest(*images), parse_version(device), parse_version(driver), linker)
    assert len(found.rejected) == len(images) - (found.image is not None)
    assert found.image is not None or found.doubt is None
    return "none" if found.image is None else f"{found.image.target} {found.how}{'?' if found.doubt else ''}"


@pytest.mark.parametrize(
    ("targets", "device", "expected"),
    [
        ("sm_80 sm_86 sm_90", "8.6", "sm_86 native"),  # exact
        ("sm_80 sm_90", "8.9", "sm_80 native"),  # nearest lower of the same major
        ("sm_75 sm_80", "9.0", "none"),  # machine code does not cross majors
        ("sm_86", "8.0", "none"),  # nor go back a minor
        ("sm_80 compute_80", "9.0", "compute_80 jit"),
        ("compute_75 compute_80", "12.0", "compute_80 jit"),  # the highest that fits
        ("compute_90", "8.9", "none"),
        ("sm_90a", "9.0", "sm_90a native"),
        ("sm_90 sm_90a", "9.0", "sm_90a native"),  # written for this very GPU
        ("sm_100a", "10.3", "none"),
        ("compute_90a", "9.0", "compute_90a jit"),
        ("compute_90a", "10.0", "none"),
        ("sm_100f", "10.0", "sm_100f native"),
        ("sm_100f", "10.3", "sm_100f native"),
        ("sm_103f", "10.0", "none"),
        ("sm_100f", "10.1", "none"),  # 10.1 is a family of its own
        ("sm_101f", "10.1", "sm_101f native"),
        ("compute_101f", "10.3", "none"),
        ("sm_100f", "11.0", "none"),
        ("sm_100f", "12.0", "none"),
        ("sm_120f", "12.1", "sm_120f native"),
        ("compute_100f", "10.3", "compute_100f jit"),
        ("compute_100f", "12.0", "none"),
        ("sm_100 sm_100f sm_100a", "10.0", "sm_100a native"),
        ("sm_100 sm_100f", "10.3", "sm_100f native"),
        ("sm_100f sm_103", "10.3", "sm_103 native"),  # nearer beats more specific
        ("sm_80", "8.7", "sm_80 native?"),  # between Tegra and other GPUs of one major, nothing is known
        ("sm_87", "8.9", "sm_87 native?"),
        ("sm_87", "8.6", "none"),
        ("sm_75", "8.7", "none"),
        ("sm_87", "8.7", "sm_87 native"),
        ("sm_80 sm_87", "8.7", "sm_87 native"),
        ("sm_70", "7.2", "sm_70 native?"),
        ("sm_60", "6.2", "sm_60 native?"),
        ("sm_50 sm_52", "5.3", "sm_52 native?"),
        ("sm_72", "7.5", "sm_72 native?"),
        ("sm_100", "10.1", "sm_100 native?"),
        ("sm_101", "10.3", "sm_101 native?"),
        ("sm_100", "11.0", "none"),
        ("sm_100a", "10.1", "none"),
        ("compute_80", "8.7", "compute_80 jit"),
        ("sm_80 compute_80", "8.7", "compute_80 jit"),  # what is known comes before what is not
        ("sm_86 sm_80 compute_75", "8.7", "compute_75 jit"),
        ("sm_87 sm_86 compute_80", "8.9", "sm_86 native"),
    ],
)
def test_the_image_for_a_gpu(targets: str, device: str, expected: str) -> None:
    assert chosen([image(target) for target in targets.split()], device, "12.9") == expected


@pytest.mark.parametrize(
    ("nvrtc", "driver", "nvjitlink", "expected"),
    [
        ("12.9.86", "12.0", None, "sm_80 native"),  # minor version compatibility
        ("12.9.86", "11.8", None, "none"),  # has no cuLibraryLoadData
        ("11.8.89", "12.0", None, "sm_80 native"),  # a later major reads an earlier one's
        ("13.0.88", "12.9", None, "compute_80 jit"),  # machine code needs the driver's major
        ("12.9.86", "13.0", None, "sm_80 native"),
    ],
)
def test_the_driver_decides_between_machine_code_and_ptx(nvrtc, driver, nvjitlink, expected) -> None:
    images = [image("sm_80", nvrtc=nvrtc), image("compute_80", "7.0")]
    assert chosen(images, "8.0", driver, nvjitlink) == expected


@pytest.mark.parametrize(
    ("version", "driver", "nvjitlink", "expected"),
    [
        ("8.2", "12.2", None, "compute_80 jit"),
        ("8.3", "12.2", None, "none"),
        ("8.3", "12.2", "12.9", "compute_80 link"),
        ("8.8", "12.2", "12.4", "none"),  # nvJitLink is too old as well
        ("9.0", "12.2", "13.0", "none"),  # what it makes is too new for the driver
    ],
)
def test_ptx_needs_a_driver_or_nvjitlink_that_reads_its_version(version, driver, nvjitlink, expected) -> None:
    assert chosen([image("compute_80", version)], "8.6", driver, nvjitlink=nvjitlink) == expected


def compressed(*images: Image, compression: str = "zstd") -> Manifest:
    return manifest(*(each._replace(offset=None) for each in images))._replace(compression=compression)


ZSTD = "the fatbin is compressed with zstd; drivers before CUDA 12.4 do not read it"


@pytest.mark.parametrize(
    ("compression", "driver", "how"),
    [("zstd", "12.3", None), ("zstd", "12.4", "native"), ("lz4", "12.0", "native"), ("none", "12.0", "native")],
)
@pytest.mark.parametrize("nvjitlink", [None, (12, 9)])
def test_a_compressed_fatbin_needs_a_driver_that_reads_it(compression, driver, how, nvjitlink) -> None:
    images = [image("sm_80"), image("compute_80", "7.0"), image("sm_90")]
    made = manifest(*images) if compression == "none" else compressed(*images, compression=compression)
    found = resolve(made, (8, 6), parse_version(driver), nvjitlink)
    assert (found.how, found.doubt) == (how, None)
    if how is None:
        assert [reason for _, reason in found.rejected] == [ZSTD, ZSTD, "is machine code for 9.x, the GPU is 8.6"]


def test_nvjitlink_compiles_nothing_from_a_compressed_fatbin() -> None:
    """It would link the finished machine code in it, to nothing."""
    made = compressed(image("sm_90"), image("compute_80", "8.8"), compression="lz4")
    found = resolve(made, (8, 6), (12, 2), (12, 9))
    assert found.image is None
    assert found.rejected[1].reason == (
        "PTX 8.8 needs a driver for CUDA 12.9 or later (this one is for 12.2); nvJitLink does not compile it from a "
        "compressed fatbin"
    )
    assert resolve(manifest(image("compute_80", "8.8")), (8, 6), (12, 2), (12, 9)).how == "link"


@pytest.mark.parametrize(
    ("targets", "other"),
    [
        ("compute_75:7.0 compute_80:8.8", "ptx compute_80 (PTX 8.8)"),  # of PTX, the driver may take the highest
        ("compute_75:7.0 sm_80:13.0.1", "cubin sm_80"),  # machine code of a newer major version
        ("compute_75:7.0 compute_80:7.0", None),
        ("compute_80:7.0 compute_75:8.8", None),
        ("compute_75:7.0 compute_90:8.8 sm_90:13.0.1", None),  # not for this GPU
        ("sm_80:12.9.86 compute_80:8.8", None),
    ],
)
def test_it_is_not_known_what_a_driver_takes_from_a_compressed_fatbin_that_it_cannot_read_in_part(
    targets: str, other: str | None
) -> None:
    pairs = [each.split(":") for each in targets.split()]
    images = [image(target, version) if target[0] == "c" else image(target, nvrtc=version) for target, version in pairs]
    plain, packed = resolve(manifest(*images), (8, 6), (12, 4)), resolve(compressed(*images), (8, 6), (12, 4))
    assert plain.doubt is None
    assert (plain.how, str(plain.image.target)) == (packed.how, str(packed.image.target))
    expected = f"not known to load: the driver may choose {other} from the compressed fatbin, and cannot read it"
    assert packed.doubt == (other and expected)


def test_what_is_not_known_to_run_says_so_and_comes_last() -> None:
    made = manifest(image("sm_80"), image("compute_75", "8.8"))
    found = resolve(made, (8, 7), (12, 6))
    assert found.doubt == "not known to run: it is machine code for 8.0, the GPU is 8.7, and one of them is a Jetson's"
    found = resolve(made, (8, 7), (12, 6), (12, 9))  # nvJitLink compiles the PTX: that is known to run
    assert (found.how, found.doubt) == ("link", None)
    assert found.rejected[0].reason.startswith("not known to run: ")
    assert resolve(made, (8, 7), (12, 9)).how == "jit"


# --- nothing may be compiled ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("targets", "device", "expected", "reasons"),
    [
        ("compute_80 sm_80", "8.6", "sm_80", ["must be compiled, which MINE forbids"]),
        ("compute_80", "9.0", None, ["must be compiled, which MINE forbids"]),
        ("compute_100", "9.0", None, ["needs compute capability 10.0 or later"]),
        ("compute_80 sm_80", "8.7", "sm_80", ["must be compiled, which MINE forbids"]),
    ],
)
def test_ptx_is_not_chosen_where_compiling_is_forbidden(targets, device, expected, reasons) -> None:
    made = manifest(*map(image, targets.split()))
    found = resolve(made, parse_version(device), (12, 9), None, "MINE")
    assert (found.image and str(found.image.target), found.how) == (expected, expected and "native")
    assert [reason for _, reason in found.rejected] == reasons
    assert found.forbidden == "MINE" and resolve(made, parse_version(device), (12, 9)).forbidden is None
    assert (found.doubt is not None) == (device == "8.7")


def test_nvjitlink_compiles_nothing_where_that_is_forbidden() -> None:
    made = manifest(image("compute_80", "8.8"))
    assert resolve(made, (8, 6), (12, 2), (12, 9)).how == "link"
    found = resolve(made, (8, 6), (12, 2), (12, 9), "MINE")
    assert (found.image, found.rejected[0].reason) == (None, "must be compiled, which MINE forbids")


@pytest.mark.parametrize(
    ("targets", "device", "expected"),
    [
        ("sm_80 compute_80", "8.0", "sm_80"),
        ("sm_80 sm_86 compute_75", "8.6", "sm_86"),
        ("sm_90a compute_80", "9.0", "sm_90a"),
        ("sm_80 compute_80", "8.6", None),
        ("sm_80 compute_75", "8.9", None),
        ("sm_80 compute_90", "8.6", "sm_80"),  # PTX for later GPUs only
        ("sm_80 sm_90", "8.6", "sm_80"),
        ("sm_100f compute_80", "10.3", None),
    ],
)
def test_from_a_compressed_fatbin_the_driver_may_compile_ptx_unless_machine_code_is_for_the_gpu_itself(
    targets, device, expected
) -> None:
    images = list(map(image, targets.split()))
    found = resolve(compressed(*images), parse_version(device), (13, 0), None, "MINE")
    assert (found.image and str(found.image.target)) == expected
    plain = resolve(manifest(*images), parse_version(device), (13, 0), None, "MINE")
    assert plain.how == "native"  # the loader chooses
    if expected is None:
        assert found.rejected[0].reason == "PTX may be compiled, which MINE forbids"


# --- laws -----------------------------------------------------------------------------------------

devices = st.sampled_from([(7, 0), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 1)])
drivers = st.sampled_from([release.cuda for release in RELEASES])
ORDER = {None: 0, "link": 1, "jit": 2, "native": 3}


def worth(found: Resolution) -> float:
    """Return how good a resolution is: none, not known to run, and the ways to load."""
    return 0.5 if found.doubt else ORDER[found.how]


@given(images, one_image, devices, drivers)
def test_adding_an_image_never_takes_coverage_away(held, more, device, driver) -> None:
    before = resolve(manifest(*held), device, driver)
    after = resolve(manifest(*held, more), device, driver)
    assert worth(after) >= worth(before)


@given(images, devices, drivers, drivers, st.sampled_from(["none", "lz4", "zstd"]))
def test_a_newer_driver_never_loses_a_device(held, device, one, other, compression) -> None:
    made = manifest(*held) if compression == "none" else compressed(*held, compression=compression)
    older, newer = sorted([one, other])
    assert worth(resolve(made, device, newer)) >= worth(resolve(made, device, older))


@given(images, devices, drivers, st.sampled_from([None, (12, 9), (13, 5)]), st.sampled_from(["none", "lz4", "zstd"]))
def test_where_compiling_is_forbidden_machine_code_is_chosen_or_nothing(
    held, device, driver, nvjitlink, compression
) -> None:
    made = manifest(*held) if compression == "none" else compressed(*held, compression=compression)
    allowed, found = (resolve(made, device, driver, nvjitlink, forbidden) for forbidden in (None, "MINE"))
    assert found.how in (None, "native")
    assert worth(found) <= worth(allowed)
    if compression == "none" and allowed.how == "native":
        assert found.image is allowed.image
    if found.how == "native" and compression != "none":
        assert found.image.target.capability == device or not [
            each for each in held if each.kind == "ptx" and unsupported(each.target, device) is None
        ]


@given(images, devices, drivers)
def test_compression_never_adds_anything(held, device, driver) -> None:
    plain, lz4 = resolve(manifest(*held), device, driver), resolve(compressed(*held, compression="lz4"), device, driver)
    zstd = resolve(compressed(*held), device, driver)
    assert worth(plain) >= worth(lz4) >= worth(zstd)
    assert zstd == lz4 if driver >= (12, 4) else zstd.image is None


@given(images, devices, drivers)
def test_the_order_of_the_images_does_not_matter(held, device, driver) -> None:
    forwards = resolve(manifest(*held), device, driver)
    backwards = resolve(manifest(*reversed(held)), device, driver)
    assert (forwards.how, forwards.image and forwards.image.target) == (
        backwards.how,
        backwards.image and backwards.image.target,
    )


@given(images, devices, drivers)
def test_no_allowed_image_is_better_than_the_chosen_one(held, device, driver) -> None:
    best = resolve(manifest(*held), device, driver)
    for other in held:
        alone = resolve(manifest(other), device, driver)
        assert worth(alone) <= worth(best)
        if alone.how is not None and (alone.how, alone.doubt is None) == (best.how, best.doubt is None):
            assert other.target.capability <= best.image.target.capability


@given(images, devices, drivers)
def test_nvjitlink_only_ever_adds(held, device, driver) -> None:
    made = manifest(*held)
    without, having = resolve(made, device, driver), resolve(made, device, driver, (12, 9))
    assert having.image == without.image or without.image is None or without.doubt


# --- targets and versions -------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["sm_80", "sm_90a", "sm_100f", "compute_75", "compute_121a", "sm_99999"])
def test_a_target_is_written_as_it_is_read(text: str) -> None:
    assert str(Target.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "sm_", "sm_8", "80", "sm_80b", "lto_80", "sm_80-real", "sm_８0", "compute_a", "sm_080", "sm_100000"]
)
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a target"):
        Target.parse(text)


def test_a_driver_prefers_code_for_one_gpu_to_portable_code_that_it_cannot_read() -> None:
    """Both are machine code for one compute capability."""
    found = resolve(compressed(image("sm_90a"), image("sm_90", nvrtc="13.0.88")), (9, 0), (12, 4))
    assert (str(found.image), found.how, found.doubt) == ("cubin sm_90a", "native", None)
    assert [str(each) for each, _ in found.rejected] == ["cubin sm_90"]
