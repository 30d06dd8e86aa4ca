"""`python -m cuda_wheel` is the `cuda-wheel` command."""

import os
import sys

# Python looks first in the folder that it is started in: a project's, whose files are not for import.
if sys.path[:1] == [os.getcwd()]:
    del sys.path[0]

from cuda_wheel.cli.main import main

sys.exit(main())
