"""Say whether CUDA C++ may use the time of its compilation: `__DATE__`, `__TIME__` or `__TIMESTAMP__`. Pure."""

from collections.abc import Iterable

from .pasting import can_be_joined, pasted_tokens, spliced

__all__ = ["may_use_build_time"]

_MACROS = (b"__DATE__", b"__TIME__", b"__TIMESTAMP__")


def may_use_build_time(texts: Iterable[bytes]) -> bool:
    """Return whether a program may use the time of its compilation; `texts` are its sources, headers and options.

    It may if one of the macros is in the texts, in which comments and strings count too, or if the preprocessor may
    join one of other tokens, such as `__TI` and `ME__`. The toolkit's headers use none of the macros, so they need not
    be among the texts.
    """
    joined = [each for text in texts for each in spliced(text)]
    if any(macro in text for text in joined for macro in _MACROS):
        return True
    tokens = pasted_tokens(joined)
    return any(can_be_joined(macro, tokens) for macro in _MACROS)
