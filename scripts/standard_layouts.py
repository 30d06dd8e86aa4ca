"""Write the sizes of the types of the standard library and of POSIX, as GCC's library has them, into tests/data.

`tests/builder/headers/test_standard_layouts.py` compares the stand-in headers with them. The types are those that the
file names, with template arguments as examples: add a line with a null for a new stand-in, and run this script on Linux
for x86-64 with g++: `python scripts/standard_layouts.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FACTS = Path(__file__).parents[1] / "tests/data/standard_layouts.json"


def main() -> None:
    """Measure all types of the file with g++, and write it."""
    facts = json.loads(FACTS.read_text())
    for standard, types in facts["types"].items():
        head = "".join(f"#include <{header}>\n" for header in facts["headers"][standard])
        values = [(name, ["sizeof(T)", "alignof(T)", "sizeof(WithTail<T>::type)"]) for name in types]
        facts["types"][standard] = dict(zip(types, _measured(head + facts["helpers"], standard, values), strict=True))
    head = "".join(f"#include <{header}>\n" for header in facts["headers"]["c++17"])
    members = facts["members"]
    values = [(name, [f"offsetof(T, {member})" for member in members[name]]) for name in members]
    for name, offsets in zip(members, _measured(head, "c++17", values), strict=True):
        members[name] = dict(zip(members[name], offsets, strict=True))
    FACTS.write_text(_as_text(facts))


def _as_text(facts: dict[str, Any]) -> str:
    """Return the facts as JSON, with one line for each type."""
    lines = []
    for key, value in facts.items():
        groups = value.items() if isinstance(value, dict) else ()
        if key == "types":
            inner = [f"  {json.dumps(standard)}: {{\n" + _lines(types, "   ") + "\n  }" for standard, types in groups]
            lines.append(f" {json.dumps(key)}: {{\n" + ",\n".join(inner) + "\n }")
        elif isinstance(value, dict):
            lines.append(f" {json.dumps(key)}: {{\n" + _lines(value, "  ") + "\n }")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(values: dict[str, Any], indent: str) -> str:
    return ",\n".join(f"{indent}{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items())


def _measured(head: str, standard: str, types: list[tuple[str, list[str]]]) -> list[list[int]]:
    """Return, for each type, the values of the expressions about the type `T` in its list, in bytes, as g++ computes
    them."""
    lines = []
    for name, expressions in types:
        format_ = " ".join(["%zu"] * len(expressions))
        lines.append(f'{{ typedef {name} T; std::printf("{format_}\\n", {", ".join(expressions)}); }}')
    text = "\n".join(
        ["#include <cstddef>", "#include <cstdio>", head, "int main() {", '#line 1 "types"', *lines, "}", ""]
    )
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program"
        command = ["g++", f"-std={standard}", "-w", "-x", "c++", "-", "-o", program]
        result = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
        if result.returncode:
            unknown = {types[int(line) - 1][0] for line in re.findall(r"^types:(\d+):\d+: error", result.stderr, re.M)}
            raise SystemExit(f"g++ does not know {', '.join(sorted(unknown)) or result.stderr}")
        output = subprocess.run([program], text=True, capture_output=True, check=True).stdout
    return [list(map(int, line.split())) for line in output.splitlines()]


if __name__ == "__main__":
    main()
