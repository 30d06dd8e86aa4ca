"""Manifests with chosen images, and hypothesis strategies that draw images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from cuda_wheel.builder.manifest_reader import manifest_of
from cuda_wheel.builder.manifest_writer.coverage import Coverage, cover
from cuda_wheel.builder.manifest_writer.text import _line, _signed, manifest_text, manifest_to_json
from cuda_wheel.builder.releases import first_reading
from cuda_wheel.runtime.manifest import Image, KernelInfo, Manifest, Parameter, Target, parse_version, sha256_of
from cuda_wheel.runtime.parts.dtypes import Field, Struct


def image(target: str, ptx_version: str | None = None, nvrtc: str = "12.9.86") -> Image:
    """Return an image for a target as the build would describe it."""
    parsed = Target.parse(target)
    version = None if parsed.real else parse_version(ptx_version or "8.0")
    driver = parse_version(nvrtc)[0], 0
    if version is not None:
        driver = first_reading(version, parse_version(nvrtc))
    return Image("cubin" if parsed.real else "ptx", parsed, version, version, driver, 0, 1, "0" * 64, {})


def plain(text: str | bytes) -> dict[str, Any]:
    """Return the manifest of a module without variants as one JSON object, with its kernels as a list."""
    return manifest_to_json(manifest_of(text, "x"))


def text_of(document: Mapping[str, Any]) -> str:
    """Return the text of a manifest with right SHA-256s, from such an object, which may have anything wrong."""
    record = {key: document[key] for key in ("macros", "fatbin", "kernels") if key in document}
    head = {key: value for key, value in document.items() if key not in record}
    kernels = record.get("kernels")
    if isinstance(kernels, list):
        count = len(document["images"]) if isinstance(document.get("images"), list) else 0
        kernels = [each | {"index": at, "resources": count * [None]} for at, each in enumerate(kernels)]
        record["kernels"] = {"count": len(kernels), "blocks": [0]}
    return assembled(head | {"variants": [record]}, [kernels])


def assembled(head: Mapping[str, Any], blocks: list[Any]) -> str:
    """Return the text of a manifest with right SHA-256s, from its head and its blocks."""
    lines = list(map(_line, blocks))
    sizes = [[len(line.encode()), sha256_of(line.encode())] for line in lines]
    return _signed(_line({**head, "blocks": sizes})) + ",\n".join(lines) + "\n]}\n"


def manifest(*images: Image) -> Manifest:
    """Return the manifest of a module with these images."""
    return Manifest("pkg.k", "k.fatbin", 1, "0" * 64, {"nvrtc": "12.9.86"}, ("k.cu",), (), images, ())


def covered(*targets: str, nvrtc: str = "12.9.86", ptx: str = "7.0", compression: str = "none") -> Coverage:
    """Return the coverage of a module with images for these targets."""
    made = module(*targets, nvrtc=nvrtc, ptx=ptx)._replace(compression=compression)
    if compression != "none":
        made = made._replace(images=tuple(each._replace(offset=None) for each in made.images))
    (coverage,) = cover([made])
    return coverage


def module(*targets: str, nvrtc: str = "12.9.86", ptx: str = "7.0") -> Manifest:
    """Return the manifest of a module with images for these targets, as a release of NVRTC compiles them."""
    return manifest(*(image(target, ptx, nvrtc) for target in targets))._replace(toolchain={"nvrtc": nvrtc})


TARGETS = [
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_103", "sm_103a",
    "sm_110", "sm_120", "sm_121f", "compute_75", "compute_80", "compute_90", "compute_90a", "compute_100f", "compute_120",
]  # fmt: skip
one_image = st.builds(
    image,
    st.sampled_from(TARGETS),
    st.sampled_from(["6.3", "7.0", "8.0", "8.8", "9.0"]),
    st.sampled_from(["12.9.86", "13.5.37"]),
)
images = st.lists(one_image, max_size=6)


KERNELS = 300
"""The number of instances of a template in `many_kernels`."""

PAIR = Struct("ns::Pair", 8, (Field("x", "f4", 0), Field("y", "f4", 4)))

CODE = b"\x7fELF" + bytes(60)
"""The machine code of `many_kernels`."""


def many_kernels(*more: KernelInfo) -> Manifest:
    """Return a manifest of instances of a template, of a plain kernel, and of two kernels that share a name."""
    parameters = (Parameter("u64", 0, 8, "const float*", "größe"), Parameter("b8", 8, 8, "ns::Pair", "p", PAIR))
    kernels = (
        *(KernelInfo(f"ns::gemm<float, {n}>", f"_ZN2ns4gemmIfLi{n}EEv", parameters) for n in range(KERNELS)),
        KernelInfo("plain", "plain", (), ("compute_90",)),
        KernelInfo("a::twice", "_ZN1a5twiceEv", ()),
        KernelInfo("b::twice", "_ZN1b5twiceEv", ()),
        *more,
    )
    resources = {kernel.symbol: {"registers": n} for n, kernel in enumerate(kernels) if n % 3}
    images = (
        Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, len(CODE), sha256_of(CODE), resources),
        Image("ptx", Target.parse("compute_90"), (7, 8), (8, 8), (11, 8), 100, 9, "b" * 64, {"other": {"x": 1}}),
    )
    toolchain = {"nvrtc": "12.9.86"}
    return Manifest("demo.many", "many.fatbin", 200, "f" * 64, toolchain, ("many.cu",), (), images, kernels)


def rewritten(text: str, path: tuple[str | int, ...], value: object) -> str:
    """Return a manifest with a changed value and the right SHA-256 for it."""
    place = document = plain(text)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return manifest_text(manifest_of(text_of(document), "x"))
