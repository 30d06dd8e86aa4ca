"""The build hook of the distribution cuda-wheel: writes the stand-in headers that come from tables."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StandInHeaders(BuildHookInterface):  # type: ignore[type-arg]
    """Runs for wheels, editable installs and source distributions, so that all of them have the same headers."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the headers into the source tree."""
        script = Path(self.root, "scripts", "stand_in_headers.py")
        runpy.run_path(str(script), run_name="__main__")
