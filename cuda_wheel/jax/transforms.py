"""What JAX's transforms make of an operator: derivatives by `backward` and `jvp`, and batches by `vmap`.

JAX has one kind of rule for a function: `custom_vjp`, which refuses forward mode, or `custom_jvp`, which reverse mode
transposes. No kernel can be transposed. So with `jvp` and `backward`, the rule in forward mode is a primitive of its
own, which is linear in the tangents: it evaluates `jvp`, and its transpose is `backward`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

from cuda_wheel.jax.tracing import TracedOperator, varying_axes
from cuda_wheel.operators.declarations import Declaration, KernelInstances, TritonInstances, bound, gradient_names
from cuda_wheel.runtime.errors import ArgumentError

__all__ = ["batched", "differentiable"]

Run = Callable[..., Any]
"""Function (numbers, *arrays) that runs an operator while JAX traces, and returns the operator's result. `numbers`: the
operator's numbers as one tuple, with floats as hexadecimal text. `arrays`: the input arrays. An array that was not
passed is None."""


def batched(jax: Any, declaration: Declaration, traced: TracedOperator, rule: Any) -> Run:
    """Return `traced.run` with a rule for `jax.vmap`; `cuda_wheel.jax` describes `rule`.

    Raises ArgumentError if a parameter of `rule` is not an input, `axis_size` or `batched_x` for an array x.
    """
    operator, _, roles, _ = declaration
    arrays = [each.name for each in roles.tensors]
    flags = [f"batched_{name}" for name in arrays]
    inputs = [each.name for each in roles.inputs]
    _refuse_shared(operator, inputs, ["axis_size", *flags], "vmap")
    wanted = _names(operator, "vmap", rule, {*inputs, "axis_size", *flags})

    def mapped(numbers: tuple[Any, ...], axis_size: int, are_batched: Sequence[Any], *given: Any) -> tuple[Any, Any]:
        known: dict[str, Any] = {**traced.numbers(numbers), "axis_size": axis_size}
        one = []
        for name, array, is_batched in zip(arrays, given, are_batched, strict=True):
            if array is not None:
                one.append(jax.ShapeDtypeStruct(array.shape[1:] if is_batched else array.shape, array.dtype))
                if not is_batched and f"batched_{name}" not in wanted:
                    array = jax.numpy.broadcast_to(array, (axis_size, *array.shape))
            else:
                one.append(None)
            known |= {name: array, f"batched_{name}": bool(is_batched)}
        expected = jax.tree.map(
            lambda each: ((axis_size, *each.shape), each.dtype), jax.eval_shape(partial(traced.run, numbers), *one)
        )
        found = rule(*(known[name] for name in wanted))
        found = tuple(found) if isinstance(found, list) else found
        types = jax.tree.map(lambda each: (tuple(each.shape), each.dtype), found)
        if types != expected:
            raise ArgumentError(
                f"{operator}: vmap must return what the operator returns, with the batch as the first axis: "
                f"{_shapes(expected)}, not {_shapes(types)}"
            )
        return found, jax.tree.map(lambda each: True, found)

    def run(numbers: tuple[Any, ...], *given: Any) -> Any:
        function = jax.custom_batching.custom_vmap(lambda *given: traced.run(numbers, *given))
        function.def_vmap(partial(mapped, numbers))
        return function(*given)

    return run


def _shapes(types: Any) -> str:
    """Return the types of arrays for an error message: "float32[2,3], int32[4]". `types` is one pair (shape, element
    type), or a tuple of such pairs."""
    several = types if types and isinstance(types[0], tuple) and isinstance(types[0][0], tuple) else [types]
    return ", ".join(f"{dtype}[{','.join(map(str, shape))}]" for shape, dtype in several)


def differentiable(
    jax: Any, declaration: Declaration, traced: TracedOperator, run: Run, backward: Any, jvp: Any
) -> Run:
    """Return `run` with derivatives by `backward`, `jvp` or both; `cuda_wheel.jax` describes the two functions.

    Raises ArgumentError for an operator that changes inputs, because an input's name would mean the array before and
    after; for an output whose gradient `backward` does not name; and for an input whose tangent `jvp` does not name.
    """
    operator, _, roles, _ = declaration
    written = [each.name for each in roles.tensors if each.written]
    if written:
        raise ArgumentError(
            f"{operator} cannot have a gradient, because it changes {' and '.join(written)}: wrap it in a function "
            "with jax.custom_vjp"
        )
    return _Derivatives(jax, declaration, traced, run, backward, jvp).function()


class _Derivatives:
    """Differentiates an operator by the functions `backward`, `jvp` or both."""

    def __init__(
        self, jax: Any, declaration: Declaration, traced: TracedOperator, run: Run, backward: Any, jvp: Any
    ) -> None:
        self._jax = jax
        self._operator, kernels, self._roles, _ = declaration
        self._traced = traced
        self._run = run
        self._backward, self._jvp = backward, jvp
        roles, operator = self._roles, self._operator
        self._arrays = [each.name for each in roles.tensors]
        inputs = [each.name for each in roles.inputs]
        names = {*inputs, *roles.outputs}
        self._backward_names: Sequence[str] = ()
        self._jvp_names: Sequence[str] = ()
        if backward is not None:
            gradients = gradient_names(operator, roles.inputs, roles.outputs)
            self._backward_names = _names(operator, "backward", backward, {*names, *gradients})
            needed = [f"grad_{name}" for name in roles.outputs if not _has_integers(kernels, roles.names.index(name))]
            _refuse_missing(operator, "backward", needed or gradients, self._backward_names, "output")
        if jvp is not None:
            tangents = [f"tangent_{name}" for name in self._arrays]
            _refuse_shared(operator, inputs, tangents, "jvp")
            self._jvp_names = _names(operator, "jvp", jvp, {*names, *tangents})
            needed = [f"tangent_{name}" for name in self._arrays if not _has_integers(kernels, roles.names.index(name))]
            _refuse_missing(operator, "jvp", needed, self._jvp_names, "input")

    def function(self) -> Run:
        """Return the operator as a function that JAX differentiates."""
        if self._jvp is None:
            function = self._jax.custom_vjp(self._run, nondiff_argnums=(0,))
            # Not self._run: its gradient is asked for where the gradient is differentiated.
            function.defvjp(lambda numbers, *given: self._forward(function, numbers, given), self._differentiate)
        else:
            function = self._jax.custom_jvp(self._run, nondiff_argnums=(0,))
            function.defjvp(partial(self._tangents, function))
        return function  # type: ignore[no-any-return]

    def _named_outputs(self, names: Iterable[str], result: Any) -> dict[str, Any]:
        return dict(zip(names, result if len(self._roles.outputs) > 1 else (result,), strict=True))

    def _forward(self, function: Run, numbers: tuple[Any, ...], given: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        """Return two items: the operator's result; and name -> array, for the inputs and outputs that `backward` takes.

        `function`: runs the operator. `numbers`: the operator's static arguments. `given`: its input arrays, in order.
        """
        result = function(numbers, *given)
        known = {**dict(zip(self._arrays, given, strict=True)), **self._named_outputs(self._roles.outputs, result)}
        return result, {name: known[name] for name in self._backward_names if name in known}

    def _differentiate(self, numbers: tuple[Any, ...], kept: dict[str, Any], cotangent: Any) -> tuple[Any, ...]:
        """Call `backward`, and return the gradient of each input array, in order; None for an array without a gradient.

        `numbers`: the operator's static arguments. `kept`: name -> array, the second item that `_forward` returned.
        `cotangent`: gradient of the operator's result, one array or a tuple of arrays. Raises ArgumentError for a wrong
        number of gradients.
        """
        gradients = [f"grad_{output}" for output in self._roles.outputs]
        known = {**kept, **self._traced.numbers(numbers), **self._named_outputs(gradients, cotangent)}
        found = self._backward(*(known[name] for name in self._backward_names))
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(self._arrays):
            raise ArgumentError(
                f"{self._operator}: backward returned {len(found)} gradients for {len(self._arrays)} arrays: "
                f"{', '.join(self._arrays)}"
            )
        return tuple(found)

    # --- forward mode ----------------------------------------------------------------------------------

    def _tangents(
        self, function: Run, numbers: tuple[Any, ...], primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Any, Any]:
        """Return two items: the operator's result, and the tangent of the result. This is the rule for
        `jax.custom_jvp`.

        `function`: runs the operator. `numbers`: the operator's static arguments. `primals`: its input arrays.
        `tangents`: tangent of each input array, in the same order.
        """
        result = function(numbers, *primals)
        outputs = self._named_outputs(self._roles.outputs, result)
        known = {**dict(zip(self._arrays, primals, strict=True)), **outputs}
        named = {f"tangent_{name}": tangent for name, tangent in zip(self._arrays, tangents, strict=True)}
        if self._backward is None:
            found = self._tangents_by_jvp(numbers, known, named)
        else:
            found = self._linear_tangents(numbers, known, named)
        return result, tuple(found) if len(outputs) > 1 else found[0]

    def _tangents_by_jvp(self, numbers: tuple[Any, ...], known: dict[str, Any], tangents: dict[str, Any]) -> list[Any]:
        """Call `jvp`, and return the tangent of each output, in order.

        `numbers`: the operator's static arguments. `known`: name of an input or output -> array. `tangents`: name such
        as "tangent_x" -> tangent of the input x.
        """
        values = {**known, **tangents, **self._traced.numbers(numbers)}
        found = self._jvp(*(values[name] for name in self._jvp_names))
        found = found if isinstance(found, (tuple, list)) else (found,)
        outputs = [*self._roles.outputs]
        if len(found) != len(outputs):
            raise ArgumentError(
                f"{self._operator}: jvp returned {len(found)} tangents for {len(outputs)} outputs: {', '.join(outputs)}"
            )
        return [self._checked_tangent(name, known[name], tangent) for name, tangent in zip(outputs, found, strict=True)]

    def _checked_tangent(self, name: str, output: Any, tangent: Any) -> Any:
        """Return the tangent of the output `name` as an array of JAX. `tangent` is what `jvp` returned for this output.

        An output of integers gets zeros of the element type float0. Raises ArgumentError if `tangent` is None, or
        differs from `output` in shape or element type.
        """
        jax = self._jax
        if not self._has_tangents(output):
            return self._no_tangent(output)
        expected = f"{output.dtype}{list(output.shape)}"
        if tangent is None:
            raise ArgumentError(
                f"{self._operator}: jvp returned None for the tangent of {name}, which is {expected}: if it is zero, "
                f"return jnp.zeros_like({name})"
            )
        tangent = jax.numpy.asarray(tangent)
        if (tangent.shape, tangent.dtype) != (output.shape, output.dtype):
            raise ArgumentError(
                f"{self._operator}: jvp returned {tangent.dtype}{list(tangent.shape)} for the tangent of {name}, which "
                f"is {expected}"
            )
        return tangent

    def _has_tangents(self, array: Any) -> bool:
        return bool(self._jax.numpy.issubdtype(array.dtype, self._jax.numpy.inexact))

    def _no_tangent(self, array: Any) -> Any:
        """Return the tangent of an array of integers: zeros of JAX's element type float0, which take no memory."""
        import numpy  # JAX needs it

        return numpy.zeros(array.shape, self._jax.dtypes.float0)

    def _linear_tangents(self, numbers: tuple[Any, ...], known: dict[str, Any], tangents: dict[str, Any]) -> list[Any]:
        """Return the tangent of each output, in order. JAX uses `jvp` to evaluate the tangents in forward mode, and
        `backward` in reverse mode.

        `numbers`: the operator's static arguments. `known`: name of an input or output -> array. `tangents`: name such
        as "tangent_x" -> tangent of the input x.
        """
        outputs = [*self._roles.outputs]
        inexact = [name for name in outputs if self._has_tangents(known[name])]
        with_tangents = [name for name in self._arrays if known[name] is not None and self._has_tangents(known[name])]
        without = [name for name in self._arrays if name not in with_tangents]
        kept = [name for name in (*self._arrays, *outputs) if known[name] is not None]
        absent = {name: None for name in known if name not in kept}

        def forward(arrays: Sequence[Any], given_tangents: Sequence[Any]) -> list[Any]:
            given = {**absent, **dict(zip(kept, arrays, strict=True))}
            none = {name: None if given[name] is None else self._no_tangent(given[name]) for name in without}
            named = {f"tangent_{name}": each for name, each in none.items()}
            named |= {f"tangent_{name}": each for name, each in zip(with_tangents, given_tangents, strict=True)}
            found = dict(zip(outputs, self._tangents_by_jvp(numbers, given, named), strict=True))
            return [found[name] for name in inexact]

        def transposed(arrays: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            given = {**absent, **dict(zip(kept, arrays, strict=True))}
            pulled = dict(zip(inexact, cotangents, strict=True))
            each = tuple(pulled[name] if name in pulled else self._no_tangent(given[name]) for name in outputs)
            wanted = {name: given[name] for name in self._backward_names if name in given}
            found = self._differentiate(numbers, wanted, each if len(each) > 1 else each[0])
            zeros = self._jax.numpy.zeros_like
            return [
                zeros(given[name]) if gradient is None else gradient
                for name, gradient in zip(self._arrays, found, strict=True)
                if name in with_tangents
            ]

        arrays = [known[name] for name in kept]
        given_tangents = [tangents[f"tangent_{name}"] for name in with_tangents]
        axes = frozenset[str]().union(*(varying_axes(self._jax, each) for each in (*arrays, *given_tangents)))
        if axes:
            raise ArgumentError(
                f"{self._operator}: JAX cannot tell shard_map that the derivatives differ over the axes "
                f"{', '.join(sorted(axes))} with both jvp and backward: use check_vma=False, or one of the two"
            )
        pushed = iter(
            _linear_primitive(self._jax).bind(
                *arrays, *given_tangents, map=_LinearMap(forward, transposed, len(arrays))
            )
        )
        return [next(pushed) if name in inexact else self._no_tangent(known[name]) for name in outputs]


class _LinearMap:
    """A function of arrays and tangents that is linear in the tangents, and its transpose.

    `forward(arrays, tangents)` returns the tangents of outputs; `transposed(arrays, cotangents)` returns the gradients
    of inputs. JAX keeps the object in programs, so that it is compared by identity and refers to no arrays.
    """

    def __init__(
        self,
        forward: Callable[[Sequence[Any], Sequence[Any]], list[Any]],
        transposed: Callable[[Sequence[Any], Sequence[Any]], list[Any]],
        count: int,
    ) -> None:
        self.forward = forward
        self.transposed = transposed
        self.count = count
        """Number of arrays among the operands of `__call__`. The arrays come first, the tangents after them."""

    def __call__(self, *operands: Any) -> list[Any]:
        return self.forward(operands[: self.count], operands[self.count :])


@cache
def _linear_primitive(jax: Any) -> Any:
    """Return the JAX primitive that evaluates a `_LinearMap`: `bind(*arrays, *tangents, map=linear_map)` returns
    `linear_map(*arrays, *tangents)`.

    Source: JAX, "JAX Internals: primitives".
    """
    # `jax.custom_derivatives.linear_call` would not do: it cannot be mapped by `vmap`, nor differentiated
    # with respect to the arrays.
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("cuda_wheel_linear")
    primitive.multiple_results = True

    def evaluate(*operands: Any, map: _LinearMap) -> list[Any]:
        return map(*operands)

    def shapes(*operands: Any, map: _LinearMap) -> list[Any]:
        found = jax.eval_shape(map, *(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in operands))
        return [jax.core.ShapedArray(each.shape, each.dtype) for each in found]

    def tangents(primals: Sequence[Any], tangents: Sequence[Any], map: _LinearMap) -> tuple[list[Any], list[Any]]:
        count = map.count
        results = primitive.bind(*primals, map=map)
        given_tangents = [ad.instantiate_zeros(each) for each in tangents]
        found = primitive.bind(*primals[:count], *given_tangents[count:], map=map)
        if not all(type(each) is ad.Zero for each in tangents[:count]):
            # The arrays change too, in which the map is not linear: as JAX differentiates `forward`.
            fixed = primals[count:]
            changed = [each for each, tangent in zip(primals[:count], tangents, strict=False)]
            floating = [
                place for place, each in enumerate(changed) if jax.numpy.issubdtype(each.dtype, jax.numpy.inexact)
            ]

            def of_arrays(*arrays: Any) -> list[Any]:
                given = list(changed)
                for place, array in zip(floating, arrays, strict=True):
                    given[place] = array
                return map.forward(given, fixed)

            more = jax.jvp(
                of_arrays, [changed[place] for place in floating], [given_tangents[place] for place in floating]
            )[1]
            found = [first + second for first, second in zip(found, more, strict=True)]
        return results, found

    def transposed(cotangents: Sequence[Any], *operands: Any, map: _LinearMap) -> list[Any]:
        arrays = operands[: map.count]
        given = [ad.instantiate_zeros(each) for each in cotangents]
        inverse = _LinearMap(map.transposed, map.forward, map.count)
        return [*[None] * map.count, *primitive.bind(*arrays, *given, map=inverse)]

    def batched(operands: Sequence[Any], axes: Sequence[Any], map: _LinearMap) -> tuple[list[Any], list[int]]:
        size = next(each.shape[axis] for each, axis in zip(operands, axes, strict=True) if axis is not None)
        numpy = jax.numpy
        stacked = [
            numpy.broadcast_to(each, (size, *each.shape)) if axis is None else numpy.moveaxis(each, axis, 0)
            for each, axis in zip(operands, axes, strict=True)
        ]
        several = _LinearMap(jax.vmap(map.forward), jax.vmap(map.transposed), map.count)
        results = primitive.bind(*stacked, map=several)
        return results, [0] * len(results)

    primitive.def_impl(evaluate)
    primitive.def_abstract_eval(shapes)
    ad.primitive_jvps[primitive] = tangents
    ad.primitive_transposes[primitive] = transposed
    batching.primitive_batchers[primitive] = batched
    mlir.register_lowering(primitive, mlir.lower_fun(evaluate, multiple_results=True))
    return primitive


def _names(operator: str, what: str, function: Any, known: set[str]) -> tuple[str, ...]:
    """Return the names of the parameters of `function`.

    `what` names the function in error messages: "backward", "jvp" or "vmap". Raises ArgumentError if `function` is not
    callable, or if a parameter's name is not in `known`.
    """
    found = bound(f"{operator}: {what}", function, known).names
    if found is None:
        raise ArgumentError(f"{operator}: {what} must be a function, not {function!r}")
    return found


def _refuse_shared(operator: str, inputs: Sequence[str], names: Sequence[str], what: str) -> None:
    """Raise ArgumentError if an input of the operator has a name that is reserved for a parameter of its function
    `what`.

    `inputs`: names of the inputs. `what`: "vmap" or "jvp". `names`: the reserved names, such as "axis_size" for "vmap"
    and "tangent_x" for "jvp".
    """
    for name in inputs:
        if name in names:
            raise ArgumentError(f"{operator}: {name} is an argument, and has another meaning to {what}: rename it")


def _refuse_missing(operator: str, what: str, needed: Sequence[str], names: Sequence[str], of: str) -> None:
    """Raise ArgumentError if the operator's function `what` lacks one of the parameters `needed`.

    `what`: "backward" or "jvp". `needed`: names of derivatives, such as "grad_y" or "tangent_x". `names`: names of the
    function's parameters. `of`: "output" or "input", for the error message.
    """
    missing = [name for name in needed if name not in names]  # JAX would treat them as zero
    if missing:
        raise ArgumentError(
            f"{operator}: {what} must be a function of {' and '.join(missing)} too, which would count as zero: JAX "
            f"knows no {of} without a {'gradient' if what == 'backward' else 'tangent'} but those of integers"
        )


def _has_integers(kernels: KernelInstances | TritonInstances, place: int) -> bool:
    """Return whether a parameter takes only arrays of integers or bools in all kernels that the operator lists.

    `place` is the parameter's 0-based index. True for `const int*`, False for `const float*`.
    """
    # Arrays of integers have no gradient.
    found = kernels.array_types(place)
    return bool(found) and all(name.startswith(("int", "uint", "bool")) for name in found)  # type: ignore[union-attr]
