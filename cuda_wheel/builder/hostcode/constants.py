"""Rewrite constants with dynamic initializers, which NVRTC takes for device variables, as references.

NVRTC makes every constant at namespace scope a device variable, and these have no dynamic initializers. A reference to
a temporary is the same for all code that uses it: it has the type and the constness of the constant.
"""

from __future__ import annotations

from cuda_wheel.builder.hostcode.blocks import CodeBlock

__all__ = ["Replacement", "is_about_a_constant", "rewritten_constant"]

Replacement = tuple[int, int, bytes]
"""A span of a text, as offsets in bytes, and the text to put in its place."""

_SPECIFIERS = frozenset({"static", "inline", "extern"})


def is_about_a_constant(message: str) -> bool:
    """Return whether an error says that a variable's initializer is dynamic."""
    return message.startswith("dynamic initialization is not supported for a")


def rewritten_constant(block: CodeBlock) -> list[Replacement] | None:
    """Return the replacements that make a constant a reference; None if the block is no constant."""
    tokens = block.tokens
    texts = [token.text for token in tokens]
    if "const" not in texts or texts[0] == "template":
        return None
    ends = (index for index, text in enumerate(texts) if text in ("=", "(", "{", "[") and index > 0)
    end = next(ends, None)
    if end is None or tokens[end - 1].kind != "word":
        return None
    name = tokens[end - 1]
    if texts[end - 2] == "::":  # the definition of a member, which the class declares
        return [(block.start, block.end, b"")]
    if texts[end] == "[":  # a reference would need the bounds
        return [(token.start, token.end, b"") for token in tokens[:end] if token.text == "const"]
    gap = 1 if tokens[end - 2].end < name.start else 0  # a space makes room, so that columns stay the same
    edits = [(name.start - gap, name.start, b"&")]
    if texts[end] != "=":
        type_ = " ".join(text for text in texts[: end - 1] if text not in _SPECIFIERS | {"const"})
        edits.append((name.end, name.end, f" = {type_}".encode(errors="surrogateescape")))
    return edits
