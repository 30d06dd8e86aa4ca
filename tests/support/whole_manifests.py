"""Manifests with every part, for tests that change one part of them."""

from __future__ import annotations

from typing import Any

from cuda_wheel.builder.manifest_writer.text import manifest_to_json
from cuda_wheel.runtime.manifest import PARAMETERS, External, GlobalInfo, Image, KernelInfo, Manifest, Parameter, Target
from cuda_wheel.runtime.parts.dtypes import Field, Struct
from tests.support.manifests import text_of

__all__ = ["MANIFEST", "PACKED", "RELOCATABLE", "STRUCTS", "changed"]

MANIFEST = Manifest(
    name="pkg.kernels.gemm",
    fatbin="gemm.fatbin",
    fatbin_size=1000,
    fatbin_sha256="f" * 64,
    toolchain={"nvrtc": "12.9.86", "nvjitlink": "12.9", "nvfatbin": "12.9"},
    sources=("src/pkg/kernels/gemm.cu",),
    options=("--std=c++17",),
    images=(
        Image("cubin", Target.parse("sm_90a"), None, None, (12, 0), 100, 400, "a" * 64, {"k": {"registers": 32}}),
        Image("ptx", Target.parse("compute_80"), (7, 0), (8, 8), (11, 0), 500, 500, "b" * 64, {}),
    ),
    kernels=(
        KernelInfo(
            "gemm<float, 16>",
            "_Z4gemmIfLi16EEvPT_",
            (Parameter("u64", 0, 8, "float*"), Parameter("f32", 8, 4)),
            ("sm_90a",),
        ),
    ),
    globals=(GlobalInfo("ns::weights", "_ZN2ns7weightsE", "constant", 64),),
    long_size=4,
)

_INNER = Struct("ns::Inner", 8, (Field("x", "f4", 0, (2,)), Field("both", "u8", 0)))

_OUTER = Struct("Outer", 24, (Field("inner", "ns::Inner", 0, (2,), _INNER), Field("n", "i4", 16)))

_NAMESAKE = Struct("Outer", 16, (Field("flag", "?", 0), Field("inner", "ns::Inner", 8, (), _INNER)))

STRUCTS = MANIFEST._replace(
    kernels=(
        KernelInfo(
            "k", "k", (Parameter("b8", 0, 24, "Outer", "p", _OUTER), Parameter("b8", 24, 16, "Outer", "q", _NAMESAKE))
        ),
    ),
    images=tuple(image._replace(resources={}) for image in MANIFEST.images),
)

PACKED = MANIFEST._replace(images=tuple(image._replace(offset=None) for image in MANIFEST.images), compression="zstd")

RELOCATABLE = MANIFEST._replace(
    images=(
        Image("cubin", Target.parse("sm_80"), None, None, (12, 0), 0, 1, "a" * 64, {"k": {"max_threads": 96}}, "a.cu"),
        Image("ptx", Target.parse("compute_100f"), (8, 8), (9, 0), (12, 9), 1, 499, "b" * 64, {}, "a.cu"),
        Image("ltoir", Target.parse("compute_90a"), None, None, (12, 0), 500, 500, "c" * 64, {}, "b.cu"),
    ),
    kernels=(
        KernelInfo("k", "k$0", (Parameter("b8", 0, PARAMETERS - 1, "Pair"), Parameter("u8", PARAMETERS - 1, 1)), ()),
    ),
    globals=tuple(
        GlobalInfo(name, name, space, size)
        for name, space, size in [("a", "global", 0), ("b", "constant", 1), ("c", "managed", (1 << 48) - 1)]
    ),
    host_code=("a.cu:12-40: function main", "b.cu:3: <iostream>"),
    extern=(External("user::f(int)", "_ZN4user1fEi", "int user::f(int)"),),
)


def changed(*path: Any, to: Any) -> str:
    """Return the text of MANIFEST with another value, `to`, at a path of keys and indices of its JSON object."""
    place = document = manifest_to_json(MANIFEST)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return text_of(document)
