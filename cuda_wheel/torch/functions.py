"""Generate the functions of an operator: what launches, what only makes the outputs, what PyTorch's transforms call.

As in `runtime.generated`, straight-line source is faster than a loop over the arguments at each call. The names that
the source uses begin with an underscore; those of arguments do not.
"""

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from cuda_wheel.operators.declarations import ARRAYS, InputArgument, OperatorArguments
from cuda_wheel.runtime.driver import device_with_context
from cuda_wheel.runtime.errors import ArgumentError
from cuda_wheel.runtime.generated import define
from cuda_wheel.runtime.streams import CurrentStreams
from cuda_wheel.torch.recognition import Recogniser, is_below_autograd

__all__ = [
    "AUTOGRAD_KEY",
    "GPU_KEY",
    "TRANSFORM_KEY",
    "OperatorFunctions",
    "define_function",
    "fits_schema",
    "one_after_the_other",
    "schema",
    "setting_defaults",
]


GPU_KEY, AUTOGRAD_KEY = "CUDA", "AutogradCUDA"
"""Two of PyTorch's dispatch keys: the first is for an operator's implementation on GPUs, the second for its
implementation that records gradients. Tests without a GPU replace both keys."""

TRANSFORM_KEY = "FuncTorchDynamicLayerFrontMode"
"""PyTorch's dispatch key of the implementation for calls inside transforms of torch.func."""


_TYPES = {"Pointer": "Tensor", "Accessor": "Tensor", "Integer": "SymInt", "Real": "float", "bool": "bool"}
"""`InputArgument.type` -> type in PyTorch's schema. A SymInt is an integer that may be unknown while PyTorch compiles;
the kernel gets an int."""


def schema(name: str, arguments: OperatorArguments) -> str:
    """Return the schema of the operator `name`, without its namespace: "swish(Tensor x, float beta=1.0) -> Tensor"."""
    results = ", ".join(["Tensor"] * len(arguments.outputs))
    inputs = ", ".join(_argument(name, each) for each in arguments.inputs)
    short = name.rpartition("::")[2]
    return f"{short}({inputs}) -> {results if len(arguments.outputs) == 1 else f'({results})'}"


def _argument(operator: str, argument: InputArgument) -> str:
    """Return an argument as the schema spells it: "float beta=1.0", or "Tensor(x!) x" for a tensor that the operator
    writes.

    Raise ArgumentError for an integer default that does not fit into 64 bits.
    """
    type_ = f"Tensor({argument.name}!)" if argument.written else _TYPES[argument.type]
    if not argument.has_default:
        return f"{type_} {argument.name}"
    if argument.type == "Integer" and not -(1 << 63) <= argument.default < 1 << 63:
        raise ArgumentError(
            f"{operator}: the default of {argument.name} is {argument.default}, but PyTorch's integers are signed and "
            "have 64 bits"
        )
    default = argument.default if fits_schema(argument.default) else None
    return f"{type_}{'?' if default is None else ''} {argument.name}={default}"


def fits_schema(default: object) -> bool:
    """Return whether a schema can state this default. It cannot state inf, nan and denormal numbers, and has None in
    their place."""
    if not isinstance(default, float) or default == 0:
        return True
    return math.isfinite(default) and abs(default) >= sys.float_info.min


def setting_defaults(inputs: Iterable[InputArgument]) -> Iterator[str]:
    """Yield the lines that replace None by the default, for each argument whose default no schema can state."""
    for each in inputs:
        if not fits_schema(each.default):
            yield f"if {each.name} is None: {each.name} = _default_{each.name}"


def define_function(
    name: str, parameters: str, lines: Sequence[str], namespace: dict[str, Any], operator: str
) -> Callable[..., Any]:
    """Return the generated function with this name, these parameters and these lines. The lines use the names of the
    namespace; `operator` is the origin in tracebacks."""
    body = "".join(f"    {line}\n" for line in lines)
    return define(name, f"def {name}({parameters}):\n{body}", namespace, operator)


class OperatorFunctions:
    """Generates the functions of an operator, whether it is declared as one launch or is a Python function.

    A subclass yields the lines that follow the preparation of the tensors: `_first_call` for the first call with
    tensors of some GPUs and element types, `_later_call` for later ones with the same, and `_shapes` for fake tensors,
    without a launch.
    """

    def __init__(
        self,
        torch: Any,
        operator: str,
        inputs: Sequence[InputArgument],
        non_contiguous: str,
        is_differentiable: bool = True,
    ) -> None:
        """`is_differentiable` is False for an operator with a result that is not a tensor, for which PyTorch computes
        no gradient."""
        self._torch = torch
        self._operator = operator
        self._inputs = inputs
        self._non_contiguous = non_contiguous
        self._tensors = [each for each in inputs if each.is_array]
        self._passed = ", ".join(each.name for each in inputs)
        """Names of the operator's arguments as generated functions pass them on: "x, w, beta"."""
        self._has_jvp = False
        self._refuses_gradients = not is_differentiable or any(each.written for each in self._tensors)
        """Whether calls refuse tensors that require a gradient. They do if the gradient would be lost: if the operator
        writes a tensor, or is not `is_differentiable`."""
        # No argument of an operator begins with an underscore, so that these names stay what they are.
        self._namespace: dict[str, Any] = {
            "_forward_ad": torch.autograd.forward_ad,
            "_grad_enabled": torch.is_grad_enabled,
            "_refuse_strides": self._refuse_strides,
            "_refuse_gradient": self._refuse_gradient,
            "_refuse_tangents": self._refuse_tangents,
            "_device_of": _device_of,
            "_all_contiguous": _all_contiguous,
            "_any_requires_grad": _any_requires_grad,
        }
        """Global variables of the generated functions: name in the generated source, such as "_device_of" -> value."""

    def _first_call(self) -> Iterator[str]:
        """Yield the source lines that check and run the first call with each `_key` (GPUs and element types of the
        tensors).

        They follow the lines of `_preparation` in the generated function `_checked`.
        """
        raise NotImplementedError

    def _later_call(self) -> Iterator[str]:
        """Yield the source lines that run a call whose key is in the variable `_key`. If no earlier call had the same
        key, the lines call `_checked`, the generated function that checks the call and runs it."""
        raise NotImplementedError

    def _shapes(self) -> Iterator[str]:
        """Yield the source lines for a call with fake tensors (without data). The lines check the arguments, launch
        nothing, and return the outputs. They follow the lines of `_preparation`."""
        raise NotImplementedError

    def launching_function(self, has_jvp: bool = False) -> Callable[..., Any]:
        """Return the function that makes the outputs, launches and returns the outputs.

        The first call with tensors of some GPUs and element types checks all arguments of its launches. Later ones with
        the same are quicker. Unless the operator `has_jvp`, the function refuses tensors with a forward-mode
        derivative.
        """
        self._has_jvp = has_jvp
        self._namespace |= {
            "_several_gpus": False,
            # The first function is what the second calls after it has made sure that CUDA is initialised.
            "_current_device": getattr(self._torch._C, "_cuda_getDevice", self._torch.cuda.current_device),
            "_cuda_device": self._torch.cuda.device,
            "_device_with_context": device_with_context,
            "_thread": threading.local(),
            "_current_stream": CurrentStreams()[(self._torch.Tensor,)],
            "_increment_version": self._torch.autograd.graph.increment_version,
        }
        self._compiled([*self._preparation(), *self._first_call()], self._namespace, "_checked")
        return self._compiled([*self._refusals(), *self._prepared_call()], self._namespace, "_function")

    def prepared_function(self) -> Callable[..., Any]:
        """Return the function that does what the launching function does, for callers that have set defaults and
        refused the derivatives that the operator does not have."""
        return self._compiled(self._prepared_call(), self._namespace, "_prepared")

    def _prepared_call(self) -> list[str]:
        return [*self._preparation(), *self._call_on_gpu()]

    def _call_on_gpu(self) -> list[str]:
        return [*self._on_its_gpu(), *self._before_key(), f"_key = {self._key()}", *self._later_call()]

    def _recognised_call_on_gpu(self) -> list[str]:
        """Return the source lines that run a call and note it. They follow the lines of `_recognition`."""
        key = self._key()
        if self._tensors_decide_key():
            key = f"_seen_key if _is_known and {self._is_usual()} else {key}"
        noting = self._noting("pass")
        return [*self._on_its_gpu(), *self._before_key(), f"_key = {key}", *noting, *self._later_call()]

    def _is_usual(self) -> str:
        """Return the Python expression that is true if all optional tensors are given, or all are None."""
        return "(_there or _none)" if self._single()[1] else "True"

    def _noting(self, finding_device: str) -> list[str]:
        """Return the source lines that note a call if `_is_known` is false, unless only some optional tensors are
        given. Later calls like it may then be recognised. No lines if the operator has no required tensor.

        `finding_device`: source line that assigns `_device`; "pass" if earlier lines do.
        """
        required, optional = self._single()
        if not required:
            return []
        given = ", ".join(required)
        if optional:
            given = f"*(({', '.join(required + optional)}, ) if _there else ({given}, ))"
        key = self._key() if self._tensors_decide_key() else "None"
        return [
            f"if not _is_known and {self._is_usual()}:",
            f"    {finding_device}",
            f"    _note({key}, _device, _there, {given})",
        ]

    def _recognition(self) -> Iterator[str]:
        """Yield the source lines that compare a call with an earlier one. They assign:

        `_matches`, `_seen_key`, `_seen_device`, `_seen_there`, `_seen_requires_grad`, `_seen_below`: the fields of the
        earlier call's `Recognised`.
        `_there`: whether all optional tensors are given.
        `_none`: whether all are None.
        `_is_known`: whether the required tensors, and the optional ones if `_there`, are like the earlier call's.
        """
        yield "_matches, _seen_key, _seen_device, _seen_there, _seen_requires_grad, _seen_below = _seen"
        required, optional = self._single()
        there = " and ".join(f"{name} is not None" for name in optional) or "True"
        yield f"_there, _none = {there}, {' and '.join(f'{name} is None' for name in optional) or 'True'}"
        if not required:
            yield "_is_known = False"
            return
        nested = " or ".join(f"{name}.is_nested" for name in required)
        matches = f"_matches({', '.join(required)})"
        if optional:
            nested_too = " or ".join(f"{name}.is_nested" for name in optional)
            all_match = f"not ({nested_too}) and _matches({', '.join(required + optional)})"
            matches = f"_there is _seen_there and ({all_match} if _there else {matches})"
        yield f"try: _is_known = not ({nested}) and {matches}"
        yield "except Exception: _is_known = False"  # of an argument that is no tensor, or of a tensor's subclass

    def _single(self) -> tuple[list[str], list[str]]:
        """Return the names of the required and of the optional arguments that are one tensor, not a list."""
        single = [each for each in self._tensors if each.type in ARRAYS]
        required = [each.name for each in single if not each.is_optional]
        return required, [each.name for each in single if each.is_optional]

    def _tensors_decide_key(self) -> bool:
        """Return whether the expression of `_key` depends only on the GPUs and element types of single tensors, and
        not on lists of tensors or on numbers."""
        return all(each.type in ARRAYS for each in self._tensors)

    def _before_key(self) -> Iterator[str]:
        """Yield the source lines that compute the variables in the expression of `_key`. By default there are none."""
        yield from ()

    def _note_gpus(self) -> None:
        """Note in the generated code's globals whether this machine has several GPUs. If it has, later calls switch to
        the GPU of their tensors."""
        self._namespace["_several_gpus"] = self._torch.cuda.device_count() > 1

    def _on_its_gpu(self) -> list[str]:
        """Return the source lines that make `_device`, the tensors' GPU, current on a machine with several GPUs.

        If another GPU is current, the lines switch to `_device` and call the operator again. They do this in
        a thread's first call too, and create the thread's CUDA context.
        """
        # In a new thread, such as one of autograd's, PyTorch reports a GPU as current before the thread has a CUDA
        # context there.
        return [
            # -1: in host memory
            "if _several_gpus and _device >= 0 and (_device != _current_device() or not _thread.__dict__):",
            "    with _cuda_device(_device):",
            "        _thread.device = _device_with_context(_device)",
            f"        return _function({self._passed})",
        ]

    def differentiable_function(
        self, differentiable: Callable[..., Any], general: Any, with_tangents: Callable[..., Any] | None
    ) -> Callable[..., Any]:
        """Return the operator's implementation at the dispatch key of autograd for GPUs.

        For plain tensors on a GPU it does what the launching function does; or it calls `differentiable` if a gradient
        is asked for, or `with_tangents` where forward-mode derivatives are computed. All others it passes to `general`,
        PyTorch's own kernel: tensors that only look like ones on a GPU (fake, functional, wrapped ones), and the modes
        that trace and transform. These have other dispatch keys left than plain tensors.
        """
        keys = self._torch._C.DispatchKey
        plain = self._torch._C.DispatchKeySet(getattr(keys, GPU_KEY)).add(getattr(keys, AUTOGRAD_KEY))
        lines = [
            f"if _bits(_keys) != {plain.raw_repr()}:",
            f"    if _forward_ad._current_level >= 0: _refuse_tangents({', '.join(self._tensor_names())})",
            f"    return _general(_keys, {self._passed})",
            *self._refusals(),
            *([f"if _forward_ad._current_level >= 0: return _with_tangents({self._passed})"] if with_tangents else []),
            f"if _grad_enabled() and ({self._require_gradients()}): return _differentiable({self._passed})",
            *self._prepared_call(),
        ]
        self._namespace |= {
            "_bits": type(plain).raw_repr,
            "_differentiable": differentiable,
            "_with_tangents": with_tangents,
            "_general": general.call_boxed,
        }
        return self._compiled(lines, self._namespace, "_with_gradient", first="_keys, ")

    def direct_function(
        self, dispatched: Callable[..., Any], differentiable: Callable[..., Any] | None, has_autocast: bool
    ) -> Callable[..., Any]:
        """Return the method by which Python calls the operator.

        It runs plain tensors on a GPU as the launching function does, without PyTorch's dispatcher, which takes as long
        as the launch. `dispatched`, PyTorch's own function, gets all that only the dispatcher does: tensors of other
        kinds, modes, transforms, profiles, traces, autocast, forward-mode derivatives, and arguments of types that are
        converted.
        """
        torch = self._torch
        required, optional = self._single()
        # What a guard does not see, and what it sees.
        watching = ["_profiler._is_profiler_enabled", "_forward_ad._current_level >= 0"]
        seen = ["_transforms()", "_tracing() is not None"]
        # Autocast is in the dispatch keys, but only in those of tensors on its own kind of device.
        (seen if GPU_KEY == "CUDA" else watching).extend(["_autocasting('cuda')"] if has_autocast else [])
        seen += ["_is_included(_pre_dispatch)", "_is_included(_vmap_mode)"]
        plain = {each.name: self._is_plain(each) for each in self._inputs}
        others = [condition for name, condition in plain.items() if name not in (*required, *optional)]
        unusual = [*watching, *(f"not {condition}" for condition in others)]
        seen += [f"not ({plain[name]})" for name in required]
        unusual.append(f"(not _is_known and ({' or '.join(seen)}))")
        if optional:
            conditions = " or ".join(f"not {plain[name]}" for name in optional)
            unusual.append(f"(not (_is_known and _there) and ({conditions}))")
        lines = [
            # Guards see modes of users, but not those of PyTorch's own tools, such as make_fx and fake tensors.
            f"if _function_modes() or _dispatch_modes(): return _dispatched({self._passed})",
            *self._recognition(),
            f"if {' or '.join(unusual)}: return _dispatched({self._passed})",
            *setting_defaults(self._inputs),
        ]
        requires = self._require_gradients(recognises=True)
        if self._refuses_gradients:
            lines.append(f"if _grad_enabled() and ({requires}): _refuse_gradient()")
        elif differentiable is not None:
            lines += [
                f"if _grad_enabled() and ({requires}):",
                f"    if _seen_below if _is_known else _is_below_autograd(): return _dispatched({self._passed})",
                *(f"    {line}" for line in self._noting(f"_device = {self._device()}")),
                f"    return _differentiable({self._passed})",
            ]
        self._namespace |= {
            "_dispatched": dispatched,
            "_differentiable": differentiable,
            "_note": Recogniser(self._namespace).note,
            "_dispatch_modes": torch._C._len_torch_dispatch_stack,
            "_function_modes": torch._C._len_torch_function_stack,
            "_transforms": torch._C._are_functorch_transforms_active,
            "_tracing": torch._C._get_tracing_state,
            "_is_included": torch._C._dispatch_tls_is_dispatch_key_included,
            "_is_below_autograd": partial(is_below_autograd, torch),
            "_pre_dispatch": torch._C.DispatchKey.PreDispatch,
            "_vmap_mode": torch._C._parse_dispatch_key("VmapMode"),  # of the gradients of batches: is_grads_batched
            "_profiler": torch.autograd.profiler,
            "_autocasting": torch.is_autocast_enabled,
            "_plain": frozenset((torch.Tensor, torch.nn.Parameter)),
            "_all_plain": self._all_plain,
            "_strided": torch.strided,
            "_type": type,
            "_int": int,
            "_float": float,
            "_bool": bool,
            "_str": str,
        }
        preparation = [f"    {line}" for line in self._preparation("_seen_device if _is_known else ")]
        # Of a sparse tensor, PyTorch cannot say whether it is contiguous.
        lines += ["try:", *preparation, f"except RuntimeError: return _dispatched({self._passed})"]
        lines.append(f"if _device < 0: return _dispatched({self._passed})" if GPU_KEY == "CUDA" else "pass")
        on_gpu = self._recognised_call_on_gpu() if required else self._call_on_gpu()
        return self._compiled([*lines, *on_gpu], self._namespace, "_direct", first="_self, ")

    def _is_plain(self, argument: InputArgument) -> str:
        """Return the Python expression that is true if the launch can use an argument as it is, without PyTorch's
        dispatcher.

        It is true for a plain tensor (not nested or lazily negated, for example), for a number or string of exactly the
        declared type, and for a missing optional tensor.
        """
        name = argument.name
        conditions = {
            "Pointers": f"_all_plain({name})",
            "Integer": f"_type({name}) is _int",
            "Real": f"_type({name}) is _float",
            "bool": f"_type({name}) is _bool",
            "Other": f"_type({name}) is _str",
        }
        lazy = f"{name}.is_neg() or {name}.is_conj() or {name}._is_zerotensor()"  # which the dispatcher computes
        plain = f"_type({name}) in _plain and not ({name}.is_nested or {lazy})"
        plain += f" and {name}.layout is _strided" if self._non_contiguous == "pass" else ""
        condition = conditions.get(argument.type, plain)
        return f"({name} is None or {condition})" if argument.is_optional else condition

    def _all_plain(self, tensors: Any) -> bool:
        # Sparse tensors have no addresses, and so are refused by the launch.
        kinds = self._namespace["_plain"]
        are_plain = type(tensors) is list and kinds.issuperset(map(type, tensors))
        return are_plain and True not in [
            each.is_nested or each.is_neg() or each.is_conj() or each._is_zerotensor() for each in tensors
        ]

    def shape_function(self) -> Callable[..., Any]:
        """Return the function that checks the inputs and makes the outputs, and launches nothing."""
        lines = [*self._refusals(), *self._preparation(), *self._shapes()]
        return self._compiled(lines, {**self._namespace})

    def transformed_function(
        self, reverse: Callable[..., Any] | None, forward: Callable[..., Any] | None, autocast: Any
    ) -> Callable[..., Any]:
        """Return the function that serves calls inside transforms of `torch.func`.

        `reverse` and `forward` are called with the operator's inputs, converted for `autocast`, where the transform
        computes a derivative in reverse or in forward mode. One that is None is refused there, because the derivative
        would be zero. All else is left to PyTorch's own kernel.
        """
        torch, functorch = self._torch, self._torch._C._functorch
        general = torch.library.get_kernel(self._operator, TRANSFORM_KEY).call_boxed

        def converted(args: Sequence[Any]) -> Sequence[Any]:
            if autocast is None or not torch.is_autocast_enabled("cuda"):
                return args
            floating = [isinstance(each, torch.Tensor) and each.is_floating_point() for each in args]
            return [each.to(autocast) if is_one else each for each, is_one in zip(args, floating, strict=True)]

        def transformed(keys: Any, *args: Any) -> Any:
            transform = functorch.peek_interpreter_stack()
            inputs = [each for each in _tensors_in(args) if functorch.maybe_get_level(each) == transform.level()]
            wants_tangents = transform.key() == functorch.TransformType.Jvp and inputs
            if wants_tangents and forward is None:
                self._refuse_tangents()
            if wants_tangents and forward is not None:
                levels = [each.key() for each in functorch.get_interpreter_stack()]
                if levels.count(functorch.TransformType.Jvp) > 1:
                    raise ArgumentError(
                        f"{self._operator}: forward mode inside forward mode is not computed, but would be zero: use "
                        "reverse mode for one of them, as torch.func.hessian does"
                    )
                return forward(*converted(args))
            if transform.key() == functorch.TransformType.Grad and torch.is_grad_enabled():
                wants_gradient = any(each.requires_grad for each in inputs)
                if wants_gradient and reverse is None:
                    self._refuse_gradient()
                if wants_gradient and reverse is not None:
                    return reverse(*converted(args))
            return general(keys, *args)

        lines = [*setting_defaults(self._inputs), f"return _transformed_call(_keys, {self._passed})"]
        return self._compiled(lines, {"_transformed_call": transformed}, "_transformed", first="_keys, ")

    def _compiled(
        self, lines: list[str], namespace: dict[str, Any], function: str = "_function", first: str = ""
    ) -> Callable[..., Any]:
        """Return a function with the name `function` and these source lines, and add it to `namespace`. Its parameters
        are the operator's inputs.

        `namespace` has the function's global variables. `first` is source text before the inputs in the parameter list,
        such as "_keys, ".
        """
        # PyTorch leaves arguments out that have their default values.
        namespace.update({f"_default_{each.name}": each.default for each in self._inputs if each.has_default})
        parameters = [f"{each.name}=_default_{each.name}" if each.has_default else each.name for each in self._inputs]
        return define_function(function, f"{first}{', '.join(parameters)}", lines, namespace, self._operator)

    def _refusals(self) -> Iterator[str]:
        """Yield the first source lines of a generated function. They set defaults that no schema can state, such as
        infinity. Then they raise ArgumentError if the caller wants a derivative and the operator does not have it."""
        yield from setting_defaults(self._inputs)
        if not self._has_jvp:
            yield f"if _forward_ad._current_level >= 0: _refuse_tangents({', '.join(self._tensor_names())})"
        if self._refuses_gradients:
            yield f"if _grad_enabled() and ({self._require_gradients()}): _refuse_gradient()"

    def _tensor_names(self) -> list[str]:
        """Return, for each tensor argument, the source text that passes it to a function: "x", or "*(xs)" for a list of
        tensors."""
        return [f"*({each.name})" if each.type == "Pointers" else each.name for each in self._tensors]

    def _require_gradients(self, recognises: bool = False) -> str:
        """Return the Python expression that is true if any tensor argument requires a gradient.

        With `recognises`, the expression uses the variables that the lines of `_recognition` assign.
        """
        required, optional = self._single()
        conditions = [f"{name}.requires_grad" for name in required]
        if recognises and required:
            conditions = [f"(_seen_requires_grad if _is_known else {' or '.join(conditions)})"]
        optional = [f"({name} is not None and {name}.requires_grad)" for name in optional]
        if recognises and optional:
            optional = [f"(not (_is_known and _there) and ({' or '.join(optional)}))"]
        lists = [f"_any_requires_grad({each.name})" for each in self._tensors if each.type not in ARRAYS]
        return " or ".join(conditions + optional + lists)

    def _preparation(self, known_device: str = "") -> Iterator[str]:
        """Yield the source lines that make the tensors contiguous, and assign the index of their GPU to `_device`.

        `non_contiguous` decides what the lines do with a tensor that is not contiguous. "copy": replace it by a
        contiguous copy, or raise ArgumentError if the operator writes it. "refuse": raise ArgumentError. "pass": keep
        it as it is.
        `known_device`: source text before the expression of the index: "_seen_device if _is_known else ", or "".
        """
        for each in self._tensors if self._non_contiguous != "pass" else ():
            there = f"{each.name} is not None and " if each.is_optional else ""
            is_copied = self._non_contiguous == "copy" and not each.written  # a copy would take the result
            if each.type == "Pointers":
                copies = f"{each.name} = [_each if _each is None else _each.contiguous() for _each in {each.name}]"
                change = copies if is_copied else f"_refuse_strides({each.name!r})"
                yield f"if not _all_contiguous({each.name}): {change}"
                continue
            change = f"{each.name} = {each.name}.contiguous()" if is_copied else f"_refuse_strides({each.name!r})"
            yield f"if {there}not {each.name}.is_contiguous(): {change}"
        yield f"_device = {known_device}{self._device()}"

    def _device(self) -> str:
        """Return the Python expression for the index of the tensors' GPU. Its value is -1 for tensors in host memory.

        It is "x.get_device()" for the first single tensor x that is not optional. If there is no such tensor, it is a
        call of `_device_of`, which finds the first tensor on a GPU.
        """
        first = next((each for each in self._tensors if each.type in ARRAYS and not each.is_optional), None)
        if first is not None:
            return f"{first.name}.get_device()"
        return f"_device_of(({', '.join(each.name for each in self._tensors)}, ))"

    def _key(self) -> str:
        """Return the Python expression of a call's key: a tuple with the GPU and the element type of each tensor."""
        raise NotImplementedError

    def _refuse_gradient(self) -> None:
        """Raise ArgumentError: a tensor requires a gradient, but the operator has none."""
        written = " and ".join(each.name for each in self._tensors if each.written)
        raise ArgumentError(
            f"{self._operator} {f'writes {written}, so it ' if written else ''}has no gradient, but a tensor requires "
            "one: call it inside torch.no_grad(), or pass x.detach() for a tensor x that requires a gradient"
        )

    def _refuse_tangents(self, *tensors: Any) -> None:
        """Raise ArgumentError if one of `tensors` has a forward-mode derivative, which the call would lose. Always
        raise it before PyTorch 2.9, or without `tensors`.

        Generated functions call this in forward mode where the operator computes no such derivative.
        """
        unpack = self._torch.autograd.forward_ad.unpack_dual
        # Before PyTorch 2.9, tensors of torch.func come here without their tangents.
        exact = hasattr(self._torch.library, "get_kernel")
        if tensors and exact and all(each is None or unpack(each).tangent is None for each in tensors):
            return
        why = "does not compute its forward-mode derivative in a mode, or for fake, wrapped or lazily negated tensors"
        if not self._has_jvp:
            why = "has no forward-mode derivative"
        raise ArgumentError(
            f"{self._operator} {why} (torch.func.jvp, torch.autograd.forward_ad), which would be zero in silence"
            + ("" if self._has_jvp else ": declare it with jvp")
        )

    def _refuse_strides(self, name: str) -> None:
        """Raise ArgumentError, with the error message that the tensor argument `name` must be contiguous."""
        written = any(each.name == name and each.written for each in self._inputs)
        why = ", because the operator writes it" if written and self._non_contiguous == "copy" else ""
        raise ArgumentError(f"{self._operator}: {name} must be contiguous{why}: pass {name}.contiguous()")


def _tensors_in(values: Sequence[Any]) -> Iterator[Any]:
    """Yield the tensors among an operator's arguments, in order, including those in lists."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _tensors_in(value)
        elif hasattr(value, "requires_grad"):
            yield value


def _device_of(values: Sequence[Any]) -> int:
    """Return the GPU index of the first tensor that is on a GPU; -1 if no tensor is on a GPU.

    `values` are an operator's arguments, which may have lists of tensors.
    """
    return next((device for each in _tensors_in(values) if (device := each.get_device()) >= 0), -1)


def _all_contiguous(tensors: Sequence[Any]) -> bool:
    return False not in [each is None or each.is_contiguous() for each in tensors]


def _any_requires_grad(tensors: Sequence[Any]) -> bool:
    return True in [each is not None and each.requires_grad for each in tensors]


def one_after_the_other(
    operator: str, inputs: Sequence[InputArgument], outputs: int, call: Callable[..., Any], is_random: bool
) -> Callable[..., Any]:
    """Return a rule for `torch.library.register_vmap` that calls an operator by `call` for each element of a batch, and
    stacks its results.

    `outputs` is the number of results. The rule raises ArgumentError where such a loop would not do what PyTorch's own
    operators do.
    """

    def rule(info: Any, in_dims: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        import torch

        for each, dim in zip(inputs, in_dims, strict=False):
            if each.written and dim is None:
                raise ArgumentError(
                    f"{operator}: torch.vmap maps other inputs but not {each.name}, which each element would write: "
                    f"expand {each.name} first"
                )
        if is_random and info.randomness != "different":
            raise ArgumentError(
                f'{operator} draws random numbers for each element: torch.vmap needs randomness="different", not '
                f"{info.randomness!r}"
            )
        if info.batch_size == 0 and outputs:
            raise ArgumentError(f"{operator}: torch.vmap over a dimension of size 0 cannot tell the outputs' shapes")
        results = [
            call(*(_part(each, dim, index) for each, dim in zip(args, in_dims, strict=False)))
            for index in range(info.batch_size)
        ]
        if outputs == 0:
            return None, None
        columns = [results] if outputs == 1 else list(zip(*results, strict=True))
        for column in columns:
            shapes = {getattr(each, "shape", None) for each in column}
            if shapes == {None} or len(shapes) > 1:
                what = "results that are not tensors" if None in shapes else f"results of {len(shapes)} shapes"
                raise ArgumentError(f"{operator}: torch.vmap cannot stack {what}: declare it with vmap")
        stacked = tuple(map(torch.stack, columns))
        return (stacked[0], 0) if outputs == 1 else (stacked, (0,) * outputs)

    return rule


def _part(value: Any, dim: Any, index: int) -> Any:
    """Return the argument that the operator gets for the element `index` of a batch. For a tensor: its slice at
    `index` in dimension `dim`.

    If `dim` is None, or `value` is neither a tensor nor a list, return `value`. If `value` is a list, return a list
    with the result for each item. `dim` is then a list too, or one dimension for all items.
    """
    if isinstance(value, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
        return [_part(each, of, index) for each, of in zip(value, dims, strict=True)]
    return value if dim is None or not hasattr(value, "select") else value.select(dim, index)
