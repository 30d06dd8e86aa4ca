"""Types have the size and alignment that nvcc with GCC gives them, wherever their attributes stand, or are an error."""

from __future__ import annotations

import pytest

from tests.support.compiling import Compile
