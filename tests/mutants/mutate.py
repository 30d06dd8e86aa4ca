"""Run mutmut in the current folder, with one more operator; or write down the mutants and what became of each.

Usage: python -m tests.mutants.mutate run PROCESSES [PATTERN ...]
       python -m tests.mutants.mutate results FILE
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import mutmut.__main__
from mutmut.mutation import mutators
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files
from mutmut.workers.isolation import ForkServerRunner

_targets: list[cst.CSTNode] = []
"""What assignments and loops assign to. These tuples cannot lose an element: the code would not run at all."""


def remember_target(node: cst.For | cst.CompFor | cst.AssignTarget | cst.NamedExpr) -> Iterator[cst.CSTNode]:
    _targets.append(node.target)
    return iter(())


def drop_element(node: cst.Tuple | cst.List | cst.Set | cst.Dict) -> Iterator[cst.CSTNode]:
    """Yield the collection without each of its elements: a key that lacks a fact is the mistake to find."""
    if len(node.elements) < 2 or any(node is target for target in _targets):
        return
    for index in range(len(node.elements)):
        rest = [*node.elements[:index], *node.elements[index + 1 :]]
        if isinstance(node, cst.Tuple) and len(rest) == 1:
            rest = [rest[0].with_changes(comma=cst.Comma())]
        yield node.with_changes(elements=rest)


def in_this_process(name: str | None) -> None:
    """Choose what mutated functions do: "stats" makes them tell mutmut which test calls them.

    mutmut tells child processes too, where it cannot find its settings. The processes that test a mutant, and their
    children, hear of it in another way.
    """
    set_mutant_under_test(name)
    os.environ.pop("MUTANT_UNDER_TEST", None)


def run(processes: str, *patterns: str) -> None:
    """Run mutmut, which keeps each result as soon as it has it."""
    operators = mutators.mutation_operators
    assert isinstance(operators, list)
    operators += [(kind, remember_target) for kind in (cst.For, cst.CompFor, cst.AssignTarget, cst.NamedExpr)]
    operators += [(kind, drop_element) for kind in (cst.Tuple, cst.List, cst.Set, cst.Dict)]
    mutmut.__main__.set_mutant_under_test = in_this_process  # type: ignore[assignment]
    # mutmut runs the tests of the unchanged code twice: to see what each calls, and again to see whether it passes.
    ForkServerRunner.run_clean_tests = lambda self, tests: 0  # type: ignore[method-assign]
    mutmut.__main__.cli(["run", "--max-children", processes, *patterns], standalone_mode=False)


def results(file: str) -> None:
    """Write the results of `run` in the current folder, also of one that was ended."""
    found = []
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            status = status_by_exit_code[code]
            diff = "" if status in ("killed", "not checked") else get_diff_for_mutant(name, path=path)
            found.append({"name": name, "file": str(path), "status": status, "diff": diff})
    Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    {"run": run, "results": results}[sys.argv[1]](*sys.argv[2:])
