"""List the external symbols that a relocatable module leaves undefined, and compare them with its `extern` setting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cuda_wheel.builder.cxx.demangling.signatures import signature
from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.jobs import ImageContent
from cuda_wheel.builder.messages.link_errors import mentions
from cuda_wheel.builder.plan import ModulePlan, cuda_sources
from cuda_wheel.runtime.formats.ptx import symbols
from cuda_wheel.runtime.manifest import External

__all__ = ["extern_table"]


def extern_table(module: ModulePlan, contents: Sequence[ImageContent]) -> tuple[External, ...]:
    """Return the symbols that a module's images use and do not define, sorted.

    Raises CompileError if `extern` does not name one of them; ConfigError if it names anything else.
    """
    texts = [(source, content.decode()) for _, source, (kind, _, content) in contents if source and kind == "ptx"]
    definers = _definers(texts)
    undefined = {
        symbol: declaration
        for _, text in texts
        for symbol, declaration in ptx_text.undefined(text).items()
        if symbol not in definers
    }
    externals = tuple(_external(symbol, declaration, module) for symbol, declaration in sorted(undefined.items()))
    _check_all_named(externals, module)
    for name in module.module.settings.extern:
        if not any(name in (external.name, external.symbol) for external in externals):
            raise ConfigError(_superfluous(name, externals, definers, module))
    return externals


def _definers(texts: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the source that defines each symbol, from the PTX of each source."""
    definers = {}
    for source, text in texts:
        known = symbols(text)
        definers.update(dict.fromkeys(sorted(known.defined | known.weak), source))
    return definers


def _external(symbol: str, ptx_declaration: str, module: ModulePlan) -> External:
    """Return an external symbol with its declaration in C++, as far as symbol and sources show it, else in PTX."""
    demangled = signature(symbol)
    declaration = ptx_declaration
    if demangled.parameters is not None:
        declaration = f"{demangled.name}({', '.join(demangled.parameters)})"
    elif demangled.name == symbol:
        declaration = _c_declaration(symbol, module) or declaration
    return External(demangled.name, symbol, declaration)


_STATEMENT = re.compile(r"([^;{}]*)([;{}]|\Z)")
"""A text up to a semicolon, a brace or the end of the file, and that character."""


def _c_declaration(name: str, module: ModulePlan) -> str | None:
    """Return the declaration of an `extern "C"` function in the sources, without CUDA's attributes."""
    call = re.compile(rf"(?<![\w$]){re.escape(name)}\s*\([^()]*\)\s*$")
    statements = (match for source in cuda_sources(module.module) for match in _STATEMENT.finditer(source.text))
    for statement in statements:
        match = call.search(statement[1]) if statement[2] == ";" else None
        if match is not None:
            result_type = re.split(r"[^\w:<>,\s*&]", statement[1][: match.start()])[-1]
            declaration = " ".join(f"{result_type}{match[0]}".split())
            if result_type.strip():
                attributes = r"\b(?:extern|__device__|__noinline__|__forceinline__)\s+"
                return 'extern "C" ' + re.sub(attributes, "", declaration)
    return None


def _check_all_named(externals: Sequence[External], module: ModulePlan) -> None:
    """Raise CompileError for symbols that `extern` does not name."""
    allowed = set(module.module.settings.extern)
    unnamed = [external for external in externals if not {external.name, external.symbol} & allowed]
    if not unnamed:
        return
    names = ", ".join(f'"{external.name}"' for external in unnamed)
    uses = "".join(f"\n  {external.declaration}{mentions(external.name, module.module)}" for external in unnamed)
    raise CompileError(
        f"{module.module.label} uses symbols that none of its sources defines:{uses}\nAdd the source that defines "
        f"them, or leave them to the program that loads the module: extern = [{names}]."
    )


def _superfluous(name: str, externals: Sequence[External], definers: Mapping[str, str], module: ModulePlan) -> str:
    """Return the error for a name in `extern` that the module defines or does not use."""
    text = f'{module.module.name} has extern = ["{name}"], but does not leave that symbol undefined: '
    definer = next((source for symbol, source in definers.items() if name in (symbol, signature(symbol).name)), None)
    if definer is not None:
        return (
            f"{text}{definer} defines it. Remove it from extern; or move its definition into a file of its own and "
            "name that in extern-default, not in sources."
        )
    names = ", ".join(external.name for external in externals)
    undefined = f"the undefined symbols are {names}" if names else "the module has no undefined symbols"
    return f"{text}{undefined}. Declare and use it, and define it nowhere."
