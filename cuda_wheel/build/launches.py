from __future__ import annotations
from typing import NamedTuple
class Instance(NamedTuple):
    kernel: str
    expression: str
    file: str
    line: int
class Unresolved(NamedTuple):
    kernel: str
    file: str
    line: int
    reason: str
class Instances(NamedTuple):
    kernels: tuple
    unresolved: tuple
def instances(items, macros):
    return Instances((), ())
