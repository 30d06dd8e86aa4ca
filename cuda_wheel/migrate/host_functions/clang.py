"""Read a source file of a PyTorch extension with libclang, and return its host code as a `SourceTree`."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda_wheel.builder.errors import ToolchainError
from cuda_wheel.builder.scratch import scratch
from cuda_wheel.migrate.host_functions.nodes import (
    Comment,
    Declaration,
    Node,
    Record,
    RecordField,
    SourceTree,
    TemplateArgument,
)

__all__ = ["Headers", "Reader", "reader"]

STUBS = Path(__file__).parent / "headers"
"""Headers that declare what PyTorch's headers need of libraries that are not installed."""


@dataclass(frozen=True)
class Headers:
    """Where the headers are that every source file of an extension includes."""

    torch: Path
    """Folder `include` of PyTorch."""
    cuda: tuple[Path, ...]
    """Include folders of the CUDA runtime and of CCCL."""


@contextmanager
def reader(headers: Headers) -> Iterator[Reader]:
    """Yield what reads source files. Headers that all of them include are read once, which takes some 20 s.

    Raises ToolchainError if libclang is not installed or cannot read the headers.
    """
    try:
        from clang import cindex
    except ImportError:
        raise ToolchainError(
            'host functions are read by libclang: pip install "cuda-wheel[import]" brings it'
        ) from None
    with scratch() as folder:
        yield Reader(cindex, headers, folder)


def _system_folders() -> list[str]:
    """Return the include folders of the C++ standard library of this machine's host compiler."""
    command = [os.environ.get("CXX", "g++"), "-E", "-x", "c++", "-", "-v"]
    try:
        text = subprocess.run(command, input="", capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        raise ToolchainError(
            f"host functions are read with the headers of a C++ compiler, but {command[0]} does not run: install g++, "
            "or set CXX to another compiler"
        ) from None
    return [line.strip() for line in text.partition("#include <...>")[2].splitlines() if line.startswith(" /")]


_PREAMBLE = "cuda_wheel_preamble.h"
_TEMPLATED = "-fpch-instantiate-templates"


class Reader:
    """Reads source files of an extension."""

    def __init__(self, cindex: Any, headers: Headers, folder: Path) -> None:
        self._cindex = cindex
        self._index = cindex.Index.create()
        torch = headers.torch
        folders = [str(STUBS), str(torch), str(torch / "torch/csrc/api/include"), *map(str, headers.cuda)]
        folders += [sysconfig.get_paths()["include"], *_system_folders(), str(STUBS / "libraries")]
        self._arguments = ["-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++20", "-w"]
        self._arguments += ["-ferror-limit=0", *(part for each in folders for part in ("-isystem", each))]
        self._precompiled = folder / "preamble.pch"
        source = folder / "preamble.cu"
        source.write_text(f"#include <{_PREAMBLE}>\n", encoding="utf-8")
        try:
            unit = self._parse(str(source), self._arguments, 0x02 | 0x10)  # incomplete; for serialization
        except cindex.TranslationUnitLoadError:
            raise ToolchainError(f"libclang cannot read PyTorch's headers in {torch}") from None
        errors = [str(each) for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
        if errors:
            raise ToolchainError(f"libclang cannot read PyTorch's headers in {torch}:\n" + "\n".join(errors[:8]))
        unit.save(str(self._precompiled))

    def _parse(self, path: str, arguments: Sequence[str], options: int, files: Any = None) -> Any:
        with _quiet():  # libclang reports its own crash to standard error
            return self._index.parse(path, args=[*arguments], options=options, unsaved_files=files)

    def read(
        self,
        root: Path,
        path: str,
        include: Iterable[str] = (),
        defines: Sequence[str] = (),
    ) -> SourceTree:
        """Return the host code of the file `path` of the project in `root`.

        `include`: include folders relative to the project. `defines`: options of the compiler that define and undefine
        macros, as "-DNAME=VALUE" and "-UNAME". Raises ToolchainError if libclang fails. Errors in the source are in
        `SourceTree.errors`.
        """
        source = root / path
        arguments = [*self._arguments, *(f"-I{root / each}" for each in include), *defines, _TEMPLATED]
        text = with_instances(with_launches(source.read_text(encoding="utf-8", errors="replace")))
        name, files = str(source), [(str(source), text)]
        if source.suffix not in (".cu", ".cuh"):  # the host compiler reads these
            name = str(source.with_name(f"{source.name}.cuda_wheel.cu"))
            files.append((name, f'#undef __CUDACC__\n#undef __NVCC__\n#include "{source.name}"\n'))
        for before in (["-include-pch", str(self._precompiled)], ["-include", _PREAMBLE]):
            try:
                unit = self._parse(name, [*arguments, *before], 0x02, files)
            except self._cindex.TranslationUnitLoadError:
                continue  # libclang crashes where some templates of a precompiled header are used
            return _Conversion(self._cindex, root, path, unit).tree
        raise ToolchainError(f"libclang cannot read {path}: it ends with an error of its own")


_INSTANTIATION = re.compile(r"^[ \t]*template\s+(?!<)[^;{}()=]*?\b(\w+\s*<[^;{}()]*>)\s*\([^;{}]*\)\s*;", re.MULTILINE)


def with_instances(text: str) -> str:
    """Return C++ source text in which every explicitly instantiated function is referred to, in the same lines.

    libclang shows an instance of a function template only where something refers to it.
    """
    count = 0

    def refer(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"{match.group()} static auto* const cuda_wheel_instance_{count} = &{match[1]};"

    return _INSTANTIATION.sub(refer, text)


_LAUNCH = re.compile(r"<<[ \t]+<|<[ \t]+<[ \t]*<|>>[ \t]+>(?=\s*\()|>[ \t]+>[ \t]*>(?=\s*\()")


def with_launches(text: str) -> str:
    """Return C++ source text in which the brackets of launches have no spaces inside, with all columns as they are.

    nvcc reads `kernel << <grid, block >> >(x)` as a launch, as some editors format it; clang does not.
    """
    return _LAUNCH.sub(lambda match: (match[0][0] * 3).ljust(len(match[0])), text)


@contextmanager
def _quiet() -> Iterator[None]:
    """Discard what is written to standard error."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class _Conversion:
    """Converts what libclang read into a `SourceTree`."""

    def __init__(self, cindex: Any, root: Path, path: str, unit: Any) -> None:
        self._cindex = cindex
        self._library = cindex.conf.lib
        self._kinds = cindex.CursorKind
        self._root = os.path.realpath(root)
        self.tree = SourceTree(path)
        self._own: dict[str, str | None] = {}
        """File name as libclang gives it -> path relative to the project; None for a file that is not in it."""
        self._waiting: list[tuple[Declaration, Any]] = []
        _declare(self._library)
        for each in unit.diagnostics:
            if each.severity >= cindex.Diagnostic.Error:
                self._note_error(each)
        for each in unit.get_includes():
            self._note_stand_in(each)
        self._top(unit.cursor)
        while self._waiting:
            declaration, cursor = self._waiting.pop()
            declaration.body = self._node(cursor)
        for own in sorted({each for each in self._own.values() if each}):
            self.tree.comments[own] = _comments(Path(self._root, own).read_text(encoding="utf-8", errors="replace"))

    def _note_error(self, diagnostic: Any) -> None:
        file = diagnostic.location.file
        own = self._own_path(file.name) if file else None
        if "cuda_wheel_instance_" in diagnostic.spelling:
            return
        if own and "poisoned identifier" in diagnostic.spelling:  # the version of a library that is not installed
            line = Path(self._root, own).read_text("utf-8", errors="replace").splitlines()[diagnostic.location.line - 1]
            library = line[diagnostic.location.column - 1 :].partition("_")[0].lower()
            missing = self.tree.missing.setdefault(own, [])
            missing += [f"{library}.h"] if f"{library}.h" not in missing else []
            return
        if own or diagnostic.severity > self._cindex.Diagnostic.Error:
            self.tree.errors.append(f"{own or (file and file.name)}:{diagnostic.location.line}: {diagnostic.spelling}")

    def _note_stand_in(self, inclusion: Any) -> None:
        """Note an error for a file that includes a library's header of which there is only a stand-in."""
        name = Path(inclusion.include.name)
        own = self._own_path(inclusion.source.name) if inclusion.source else None
        if own and (STUBS / "libraries") in name.parents:
            self.tree.missing.setdefault(own, []).append(name.relative_to(STUBS / "libraries").as_posix())

    def _own_path(self, name: str) -> str | None:
        if name not in self._own:
            real = os.path.realpath(name)
            is_own = real.startswith(self._root + os.sep) and not real.endswith(".cuda_wheel.cu")
            self._own[name] = os.path.relpath(real, self._root).replace(os.sep, "/") if is_own else None
        return self._own[name]

    def _file(self, cursor: Any) -> str | None:
        file = cursor.location.file
        return self._own_path(file.name) if file else None

    def _top(self, cursor: Any) -> None:
        """Note the functions, variables and classes of the project below a namespace or class."""
        kinds = self._kinds
        scopes = (kinds.NAMESPACE, kinds.LINKAGE_SPEC, kinds.UNEXPOSED_DECL)
        for each in cursor.get_children():
            if self._file(each) is None:
                continue
            if each.kind in scopes:
                self._top(each)
            elif each.kind in (kinds.STRUCT_DECL, kinds.CLASS_DECL):
                if each.is_definition():
                    self._record(each.type)
                    self._top(each)
            elif each.kind in (kinds.FUNCTION_DECL, kinds.CXX_METHOD):
                if each.is_definition():
                    self.tree.functions.append(self._declared(each))
            elif each.kind == kinds.VAR_DECL:
                self.tree.variables.append(self._node(each))

    def _record(self, type_: Any) -> None:
        """Describe a class or enumeration of the project, and those that it consists of."""
        cursor = type_.get_declaration()
        name = cursor.type.get_canonical().spelling
        if name in self.tree.records or self._file(cursor) is None:
            return
        record = self.tree.records[name] = Record(name, type_.get_size(), line=cursor.location.line)
        record.file, record.kind = self._file(cursor) or "", cursor.kind.name
        if cursor.kind == self._kinds.ENUM_DECL:
            record.underlying = cursor.enum_type.get_canonical().spelling
            return
        pattern = self._library.clang_getSpecializedCursorTemplate(cursor)
        defaults = {each.spelling: each for each in (pattern.get_children() if pattern else ())}
        fields = []
        for each in type_.get_fields():
            # In an instance of a template, the initializer may not be made yet.
            default = self._default(each) or self._default(defaults.get(each.spelling))
            type_of = each.type.get_canonical()
            fields.append(
                RecordField(each.spelling, type_of.spelling, each.get_field_offsetof(), each.is_bitfield(), default)
            )
            while type_of.kind == self._cindex.TypeKind.CONSTANTARRAY:
                type_of = type_of.element_type
            self._record(type_of)
        record.fields = tuple(fields)
        bases, methods = [], {}
        for each in cursor.get_children():
            if each.kind == self._kinds.CXX_BASE_SPECIFIER:
                bases.append(each.type.get_canonical().spelling)
                self._record(each.type.get_canonical())
            elif each.kind == self._kinds.CXX_METHOD:
                methods[each.spelling] = self._declared(each)
        record.bases, record.methods = tuple(bases), methods

    def _default(self, field: Any) -> Node | None:
        """Return the initializer in the declaration of a data member."""
        if field is None or field.kind != self._kinds.FIELD_DECL or field.is_bitfield():
            return None
        arrays = (self._cindex.TypeKind.CONSTANTARRAY, self._cindex.TypeKind.DEPENDENTSIZEDARRAY)
        for each in field.get_children():
            # Arguments of templates stand before the name, and the size of an array behind it.
            is_size = field.type.get_canonical().kind in arrays and each.kind != self._kinds.INIT_LIST_EXPR
            if each.kind.is_expression() and each.extent.start.offset > field.location.offset and not is_size:
                return self._node(each)
        return None

    # --- declarations ---------------------------------------------------------------------------------

    def _declared(self, cursor: Any) -> int:
        """Return the key of a declaration; describe it if it is new."""
        kinds = self._kinds
        definition = cursor
        if cursor.kind in (kinds.FUNCTION_DECL, kinds.CXX_METHOD, kinds.CONSTRUCTOR, kinds.VAR_DECL):
            definition = cursor.get_definition() or cursor
        key = int(definition.hash) or 1
        if key in self.tree.declarations:
            return key
        own = self._file(definition)
        made = self.tree.declarations[key] = Declaration(
            definition.kind.name,
            definition.spelling,
            _qualified(definition, kinds),
            definition.type.get_canonical().spelling,
            file=own or (definition.location.file.name if definition.location.file else ""),
            line=definition.location.line,
            is_own=own is not None,
            usr=definition.get_usr(),
        )
        if definition.semantic_parent is not None and definition.semantic_parent.kind in (
            kinds.STRUCT_DECL,
            kinds.CLASS_DECL,
        ):
            owner = definition.semantic_parent.type.get_canonical().spelling
            made.instance = owner if "<" in owner else ""
        if definition.kind in (kinds.FUNCTION_DECL, kinds.CXX_METHOD, kinds.CONSTRUCTOR, kinds.CONVERSION_FUNCTION):
            self._describe_function(made, definition, own)
        elif definition.kind == kinds.VAR_DECL:
            made.is_static = definition.storage_class == self._cindex.StorageClass.STATIC
            made.is_of_thread = definition.tls_kind != self._cindex.TLSKind.NONE
            made.is_on_gpu = own is not None and self._is_on_gpu(definition)
            made.value = self._evaluated(definition) if definition.type.is_const_qualified() else None
            if own is not None and definition.semantic_parent.kind in (kinds.TRANSLATION_UNIT, kinds.NAMESPACE):
                self._waiting.append((made, definition))
        elif definition.kind == kinds.ENUM_CONSTANT_DECL:
            made.value = definition.enum_value
        return key

    def _is_on_gpu(self, variable: Any) -> bool:
        kinds = self._kinds
        marks = (kinds.CUDADEVICE_ATTR, kinds.CUDACONSTANT_ATTR, kinds.CUDASHARED_ATTR)
        if any(each.kind in marks for each in variable.get_children()):
            return True
        return any(each.spelling == "__managed__" for each in variable.get_tokens())  # clang does not know it

    def _describe_function(self, made: Declaration, cursor: Any, own: str | None) -> None:
        kinds = self._kinds
        made.result = self._type(cursor.result_type)
        parameters = [each for each in cursor.get_arguments() if each is not None]
        made.parameters = tuple((each.spelling, self._type(each.type)) for each in parameters)
        made.is_static = cursor.is_static_method() or cursor.storage_class == self._cindex.StorageClass.STATIC
        marks = {each.kind for each in cursor.get_children()}
        made.is_kernel = kinds.CUDAGLOBAL_ATTR in marks
        if made.is_kernel:  # the host has a function of another name for it
            made.symbol = re.sub(r"(\d+)__device_stub__", lambda found: str(int(found[1]) - 15), cursor.mangled_name)
        is_for_gpu = kinds.CUDADEVICE_ATTR in marks and kinds.CUDAHOST_ATTR not in marks
        made.template = self._template_arguments(cursor)
        if own is not None and not made.is_kernel:
            made.defaults = self._defaults(cursor)
        if own is not None and not made.is_kernel and not is_for_gpu and cursor.is_definition():
            self._waiting.append((made, cursor))

    def _defaults(self, cursor: Any) -> tuple[Node | None, ...]:
        """Return the defaults of a function's parameters, which its first declaration or its definition has."""
        found: list[Node | None] = []
        for each in (cursor.canonical, cursor):
            parameters = [parameter for parameter in each.get_arguments() if parameter is not None]
            found += [None] * (len(parameters) - len(found))
            for number, parameter in enumerate(parameters):
                inner = [child for child in parameter.get_children() if child.kind.is_expression()]
                if found[number] is None and inner:
                    found[number] = self._node(inner[-1])
        return tuple(found)

    def _template_arguments(self, cursor: Any) -> tuple[TemplateArgument, ...]:
        count = cursor.get_num_template_arguments()
        if count <= 0:
            return ()
        pattern = self._library.clang_getSpecializedCursorTemplate(cursor)
        kinds = self._kinds
        parameters = [
            each
            for each in (pattern.get_children() if pattern else ())
            if each.kind
            in (kinds.TEMPLATE_TYPE_PARAMETER, kinds.TEMPLATE_NON_TYPE_PARAMETER, kinds.TEMPLATE_TEMPLATE_PARAMETER)
        ]
        found = []
        for number in range(count):
            name = parameters[number].spelling if number < len(parameters) else ""
            try:
                kind = cursor.get_template_argument_kind(number)
            except ValueError:  # a parameter pack, which libclang's Python module does not know
                kind = None
            if kind == self._cindex.TemplateArgumentKind.TYPE:
                found.append(TemplateArgument(name, cursor.get_template_argument_type(number).get_canonical().spelling))
            elif kind == self._cindex.TemplateArgumentKind.INTEGRAL:
                type_ = parameters[number].type.get_canonical().spelling if number < len(parameters) else "int"
                value = cursor.get_template_argument_value(number)
                # libclang reads a bool as a signed number of one bit.
                found.append(TemplateArgument(name, "", abs(value) if type_ == "bool" else value, type_))
            elif (
                kind is None
                and pattern
                and number == count - 1
                and (types := self._types_of_pack(cursor, pattern, name)) is not None
            ):
                names = [name] if len(types) == 1 else [f"{name}_{place}" for place in range(1, len(types) + 1)]
                found += [TemplateArgument(*each) for each in zip(names, types, strict=True)]
            else:
                found.append(TemplateArgument(name))
        return tuple(found)

    def _types_of_pack(self, cursor: Any, pattern: Any, name: str) -> list[str] | None:
        """Return the types that a parameter pack stands for in an instance of a function template, from its last
        parameters; None if these are not the pack itself. libclang does not tell them."""
        declared = [each for each in pattern.get_children() if each.kind == self._kinds.PARM_DECL]
        if not declared or declared[-1].type.spelling != f"{name}...":
            return None
        given = list(cursor.type.argument_types())[len(declared) - 1 :]
        return [each.get_canonical().spelling for each in given]

    # --- nodes ----------------------------------------------------------------------------------------

    def _node(self, cursor: Any) -> Node:
        kinds = self._kinds
        kind = cursor.kind
        location, extent = cursor.location, cursor.extent
        is_expression = kind.is_expression() or kind in (kinds.VAR_DECL, kinds.PARM_DECL, kinds.FIELD_DECL)
        is_type = kind in (kinds.TYPE_ALIAS_DECL, kinds.TYPEDEF_DECL, kinds.TYPE_REF)
        node = Node(
            kind.name,
            cursor.spelling,
            self._type(cursor.type) if is_expression or is_type else "",
            location.line if location.file else 0,
            location.offset,
            extent.end.line,
            written=cursor.type.spelling if is_expression or is_type else "",
        )
        if is_type:
            type_ = cursor.underlying_typedef_type if kind != kinds.TYPE_REF else cursor.type
            node.type = self._type(type_)
            node.written = type_.spelling
            return node
        if kind == kinds.LAMBDA_EXPR or kind in (kinds.VAR_DECL, kinds.PARM_DECL):
            node.target = self._declared(cursor) if kind != kinds.LAMBDA_EXPR else 0
        children = list(cursor.get_children())
        if kind in (kinds.DECL_REF_EXPR, kinds.MEMBER_REF_EXPR, kinds.CALL_EXPR):
            referenced = cursor.referenced
            if referenced is not None and referenced.kind != kinds.OVERLOADED_DECL_REF:
                node.target = self._declared(referenced)
                node.value = self.tree.declarations[node.target].value
        elif (
            kind in (kinds.INTEGER_LITERAL, kinds.FLOATING_LITERAL, kinds.CHARACTER_LITERAL, kinds.STRING_LITERAL)
            or kind in (kinds.CXX_UNARY_EXPR, kinds.CXX_BOOL_LITERAL_EXPR)
            or cursor.spelling.startswith("__builtin")
        ):
            node.value = self._evaluated(cursor)
        if kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR):
            number = self._library.clang_getCursorBinaryOperatorKind(cursor)
            node.operator = self._library.clang_getBinaryOperatorKindSpelling(number)
        elif kind == kinds.UNARY_OPERATOR:
            number = self._library.clang_getCursorUnaryOperatorKind(cursor)
            node.operator = _UNARY.get(number, "?")
        if kind == kinds.CALL_EXPR:
            given = [each for each in cursor.get_arguments() if each is not None]
            node.arguments = tuple(map(self._node, given))
            node.children = tuple(self._node(each) for each in children if each not in given)
        else:
            node.children = tuple(map(self._node, children))
        if is_expression and self._file(cursor.type.get_declaration()) is not None:
            self._record(cursor.type.get_canonical())
        return node

    def _type(self, type_: Any) -> str:
        """Return a type's name; for an enumeration of the project, that of its numbers."""
        canonical = type_.get_canonical()
        if canonical.kind == self._cindex.TypeKind.ENUM:
            declared = canonical.get_declaration()
            if self._file(declared) is not None:
                constant = "const " if canonical.is_const_qualified() else ""
                return f"{constant}{declared.enum_type.get_canonical().spelling}"
        return str(canonical.spelling)

    def _evaluated(self, cursor: Any) -> int | float | str | bool | None:
        """Return the value of a constant expression; None if it is not constant."""
        library = self._library
        result = library.clang_Cursor_Evaluate(cursor)
        if not result:
            return None
        try:
            kind = library.clang_EvalResult_getKind(result)
            if kind == 1:
                if library.clang_EvalResult_isUnsignedInt(result):
                    value = library.clang_EvalResult_getAsUnsigned(result)
                else:
                    value = library.clang_EvalResult_getAsLongLong(result)
                type_ = cursor.type.get_canonical().spelling.removeprefix("const ")
                return bool(value) if type_ == "bool" else int(value)
            if kind == 2:
                return float(library.clang_EvalResult_getAsDouble(result))
            if kind in (4, 5, 6):
                return bytes(library.clang_EvalResult_getAsStr(result)).decode(errors="replace")
            return None
        finally:
            library.clang_EvalResult_dispose(result)


_UNARY = {1: "p++", 2: "p--", 3: "++", 4: "--", 5: "&", 6: "*", 7: "+", 8: "-", 9: "~", 10: "!"}
"""libclang's number of a unary operator (`CXUnaryOperatorKind`) -> the operator."""


def _declare(library: Any) -> None:
    """Declare the functions of libclang that its Python module does not."""
    from clang import cindex

    pointer = ctypes.c_void_p
    for name, arguments, result in (
        ("clang_Cursor_Evaluate", [cindex.Cursor], pointer),
        ("clang_EvalResult_getKind", [pointer], ctypes.c_int),
        ("clang_EvalResult_getAsLongLong", [pointer], ctypes.c_longlong),
        ("clang_EvalResult_getAsUnsigned", [pointer], ctypes.c_ulonglong),
        ("clang_EvalResult_isUnsignedInt", [pointer], ctypes.c_uint),
        ("clang_EvalResult_getAsDouble", [pointer], ctypes.c_double),
        ("clang_EvalResult_getAsStr", [pointer], ctypes.c_char_p),
        ("clang_EvalResult_dispose", [pointer], None),
        ("clang_getCursorBinaryOperatorKind", [cindex.Cursor], ctypes.c_int),
        ("clang_getCursorUnaryOperatorKind", [cindex.Cursor], ctypes.c_int),
        ("clang_getBinaryOperatorKindSpelling", [ctypes.c_int], cindex._CXString),
    ):
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
        if result is cindex._CXString:
            function.errcheck = cindex._CXString.from_result  # type: ignore[attr-defined,union-attr,unused-ignore]


def _qualified(cursor: Any, kinds: Any) -> str:
    parts = [cursor.spelling]
    parent = cursor.semantic_parent
    scopes = (kinds.NAMESPACE, kinds.CLASS_DECL, kinds.STRUCT_DECL, kinds.CLASS_TEMPLATE, kinds.ENUM_DECL)
    while parent is not None and parent.kind in scopes:
        if parent.spelling and not parent.spelling.startswith("("):
            parts.append(parent.spelling)
        parent = parent.semantic_parent
    return "::".join(reversed(parts))


_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

_ARGUMENT_NAME = re.compile(r"/\*\s*\w+\s*=\s*\*/")
"""Matches a comment before an argument that is only the name of the parameter: /*dim=*/."""


def _comments(text: str) -> list[Comment]:
    """Return the comments of a C++ source text."""
    found = []
    for match in _COMMENT.finditer(text):
        written = match.group()
        if not written.startswith(("//", "/*")) or _ARGUMENT_NAME.fullmatch(written):
            continue
        line = text.count("\n", 0, match.start()) + 1
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        lines = written.removeprefix("/*").removesuffix("*/").splitlines() if written[1] == "*" else [written]
        cleaned = [each.strip().lstrip("/*!<").strip() for each in lines]
        shown = "\n".join(each for each in cleaned if each)
        if shown:
            found.append(Comment(line, line + written.count("\n"), shown, bool(before.strip())))
    return found
