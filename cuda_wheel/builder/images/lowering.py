"""Lower the PTX ISA version that a PTX text declares, so that older drivers accept the text.

NVRTC declares its own PTX ISA version in all its PTX, whether the code needs it or not. Three things limit how low the
version of a text may be: the version that introduced its target; the version of every instruction, modifier, directive
and special register in it, by `ptx_requirements`; and a proof by the assembler that the text gives the same machine
code with both versions. The assembler alone is no proof, because some releases accept new instructions under old
versions. A text with a word that the table does not contain keeps its version. The proof is made without optimisation,
which takes half the time and leaves no instruction out.

The *form* of a line is its words and punctuation, with any register, number or label as an operand. The version can
change how the assembler reads a form, but it reads all lines of one form alike. So the proof needs each form only once:
the text is shortened to some of its kernels and lines, which contain every form of the whole. The shorter text takes a
tenth of the time to assemble, or less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, lru_cache

from cuda_wheel.builder.errors import CompileError, ConfigError
from cuda_wheel.builder.images import ptx_text
from cuda_wheel.builder.images.ptx_requirements import OLDEST, PtxNeeds, requirement
from cuda_wheel.builder.images.ptx_text import Item, items
from cuda_wheel.builder.releases import RELEASES
from cuda_wheel.runtime.manifest import Version, parse_version
from cuda_wheel.runtime.parts.formats import ptx

__all__ = ["FIRST_PTX_ISA", "in_short", "lower", "proof_text"]


_REGISTER = re.compile(r"%(?:r|rd|rs|rq|f|fd|h|hh|b)\d+")
"""Matches a numbered register in the compiler's PTX, such as "%rd7", except a predicate register ("%p1")."""

_ANY_REGISTER = "%r0"  # many lines become equal by this, and `_form` caches its results
"""Text that replaces each register in a line, except predicates, before `_form` generalises the line."""

_VALUE = re.compile(
    _REGISTER.pattern + r"|(?<![\w$%.])-?(?:0[fFdDxX][0-9a-fA-F]+U?|\d+)(?![\w.])"
    r"|\$L__\w+|(?<=%p)\d+|(?<=__local_depot)\d+|(?<=_param_)\d+|(?<=__unnamed_)\d+|(?<=(?<![\w$])_Z)(?!_param_)[\w$]+|\$str(?:\$\d+)?"
)
"""Matches what `_form` replaces by "0" in a token of a PTX line: a register, a number, a label, the symbol of a string
literal, or the part of a mangled name after "_Z". Of some names, only the number matches: "1" of the predicate
"%p1"."""

_TOKEN = re.compile(r"-?[\w$%.]+|[^\w$%.-]+|-")
"""Matches a token of a PTX line: a word with its minus sign ("-1", "%r5", ".reg"), or the text between two words."""

_PARAMETER = re.compile(r"^\.param [^\n]*", re.MULTILINE)
"""Matches a line that declares a parameter, such as ".param .u64 k_param_0,". Such a line counts as a form of its own:
its numbers are not replaced by "0"."""


def proof_text(ptx: str, proven: Collection[str] = ()) -> tuple[str, frozenset[str]]:
    """Return the part of a normalised PTX text that a proof must assemble, and the forms of lines that this proves.

    The result lacks kernels whose forms are all in `proven` or in other kernels; functions, variables and other
    directives are kept. It is "" if all forms are in `proven`. A text with debug information, which contains the
    addresses of its kernels, is returned unchanged, with no forms.
    """
    if ".debug_info" in ptx:
        return ptx, frozenset()
    known = frozenset(proven)
    kernels = [item for item in items(ptx) if item.is_kernel]
    missing = {item: _forms(ptx, item) - known for item in kernels}
    chosen = _cover(missing)
    kept, between, at = [], [], 0
    for item in kernels:
        between.append(ptx[at : item.start])
        kept.append(ptx[at : item.end if item in chosen else item.start])
        at = item.end
    rest = _forms_of("".join([*between, ptx[at:]])) - known
    if not chosen and not rest:
        return "", frozenset()
    return "".join([*kept, ptx[at:]]), rest.union(*missing.values())


_REGISTERS = re.compile(r"\.reg \.([a-z0-9]+) ([%\w]+?)<\d+>;")
"""Matches a declaration of numbered registers; group 1 is their type, group 2 the prefix of their names: "b32", "%r"
for ".reg .b32 %r<9>;"."""

_WORD = re.compile(r"[%$\w]+")

_DECLARATION = re.compile(r"\.(?:reg|local|shared|param|loc)\b")

_LABEL = re.compile(r"([$\w]+):$")

_JUMP = re.compile(r"(?:@\S+ )?(?:br[ax]|ret|exit|trap)\b")

_FIRST_OPERAND = re.compile(r"(?:@\S+ )?\S+ ((?:\{[^{}]*\}|[^,{}])*)")

_ANY = "__cuda_wheel_any"
"""Name of a global variable that `in_short` declares in the shortened PTX. The shortened kernels load registers from
this variable, and store results to it."""


def in_short(ptx: str, proven: Collection[str] = ()) -> str:
    """Return a result of `proof_text`, its kernels reduced to the statements that contain a form for the first time.

    Forms in `proven` count as seen. A text with debug information is returned unchanged.

    Even without optimisation, the assembler drops unreachable statements and unused results. So registers are loaded
    from memory before each statement, and the statement's results are stored after it. The assembler may reject such a
    text; the caller must then use the unshortened one.
    """
    kernels = [item for item in items(ptx) if item.is_kernel]
    if not kernels or ".debug_info" in ptx:
        return ptx
    known = set(proven)
    at = kernels[0].start
    parts = [ptx[:at], f".global .align 16 .b8 {_ANY}[16];\n"]
    for item in kernels:
        parts += [ptx[at : item.start], _in_short(ptx, item, known)]
        at = item.end
    return "".join([*parts, ptx[at:]])


def _in_short(ptx: str, kernel: Item, known: set[str]) -> str:
    """Return a shortened kernel, and add its forms to `known`. A form is a PTX line with "0" in place of registers,
    numbers, labels and mangled names.

    Statements whose forms are all in `known` are removed. Other statements get loads and stores. Declarations stay.
    """
    head, _, body = ptx[kernel.start : kernel.end].removesuffix("}").partition("\n{\n")
    kept: list[str] = []
    declared: list[str] = []
    labels: set[str] = set()
    for statement, forms in _statements(body, kernel):
        if _DECLARATION.match(statement):
            declared.append(statement)
        elif label := _LABEL.match(statement):
            labels.add(label[1])
        elif not forms <= known:
            kept.append(statement)
        else:
            continue
        known |= forms
    sizes = {name: _SIZES[type_] for each in declared for type_, name in _REGISTERS.findall(each) if type_ in _SIZES}
    lines = [head, "{", *declared, *_OWN_REGISTERS]
    for number, statement in enumerate(kept):
        lines += _with_memory(statement, sizes, f"$cuda_wheel_{number}")
    used = labels.intersection(_WORD.findall("\n".join(kept)))
    return "\n".join([*lines, *(f"{label}:" for label in sorted(used)), "ret;", "}"])


_SIZES = {"pred": ""} | {kind + size: "b" + size for kind in "bsuf" for size in ("16", "32", "64")}
"""Register type in PTX -> type with which the register is loaded and stored: "f32" -> "b32". The value is "" for a
predicate, which PTX cannot load or store."""

_OWN_REGISTERS = (".reg .b32 %cuda_wheel_value;", ".reg .pred %cuda_wheel_condition;")

_LOADED = f"ld.volatile.global.b32 %cuda_wheel_value, [{_ANY}];\nsetp.ne.b32 {{}}, %cuda_wheel_value, 0;"

_STORED = f"selp.b32 %cuda_wheel_value, 1, 0, {{}};\nst.volatile.global.b32 [{_ANY}], %cuda_wheel_value;"


def _with_memory(statement: str, sizes: Mapping[str, str], label: str) -> Iterator[str]:
    """Yield loads of all registers in `statement`, then `statement`, then stores of its results. Results are registers
    in the first operand; for a block in braces, all registers. A jump becomes "@condition bra LABEL; jump; LABEL:".

    `sizes`: register prefix -> type to load ("%r" -> "b32"); "" for predicates. `label`: an unused label.
    """
    first = _FIRST_OPERAND.match(statement)
    results = _registers(statement if first is None or statement.startswith("{") else first[1], sizes)
    for name, size in _registers(statement, sizes).items():
        yield f"ld.volatile.global.{size} {name}, [{_ANY}];" if size else _LOADED.format(name)
    # Without the branch, the assembler would drop the statements after the jump, which could not be reached.
    if _JUMP.match(statement):
        yield _LOADED.format("%cuda_wheel_condition")
        yield f"@%cuda_wheel_condition bra {label};\n{statement}\n{label}:"
    else:
        yield statement
    for name, size in results.items():
        yield f"st.volatile.global.{size} [{_ANY}], {name};" if size else _STORED.format(name)


def _registers(text: str, sizes: Mapping[str, str]) -> dict[str, str]:
    """Return register name -> type with which the register is loaded and stored, for each numbered register in a text.
    `sizes` maps the prefix of names to this type: "%r" -> "b32"."""
    names = dict.fromkeys(_WORD.findall(text))
    return {name: sizes[start] for name in names if (start := name.rstrip("0123456789")) in sizes and start != name}


def _statements(body: str, kernel: Item) -> Iterator[tuple[str, set[str]]]:
    """Yield (text, forms of its lines) for each statement, label or block in braces of a kernel's body. The forms are
    without the kernel's name.

    A form is a PTX line with "0" in place of registers, numbers, labels and mangled names.
    """
    lines: list[str] = []
    forms: set[str] = set()
    depth = 0
    # Without the kernel's name, two kernels can have equal forms.
    general = _REGISTER.sub(_ANY_REGISTER, _without_name(body, kernel))
    for line, general_line in zip(body.split("\n"), general.split("\n"), strict=True):
        lines.append(line)
        forms.add(_form(general_line))
        depth += line.count("{") - line.count("}")
        if depth == 0 and (line.endswith((";", ":", "}")) or line.startswith(".loc")):
            yield "\n".join(lines), forms
            lines, forms = [], set()
    if any(lines):
        yield "\n".join(lines), forms


def _without_name(text: str, kernel: Item) -> str:
    """Return a text without the name of `kernel`. Of a mangled name, only the part after "_Z" is removed: "_Z3foov" ->
    "_Z"."""
    # Names of things inside the kernel contain its name without "_Z": "_ZZ3foovE5table".
    return text.replace(kernel.name.removeprefix("_Z"), "")


def _forms_of(text: str) -> frozenset[str]:
    """Return the forms of a PTX text's lines, and the unchanged lines that declare parameters. A form is a line with
    "0" in place of registers, numbers, labels and mangled names: "mov.u32 0, 0;" for "mov.u32 %r1, 7;"."""
    lines = dict.fromkeys(_REGISTER.sub(_ANY_REGISTER, text).split("\n"))
    # With the numbers of parameters: their total size may need a newer PTX ISA version.
    return frozenset([*_PARAMETER.findall(text), *map(_form, lines)]) - {""}


@lru_cache(maxsize=1 << 18)  # most lines are equal to an earlier line, with "%r0" for all registers
def _form(line: str) -> str:
    """Return the form of a PTX line: the line with "0" in place of each register, number, label and mangled name. For
    example, "mov.u32 %r0, 7;" -> "mov.u32 0, 0;"."""
    return "".join(map(_general, _TOKEN.findall(line)))


@lru_cache(maxsize=1 << 18)  # the lines of a text consist of few different tokens
def _general(token: str) -> str:
    """Return a token of a PTX line with "0" in place of each register, number, label and mangled name: "%r5" -> "0"."""
    return _VALUE.sub("0", token)


def _forms(ptx: str, kernel: Item) -> frozenset[str]:
    """Return the forms of a kernel's lines (see `_forms_of`), without the kernel's name. A form is a PTX line with "0"
    in place of registers, numbers, labels and mangled names: "mov.u32 0, 0;" for "mov.u32 %r1, 7;"."""
    return _forms_of(_without_name(ptx[kernel.start : kernel.end], kernel))


def _cover(forms: Mapping[Item, Collection[str]]) -> set[Item]:
    """Return a small set of kernels that together contain all forms. `forms` is kernel -> forms of its lines.

    A form is a PTX line with "0" in place of registers, numbers, labels and mangled names.
    """
    chosen: set[Item] = set()
    missing = {item: set(each) for item, each in forms.items() if each}
    while missing:
        # The kernel with the most missing forms, per character of its text.
        best = max(missing, key=lambda item: (len(missing[item]) / (item.end - item.start), -item.start))
        chosen.add(best)
        added = missing.pop(best)
        missing = {item: rest for item, each in missing.items() if (rest := each - added)}
    return chosen


Assemble = Callable[[str, str], bytes]
"""Function `(PTX text, architecture)` that returns the machine code. It raises CompileError with the assembler's
log."""

_REQUIRED = re.compile(r"requires PTX ISA \.version (\d+)\.(\d+)")

FIRST_PTX_ISA: dict[str, Version] = {
    "50": OLDEST, "52": OLDEST, "53": OLDEST, "60": OLDEST, "61": OLDEST, "62": OLDEST, "70": OLDEST, "72": OLDEST,
    "75": (6, 3), "80": (7, 0), "86": (7, 1), "87": (7, 4), "89": (7, 8), "90": (7, 8),
    "90a": (8, 0), "100": (8, 6), "100a": (8, 6), "101": (8, 6), "101a": (8, 6), "120": (8, 7), "120a": (8, 7),
    "103": (8, 8), "103a": (8, 8), "121": (8, 8), "121a": (8, 8), "100f": (8, 8), "101f": (8, 8), "103f": (8, 8),
    "120f": (8, 8), "121f": (8, 8), "88": (9, 0), "110": (9, 0), "110a": (9, 0), "110f": (9, 0),
    "107": (9, 4), "107a": (9, 4), "107f": (9, 4),
}  # fmt: skip
"""Architecture -> first PTX ISA version that has this architecture as a target: "90a" -> (8, 0). OLDEST stands for all
earlier versions. Source: PTX ISA, "Release Notes"."""


_PROVEN: dict[tuple[Assemble, str, Version, Version], set[str]] = {}  # most forms of a file recur in other files
"""(assembler, architecture, PTX ISA version of the compiler, lower PTX ISA version) -> forms that are proven. Lines of
a proven form give the same machine code with both versions.

A form is a PTX line with "0" in place of registers, numbers, labels and mangled names.
"""


class _Proof:
    """Checks that the assembler gives the same machine code for a PTX text with another PTX ISA version."""

    def __init__(self, text: str, arch: str, assemble: Assemble) -> None:
        self._text, self._arch, self._assemble = text, arch, assemble
        self._reference = cache(lambda text: assemble(text, arch))

    def holds(self, version: Version) -> bool:
        """Return whether the machine code is the same with this version; raises CompileError if the assembler rejects
        it."""
        key = (self._assemble, self._arch, ptx.version(self._text), version)
        proven = _PROVEN.setdefault(key, set())
        text, forms = proof_text(self._text, proven)
        if text:
            short = self._in_short(text, proven)
            if not self._is_equal(short, version) and (short == text or not self._is_equal(text, version)):
                return False
            proven |= forms
        return True

    def _in_short(self, text: str, proven: Collection[str]) -> str:
        """Return `text` shortened (see `in_short`): a statement is left out if each of its forms is in `proven` or in
        an earlier one. Return `text` unchanged if the assembler rejects the result. A form is a line with "0" in place
        of registers, numbers, labels and mangled names."""
        short = in_short(text, proven)
        try:
            self._reference(short)
        except CompileError:
            return text
        return short

    def _is_equal(self, text: str, version: Version) -> bool:
        reference = self._reference(text)
        return self._assemble(ptx_text.set_version(text, version), self._arch) == reference


def lower(text: str, wanted: str, arch: str, source: str, assemble: Assemble) -> str:
    """Return the PTX `text` for `arch` ("90a") with the version that `wanted` ("auto", "as-compiled", "8.0") asks for.

    With "auto", the text keeps its version if no lower one is proven equivalent. With an explicit version, raises
    ConfigError if it is too low for the target or for a word of the text, if the table lacks a word, or if the
    assembler gives other machine code. `source` is the file's name in messages.
    """
    if wanted == "as-compiled":
        return text
    proof = _Proof(text, arch, assemble)
    if wanted != "auto":
        return _with_version(text, parse_version(wanted), proof, arch, source)
    needed = requirement(text, arch)
    if needed.unknown or arch not in FIRST_PTX_ISA:
        return text
    floor = max(FIRST_PTX_ISA[arch], needed.version)
    for candidate in _versions_below(ptx.version(text)):
        if candidate < floor:
            continue
        try:
            if proof.holds(candidate):
                return ptx_text.set_version(text, candidate)
        except CompileError as error:
            # The assembler names the version that each refused instruction needs: continue with the highest.
            floor = max([floor, *((int(m[1]), int(m[2])) for m in _REQUIRED.finditer(str(error)))])
    return text


def _versions_below(version: Version) -> Iterator[Version]:
    return (each for each in sorted({release.ptx_isa for release in RELEASES}) if each < version)


def _with_version(text: str, version: Version, proof: _Proof, arch: str, source: str) -> str:
    label = f"ptx-version {version[0]}.{version[1]} does not suit {source} for compute_{arch}"
    if version < ptx.version(text) and (reason := _too_low(version, arch, requirement(text, arch))):
        raise ConfigError(f"{label}: {reason}")
    try:
        is_equal = proof.holds(version)
    except CompileError as error:
        raise ConfigError(f'{label}; "auto" finds the lowest that does. The assembler says: {error}') from error
    if not is_equal:
        raise ConfigError(f'{label}: it changes the machine code; "auto" finds the lowest that does not.')
    return ptx_text.set_version(text, version)


def _too_low(version: Version, arch: str, needed: PtxNeeds) -> str:
    """Return the reason why a PTX text cannot declare the PTX ISA version `version`, which is lower than the
    compiler's. Return "" if it can. `arch` is the text's target ("90a"). `needed` is what the words of the text
    need."""
    first = FIRST_PTX_ISA.get(arch)
    if first is None:
        return f'cuda-wheel does not know which version compute_{arch} needs; "as-compiled" keeps the compiler\'s.'
    if version < max(first, OLDEST):
        return f'the lowest for this target is {first[0]}.{first[1]}; "auto" finds the lowest that suits.'
    if needed.unknown:
        return (
            f"cuda-wheel does not know which version `{needed.unknown}` needs, and assemblers of some releases accept "
            'more than their version allows; "as-compiled" keeps the compiler\'s.'
        )
    if version < needed.version:
        return (
            f"`{needed.word}` needs {needed.version[0]}.{needed.version[1]}; "
            f'"auto" finds the lowest version that suits.'
        )
    return ""
