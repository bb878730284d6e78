"""`ti.ad.check_custom`: is a function's own derivative its derivative?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.ad.functions.derivatives import bind
from mlirad.errors import TaichiAssertionError, TaichiTypeError
from mlirad.frontend.python.calls.transforms import Transform, parameters_of
from mlirad.frontend.python.places.arrays import ArrayRef
from mlirad.frontend.python.source.function import Function
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import NdarrayType, is_template
from mlirad.frontend.python.values.leaves import float_leaves
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.lang.kernels.kernel import kernel
from mlirad.lang.ndarray import Ndarray, ndarray
from mlirad.types import f64

STEP = 2.0**-13
Array = np.ndarray[Any, Any]
VALUES = NdarrayType(f64, 1)


def check_custom(function: Any, *args: Any, rel: float = 1e-6) -> None:
    """Compare the derivatives that `def_vjp` and `def_jvp` gave a `@ti.func` with central
    differences, in f64.

    Args:
        function: the function.
        args: numbers, lists, NumPy arrays, `ti.Vector` or `ti.Matrix`; arguments of floats are
            varied one component at a time. Anything else is a compile-time value. Results are
            weighted with random numbers.
        rel: the largest relative difference that is accepted.

    Raises:
        TaichiAssertionError: they disagree. The message names the argument, the component and both
            numbers.
        TaichiTypeError: the function has no custom derivative, or computes in another type than
            f64, the arguments do not fit, or no argument is a float.
    """
    if not isinstance(function, Function) or (function.vjp is None and function.jvp is None):
        name = getattr(function, "__name__", type(function).__name__)
        raise TaichiTypeError(
            "ti.ad.check_custom takes a @ti.func with its own derivative (def_vjp, def_jvp), "
            f"but '{name}' has none"
        )
    point = _Point(function, args)
    value = _compile(function, point)
    slopes = [_slope(value, point, k) for k in range(point.size)]
    if function.vjp is not None:
        _compare(function, function.vjp, point, value(point.numbers, gradient=True), slopes, rel)
    if function.jvp is not None:
        along = _compile_tangent(function, point)
        tangents = np.array([along(unit) for unit in np.eye(point.size)])
        _compare(function, function.jvp, point, tangents, slopes, rel)


class _Point:
    """The arguments of a check: all their floats in one array, and the shape of each argument that
    has some."""

    def __init__(self, function: Function, args: tuple[Any, ...]) -> None:
        self.bound = bind(function, args, {})
        declared = parameters_of(function)
        self.shapes: dict[str, tuple[int, ...]] = {}
        numbers: list[float] = []
        for name, value in self.bound.items():
            array = np.asarray(value.rows_list() if isinstance(value, Matrix) else value)
            if array.dtype.kind == "f" and not is_template(declared[name]):
                self.shapes[name] = array.shape
                numbers += array.ravel().tolist()
        if not numbers:
            raise TaichiTypeError(
                f"ti.ad.check_custom: no argument of '{function.__name__}' is a float"
            )
        self.numbers = np.array(numbers)
        self.size = len(numbers)
        names = list(self.bound)
        self.positions = [names.index(name) for name in self.shapes]

    def unpack(self, array: ArrayRef) -> list[Any]:
        """The arguments, from an array of their floats."""
        values = self.floats(array)
        return [values.get(name, value) for name, value in self.bound.items()]

    def floats(self, array: ArrayRef) -> dict[str, Any]:
        """The arguments that are made of floats."""
        arguments: dict[str, Any] = {}
        start = 0
        for name, shape in self.shapes.items():
            count = int(np.prod(shape))
            loaded = [array.element(start + k).load() for k in range(count)]
            arguments[name] = Matrix.of_shape(shape, loaded) if shape else loaded[0]
            start += count
        return arguments

    def component(self, position: int) -> str:
        """Return which component of which argument one of the numbers is."""
        for name, shape in self.shapes.items():
            count = int(np.prod(shape))
            if position < count:
                return f"'{name}'" + (
                    str([int(k) for k in np.unravel_index(position, shape)]) if shape else ""
                )
            position -= count
        raise IndexError(position)


def _weighted_sum(function: Function, result: Any) -> Any:
    """A sum of the function's results, with weights."""
    results = float_leaves(result, f"ti.ad.check_custom: the result of '{function.__name__}'")
    if any(leaf.dtype != f64 for leaf in results):
        raise TaichiTypeError(
            f"ti.ad.check_custom needs f64, and '{function.__name__}' computes in "
            f"{results[0].dtype}"
        )
    weights = np.random.default_rng(len(results)).uniform(0.5, 1.5, len(results))
    total: Any = 0.0
    for weight, leaf in zip(weights, results):
        total = leaf * ex.cast(float(weight), f64) + total
    return total


def _compile(function: Function, point: _Point) -> Callable[..., Any]:
    """The weighted sum of a function's results, or its gradient, at some numbers."""

    def unpack(x: Any) -> Any:
        return point.unpack(x)

    def weigh(result: Any) -> Any:
        return _weighted_sum(function, result)

    @kernel
    def run(x: VALUES, out: VALUES):  # type: ignore[no-untyped-def, valid-type]
        out[0] += weigh(function(*unpack(x)))  # type: ignore[index]

    x, out = ndarray(f64, point.size, needs_grad=True), ndarray(f64, 1, needs_grad=True)

    def evaluate(numbers: Array, *, gradient: bool = False) -> Any:
        _set(x, numbers)
        out.fill(0)
        run(x, out)
        if not gradient:
            return float(out.to_numpy()[0])
        assert x.grad is not None and out.grad is not None
        x.grad.fill(0)
        out.grad.fill(1)
        run.grad(x, out)
        return x.grad.to_numpy()

    return evaluate


def _compile_tangent(function: Function, point: _Point) -> Callable[[Array], float]:
    """The tangent of the weighted sum along a direction."""
    along = Transform("jvp", function, point.positions)

    def unpack(x: Any) -> Any:
        return point.unpack(x)

    def tangents(direction: Any) -> Any:
        return tuple(point.floats(direction).values())

    def weigh(result: Any) -> Any:
        return _weighted_sum(function, result[1])

    @kernel
    def run(x: VALUES, direction: VALUES, out: VALUES):  # type: ignore[no-untyped-def, valid-type]
        out[0] += weigh(along(*unpack(x), tangent=tangents(direction)))  # type: ignore[index]

    x, direction, out = ndarray(f64, point.size), ndarray(f64, point.size), ndarray(f64, 1)

    def evaluate(numbers: Array) -> float:
        _set(x, point.numbers)
        _set(direction, numbers)
        out.fill(0)
        run(x, direction, out)
        return float(out.to_numpy()[0])

    return evaluate


def _set(array: Ndarray, numbers: Array) -> None:
    array.from_numpy(np.asarray(numbers, np.float64))


def _slope(value: Callable[[Array], float], point: _Point, position: int) -> tuple[float, float]:
    """A derivative by differences of the fourth order, and how far a wider step is from it."""
    unit = np.zeros(point.size)
    unit[position] = max(1.0, abs(point.numbers[position]))

    def at(h: float) -> float:
        return value(point.numbers + h * unit)

    near, far, wide = (at(k * STEP) - at(-k * STEP) for k in (1, 2, 4))
    fine, coarse = (8 * near - far) / (12 * STEP), (8 * far - wide) / (24 * STEP)
    return float(fine / unit[position]), float(abs(fine - coarse) / unit[position])


def _compare(
    function: Function,
    rule: Function,
    point: _Point,
    derivatives: Array,
    slopes: list[tuple[float, float]],
    rel: float,
) -> None:
    for position, (slope, error) in enumerate(slopes):
        derivative = float(derivatives[position])
        if not abs(derivative - slope) <= rel * max(1.0, abs(derivative), abs(slope)) + error:
            raise TaichiAssertionError(
                f"'{rule.__name__}' is not the derivative of '{function.__name__}': with respect "
                f"to argument {point.component(position)} it gives {derivative!r}, but finite "
                f"differences give {slope!r}"
            )
