"""Translate the body of one C++ function: its statements, variables and calls of other functions."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from cuda_wheel.migrate.host_functions.calls import (
    DEVICE_PROPERTIES,
    RAISED,
    TEXT_STREAMS,
    is_default,
    is_simple,
)
from cuda_wheel.migrate.host_functions.control_flow import ControlFlow
from cuda_wheel.migrate.host_functions.cxx_types import (
    element_type,
    float_bits,
    integer_bounds,
    is_number,
    plain,
    pointee,
    template_name,
)
from cuda_wheel.migrate.host_functions.expressions import (
    TENSOR_OPERATORS,
    callee_of,
    is_assignment,
    is_tensor,
    negated,
    operands,
    options_tree,
    peeled,
)
from cuda_wheel.migrate.host_functions.flow import (
    assigned_in,
    mutated_in,
    only_value,
)
from cuda_wheel.migrate.host_functions.nodes import Declaration, Node, Record, SourceTree
from cuda_wheel.migrate.host_functions.python_code import (
    Choice,
    CommentLine,
    attribute,
    call,
    choices,
    constant,
    device_of,
    is_constant,
    leaves,
    merged,
    name,
    not_implemented,
    plain_tree,
    repeated,
    stored,
    text,
    with_globals,
)
from cuda_wheel.migrate.host_functions.values import (
    LIST,
    ListPointer,
    Options,
    Pointer,
    Untranslated,
    Value,
    Variable,
    bounded,
    converted,
    rounded,
    truth,
    zero_of,
)

__all__ = ["HELPERS", "Failure", "FunctionTranslator", "Module", "Translated", "python_name"]

_STREAMS = ("cudaStream_t", "CUstream_st *", "struct CUstream_st *", "c10::cuda::CUDAStream")
HELPERS = frozenset(
    {
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "quotient", "remainder",
        "divide", "dispatch", "address", "fill_bytes", "copy_bytes", "sqrt", "exp", "log", "log2", "log10", "pow",
        "sin", "cos", "tan", "floor", "ceil", "round", "trunc", "tanh", "fmax", "fmin", "fmod", "cbrt", "exp2", "atan2",
        "rint",
        "expf", "exp2f", "logf", "log2f", "log10f", "sinf", "cosf", "tanf", "tanhf", "cbrtf", "powf", "atan2f",
        "check_same_gpu", "check_same_type", "check_contiguous", "can_use_32_bit_index_math", "data_ptr",
        "accessor", "check_integers", "dim3", "elements", "null_accessor", "overloaded", "read_numbers",
        "write_numbers",
    }
)  # fmt: skip
"""Functions of `cuda_wheel.torch.arithmetic`, which has them with C++'s results."""

_RESERVED = {
    "torch", "cuda_wheel", "len", "range", "min", "max", "int", "float", "bool", "list", "tuple", "dict", "str", "abs",
    "print", "all", "any", "sum", "set", "zip",
    "kernels", "Tensor", "ctypes", "dataclasses", "enum",
}  # fmt: skip


_MAYBE = ("CONDITIONAL_OPERATOR", "LAMBDA_EXPR")
"""Expressions whose parts are not always evaluated once."""

_COMPILER = re.compile(r"\b(__GNUC__|__GNUC_MINOR__|__clang\w*|_MSC_VER|_MSC_FULL_VER|__VERSION__|__INTEL_COMPILER)\b")
_TOOLKIT = re.compile(r"\b(CUDA_VERSION|CUDART_VERSION|__CUDACC_VER_\w+)\b")
"""Macros that say which compiler and toolkit built the C++. In a condition of the preprocessor, any toolkit that has
the headers gives the same code for `CUDA_VERSION`."""


def python_name(given: str, taken: Sequence[str] = ()) -> str:
    """Return a C++ name as Python's: without keywords, and names that the code needs."""
    made = given or "value"
    if keyword.iskeyword(made) or made in _RESERVED or made in HELPERS:
        made += "_"
    if made not in taken:
        return made
    number = 2
    while f"{made}_{number}" in taken:
        number += 1
    return f"{made}_{number}"


@dataclass(frozen=True)
class Failure:
    """A place that is not translated."""

    path: str
    line: int
    reason: str
    is_on_cpu: bool = False
    """Whether only tensors in host memory get there."""


@dataclass
class Translated:
    """A function in Python."""

    name: str
    parameters: list[tuple[str, str]]
    """Name and C++ type of each parameter."""
    template: list[str]
    """Names of the template's parameters, which come first."""
    body: list[ast.stmt]
    result: str
    failures: list[Failure] = field(default_factory=list)
    declared: Declaration | None = None


class Module(Protocol):
    """What a function needs of the others of its extension."""

    aten: Any

    def kernels_of(self, declared: Declaration) -> str: ...

    def function_name(self, declared: Declaration, source: SourceTree, is_on_cpu: bool) -> str: ...

    def constant_name(self, declared: Declaration, value: Any) -> str: ...

    def state_name(self, declared: Declaration, initial: ast.expr) -> str: ...

    def definition(self, declared: Declaration) -> Declaration | None: ...

    def record(self, record: Record, source: SourceTree) -> Any: ...

    def autograd_class(self, forward: Declaration) -> str: ...


class FunctionTranslator(ControlFlow):
    """Translates one function, or one instance of a function template."""

    def __init__(self, module: Module, source: SourceTree, declared: Declaration, lines: Sequence[str]) -> None:
        super().__init__(source)
        self.module = module
        self.aten = module.aten
        self.declared = declared
        self.path = declared.file
        self.lines = lines
        self.variables: dict[int, Variable] = {}
        self.names: set[str] = set()
        self.failures: list[Failure] = []
        self.assigned: set[int] = set()
        self.result = declared.result
        self._comments = list(source.comments.get(declared.file, ()))
        self._inlined: list[str | None] = []
        """For each lambda whose body is written in place: the variable that gets its result, or None."""
        self.has_parameters = True
        """Whether the Python function has the parameters of the template. False where each instance is a function."""
        self._measured: set[int] = set()
        """Keys of the variables whose members x, y or z are used."""
        self._states: set[str] = set()
        """Names of the module's variables that the function uses."""
        self._read_here: set[int] = set()
        """Keys of the pointers whose memory is read or written on the host."""
        self._steps: tuple[list[ast.stmt], list[ast.stmt], Node] | None = None
        """Statements before and behind a statement without parts, and that statement; None in others."""
        self.is_on_cpu = False
        """Whether only tensors in host memory get to the code that is translated."""

    # --- the function -----------------------------------------------------------------------------------

    def translate(self) -> Translated:
        """Return the function in Python."""
        definition = self.declared.body
        if definition is None:
            raise Untranslated(f"{self.declared.qualified} is not defined in the project's sources")
        body = next((each for each in reversed(definition.children) if each.kind == "COMPOUND_STMT"), None)
        if body is None:
            raise Untranslated(f"{self.declared.qualified} has no body")
        self.assigned = assigned_in(body, self.source)
        self._measured = {
            peeled(operands(each)[0]).target
            for each in body.walk_all()
            if each.kind == "MEMBER_REF_EXPR" and each.name in ("x", "y", "z") and operands(each)
        }
        self._read_here = {
            peeled(operands(each)[0]).target
            for each in body.walk_all()
            if each.kind == "ARRAY_SUBSCRIPT_EXPR" or (each.kind == "UNARY_OPERATOR" and each.operator == "*")
        }
        template = []
        for argument in self.declared.template if self.has_parameters else ():
            if argument.type:
                self.symbols.append((argument.name, plain(argument.type), None))
                template.append(argument.name)
            elif argument.value is not None and argument.name:
                self.symbols.append((argument.name, argument.value_type or "int", argument.value))
                template.append(argument.name)
        self.names.update(template)
        parameters = [each for each in definition.children if each.kind == "PARM_DECL"]
        shown = []
        first: list[ast.stmt] = []
        for number, each in enumerate(parameters):
            variable = self._parameter(each, number)
            if variable.data == "current stream":
                continue
            shown.append((variable.name, each.type))
            is_copied = template_name(variable.type) == "std::vector" and not each.type.endswith("&")
            if is_copied and each.target in mutated_in(body, self.source):
                first.append(ast.Assign([name(variable.name)], call("list", name(variable.name))))
            if variable.type == "dim3" and each.target in self._measured:
                first.append(ast.Assign([name(variable.name)], call("dim3", name(variable.name))))
        self._comments = [each for each in self._comments if each.line >= body.line]
        unreadable = [*self._errors(definition.line, body.end_line), *self._versions(definition.line, body.end_line)]
        for line, reason in unreadable:
            # The compiler leaves out what it cannot read, so that the tree is not all of the function.
            self._fail(line, reason)
            first.append(self._not_implemented(line, reason))
        statements = first + self.block(body, True)
        self._comments = [each for each in self._comments if each.line <= body.end_line]
        statements += self._comments_before(body.end_line + 1)
        statements = with_globals(statements, self._states)
        return Translated(self.declared.name, shown, template, statements, self.result, self.failures, self.declared)

    def _errors(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield line and text of what the compiler could not read of the function."""
        for each in self.source.errors:
            path, _, rest = each.partition(":")
            number, _, reason = rest.partition(": ")
            if path == self.path and number.isdigit() and first <= int(number) <= last:
                yield int(number), f"the compiler cannot read this: {reason}"
        for path in {self.path, self.source.path}:
            for header in self.source.missing.get(path, ()):
                yield first, f"the header <{header}> is not installed"

    def _versions(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield line and text of the first thing that only the compiler of the C++ could tell: its name and version."""
        for number, text_ in enumerate(self.lines[first - 1 : last], first):
            found = _COMPILER.search(text_) or (_TOOLKIT.search(text_) if not text_.lstrip().startswith("#") else None)
            if found:
                yield number, f"{found[0]} tells about the compiler of the C++"
                return

    def _parameter(self, node: Node, number: int) -> Variable:
        made = self._of_unknown_value(node, node.name or f"argument{number}")
        # A caller passes any number of Python; a variable has what was rounded before.
        made.is_unrounded = made.type == "float" and node.target not in self.assigned
        return made

    def _of_unknown_value(self, node: Node, given: str) -> Variable:
        """Declare a variable or parameter of which only the type is known. `given`: its name in C++."""
        type_ = plain(node.type)
        made = self.variables[node.target] = Variable(self.new_name(given), type_)
        bounds = integer_bounds(type_)
        if bounds:
            made.low, made.high = bounds
        elif type_ in _STREAMS:
            made.data = "current stream"
        elif is_tensor(pointee(type_) or ""):
            pass  # the tensor, or None
        elif type_.endswith("*"):
            made.data = Pointer(name(made.name), pointee(type_) or "void", True, is_unknown=True)
        elif type_ == "c10::TensorOptions":
            made.data = Options(((None, name(made.name)),))
        return made

    def new_name(self, given: str) -> str:
        made = python_name(given, tuple(self.names))
        self.names.add(made)
        return made

    # --- comments and failures --------------------------------------------------------------------------

    def _comments_before(self, line: int) -> list[ast.stmt]:
        found = []
        while self._comments and (
            self._comments[0].end_line < line or (self._comments[0].is_trailing and self._comments[0].line <= line)
        ):
            found.append(self._comments.pop(0))
        return [CommentLine(each.text) for each in found]

    def _fail(self, line: int, reason: str) -> None:
        failure = Failure(self.path, line, reason, self.is_on_cpu)
        if failure not in self.failures:
            self.failures.append(failure)

    def _not_implemented(self, line: int, reason: str) -> ast.stmt:
        return not_implemented(f"{self.path}:{line}: {reason}")

    # --- statements -------------------------------------------------------------------------------------

    def block(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        """Return the statements of a compound statement, or of a single one."""
        return self.statements(node.children if node.kind == "COMPOUND_STMT" else (node,), is_tail)

    def statements(self, nodes: Sequence[Node], is_tail: bool) -> list[ast.stmt]:
        was_on_cpu = self.is_on_cpu
        try:
            return self._statements([each for each in nodes if each.kind != "NULL_STMT"], is_tail)
        finally:
            self.is_on_cpu = was_on_cpu

    def _statements(self, nodes: Sequence[Node], is_tail: bool) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for number, node in enumerate(nodes):
            found += self._comments_before(node.line) if node.line else []
            is_last = is_tail and number == len(nodes) - 1
            before = len(self.failures)
            kept = dict(self.variables)
            try:
                made = self.statement(node, is_last)
            except Untranslated as error:
                del self.failures[before:]
                self.variables = {**kept, **self.variables}
                found += self._untranslated(node, error)
                continue
            found += made
            if made and isinstance(made[-1], ast.If) and device_of(made[-1].test) == "cuda" and leaves(made[-1].body):
                self.is_on_cpu = True
            context = self._context
            if context is not None:
                self._context = None
                inner = self.statements(nodes[number + 1 :], is_tail)
                if inner:
                    found.append(ast.With([ast.withitem(context)], inner))
                return found
            if made and isinstance(made[-1], (ast.Return, ast.Raise)) and not self._inlined:
                break  # what follows is never run
        return found

    _context: ast.expr | None = None
    """A context manager in which the rest of the block runs."""

    def _untranslated(self, node: Node, error: Untranslated) -> list[ast.stmt]:
        line = error.line or node.line or self.declared.line
        self._fail(line, error.reason)
        for each in node.walk():  # so that later uses say what they are
            if each.kind == "VAR_DECL" and each.target not in self.variables:
                self._of_unknown_value(each, each.name)
        first = node.line or line
        source = self.lines[first - 1 : max(node.end_line, first)] if first else []
        shown = "\n".join(each.rstrip() for each in _dedented(source))
        comment: list[ast.stmt] = [CommentLine(shown)] if shown else []
        return [*comment, self._not_implemented(line, error.reason)]

    def statement(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        handler = getattr(self, f"_statement_{node.kind.lower()}", self.expression_statement)
        is_simple = handler == self.expression_statement or node.kind == "DECL_STMT"
        outer, self._steps = self._steps, ([], [], node) if is_simple else None
        try:
            made: list[ast.stmt] = handler(node, is_tail)
            return self._steps[0] + made + self._steps[1] if self._steps else made
        finally:
            self._steps = outer

    def _unary_operator(self, node: Node) -> Value:
        """Return ++ and -- inside an expression as a statement before or behind it."""
        if node.operator not in ("++", "--", "p++", "p--"):
            return super()._unary_operator(node)
        operand = operands(node)[-1]
        target = peeled(operand)
        variable = self.variables.get(target.target) if target.kind == "DECL_REF_EXPR" else None
        if self._steps is None or variable is None or not integer_bounds(variable.type):
            raise Untranslated(f"the operator {node.operator.strip('p')} inside an expression")
        before, after, whole = self._steps
        used = [each.target for each in whole.walk_all() if each.kind == "DECL_REF_EXPR"]
        is_certain = not any(each.operator in ("&&", "||") or each.kind in _MAYBE for each in whole.walk_all())
        calls_lambda = any(key in self.variables and self.variables[key].data == "lambda" for key in used)
        if used.count(target.target) != 1 or not is_certain or calls_lambda:
            raise Untranslated(f"the operator {node.operator.strip('p')} inside an expression")
        (after if node.operator.startswith("p") else before).extend(self._step(operand, node.operator.strip("p")))
        return self.value(operand)

    def _statement_compound_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        return self.statements(node.children, is_tail)

    def _statement_unexposed_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        """Return a statement with an attribute, such as a loop behind `#pragma unroll`."""
        inner = [each for each in node.children if each.kind.endswith("_STMT")]
        if len(inner) != 1:
            raise Untranslated("a statement of an unknown kind")
        return self.statement(inner[0], is_tail)

    def _statement_null_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        return []

    def _statement_break_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        return [ast.Break()]

    def _statement_continue_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        return [ast.Continue()]

    def _statement_return_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        inner = operands(node)
        if self._inlined and not is_tail:
            raise Untranslated("a return inside a lambda that is called at once")
        if not inner:
            return [] if self._inlined or is_tail else [ast.Return(None)]
        if plain(inner[-1].type) == "void":
            made = self.expression_statement(inner[-1], is_tail)
            return made if self._inlined or is_tail else [*made, ast.Return(None)]
        if self._inlined:
            return self._bind_result(inner[-1])
        dispatched = self._in_place(inner[-1], "return")
        if dispatched is not None:
            return dispatched
        return [ast.Return(self.returned(self.value(inner[-1]), self.result))]

    def returned(self, value: Value, type_: str) -> ast.expr:
        """Return a function's result as Python has it."""
        tree = rounded(value).tree
        family = template_name(type_)
        if family in ("std::tuple", "std::pair") and isinstance(tree, ast.List):
            return ast.Tuple(tree.elts, ast.Load())
        if isinstance(value.data, Pointer):
            raise Untranslated("a pointer as result")
        if isinstance(value.data, Options):
            return options_tree(value.data)
        return tree

    def _bind_result(self, node: Node) -> list[ast.stmt]:
        target = self._inlined[-1]
        dispatched = self._in_place(node, target)
        if dispatched is not None:
            return dispatched
        if target == "return":
            return [ast.Return(self.returned(self.value(node), self.result))]
        value = self.value(node)
        return self._effect(value) if target is None else [ast.Assign([name(target)], rounded(value).tree)]

    # --- expressions as statements ----------------------------------------------------------------------

    def expression_statement(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        inner = peeled(node)
        if inner.kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            left, right = operands(inner)[-2:]
            if inner.operator == "=":
                return self.assign(left, right)
            if is_assignment(inner):
                return self._compound(inner)
            if inner.operator == ",":
                return self.expression_statement(left, False) + self.expression_statement(right, is_tail)
        if inner.kind == "UNARY_OPERATOR" and inner.operator in ("++", "--", "p++", "p--"):
            return self._step(operands(inner)[-1], inner.operator.strip("p"))
        if inner.kind == "CALL_EXPR" and inner.name == "operator=":
            return self.assign(inner.arguments[0], inner.arguments[1])
        if inner.kind == "CALL_EXPR" and inner.name in (
            "operator+=",
            "operator-=",
            "operator*=",
            "operator/=",
            "operator|=",
            "operator&=",
            "operator^=",
        ):
            target, other = (self.value(each) for each in inner.arguments)
            if is_tensor(target.type) or "string" in target.type:
                return [ast.AugAssign(stored(target.tree), TENSOR_OPERATORS[inner.name[8]], rounded(other).tree)]
        if inner.kind == "CALL_EXPR" and inner.name in ("operator++", "operator--"):
            return self._step(inner.arguments[0], inner.name[8:])
        if inner.kind == "CXX_THROW_EXPR":
            return self._thrown(inner)
        if inner.kind == "CONDITIONAL_OPERATOR" and plain(inner.type) == "void":  # assert() and its like
            return self._conditional_statement(inner)
        if inner.kind in ("CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR") and plain(inner.type) == "void":
            below = peeled(operands(inner)[-1])
            return (
                self.expression_statement(below, False) if below.kind in ("CALL_EXPR", "CONDITIONAL_OPERATOR") else []
            )
        dispatched = self._in_place(inner, None)
        if dispatched is not None:
            return dispatched
        value = self.value(node)
        if value.data == "raise":
            return [ast.Raise(value.tree)]
        if value.data == "guard":
            return []
        return self._effect(value)

    def _effect(self, value: Value) -> list[ast.stmt]:
        """Return the statement of an expression whose value is not used."""
        tree = value.tree
        if isinstance(tree, ast.NamedExpr):
            added = tree.value
            if isinstance(added, ast.BinOp) and text(added.left) == text(tree.target):
                return [ast.AugAssign(tree.target, added.op, added.right)]
            return [ast.Assign([tree.target], added)]
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == "__setitem__":
            return [ast.Assign([ast.Subscript(tree.func.value, tree.args[0], ast.Store())], tree.args[1])]
        does_something = any(isinstance(each, ast.Call) for each in ast.walk(tree))
        return [ast.Expr(tree)] if does_something and value.data != "nothing" else []

    def _conditional_statement(self, node: Node) -> list[ast.stmt]:
        condition, one, other = operands(node)
        test = truth(self.value(condition))
        branches = [self._void(each) for each in (one, other)]
        if isinstance(test.data, bool):
            return branches[0] if test.data else branches[1]
        if branches[0]:
            return [ast.If(test.tree, branches[0], branches[1])]
        return [ast.If(negated(test.tree), branches[1], [])] if branches[1] else []

    def _void(self, node: Node) -> list[ast.stmt]:
        inner = peeled(node)
        failed = next(
            (
                each
                for each in inner.walk_all()
                if each.name in ("__assert_fail", "LoggerVoidify", "MessageLogger", "LogMessageFatal")
            ),
            None,
        )
        if failed is None:
            return self.expression_statement(node, False)
        if failed.name == "__assert_fail":
            return [ast.Raise(call("AssertionError", self.message(failed.arguments[:1])))]
        return [ast.Raise(call("RuntimeError", constant(f"{self.path}:{node.line}: a check failed")))]

    def _thrown(self, node: Node) -> list[ast.stmt]:
        if not operands(node):
            raise Untranslated("throw without an exception")
        inner = peeled(operands(node)[-1])
        while (
            inner.kind == "CALL_EXPR"
            and len(inner.arguments) == 1
            and plain(inner.arguments[0].type) == plain(inner.type)
        ):
            inner = peeled(inner.arguments[0])
        if inner.kind.startswith("CXX_FUNCTIONAL"):
            inner = peeled(operands(inner)[-1])
        kind = RAISED.get(plain(inner.type))
        if kind is None:
            raise Untranslated(f"an exception of type {plain(inner.type)}")
        return [ast.Raise(call(kind, self.message([each for each in inner.arguments if not is_default(each)])))]

    def assign(self, left: Node, right: Node) -> list[ast.stmt]:
        """Return an assignment."""
        target = peeled(left)
        inner = peeled(right)
        if inner.kind == "BINARY_OPERATOR" and inner.operator == "=":  # a = b = c
            between, last = operands(inner)[-2:]
            return self.assign(between, last) + self.assign(left, between)
        if target.kind == "CALL_EXPR" and target.name == "tie":
            names = [stored(self.value(each).tree) for each in target.arguments]
            return [ast.Assign([ast.Tuple(names, ast.Store())], self.value(right).tree)]
        if target.kind == "DECL_REF_EXPR":
            variable = self.variables.get(target.target) or self._outer_state(target)
            if variable is None:
                raise Untranslated(f"{target.name}, a variable outside of the function, is assigned", target.line)
            dispatched = self._in_place(inner, variable.name)
            if dispatched is not None:
                return dispatched
            value = self.value(right)
            return self._store(variable, value)
        if target.kind == "CALL_EXPR" and target.name == "operator[]" and "Accessor" in target.arguments[0].type:
            place = self.accessor_element(target)
            value = converted(self.value(right), place.type) if is_number(place.type) else self.value(right)
            return [ast.Assign([stored(place.tree)], rounded(value).tree)]
        owner = self.value(left)
        value = self.value(right)
        if isinstance(owner.tree, (ast.Subscript, ast.Attribute)):
            value = converted(value, owner.type) if is_number(owner.type) else value
            return [ast.Assign([stored(owner.tree)], rounded(value).tree)]
        if target.kind == "CALL_EXPR" and target.name == "index":
            raise Untranslated("an assignment to index()")
        raise Untranslated(f"an assignment to {target.kind.lower()}")

    def _store(self, variable: Variable, value: Value) -> list[ast.stmt]:
        if value.data in ("error", "current stream", "nothing"):
            variable.data = value.data
            return self._effect(replace(value, data=None))
        if isinstance(value.data, Pointer):
            if isinstance(variable.data, Pointer) or variable.type.endswith("*"):
                variable.data = Pointer(name(variable.name), value.data.element, value.data.is_typed, is_unknown=True)
            return [ast.Assign([name(variable.name)], value.tree)]
        if isinstance(value.data, Options):
            tree = options_tree(value.data)
            variable.data = Options(((None, name(variable.name)),))
            return [ast.Assign([name(variable.name)], tree)]
        if value.data in ("philox", "host memory") or isinstance(value.data, ListPointer):
            variable.data = value.data
        if is_number(variable.type):
            value = converted(value, variable.type)
        return [ast.Assign([name(variable.name)], rounded(value).tree)]

    def _compound(self, node: Node) -> list[ast.stmt]:
        left, right = operands(node)[-2:]
        one, other = self.value(left), self.value(right)
        operator = node.operator[:-1]
        if isinstance(one.data, (Pointer, ListPointer)) or one.data == "host memory":
            moved = self.operation(operator, one, other, one.type)
            variable = self.variables.get(peeled(left).target)
            if variable is None:
                raise Untranslated("a pointer that is moved")
            return self._store(variable, moved)
        common = one.type
        if float_bits(other.type) and not float_bits(one.type):
            common = other.type
        elif integer_bounds(one.type) and integer_bounds(other.type):
            bits = [((integer_bounds(each.type) or (0, 1))[1]).bit_length() for each in (one, other)]
            common = other.type if bits[1] > max(bits[0], 31) else (one.type if bits[0] >= 31 else "int")
        elif float_bits(other.type) == 64 and float_bits(one.type) == 32:
            common = "double"
        result = converted(self.operation(operator, converted(one, common), converted(other, common), common), one.type)
        tree = rounded(result).tree
        if isinstance(tree, ast.BinOp) and text(tree.left) == text(one.tree):
            return [ast.AugAssign(stored(one.tree), tree.op, tree.right)]
        return [ast.Assign([stored(one.tree)], tree)]

    def _step(self, node: Node, operator: str) -> list[ast.stmt]:
        value = self.value(node)
        if isinstance(value.data, Pointer) or value.data == "host memory":
            raise Untranslated("a pointer that is moved")
        if not is_number(value.type) and not isinstance(value.data, ListPointer):
            raise Untranslated(f"the operator {operator} of {value.type}")
        kind: ast.operator = ast.Add() if operator == "++" else ast.Sub()
        return [ast.AugAssign(stored(value.tree), kind, constant(1))]

    # --- variables --------------------------------------------------------------------------------------

    def _statement_decl_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for each in node.children:
            if each.kind == "VAR_DECL":
                found += self._declared_variable(each)
            elif each.kind in ("TYPE_ALIAS_DECL", "TYPEDEF_DECL"):
                found += self._alias(each)
            elif each.kind in (
                "USING_DECLARATION",
                "USING_DIRECTIVE",
                "STATIC_ASSERT",
                "STRUCT_DECL",
                "NAMESPACE_ALIAS",
                "FUNCTION_DECL",
                "ENUM_DECL",
                "CLASS_DECL",
            ):
                continue
            else:
                raise Untranslated(f"{each.kind.lower().replace('_', ' ')} is not translated", each.line)
        return found

    def _alias(self, node: Node) -> list[ast.stmt]:
        """Declare a name for a type: a variable with an element type, if PyTorch has one."""
        made = self.new_name(node.name) if not any(each == node.name for each, _, _ in self.symbols) else node.name
        if element_type(node.type) is None:
            return []
        tree = self.dtype_choice(node.type)
        self.symbols.append((made, plain(node.type), None))
        return [ast.Assign([name(made)], tree)]

    def _initializer(self, node: Node) -> Node | None:
        found = [each for each in operands(node) if each.kind not in ("STRUCT_DECL",)]
        if not found or (
            "[" in node.type and found[-1].kind in ("INTEGER_LITERAL", "DECL_REF_EXPR", "BINARY_OPERATOR")
        ):
            return None  # the number of an array's elements
        last = found[-1]
        is_literal = last.kind in ("INTEGER_LITERAL", "CXX_BOOL_LITERAL_EXPR")
        return None if is_literal and not is_number(node.type) and not node.type.endswith("*") else last

    def _declared_variable(self, node: Node) -> list[ast.stmt]:
        declared = self.source.declarations.get(node.target)
        if declared is not None and declared.is_of_thread:
            raise Untranslated(f"the variable {node.name}, which each thread has for itself")
        if declared is not None and declared.is_static and not node.type.startswith("const"):
            return self._static_variable(node, declared)
        first = self._initializer(node)
        type_ = plain(node.type)
        is_assigned = node.target in self.assigned
        if node.type.endswith("&") and not node.type.startswith("const ") and is_assigned:
            raise Untranslated(f"the reference {node.name} is assigned")
        if first is not None and peeled(first).kind == "LAMBDA_EXPR":
            return self._lambda(node, peeled(first))
        if first is None or (
            peeled(first).kind == "CALL_EXPR"
            and not peeled(first).arguments
            and template_name(type_) not in ("c10::cuda::CUDAGuard",)
            and self._is_default_made(peeled(first), type_)
        ):
            return self._uninitialized(node, type_)
        if self._is_in_place(first):
            return self._in_place(first, self._of_unknown_value(node, node.name).name) or []
        return self._bind(node, self.value(first))

    def _static_variable(self, node: Node, declared: Declaration) -> list[ast.stmt]:
        """Return the statement that gives a static variable of the function its first value, in the first call."""
        if self.declared.template:
            raise Untranslated(f"the static variable {node.name} of a template")
        first = self._first_value(node)
        if first is None:
            self._state(node, declared, None)
            return []
        value = self.value(first)
        if is_constant(rounded(value).tree):
            self._state(node, declared, rounded(value).tree)
            return []
        variable = self._state(node, declared, constant(None))
        if value.data not in (None, "device properties"):
            raise Untranslated(f"the static variable {node.name} of type {node.type}")
        variable.data = value.data
        if is_number(variable.type):
            value = converted(value, variable.type)
        is_missing = ast.Compare(name(variable.name), [ast.Is()], [constant(None)])
        return [ast.If(is_missing, [ast.Assign([name(variable.name)], rounded(value).tree)], [])]

    def _first_value(self, node: Node) -> Node | None:
        """Return the initializer of a variable that lives as long as the program; None for the first value of its
        type."""
        first = self._initializer(node)
        is_default = first is None or (peeled(first).kind == "CALL_EXPR" and not peeled(first).arguments)
        return None if is_default else first

    def _state(self, node: Node, declared: Declaration, initial: ast.expr | None) -> Variable:
        """Declare a variable that lives as long as the program, which is one of the Python module.

        `initial`: its first value; None for that of its type.
        """
        type_ = plain(node.type)
        element = type_.partition("[")[0]
        if declared.is_on_gpu or declared.is_of_thread:
            raise Untranslated(f"{declared.qualified} is not translated", node.line)
        if initial is None:
            if is_number(type_):
                initial = constant(False) if type_ == "bool" else zero_of(type_)
            elif type_ in ("std::string", "cudaDeviceProp") or template_name(type_) == "std::basic_string":
                initial = constant(None if type_ == "cudaDeviceProp" else "")
            elif is_tensor(type_) or type_.startswith("std::optional"):
                initial = constant(None)
            elif template_name(type_) == "std::vector":
                initial = ast.List([], ast.Load())
            elif "[" in type_ and is_number(element):
                size = int(type_.partition("[")[2].partition("]")[0])
                initial = repeated(zero_of(element), constant(size))
            else:
                raise Untranslated(f"the static variable {node.name} of type {node.type}")
        made = self.module.state_name(declared, initial)
        if any(each.name == made for each in self.variables.values()):
            raise Untranslated(f"a variable with the name of the static variable {made}")
        self.names.add(made)
        self._states.add(made)
        variable = self.variables[node.target] = Variable(made, type_)
        if integer_bounds(type_):
            variable.low, variable.high = integer_bounds(type_) or (None, None)
        if type_ == "cudaDeviceProp":
            variable.data = "device properties"
        return variable

    def _outer_state(self, node: Node) -> Variable | None:
        """Declare a variable outside of functions that the code refers to; None for something else."""
        declared = self.declaration(node)
        if declared is None or declared.kind != "VAR_DECL" or not declared.is_own or declared.body is None:
            return None
        first = self._first_value(declared.body)
        initial = None if first is None else rounded(self.value(first)).tree
        is_of_file = declared.is_static or "(anonymous" in declared.qualified
        if is_of_file and not declared.type.startswith("const") and declared.file != self.source.path:
            raise Untranslated(f"{declared.qualified}, of which each source file has its own", node.line)
        if initial is not None and not is_constant(initial):
            raise Untranslated(f"the variable {declared.qualified}, whose first value is computed", node.line)
        return self._state(node, declared, initial)

    def _is_default_made(self, node: Node, type_: str) -> bool:
        declared = self.declaration(node)
        return (
            declared is not None
            and declared.kind == "CONSTRUCTOR"
            and plain(node.type) == type_
            and type_ != "c10::TensorOptions"
        )

    def _uninitialized(self, node: Node, type_: str) -> list[ast.stmt]:
        variable = self._of_unknown_value(node, node.name)
        target: list[ast.expr] = [name(variable.name)]
        if template_name(type_) in ("std::vector",):
            return [ast.Assign(target, ast.List([], ast.Load()))]
        if is_tensor(type_) or type_.startswith("std::optional"):
            return [ast.Assign(target, constant(None))]
        if type_ == "dim3":
            is_measured = node.target in self._measured
            return [ast.Assign(target, ast.List([constant(1)] * 3, ast.Load()) if is_measured else constant(1))]
        if type_ == "std::string" or template_name(type_) == "std::basic_string":
            variable.type = "std::string"
            return [ast.Assign(target, constant(""))]
        if template_name(type_) in TEXT_STREAMS:
            return [ast.Assign(target, constant(""))]
        if type_ == "cudaDeviceProp":
            variable.data = "device properties"
            return []
        if type_ in ("cudaError", "c10::cuda::CUDAErrorLogCapture"):  # the second is in C10_CUDA_CHECK of PyTorch 2.14
            variable.data = "error"
            return []
        if type_.endswith("*"):
            return [ast.Assign(target, constant(None))]
        if is_number(type_):
            return []
        if template_name(type_) in ("std::tuple", "std::pair"):
            return []
        if "[" in type_ and is_number(type_.partition("[")[0]):
            size = type_.partition("[")[2].partition("]")[0]
            return [ast.Assign(target, repeated(zero_of(type_.partition("[")[0]), constant(int(size))))]
        return self.own_variable(node, variable)

    def own_variable(self, node: Node, variable: Variable) -> list[ast.stmt]:
        raise Untranslated(f"a variable of type {variable.type}", node.line)

    def _bind(self, node: Node, value: Value) -> list[ast.stmt]:
        """Return the statements that declare a variable with its first value."""
        is_assigned = node.target in self.assigned
        data = value.data
        made = self.variables[node.target] = Variable("", plain(node.type))
        if data == "guard":
            self._context = call("torch.cuda.device", value.tree)
            return []
        if data == "context":
            self._context = value.tree
            return []
        if data in ("error", "current stream", "nothing", "generator"):
            made.data = data
            return self._effect(replace(value, data=None))
        if data in ("bytes", "device properties", "kernel", "type properties", "number", "philox", "host memory", LIST):
            made.data = data
        if isinstance(data, Pointer) and node.target in self._read_here and not is_assigned and not data.is_unknown:
            made.name, made.data = self.new_name(node.name), "host memory"
            return [ast.Assign([name(made.name)], self.host_memory(value).tree)]
        if isinstance(data, Pointer) or data == "accessor":
            tree = data.tensor if isinstance(data, Pointer) else value.tree
            is_stable = not is_assigned and is_simple(tree) and not self._may_change(tree)
            if is_stable and (data == "accessor" or data.offset is None):
                made.name, made.data, made.tree = node.name, data, tree
                return []
            made.name = self.new_name(node.name)
            if isinstance(data, Pointer):
                made.data = Pointer(
                    name(made.name), data.element, data.is_typed and data.offset is None, is_unknown=True
                )
                return [ast.Assign([name(made.name)], value.tree)]
            made.data = data
            return [ast.Assign([name(made.name)], tree)]
        made.name = self.new_name(node.name)
        if isinstance(data, ListPointer):
            made.data = data
            return [ast.Assign([name(made.name)], value.tree)]
        if made.type == "dim3" and node.target in self._measured:  # its members are read by number
            parts = list(value.tree.elts) if isinstance(value.tree, ast.Tuple) else [value.tree]
            value = replace(value, tree=ast.List(parts + [constant(1)] * (3 - len(parts)), ast.Load()))
        if isinstance(data, Options):
            made.data = Options(((None, name(made.name)),))
            return [ast.Assign([name(made.name)], options_tree(data))]
        if is_number(made.type):
            value = converted(value, made.type)
            made.low, made.high = (
                (value.low, value.high) if not is_assigned else (integer_bounds(made.type) or (None, None))
            )
            if isinstance(value.tree, ast.Constant) and made.type == "float" and not is_assigned:
                made.is_unrounded = value.is_unrounded
                return [ast.Assign([name(made.name)], value.tree)]
            if (
                isinstance(value.tree, (ast.Constant, Choice))
                and not is_assigned
                and node.type.startswith("const")
                and value.low is not None
                and value.low == value.high
            ):
                self.symbols.append((made.name, made.type, value.low))
        elif (
            template_name(made.type) == "std::vector"
            and value.tree is not None
            and is_simple(value.tree)
            and not node.type.endswith("&")
        ):
            return [ast.Assign([name(made.name)], call("list", value.tree))]
        return [ast.Assign([name(made.name)], rounded(value).tree)]

    def _may_change(self, tree: ast.expr) -> bool:
        """Return whether a name in an expression is assigned somewhere in the function."""
        names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
        return any(variable.name in names for key, variable in self.variables.items() if key in self.assigned)

    def _decl_ref_expr(self, node: Node) -> Value:
        if not node.name and len(operands(node)) == 1:  # a parameter of a template, in an instance
            literal = operands(node)[0]
            if isinstance(literal.value, (int, bool)):
                type_ = plain(node.type)
                number = int(literal.value)
                return bounded(self.number_choice(literal.value, type_), type_, number, number)
            return self.value(literal)
        variable = self.variables.get(node.target)
        if variable is not None:
            tree = variable.tree or name(variable.name)
            if isinstance(variable.data, Pointer):
                return self.pointer(variable.data, variable.type)
            if variable.type == "dim3":
                return Value(tree, "dim3")
            if (
                variable.low is not None
                and variable.low == variable.high
                and any(each == variable.name for each, _, _ in self.symbols)
            ):
                # Its own name comes first: another constant may have the same value.
                others = choices(self.number_choice(variable.low, variable.type))
                tree = Choice(list(dict.fromkeys((variable.name, *others))))
                return bounded(tree, variable.type, variable.low, variable.high)
            return Value(tree, variable.type, variable.low, variable.high, variable.is_unrounded, variable.data)
        declared = self.declaration(node)
        if declared is None:
            raise Untranslated(f"{node.name} is not known", node.line)
        known = self.enumerator(node, declared)
        if known is not None:
            return known
        if declared.kind == "FUNCTION_DECL" and declared.is_kernel:
            return Value(self.kernel_of(declared), node.type, data="kernel")
        if declared.kind in ("FUNCTION_DECL", "CXX_METHOD"):
            return Value(name(node.name), node.type, data=declared)
        value = declared.value if declared.value is not None else node.value
        if declared.kind == "ENUM_CONSTANT_DECL" and isinstance(value, int):
            return bounded(self.number_choice(value, "int"), "int", value, value).as_type(node.type)
        if isinstance(value, (int, float)) and is_number(node.type):
            return self._constant(node, declared, value)
        if self._outer_state(node) is not None:
            return self._decl_ref_expr(node)
        return self.outer_variable(node, declared)

    def _constant(self, node: Node, declared: Declaration, value: int | float) -> Value:
        type_ = plain(node.type)
        if declared.is_own and declared.name:
            made = self.module.constant_name(declared, value)
            if any(each.name == made for each in self.variables.values()):  # the function's own hides it
                tree: ast.expr = constant(value)
            else:
                self.names.add(made)
                tree = name(made)
        if isinstance(value, float):
            return Value(tree if declared.is_own and declared.name else constant(value), type_)
        if declared.is_own and declared.name:
            options = [each for each, _, number in reversed(self.symbols) if number == value]
            tree = Choice([text(tree), *options]) if options else tree
            return bounded(tree, type_, value, value)
        return bounded(constant(value), type_, value, value)

    def outer_variable(self, node: Node, declared: Declaration) -> Value:
        raise Untranslated(f"{declared.qualified} is not translated", node.line)

    def _member_ref_expr(self, node: Node) -> Value:
        inner = operands(node)
        if not inner:
            raise Untranslated(f"the member {node.name}")
        owner = self.value(inner[-1])
        if owner.data == "device properties":
            known = DEVICE_PROPERTIES.get(node.name)
            if known is None:
                raise Untranslated(f"PyTorch does not tell cudaDeviceProp::{node.name}")
            return bounded(attribute(owner.tree, known), node.type, 0)
        if owner.type == "dim3" and node.name in "xyz":
            index = "xyz".index(node.name)
            return bounded(ast.Subscript(owner.tree, constant(index), ast.Load()), node.type)
        if owner.data == "philox" and node.name in ("first", "second"):
            return bounded(attribute(owner.tree, {"first": "seed", "second": "offset"}[node.name]), node.type)
        if template_name(owner.type) == "std::pair" and node.name in ("first", "second"):
            return self.typed(ast.Subscript(owner.tree, constant(int(node.name == "second")), ast.Load()), node.type)
        return self.member(node, owner)

    def member(self, node: Node, owner: Value) -> Value:
        raise Untranslated(f"the member {node.name} of {owner.type}")

    # --- lambdas ----------------------------------------------------------------------------------------

    def _lambda(self, node: Node, made: Node) -> list[ast.stmt]:
        """Return a lambda as function inside the function."""
        variable = Variable(self.new_name(node.name), "lambda", data="lambda")
        self.variables[node.target] = variable
        return [self._function(variable.name, made)]

    def _function(self, called: str, node: Node) -> ast.stmt:
        parameters = [each for each in node.children if each.kind == "PARM_DECL"]
        body = next(each for each in reversed(node.children) if each.kind == "COMPOUND_STMT")
        if any("auto" in each.written for each in parameters):
            raise Untranslated("a lambda whose parameters have any type")
        outer = set(self.variables)
        introducer = "\n".join(self.lines).encode()[node.offset : node.offset + 3].decode(errors="replace")
        captured = {each.target for each in body.walk_all() if each.kind == "DECL_REF_EXPR" and each.target in outer}
        if introducer != "[&]" and captured & self.assigned:  # Python's function sees later values
            raise Untranslated("a lambda that keeps the value of a variable which is assigned")
        names = [self._parameter(each, number).name for number, each in enumerate(parameters)]
        inlined, self._inlined = self._inlined, []
        result, self.result = self.result, ""
        context, self._context = self._context, None
        statements = self.block(body, True)
        self._inlined, self.result, self._context = inlined, result, context
        arguments = ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])
        made = ast.FunctionDef(called, arguments, statements or [ast.Pass()], [])
        changed = {self.variables[key].name for key in assigned_in(body, self.source) if key in outer}
        made.nonlocals = tuple(sorted(changed))  # type: ignore[attr-defined]
        return made

    def lambda_call(self, node: Node) -> Value:
        inner = peeled(node.arguments[0])
        if inner.kind == "DECL_REF_EXPR" and inner.target in self.variables:
            variable = self.variables[inner.target]
            trees = [rounded(self.value(each)).tree for each in node.arguments[1:] if not is_default(each)]
            return self.typed(call(name(variable.name), *trees), plain(node.type))
        raise Untranslated("a lambda that is called at once inside an expression")

    def variable_call(self, node: Node, declared: Declaration) -> Value:
        callee = callee_of(node)
        variable = self.variables.get(callee.target) if callee else None
        if variable is None:
            raise Untranslated(f"a call of the variable {declared.name}")
        trees = [rounded(self.value(each)).tree for each in node.arguments if not is_default(each)]
        return self.typed(call(name(variable.name), *trees), plain(node.type))

    def _is_in_place(self, node: Node) -> bool:
        node = only_value(node)
        return (
            node.kind == "CALL_EXPR"
            and node.name == "operator()"
            and bool(node.arguments)
            and only_value(node.arguments[0]).kind == "LAMBDA_EXPR"
        )

    def _in_place(self, node: Node, target: str | None) -> list[ast.stmt] | None:
        """Return a lambda that is called where it is made as its statements; None if it is something else.

        `target`: the variable that gets the result, "return", or None.
        """
        node = only_value(node)
        if not self._is_in_place(node):
            return None
        made = only_value(node.arguments[0])
        body = next(each for each in reversed(made.children) if each.kind == "COMPOUND_STMT")
        parameters = [each for each in made.children if each.kind == "PARM_DECL"]
        before: list[ast.stmt] = []
        for parameter, argument in zip(parameters, node.arguments[1:], strict=False):
            before += self._bind(parameter, self.value(argument))
        inlined = self._inlined
        self._inlined = [*inlined, inlined[-1] if target == "return" and inlined else target]
        kept = list(self.symbols)
        context, self._context = self._context, None
        try:
            dispatch = self._dispatch(body)
            return before + (dispatch if dispatch is not None else self.block(body, True))
        finally:
            self._inlined = inlined
            self.symbols = kept
            self._context = context

    def _dispatch(self, body: Node) -> list[ast.stmt] | None:
        """Return what PyTorch's dispatch macros run, for the element type of a tensor; None if the body is no such."""
        named: dict[str, Node] = {}
        switch = None
        for each in body.children:
            if each.kind == "DECL_STMT":
                named |= {child.name: child for child in each.children if child.kind == "VAR_DECL"}
            elif each.kind == "SWITCH_STMT":
                switch = each
        if "at_dispatch_name" not in named or switch is None or "the_type" not in named:
            return None
        first = self._initializer(named["the_type"])
        label = self._initializer(named["at_dispatch_name"])
        if first is None or label is None:
            return None
        chosen = self.value(first)
        tree = attribute(chosen.tree, "dtype") if chosen.data == "type properties" else chosen.tree
        title = self.value(label).tree
        cases: list[tuple[ast.expr, str, list[ast.stmt]]] = []
        for values, statements in self._groups(switch.children[-1]):
            if values is None:
                continue
            (value,) = values
            kept = list(self.symbols)
            flat = statements[0].children if statements[0].kind == "COMPOUND_STMT" else statements
            alias, inner = "", []
            for each in flat:
                if (
                    each.kind == "DECL_STMT"
                    and each.children
                    and each.children[0].kind in ("TYPE_ALIAS_DECL", "TYPEDEF_DECL")
                ):
                    alias = each.children[0].name
                    self.names.add(alias)
                    self.symbols.append((alias, plain(each.children[0].type), None))
                elif each.kind not in ("DO_STMT", "NULL_STMT"):
                    inner.append(each)
            before_names = set(self.names)
            made = self.statements(inner, True)
            self.names = before_names
            self.symbols = kept
            cases.append((plain_tree(self.value(value).tree), alias, made))
        return self._dispatched(tree, title, cases)

    def _dispatched(
        self, tree: ast.expr, title: ast.expr, cases: list[tuple[ast.expr, str, list[ast.stmt]]]
    ) -> list[ast.stmt]:
        alias = cases[0][1] or "scalar_t"
        groups: list[tuple[list[ast.expr], list[ast.stmt]]] = []
        for value, _, made in cases:
            for number, (values, other) in enumerate(groups):
                try:
                    both = merged(other, made)
                except ValueError:
                    continue
                groups[number] = ([*values, value], both)
                break
            else:
                groups.append(([value], made))
        types = [value for values, _ in groups for value in values]
        chosen = ast.Assign([name(alias)], call("dispatch", title, tree, *types))
        # `dispatch` has raised an error for other types, so that the last group needs no condition.
        return [chosen, *self._chain(name(alias), [*groups[:-1], (None, groups[-1][1])])]

    # --- the project's functions and kernels ------------------------------------------------------------

    def own_call(self, node: Node, declared: Declaration) -> Value:
        """Return a call of another function of the project."""
        definition = self.module.definition(declared)
        called = definition or declared
        trees: list[ast.expr] = []
        for each in called.template:
            if each.type:
                trees.append(self.type_choice(each.type))
            elif each.value is not None and each.name:
                trees.append(self.number_choice(each.value, each.value_type))
        count = len(trees)
        for number, argument in enumerate(self.with_defaults(node, called).arguments):
            type_ = plain(called.parameters[number][1]) if number < len(called.parameters) else ""
            value = self.value(argument)
            if value.data == "error":  # reports errors, which Python's calls raise
                if any(is_tensor(each) or (each.endswith("*") and "char" not in each) for _, each in called.parameters):
                    raise Untranslated(f"{called.name} gets an error code and more")
                return replace(value, data="error")
            if type_ in _STREAMS:
                if value.data != "current stream":
                    raise Untranslated("another stream than the current one")
                continue
            trees.append(self.passed(value, type_))
        if definition is not None and definition.body is not None:
            self._check_references(definition)
        function = self.module.function_name(called, self.source, self.is_on_cpu)
        if plain(node.type) in _STREAMS:  # other streams than the current one are not translated
            return Value(constant(None), plain(node.type), data="current stream")
        made = call(name(function), *trees)
        made.template_count = count  # type: ignore[attr-defined]
        return self.typed(made, plain(node.type))

    def with_defaults(self, node: Node, called: Declaration) -> Node:
        """Return a call with the values of the arguments that it does not give."""
        known = called.defaults
        arguments = [
            (known[number] or each) if is_default(each) and number < len(known) else each
            for number, each in enumerate(node.arguments)
        ]
        return replace(node, arguments=tuple(arguments))

    def _check_references(self, definition: Declaration) -> None:
        """Raise Untranslated if a function assigns a variable of its caller."""
        body = definition.body
        assert body is not None
        changed = assigned_in(body, self.source)
        for each in body.children:
            if (
                each.kind == "PARM_DECL"
                and each.type.endswith("&")
                and not each.type.startswith("const ")
                and each.target in changed
            ):
                raise Untranslated(f"{definition.name} assigns the caller's variable {each.name}")

    def passed(self, value: Value, type_: str) -> ast.expr:
        """Return an argument for another function of the project."""
        if isinstance(value.data, Options):
            return options_tree(value.data)
        if isinstance(value.data, Pointer):
            is_same = value.data.is_typed and plain(value.data.element) == (pointee(type_) or "")
            is_checked = value.data.checked is not None  # by C++ here, whatever the function does with it
            is_whole = value.data.offset is None
            return self.address_tree(value) if is_whole and (is_checked or not is_same) else value.tree
        if value.data in ("accessor", "device properties", "bytes", "number"):
            return value.tree
        if isinstance(value.data, str) and value.data in ("error", "guard", "type properties", "kernel", "lambda"):
            raise Untranslated(f"an argument that is a {value.data}")
        is_of_host = value.data in ("host memory", LIST) or isinstance(value.data, ListPointer)
        if is_of_host or template_name(value.type) in TEXT_STREAMS:
            raise Untranslated(f"an argument of type {value.type}")
        if float_bits(type_) == 32:
            return value.tree  # a parameter is rounded where it is used
        return rounded(value).tree

    def own_method(self, node: Node, declared: Declaration, owner: Node | None) -> Value:
        if declared.is_static:
            return self.own_call(node, declared)
        raise Untranslated(f"the method {declared.qualified} of the project", node.line)

    def kernel(self, node: Node) -> ast.expr:
        callee = callee_of(node)
        if callee is None:
            raise Untranslated("a launch of an unknown kernel")
        if callee.target in self.variables:
            return name(self.variables[callee.target].name)
        declared = self.declaration(callee)
        if declared is None or not declared.is_kernel:
            raise Untranslated(f"a launch of {callee.name}, which is no kernel of the file")
        return self.kernel_of(declared)

    def kernel_of(self, declared: Declaration) -> ast.expr:
        """Return the expression of a kernel: `kernels["name", T, 4]`, or by its symbol if another one has that name."""
        others = [each for each in self.source.declarations.values() if each.is_kernel and each.usr != declared.usr]
        if any((each.qualified, each.template) == (declared.qualified, declared.template) for each in others):
            return ast.Subscript(name(self.module.kernels_of(declared)), constant(declared.symbol), ast.Load())
        keys: list[ast.expr] = [constant(declared.qualified)]
        for each in declared.template:
            if each.type:
                keys.append(self.type_choice(each.type))
            elif each.value is not None:
                keys.append(self.number_choice(each.value, each.value_type))
            else:
                raise Untranslated(f"a template argument of {declared.name}")
        key = keys[0] if len(keys) == 1 else ast.Tuple(keys, ast.Load())
        return ast.Subscript(name(self.module.kernels_of(declared)), key, ast.Load())

    def new_pointer(self, node: Node) -> ast.Name:
        variable = self.variables.get(node.target)
        if variable is None:
            raise Untranslated("memory whose address is in no variable of the function")
        element = pointee(variable.type) or "void"
        variable.data = Pointer(name(variable.name), element, is_typed=False)
        return name(variable.name)

    def kernels_name(self, node: Node) -> str:
        declared = self.declaration(node)
        assert declared is not None
        return self.module.kernels_of(declared)

    def address(self, node: Node) -> Value:
        inner = peeled(node)
        if inner.kind == "DECL_REF_EXPR":
            declared = self.declaration(inner)
            if declared is not None and declared.kind in ("FUNCTION_DECL", "CXX_METHOD"):
                return self.value(inner)
        if inner.kind in ("ARRAY_SUBSCRIPT_EXPR",):
            owner, index = operands(inner)[-2:]
            value = self.value(owner)
            if isinstance(value.data, Pointer):
                return self.moved(value, self.value(index))
            if value.data == "host memory":
                return self.operation("+", value, self.value(index), value.type)
        is_element = inner.kind == "CALL_EXPR" and inner.name == "operator[]"
        if is_element and template_name(inner.arguments[0].type) == "std::vector":
            numbers, place = (self.value(each) for each in inner.arguments)
            if isinstance(numbers.tree, ast.Name) and is_number(inner.type) and plain(inner.type) != "bool":
                return Value(place.tree, f"{plain(inner.type)} *", data=ListPointer(numbers.tree))
        raise Untranslated("the address of a variable", node.line)


def _dedented(lines: Sequence[str]) -> list[str]:
    margins = [len(each) - len(each.lstrip()) for each in lines if each.strip()]
    margin = min(margins, default=0)
    return [each[margin:].replace("\t", "    ") for each in lines]
