"""Find the lowest PTX ISA version that supports every word of a PTX text, by the table `ptx_forms`.

The assembler alone cannot decide: some releases accept a new instruction under an old version that others reject. Words
that the table does not contain are reported as unknown, so that nothing is concluded from them.

The table lists what PTX text may contain, and since which PTX ISA version. A string of its "forms" is one form of an
instruction: the version that introduced it, its opcodes, and one slot for each modifier. A slot lists alternatives, one
of which must be present; in square brackets it may be absent. A name in a slot stands for the alternatives of its entry
in "aliases". "@8.3" marks an alternative that is newer than the form. A form without "@" that begins with 6.3, the
oldest version that is worth declaring, may be older.

"operands" lists what the operands of an instruction need: patterns of the instruction and of its operands, the version,
and a description. "later targets" lists instructions that some targets got later than others.

A form must not be wider than what the PTX ISA document and the assemblers of all releases accept from its version on: a
modifier that is new for one type has its own form. What the table lacks is unknown, and such PTX keeps its version. So
it is safe to leave out what no compiler writes, and wrong to add a form that has not been tried with every assembler:
`scripts/ptx_requirements.py` expands every form and tries it with all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from cuda_wheel.builder.tables import VERSION, read_table
from cuda_wheel.runtime.manifest import Version, parse_version
from cuda_wheel.runtime.parts.formats import ptx

__all__ = [
    "OLDEST",
    "PtxNeeds",
    "instruction_version",
    "ptx_table",
    "requirement",
    "slot_alternatives",
]


OLDEST: Version = (6, 3)
"""PTX ISA version of CUDA 10.0, the oldest release whose driver is worth supporting."""


class PtxNeeds(NamedTuple):
    """The PTX ISA version that a PTX text needs, and the words that decide it."""

    version: Version
    """Lowest PTX ISA version that supports every known word of the text. A word is known if the table `ptx_forms`
    contains it."""
    word: str
    """Word or feature of the text that needs `version`; "" if `version` is OLDEST."""
    unknown: str
    """Word of the text that the table `ptx_forms` does not contain; "" if the table contains all words. A text with an
    unknown word may need a newer version than `version`."""


class _Form(NamedTuple):
    pattern: re.Pattern[str]
    version: Version
    newer: Mapping[str, Version]
    """Modifier -> PTX ISA version that added the modifier to this form of an instruction. A modifier that is as old as
    the form is not included."""


_COMMENT = re.compile(r'("(?:\\[^\n]|[^"\\\n])*"?)|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)

_PRAGMA = re.compile(r'\.pragma\s*"\s*(\w*)[^"\n]*"')

_STRING = re.compile(r'"(?:\\[^\n]|[^"\\\n])*"?')

_UNTERMINATED = re.compile(
    r"\.(?:loc\s+\d+\s+\d+\s+\d+"
    r"(?P<inlined>\s*,\s*function_name\s+[\w$.]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+\d+\s+\d+\s+\d+)?"
    r"|file\s+\d+(?:\s*,\s*\d+\s*,\s*\d+)?|version\s+\d+\.\d+|address_size\s+\d+"
    r"|target\s+sm_\w+(?:\s*,\s*(?:debug|texmode_\w+|map_f64_to_f32))*|section\s+\.debug_\w+\s*\{(?P<section>[^{}]*)\})"
)
"""Matches a directive that ends without a semicolon, such as ".loc 1 2 3". The searched text must have no strings.
Group "inlined" is the part of `.loc` about inlined code. Group "section" is the content of a debugging section."""

_BRACES = re.compile(r"\{([^;{}]*)\}")
"""Matches a pair of braces that contains no braces and no semicolon. Group 1 is the content: the elements of a vector
or of an initialiser, or nothing."""

_MASK = re.compile(r"[\s{,=]0[xX][fF0]+U?\s*\(\s*(\d)?")
"""Matches a use of the operator mask() in an initialiser. Group 1 is the first digit of the operand; None if the
operand is not a number. Source: PTX ISA, "Initializers"."""

# Rules about operands in the table distinguish "%r" and "%rd" from other prefixes.
_NUMBERED = tuple((re.compile(rf"%(?:{kind})\d+"), f"%{kind}") for kind in ("r", "rd", "p", "rs|f|fd|h|hh|b|rq"))
"""(regular expression, replacement) for each kind of numbered register. The replacement makes the registers of a kind
equal: "%rd7" and "%rd8" become "%rd". The kinds are "%r", "%rd", "%p" (predicates), and all other registers
together."""

_STATEMENT = re.compile(
    r"\s*(?:[\w$%]+\s*:(?!:)\s*)*(?:@\s*!?\s*[\w$%]+\s*)?(?P<opcode>[A-Za-z_]\w*)?(?P<modifiers>(?:\s*\.\w+(?:::\w+)*)*)"
)
"""Matches the start of a statement: labels, predicate ("@%p1"), opcode (group "opcode") and modifiers (group
"modifiers"). In the directive ".reg .b32 %r<9>", the opcode is None and the modifiers are ".reg .b32"."""

_WORD = re.compile(r"\.[A-Za-z_][\w:]*")

_REGISTER = re.compile(r"%[A-Za-z_$][\w$]*")

_SMALL_PARAMETERS = 4352
"""Largest total size of a kernel's parameters, in bytes, that PTX ISA versions before 8.1 allow. Source: PTX ISA,
".entry"."""


class _OperandRule(NamedTuple):
    instruction: re.Pattern[str]
    operands: re.Pattern[str]
    version: Version
    what: str


@cache
def _operand_rules() -> Mapping[str, Sequence[_OperandRule]]:
    """Return opcode -> rules about operands of instructions with this opcode. A rule gives the PTX ISA version that
    certain operands need."""
    rules: dict[str, list[_OperandRule]] = {}
    for row in ptx_table()["operands"]:
        rule = _OperandRule(re.compile(row["instruction"]), re.compile(row["operands"]), row["version"], row["what"])
        for opcode in row["opcodes"]:
            rules.setdefault(opcode, []).append(rule)
    return rules


def requirement(text: str, arch: str) -> PtxNeeds:
    """Return the PTX ISA version that a PTX text for `arch` ("90a") needs; comments and strings do not count, except
    pragmas."""
    version, word, unknown = OLDEST, "", ""
    for candidate, needed in _words(text, arch):
        if needed is None:
            unknown = unknown or candidate
        elif needed > version:
            version, word = needed, candidate
    return PtxNeeds(version, word, unknown)


def _words(text: str, arch: str) -> Iterator[tuple[str, Version | None]]:
    """Yield (feature, PTX ISA version that the feature needs) for each feature that a PTX text uses. The version is
    None if it is unknown. `arch` is the text's target ("90a")."""
    if "//" in text or "/*" in text:  # normalised text has no comments, and the search takes long
        text = _COMMENT.sub(lambda match: match[1] or " ", text)
    pragmas = _PRAGMA.findall(text)
    yield from ((f'.pragma "{pragma}"', _words_of("pragmas").get(pragma)) for pragma in pragmas)
    text = _STRING.sub(" ", text)
    if text.count(".pragma") != len(pragmas):
        yield ".pragma", None
    # In a large text, most statements repeat another.
    text = _distinct(text)
    for symbol, parameters in ptx.kernels(text).items():
        if parameters and parameters[-1].offset + parameters[-1].size > _SMALL_PARAMETERS:
            yield f"the size of the parameters of {symbol}", (8, 1)
    for match in _MASK.finditer(text):
        yield "mask()", (7, 3) if match[1] else (7, 1)
    for match in _UNTERMINATED.finditer(text):
        yield from _debug_needs(match)
    yield from _statements(_UNTERMINATED.sub(" ", text), arch)


def _distinct(text: str) -> str:
    """Return a text with each statement once. Statements that differ only in their register numbers count as equal. A
    statement is what stands between two semicolons. Declarations of registers are all kept."""
    general = text
    for register, kind in _NUMBERED:
        general = register.sub(kind, general)
    pairs = zip(general.split(";"), text.split(";"), strict=True)
    return ";".join({each if ".reg" in each else form: each for form, each in pairs}.values())


def _debug_needs(match: re.Match[str]) -> Iterator[tuple[str, Version]]:
    """Yield (feature, PTX ISA version that it needs) for each newer debugging feature in a directive. `match` is the
    directive, matched by `_UNTERMINATED`. Source: PTX ISA, ".loc" and ".section"."""
    if match["inlined"]:
        yield ".loc with inlined_at", (7, 2)
    if ":" in (match["section"] or ""):
        yield "a label in .section", (7, 2)
    if "-" in (match["section"] or ""):
        yield "a difference or negative number in .section", (7, 5)


def _statements(text: str, arch: str) -> Iterator[tuple[str, Version | None]]:
    """Yield (feature, PTX ISA version that the feature needs) for each feature that the statements of a text use. The
    version is None if it is unknown.

    The text must have no strings, and no directives that end without a semicolon. `arch` is its target ("90a").
    """
    shorter = _BRACES.sub(_without_elements, text)
    while shorter != text:
        text, shorter = shorter, _BRACES.sub(_without_elements, shorter)
    instructions: set[str] = set()
    behind_operands: set[str] = set()
    directives: list[str] = []
    with_operand_rules = _operand_rules().keys()
    for statement in re.split("[;{}]", text):
        match = _STATEMENT.match(statement)
        assert match is not None  # all of its parts may be absent
        opcode, modifiers = match["opcode"], match["modifiers"]
        if opcode:
            instructions.add(opcode + modifiers)
            operands = statement[match.end() :]
            if "." in operands:
                behind_operands.update(_WORD.findall(operands))
            if ":" in operands:  # a modifier that is split by white space
                yield " ".join(statement.split())[:80], None
            if opcode in with_operand_rules:
                yield from _operand_needs(opcode, modifiers, operands)
        elif modifiers:
            directives.append(statement[match.start("modifiers") :])
        elif match.end() < len(statement):
            yield " ".join(statement.split())[:80], None
    for instruction in sorted("".join(each.split()) for each in instructions):
        yield instruction, instruction_version(instruction, arch)
    for kind, words in ("operand modifiers", behind_operands), ("directives", _WORD.findall(" ".join(directives))):
        yield from ((word, _words_of(kind).get(word)) for word in dict.fromkeys(words))
    yield from _registers(text, " ".join(directives))


def _without_elements(match: re.Match[str]) -> str:
    """Return what replaces a match of `_BRACES`: " 0 " for braces with elements, ";" for empty braces."""
    return " 0 " if match[1].strip() else ";"


def _operand_needs(opcode: str, modifiers: str, operands: str) -> Iterator[tuple[str, Version]]:
    instruction = "".join((opcode + modifiers).split())
    for rule in _operand_rules()[opcode]:
        if rule.instruction.match(instruction) and rule.operands.match(operands):
            yield f"{instruction} {rule.what}", rule.version


def _registers(text: str, directives: str) -> Iterator[tuple[str, Version | None]]:
    """Yield (register, PTX ISA version that it needs) for each special register that a text uses, such as "%tid". The
    version is None if the table lacks the register.

    `directives` are all directives of the text, joined. Registers that they declare, such as ".reg .b32 %r<9>", are not
    special.
    """
    declared = set(_REGISTER.findall(directives))
    numbered = {name.rstrip("0123456789") for name in set(_REGISTER.findall(text)) - declared}
    if numbered <= declared:
        return
    special = _words_of("special registers")
    for name in sorted(set(_REGISTER.findall(text)) - declared):
        if name in special or name.rstrip("0123456789") not in declared:
            yield name, special.get(name)


@cache
def instruction_version(instruction: str, arch: str) -> Version | None:
    """Return the PTX ISA version that an instruction with its modifiers needs on `arch` ("90a"); None if the table
    lacks it."""
    modifiers = ["." + each for each in instruction.split(".")[1:]]
    needed = [
        max([form.version, *(form.newer[each] for each in modifiers if each in form.newer)])
        for form in _forms(instruction.split(".")[0])
        if form.pattern.fullmatch(instruction)
    ]
    later = [
        row["version"]
        for row in ptx_table()["later targets"]
        if arch in row["architectures"] and re.match(row["instruction"], instruction)
    ]
    return max([min(needed), *later]) if needed else None


@cache
def ptx_table() -> Mapping[str, Any]:
    """Return the table `ptx_forms`, with all groups of "forms" joined into one sequence. It is read at the first call
    only."""
    by_version = {str: [str]}
    shape = {
        "aliases": {str: str},
        "forms": {str: [str]},
        "directives": by_version,
        "operand modifiers": by_version,
        "special registers": by_version,
        "pragmas": by_version,
        "operands": [
            {"opcodes": [str], "instruction": str, "operands": str, "version": VERSION, "what": str, "why?": str}
        ],
        "later targets": [{"instruction": str, "architectures": [str], "version": VERSION}],
    }
    table = read_table("ptx_forms", shape)
    return {**table, "forms": tuple(form for group in table["forms"].values() for form in group)}


@cache
def _table_forms() -> dict[str, list[str]]:
    """Return opcode -> forms of the instructions with this opcode, as the table `ptx_forms` writes them. A form is a
    PTX ISA version, opcodes, and one slot for each modifier: "6.3 popc,clz,brev .b32|.b64"."""
    forms: dict[str, list[str]] = {}
    for form in ptx_table()["forms"]:
        for opcode in form.split(" ", 2)[1].split(","):
            forms.setdefault(opcode, []).append(form)
    return forms


@cache
def _forms(opcode: str) -> list[_Form]:
    """Return the forms of the instructions with one opcode, from the table `ptx_forms`. A form is the opcode, its
    possible modifiers, and the PTX ISA version that they need."""
    forms = []
    # Of this opcode only: compiling the regular expressions of all opcodes takes half a second.
    for text in _table_forms().get(opcode, ()):
        version, _, *slots = text.split()
        pattern = re.escape(opcode) + "".join(_slot_pattern(slot) for slot in slots)
        newer = {name: parse_version(since) for slot in slots for name, since in slot_alternatives(slot) if since}
        forms.append(_Form(re.compile(pattern), parse_version(version), newer))
    return forms


def slot_alternatives(slot: str) -> list[tuple[str, str]]:
    """Return (modifier, PTX ISA version) for each alternative in a slot of a form in the table; "" for the form's own
    version.

    For example, "[.a|.b@8.3]" -> [(".a", ""), (".b", "8.3")].
    """
    names = slot.strip("[]")
    names = ptx_table()["aliases"].get(names, names)
    return [(name, since) for name, _, since in (each.partition("@") for each in names.split("|"))]


def _slot_pattern(slot: str) -> str:
    names = "|".join(re.escape(name) for name, _ in slot_alternatives(slot))
    return f"(?:{names})" + "?" * slot.startswith("[")


@cache
def _words_of(part: str) -> dict[str, Version]:
    """Return word -> PTX ISA version that introduced it, from one part of the table `ptx_forms`. `part` is the key of
    this part, such as "directives" or "special registers"."""
    return {word: parse_version(version) for version, words in ptx_table()[part].items() for word in words}
