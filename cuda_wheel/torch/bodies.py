"""Generate the functions of an operator that is a Python function, which launches kernels and calls PyTorch."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cuda_wheel.operators.declarations import InputArgument, names_of, why_no_name
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.torch.functions import OperatorFunctions, fits_schema
from cuda_wheel.torch.launch_checks import Call, checking, checks_running

__all__ = ["Body", "BodyFunctions", "body_of"]


class Body(NamedTuple):
    """The Python function of an operator, and what its signature says about the operator."""

    function: Callable[..., Any]
    schema: str
    """The operator's schema, without its namespace: "swish(Tensor x, float beta=1.0) -> Tensor"."""
    inputs: tuple[InputArgument, ...]
    outputs: tuple[str, ...]
    """Names of the output tensors, such as "y"; () if a result is not a tensor. A parameter of `backward` that has an
    output's name gets that output."""
    results: tuple[str, ...]
    """Types of the operator's results, as PyTorch's schema spells them: "Tensor", "List[Tensor]", "int", ..."""
    read_only: frozenset[str]
    """Names of the tensor arguments that kernels only read, though their pointers are not `const`."""
    is_random: bool
    """Whether the operator's function draws random numbers. (setting `random`)"""
    shapes: Callable[..., Any]
    """Function that makes the outputs from fake tensors (tensors without data). It is `fake` of the declaration, else
    the operator's own function."""


def body_of(
    torch: Any,
    name: str,
    function: Callable[..., Any],
    outputs: str | Sequence[str],
    writes: Iterable[str],
    read_only: Iterable[str],
    is_random: bool,
    fake: Callable[..., Any] | None,
) -> Body:
    """Return what the signature of an operator's Python function says about the operator.

    Raises ArgumentError for a function whose parameters or results an operator cannot have.
    """
    if not callable(function):
        raise ArgumentError(f"{name}: operator without kernel decorates a function, not {function!r}")
    signature = inspect.signature(function)
    written, unchanged = _inputs(name, "writes", writes, signature), _inputs(name, "read_only", read_only, signature)
    if both := written & unchanged:
        raise ArgumentError(f"{name}: {' and '.join(sorted(both))} is in writes and in read_only")
    _check_parameters(name, signature)
    schema = _schema(torch, name, function, signature, written)
    parsed = torch._C.parse_schema(schema)
    inputs = tuple(_input(each, signature, written) for each in parsed.arguments)
    if not any(each.is_array for each in inputs):
        raise ArgumentError(f"{name} takes no tensor, so PyTorch cannot know on which GPU it runs")
    numbers = [each.name for each in inputs if not each.is_array]
    if wrong := sorted((written | unchanged) & {*numbers}):
        raise ArgumentError(f"{name}: {' and '.join(wrong)} in writes or read_only is no tensor")
    results = tuple(str(each.type) for each in parsed.returns)
    named = _output_names(name, outputs, results, inputs)
    return Body(function, schema, inputs, named, results, unchanged, is_random, fake or function)


def _check_parameters(name: str, signature: inspect.Signature) -> None:
    """Raise ArgumentError for a parameter that cannot be passed by position and by name, or that begins with an
    underscore."""
    for parameter in signature.parameters.values():
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise ArgumentError(f"{name}: {parameter.name} must be a parameter that is passed by position and by name")
        if parameter.name.startswith("_"):  # the generated functions have such names
            raise ArgumentError(f"{name}: the parameter {parameter.name} begins with an underscore")


def _inputs(name: str, what: str, given: Iterable[str], signature: inspect.Signature) -> frozenset[str]:
    """Return the parameter names in `given` as a set. Raise ArgumentError for a name that is not a parameter.

    `given`: value of the setting `what`, "writes" or "read_only". `name`: the operator's name. `signature`: that of the
    operator's function. Error message: "scale: writes names 'z', which is not one of x, y".
    """
    names = names_of(name, what, given)
    for each in names:
        if each not in signature.parameters:
            raise ArgumentError(f"{name}: {what} names {each!r}, which is not one of {', '.join(signature.parameters)}")
    return frozenset(names)


def _output_names(
    name: str, outputs: str | Sequence[str], results: Sequence[str], inputs: Sequence[InputArgument]
) -> tuple[str, ...]:
    """Return the names of the operator's outputs; () if a result is not a tensor.

    The names are `outputs`. If that is empty, they are ("output",) for one result, else ("output0", "output1", ...).
    `results`: types of the results in the schema. Raise ArgumentError for a wrong number of names, and for a name that
    no output can have.
    """
    count = len(results)
    named = names_of(name, "outputs", outputs)
    if not named:
        named = ("output",) if count == 1 else tuple(f"output{number}" for number in range(count))
    if len(named) != count:
        raise ArgumentError(f"{name} returns {count} results, but outputs names {len(named)}: {', '.join(named)}")
    for each in named:
        if wrong := why_no_name(each, named):
            raise ArgumentError(f"{name}: {each!r} in outputs {wrong}")
        if any(each == argument.name for argument in inputs):
            raise ArgumentError(f"{name}: {each} is a parameter and in outputs: rename one")
    return named if {*results} == {"Tensor"} else ()


def _schema(
    torch: Any, name: str, function: Callable[..., Any], signature: inspect.Signature, written: frozenset[str]
) -> str:
    """Return the operator's schema without its namespace: "swish(Tensor x) -> Tensor".

    PyTorch makes it from the annotations of `function`; raise ArgumentError if these do not suit an operator. `written`
    are the names of the tensors that the operator changes.
    """
    if not hasattr(torch.library, "infer_schema"):
        raise ArgumentError(f"{name}: operators that are Python functions need PyTorch 2.5 or newer")

    def prototype() -> None: ...

    try:
        annotations = inspect.get_annotations(function, eval_str=True)
        returned = annotations.get("return", signature.return_annotation)
        parameters = []
        for each in signature.parameters.values():
            each = each.replace(annotation=annotations.get(each.name, each.annotation))
            if not fits_schema(each.default):  # as for declared operators, None stands for it
                each = each.replace(default=None, annotation=float | None)
            parameters.append(each)
        if returned is inspect.Signature.empty:
            raise ValueError("its result has no annotation: None, Tensor or a tuple of them")
        prototype.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=returned
        )
        prototype.__module__ = function.__module__
        return str(torch.library.infer_schema(prototype, mutates_args=written, op_name=name.rpartition("::")[2]))
    except Exception as error:
        reason = str(error).partition("\n")[0].removeprefix("infer_schema(func): ").partition(" The valid types")[0]
        raise ArgumentError(f"{name}: the annotations of its function are not those of an operator: {reason}") from None


_KINDS = {
    "Tensor": "Pointer", "List[Tensor]": "Pointers", "List[Optional[Tensor]]": "Pointers",
    "bool": "bool", "int": "Integer", "SymInt": "Integer", "float": "Real",
}  # fmt: skip
"""Type in PyTorch's schema -> `InputArgument.type`. For a type that is not here, it is "Other"."""


def _input(argument: Any, signature: inspect.Signature, written: frozenset[str]) -> InputArgument:
    """Return the description of one of the operator's arguments.

    `argument`: the argument in PyTorch's parsed schema.
    `signature`: that of the operator's function, which has the argument's default.
    `written`: names of the tensors that the operator changes.
    """
    type_, default = str(argument.type), signature.parameters[argument.name].default
    has_default = default is not inspect.Parameter.empty
    is_optional = type_.startswith("Optional[")
    return InputArgument(
        argument.name,
        _KINDS.get(type_.removeprefix("Optional[").removesuffix("]") if is_optional else type_, "Other"),
        argument.name in written,
        has_default,
        default if has_default else None,
        is_optional,
    )


class BodyFunctions(OperatorFunctions):
    """Generates the functions of an operator that is a Python function.

    The Python function itself runs in each call. Its launches are checked in the first call with tensors of some types;
    with fake tensors, they are checked and not run.
    """

    def __init__(self, torch: Any, name: str, body: Body, non_contiguous: str) -> None:
        loses_gradients = not body.outputs and any("Tensor" in each for each in body.results)
        super().__init__(torch, name, body.inputs, non_contiguous, not loses_gradients)
        self._body = body
        self._written = frozenset(each.name for each in body.inputs if each.written)
        self._namespace |= {
            "_body": body.function,
            "_first": self._first,
            "_shape": self._shape,
            "_known": set(),
            "_last": None,
            "_checks_running": checks_running,
            "_increment_versions": _increment_versions(torch),
        }

    def _first_call(self) -> Iterator[str]:
        yield from self._versions()
        yield f"return _first({self._key()}, ({self._passed}, ))"

    def _later_call(self) -> Iterator[str]:
        yield "global _last"
        yield "if (_key is not _last and _key != _last) or _checks_running:"
        yield f"    if _key not in _known or _checks_running: return _checked({self._passed})"
        yield "    _last = _key"
        yield from self._versions()
        yield f"return _body({self._passed})"

    def _shapes(self) -> Iterator[str]:
        yield f"return _shape(({self._passed}, ))"

    def _versions(self) -> Iterator[str]:
        """Yield the source lines that increase the version counter of each tensor that the operator writes. By these
        counters, autograd notices that a tensor has changed."""
        for each in self._inputs:
            if each.written and each.type == "Pointers":
                yield f"_increment_versions({each.name})"
            elif each.written:
                there = f"if {each.name} is not None: " if each.is_optional else ""
                yield f"{there}_increment_version({each.name})"

    def _key(self) -> str:
        """Return the Python expression of a call's key: "(_device, x.dtype, flag, )". Only the first call with a key is
        checked.

        After the GPU's index come, in the arguments' order, each bool's value and the element type of each tensor that
        is not in a list (None if missing).
        """
        parts = ["_device"]
        for each in self._inputs:
            if each.type == "Pointer":
                missing = f" if {each.name} is not None else None" if each.is_optional else ""
                parts.append(f"{each.name}.dtype{missing}")
            elif each.type == "bool":
                parts.append(each.name)
        return f"({', '.join(parts)}, )"

    def _tensors_decide_key(self) -> bool:
        return super()._tensors_decide_key() and all(each.type != "bool" for each in self._inputs)

    def _first(self, key: Any, values: tuple[Any, ...]) -> Any:
        """Run the first call with this `key`: call the operator's function with the arguments `values`, and check its
        launches and results. Return the results.

        Later calls with the same key are not checked.
        """
        self._note_gpus()
        results = self._checked_call(self._body.function, values, launches=True)
        self._namespace["_known"].add(key)
        return results

    def _shape(self, values: tuple[Any, ...]) -> Any:
        """Return the outputs for the arguments `values`, which have fake tensors (without data). Launches are checked,
        but do not run."""
        return self._checked_call(self._body.shapes, values, launches=False)

    def _checked_call(self, function: Callable[..., Any], values: tuple[Any, ...], launches: bool) -> Any:
        inputs = dict(zip((each.name for each in self._inputs), values, strict=True))
        call = Call(self._operator, inputs, self._written, self._body.read_only, self._body.is_random, launches)
        with checking(call):
            results = function(*values)
        self._check_kinds(results)
        call.check_results(results if isinstance(results, tuple) else [results])
        return results

    def _check_kinds(self, results: Any) -> None:
        """Raise ArgumentError if the number or the types of the function's results are not those of its annotation."""
        kinds = self._body.results
        if not kinds and results is None:
            return
        found = results if isinstance(results, (tuple, list)) and len(kinds) != 1 else (results,)
        tensor = self._torch.Tensor
        fits = len(found) == len(kinds) and all(
            isinstance(each, tensor) if kind == "Tensor" else isinstance(each, (list, tuple)) or "List" not in kind
            for each, kind in zip(found, kinds, strict=True)
        )
        if not fits:
            shown = ", ".join(type(each).__name__ for each in found)
            raise ArgumentError(
                f"{self._operator}: its function returned ({shown}), but its annotation says ({', '.join(kinds)})"
            )


def _increment_versions(torch: Any) -> Callable[[Sequence[Any]], None]:
    """Return a function that takes a list of tensors and increases the version counter of each. An item of the list may
    be None, and is skipped."""
    increment = torch.autograd.graph.increment_version

    def at_once(tensors: Sequence[Any]) -> None:
        increment([each for each in tensors if each is not None])

    def one_by_one(tensors: Sequence[Any]) -> None:
        for each in tensors:
            if each is not None:
                increment(each)

    return at_once if hasattr(torch.library, "get_kernel") else one_by_one  # PyTorch 2.9, and some before
