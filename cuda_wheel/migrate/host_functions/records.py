"""Translate structs of the project: as ctypes structures where a kernel can take them, else as dataclasses."""

from __future__ import annotations

import ast
import ctypes
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuda_wheel.migrate.host_functions.calls import is_default
from cuda_wheel.migrate.host_functions.copies import without_casts
from cuda_wheel.migrate.host_functions.cxx_types import (
    float_bits,
    integer_bounds,
    is_number,
    plain,
    pointee,
    template_arguments,
    template_name,
)
from cuda_wheel.migrate.host_functions.expressions import COMPARISONS, callee_of, is_tensor, operands, peeled
from cuda_wheel.migrate.host_functions.functions import (
    _STREAMS,
    FunctionTranslator,
    Translated,
    python_name,
)
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node, Record, RecordField, SourceTree
from cuda_wheel.migrate.host_functions.python_code import attribute, call, constant, name, repeated
from cuda_wheel.migrate.host_functions.values import (
    Options,
    Pointer,
    Untranslated,
    Value,
    Variable,
    bounded,
    converted,
    rounded,
    zero_of,
)

__all__ = ["PythonClass", "RecordTable", "RecordTranslator"]

_ARRAYS = ("std::array", "cuda::std::array", "at::detail::Array")
_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1234])")
"""Vector types of CUDA, such as float4."""


@dataclass(frozen=True)
class PythonClass:
    """The class that stands for a struct in Python."""

    name: str
    record: Record
    structure: type[ctypes.Structure] | None
    """The ctypes structure of the same layout; None for a struct that only the host uses, which is a dataclass."""
    base: PythonClass | None
    lines: tuple[str, ...]
    """Definition of the class in Python."""
    needs: tuple[str, ...] = ()
    """Names of the classes that the definition needs."""

    @property
    def is_empty(self) -> bool:
        """Whether the struct has no members, as most function objects. It has no class: it is `bytes(1)`."""
        return not self.lines

    def fields(self) -> Iterator[RecordField]:
        """Yield the members, those of base classes first."""
        if self.base is not None:
            yield from self.base.fields()
        yield from self.record.fields


@dataclass(frozen=True)
class _Plain:
    """A C++ type that ctypes has."""

    written: str
    type: Any
    needs: tuple[str, ...] = ()


class RecordTable:
    """The structs that the Python module of an extension defines."""

    def __init__(self) -> None:
        self._classes: dict[tuple[str, str, int], PythonClass] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self._classes.values())

    def class_of(self, record: Record, source: SourceTree, taken: Callable[[], Sequence[str]]) -> PythonClass:
        """Return the class of a struct. `taken` returns the names that the module has already.

        Raises Untranslated for a struct that has no counterpart in Python.
        """
        key = (record.file, record.name, record.line)
        if key not in self._classes:
            made = self._made(record, source, taken)
            self._classes[key] = made  # behind those that it needs
        return self._classes[key]

    def text(self, used: set[str]) -> list[str]:
        """Return the definitions of the classes whose names are used, and of those that these need."""
        wanted = set(used)
        shown: list[PythonClass] = []
        for each in reversed(self._classes.values()):
            if each.name in wanted and not each.is_empty:
                wanted.update(each.needs)
                shown.insert(0, each)
        return [line for each in shown for line in ("", "", *each.lines)]

    def _made(self, record: Record, source: SourceTree, taken: Callable[[], Sequence[str]]) -> PythonClass:
        if record.kind not in ("STRUCT_DECL", "CLASS_DECL"):
            raise Untranslated(f"the union {record.name}")
        of_field = next((each for each in record.fields if each.is_bit_field or not each.name), None)
        if of_field is not None:
            reason = "which is a bit-field" if of_field.is_bit_field else "which has no name"
            raise Untranslated(f"the struct {record.name} with the member {of_field.name or 'struct'}, {reason}")
        base = self._base(record, source, taken)
        if base is None and not record.fields:
            if record.size != 1:
                raise Untranslated(f"the struct {record.name}, which has virtual functions or no known size")
            return PythonClass("", record, None, None, ())
        family, arguments = template_name(record.name), template_arguments(record.name)
        given = "_".join([family.rpartition("::")[2], *arguments])
        short = re.sub(r"[^A-Za-z0-9_]+", "_", given).strip("_")
        parts = [self._plain(each.type, source, taken) for each in record.fields]
        made = python_name(short, tuple(taken()))
        plain_parts = [each for each in parts if each is not None]
        if len(plain_parts) == len(parts) and (base is None or base.structure is not None):
            return _structure(made, record, base, plain_parts)
        return self._dataclass(made, record, base, source, taken)

    def _base(self, record: Record, source: SourceTree, taken: Callable[[], Sequence[str]]) -> PythonClass | None:
        found = []
        for each in record.bases:
            described = source.records.get(each)
            if described is None:
                raise Untranslated(f"the struct {record.name}, whose base class {each} is not the project's")
            made = self.class_of(described, source, taken)
            found += [made] if not made.is_empty else []
        if len(found) > 1:
            raise Untranslated(f"the struct {record.name}, which has several base classes")
        return found[0] if found else None

    def _plain(self, type_: str, source: SourceTree, taken: Callable[[], Sequence[str]]) -> _Plain | None:
        """Return the ctypes type of a C++ type; None if it has none."""
        type_ = plain(type_)
        dimensions = re.fullmatch(r"(.*?)\s*((?:\[\d+\])+)", type_)
        if dimensions:
            return _repeated(self._plain(dimensions[1], source, taken), re.findall(r"\d+", dimensions[2]))
        if _is_pointer(type_):
            return _Plain("ctypes.c_void_p", ctypes.c_void_p)
        bounds = integer_bounds(type_)
        if type_ == "bool":
            return _Plain("ctypes.c_bool", ctypes.c_bool)
        if bounds:
            word = f"c_{'u' if bounds[0] == 0 else ''}int{(bounds[1] - bounds[0]).bit_length()}"
            return _Plain(f"ctypes.{word}", getattr(ctypes, word))
        if float_bits(type_):
            word = {32: "c_float", 64: "c_double"}[float_bits(type_) or 64]
            return _Plain(f"ctypes.{word}", getattr(ctypes, word))
        vector = _VECTOR.fullmatch(type_)
        if vector:
            element = {"longlong": "long long"}.get(vector[2], vector[2])
            element = (
                f"{'unsigned ' if vector[1] else ''}{element}" if vector[1] or element != "char" else "signed char"
            )
            return _repeated(self._plain(element, source, taken), [vector[3]])
        if template_name(type_) in _ARRAYS:
            element, number = template_arguments(type_)
            count = re.match(r"\d+", number)
            return _repeated(self._plain(element, source, taken), [count[0]]) if count and int(count[0]) else None
        record = source.records.get(type_)
        if record is None:
            return None
        if record.kind == "ENUM_DECL":
            return self._plain(record.underlying, source, taken)
        made = self.class_of(record, source, taken)
        return _Plain(made.name, made.structure, (made.name,)) if made.structure is not None else None

    def _dataclass(
        self,
        made: str,
        record: Record,
        base: PythonClass | None,
        source: SourceTree,
        taken: Callable[[], Sequence[str]],
    ) -> PythonClass:
        if base is not None and base.structure is not None:
            raise Untranslated(f"the struct {record.name} with its base class {base.record.name}")
        lines, needs = [], [base.name] if base else []
        for each in record.fields:
            type_ = plain(each.type)
            if type_ in _STREAMS:
                continue  # always the current stream
            nested = source.records.get(type_)
            family = template_name(type_)
            if nested is not None and nested.kind != "ENUM_DECL":
                inner = self.class_of(nested, source, taken)
                value = f"dataclasses.field(default_factory={inner.name})" if not inner.is_empty else "bytes(1)"
                needs += [inner.name] if not inner.is_empty else []
                kind = inner.name or "bytes"
            elif type_ == "bool":
                kind, value = "bool", "False"
            elif integer_bounds(type_) or nested is not None:
                kind, value = "int", "0"
            elif float_bits(type_):
                kind, value = "float", "0.0"
            elif is_tensor(type_):
                kind, value = "Tensor | None", "None"
            elif family == "std::vector":
                kind, value = "list", "dataclasses.field(default_factory=list)"
            elif family == "std::basic_string":
                kind, value = "str", '""'
            elif (
                type_ in ("c10::ScalarType", "c10::Device")
                or family in ("std::optional", "std::tuple", "std::pair")
                or _is_pointer(type_)
            ):
                kind, value = "object", "None"
            else:
                raise Untranslated(f"the struct {record.name} with the member {each.name} of type {type_}")
            lines.append(f"    {field_name(each.name)}: {kind} = {value}")
        head = f"class {made}({base.name}):" if base else f"class {made}:"
        text = ["@dataclasses.dataclass", head, f'    """`{record.name}` of the C++ code."""', "", *lines]
        return PythonClass(made, record, None, base, tuple(text), tuple(needs))


def _structure(made: str, record: Record, base: PythonClass | None, parts: Sequence[_Plain]) -> PythonClass:
    names = [field_name(each.name) for each in record.fields]
    pairs = list(zip(names, (each.type for each in parts), strict=True))
    parent = base.structure if base and base.structure else ctypes.Structure
    structure = type(made, (parent,), {"_fields_": pairs} if pairs else {})
    for given, each in zip(names, record.fields, strict=True):
        if getattr(structure, given).offset * 8 != each.offset:
            raise Untranslated(
                f"the struct {record.name}, whose member {each.name} is at bit {each.offset}, where ctypes has it not"
            )
    if ctypes.sizeof(structure) != record.size:
        raise Untranslated(
            f"the struct {record.name}, which has {record.size} bytes, and in ctypes {ctypes.sizeof(structure)}"
        )
    lines = [
        f"class {made}({base.name if base else 'ctypes.Structure'}):",
        f'    """`{record.name}` of the C++ code."""',
    ]
    if pairs:
        lines += ["", "    _fields_ = ["]
        lines += [f'        ("{given}", {each.written}),' for given, each in zip(names, parts, strict=True)]
        lines += ["    ]"]
    needs = [one for each in parts for one in each.needs] + ([base.name] if base else [])
    return PythonClass(made, record, structure, base, tuple(lines), tuple(needs))


def _repeated(of: _Plain | None, counts: Sequence[str]) -> _Plain | None:
    """Return an array; the count of the outermost dimension comes first."""
    for each in reversed(counts):
        if of is None:
            return None
        of = _Plain(f"{of.written} * {each}", of.type * int(each), of.needs)
    return of


def _is_pointer(type_: str) -> bool:
    return "(" not in type_ and type_.removesuffix("__restrict").strip().endswith("*")


def field_name(given: str) -> str:
    """Return the name of a member in Python: that of C++, with an underscore behind Python's keywords and behind names
    that the definition of the class uses."""
    return f"{given}_" if keyword.iskeyword(given) or given in _USED else given


_USED = ("list", "int", "float", "bool", "str", "object", "bytes", "ctypes", "dataclasses", "Tensor")


class RecordTranslator(FunctionTranslator):
    """Translates a function that may use structs of the project, or that is a method or a constructor of one.

    Two values carry notes: `Value.data` is "record address" for the address of a struct on the host, whose tree is the
    struct itself, and "derived" for a struct that is used as its base class. The tree of a copy has the attribute
    `copy_of`, the tree of the original: who only reads the copy takes that.
    """

    def __init__(self, module: Any, source: SourceTree, declared: Declaration, lines: Sequence[str]) -> None:
        super().__init__(module, source, declared, lines)
        self.names.update(("ctypes", "dataclasses"))
        self._this = ""
        """C++ type of `*this`; "" outside methods."""

    # --- the function -----------------------------------------------------------------------------------

    def translate(self) -> Translated:
        is_constructor = self.declared.kind == "CONSTRUCTOR"
        if is_constructor or (self.declared.kind == "CXX_METHOD" and not self.declared.is_static):
            self._this = self._class_name()
            self.names.add("self")
        made = super().translate()
        assert self.declared.body is not None
        changed = changed_in(self.declared.body, self.source)
        copies: list[ast.stmt] = []
        for each in self.declared.body.children:
            if each.kind == "PARM_DECL" and each.target in changed and not each.type.endswith("&"):
                known = self.class_of(each.type)
                if known is not None:
                    parameter = self.variables[each.target].name
                    copies.append(ast.Assign([name(parameter)], self._record_copy(known, name(parameter))))
        made.body[:0] = copies
        if is_constructor:
            self._complete_constructor(made, self.declared.body)
        elif self._this:
            made.parameters.insert(0, ("self", ""))
        return made

    def _class_name(self) -> str:
        of = self.declared.qualified.rpartition("::")[0]
        found = [each for each in self.source.records if each.replace("(anonymous namespace)::", "") == of]
        if len(found) != 1:
            raise Untranslated(f"a method of {of}, which is a template or not known")
        return found[0]

    def _complete_constructor(self, made: Translated, definition: Node) -> None:
        known = self.class_of(self._this)
        if known is None or any(each.kind == "RETURN_STMT" for each in definition.walk()):
            raise Untranslated(f"the constructor {self.declared.qualified}")
        before: list[ast.stmt] = []
        initialized = []
        parts = [
            each
            for each in definition.children
            if each.kind not in ("PARM_DECL", "COMPOUND_STMT") and "ATTR" not in each.kind
        ]
        while parts:
            member = parts.pop(0)
            if member.kind != "MEMBER_REF" or not parts:
                raise Untranslated(f"{self.declared.qualified}, a constructor that calls another one", member.line)
            of_field = next((each for each in known.record.fields if each.name == member.name), None)
            if of_field is None:
                raise Untranslated(f"the constructor {self.declared.qualified}", member.line)
            while parts and parts[0].kind in ("TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF"):
                parts.pop(0)
            value = self.stored(self.value(parts.pop(0)), of_field.type, known)
            initialized.append(member.name)
            if value is not None:
                before.append(ast.Assign([attribute(name("self"), field_name(member.name))], value))
        start = ast.Assign([name("self")], self._default_made(known, initialized))
        made.body = [start, *before, *made.body, ast.Return(name("self"))]
        made.result = ""

    # --- classes ----------------------------------------------------------------------------------------

    def class_of(self, type_: str) -> PythonClass | None:
        """Return the class of a struct of the project; None for another type. Raises Untranslated."""
        record = self.source.records.get(plain(type_))
        if record is None or record.kind == "ENUM_DECL":
            return None
        found: PythonClass = self.module.record(record, self.source)
        if found.name and any(each.name == found.name for each in self.variables.values()):
            raise Untranslated(f"a variable with the name of the struct {record.name}")
        self.names.add(found.name)
        return found

    def is_record(self, type_: str) -> bool:
        record = self.source.records.get(plain(type_))
        return record is not None and record.kind != "ENUM_DECL"

    def _enum(self, type_: str) -> Record | None:
        record = self.source.records.get(plain(type_))
        return record if record is not None and record.kind == "ENUM_DECL" else None

    # --- objects ----------------------------------------------------------------------------------------

    def constructed(self, node: Node, declared: Declaration) -> Value:
        type_ = plain(node.type)
        given = [each for each in node.arguments if not is_default(each)]
        if self.is_record(type_):
            if len(given) == 1 and plain(given[0].type) == type_:
                is_move = bool(declared.parameters) and declared.parameters[0][1].endswith("&&")
                return self._copied(self.value(given[0]), type_, is_move)
            return self.own_object(node, declared, given)
        if template_name(type_) == "std::vector" and given and integer_bounds(given[0].type):
            element = template_arguments(type_)[0]
            if self.is_record(element):
                raise Untranslated(f"a container of {element} of a given length")
        return super().constructed(node, declared)

    def _copied(self, value: Value, type_: str, is_move: bool = False) -> Value:
        known = self.class_of(type_)
        assert known is not None
        if known.is_empty or (value.data != "derived" and (is_move or isinstance(value.tree, ast.Call))):
            return value
        tree = self._record_copy(known, value.tree)
        if value.data != "derived":
            tree.copy_of = value.tree  # type: ignore[attr-defined]
        return Value(tree, plain(type_))

    def _record_copy(self, known: PythonClass, tree: ast.expr) -> ast.expr:
        if known.is_empty:
            return tree
        if known.structure is not None:
            return call(f"{known.name}.from_buffer_copy", tree)
        for each in known.fields():
            if template_name(each.type) == "std::vector" or "[" in each.type or self.is_record(each.type):
                raise Untranslated(f"a copy of a {known.record.name}, which has the member {each.name}")
        return call("dataclasses.replace", tree)

    def own_object(self, node: Node, declared: Declaration, given: Sequence[Node]) -> Value:
        known = self.class_of(node.type)
        if known is None:
            return super().own_object(node, declared, given)
        return Value(self._record_made(known, node, declared), plain(node.type))

    def _record_made(self, known: PythonClass, node: Node, declared: Declaration) -> ast.expr:
        """Return the object that a constructor makes."""
        definition = self.module.definition(declared)
        if definition is None or definition.body is None:
            # libclang places what the compiler adds at the name of the class.
            if declared.parameters or declared.line != known.record.line:
                raise Untranslated(f"{declared.qualified}, a constructor that the sources do not define", node.line)
            return self._default_made(known)
        does_nothing = all(
            each.kind == "PARM_DECL" or "ATTR" in each.kind or (each.kind == "COMPOUND_STMT" and not each.children)
            for each in definition.body.children
        )
        if does_nothing:
            return self._default_made(known)
        if "<" in known.record.name:
            raise Untranslated(f"the constructor {declared.qualified}, of a template", node.line)
        given = self.with_defaults(node, definition)
        return self.own_call(given, declared).tree

    def _default_made(self, known: PythonClass, without: Sequence[str] = ()) -> ast.expr:
        """Return an object whose members have the values that their declarations say, except those in `without`."""
        if known.is_empty:
            return call("bytes", constant(1))
        return call(known.name, **self._defaults(known, without))

    def _defaults(self, known: PythonClass, without: Sequence[str]) -> dict[str, ast.expr]:
        found: dict[str, ast.expr] = {}
        for each in known.fields():
            if each.name in without:
                continue
            if each.default is not None:
                value = self.stored(self.value(each.default), each.type, known)
                if value is not None:
                    found[field_name(each.name)] = value
            elif self.is_record(each.type):
                inner = self.class_of(each.type)
                assert inner is not None
                if inner.is_empty:
                    continue
                values = self._defaults(inner, ())
                if values:
                    found[field_name(each.name)] = call(inner.name, **values)
            elif any(self.is_record(inner) for inner in re.findall(r"[\w:]+", each.type)) and "*" not in each.type:
                inner_name = next(inner for inner in re.findall(r"[\w:]+", each.type) if self.is_record(inner))
                inner = self.class_of(inner_name)
                if inner is not None and "[" in each.type and self._defaults(inner, ()):
                    raise Untranslated(f"an array of {inner_name}, whose members have initial values")
        return found

    def _init_list_expr(self, node: Node) -> Value:
        known = self.class_of(node.type)
        if known is None:
            return super()._init_list_expr(node)
        given = operands(node)
        fields = list(known.record.fields)
        if len(given) == 1 and plain(given[0].type) == plain(node.type):  # {other}
            return self.value(given[0])
        if given and known.base is not None:
            raise Untranslated(f"a list of values for {known.record.name}, which has a base class", node.line)
        if len(given) > len(fields):
            raise Untranslated(f"a list of more values than {known.record.name} has members", node.line)
        positional: list[ast.expr] = []
        keywords: dict[str, ast.expr] = {}
        done = []
        for number, each in enumerate(given):
            of_field = fields[number]
            designated = each.children[0] if each.children and each.children[0].kind == "MEMBER_REF" else None
            if designated is not None:
                if len(each.children) != 2:
                    raise Untranslated("a value for a member of a member", node.line)
                of_field = next(one for one in fields if one.name == designated.name)
                each = each.children[1]
            value = self.stored(self.value(each), of_field.type, known)
            done.append(of_field.name)
            if value is None:
                continue
            if designated is None and len(positional) == number:
                positional.append(value)
            else:
                keywords[field_name(of_field.name)] = value
        if known.is_empty:
            return Value(call("bytes", constant(1)), plain(node.type))
        return Value(call(known.name, *positional, **keywords, **self._defaults(known, done)), plain(node.type))

    def own_variable(self, node: Node, variable: Variable) -> list[ast.stmt]:
        type_ = plain(node.type)
        known = self.class_of(type_)
        if known is not None:
            first = self._initializer(node)
            maker = peeled(first) if first is not None else None
            declared = self.declaration(maker) if maker is not None else None
            if maker is None or declared is None:
                raise Untranslated(f"a variable of type {type_} without a constructor", node.line)
            return [ast.Assign([name(variable.name)], self._record_made(known, maker, declared))]
        if template_name(type_) in _ARRAYS:
            element, number = template_arguments(type_)
            count = re.match(r"\d+", number)
            if count and (is_number(element) or _is_pointer(element)):
                filler = constant(None) if _is_pointer(element) else zero_of(element)
                return [ast.Assign([name(variable.name)], repeated(filler, constant(int(count[0]))))]
        if self._enum(type_):
            return []
        return super().own_variable(node, variable)

    # --- members ----------------------------------------------------------------------------------------

    def _member_ref_expr(self, node: Node) -> Value:
        declared = self.declaration(node)
        if declared is not None and declared.kind == "VAR_DECL":  # static
            return self._decl_ref_expr(node)
        if not operands(node) and self._this:
            return self.member(node, Value(name("self"), self._this))
        return super()._member_ref_expr(node)

    def _cxx_this_expr(self, node: Node) -> Value:
        return Value(name("self"), plain(node.type), data="record address")

    def member(self, node: Node, owner: Value) -> Value:
        owner = self._pointed(owner)
        vector = _VECTOR.fullmatch(owner.type)
        if vector and node.name in "xyzw":
            part = ast.Subscript(owner.tree, constant("xyzw".index(node.name)), ast.Load())
            return self.typed(part, plain(node.type))
        known = self.class_of(owner.type)
        if known is None:
            return super().member(node, owner)
        type_ = plain(node.type)
        if type_ in _STREAMS:
            return Value(constant(None), type_, data="current stream")
        tree = attribute(owner.tree, field_name(node.name))
        if _is_pointer(type_):
            return self.pointer(Pointer(tree, pointee(type_) or "void", False, is_unknown=True), type_)
        enum = self._enum(type_)
        if enum is not None:
            return bounded(tree, enum.underlying).as_type(type_)
        if integer_bounds(type_):
            return bounded(tree, type_)
        return Value(tree, type_)

    def _pointed(self, owner: Value) -> Value:
        """Return the struct itself for a pointer to it."""
        inner = pointee(owner.type)
        if inner is not None and is_tensor(inner):
            return Value(owner.tree, inner)
        if inner is None or not self.is_record(inner):
            return owner
        if not isinstance(owner.data, Pointer):
            return Value(owner.tree, inner)
        if owner.data.offset is not None:
            raise Untranslated(f"an array of {inner} on the host")
        return Value(owner.data.tensor, inner)

    def dereferenced(self, value: Value, node: Node) -> Value:
        found = self._pointed(value)
        return found if found is not value else super().dereferenced(value, node)

    def address(self, node: Node) -> Value:
        inner = peeled(node)
        if inner.kind in ("DECL_REF_EXPR", "MEMBER_REF_EXPR") and self.is_record(inner.type):
            value = self.value(inner)
            return Value(value.tree, f"{plain(inner.type)} *", data="record address")
        if inner.kind == "DECL_REF_EXPR" and is_tensor(inner.type):
            return Value(self.value(inner).tree, f"{plain(inner.type)} *")
        return super().address(node)

    def conversion(self, value: Value, node: Node) -> Value:
        to = plain(node.type)
        if self.is_record(to) and self.is_record(value.type) and value.type != to:
            return Value(value.tree, to, data="derived")
        if pointee(to) is not None and value.data == "record address":
            return value
        return super().conversion(value, node)

    def stored(self, value: Value, type_: str, known: PythonClass) -> ast.expr | None:
        """Return a value as the member of a struct holds it; None for what is not held, a stream."""
        type_ = plain(type_)
        is_plain = known.structure is not None
        if type_ in _STREAMS:
            if value.data != "current stream":
                raise Untranslated("another stream than the current one")
            return None
        if _is_pointer(type_):
            return self._stored_pointer(value, is_plain)
        if isinstance(value.data, Options) or (isinstance(value.data, str) and value.data not in ("derived", "number")):
            raise Untranslated(f"a member of type {type_} that is a {value.type}")
        if is_number(type_):
            number = converted(value, type_)
            return number.tree if is_plain and type_ == "float" else rounded(number).tree  # ctypes rounds
        if self.is_record(type_):
            if value.type != type_:
                raise Untranslated(f"a member of type {type_} that is a {value.type}")
            original: ast.expr | None = getattr(value.tree, "copy_of", None)
            if is_plain:  # ctypes copies
                return original if original is not None and value.data != "derived" else value.tree
            return self._copied(value, type_).tree
        tree = rounded(value).tree
        if is_plain and isinstance(tree, (ast.List, ast.BinOp)) and ("[" in type_ or template_name(type_) in _ARRAYS):
            return ast.Tuple(tree.elts, ast.Load()) if isinstance(tree, ast.List) else call("tuple", tree)
        return tree

    def _stored_pointer(self, value: Value, is_plain: bool) -> ast.expr:
        data = value.data
        if isinstance(data, Pointer):
            return self.address_tree(value) if is_plain else value.tree
        if isinstance(value.tree, ast.Constant) and value.tree.value in (None, 0):
            return constant(None)
        if data is None and value.type.endswith("*") and not self.is_record(pointee(value.type) or ""):
            return value.tree
        raise Untranslated("the address of a variable in a struct")

    def assign(self, left: Node, right: Node) -> list[ast.stmt]:
        target = peeled(left)
        inner = peeled(right)
        if inner.kind == "BINARY_OPERATOR" and inner.operator == "=":
            return super().assign(left, right)
        if target.kind == "DECL_REF_EXPR" and self.is_record(target.type) and target.target in self.variables:
            variable = self.variables[target.target]
            value = self._copied(self.value(right), target.type)
            return [ast.Assign([name(variable.name)], value.tree)]
        if target.kind == "UNARY_OPERATOR" and target.operator == "*" and self.is_record(target.type):
            raise Untranslated("a struct that is assigned through a pointer", target.line)
        member = _member_below(target)
        if member is None or not self._is_member_of_record(member):
            return super().assign(left, right)
        owner = self._owner(member)
        if _VECTOR.fullmatch(owner.type):
            raise Untranslated(f"a part of a {owner.type} is assigned", target.line)
        known = self.class_of(owner.type)
        assert known is not None
        place = self.value(left)
        if isinstance(place.data, Pointer):
            place = replace(place, tree=place.data.tensor)
        tree = self.stored(self.value(right), plain(target.type), known)
        return [] if tree is None else [ast.Assign([place.tree], tree)]

    def _is_member_of_record(self, node: Node) -> bool:
        inner = operands(node)
        type_ = inner[-1].type if inner else self._this
        type_ = pointee(type_) or plain(type_)
        return self.is_record(type_)

    def _owner(self, node: Node) -> Value:
        inner = operands(node)
        return self._pointed(self.value(inner[-1])) if inner else Value(name("self"), self._this)

    # --- functions --------------------------------------------------------------------------------------

    def passed(self, value: Value, type_: str) -> ast.expr:
        original = getattr(value.tree, "copy_of", None)  # who changes its parameter copies it
        return original if original is not None else super().passed(value, type_)

    def own_method(self, node: Node, declared: Declaration, owner: Node | None) -> Value:
        if declared.is_static:
            return super().own_method(node, declared, owner)
        value = self._pointed(self.value(owner)) if owner is not None else Value(name("self"), self._this)
        known = self.class_of(value.type)
        if known is None or known.is_empty or "<" in value.type:
            return super().own_method(node, declared, owner)
        definition = self.module.definition(declared)
        called = self.own_call(self.with_defaults(node, definition) if definition is not None else node, declared)
        assert isinstance(called.tree, ast.Call)
        called.tree.args.insert(called.tree.template_count, value.tree)  # type: ignore[attr-defined]
        return called

    def _list_method(self, node: Node, owner: Value, method: str) -> Value:
        given = [each for each in node.arguments if not is_default(each)]
        if method in ("push_back", "emplace_back") and len(given) == 1 and self.is_record(given[0].type):
            is_move = peeled(given[0]).name == "move"
            value = self._copied(self.value(given[0]), given[0].type, is_move)
            return Value(call(attribute(owner.tree, "append"), value.tree), "void")
        return super()._list_method(node, owner, method)

    def function_memset(self, node: Node) -> Value:
        inner = without_casts(node.arguments[0])
        below = pointee(inner.type) or ""
        if not self.is_record(below):
            return super().function_memset(node)
        pointer, byte, size = (self.value(each) for each in node.arguments[:3])
        known = self.class_of(below)
        if known is None or (isinstance(pointer.data, Pointer) and pointer.data.offset is not None):
            raise Untranslated("memset of what is no struct")
        tree = self._pointed(pointer).tree
        is_whole = size.low == size.high == known.record.size and byte.low == byte.high == 0
        if known.structure is None or not is_whole:
            raise Untranslated(f"memset of a part of {known.record.name}, or of a struct that is no plain data")
        address, length = call("ctypes.byref", tree), call("ctypes.sizeof", tree)
        return Value(call("ctypes.memset", address, constant(0), length), "void")

    function_std_memset = function_memset

    # --- launches ---------------------------------------------------------------------------------------

    def kernel_argument(self, node: Node, type_: str) -> ast.expr:
        below = pointee(node.type)
        if below is not None and self.is_record(below):
            value = self.value(node)
            if value.data == "record address" or (value.data is None and value.type.endswith("*")):
                raise Untranslated(f"the address of a {below} of the host for a kernel", node.line)
        return super().kernel_argument(node, type_)

    def struct_argument(self, node: Node, value: Value, to: str) -> ast.expr:
        known = self.class_of(to)
        if known is not None and value.type == to:
            if value.data == "derived":
                return self._record_copy(known, value.tree)
            if known.structure is None and not known.is_empty:
                raise Untranslated(f"the struct {known.record.name} for a kernel, which is no plain data")
            original: ast.expr | None = getattr(value.tree, "copy_of", None)
            return original if original is not None else value.tree
        if to == "dim3" == value.type:
            is_whole = isinstance(value.tree, ast.Tuple) and len(value.tree.elts) == 3
            return value.tree if is_whole else call("dim3", value.tree)
        is_library = _VECTOR.fullmatch(to) or template_name(to) in _ARRAYS or template_name(to) == "c10::complex"
        if (is_library or self._enum(to)) and value.type == to and value.data is None:
            return value.tree
        return super().struct_argument(node, value, to)

    def function_call(self, node: Node, declared: Declaration) -> Value:
        made = re.fullmatch(r"make_(.*)", declared.qualified)
        if made and _VECTOR.fullmatch(made[1]) and plain(node.type) == made[1]:
            values = [
                rounded(converted(self.value(each), declared.parameters[number][1])).tree
                for number, each in enumerate(node.arguments)
            ]
            return Value(ast.Tuple(values, ast.Load()), made[1])
        return super().function_call(node, declared)


# --- what a piece of code changes -----------------------------------------------------------------------


def changed_in(node: Node, source: SourceTree) -> set[int]:
    """Return the keys of the variables that code changes, or whose members it changes."""
    found: set[int] = set()
    for each in node.walk_all():
        if each.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            if each.operator.endswith("=") and each.operator not in COMPARISONS:
                found |= _root(operands(each)[0])
        elif each.kind == "UNARY_OPERATOR" and each.operator in ("++", "--", "p++", "p--", "&"):
            found |= _root(operands(each)[-1])
        elif each.kind == "CALL_EXPR":
            declared = source.declarations.get(each.target)
            callee = callee_of(each)
            is_const = declared is not None and re.search(r"\) const\b", declared.type)
            if callee is not None and callee.kind == "MEMBER_REF_EXPR" and operands(callee) and not is_const:
                found |= _root(operands(callee)[0])
            operator = each.name.removeprefix("operator")
            if operator != each.name and operator.endswith("=") and operator not in COMPARISONS and each.arguments:
                found |= _root(each.arguments[0])
            for (_, type_), argument in zip(declared.parameters if declared else (), each.arguments, strict=False):
                if type_.endswith("&") and not type_.startswith("const "):
                    found |= _root(argument)
    return found


def _root(node: Node) -> set[int]:
    """Return the key of the variable that an expression is, or is a part of."""
    while True:
        node = peeled(node)
        if node.kind == "DECL_REF_EXPR":
            return {node.target}
        if node.kind in ("MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR") and operands(node):
            node = operands(node)[0]
        elif node.kind == "CALL_EXPR" and node.name == "operator[]" and node.arguments:
            node = node.arguments[0]
        else:
            return set()


def _member_below(node: Node) -> Node | None:
    """Return the member whose value, or an element of whose value, an expression is."""
    while True:
        node = peeled(node)
        if node.kind == "MEMBER_REF_EXPR":
            return node
        if node.kind == "ARRAY_SUBSCRIPT_EXPR":
            node = operands(node)[0]
        elif node.kind == "CALL_EXPR" and node.name == "operator[]" and node.arguments:
            node = node.arguments[0]
        else:
            return None
