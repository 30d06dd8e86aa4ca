"""Write counts, times and sizes for people."""

from __future__ import annotations

__all__ = [
    "counted",
    "seconds_text",
    "size_text",
]


def counted(count: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """Return a time as people read it."""
    if seconds < 99.5:
        return f"{seconds:.{2 if seconds < 0.995 else 1 if seconds < 9.95 else 0}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size_text(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count < 1024:
        return f"{count} B"
    unit, shift = next((unit, shift) for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)) if count >> shift)
    return f"{count / (1 << shift):.1f} {unit}"
