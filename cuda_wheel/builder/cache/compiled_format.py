"""Write the result of a job or a link as bytes, and read it back."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from cuda_wheel.builder.cache.job_files import path_of, place_of
from cuda_wheel.builder.jobs import AbsentHeader, Compiled, Declared, Job, LeftOutCode
from cuda_wheel.runtime.formats.manifest_structs import Field, Struct
from cuda_wheel.runtime.manifest import GlobalInfo, Parameter

__all__ = ["pack", "unpack"]

_IMAGES = ("cubin", "ptx", "ltoir")


def pack(compiled: Compiled, job: Job | None) -> bytes:
    """Return the bytes of a job's result, or of a link's if `job` is None: a line of JSON, then the images."""
    document = {item.name: getattr(compiled, item.name) for item in fields(compiled)}
    images = [document[name] for name in _IMAGES]
    document |= {name: None if image is None else len(image) for name, image in zip(_IMAGES, images, strict=True)}
    document["headers"] = [place_of(path, job) for path in compiled.headers or ()] if job else []
    return json.dumps(document).encode() + b"\n" + b"".join(image or b"" for image in images)


def unpack(entry: bytes, job: Job | None) -> Compiled:
    """Return the result that `pack` wrote, with the paths of its files as the given job finds them.

    The job may come from another machine than the one that was packed.
    """
    head, _, body = entry.partition(b"\n")
    document = json.loads(head)
    at = 0
    for name in _IMAGES:
        size = document[name]
        document[name] = None if size is None else body[at : at + size]
        at += size or 0
    document["headers"] = tuple(path_of(tuple(place), job) for place in document["headers"]) if job else ()
    version = document["ptx_version_compiled"]
    kernels = document["kernels"].items()
    return Compiled(
        **document
        | {
            "ptx_version_compiled": None if version is None else tuple(version),
            "kernels": {symbol: tuple(Parameter(*each) for each in parameters) for symbol, parameters in kernels},
            "parameters": {
                symbol: tuple(Declared(name, type_, _struct(struct)) for name, type_, struct in parameters)
                for symbol, parameters in document["parameters"].items()
            },
            "variables": tuple(GlobalInfo(*each) for each in document["variables"]),
            "left_out": tuple(LeftOutCode(*each) for each in document["left_out"]),
            "absent_headers": tuple(AbsentHeader(*each) for each in document["absent_headers"]),
            "declared": tuple(document["declared"]),
        }
    )


def _struct(item: list[Any] | None) -> Struct | None:
    """Return a struct from the lists that JSON makes of it."""
    if item is None:
        return None
    name, size, items = item
    found = (Field(field, type_, at, tuple(shape), _struct(struct)) for field, type_, at, shape, struct in items)
    return Struct(name, size, tuple(found))
