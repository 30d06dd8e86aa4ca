"""Parse amounts of memory such as "500MiB"."""

__all__ = ["parse_size"]


def parse_size(text: str) -> int:
    """Return the bytes of an amount such as "500MiB", "2 GiB" or "0"; raises ValueError for another form."""
    number = text.strip()
    if number == "0":
        return 0
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        digits = number.removesuffix(unit).rstrip()
        if number.endswith(unit) and digits.isascii() and digits.isdigit():
            return int(digits) << 10 * power
    raise ValueError(f'{text!r} is not an amount of memory such as "500MiB" or "2GiB"')
