"""Write the stub file of a package that attaches its kernels, for editors and type checkers.

In it, a module with variants is a function that takes the macros of a variant, with their values as `Literal`s.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from cuda_wheel.runtime.arrays import argument_type
from cuda_wheel.runtime.manifest import KernelInfo, MacroValue, Manifest, Variant
from cuda_wheel.runtime.parts.attach import attached

__all__ = ["MADE_BY", "attaches", "stub", "variant_loader_stub"]


MOST_OVERLOADS = 32
"""Maximum number of overloads that together allow exactly the variants of a module. If more were needed, the stub has
one overload for each set of macro names. Such an overload also allows combinations of values that are not variants."""

_ANY_VALUE = "str | int | float"

Values = tuple[MacroValue, ...]

Signature = tuple[tuple[str, Values], ...]
"""Signature of one overload: (macro's name, allowed values of the macro) for each macro. Any combination of allowed
values may be passed: (("N", (1, 2)), ("FAST", (0, 1))) allows four."""


def variant_loader_stub(name: str, variants: Sequence[Variant], any_values: bool) -> list[str]:
    """Return the lines that declare the function `name`, which takes the macros of a variant and loads it.

    If `any_values` is true, the function also takes other values, for which the module is compiled at load.
    """
    declarations = [
        _declaration(name, [(macro, _type(values)) for macro, values in each]) for each in _signatures(variants)
    ]
    if any_values:
        names = dict.fromkeys(tuple(macro for macro, _ in variant) for variant in variants)
        declarations += [_declaration(name, [(macro, _ANY_VALUE) for macro in each]) for each in names]
    lines = ["@overload"] if len(declarations) > 1 else []
    return [line for declaration in declarations for line in (*lines, declaration)]


def _signatures(variants: Sequence[Variant]) -> list[Signature]:
    """Return the signatures of a stub's overloads. Together, they allow exactly these variants.

    If there would be more than `MOST_OVERLOADS`, return one signature for each set of macro names. Such a signature
    also allows combinations of values that are not variants.
    """
    by_names: dict[tuple[str, ...], list[Values]] = {}
    for variant in variants:
        by_names.setdefault(tuple(macro for macro, _ in variant), []).append(tuple(value for _, value in variant))
    exact = [tuple(zip(names, product, strict=True)) for names, rows in by_names.items() for product in _products(rows)]
    if len(exact) <= MOST_OVERLOADS:
        return exact
    return [
        tuple(
            (macro, tuple(dict.fromkeys(values))) for macro, values in zip(names, zip(*rows, strict=True), strict=True)
        )
        for names, rows in by_names.items()
    ]


def _products(rows: Sequence[Values]) -> list[tuple[Values, ...]]:
    """Return Cartesian products whose union is `rows`: [(1, 3), (1, 4), (2, 3), (2, 4)] -> [((1, 2), (3, 4))].

    A row has one value for each macro. A product has a tuple of values for each macro.
    """
    if not rows[0]:
        return [()]
    rests: dict[MacroValue, list[Values]] = {}
    for first, *rest in rows:
        rests.setdefault(first, []).append(tuple(rest))
    firsts: dict[tuple[tuple[Values, ...], ...], list[MacroValue]] = {}
    for first, own in rests.items():
        firsts.setdefault(tuple(_products(own)), []).append(first)
    return [(tuple(values), *product) for products, values in firsts.items() for product in products]


def _declaration(name: str, types: Sequence[tuple[str, str]]) -> str:
    """Return the stub's line that declares the function `name`, which loads a variant. `types` has (macro's name, its
    type in the stub) for each macro: ("N", "Literal[1, 2]")."""
    macros = "".join(f"{macro}: {type_}, " for macro, type_ in types)
    return f"def {name}(*, {macros}link: Any = ..., device: int | None = ..., jit: Any = ...) -> Module: ..."


def _type(values: Sequence[MacroValue]) -> str:
    """Return the type of a macro in the stub, from the values that it may have: (1, 2) -> "Literal[1, 2]". Floats give
    "float", because a Literal cannot contain a float."""
    literals = ", ".join(repr(value) for value in values if not isinstance(value, float))
    types = [f"Literal[{literals}]"] if literals else []
    return " | ".join(types + ["float"] * any(isinstance(value, float) for value in values))


MADE_BY = "# Made by cuda-wheel of __init__.py and the compiled kernels."
"""First line of each stub that cuda-wheel writes. A stub that begins with this line may be overwritten."""


def attaches(source: str) -> bool:
    """Return whether a package's `__init__.py` makes its kernels attributes of the package, with `attach`."""
    if "attach" not in source:
        return False
    try:
        return any(map(_is_attaching, ast.parse(source).body))
    except SyntaxError:  # Python reports it; or the source needs another version of Python
        return False


def stub(source: str, modules: Sequence[Sequence[Manifest]], files: Sequence[str], loader: str) -> str:
    """Return the text of the `__init__.pyi` of a package whose `__init__.py` has the text `source`.

    `modules` has a sequence for each module: its manifest, or the manifests of its variants. `files` are the names of
    files and folders in the package. `loader` is the dotted name of the module that defines the loader's classes.

    The call of `attach` becomes declarations. All other statements of `__init__.py` are copied, with the bodies of
    functions: type checkers infer the attributes of classes from their methods.
    """
    lines = [MADE_BY]
    for statement in ast.parse(source).body:
        if _is_attaching(statement):
            lines += _kernels(_targets(statement)[2:], modules, files, loader)
        else:
            lines.append(ast.unparse(_reexported(statement)))
    return "\n".join(lines) + "\n"


def _kernels(
    all_: Sequence[str], modules: Sequence[Sequence[Manifest]], files: Sequence[str], loader: str
) -> list[str]:
    """Return the stub's lines that declare the attributes which `attach` gives to a package.

    `all_`: name of the variable for the attribute names, in a list: ["__all__"]; without such a variable, [].
    `modules`: manifests of each module. `files`: names of the files in the package. `loader`: dotted name of the module
    that defines the loader's classes.
    """
    plain = {first.name: {info.name: info for info in first.kernels} for first, *_ in modules if not first.variant}
    with_variants = {first.name: (first, *rest) for first, *rest in modules if first.variant}
    attributes = attached(
        {**{name: list(kernels) for name, kernels in plain.items()}, **dict.fromkeys(with_variants)}, files
    )
    lines = [f"from {loader} import Integer, Kernel, Module, Pointer, Real, Struct"]
    lines += ["from typing import Any, Literal, overload"] if with_variants else []
    lines += [f"{name} = {sorted(attributes)!r}" for name in all_ if name]
    for name, (module, kernel) in sorted(attributes.items()):
        if module in with_variants:
            manifests = with_variants[module]
            any_values = manifests[0].specialize is not None
            lines += variant_loader_stub(name, [each.variant for each in manifests], any_values)
        elif kernel is None:
            lines += [f"{name}: Module", f'"""The module {module}."""']
        else:
            info = plain[module][kernel]
            lines += [f"{name}: {_annotation(info)}", f'"""{kernel}({_parameters(info)}) of {module}."""']
    return lines


def _parameters(info: KernelInfo) -> str:
    """Return a kernel's parameter list as in C++, with types and names: "const float* x, int n". A parameter whose C++
    type is unknown has its PTX type: ".f32 x"."""
    return ", ".join(f"{each.cpp_or_ptx_type} {each.name}".rstrip() for each in info.parameters)


def _annotation(info: KernelInfo) -> str:
    """Return the type of a kernel in a stub, with the types that its parameters take: "Kernel[Pointer, Integer]"."""
    return f"Kernel[{', '.join(map(argument_type, info.parameters)) or '()'}]"


def _is_attaching(statement: ast.stmt) -> bool:
    """Return whether a statement calls `attach` and assigns the result to several names, `__getattr__` among them. True
    for `__getattr__, __dir__, __all__ = attach(__name__)`; False for `result = attach(__name__)`."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "attach" and "__getattr__" in _targets(statement)


def _targets(statement: ast.stmt) -> list[str]:
    """Return the names to which a tuple assignment assigns: `a, b = ...` -> ["a", "b"]. Return an empty list for any
    other statement."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return [getattr(each, "id", "") for each in target.elts] if isinstance(target, ast.Tuple) else []


def _reexported(statement: ast.stmt) -> ast.stmt:
    """Return the statement as the stub must have it. `from x import y` becomes `from x import y as y`, because type
    checkers take `y` for private in a stub otherwise. Other statements are unchanged."""
    if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
        for alias in statement.names:
            if alias.name != "*":
                alias.asname = alias.asname or alias.name
    return statement
