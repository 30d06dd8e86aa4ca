"""What is checked of the Python that host functions become."""

from __future__ import annotations

import ast

import pytest

from cuda_wheel.migrate.host_functions.python_code import unknown_names


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("y = x + len(z)\nreturn y", ["z"]),
        ("for i in range(x):\n    y = i\nreturn y", []),
        ("def inner(k):\n    return k + x\nreturn inner(3)", []),
        ("size = size", ["size"]),
        ("if x:\n    size = size + 1", ["size"]),
        ("global size\nsize = size + 1", []),
        ("size = 0\nsize = size + 1", []),
        ("def inner():\n    nonlocal y\n    y = y + 1\ny = 0\ninner()", []),
        ("a, b = x, 1\nb, a = a, b\nx = x + 1", []),
        ("kernels['k', t].launch(x, scale)", ["scale", "t"]),
        ("print(y := x)", []),
    ],
)
def test_names_that_would_have_no_value(text: str, unknown: list[str]) -> None:
    body = ast.parse("def f():\n" + "\n".join(f"    {line}" for line in text.splitlines())).body[0].body  # type: ignore[attr-defined]
    assert unknown_names(body, ["x"], {"len", "range", "print", "kernels"}) == unknown
