"""Read and check the tables of facts by which a build decides: the JSON files in this folder.

A table has the key "source", which names where its rows are from, and "notes" where a row needs a reason. The module
that uses a table passes the table's shape; a value that does not have it is an error that names the file and the place
in it. The tables are JSON because TOML takes ten times as long to read.
"""

from __future__ import annotations

import json
import os
from typing import Any

from cuda_wheel.runtime.errors import CudaWheelError
from cuda_wheel.runtime.manifest import parse_version

__all__ = ["VERSION", "Shape", "check_table", "read_table"]

VERSION = "MAJOR.MINOR"
"""Shape of a version: in the table, it is a string such as "12.9"; once read, it is a tuple such as (12, 9)."""

Shape = Any
"""Required form of a value in a table: a type (`str`, `int`, `bool`), VERSION, a list `[SHAPE]`, a map with any keys
`{str: SHAPE}`, or a record `{"key": SHAPE, "key?": SHAPE}`. In a record, "?" marks an optional key."""


def read_table(name: str, shape: dict[str, Shape]) -> dict[str, Any]:
    """Return the content of the table `name`, the file name.json in this folder, after checking its shape.

    Lists become tuples. Raises CudaWheelError if a value does not have its shape.
    """
    path = os.path.join(os.path.dirname(__file__), f"{name}.json")
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    checked: dict[str, Any] = check_table(content, {"source": str, "notes?": {str: str}, **shape}, path)
    return checked


def check_table(value: Any, shape: Shape, where: str) -> Any:
    """Return a value of a table, with lists as tuples and versions as (major, minor), after checking its shape.

    Raises CudaWheelError if the value does not have the shape; `where` is the value's place in words, for the message.
    """
    if shape is VERSION and isinstance(value, str):
        return parse_version(value)
    if isinstance(shape, list) and isinstance(value, list):
        if shape[0] is str and all(isinstance(each, str) for each in value):
            return tuple(value)
        return tuple(check_table(each, shape[0], f"{where}: {index}") for index, each in enumerate(value))
    if isinstance(shape, dict) and isinstance(value, dict):
        if str in shape:
            return {key: check_table(each, shape[str], f"{where}: {key}") for key, each in value.items()}
        return _checked_record(value, shape, where)
    if isinstance(shape, type) and type(value) is shape:
        return value
    raise CudaWheelError(f"{where} must be {_described(shape)}, not {value!r}; reinstall cuda-wheel.")


def _checked_record(value: dict[str, Any], shape: dict[str, Shape], where: str) -> dict[str, Any]:
    absent = [key for key in shape if key not in value and not key.endswith("?")]
    if absent:
        raise CudaWheelError(f"{where} has no {absent[0]!r}; reinstall cuda-wheel.")
    checked = {}
    for key, each in value.items():
        expected = shape.get(key, shape.get(f"{key}?"))
        if expected is None:
            raise CudaWheelError(f"{where} has the unknown key {key!r}; reinstall cuda-wheel.")
        checked[key] = check_table(each, expected, f"{where}: {key}")
    return checked


def _described(shape: Shape) -> str:
    if isinstance(shape, list):
        return "a list"
    if isinstance(shape, dict):
        return "a table"
    return {str: "a string", int: "a whole number", bool: "true or false", VERSION: "a version as a string"}[shape]
