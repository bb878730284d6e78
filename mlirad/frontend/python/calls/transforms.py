"""Derivatives of `@ti.func`, called in kernels like the functions that they are derivatives of."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from mlirad.errors import TaichiSyntaxError, TaichiTypeError
from mlirad.frontend.python.calls.call import call_bound
from mlirad.frontend.python.calls.derivative_op import Derivatives, emit_jvp
from mlirad.frontend.python.calls.parameters import Binding, Bindings, bind_parameters
from mlirad.frontend.python.calls.specials import Special
from mlirad.frontend.python.places.arrays import array_ref
from mlirad.frontend.python.places.place import Place
from mlirad.frontend.python.places.variables import Variable
from mlirad.frontend.python.source.assigned_names import assigned_names, resolver
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.source.nodes import nodes_in
from mlirad.frontend.python.translation.translator import Translator, copy_value
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.leaves import float_leaves, kind_of, like
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.scalar import Expr

T = TypeVar("T")


class TransformKind(StrEnum):
    """The derivative of a function that a transform computes."""

    GRAD = "grad"
    VALUE_AND_GRAD = "value_and_grad"
    JVP = "jvp"
    VJP = "vjp"
    FORWARD = "forward"
    JACOBIAN = "jacobian"

    @property
    def extra(self) -> str | None:
        """The argument behind those of the function, if there is one."""
        return {TransformKind.JVP: "tangent", TransformKind.VJP: "adjoint"}.get(self)


class Transform(Special):
    """A derivative of a function in some of its arguments: an object that kernels and functions can
    call.

    Raises TaichiTypeError for anything but a `@ti.func` or another derivative, and for arguments
    that it does not have.
    """

    def __init__(
        self, kind: str, function: Function | Transform, argnums: int | Sequence[int] = 0
    ) -> None:
        if not isinstance(function, Function | Transform):
            cure = (
                "; for a program that launches kernels, pass inputs= and output="
                if callable(function)
                else ""
            )
            raise TaichiTypeError(
                f"ti.ad.{kind}: expected a @ti.func, got {_describe(function)}{cure}"
            )
        super().__init__(f"{kind}({function.__name__})", self._translate)
        self.__doc__ = f"`ti.ad.{kind}` of `{function.__name__}`."
        self.kind, self.function, self.argnums = TransformKind(kind), function, argnums
        self.argument_names = _argument_names(kind, function, argnums)

    def __get__(self, owner: object, kind: type | None = None) -> Transform:
        bound = self.function.__get__(owner, kind)
        return self if bound is self.function else type(self)(self.kind, bound, self.argnums)

    @property
    def extra(self) -> str | None:
        """The name of the parameter behind those of the function, if there is one."""
        word = self.kind.extra
        return None if word is None else f"{word} of {self.function.__name__}"

    # In kernels.

    def _translate(self, t: Translator, node: ast.Call) -> Any:
        return self.apply(t, self.bind(t, node), node)

    def bind(self, t: Translator, node: ast.Call) -> Bindings:
        """The arguments of a call by parameter name, each with whether it is passed by
        reference."""
        if self.extra is None:
            return _bind(t, self.function, node)
        inner, argument = self._without_extra(node)
        bindings = _bind(t, self.function, inner)
        bindings[self.extra] = Binding(t.visit_value(argument))
        return bindings

    def _without_extra(self, node: ast.Call) -> tuple[ast.Call, ast.expr]:
        word = self.kind.extra
        named = [keyword.value for keyword in node.keywords if keyword.arg == word]
        if named:
            keywords = [keyword for keyword in node.keywords if keyword.arg != word]
            return _call_like(node, node.args, keywords), named[0]
        if not node.args or isinstance(node.args[-1], ast.Starred):
            raise TaichiSyntaxError(
                f"{self.__name__} takes the arguments of '{self.function.__name__}', then {word}="
            )
        return _call_like(node, node.args[:-1], node.keywords), node.args[-1]

    def apply(self, t: Translator, bindings: Bindings, node: ast.Call) -> Any:
        """The derivative at some arguments."""
        return _Application(self, t, bindings, node).result()


def parameters_of(function: Function | Transform) -> dict[str, Any]:
    """The parameters of a function or of a derivative by name, with their annotations (None if
    there is none)."""
    if isinstance(function, Transform):
        return {
            **parameters_of(function.function),
            **({} if function.extra is None else {function.extra: None}),
        }
    names = list(inspect.signature(function.function).parameters)
    declared = function.function.__annotations__
    return {name: declared.get(name) for name in names[function.owner is not None :]}


def _describe(function: object) -> str:
    name = getattr(function, "__name__", None)
    return (
        f"the {type(function).__name__.lower()} '{name}'"
        if name
        else f"a {type(function).__name__}"
    )


def _argument_names(
    kind: str, function: Function | Transform, argnums: int | Sequence[int]
) -> list[str]:
    """The names of the arguments to differentiate in."""
    names = list(parameters_of(function))
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(names):
            raise TaichiTypeError(
                f"ti.ad.{kind}: argnums={argnums!r}, but '{function.__name__}' has {len(names)} "
                f"parameters ({', '.join(names)})"
            )
    if not numbers or len(set(numbers)) != len(numbers):
        raise TaichiTypeError(
            f"ti.ad.{kind}: argnums={argnums!r} does not name a parameter, or names one twice"
        )
    return [names[number] for number in numbers]


def _call_like(node: ast.Call, arguments: list[ast.expr], keywords: list[ast.keyword]) -> ast.Call:
    return ast.copy_location(ast.Call(node.func, arguments, keywords), node)


def _bind(t: Translator, function: Function | Transform, node: ast.Call) -> Bindings:
    return (
        function.bind(t, node)
        if isinstance(function, Transform)
        else bind_parameters(t, function, node)
    )


class _Application:
    """A call of a derivative."""

    def __init__(
        self, transform: Transform, t: Translator, bindings: Bindings, node: ast.Call
    ) -> None:
        self.transform, self.t, self.node = transform, t, node
        self.subject = f"{transform.kind} of '{transform.function.__name__}'"
        self.bindings = {name: self._by_value(name, binding) for name, binding in bindings.items()}
        self.values = {name: self._differentiable(name) for name in transform.argument_names}
        self.leaves = {
            name: float_leaves(value, f"{self.subject}: argument '{name}'")
            for name, value in self.values.items()
        }
        self.primals = [leaf for scalars in self.leaves.values() for leaf in scalars]

    def _by_value(self, name: str, binding: Binding) -> Binding:
        """Pass an argument by value: a function that writes to it has side effects."""
        if not isinstance(binding.value, Variable | Place):
            return binding
        if binding.by_reference and name in _written_parameters(self.transform.function):
            raise TaichiTypeError(
                f"{self.subject}: a function with side effects: writes its parameter '{name}'"
            )
        return Binding(copy_value(self.t.read(binding.value)))

    def _differentiable(self, name: str) -> Any:
        value = self.bindings[name].value
        if array_ref(value) is not None:
            raise TaichiTypeError(
                f"{self.subject}: argument '{name}' is an array: a function is differentiated "
                "with respect to scalars, vectors and matrices; use ti.ad.grad(program, "
                "inputs=[...], output=...) to differentiate with respect to fields"
            )
        return Matrix(value) if isinstance(value, list) else value

    def derivatives(self, directions: Sequence[Sequence[Expr]]) -> Derivatives:
        """The value and its tangents along some directions."""
        return emit_jvp(self.t, self.subject, self.primals, directions, self._body)

    def _body(self, scalars: list[Expr]) -> Any:
        """Translate the function at some values of what is differentiated."""
        function, values = self.transform.function, iter(scalars)
        inner = {
            name: binding for name, binding in self.bindings.items() if name != self.transform.extra
        }
        for name, value in self.values.items():
            inner[name] = Binding(like(value, [next(values) for _ in self.leaves[name]]))
        if isinstance(function, Transform):
            return function.apply(self.t, inner, self.node)
        return call_bound(self.t, function, inner, self.node)

    def _units(self) -> list[list[Expr]]:
        return [
            [ex.cast(1.0 if i == d else 0.0, leaf.dtype) for i, leaf in enumerate(self.primals)]
            for d in range(len(self.primals))
        ]

    def result(self) -> Any:
        return _RESULTS[self.transform.kind](self)

    def _each_argument(
        self, rows: Sequence[T], build: Callable[[str, Value, Sequence[T]], object]
    ) -> Any:
        """The results by argument, from a row for each of its scalars; not in a tuple if argnums is
        a number."""
        results, start = [], 0
        for name, value in self.values.items():
            count = len(self.leaves[name])
            results.append(build(name, value, rows[start : start + count]))
            start += count
        return results[0] if isinstance(self.transform.argnums, int) else tuple(results)

    def _gradient(self, column: Sequence[Expr]) -> Any:
        """Derivatives of a scalar, in the shapes and types of the arguments."""
        return self._each_argument(
            column,
            lambda name, value, row: like(
                value, [ex.cast(d, leaf.dtype) for d, leaf in zip(row, self.leaves[name])]
            ),
        )

    def value_and_grad(self) -> Any:
        derivatives = self.derivatives(self._units())
        if not ex.is_scalar(derivatives.value):
            raise TaichiTypeError(
                f"{self.subject}: its result is {kind_of(derivatives.value)}, but only a scalar "
                "has a gradient: use ti.ad.jacobian for the derivatives of a vector"
            )
        return derivatives.value, self._gradient([row[0] for row in derivatives.tangents])

    def jvp(self) -> Any:
        alone = isinstance(self.transform.argnums, int)
        models = tuple(self.values.values())
        tangent = self._extra(models[0] if alone else models)
        derivatives = self.derivatives([tangent])
        return derivatives.value, like(derivatives.value, derivatives.tangents[0])

    def _extra(self, model: object) -> list[Expr]:
        """The scalars of the argument behind those of the function, which has the structure of
        `model`."""
        assert self.transform.extra is not None
        argument = self.bindings[self.transform.extra].value
        argument = Matrix(argument) if isinstance(argument, list) else argument
        word = self.transform.kind.extra
        if kind_of(argument) != kind_of(model):
            raise TaichiTypeError(
                f"{self.subject}: {word} is {kind_of(argument)}, expected {kind_of(model)}"
            )
        return float_leaves(argument, f"{self.subject}: {word}")

    def vjp(self) -> Any:
        derivatives = self.derivatives(self._units())
        adjoint = self._extra(derivatives.value)
        return derivatives.value, self._gradient(
            [_contract(adjoint, row) for row in derivatives.tangents]
        )

    def forward(self) -> Any:
        for name, value in self.values.items():
            if not ex.is_scalar(value):
                raise TaichiTypeError(
                    f"{self.subject}: argument '{name}' is {kind_of(value)}, but ti.ad.forward "
                    "differentiates with respect to a scalar: use ti.ad.jacobian for a vector"
                )
        derivatives = self.derivatives(self._units())
        return self._each_argument(
            derivatives.tangents, lambda name, value, rows: like(derivatives.value, rows[0])
        )

    def jacobian(self) -> Any:
        derivatives = self.derivatives(self._units())
        return self._each_argument(
            derivatives.tangents,
            lambda name, value, rows: self._block(derivatives.value, name, value, rows),
        )

    def _block(self, output: Any, name: str, value: Value, rows: Sequence[Sequence[Expr]]) -> Any:
        """The derivative of an output in one argument; `rows[i][j]` is that of scalar j of the
        output in scalar i."""
        if isinstance(output, tuple):
            blocks, start = [], 0
            for component in output:
                count = len(float_leaves(component, self.subject))
                blocks.append(
                    self._block(
                        component, name, value, [row[start : start + count] for row in rows]
                    )
                )
                start += count
            return tuple(blocks)
        if ex.is_scalar(output):
            return like(value, [row[0] for row in rows])
        if ex.is_scalar(value):
            return like(output, rows[0])
        if output.ndim == value.ndim == 1:
            return Matrix.of_shape(
                (output.n, value.n), [row[j] for j in range(output.n) for row in rows]
            )
        raise TaichiTypeError(
            f"{self.subject}: the derivative of {kind_of(output)} with respect to argument "
            f"'{name}', {kind_of(value)}, is neither a vector nor a matrix: differentiate its "
            "parts"
        )


_RESULTS: dict[TransformKind, Callable[[_Application], Any]] = {
    TransformKind.GRAD: lambda call: call.value_and_grad()[1],
    TransformKind.VALUE_AND_GRAD: _Application.value_and_grad,
    TransformKind.JVP: _Application.jvp,
    TransformKind.VJP: _Application.vjp,
    TransformKind.FORWARD: _Application.forward,
    TransformKind.JACOBIAN: _Application.jacobian,
}


def _contract(adjoint: Sequence[Expr], row: Sequence[Expr]) -> Any:
    """The sum of products; an adjoint of 0 takes nothing, also where the derivative is infinite."""
    total: Any = None
    for weight, derivative in zip(adjoint, row):
        product = weight * derivative
        term = fn.select((weight == 0.0) & (product != product), 0.0, product)
        total = term if total is None else total + term
    return total


def _written_parameters(function: Function | Transform) -> set[str]:
    """The parameters that a function may write to."""
    if isinstance(function, Transform):
        return _written_parameters(function.function)
    nodes = nodes_in(*function.source.node.body)
    return assigned_names(nodes, resolver(function.source.names, nodes))
