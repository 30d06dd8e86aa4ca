"""`python -m cuda_wheel` is the `cuda-wheel` command."""

import sys

from cuda_wheel.cli import main

sys.exit(main())
