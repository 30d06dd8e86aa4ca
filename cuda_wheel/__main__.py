"""`python -m cuda_wheel` is the `cuda-wheel` command."""

import os
import sys

# Python puts the current folder first on the path. It is often a project's, whose files must not hide other modules.
if sys.path[:1] == [os.getcwd()]:
    del sys.path[0]

from cuda_wheel.cli.main import main

sys.exit(main())
