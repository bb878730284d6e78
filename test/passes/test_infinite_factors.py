"""An adjoint of exactly 0 contributes 0, also beside infinite numbers in memory, whoever put them
there."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from gradients import scalar

import mlirad as ti

SIZE = 8


def divide(x: Any, w: Any) -> Callable[[], None]:
    """A kernel that stores 1 / x."""

    @ti.kernel
    def run():
        for i in x:
            w[i] = 1.0 / x[i]

    return run


def multiply(w: Any, z: Any, v: Any) -> Callable[[], None]:
    """A kernel that multiplies with what may be infinite."""

    @ti.kernel
    def run():
        for i in w:
            v[i] = w[i] * z[i]

    return run


def drop(x: Any, v: Any, loss: Any) -> Callable[[], None]:
    """A kernel that uses only what is finite."""

    @ti.kernel
    def run():
        for i in v:
            loss[None] += ti.select(x[i] > 0.0, v[i], 0.0)

    return run


def fields(count: int) -> list[Any]:
    return [ti.field(ti.f64, SIZE, needs_grad=True) for _ in range(count)]


def test_a_division_by_zero_in_another_kernel(f64: int) -> None:
    x, w, z, v = fields(4)
    loss = ti.field(ti.f64, (), needs_grad=True)
    kernels = divide(x, w), multiply(w, z, v), drop(x, v, loss)
    for epoch in range(2):  # in the second one, all kernels know
        x.from_numpy(np.arange(SIZE, dtype=float))
        z.fill(2.0)
        with ti.ad.Tape(loss):
            for kernel in kernels:
                kernel()
        given = np.arange(1, SIZE)
        np.testing.assert_allclose(
            z.grad.to_numpy(), [0.0, *(1.0 / given)], err_msg=f"epoch {epoch}"
        )
        np.testing.assert_allclose(x.grad.to_numpy(), [0.0, *(-2.0 / given**2)])


def test_infinities_from_a_launch_outside_the_tape(f64: int) -> None:
    x, w, z, v = fields(4)
    loss = ti.field(ti.f64, (), needs_grad=True)
    z.fill(2.0)
    x.from_numpy(np.arange(SIZE, dtype=float))
    first, second, last = divide(x, w), multiply(w, z, v), drop(x, v, loss)
    with ti.ad.Tape(loss):  # compiled while all is finite
        second()
        last()
    first()
    with ti.ad.Tape(loss):
        second()
        last()
    np.testing.assert_allclose(z.grad.to_numpy(), [0.0, *(1.0 / np.arange(1, SIZE))])


def test_infinities_that_are_passed_on(f64: int) -> None:
    x, w, y, z, v = fields(5)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def pass_on():
        for i in w:
            y[i] = w[i] + 1.0

    x.from_numpy(np.arange(SIZE, dtype=float))
    z.fill(2.0)
    with ti.ad.Tape(loss):
        for kernel in (divide(x, w), pass_on, multiply(y, z, v), drop(x, v, loss)):
            kernel()
    np.testing.assert_allclose(z.grad.to_numpy(), [0.0, *(1.0 / np.arange(1, SIZE) + 1.0)])
    assert np.isfinite(x.grad.to_numpy()).all()


def test_an_infinite_component_from_python(f64: int) -> None:
    x, z, v = fields(3)
    w, loss = ti.Vector.field(2, ti.f64, SIZE), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def scale():
        for i in z:
            v[i] = w[i][1] * z[i]

    w.fill(3.0)
    x.from_numpy(np.arange(SIZE, dtype=float))
    w[0][1] = np.inf
    with ti.ad.Tape(loss):
        scale()
        drop(x, v, loss)()
    np.testing.assert_array_equal(z.grad.to_numpy(), [0.0] + [3.0] * (SIZE - 1))


@pytest.mark.parametrize("way", ["element", "fill", "array"])
def test_infinities_from_python(f64: int, way: str) -> None:
    x, w, z, v = fields(4)
    loss = ti.field(ti.f64, (), needs_grad=True)
    z.fill(2.0)
    x.from_numpy(np.arange(SIZE, dtype=float))
    second, last = multiply(w, z, v), drop(x, v, loss)
    with ti.ad.Tape(loss):
        second()
        last()
    if way == "element":
        w[0] = np.inf
    elif way == "fill":
        w.fill(np.inf)
        x.fill(-1.0)
    else:
        w.from_numpy(np.array([np.inf] + [0.0] * (SIZE - 1)))
    with ti.ad.Tape(loss):
        second()
        last()
    np.testing.assert_array_equal(z.grad.to_numpy(), np.zeros(SIZE))


def test_infinities_in_an_array(f64: int) -> None:
    x, z, v = fields(3)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def scale(w: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in z:
            v[i] = w[i] * z[i]

    z.fill(2.0)
    x.from_numpy(np.arange(SIZE, dtype=float))
    factors = np.array([np.inf] + [3.0] * (SIZE - 1))
    with ti.ad.Tape(loss):
        scale(factors)
        drop(x, v, loss)()
    np.testing.assert_array_equal(z.grad.to_numpy(), [0.0] + [3.0] * (SIZE - 1))


WRITES: dict[str, Callable[[Any, Any], object]] = {
    "from_numpy": lambda w, values: w.from_numpy(values),
    "from_dlpack": lambda w, values: w.from_numpy(np.from_dlpack(values)),
    "slice": lambda w, values: w.__setitem__(slice(None), values),
    "element": lambda w, values: [w.__setitem__(i, values[i]) for i in range(len(values))],
    "list": lambda w, values: w.from_numpy(list(values)),
    "ndarray": lambda w, values: w.from_numpy(in_ndarray(values).to_numpy()),
    "copy_from": lambda w, values: w.copy_from(in_field(values)),
}


def in_field(values: np.ndarray[Any, Any]) -> Any:
    """A field of the type of an array, with its values."""
    field = ti.field(np.dtype(values.dtype).type, len(values))
    field.from_numpy(values)
    return field


def in_ndarray(values: np.ndarray[Any, Any]) -> Any:
    """A `ti.ndarray` of the type of an array, with its values."""
    array = ti.ndarray(np.dtype(values.dtype).type, len(values))
    array.from_numpy(values)
    return array


@pytest.mark.parametrize("name", WRITES)
def test_infinities_from_values_of_any_type(name: str) -> None:
    """What a field takes, not the type that it comes in, decides, and nothing warns."""
    ti.init()
    w = {dtype: ti.field(dtype, 3) for dtype in (ti.f16, ti.f32, ti.f64)}
    poles = w[ti.f64].program.poles
    for (dtype, field), given in product(w.items(), (np.float16, np.float32, np.float64)):
        for value, is_noted in ((1.0, False), (np.inf, True), (-np.inf, True), (np.nan, True)):
            poles.infinite = frozenset()
            WRITES[name](field, np.array([1.0, value, 2.0], given))
            assert (field.symbol in poles.infinite) == is_noted, (dtype, given, value)


@pytest.mark.parametrize("name", WRITES)
def test_values_too_large_for_a_field(name: str) -> None:
    ti.init()
    half, single = ti.field(ti.f16, 2), ti.field(ti.f32, 2)
    poles = half.program.poles
    cases = [(half, np.array([0, 70_000], kind)) for kind in (np.int32, np.uint64, np.float32)]
    for field, values in [*cases, (single, np.array([-1e300, 0.0]))]:
        poles.infinite = frozenset()
        with np.errstate(over="ignore"):
            WRITES[name](field, values)
        assert np.isinf(field.to_numpy()).sum() == 1
        assert field.symbol in poles.infinite


@pytest.mark.parametrize(
    ("value", "is_noted"),
    [
        (True, False),
        (np.bool_(True), False),
        (2**63, False),
        (2**200, False),
        (np.int64(-(2**63)), False),
        (np.uint64(2**64 - 1), False),
        (Fraction(1, 3), False),
        (np.longdouble(2.0), False),
        (np.longdouble("inf"), True),
        (math.nan, True),
    ],
    ids=repr,
)
def test_numbers_of_any_type(value: Any, is_noted: bool) -> None:
    ti.init()
    field = ti.field(ti.f64, 2)
    poles = field.program.poles
    for write in (
        lambda: field.fill(value),
        lambda: field.__setitem__(0, value),
        lambda: field.__setitem__(slice(None), value),
        lambda: field.from_numpy(np.array([value, value])),
    ):
        poles.infinite = frozenset()
        write()
        assert (field.symbol in poles.infinite) == is_noted
        np.testing.assert_equal(field[0], float(value))


def test_vectors_and_members_of_other_types(f64: int) -> None:
    vectors, structs = ti.Vector.field(2, ti.f64, 2), ti.Struct.field({"a": ti.f64}, shape=2)
    vectors.from_numpy(np.array([[1, 2], [np.inf, 4]], np.float32))
    structs.from_numpy({"a": np.array([0, np.inf], np.float16)})
    assert {vectors.symbol, structs.a.symbol} <= vectors.program.poles.infinite


@pytest.mark.parametrize("given", [np.float16, np.float32])
def test_infinities_of_narrower_values_in_a_gradient(f64: int, given: type[np.floating]) -> None:
    w, z, v, x = fields(4)
    loss = ti.field(ti.f64, (), needs_grad=True)
    z.fill(2.0)
    x.from_numpy(np.arange(SIZE, dtype=given))
    w.from_numpy(np.array([np.inf] + [3.0] * (SIZE - 1), given))
    with ti.ad.Tape(loss):
        multiply(w, z, v)()
        drop(x, v, loss)()
    np.testing.assert_array_equal(z.grad.to_numpy(), [0.0] + [3.0] * (SIZE - 1))


@pytest.mark.parametrize("literal", [math.inf, -math.inf, math.nan])
def test_infinite_literals(f64: int, literal: float) -> None:
    """Stored by one kernel and multiplied by in another, and multiplied by at once."""
    w, z, v, x = fields(4)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def put():
        for i in w:
            w[i] = ti.select(i == 0, literal, 3.0)

    @ti.kernel
    def use():
        for i in w:
            factor = literal
            if i > 0:
                factor = 3.0
            loss[None] += ti.select(i > 0, factor * z[i], 0.0)

    x.from_numpy(np.arange(SIZE, dtype=float))
    put()
    with ti.ad.Tape(loss):
        multiply(w, z, v)()
        drop(x, v, loss)()
    np.testing.assert_array_equal(z.grad.to_numpy(), [0.0] + [3.0] * (SIZE - 1))
    with ti.ad.Tape(loss):
        use()
    np.testing.assert_array_equal(z.grad.to_numpy(), [0.0] + [3.0] * (SIZE - 1))


def test_finite_programs_are_not_compiled_again(f64: int) -> None:
    """What divides only by what is not 0 gives no field infinities."""
    x, w, z, v = fields(4)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def soften():
        for i in x:
            if x[i] > 0.0:
                w[i] = 1.0 / x[i]
            v[i] = 1.0 / ti.sqrt(x[i] * x[i] + 1e-6)

    x.fill(1.0)
    z.fill(2.0)
    with ti.ad.Tape(loss):
        soften()
        multiply(w, z, v)()
        drop(x, v, loss)()
    assert not x.program.poles.infinite


def test_a_divisor_from_an_array_beside_its_test(f64: int) -> None:
    """Ops that touch no array stand between the test and the quotient."""
    loss = scalar()

    @ti.kernel
    def f(a: ti.types.ndarray(ti.f64, 1)):
        for i in range(4):
            if a[i] != 0.0:
                loss[None] += 1.0 / a[i]

    a = ti.ndarray(ti.f64, 4, needs_grad=True)
    a.from_numpy(np.array([0.0, 1.0, 2.0, 4.0]))
    with ti.ad.Tape(loss):
        f(a)
    np.testing.assert_array_equal(a.grad.to_numpy(), [0.0, -1.0, -0.25, -0.0625])
