"""The CPU half of demo. `import demo` imports it where it is installed."""

from importlib.util import find_spec

import torch

if hasattr(torch.ops.demo, "scaled_add"):
    raise ImportError("demo was imported before demo-cpu was installed: restart Python")

from demo_cpu import _C  # defines demo::scaled_add, and implements it for the CPU

if find_spec("demo"):
    import demo  # gradients, the function for torch.compile, and CUDA
else:
    library = torch.library.Library("demo", "IMPL")

    def missing(what):
        def refuse(*args):
            raise NotImplementedError(f"demo::scaled_add has no {what}: pip install demo")

        return refuse

    library.impl("scaled_add", missing("implementation for CUDA"), "CUDA")
    torch.library.register_autograd("demo::scaled_add", missing("gradient"), lib=library)
