"""Translate branches and loops."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from cuda_wheel.migrate.host_functions.calls import is_simple
from cuda_wheel.migrate.host_functions.copies import Copies
from cuda_wheel.migrate.host_functions.cxx_types import integer_bounds, is_number, plain
from cuda_wheel.migrate.host_functions.expressions import negated, operands, peeled
from cuda_wheel.migrate.host_functions.flow import assigned_in, ends, for_parts, has_break, has_continue, mutated_in
from cuda_wheel.migrate.host_functions.nodes import Node
from cuda_wheel.migrate.host_functions.python_code import (
    CommentLine,
    call,
    constant,
    device_of,
    is_flag,
    known_of,
    merged,
    name,
    negative,
    plain_tree,
    text,
)
from cuda_wheel.migrate.host_functions.values import Untranslated, Value, Variable, bounded, converted, rounded, truth

__all__ = ["ControlFlow"]


class ControlFlow(Copies):
    """Translates the statements that choose and repeat others. What concerns other statements, and variables, is in
    `functions.FunctionTranslator`."""

    variables: dict[int, Variable]
    assigned: set[int]
    is_on_cpu: bool
    _context: ast.expr | None

    def block(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        raise NotImplementedError

    def statements(self, nodes: Sequence[Node], is_tail: bool) -> list[ast.stmt]:
        raise NotImplementedError

    def expression_statement(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        raise NotImplementedError

    def new_name(self, given: str) -> str:
        raise NotImplementedError

    def _statement_decl_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        raise NotImplementedError

    def _declared_variable(self, node: Node) -> list[ast.stmt]:
        raise NotImplementedError

    def _initializer(self, node: Node) -> Node | None:
        raise NotImplementedError

    def _of_unknown_value(self, node: Node, given: str) -> Variable:
        raise NotImplementedError

    # --- branches ---------------------------------------------------------------------------------------

    def _statement_if_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        parts = [each for each in node.children if each.kind not in ("NAMESPACE_REF", "TYPE_REF", "TEMPLATE_REF")]
        before: list[ast.stmt] = []
        while parts and parts[0].kind in ("DECL_STMT", "VAR_DECL"):
            first = parts.pop(0)
            before += (
                self._statement_decl_stmt(first, False) if first.kind == "DECL_STMT" else self._declared_variable(first)
            )
        if len(parts) == 1:
            parts.append(Node("COMPOUND_STMT", "", "", 0, 0, 0))
        test = truth(self.value(parts[0]))
        outcome = test.tree.value if isinstance(test.tree, ast.Constant) else test.data
        if isinstance(outcome, bool):
            chosen = parts[1] if outcome else parts[2] if len(parts) > 2 else None
            return before + (self.block(chosen, is_tail) if chosen else [])
        device, was_on_cpu = device_of(test.tree), self.is_on_cpu
        self.is_on_cpu |= device == "cpu"
        one = self._branch(parts[1], is_tail, known_of(test.tree, True))
        self.is_on_cpu = was_on_cpu or device == "cuda"
        other = self._branch(parts[2], is_tail, known_of(test.tree, False)) if len(parts) > 2 else []
        self.is_on_cpu = was_on_cpu
        if not one and not other:
            return before
        joined = self._joined(test.tree, one, other) if len(parts) > 2 else None
        if joined is not None:
            return before + joined
        if not any(not isinstance(each, CommentLine) for each in one) and other:
            return [*before, ast.If(negated(test.tree), other, [])]
        return [*before, ast.If(test.tree, one or [ast.Pass()], other)]

    def _branch(self, node: Node, is_tail: bool, symbol: tuple[str, bool] | None) -> list[ast.stmt]:
        kept = list(self.symbols)
        context, self._context = self._context, None
        if symbol is not None:
            self.symbols.append((symbol[0], "bool", int(symbol[1])))
        made = self.block(node, is_tail)
        self.symbols = kept
        self._context = context
        return made

    def _joined(self, test: ast.expr, one: list[ast.stmt], other: list[ast.stmt]) -> list[ast.stmt] | None:
        """Return two branches that differ only in a constant which is the condition itself as one piece of code."""
        before: list[ast.stmt] = []
        if (
            one
            and other
            and is_flag(one[0], True)
            and is_flag(other[0], False)
            and isinstance(one[0], ast.Assign)
            and isinstance(other[0], ast.Assign)
            and text(one[0].targets[0]) == text(other[0].targets[0])
        ):
            before = [ast.Assign(one[0].targets, test)]
            one, other = one[1:], other[1:]
        elif not isinstance(test, ast.Name):
            return None
        try:
            both: list[ast.stmt] = merged(one, other)
        except ValueError:
            return None
        return before + both

    def _statement_switch_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        parts = operands(node)
        chosen, body = self.value(parts[-2]), parts[-1]
        before: list[ast.stmt] = []
        tree = rounded(chosen).tree
        if not is_simple(tree):
            made = self.new_name("value")
            before, tree = [ast.Assign([name(made)], tree)], name(made)
        groups = self._groups(body)
        branches: list[tuple[list[ast.expr] | None, list[ast.stmt]]] = []
        for values, statements in groups:
            kept = list(self.symbols)
            numbers = [self.value(each) for each in values or ()]
            if len(numbers) == 1 and numbers[0].low is not None and isinstance(tree, ast.Name):
                self.symbols.append((tree.id, chosen.type if is_number(chosen.type) else "int", numbers[0].low))
            made_body = self._group_body(statements, is_tail)
            self.symbols = kept
            trees = None if values is None else [plain_tree(each.tree) for each in numbers]
            if branches and trees is not None and branches[-1][0] is not None:
                try:
                    both = merged(branches[-1][1], made_body)
                except ValueError:
                    pass
                else:
                    branches[-1] = (branches[-1][0] + trees, both)
                    continue
            branches.append((trees, made_body))
        return before + self._chain(tree, branches)

    def _chain(
        self, tree: ast.expr, branches: Sequence[tuple[list[ast.expr] | None, list[ast.stmt]]]
    ) -> list[ast.stmt]:
        """Return branches by the value of an expression; None stands for all other values."""
        result = next((body for values, body in branches if values is None), [])
        for values, body in reversed([each for each in branches if each[0] is not None]):
            assert values is not None
            if len(values) == 1:
                test: ast.expr = ast.Compare(tree, [ast.Eq()], values)
            else:
                test = ast.Compare(tree, [ast.In()], [ast.Tuple(values, ast.Load())])
            result = [ast.If(test, body or [ast.Pass()], result)]
        return result

    def _groups(self, body: Node) -> list[tuple[list[Node] | None, list[Node]]]:
        """Return the cases of a switch: values (None: default) and statements."""
        groups: list[tuple[list[Node] | None, list[Node]]] = []
        for each in body.children:
            values: list[Node] | None = []
            node = each
            is_case = False
            while node.kind in ("CASE_STMT", "DEFAULT_STMT"):
                is_case = True
                if node.kind == "DEFAULT_STMT":
                    values = None
                    node = node.children[-1]
                else:
                    if values is not None:
                        values.append(node.children[0])
                    node = node.children[-1]
            if is_case:
                groups.append((values, [node]))
            elif groups:
                groups[-1][1].append(node)
            elif each.kind not in ("NULL_STMT", "DECL_STMT"):
                raise Untranslated("code before the first case of a switch", each.line)
        for number in reversed(range(len(groups) - 1)):
            statements, following = groups[number][1], groups[number + 1][1]
            if statements and not ends(statements) and any(each.kind != "NULL_STMT" for each in statements):
                statements += following  # the case goes on into the next one
        return groups

    def _group_body(self, statements: Sequence[Node], is_tail: bool) -> list[ast.stmt]:
        flat: list[Node] = []
        for each in statements:
            flat += each.children if each.kind == "COMPOUND_STMT" else (each,)
        if flat and flat[-1].kind == "BREAK_STMT":
            flat.pop()
        elif (
            flat
            and flat[-1].kind == "COMPOUND_STMT"
            and flat[-1].children
            and flat[-1].children[-1].kind == "BREAK_STMT"
        ):
            last = flat.pop()
            flat += last.children[:-1]
        if any(has_break(each) for each in flat):
            raise Untranslated("a break inside a case")
        context, self._context = self._context, None
        made = self.statements(flat, is_tail)
        self._context = context
        return made

    # --- loops ------------------------------------------------------------------------------------------

    def _statement_while_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        condition, body = operands(node)[-2:]
        return [ast.While(truth(self.value(condition)).tree, self._loop_body(body), [])]

    def _loop_body(self, node: Node) -> list[ast.stmt]:
        context, self._context = self._context, None
        made = self.block(node, False)
        self._context = context
        return made or [ast.Pass()]

    def _statement_do_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        body, condition = operands(node)[-2:]
        inner = peeled(condition)
        if inner.kind in ("INTEGER_LITERAL", "CXX_BOOL_LITERAL_EXPR") and not inner.value:
            return self.block(body, is_tail)
        if has_continue(body):
            raise Untranslated("continue in a do loop")
        test = truth(self.value(condition))
        return [ast.While(constant(True), [*self._loop_body(body), ast.If(negated(test.tree), [ast.Break()], [])], [])]

    def _statement_for_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        first, condition, step, body = for_parts(node)
        changed = assigned_in(body, self.source) | mutated_in(body, self.source)
        counted = self._counted(first, condition, step, body, changed)
        if counted is not None:
            return counted
        before: list[ast.stmt] = []
        if first is not None:
            before = (
                self._statement_decl_stmt(first, False)
                if first.kind == "DECL_STMT"
                else self.expression_statement(first, False)
            )
        if has_continue(body) and step is not None:
            raise Untranslated("continue in a loop that is not a range")
        test = truth(self.value(condition)).tree if condition is not None else constant(True)
        inner = self._loop_body(body)
        if step is not None:
            inner += self.expression_statement(step, False)
        return [*before, ast.While(test, inner, [])]

    def _counted(
        self, first: Node | None, condition: Node | None, step: Node | None, body: Node, changed: set[int]
    ) -> list[ast.stmt] | None:
        """Return a loop that counts as `for ... in range(...)`; None if it is another one."""
        if first is None or condition is None or step is None or first.kind != "DECL_STMT" or len(first.children) != 1:
            return None
        counter, test, step = first.children[0], peeled(condition), peeled(step)
        if (
            counter.kind != "VAR_DECL"
            or test.kind != "BINARY_OPERATOR"
            or test.operator not in ("<", "<=", ">", ">=", "!=")
        ):
            return None
        left, right = operands(test)[-2:]
        if peeled(left).target != counter.target or not integer_bounds(counter.type) or counter.target in changed:
            return None
        if any(each.target in changed for each in right.walk() if each.kind == "DECL_REF_EXPR"):
            return None
        if step.kind == "UNARY_OPERATOR" and step.operator.strip("p") in ("++", "--"):
            by: Value = bounded(
                constant(1 if "++" in step.operator else -1), "int", *(2 * [1 if "++" in step.operator else -1])
            )
        elif step.kind == "COMPOUND_ASSIGNMENT_OPERATOR" and step.operator in ("+=", "-="):
            by = self.value(operands(step)[-1])
            if any(
                each.target in changed
                for each in step.walk()
                if each.kind == "DECL_REF_EXPR" and each.target != counter.target
            ):
                return None
            if step.operator == "-=":
                by = bounded(negative(by.tree), "int", -(by.high or 0), -(by.low or 0))
        else:
            return None
        if peeled(operands(step)[0]).target != counter.target or by.low is None or by.high is None:
            return None
        is_up = by.low > 0 and test.operator in ("<", "<=", "!=")
        is_down = by.high < 0 and test.operator in (">", ">=")
        if not (is_up or is_down) or (test.operator == "!=" and by.low != 1):
            return None
        start_node = self._initializer(counter)
        if start_node is None:
            return None
        start, end = converted(self.value(start_node), counter.type), self.value(right)
        if integer_bounds(end.type) is None:
            return None
        limit = end.tree
        if test.operator == "<=":
            limit = ast.BinOp(limit, ast.Add(), constant(1))
        elif test.operator == ">=":
            limit = (
                constant(-1)
                if isinstance(limit, ast.Constant) and limit.value == 0
                else ast.BinOp(limit, ast.Sub(), constant(1))
            )
        arguments = [start.tree, limit, by.tree]
        if isinstance(by.tree, ast.Constant) and by.tree.value == 1:
            arguments.pop()
            if isinstance(start.tree, ast.Constant) and start.tree.value == 0:
                arguments.pop(0)
        made = Variable(self.new_name(counter.name), plain(counter.type))
        low, high = integer_bounds(counter.type) or (0, 0)
        made.low, made.high = (
            (max(low, start.low or 0), min(high, end.high if end.high is not None else high)) if is_up else (low, high)
        )
        self.variables[counter.target] = made
        self.assigned.discard(counter.target)
        return [ast.For(name(made.name), call("range", *arguments), self._loop_body(body), [])]

    def _statement_cxx_for_range_stmt(self, node: Node, is_tail: bool) -> list[ast.stmt]:
        body = node.children[-1]
        variable = next(
            (each for each in node.children if each.kind == "VAR_DECL" and not each.name.startswith("__")), None
        )
        ranged = next(
            (
                each
                for each in node.children
                if each.kind != "VAR_DECL" and each is not body and each.kind != "DECL_STMT"
            ),
            None,
        )
        if variable is None or ranged is None:
            raise Untranslated("a loop over a range of this form")
        if variable.target in assigned_in(body, self.source):
            raise Untranslated(f"the elements of a range are assigned ({variable.name})")
        over = self.value(ranged)
        made = self._of_unknown_value(variable, variable.name)
        return [ast.For(name(made.name), over.tree, self._loop_body(body), [])]
