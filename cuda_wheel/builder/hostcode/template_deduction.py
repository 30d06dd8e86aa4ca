"""Deduce which instances of kernel templates the host code of a file launches, as nvcc does when it compiles the file.

Host functions are followed once; host templates are followed for each set of arguments with which they are called.
Every launch whose template arguments cannot be deduced is reported; none is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cuda_wheel.builder.cxx.definitions import Item
from cuda_wheel.builder.cxx.macros import Macro, expand
from cuda_wheel.builder.cxx.tokens import DECORATION, Token
from cuda_wheel.builder.hostcode.template_types import (
    BUILTIN,
    SIMPLE,
    Locals,
    Words,
    angles,
    call_of,
    closing,
    displayed,
    is_value,
    literal,
    locals_at,
    locals_of,
    plain,
    pointee,
    split,
    type_at,
    unify,
    without_name,
)

__all__ = ["Instance", "Instances", "Unresolved", "instances"]

LIMIT = 4096
"""The maximum number of functions and instances of function templates that are followed."""


class Instance(NamedTuple):
    """An instance of the kernel template `kernel`: its C++ name expression, and the file and line that request it."""

    kernel: str
    expression: str
    file: str
    line: int


class Unresolved(NamedTuple):
    """A use of a kernel template whose arguments cannot be deduced, and the reason."""

    kernel: str
    file: str
    line: int
    reason: str


class Instances(NamedTuple):
    """The instances that host code requests, and the uses that cannot be resolved."""

    kernels: tuple[Instance, ...]
    unresolved: tuple[Unresolved, ...]


class TemplateParameter(NamedTuple):
    """A parameter of a template; `default` is empty if it has none."""

    name: str
    default: Words
    pack: bool
    is_type: bool


@dataclass(frozen=True, eq=False)
class Template:
    """A function or class template with its template parameters and, for a function, the types of its parameters."""

    item: Item
    parameters: tuple[TemplateParameter, ...]
    types: tuple[Words, ...]


def instances(items: Sequence[Item], macros: Mapping[str, Sequence[Macro]]) -> Instances:
    """Return the instances of kernel templates that the code in `items` requests."""
    templates: dict[str, list[Template]] = {}
    for item in items:
        if item.kind in ("function", "type") and item.names and (parameters := _parameters(item)):
            templates.setdefault(item.names[0], []).append(Template(item, parameters, _types(item)))
    for known in templates.values():
        known.sort(key=lambda each: not each.item.defined)
        if known[0].item.defined and not any(_is_kernel(each) for each in known):
            known[:] = [each for each in known if each.item.defined]
    if not any("__global__" in each.item.markers for known in templates.values() for each in known):
        return Instances((), ())
    search = _Search(items, macros, templates)
    search.run()
    return Instances(tuple(dict.fromkeys(search.found)), tuple(dict.fromkeys(search.unresolved)))


def _texts(tokens: Iterable[Token]) -> Words:
    return tuple(token.text for token in tokens)


def _parameters(item: Item) -> tuple[TemplateParameter, ...]:
    found: list[TemplateParameter] = []
    for heading in item.template:
        words = angles(_texts(item.source.tokens_in(heading.start_byte, heading.end_byte)), 0)[0]
        for part in split(words):
            left, default = (part[: part.index("=")], part[part.index("=") + 1 :]) if "=" in part else (part, ())
            if "(" in left[:-1] and "*" in left:  # a function pointer
                left = left[: left.index(")")]
            names = [word for word in left if re.fullmatch(r"[A-Za-z_]\w*", word)]
            nameless = (len(names) < 2 and names[-1:] != []) or not names
            found.append(
                TemplateParameter(
                    "" if nameless else names[-1],
                    default,
                    "..." in left or left.count(".") >= 3,
                    left[:1] in (("typename",), ("class",)),
                )
            )
    return tuple(found)


def _types(item: Item) -> tuple[Words, ...]:
    """Return the types of a function's parameters."""
    if item.kind != "function":
        return ()
    words = [word for word in _texts(item.source.tokens_in(item.start, item.body)) if word not in DECORATION]
    opening = call_of(words, item.names[0])
    if opening is None:
        return ()
    return tuple(without_name(part) for part in split(words[opening + 1 : closing(words, opening)]))


class _Unknown(Exception):
    """The reason why an argument cannot be deduced."""


@dataclass
class _Search:
    items: Sequence[Item]
    macros: Mapping[str, Sequence[Macro]]
    templates: Mapping[str, Sequence[Template]]
    found: list[Instance] = field(default_factory=list)
    unresolved: list[Unresolved] = field(default_factory=list)
    done: set[tuple[int, tuple[tuple[str, Words], ...]]] = field(default_factory=set)
    elsewhere: set[tuple[str | Words, ...]] = field(default_factory=set)
    """Instances that another file defines (`extern template`), each as a name and arguments."""

    def __post_init__(self) -> None:
        self.words_of: dict[Item, list[tuple[str, int]]] = {}
        self.declared: dict[Item, Locals] = {}
        self.scopes: dict[str, tuple[str, ...]] = {}
        self.globals: dict[str, Words] = {}
        self.fields: dict[str, Words] = {}
        self.returns: dict[str, Words] = {}
        self.members: dict[str, list[Item]] = {}
        self.nested = {member for item in self.items for member in item.members}
        for item in self.items:
            if item.owner:
                self.members.setdefault(item.owner, []).append(item)
            for name in item.names:
                if not item.owner:
                    self.scopes.setdefault(name, item.scope)
            if item.kind == "variable" and not item.members:
                types = locals_of([";", *_texts(item.tokens)])[0]
                for name, kind in types.items():
                    (self.fields if item.owner else self.globals).setdefault(name, kind)
            if item.kind == "function" and item.names and not item.template:
                declared = type_at(_texts(item.source.tokens_in(item.start, item.body)), 0)
                if declared:
                    self.returns.setdefault(item.names[0], declared[0])
        self.kernels = {name for name, known in self.templates.items() if any(_is_kernel(each) for each in known)}
        self.leading = self._leading()

    def _words(self, item: Item) -> list[tuple[str, int]]:
        if item not in self.words_of:
            try:
                self.words_of[item] = list(expand(item.tokens, self.macros))
            except OverflowError:
                self.words_of[item] = []
                self._give_up(item)
        return self.words_of[item]

    def _give_up(self, item: Item) -> None:
        for kernel in sorted(self.kernels):
            self.unresolved.append(
                Unresolved(kernel, item.source.name, item.line, "the host code is too large to follow")
            )

    def _leading(self) -> set[str]:
        """Return the names of the kernel templates, and of the templates that use one directly or indirectly."""
        users: dict[str, set[str]] = {}
        for name, known in self.templates.items():
            for each in known:
                parts = [each.item, *self.members.get(name, ())] if each.item.kind == "type" else [each.item]
                for part in parts:
                    for word, _ in self._words(part):
                        if word in self.templates and word != name:
                            users.setdefault(word, set()).add(name)
        leading: set[str] = set()
        waiting = list(self.kernels)
        while waiting:
            name = waiting.pop()
            if name not in leading:
                leading.add(name)
                waiting += users.get(name, ())
        return leading

    def run(self) -> None:
        """Follow everything that is not a template."""
        for item in self.items:
            words = [word for word, _ in self._words(item)] if item.kind != "function" else []
            if _is_elsewhere(words):
                named = next((index for index, word in enumerate(words) if word in self.leading), len(words))
                arguments = split(angles(words, named + 1)[0]) if words[named + 1 : named + 2] == ["<"] else []
                self.elsewhere.add((*words[named : named + 1], *(self.resolve(each, item, {}) for each in arguments)))
        for item in self.items:
            if item not in self.nested and not _template_of(item) and not self._is_of_template(item):
                self.follow(item, {})

    def _is_of_template(self, item: Item) -> bool:
        return bool(item.owner) and any(each.item.kind == "type" for each in self.templates.get(item.owner, ()))

    def follow(self, item: Item, known: Mapping[str, Words]) -> None:
        """Record the instances that one function requests. `known` has the arguments of its template parameters."""
        key = id(item), tuple(sorted(known.items()))
        if key in self.done:
            return
        if len(self.done) >= LIMIT:
            self._give_up(item)
            return
        self.done.add(key)
        offsets = self._words(item)
        words = [word for word, _ in offsets]
        if not self.leading.intersection(words) or _is_elsewhere(words):
            return
        uses = []
        heading = item.names[0] if item.kind != "instantiation" and item.names else ""
        for index, word in enumerate(words):
            if word not in self.leading or ((index and words[index - 1] in (".", "->")) and word not in self.members):
                continue
            if word == heading and offsets[index][1] < item.body:
                continue
            uses.append(index)
        seen = locals_at(words, frozenset(uses))
        for index in uses:
            self.declared[item] = seen[index]
            self._use(item, words, index, known, item.source.line(offsets[index][1]))

    def _use(self, item: Item, words: list[str], index: int, known: Mapping[str, Words], line: int) -> None:
        name = words[index]
        explicit, after = angles(words, index + 1) if words[index + 1 : index + 2] == ["<"] else ((), index + 1)
        following = words[after] if after < len(words) else ""
        is_kernel = name in self.kernels
        if not explicit and after == index + 1:
            # Without template arguments, a kernel is only launched or named; a call is to a function of the same name.
            if following == "(" if is_kernel else following != "(":
                return
            if is_kernel and following != "<<<" and (following in ("::", "=", "{") or name in self.declared[item][0]):
                return
        seen = self.declared[item]
        start = after
        if following == "<<<":
            depth_end = next((at for at in range(after + 1, len(words)) if words[at] == ">>>"), len(words) - 1)
            start = depth_end + 1
        arguments = split(words[start + 1 : closing(words, start)]) if words[start : start + 1] == ["("] else None
        reasons = []
        followed = False
        for each in self.templates[name]:
            if each.item.kind == "type" and not explicit:
                continue
            self.declared[item] = seen  # following another instance of this function may have changed it
            try:
                bound = self._bound(each, item, explicit, arguments, known)
            except _Unknown as unknown:
                reasons.append(str(unknown))
                continue
            followed = True
            if _is_kernel(each):
                self._note(each, bound, item, line)
                return
            if each.item.kind == "type":
                for member in [each.item, *self.members.get(name, ())]:
                    self.follow(member, bound)
            elif not self._is_declared_elsewhere(name, each, item, bound):
                self.follow(each.item, bound)
        for kernel in sorted(self._reached(name)) if reasons and not followed else ():
            self.unresolved.append(Unresolved(kernel, item.source.name, line, reasons[0]))

    def _is_declared_elsewhere(self, name: str, each: Template, item: Item, bound: Mapping[str, Words]) -> bool:
        """Return whether `extern template` prevents a call from creating the instance in this file."""
        said = (name, *(bound[parameter.name] for parameter in each.parameters if parameter.name in bound))
        return item.kind == "function" and said in self.elsewhere and not each.item.heading & {"inline", "constexpr"}

    def _reached(self, name: str) -> set[str]:
        """Return the kernel templates that a template uses directly or indirectly."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            for each in self.templates.get(current, ()):
                if not _is_kernel(each):
                    parts = [each.item, *self.members.get(current, ())] if each.item.kind == "type" else [each.item]
                    waiting += [word for part in parts for word, _ in self._words(part) if word in self.leading]
        return seen & self.kernels

    def _note(self, each: Template, bound: Mapping[str, Words], item: Item, line: int) -> None:
        arguments = []
        for parameter in each.parameters:
            if parameter.name not in bound:
                break
            arguments.append(bound[parameter.name])
        name = "::".join([*(part for part in each.item.scope if part), each.item.names[0]])
        expression = f"{name}<{', '.join(displayed(argument) for argument in arguments)}>"
        self.found.append(Instance(name, expression, item.source.name, line))

    def _bound(
        self,
        each: Template,
        item: Item,
        explicit: Words,
        arguments: Sequence[Words] | None,
        known: Mapping[str, Words],
    ) -> dict[str, Words]:
        """Return the arguments of a template's parameters. Raises _Unknown."""
        bound: dict[str, Words] = {}
        given = [self.resolve(argument, item, known) for argument in split(explicit)]
        for index, parameter in enumerate(each.parameters):
            if parameter.pack and len(given) > index:
                flat: list[str] = []
                for argument in given[index:]:
                    flat += [*([","] if flat else []), *argument]
                bound[parameter.name] = tuple(flat)
            elif index < len(given):
                bound[parameter.name or f"#{index}"] = given[index]
        names = frozenset(parameter.name for parameter in each.parameters if parameter.name not in bound)
        if names and arguments is not None:
            for pattern, argument in zip(each.types, arguments, strict=False):
                if not names.intersection(pattern):
                    continue
                is_declared = item.kind == "instantiation"
                kind = without_name(argument) if is_declared else self.type_of(argument, item, known)
                if kind is not None:
                    unify(pattern, self.resolve(kind, item, known), names, bound)
        for index, parameter in enumerate(each.parameters):
            key = parameter.name or f"#{index}"
            if key in bound:
                if parameter.is_type and re.match(r"\d|true$|false$", bound[key][0]):
                    raise _Unknown(
                        f"{displayed(bound[key])} is not a type for {parameter.name} of {each.item.names[0]}"
                    )
                continue
            if parameter.default:
                if not _is_kernel(each):
                    bound[key] = self.resolve(parameter.default, each.item, bound)
                continue
            if parameter.pack:
                continue
            shown = displayed(arguments[0]) if arguments and len(arguments) == 1 else "its arguments"
            raise _Unknown(f"{parameter.name or 'a parameter'} of {each.item.names[0]} cannot be deduced from {shown}")
        return bound

    def resolve(self, words: Words, item: Item, known: Mapping[str, Words], depth: int = 0) -> Words:
        """Return a template argument in a form that is valid at the end of the file. Raises _Unknown."""
        types, values, aliases = self.declared.get(item) or locals_of([word for word, _ in self._words(item)])
        result: list[str] = []
        for index, word in enumerate(words):
            before = words[index - 1] if index else ""
            if not re.match(r"[A-Za-z_]", word) or before in ("::", ".", "->") or word in BUILTIN:
                if word != "typename" or known:
                    result.append(word)
            elif word in known:
                result += (
                    known[word] if len(known[word]) == 1 or not is_value(known[word]) else ("(", *known[word], ")")
                )
            elif word in values and item.kind != "variable" and depth < 8:
                value = self.resolve(values[word], item, known, depth + 1)
                result += value if len(value) == 1 else ("(", *value, ")")
            elif word in aliases and item.kind in ("function", "fragment") and depth < 8:
                result += self.resolve(aliases[word], item, known, depth + 1)
            elif word in types and word not in self.scopes and item.kind == "function":
                raise _Unknown(f"{displayed(words)} depends on the variable {word}")
            elif any(parameter.name == word for parameter in _template_of(item)):
                raise _Unknown(f"{displayed(words)} depends on the template parameter {word}")
            else:
                scope = [part for part in self.scopes.get(word, ()) if part]
                result += [part for name in scope for part in (name, "::")]
                result.append(word)
        return tuple(result)

    def _static_functions(self, called: Words) -> list[Item]:
        """Return the member functions of a class that `called` may name, as in `Box<int>::of`."""
        return [
            member
            for word in called[:-1]
            for member in self.members.get(word, ())
            if "::" in called and member.kind == "function" and called[-1] in member.names
        ]

    def _made_by(self, member: Item, called: Words) -> Words | None:
        """Return the type that a static member function returns: the class, or a type that depends on no template."""
        declared = type_at(_texts(member.source.tokens_in(member.start, member.body)), 0)
        if declared is None or declared[0] == (member.owner,):
            return declared and called[:-2]
        return None if member.template else declared[0]

    def type_of(self, words: Words, item: Item, known: Mapping[str, Words], depth: int = 0) -> Words | None:
        """Return the type of an expression if it is simple to determine, else None."""
        if not words or depth > 8:
            return None
        types = self.declared[item][0] if item in self.declared else {}
        first = words[0]
        if len(words) == 1:
            if re.match(r"[\d.]", first):
                return literal(first)
            if first in ("true", "false"):
                return ("bool",)
            kind = types.get(first) or self.globals.get(first) or (self.fields.get(first) if item.owner else None)
            if kind and kind[:2] == ("auto", "="):
                return self.type_of(kind[2:], item, known, depth + 1)
            if kind is None and (first in SIMPLE or first in known):
                return words
            return kind
        if first == "(" and closing(words, 0) == len(words) - 1:
            return self.type_of(words[1:-1], item, known, depth + 1)
        if (
            first == "("
            and (cast := type_at(words, 1))
            and words[cast[1] : cast[1] + 1] == (")",)
            and (cast[0][-1] in "*&" or cast[0][0] in SIMPLE or cast[0][0] not in types)
        ):
            return cast[0]
        if first == "&":
            kind = self.type_of(words[1:], item, known, depth + 1)
            return None if kind is None else (*plain(kind), "*")
        if first == "*":
            kind = self.type_of(words[1:], item, known, depth + 1)
            return pointee(kind)
        if first in ("static_cast", "reinterpret_cast", "const_cast"):
            return angles(words, 1)[0] or None
        if words[-1] == "]":
            opening = max(index for index, word in enumerate(words) if word == "[")
            return pointee(self.type_of(words[:opening], item, known, depth + 1))
        whole = type_at(words, 0)
        if whole and whole[1] == len(words) and (words[-1] in "*&>" or first in ("const", *SIMPLE)):
            return whole[0]
        if whole and words[whole[1] : whole[1] + 1] in (("{",), ("(",)) and closing(words, whole[1]) == len(words) - 1:
            if first in self.returns and len(whole[0]) == 1:
                return self.returns[first]
            if members := self._static_functions(whole[0]):
                return self._made_by(members[-1], whole[0])
            if whole[0][0] in self.scopes or whole[0][0] in SIMPLE or words[whole[1]] == "{":
                return whole[0]
        if words[-2:-1] in ((".",), ("->",)):
            return self.fields.get(words[-1])
        if len(words) > 2 and words[1] in "+-" and re.match(r"[A-Za-z_]", first):
            kind = self.type_of(words[:1], item, known, depth + 1)
            return kind if kind and (kind[-1] == "*" or len(words) == 3) else None
        return None


def _is_elsewhere(words: Sequence[str]) -> bool:
    """Return whether a declaration is an `extern template`: another file defines the instance."""
    return list(words[:2]) == ["extern", "template"]


def _is_kernel(template: Template) -> bool:
    return "__global__" in template.item.markers


def _template_of(item: Item) -> tuple[TemplateParameter, ...]:
    return _parameters(item)
