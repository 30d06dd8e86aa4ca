"""Format counts, durations and sizes for people."""

from __future__ import annotations

__all__ = ["count_text", "seconds_text", "size_text"]


def count_text(count: int, noun: str) -> str:
    """Return a count and its noun: "1 job", "2 jobs"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """Return a duration: "0.25 s", "1 min 40 s", "2 h 3 min"."""
    if seconds < 99.5:
        return f"{seconds:.{2 if seconds < 0.995 else 1 if seconds < 9.95 else 0}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size_text(count: int) -> str:
    """Return a number of bytes: "512 B", "1.5 MiB"."""
    if count < 1024:
        return f"{count} B"
    units = ("GiB", 30), ("MiB", 20), ("KiB", 10)
    # Rounded first: a byte less than a mebibyte is "1.0 MiB", not "1024.0 KiB".
    unit, shift = next((unit, shift) for unit, shift in units if round(count / (1 << shift - 10), 1) >= 1024)
    return f"{count / (1 << shift):.1f} {unit}"
