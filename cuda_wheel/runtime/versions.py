"""Versions of CUDA, drivers and the PTX ISA, and of the manifest format."""

__all__ = ["FORMAT", "Version", "dotted", "parse_version"]

FORMAT = 3
"""The newest manifest format that this version reads and writes: 1 is plain, 2 has variants, 3 blocks of kernels."""

Version = tuple[int, int]
"""(major, minor)"""


def parse_version(text: str, what: str = "version") -> Version:
    """Return (major, minor) of a dotted version such as "12.2"; later parts are ignored.

    Raises ValueError if `text` has another form.
    """
    major, _, rest = text.partition(".")
    minor = rest.partition(".")[0]
    # isdigit() is false for the empty string.
    if not (major.isdigit() and minor.isdigit() and text.isascii() and len(major) < 6 and len(minor) < 6):
        raise ValueError(f"{what} {text!r} does not have the form MAJOR.MINOR")
    return int(major), int(minor)


def dotted(version: Version) -> str:
    """Return a version as text: "12.2"."""
    return f"{version[0]}.{version[1]}"
