"""Apply every way of rewriting what nvcc with GCC reads and NVRTC refuses, once the compiler reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.class_constants import ClassConstants, MemberConstants
from cuda_wheel.builder.hostcode.rewriting.compound_literals import CompoundLiterals
from cuda_wheel.builder.hostcode.rewriting.constexpr_functions import ConstexprFunctions
from cuda_wheel.builder.hostcode.rewriting.host_assembly import HostAssembly
from cuda_wheel.builder.hostcode.rewriting.host_markers import HostMarkers
from cuda_wheel.builder.hostcode.rewriting.narrowing import NarrowingArguments
from cuda_wheel.builder.hostcode.rewriting.powers import Powers
from cuda_wheel.builder.hostcode.rewriting.pragma_macros import PragmaMacros
from cuda_wheel.builder.hostcode.rewriting.rewriter import Rewriter
from cuda_wheel.builder.hostcode.rewriting.template_names import TemplateNames
from cuda_wheel.builder.hostcode.rewriting.type_attributes import TypeAttributes
from cuda_wheel.builder.hostcode.rewriting.void_pointers import VoidPointers
from cuda_wheel.builder.hostcode.rewriting.zero_arrays import ZeroArrays

__all__ = ["Rewriters", "may_be_rewritten"]


_KINDS: tuple[type[Rewriter], ...] = (
    PragmaMacros,
    TemplateNames,
    CompoundLiterals,
    VoidPointers,
    ConstexprFunctions,
    HostMarkers,
    NarrowingArguments,
    MemberConstants,
    ClassConstants,
    Powers,
    ZeroArrays,
    TypeAttributes,
    HostAssembly,
)


def may_be_rewritten(message: str) -> bool:
    """Return whether an error may be about something that one of the rewriters writes in another way."""
    return any(kind.is_about(message) for kind in _KINDS)


class Rewriters:
    """What is rewritten in a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._kinds = [kind(files) for kind in _KINDS]

    def rewrite(self, errors: Sequence[RefusedCode]) -> bool:
        """Rewrite what errors are about; return False if nothing more can be."""
        return any(kind.rewrite(errors) for kind in self._kinds)

    def replacements(self) -> dict[str, list[Replacement]]:
        """Return what to replace in each file."""
        found: dict[str, list[Replacement]] = {}
        for kind in self._kinds:
            for file, edits in kind.replacements().items():
                found.setdefault(file, []).extend(edits)
        return found
