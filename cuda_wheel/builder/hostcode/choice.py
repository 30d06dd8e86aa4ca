"""Decide which definitions of a file are kept: by the names that device code uses, then by what the compiler says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from cuda_wheel.builder.cxx.definitions import Item
from cuda_wheel.builder.cxx.tokens import words
from cuda_wheel.builder.hostcode.unit import Unit, is_device, is_host_member, is_sacred, launches

__all__ = [
    "WORD",
    "Choice",
    "learn",
]


_NAMESPACES = frozenset({"std", "cuda", "cooperative_groups", "nvcuda", "cg"})


@dataclass
class Choice:
    """What is kept, and what the compiler has taught."""

    unit: Unit
    names: frozenset[str]
    """Names that are needed besides: those of name expressions."""
    restored: set[Item] = field(default_factory=set)
    refused: dict[Item, str] = field(default_factory=dict)
    """Items that the compiler refused, and its words."""
    constants: set[Item] = field(default_factory=set)
    """Constants that have to say constexpr: as a device variable, one is not computed before the program runs."""
    lines: set[tuple[str, int]] = field(default_factory=set)
    """Where an `#error` is passed over, which a macro of the host's would have kept out."""
    headers: set[str] = field(default_factory=set)
    """Headers of the toolchain that only say, by `#error`, that NVRTC cannot have them."""
    includes: dict[str, None] = field(default_factory=dict)
    """Standard headers that other, absent headers would have included."""

    def learned(self) -> int:
        """Return how much the compiler has taught, but for what it refused; it only grows."""
        kinds = (self.restored, self.constants, self.lines, self.headers, self.includes)
        return sum(len(kind) for kind in kinds)

    def kept(self) -> set[Item]:
        """Return the items that the compiler is given, members on their own."""
        unit = self.unit
        by_name: dict[str, list[Item]] = {}
        for item in unit.items:
            for name in item.names:
                by_name.setdefault(name, []).append(item)
        kept: set[Item] = set()
        waiting = [item for item in unit.items if self._is_root(item)]
        names = set(self.names)
        while waiting or names:
            for name in unit.expanded(names):
                waiting += [item for item in by_name.get(name, ()) if self._may_keep(item)]
            names = set()
            while waiting:
                item = waiting.pop()
                if item in kept or item in self.refused:
                    continue
                kept.add(item)
                waiting += [member for member in item.members if self._keeps_member(member)]
                names |= self._uses(item)
        return kept

    def _is_root(self, item: Item) -> bool:
        if item in self.refused:
            return False
        if item in self.restored or is_sacred(item, self.unit):
            return not item.owner or item in self.restored or not self._is_inner(item)
        if item.kind == "function" and "__device__" in item.markers and item.names[0].startswith("operator"):
            return not self._is_inner(item)  # no name tells its uses
        if item.kind == "type":
            return any(is_device(member) for member in item.members) and not self._is_inner(item)
        if item.kind == "using" and "namespace" in item.heading:
            return bool(set(item.names) & (self._namespaces | _NAMESPACES))
        return item.kind in ("assertion", "fragment") and not self._is_inner(item)

    @cached_property
    def _inner(self) -> set[Item]:
        return {member for item in self.unit.items for member in item.members}

    def _is_inner(self, item: Item) -> bool:
        return item in self._inner

    @cached_property
    def _namespaces(self) -> set[str]:
        return {part for item in self.unit.items if not item.owner for part in item.scope}

    def _may_keep(self, item: Item) -> bool:
        """Return whether a use of its name is enough to keep an item."""
        if self._is_inner(item):
            return False
        if item.kind == "function":
            if "__device__" not in item.markers and ("__host__" in item.markers or launches(item)):
                return False
            return not item.owner or bool(item.markers)
        if item.kind == "variable":
            return bool(item.members) or bool(item.heading & {"const", "constexpr"}) or bool(item.markers)
        return item.kind in ("type", "using")

    def _keeps_member(self, member: Item) -> bool:
        return member in self.restored or not is_host_member(member, self.unit)

    def _uses(self, item: Item) -> frozenset[str]:
        """Return the names that an item uses, but for those of members of something."""
        inside = [(member.start, member.end) for member in item.members]
        tokens = [token for token in item.tokens if not any(start <= token.start < end for start, end in inside)]
        found = set()
        for index, token in enumerate(tokens):
            if token.kind == "word" and not (index and tokens[index - 1].text in (".", "->")):
                found.add(token.text)
        return frozenset(found)


_ERROR = re.compile(
    r"^(?P<file>\S.*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<message>.*)", re.MULTILINE
)


_QUOTED = re.compile(r'"([^"]*)"')


_OPERATOR = re.compile(r'no operator "([^"]+)" matches')


WORD = re.compile(r"operator\s*[^\s\w]+|[A-Za-z_$][\w$]*")


def learn(choice: Choice, log: str) -> bool:
    """Note what a compiler's log teaches about what is needed; return whether that is anything new."""
    kept = choice.kept()
    complaints = [(match["file"], int(match["line"]), match["message"]) for match in _ERROR.finditer(log)]
    restorable: dict[str, list[Item]] = {}
    for item in choice.unit.items:
        if item not in kept and item not in choice.refused and _may_return(item):
            said = item.names or tuple(words(item.tokens))
            for name in said:
                restorable.setdefault(name, []).append(item)
    before = choice.learned()
    refused: dict[Item, str] = {}
    for file, line, message in complaints:
        culprit = _innermost(choice, kept, file, line)
        if (
            culprit is not None
            and culprit.kind in ("assertion", "fragment", "using")
            and not is_sacred(culprit, choice.unit)
        ):
            refused.setdefault(culprit, message)
            continue
        header = _STANDARD.get(match[1]) if (match := _NO_MEMBER.search(message)) else None
        header = header or (_TOOLKIT.get(match[1]) if (match := _UNDEFINED.search(message)) else None)
        missing = [re.sub(r"\s", "", word) for quoted in _QUOTED.findall(message) for word in WORD.findall(quoted)]
        missing += [f"operator{sign}" for sign in _OPERATOR.findall(message)]
        returning = {item for name in missing for item in restorable.get(name, ())}
        if message.startswith("#error"):
            if file in choice.unit.sources:
                choice.lines.add((file, line))
            else:
                choice.headers.add(file)
        elif header is not None:
            choice.includes[header] = None
        elif "dynamic initialization" in message and culprit is not None and culprit.kind == "variable":
            choice.constants.add(culprit)
        elif "must have a constant value" in message and culprit in choice.constants:
            used = words(culprit.tokens)
            choice.constants |= {
                item for item in kept if item.kind == "variable" and not item.markers and used.intersection(item.names)
            }
        elif returning:
            choice.restored |= returning
        elif culprit is not None and not is_sacred(culprit, choice.unit):
            refused.setdefault(culprit, message)
    if before != choice.learned():
        return True  # what is refused now may follow from what was missing
    choice.refused.update(refused)
    return bool(refused)


def _may_return(item: Item) -> bool:
    """Return whether an item may come back as device code: not what the host alone can have."""
    if "__host__" in item.markers and "__device__" not in item.markers:
        return False
    if item.kind == "variable":
        return bool(item.heading & {"const", "constexpr"})
    return item.names != ("main",)


def _innermost(choice: Choice, kept: set[Item], file: str, line: int) -> Item | None:
    around = [
        item
        for item in kept
        if item.source.name == file
        and item.line <= line <= item.last_line
        and item.source.name not in choice.unit.verbatim
    ]
    # Without one of its fields or types, a class would be another one: it goes as a whole, or stays.
    whole = [item for item in around if not item.owner or item.kind == "function" or "friend" in item.heading]
    return min(whole, key=lambda item: item.end - item.start, default=None)


_NO_MEMBER = re.compile(r'namespace "(?:std|cuda::std::\w+)" has no member(?: class)? "(\w+)"')


_UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')


_TOOLKIT = {
    name: header
    for header, names in {
        "cuda_fp16.h": "__half __half2 half half2 __half_raw",
        "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162",
        "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2",
        "cuComplex.h": "cuComplex cuFloatComplex cuDoubleComplex",
        "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
        "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t",
        "assert.h": "assert",
        "cuda_device_runtime_api.h": "cudaGetErrorString cudaGetErrorName cudaGetLastError cudaPeekAtLastError "
        "cudaGraphSetConditional cudaDeviceGetAttribute cudaGetDevice",
    }.items()
    for name in names.split()
}
"""Which header names what, of those that libraries' headers include."""


_STANDARD = {
    name: header
    for header, names in {
        "type_traits": "is_same is_same_v enable_if enable_if_t conditional conditional_t is_integral is_integral_v "
        "decay decay_t integral_constant true_type false_type is_floating_point is_floating_point_v "
        "disjunction disjunction_v conjunction conjunction_v remove_reference remove_reference_t "
        "remove_cv remove_cv_t remove_const void_t is_signed is_unsigned is_signed_v is_unsigned_v "
        "is_pointer is_const make_unsigned make_unsigned_t bool_constant is_trivially_copyable "
        "is_base_of is_base_of_v is_convertible is_convertible_v underlying_type negation negation_v "
        "is_enum is_void is_arithmetic is_arithmetic_v make_signed make_signed_t add_const common_type "
        "common_type_t remove_pointer remove_pointer_t is_class is_empty invoke_result invoke_result_t "
        "alignment_of",
        "limits": "numeric_limits",
        "algorithm": "min max swap sort fill copy clamp lower_bound upper_bound",
        "utility": "pair make_pair move forward declval index_sequence make_index_sequence integer_sequence "
        "exchange make_integer_sequence index_sequence_for",
        "tuple": "tuple make_tuple get tuple_size tuple_element tie apply",
        "array": "array",
        "functional": "plus minus multiplies less greater equal_to",
        "cmath": "abs sqrt pow exp log sin cos tan floor ceil round fabs isnan isinf fma log2 exp2 tanh fmod copysign",
        "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t",
        "cstddef": "size_t ptrdiff_t nullptr_t byte max_align_t",
        "complex": "complex",
        "initializer_list": "initializer_list",
        "cstring": "memcpy memset",
        "cstdio": "printf",
    }.items()
    for name in names.split()
}
"""Which header names what in namespace std."""
