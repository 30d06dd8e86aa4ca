"""PTX instructions to try on assemblers: every form of the table of PTX ISA versions, with operands that fit."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterable, Iterator

from cuda_wheel.builder.images.ptx_requirements import ptx_table, slot_alternatives

__all__ = ["DECLARATIONS", "operands", "table_instructions", "unproven_alternatives"]

DECLARATIONS = """\
.reg .pred p, q;
.reg .b8 b;
.reg .b16 h, h0, h1, h2, h3;
.reg .b32 r, r0, r1, r2, r3;
.reg .b64 d, d0, d1, d2;
.reg .b128 x, x0;
"""
"""PTX declarations of registers and variables, one on each line, because an older assembler refuses some of the
lines."""

_BYTE = {"e2m1x2"}
_HALF = {"f16", "bf16", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2", "s2f6x2", "e2m1x4", "e4m3", "e5m2"}
_TYPE = re.compile(r"(?:[busf](\d+)|tf32|bf16|ue8m0x2|s2f6x2|e\dm\d)(?:x(\d))?|pred")


def table_instructions(samples: int) -> list[str]:
    """Return instructions of every form in the table: each alternative at least once, and `samples` random
    combinations."""
    chance = random.Random(0)
    found: dict[str, None] = {}
    for form in ptx_table()["forms"]:
        _, opcodes, *slots = form.split()
        for opcode in opcodes.split(","):
            found |= dict.fromkeys(opcode + "".join(each) for each in _combinations(slots, samples, chance))
    return list(found)


def unproven_alternatives(accepted: Iterable[str]) -> Iterator[str]:
    """Yield a description of each alternative of a form that none of the accepted instructions has."""
    by_opcode: dict[str, list[str]] = {}
    for each in accepted:
        by_opcode.setdefault(each.partition(".")[0], []).append(each)
    for form in ptx_table()["forms"]:
        _, opcodes, *slots = form.split()
        names = [[name for name, _ in slot_alternatives(slot)] for slot in slots]
        groups = ["(" + "|".join(map(re.escape, each)) + ")" for each in names]
        pattern = "".join(group + "?" * slot.startswith("[") for group, slot in zip(groups, slots, strict=True))
        for opcode in opcodes.split(","):
            matches = [each for text in by_opcode.get(opcode, ()) if (each := re.fullmatch(opcode + pattern, text))]
            if not matches:
                yield form
            for position, each in enumerate(names, 1):
                if missing := set(each) - {match[position] for match in matches}:
                    yield f"{' '.join(sorted(missing))} of {opcode} in: {form}"


def _combinations(slots: list[str], samples: int, chance: random.Random) -> Iterator[tuple[str, ...]]:
    choices = [[name for name, _ in slot_alternatives(slot)] for slot in slots]
    least = [[""] if slot.startswith("[") else names[:1] for slot, names in zip(slots, choices, strict=True)]
    for position, names in enumerate(choices):
        for name in names:
            yield tuple(name if at == position else each[0] for at, each in enumerate(least))
    if not slots:
        yield ()
    full = [names + [""] * slot.startswith("[") for slot, names in zip(slots, choices, strict=True)]
    for _ in range(samples * len(slots)):
        yield tuple(chance.choice(names) for names in full)


def _register(type_: str) -> str:
    """Return the name of a register of `DECLARATIONS` for a PTX type, such as "d" for "u64"."""
    if type_ in _BYTE:
        return "b"
    if type_ in _HALF:
        return "h"
    match = _TYPE.fullmatch(type_)
    if type_ == "pred" or match is None:
        return "p"
    bits = int(match[1] or {"tf32": 32}.get(type_, 16 if type_.startswith("bf16") else 8)) * int(match[2] or 1)
    return {8: "h", 16: "h", 32: "r", 64: "d", 128: "x"}.get(bits, "r")


def _vector(register: str, count: int) -> str:
    return "{" + ", ".join([register] * count) + "}"


_SIMPLE = {
    "T, T, T / U, T, U": "add sub mul div rem min max and or xor addc subc mul24 copysign",
    "T, T, T, T / W, T, T, W / U, T, T, U": "mad fma sad madc mad24",
    "W, T, T": "mul",
    "T, T, T, T ": "min max",
    "T, T / r, T / h, T": "abs neg rcp sqrt rsqrt sin cos lg2 ex2 tanh not cnot mov bfind popc clz brev",
    "T, T, r": "shl shr",
    "r, r, r, r": "shf prmt fns dp4a dp2a vadd vsub vabsdiff vmin vmax vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 "
    "vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset2 vset4",
    "r, r, r": "szext bmsk vadd vsub vabsdiff vmin vmax vset redux",
    "T, T, r, r": "bfe",
    "T, T, T, r, r": "bfi",
    "p, T": "testp",
    "r, r, r, r, 0x1f / r|p, r, r, r, 0x1f, q": "lop3",
    "U, T, T / U, T, T, q": "set",
    "p, T, T / p|q, T, T / p, T, T, q / p|q, T, T, q": "setp",
    "T, T, T, p": "selp",
    "U, U, U, T": "slct",
    "U, T / U, T, T / U, T, T, r / U, {r, r, r, r}, r / r, r, r / r, r, r, r / U, T, h / U, T, T, h": "cvt",
    "T, T ": "cvta",
    "p, d": "isspacep",
    "T, T, r ": "mapa",
    "r, T": "getctarank",
    "[d]": "prefetch prefetchu",
    "[d], 128": "applypriority discard",
    "d / d, [d0], r, r0 / d, d0": "createpolicy",
    "0 / 0, 64 / r, 0, p / p, 0, q / 0xffffffff / ": "bar barrier",
    " / [d], 128": "fence membar griddepcontrol",
    "r, r0, r1, r2, -1": "shfl",
    "p, q, -1 / r, q, -1": "vote",
    "r, T, -1 / r|p, T, -1": "match",
    "r": "activemask nanosleep",
    "r|p, -1": "elect",
    "r, r0": "movmatrix",
    "128": "setmaxnreg",
    "L": "bra",
    "f": "call",
    "": "ret exit trap brkpt",
    "r, B": "brx",
    "1": "pmevent",
    "T": "stacksave stackrestore",
    "T, T, 16": "alloca",
    "r, [d]": "txq suq",
}
"""Operands, with alternatives separated by "/" -> opcodes that they are for. T and U are registers of the last and the
first type of an instruction; W is twice as wide as T."""


def operands(instruction: str) -> list[str]:
    """Return texts of operands to try with an instruction, of which at least one should be valid."""
    opcode, *modifiers = instruction.split(".")
    types = [each for each in modifiers if _TYPE.fullmatch(each)] or ["b32"]
    registers = {"T": _register(types[-1]), "U": _register(types[0])}
    registers["W"] = {"h": "r", "r": "d"}.get(registers["T"], "d")
    found = []
    for text, opcodes in _SIMPLE.items():
        if opcode in opcodes.split():
            for each in text.split("/"):
                found.append(re.sub(r"\b[TUW]\b", lambda match: registers[match[0]], each.strip()))
    found += _MAKERS[opcode](instruction, modifiers, registers["T"]) if opcode in _MAKERS else []
    return list(dict.fromkeys(found))


def _vectors(modifiers: list[str], register: str) -> list[str]:
    count = next((int(each[1:]) for each in modifiers if re.fullmatch(r"v\d+", each)), 1)
    registers = [register] + ["b", "h", "r"] * ("e4m3" in modifiers or "e5m2" in modifiers)
    return [_vector(each, count) if count > 1 else each for each in registers]


def _memory(instruction: str, modifiers: list[str], register: str) -> list[str]:
    opcode = instruction.partition(".")[0]
    hint = ", d1" if "L2::cache_hint" in modifiers else ""
    found = []
    for value in _vectors(modifiers, register):
        if opcode in ("ld", "ldu"):
            found += [f"{value}, [{address}]{hint}" for address in ("d0", "K", "V")]
        elif "async" in modifiers:
            found += [f"[d0], {value}"] if "release" in modifiers else [f"[r0], {value}, [r1]", f"[d0], {value}, [d1]"]
        elif "bulk" in modifiers:
            found += ["[d0], d1, 0", "[r0], d1, 0"]
        elif opcode in ("st", "red"):
            found += [f"[{address}], {value}{hint}" for address in ("d0", "V")]
        else:
            found += [f"{value}, [d0], {value}{hint}", f"{value}, [d0], {value}, {value}{hint}"]
    return found


def _copy(instruction: str, modifiers: list[str], register: str) -> list[str]:
    hint = ", d1" if "L2::cache_hint" in modifiers else ""
    if "bulk" not in modifiers:
        return ["[r0]", "", "0", f"[r0], [d0], 16{hint}", "[d0]"]
    many = ", h" if "multicast::cluster" in modifiers else ""
    if "tensor" not in modifiers:
        mask = ", h" if "cp_mask" in modifiers else ""
        ends = [
            f"[r0], [d0], r1, [r2]{many}{hint}",
            "[r0], [r1], r2, [r3]",
            f"[d0], [r0], r1{hint}{mask}",
            f"[d0], r1{hint}",
        ]
        return ["", "0", *ends]
    found = []
    dim = int(next(each for each in modifiers if re.fullmatch(r"\dd", each))[0])
    for coordinates, offsets in itertools.product({dim, 5}, {0, 2, max(dim - 2, 0)}):
        place = f"[d0, {_vector('r', coordinates)}]"
        offset = f", {_vector('h', offsets)}" if offsets else ""
        found += [f"[r0], {place}, [r2]{offset}{many}{hint}", f"{place}, [r0]{hint}", f"{place}{offset}{hint}"]
    return sorted(found)


def _barrier(instruction: str, modifiers: list[str], register: str) -> list[str]:
    return [
        text.replace("@", address)
        for address in ("r0", "d0")
        for text in (
            "[@], r1",
            "[@]",
            "d, [@]",
            "_, [@]",
            "d, [@], r1",
            "_, [@], r1",
            "p, [@], d0",
            "p, [@], r1",
            "r, d",
        )
    ]


def _matrix(instruction: str, modifiers: list[str], register: str) -> list[str]:
    value = "d" if "f64" in modifiers else "r"
    counts = (1, 2, 4, 8)
    if {"load", "store"} & set(modifiers):
        return [text.replace("@", _vector(value, n)) for n in counts for text in ("@, [d0], r0", "[d0], @, r0")]
    behind = ", r, 0" * any(each.startswith("sp") for each in modifiers)
    behind += ", r, {h, h}, r, {h, h}" * ("block_scale" in modifiers)
    shapes = [[_vector(value, n) for n in each] for each in itertools.product(counts, counts, counts)]
    if "wmma" in instruction:
        shapes += [
            [_vector("r", n), _vector("r", a), _vector("r", a), _vector("r", c)]
            for n in (4, 8)
            for c in (4, 8)
            for a in (8,)
        ]
    texts = [f"{d}, {a}, {b}, {d}{behind}" for d, a, b in (each for each in shapes if len(each) == 3)]
    texts += [f"{d}, {a}, {b}, {c}" for d, a, b, c in (each for each in shapes if len(each) == 4)]
    mixed = [(d, c) for d in (2, 4, 8) for c in (2, 4, 8) if d != c]
    return texts + [
        f"{_vector(value, d)}, {_vector(value, 2)}, {_vector(value, 2)}, {_vector(value, c)}" for d, c in mixed
    ]


def _matrix_copy(instruction: str, modifiers: list[str], register: str) -> list[str]:
    return [
        text.replace("@", _vector("r", n)) for n in (1, 2, 4) for text in ("@, [r0]", "[r0], @", "@, [d0]", "[d0], @")
    ]


def _warp_group(instruction: str, modifiers: list[str], register: str) -> list[str]:
    if "mma_async" not in modifiers:
        return ["", "0"]
    n = int(re.findall(r"m64n(\d+)k", instruction)[0])
    sparse = ", r, 0" if "sp" in modifiers else ""
    return [
        f"{_vector('r', count)}, d0, d1{sparse}, p{ending}"
        for count in (n // 2, n // 4)
        for ending in ("", ", 1, 1", ", 1, 1, 0, 0")
    ]


def _tensor_core(instruction: str, modifiers: list[str], register: str) -> list[str]:
    times = next((int(each[1:]) for each in modifiers if re.fullmatch(r"x\d+", each)), 1)
    vectors = [_vector("r", times * each) for each in (1, 2, 4)]
    if "commit" in modifiers:
        mask = ", h" if "multicast::cluster" in modifiers else ""
        return [f"[r0]{mask}", f"[d0]{mask}"]
    found = ["", "[r0], 32", "r0, 32", "[r0]", "[r0], d0", "[d0], 32"]
    for vector in vectors:
        found += [f"{vector}, [r0]", f"{vector}, [r0], 1", f"[r0], {vector}", f"[r0], 1, {vector}"]
    sparse = "[r3], " if "sp" in modifiers else ""
    scales = "[r1], [r2], " if "block_scale" in modifiers else ""
    return found + [f"[r0], {a}, d1, {sparse}r1, {scales}p" for a in ("d0", "[r2]")]


def _cancel(instruction: str, modifiers: list[str], register: str) -> list[str]:
    return ["[r0], [r1]", "[d0], [d1]", "p, x", "{r, r0, r1, r2}, x", "r, x"]


def _multimem(instruction: str, modifiers: list[str], register: str) -> list[str]:
    if "cp" in modifiers:
        return ["[d0], [r0], r1", "[d0], [r0], r1, h"]
    return [text.replace("@", value) for value in _vectors(modifiers, register) for text in ("@, [d0]", "[d0], @")]


def _tensor_map(instruction: str, modifiers: list[str], register: str) -> list[str]:
    return [f"[d0], {register}", f"[d0], 0, {register}", "[d0], 0", "[d0], [r0], 128"]


def _texture(instruction: str, modifiers: list[str], register: str) -> list[str]:
    value = "r" if "f16" not in modifiers else "h"
    vector = next((int(each[1:]) for each in modifiers if re.fullmatch(r"v\d", each)), 1)
    result = _vector(value, vector)
    places = [f"[d0, {_vector('r', n)}]" for n in (1, 2, 4)]
    endings = ["", ", r", *(f", {_vector('r', n)}, {_vector('r', n)}" for n in (2, 4)), ", {r}, {r}"]
    return [f"{result}, {place}{ending}" for place in places for ending in endings]


def _surface(instruction: str, modifiers: list[str], register: str) -> list[str]:
    found = []
    for value in _vectors(modifiers, register):
        for n in (1, 2, 4):
            place = f"[d0, {_vector('r', n)}]"
            found += [
                f"{value}, {place}",
                f"{place}, {value}",
                f"{_vector(value, 1)}, {place}",
                f"{place}, {_vector(value, 1)}",
            ]
    return found


_MAKERS = {
    **dict.fromkeys(("ld", "ldu", "st", "atom", "red"), _memory),
    "cp": _copy,
    "mbarrier": _barrier,
    **dict.fromkeys(("mma", "wmma"), _matrix),
    **dict.fromkeys(("ldmatrix", "stmatrix"), _matrix_copy),
    "wgmma": _warp_group,
    "tcgen05": _tensor_core,
    "clusterlaunchcontrol": _cancel,
    "multimem": _multimem,
    "tensormap": _tensor_map,
    **dict.fromkeys(("tex", "tld4"), _texture),
    **dict.fromkeys(("suld", "sust"), _surface),
}
