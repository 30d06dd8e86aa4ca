"""Write the stand-in headers that come from the tables in `cuda_wheel/builder/headers/tables`.

`hatch_build.py` calls this when a wheel, a source distribution or an editable install of cuda-wheel is built, and the
tests call it before they run. In a checkout that is not installed, run `python scripts/stand_in_headers.py`.

The tables: `forwarding.txt` has headers that only include others, `host_functions.txt` functions of CUDA's libraries
that only host code calls, and `pytorch_types.txt` PyTorch's sets of types. In all of them, `a{b,c}` stands for `ab ac`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HEADERS = Path(__file__).parents[1] / "cuda_wheel/builder/headers"
TABLES = HEADERS / "tables"

WRITTEN = HEADERS / ".gitignore"
"""File that lists the written headers, and itself. No wheel contains it."""


def main() -> None:
    """Write every header whose content changed, and remove those that the tables no longer have."""
    texts = headers()
    ignored = "".join(f"/{name}\n" for name in (WRITTEN.name, *sorted(texts)))
    before = WRITTEN.read_text(encoding="utf-8").split() if WRITTEN.is_file() else []
    for name in {each[1:] for each in before} - texts.keys() - {WRITTEN.name}:
        (HEADERS / name).unlink(missing_ok=True)
    for name, text in {**texts, WRITTEN.name: ignored}.items():
        path = HEADERS / name
        if not path.is_file() or path.read_bytes() != text.encode():
            _replace(path, text.encode())


def _replace(path: Path, content: bytes) -> None:
    """Write a file atomically: a process that reads it meanwhile finds the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    with open(descriptor, "wb") as file:
        file.write(content)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def headers() -> dict[str, str]:
    """Return path in `HEADERS` -> text, for each header that the tables describe."""
    return {
        name: f"// Written by scripts/stand_in_headers.py.\n{text}"
        for name, text in (
            *forwarding_headers(_sections("forwarding.txt")),
            *function_headers(_sections("host_functions.txt")),
            ("pytorch/cuda_wheel_detail/pytorch/dispatch_types.h", dispatch_header(_sections("pytorch_types.txt"))),
            (
                "pytorch/cuda_wheel_detail/pytorch/float8.h",
                float8_header(dict(_sections("pytorch_types.txt"))["Float8"]),
            ),
        )
    }


Section = tuple[str, list[str]]
"""A section of a table: its first line, and the words of the indented lines below it, with braces expanded."""


def _sections(table: str) -> list[Section]:
    sections: list[Section] = []
    for line in (TABLES / table).read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            sections[-1][1].extend(word for each in line.split() for word in expanded(each))
        elif line and not line.startswith("#"):
            sections.append((line, []))
    return sections


def expanded(word: str) -> list[str]:
    """Return the words that a word with braces means: "ab" and "ac" for "a{b,c}"."""
    match = re.search(r"\{([^{}]*)\}", word)
    if match is None:
        return [word]
    before, after = word[: match.start()], word[match.end() :]
    return [each for part in match[1].split(",") for each in expanded(before + part + after)]


def forwarding_headers(sections: Sequence[Section]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each header that only includes others. A section's first line names a folder and the
    headers that its headers include."""
    for head, names in sections:
        folder, _, included = head.partition(": ")
        text = "".join(f"#include {each}\n" for each in included.split())
        yield from ((f"{folder}/{name}", text) for name in names)


def function_headers(sections: Sequence[Section]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each header of functions that only host code calls.

    A section's first line has a header, a result, a prefix of names, and the type of the first parameter unless that
    differs between the functions: "cusparse cusparseStatus_t cusparse(cusparseHandle_t)". The functions are declared
    with any further arguments, because only their declarations matter: no image contains a call.
    """
    declarations: dict[str, list[str]] = {}
    second: list[str] = []
    for head, names in sections:
        header, result, prefix, first = re.fullmatch(r"(\w+) (\w+) (\w+)\((\w*)\)", head).groups()  # type: ignore[union-attr]
        parameters = f"{first}, ..." if first else "..."
        declarations.setdefault(header, []).extend(f"{result} {prefix}{name}({parameters});" for name in names)
        second += [prefix + name for name in names if name.endswith("_v2")]
    for header, lines in declarations.items():
        functions = "".join(f"{line}\n" for line in lines)
        yield f"cuda/cuda_wheel_detail/functions/{header}.h", f'extern "C" {{\n{functions}}}\n'
    macros = "".join(f"#define {name.removesuffix('_v2')} {name}\n" for name in sorted(second))
    yield "cuda/cuda_wheel_detail/functions/cublas_v2.h", macros


def dispatch_header(sections: Sequence[Section]) -> str:
    """Return the text of the header of PyTorch's dispatch macros for sets of types.

    A section's first line has a set and the macros that add further types to it: "ALL_TYPES _AND _AND2"; its words are
    the types, and other sets.
    """
    lines = [_and_macro(number) for number in range(1, 9)]
    for head, members in sections:
        name, *further = head.split()
        if name == "Float8":
            continue
        calls = (f"_{each}(" if each.isupper() else f"(at::ScalarType::{each}, " for each in members)
        cases = " ".join(f"AT_DISPATCH_CASE{each}__VA_ARGS__)" for each in calls)
        lines += [f"#define AT_DISPATCH_CASE_{name}(...) {cases}", _switch_macro(name, "")] if members else []
        for each in further:
            added = _letters(int(each[-1]) if each[-1].isdigit() else 1)
            lines += [
                f"#define AT_DISPATCH_CASE_{name}{each}({added}, ...) AT_DISPATCH_CASE_{name}(__VA_ARGS__) "
                f"CUDA_WHEEL_PYTORCH_AND{len(added.split())}({added}, __VA_ARGS__)",
                _switch_macro(name + each, f"{added}, "),
            ]
    return "\n".join(lines) + "\n"


def _letters(number: int) -> str:
    return ", ".join("ABCDEFGH"[:number])


def _and_macro(number: int) -> str:
    cases = " ".join(f"AT_DISPATCH_CASE({each}, __VA_ARGS__)" for each in _letters(number).split(", "))
    return f"#define CUDA_WHEEL_PYTORCH_AND{number}({_letters(number)}, ...) {cases}"


def _switch_macro(name: str, added: str) -> str:
    return (
        f"#define AT_DISPATCH_{name}({added}TYPE, NAME, ...) "
        f"AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE_{name}({added}__VA_ARGS__))"
    )


def float8_header(names: Sequence[str]) -> str:
    """Return the text of the header of PyTorch's floating-point types of 8 bits.

    Their conversions differ between releases, so the types are PyTorch's own, or incomplete without PyTorch. The
    headers of torch/headeronly come first, because those of c10 refuse to be included with TORCH_STABLE_ONLY.
    """
    included = "".join(
        f"#if __has_include(<torch/headeronly/util/{name}.h>)\n#include <torch/headeronly/util/{name}.h>\n"
        f"#elif __has_include(<c10/util/{name}.h>)\n#include <c10/util/{name}.h>\n#endif\n"
        for name in names
    )
    declared = "".join(f"struct {name};\n" for name in names)
    guard = "CUDA_WHEEL_PYTORCH_FLOAT8_H"
    return f"#ifndef {guard}\n#define {guard}\n{included}namespace c10 {{\n{declared}}}\n#endif\n"


if __name__ == "__main__":
    main()
