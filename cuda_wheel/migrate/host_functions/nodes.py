"""The syntax tree of C++ host code, as the translation reads it: expressions with their types, and declarations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Comment", "Declaration", "Node", "Record", "RecordField", "SourceTree", "TemplateArgument"]


@dataclass(slots=True)
class Node:
    """A statement, an expression or a declaration inside a function."""

    kind: str
    """libclang's name of the kind, such as "CALL_EXPR". Implicit conversions are "UNEXPOSED_EXPR"."""
    name: str
    """Name of what is declared, referred to or called; "" if none."""
    type: str
    """C++ type of the value, with aliases resolved: "const long", "at::Tensor"; "" for a statement."""
    line: int
    """1-based line in the source file; 0 for what the compiler adds, such as a default argument."""
    offset: int
    """Byte offset of the start in the source file."""
    end_line: int
    children: tuple[Node, ...] = ()
    operator: str = ""
    """Operator of a unary or binary operation: "+", "+=", "++" (before the operand) or "p++" (behind it)."""
    value: int | float | str | bool | None = None
    """Value of a literal, of a constant and of `sizeof`."""
    target: int = 0
    """Key in `SourceTree.declarations` of what is referred to, called or declared; 0 if none."""
    arguments: tuple[Node, ...] = ()
    """Arguments of a call, in the order of the parameters."""
    written: str = ""
    """The type as the source spells it, such as "scalar_t *"."""

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def walk_all(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, arguments of calls included."""
        yield self
        for child in (*self.arguments, *self.children):
            yield from child.walk_all()


@dataclass(frozen=True, slots=True)
class TemplateArgument:
    """An argument of a template's instance."""

    name: str
    """Name of the template's parameter."""
    type: str = ""
    """C++ type with aliases resolved, if the argument is a type."""
    value: int | None = None
    """The value, if the argument is a whole number, a bool or an enumerator."""
    value_type: str = ""
    """C++ type of the value."""


@dataclass(slots=True)
class Declaration:
    """A function, a variable, a parameter or an enumerator that is referred to."""

    kind: str
    name: str
    qualified: str
    """Name with its namespaces and classes: "at::empty", "at::TensorBase::size"."""
    type: str
    result: str = ""
    """C++ type of the result of a function."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Name and C++ type of each parameter of a function."""
    defaults: tuple[Node | None, ...] = ()
    """Default of each parameter of a function of the project; None for one without."""
    template: tuple[TemplateArgument, ...] = ()
    """Arguments of the template's instance that this function is; () for a function that is not a template."""
    instance: str = ""
    """C++ type of the instance of a class template whose member this is; "" for all others."""
    is_kernel: bool = False
    symbol: str = ""
    """Mangled name of a kernel."""
    is_own: bool = False
    """Whether a file of the project declares it."""
    file: str = ""
    """Path of the source file, relative to the project if it is in there."""
    line: int = 0
    body: Node | None = None
    """The definition of a function of the project, whose last child is its body; the initializer of a variable."""
    usr: str = ""
    """libclang's name of the declaration, equal in all source files."""
    value: int | float | str | bool | None = None
    """Value of a constant."""
    is_static: bool = False
    is_on_gpu: bool = False
    """Whether a variable is in the GPU's memory."""
    is_of_thread: bool = False
    """Whether each thread has its own variable (`thread_local`)."""


@dataclass(frozen=True, slots=True)
class RecordField:
    """A data member of a struct."""

    name: str
    type: str
    offset: int
    """Offset in bits."""
    is_bit_field: bool = False
    default: Node | None = None
    """What the member is initialized with if nothing else says it."""


@dataclass(slots=True)
class Record:
    """A struct, class, union or enumeration of the project."""

    name: str
    """C++ name, without `const`."""
    size: int
    """Size in bytes; negative if it is not known."""
    fields: tuple[RecordField, ...] = ()
    bases: tuple[str, ...] = ()
    methods: dict[str, int] = field(default_factory=dict)
    """Name of a method -> key of its declaration."""
    line: int = 0
    file: str = ""
    kind: str = "STRUCT_DECL"
    """libclang's name of the kind: "STRUCT_DECL", "CLASS_DECL", "UNION_DECL" or "ENUM_DECL"."""
    underlying: str = ""
    """C++ type of the integers of an enumeration."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of the source."""

    line: int
    end_line: int
    text: str
    is_trailing: bool
    """Whether code stands before it in its line."""


@dataclass(slots=True)
class SourceTree:
    """What one source file of an extension declares and defines."""

    path: str
    """Path relative to the project."""
    declarations: dict[int, Declaration] = field(default_factory=dict)
    functions: list[int] = field(default_factory=list)
    """Keys of the functions that the file and the project's headers define, in their order. No templates."""
    variables: list[Node] = field(default_factory=list)
    """Variables outside functions, in their order."""
    records: dict[str, Record] = field(default_factory=dict)
    """C++ name of a struct, class, union or enumeration of the project -> its description."""
    comments: dict[str, list[Comment]] = field(default_factory=dict)
    """Path of a source file -> its comments in their order."""
    errors: list[str] = field(default_factory=list)
    """Errors of the compiler in files of the project: "path:line: text"."""
    missing: dict[str, list[str]] = field(default_factory=dict)
    """Path of a file of the project -> headers of libraries that it includes and that are not installed."""
