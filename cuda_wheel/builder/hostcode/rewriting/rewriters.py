"""Apply every way of rewriting what nvcc with GCC reads and NVRTC refuses, once the compiler reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cuda_wheel.builder.hostcode.blocks import SourceBlocks
from cuda_wheel.builder.hostcode.constants import Replacement
from cuda_wheel.builder.hostcode.own_files import RefusedCode
from cuda_wheel.builder.hostcode.rewriting.class_constants import ClassConstants, is_class_constant_error
from cuda_wheel.builder.hostcode.rewriting.compound_literals import CompoundLiterals, may_be_literal
from cuda_wheel.builder.hostcode.rewriting.constexpr_functions import ConstexprFunctions, is_constexpr_error
from cuda_wheel.builder.hostcode.rewriting.host_assembly import HostAssembly, is_assembly_error
from cuda_wheel.builder.hostcode.rewriting.host_markers import HostMarkers, is_host_marker_error
from cuda_wheel.builder.hostcode.rewriting.member_constants import MemberConstants, is_constant_error
from cuda_wheel.builder.hostcode.rewriting.narrowing import NarrowingArguments, is_narrowing_error
from cuda_wheel.builder.hostcode.rewriting.powers import Powers, is_power_error
from cuda_wheel.builder.hostcode.rewriting.pragma_macros import PragmaMacros, is_pragma_error
from cuda_wheel.builder.hostcode.rewriting.template_names import TemplateNames, is_template_name_error
from cuda_wheel.builder.hostcode.rewriting.type_attributes import TypeAttributes, is_type_attribute_error
from cuda_wheel.builder.hostcode.rewriting.void_pointers import VoidPointers, is_void_pointer_error
from cuda_wheel.builder.hostcode.rewriting.zero_arrays import ZeroArrays, is_zero_array_error

__all__ = ["Rewriters", "may_be_rewritten"]


def may_be_rewritten(message: str) -> bool:
    """Return whether an error may be about something that one of the rewriters writes in another way."""
    return any(may_be(message) for may_be in _KINDS)


_KINDS = (
    is_pragma_error,
    is_template_name_error,
    may_be_literal,
    is_void_pointer_error,
    is_constexpr_error,
    is_host_marker_error,
    is_narrowing_error,
    is_constant_error,
    is_class_constant_error,
    is_power_error,
    is_zero_array_error,
    is_type_attribute_error,
    is_assembly_error,
)


class Rewriters:
    """What is rewritten in a project's files."""

    def __init__(self, files: Mapping[str, SourceBlocks]) -> None:
        self._kinds = (
            PragmaMacros(files),
            TemplateNames(files),
            CompoundLiterals(files),
            VoidPointers(files),
            ConstexprFunctions(files),
            HostMarkers(files),
            NarrowingArguments(files),
            MemberConstants(files),
            ClassConstants(files),
            Powers(files),
            ZeroArrays(files),
            TypeAttributes(files),
            HostAssembly(files),
        )

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
