"""Small C++ files that mix host and device code, with what nvcc makes of each.

`cases()` composes them from lists of constructs. `facts.json` has nvcc's answer for each; `scripts/host_code_facts.py`
writes it. `test_generated_files.py` compares cuda-wheel with it. A new construct needs only an entry in one of the lists.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.builder.compile.generated.case import Case
from tests.builder.compile.generated.features import features
from tests.builder.compile.generated.launches import launches
from tests.builder.compile.generated.mistakes import mistakes
from tests.builder.compile.generated.scopes import scopes
from tests.builder.compile.generated.specialisations import specialisations

__all__ = ["FACTS", "Case", "cases", "facts"]

FACTS = Path(__file__).with_name("facts.json")
"""By case: "text" identifies the text, "kernels" are its kernels' answers; "error" is nvcc's first error instead. With
both, the kernels are those of the corrected text."""


def cases() -> list[Case]:
    """Return all cases, in a fixed order."""
    return [*launches(), *scopes(), *specialisations(), *mistakes(), *features()]


def facts() -> dict[str, dict[str, Any]]:
    """Return nvcc's answers by the name of the case."""
    return json.loads(FACTS.read_text(encoding="utf-8"))["cases"]  # type: ignore[no-any-return]
