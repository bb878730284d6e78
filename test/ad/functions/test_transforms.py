"""Derivatives of functions: in kernels, from Python, of one another, under a tape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, slope, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


@ti.func
def cubic(x):
    return x**3 + 2 * x**2 - 3 * x + 1


@ti.func
def wave(x):
    return ti.sin(x) * ti.exp(0.5 * x)


@ti.func
def series(x, n):
    """The exponential series, by a loop."""
    term, total = 1.0, 1.0
    for i in range(1, n):
        term *= x / i
        total += term
    return total


@ti.func
def pieces(x):
    """Branches, and an early return."""
    if x < 0:
        return x * x
    result = ti.log(x) * x
    if x < 1:
        result = ti.sin(x)
    return result


@ti.func
def root(x):
    """A square root by Newton's method, with a `while` of unknown length and a `break`."""
    r = x
    for _ in range(50):
        step = (r * r - x) / (2 * r)
        r -= step
        if abs(step) < 1e-14:
            break
    i = 0
    while i < 2:
        r = 0.5 * (r + x / r)
        i += 1
    return r


@ti.func
def warp(v):
    """A map of 3-vectors, with a local vector that is indexed at run time."""
    w = ti.Vector([0.0, 0.0, 0.0])
    for i in range(3):
        w[i] = v[i] * v[(i + 1) % 3] + ti.sin(v[0])
    return w / (1 + v.norm())


def warp_jacobian(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """By finite differences of NumPy's own computation."""

    def f(u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return (u * np.roll(u, -1) + np.sin(u[0])) / (1 + np.linalg.norm(u))

    columns = [[slope(lambda h: f(v + h * np.eye(3)[j])[i]) for j in range(3)] for i in range(3)]  # noqa: B023
    return np.array(columns)


# One argument.


def test_the_program_of_seed_003() -> None:
    dfdx = ti.ad.forward(cubic)

    @ti.kernel
    def k() -> float:
        return dfdx(1.0)

    assert k() == 4.0
    assert dfdx(1.0) == 4.0


CLOSED_FORMS: list[tuple[Any, Callable[[float], float], Callable[[float], float]]] = [
    (cubic, lambda x: 3 * x**2 + 4 * x - 3, lambda x: 6 * x + 4),
    (
        wave,
        lambda x: math.exp(x / 2) * (math.cos(x) + math.sin(x) / 2),
        lambda x: math.exp(x / 2) * (math.cos(x) - 0.75 * math.sin(x)),
    ),
    (
        pieces,
        lambda x: 2 * x if x < 0 else math.cos(x) if x < 1 else math.log(x) + 1,
        lambda x: 2 if x < 0 else -math.sin(x) if x < 1 else 1 / x,
    ),
    (
        root,
        lambda x: 0.5 / math.sqrt(x) if x > 0 else 0.0,
        lambda x: -0.25 * x**-1.5 if x > 0 else 0.0,
    ),
]


@pytest.mark.parametrize("case", CLOSED_FORMS, ids=lambda case: case[0].__name__)
def test_first_and_second_derivatives_in_a_kernel(case: Any) -> None:
    f, first, second = case
    df, ddf = ti.ad.grad(f), ti.ad.grad(ti.ad.grad(f))
    points = np.array([0.3, 0.7, 1.7, 2.5] + ([-1.5] if f is not root else []))
    n = len(points)
    x, y, z = (ti.field(ti.f64, n) for _ in range(3))
    x.from_numpy(points)

    @ti.kernel
    def k():
        for i in x:
            y[i] = df(x[i])
            z[i] = ddf(x[i])

    k()
    assert y.to_numpy() == pytest.approx([first(p) for p in points], rel=1e-12)
    assert z.to_numpy() == pytest.approx([second(p) for p in points], rel=1e-11)


RULES = {
    "sin": ti.sin,
    "cos": ti.cos,
    "tan": ti.tan,
    "asin": ti.asin,
    "acos": ti.acos,
    "tanh": ti.tanh,
    "erf": ti.erf,
    "erfc": ti.math.erfc,
    "exp": ti.exp,
    "log": ti.log,
    "sqrt": ti.sqrt,
    "rsqrt": ti.rsqrt,
    "abs": lambda x: abs(x) * x,
    "atan2": lambda x: ti.atan2(x, x * x + 1),
    "power": lambda x: x**2.5,
    "exponent": lambda x: 1.7**x,
    "both": lambda x: x**x,
    "division": lambda x: x / (1 + x * x),
    "remainder": lambda x: (x % 0.3) ** 2,
    "max": lambda x: ti.max(x, x * x) * x,
    "select": lambda x: ti.select(x > 0.5, x**3, x),
}


@pytest.mark.parametrize("name", RULES)
def test_second_and_third_derivatives_of_every_rule(name: str) -> None:
    make = RULES[name]

    @ti.func
    def f(x):
        return make(x)

    first = ti.ad.grad(f)
    second = ti.ad.grad(first)
    third = ti.ad.grad(second)
    for at in (0.17, 0.43, 0.83):
        assert second(at) == pytest.approx(slope(lambda h: first(at + h)), rel=1e-6, abs=1e-8)  # noqa: B023 - used at once
        assert third(at) == pytest.approx(slope(lambda h: second(at + h)), rel=1e-6, abs=1e-8)  # noqa: B023


def test_loops_of_a_function_are_serial_and_those_of_its_kernel_parallel() -> None:
    a, y = ti.field(ti.f64, 10), ti.field(ti.f64, 3)
    a.fill(2.0)

    @ti.func
    def weighted(x):
        total = 0.0
        for i in range(10):
            total += x * x * a[i]
        return total

    @ti.kernel
    def k(x: float) -> float:
        d = ti.ad.grad(weighted)(x)
        for i in y:
            y[i] = d * i
        return d

    assert k(1.5) == 60.0
    assert list(y.to_numpy()) == [0.0, 60.0, 120.0]


def test_third_order() -> None:
    @ti.func
    def f(x):
        return ti.exp(2 * x) * x

    third = ti.ad.grad(ti.ad.grad(ti.ad.grad(f)))
    assert third(0.4) == pytest.approx(math.exp(0.8) * (8 * 0.4 + 12), rel=1e-13)
    assert ti.ad.grad(ti.ad.grad(ti.ad.grad(cubic)))(7.0) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: ti.sqrt(1 + x * x), 1.0),
        (lambda x: ti.exp(x * x), 2.0),
        (lambda x: 1 / (1 - x * x), 2.0),
        (lambda x: ti.log(1 + x * x), 2.0),
    ],
)
def test_second_derivatives_where_the_first_is_zero(make: Any, expected: float) -> None:
    """A tangent of 0 stays 0 by a test where a derivative may be infinite; its own derivative is
    not 0."""

    @ti.func
    def f(x):
        return make(x)

    assert ti.ad.grad(ti.ad.grad(f))(0.0) == pytest.approx(expected)
    x, loss = scalar(), scalar()

    @ti.kernel
    def slope_at():
        loss[None] += ti.ad.grad(f)(x[None])

    with ti.ad.Tape(loss):
        slope_at()
    assert x.grad[None] == pytest.approx(expected)

    @ti.kernel
    def value_at():
        loss[None] += f(x[None])

    assert ti.ad.hvp(value_at, loss, x, np.array(1.0)) == pytest.approx(expected)


def test_second_derivatives_through_a_rule_of_its_own() -> None:
    @ti.func
    def exponential(u):
        return ti.exp(u)

    @exponential.def_vjp
    def reverse(u, result, adjoint):
        return result * adjoint

    @ti.func
    def f(x):
        return exponential(x * x)

    second = ti.ad.grad(ti.ad.grad(f))
    assert second(0.0) == pytest.approx(2.0)
    assert second(0.3) == pytest.approx(math.exp(0.09) * (2 + 4 * 0.09))


def test_a_mixed_derivative_of_a_power_at_exponent_zero() -> None:
    @ti.func
    def f(x, p):
        return x**p

    mixed = ti.ad.grad(ti.ad.grad(f), argnums=1)
    assert mixed(2.0, 0.0) == pytest.approx(0.5)
    assert mixed(2.0, 1.5) == pytest.approx(math.sqrt(2) * (1 + 1.5 * math.log(2)))


def test_newtons_method_in_a_kernel() -> None:
    targets = np.array([0.5, 1.0, 4.0, 9.0])
    n = len(targets)
    x, c = ti.field(ti.f64, n), ti.field(ti.f64, n)
    x.fill(1.0)
    c.from_numpy(targets)

    @ti.func
    def residual(x, c):
        return x * ti.exp(x) - c

    slope_of = ti.ad.value_and_grad(residual)

    @ti.kernel
    def newton():
        for i in x:
            for _ in range(20):
                r, dr = slope_of(x[i], c[i])
                x[i] -= r / dr

    newton()
    found = x.to_numpy()
    assert found * np.exp(found) == pytest.approx(targets, rel=1e-13)


# The non-smooth table (docs/gradients.md, 7).


@pytest.mark.parametrize(
    ("make", "at", "expected"),
    [
        (lambda x: abs(x), 0.0, 0.0),
        (lambda x: ti.Vector([x, 0.0 * x]).norm(), 0.0, 0.0),
        (lambda x: ti.sqrt(x), 0.0, math.inf),
        (lambda x: ti.max(x, 2 * x), 0.0, 2.0),
        (lambda x: ti.min(x, 2 * x), 0.0, 2.0),
        (lambda x: ti.select(x > 0, ti.sqrt(x), 0.0), 0.0, 0.0),
        (lambda x: ti.select(x > 0, 1 / x, x), 0.0, 1.0),
        (lambda x: ti.floor(x) + ti.ceil(x) + ti.round(x), 0.3, 0.0),
        (lambda x: x % 3.0, 4.0, 1.0),
        (lambda x: 7.5 % x, 2.0, -3.0),
    ],
    ids=[
        "abs",
        "norm",
        "sqrt",
        "max",
        "min",
        "select sqrt",
        "select 1/x",
        "rounding",
        "mod x",
        "mod m",
    ],
)
def test_where_a_derivative_does_not_exist(make: Any, at: float, expected: float) -> None:
    @ti.func
    def f(x):
        return make(x)

    assert ti.ad.grad(f)(at) == expected


def test_a_branch_not_taken_contributes_nothing() -> None:
    @ti.func
    def f(x):
        result = x
        if x > 0:
            result = ti.log(x) / x
        return result

    assert ti.ad.grad(f)(0.0) == 1.0
    assert ti.ad.grad(ti.ad.grad(f))(0.0) == 0.0


# Several arguments, vectors, matrices.


@ti.func
def mixture(x, n, y):
    s = 0.0
    for i in range(n):
        s += x * ti.cos(y * i)
    return s


def test_argnums_and_integer_parameters() -> None:
    k = np.arange(5)
    gradient = ti.ad.grad(mixture, argnums=(0, 2))
    assert gradient(0.7, 5, 0.3) == pytest.approx(
        (np.cos(0.3 * k).sum(), (-0.7 * k * np.sin(0.3 * k)).sum())
    )
    assert ti.ad.grad(mixture, argnums=2)(0.7, n=5, y=0.3) == pytest.approx(
        (-0.7 * k * np.sin(0.3 * k)).sum()
    )
    value, (dy, dx) = ti.ad.value_and_grad(mixture, argnums=(2, 0))(0.7, 5, 0.3)
    assert value == pytest.approx(0.7 * dx)
    # another kernel, whose sum has another order
    assert dy == pytest.approx(gradient(0.7, 5, 0.3)[1], rel=1e-14)


def test_the_order_of_mixed_derivatives() -> None:
    one = ti.ad.grad(ti.ad.grad(mixture, argnums=0), argnums=2)(0.7, 5, 0.3)
    other = ti.ad.grad(ti.ad.grad(mixture, argnums=2), argnums=0)(0.7, 5, 0.3)
    k = np.arange(5)
    assert one == pytest.approx(other) == pytest.approx((-k * np.sin(0.3 * k)).sum())


def test_keyword_arguments_and_defaults_in_a_kernel() -> None:
    @ti.func
    def f(x, scale=3.0, power=2):
        return scale * x**power

    df, dscale = ti.ad.grad(f), ti.ad.grad(f, argnums=1)

    @ti.kernel
    def k(x: float) -> ti.types.vector(3, float):
        return ti.Vector([df(x), df(scale=2.0, x=x), dscale(x, 1.0)])

    assert list(k(1.5)) == pytest.approx([9.0, 6.0, 2.25])
    assert df(1.5) == pytest.approx(9.0)


def test_gradient_in_a_vector_and_jacobian_of_a_map() -> None:
    v = np.array([0.4, -1.2, 2.3])

    @ti.func
    def energy(u):
        return warp(u).norm_sqr()

    expected = warp_jacobian(v)
    found = ti.ad.jacobian(warp)(v)
    assert isinstance(found, np.ndarray)
    assert found == pytest.approx(expected, rel=1e-9)
    w = np.array(list(ti.ad.value_and_grad(energy)(ti.Vector(v))[1]))
    value = np.array(list(ti.ad.jvp(warp)(list(v), [0.0, 0.0, 0.0])[0]))
    assert w == pytest.approx(2 * value @ expected, rel=1e-9)


def test_jvp_and_vjp_are_the_jacobian_and_its_transpose() -> None:
    v, d, w = np.array([0.4, -1.2, 2.3]), np.array([1.0, 0.5, -2.0]), np.array([0.1, 3.0, -0.7])
    jacobian = warp_jacobian(v)
    value, tangent = ti.ad.jvp(warp)(v, d)
    again, adjoint = ti.ad.vjp(warp)(v, adjoint=w)
    assert tangent == pytest.approx(jacobian @ d, rel=1e-9)
    assert adjoint == pytest.approx(w @ jacobian, rel=1e-9)
    assert value == pytest.approx(again)
    assert w @ tangent == pytest.approx(adjoint @ d, rel=1e-13)


def test_hessians_and_their_products() -> None:
    @ti.func
    def rosenbrock(v):
        return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2

    x, y = -0.7, 0.4
    hessian = np.array([[2 - 400 * (y - 3 * x**2), -400 * x], [-400 * x, 200]])
    at = np.array([x, y])
    assert ti.ad.jacobian(ti.ad.grad(rosenbrock))(at) == pytest.approx(hessian)
    direction = np.array([0.3, -1.1])
    gradient, product = ti.ad.jvp(ti.ad.grad(rosenbrock))(at, direction)
    assert product == pytest.approx(hessian @ direction)
    assert gradient == pytest.approx([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)])


def test_jacobians_with_scalars_and_matrices() -> None:
    @ti.func
    def circle(a):
        return ti.Vector([ti.cos(a), ti.sin(a)])

    @ti.func
    def determinant(m):
        return m.determinant()

    assert ti.ad.jacobian(circle)(0.3) == ti.ad.forward(circle)(0.3)
    assert list(ti.ad.forward(circle)(0.3)) == pytest.approx([-math.sin(0.3), math.cos(0.3)])
    m = np.array([[2.0, 1.0], [0.5, 3.0]])
    assert ti.ad.grad(determinant)(m) == pytest.approx(np.linalg.det(m) * np.linalg.inv(m).T)
    assert ti.ad.jacobian(determinant)(m) == pytest.approx(np.linalg.det(m) * np.linalg.inv(m).T)


def test_functions_of_several_results() -> None:
    @ti.func
    def polar(v):
        return v.norm(), ti.atan2(v[1], v[0])

    v = np.array([0.6, -1.3])
    r2 = float(v @ v)
    radius, angle = ti.ad.jacobian(polar)(v)
    assert radius == pytest.approx(v / math.sqrt(r2))
    assert angle == pytest.approx([-v[1] / r2, v[0] / r2])
    _, tangents = ti.ad.jvp(polar)(v, v)
    assert tangents == pytest.approx((math.sqrt(r2), 0.0))
    _, adjoint = ti.ad.vjp(polar)(v, (2.0, 3.0))
    assert adjoint == pytest.approx(2 * v / math.sqrt(r2) + 3 * np.array([-v[1] / r2, v[0] / r2]))


def test_precision_is_that_of_the_declared_types() -> None:
    @ti.func
    def f(x: ti.f32, y: ti.f64):
        return x * y

    @ti.kernel
    def k(x: ti.f32, y: ti.f64) -> ti.f64:
        return ti.ad.grad(f, argnums=1)(x, y)

    assert k(0.1, 3.0) == float(np.float32(0.1))
    dx, dy = ti.ad.grad(f, argnums=(0, 1))(0.1, 0.3)
    assert (dx, dy) == (float(np.float32(0.3)), float(np.float32(0.1)))


# Where a derivative can be named.


def test_through_static_and_template_arguments_and_attributes() -> None:
    derivatives = [ti.ad.grad(cubic), ti.ad.grad(wave)]

    @ti.func
    def apply(f: ti.template(), x):
        return f(x)

    @ti.data_oriented
    class Curve:
        def __init__(self, scale: float) -> None:
            self.scale = scale
            self.slope_of_height = ti.ad.grad(self.height)

        @ti.func
        def height(self, x):
            return self.scale * ti.sin(x)

        slope = ti.ad.grad(height, argnums=1)

        @ti.kernel
        def run(self, x: float) -> ti.types.vector(2, float):
            return ti.Vector([self.slope_of_height(x), apply(ti.ad.grad(self.height), x)])

    @ti.kernel
    def both(x: float) -> float:
        total = 0.0
        for f in ti.static(derivatives):
            total += apply(f, x)
        return total

    assert both(0.5) == pytest.approx(ti.ad.grad(cubic)(0.5) + ti.ad.grad(wave)(0.5))
    assert list(Curve(3.0).run(0.5)) == pytest.approx([3 * math.cos(0.5)] * 2)


def test_as_an_argument_of_a_kernel_and_in_a_tape() -> None:
    loss, x = scalar(), scalar()
    x[None] = 0.6

    @ti.kernel
    def k(f: ti.template(), factor: float):
        loss[None] += factor * f(x[None])

    first, second = ti.ad.grad(cubic), ti.ad.grad(ti.ad.grad(cubic))
    with ti.ad.Tape(loss):
        k(first, second(1.0))
        k(second, 2.0)
    assert loss[None] == pytest.approx(10 * first(0.6) + 2 * second(0.6))
    assert x.grad[None] == pytest.approx(10 * second(0.6) + 2 * 6)


def test_inside_other_functions() -> None:
    """A function that uses a derivative has a derivative itself."""
    df = ti.ad.grad(wave)

    @ti.func
    def g(x):
        y = x * x
        for _ in range(2):
            y += df(y)
        return y

    def reference(x: float) -> float:
        y = x * x
        for _ in range(2):
            y += math.exp(y / 2) * (math.cos(y) + math.sin(y) / 2)
        return y

    assert ti.ad.grad(g)(0.6) == pytest.approx(slope(lambda h: reference(0.6 + h)), rel=1e-9)


# Memory.


def test_what_a_function_reads_is_constant_for_it_and_not_for_the_tape() -> None:
    """loss = Σ (∂f/∂x)², where f reads a field: its gradient in x and in the field."""
    x, a, loss = variable(5), variable(5, seed=1), scalar()

    @ti.func
    def f(x, i):
        return a[i] * ti.sin(x) + x * x * a[(i + 1) % 5]

    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.ad.grad(f)(x[i], i) ** 2

    gradient = check(k, [x, a], loss)[0]
    xs, first, second = x.to_numpy(), a.to_numpy(), np.roll(a.to_numpy(), -1)
    slopes = first * np.cos(xs) + 2 * xs * second
    assert gradient == pytest.approx(2 * slopes * (-first * np.sin(xs) + 2 * second))


@pytest.mark.parametrize("f", [wave, root, pieces], ids=lambda f: f.__name__)
def test_second_derivatives_through_a_tape(f: Any) -> None:
    x, loss = variable(6, low=0.2, high=2.2), scalar()

    @ti.kernel
    def k():
        for i in x:
            loss[None] += ti.ad.grad(f)(x[i]) ** 2

    check(k, [x], loss)


def test_a_vector_field_and_its_jacobian_under_a_tape() -> None:
    v, loss = ti.Vector.field(3, ti.f64, 4, needs_grad=True), scalar()
    v.from_numpy(np.random.default_rng(0).uniform(0.3, 1.4, (4, 3)))

    @ti.kernel
    def k():
        for i in v:
            loss[None] += ti.ad.jacobian(warp)(v[i]).determinant()

    check(k, [v], loss)


def test_a_random_draw_is_a_constant_and_the_same_one() -> None:
    y = ti.field(ti.f64, (8, 2))

    @ti.func
    def f(x):
        return x * ti.random()

    @ti.kernel
    def k():
        for i in range(8):
            value, slope = ti.ad.value_and_grad(f)(2.0)
            y[i, 0] = value
            y[i, 1] = slope + 0 * ti.random()

    k()
    drawn = y.to_numpy()
    assert drawn[:, 0] == pytest.approx(2 * drawn[:, 1])
    assert len(set(drawn[:, 1])) == 8


def test_assertions_stay() -> None:
    ti.init(default_fp=ti.f64, debug=True)

    @ti.func
    def f(x):
        assert x > 0, "not positive"
        return ti.log(x)

    assert ti.ad.grad(f)(2.0) == 0.5
    with pytest.raises(ti.TaichiAssertionError, match="not positive"):
        ti.ad.grad(f)(-1.0)


# From Python.


def test_calls_are_compiled_once_for_each_shape() -> None:
    @ti.func
    def f(v):
        return v.norm_sqr()

    df = ti.ad.grad(f)
    assert df([1.0, 2.0]) == ti.Vector([2.0, 4.0])
    compiled = dict(df._calls)
    assert df(np.array([3.0, 4.0])) == pytest.approx([6.0, 8.0])
    assert df._calls == compiled
    assert list(df(ti.Vector([1.0, 2.0, 3.0]))) == [2.0, 4.0, 6.0]
    assert len(df._calls) == 2


def test_a_program_ends_and_another_begins() -> None:
    df = ti.ad.grad(wave)
    before = df(0.3)
    ti.init(default_fp=ti.f32)
    single = df(0.3)
    assert single == pytest.approx(before, rel=1e-6)
    assert single != before


def test_fields_as_template_arguments() -> None:
    a, b = ti.field(ti.f64, 2), ti.field(ti.f64, 2)
    a.fill(2.0)
    b.fill(5.0)

    @ti.func
    def f(x, coefficients: ti.template()):
        return coefficients[0] * x * x

    df = ti.ad.grad(f)
    assert (df(3.0, a), df(3.0, b), df(3.0, a)) == (12.0, 30.0, 12.0)


# What is refused.


def refused(function: Any, *args: Any) -> str:
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)) as error:
        function(*args)
    return str(error.value)


def test_what_is_no_function() -> None:
    @ti.kernel
    def k(x: float) -> float:
        return x

    assert "the kernel 'k'" in refused(ti.ad.grad, k)
    assert "ti.ad.grad: expected a @ti.func" in refused(ti.ad.grad, math.sin)
    assert "ti.ad.jacobian: expected a @ti.func, got a int" in refused(ti.ad.jacobian, 3)


@pytest.mark.parametrize("argnums", [1, -1, (0, 1), True, (), (0, 0)])
def test_parameters_that_are_not_there(argnums: Any) -> None:
    assert f"argnums={argnums!r}" in refused(ti.ad.grad, cubic, argnums)


def test_arguments_that_have_no_derivative() -> None:
    assert "argument 'n' is of type i32" in refused(ti.ad.grad(mixture, argnums=1), 0.7, 5, 0.3)
    assert "argument 'x' is of type i32" in refused(ti.ad.grad(cubic), 3)
    x = ti.field(ti.f64, 3)
    assert "argument 'x' is an array" in refused(ti.ad.grad(cubic), x)


def test_wrong_numbers_of_arguments() -> None:
    df, tangent = ti.ad.grad(cubic), ti.ad.jvp(cubic)

    @ti.kernel
    def many(x: float) -> float:
        return df(x, x)

    @ti.kernel
    def none() -> float:
        return df()

    @ti.kernel
    def no_tangent(x: float) -> float:
        return tangent(x)[1]

    assert "Too many arguments: 'cubic' takes 1" in refused(many, 1.0)
    assert "`x` missing" in refused(none)
    assert "missing" in refused(no_tangent, 1.0)
    assert "too many positional arguments" in refused(df, 1.0, 2.0)
    assert "missing a required argument: 'x'" in refused(df)
    assert "then tangent=" in refused(tangent)


def test_results_that_have_no_gradient() -> None:
    @ti.func
    def count(x):
        return int(x)

    @ti.func
    def nothing(x):
        y = x  # noqa: F841

    assert "ti.ad.jacobian" in refused(ti.ad.grad(warp), [1.0, 2.0, 3.0])
    assert "result is of type i32" in refused(ti.ad.grad(count), 1.5)
    assert "result is nothing" in refused(ti.ad.grad(nothing), 1.5)


def test_shapes_that_do_not_fit() -> None:
    @ti.func
    def scaled(m, x):
        return m * x

    m = np.eye(2)
    assert "neither a vector nor a matrix" in refused(ti.ad.jacobian(scaled), m, 2.0)
    assert "ti.ad.jacobian" in refused(ti.ad.forward(scaled), m, 2.0)
    assert "tangent is a scalar, expected a vector of shape (3,)" in refused(
        ti.ad.jvp(warp), [1.0, 2.0, 3.0], 1.0
    )
    assert "adjoint is a vector of shape (2,)" in refused(
        ti.ad.vjp(warp), [1.0, 2.0, 3.0], [1.0, 1.0]
    )
    assert "an array of shape (2000,)" in refused(ti.ad.grad(warp), np.ones(2000))


def test_functions_with_side_effects() -> None:
    y = ti.field(ti.f64, shape=(), name="y")

    @ti.func
    def stores(x):
        y[None] = x
        return x

    @ti.func
    def adds(x):
        ti.atomic_add(y[None], x)
        return x

    @ti.func
    def prints(x):
        print(x)
        return x

    @ti.func
    def changes(x: ti.template()):
        x += 1.0
        return x

    @ti.kernel
    def writes_an_array(a: ti.types.ndarray(ti.f64, ndim=1), x: float) -> float:
        return ti.ad.grad(into_array)(x, a)

    @ti.func
    def into_array(x, a):
        a[0] = x
        return x

    @ti.kernel
    def writes_a_variable() -> float:
        x = 1.0
        x += 1.0
        return ti.ad.grad(changes)(x)

    message = refused(ti.ad.grad(stores), 1.0)
    assert "grad of 'stores': a function with side effects: writes field 'y'" in message
    assert "y[None] = x" in message  # the line
    assert "writes field 'y'" in refused(ti.ad.jvp(adds), 1.0, 1.0)
    assert "prints" in refused(ti.ad.grad(prints), 1.0)
    assert "writes array 'a'" in refused(writes_an_array, np.ones(3), 1.0)
    assert "writes its parameter 'x'" in refused(writes_a_variable)


def test_calls_by_python_while_a_kernel_is_compiled() -> None:
    df = ti.ad.grad(cubic)

    def through_python(x: Any) -> Any:
        return df(x)

    @ti.kernel
    def k() -> float:
        return through_python(1.0)

    assert "call it in the kernel" in refused(k)


def test_recursion() -> None:
    @ti.func
    def f(x):
        return ti.ad.grad(f)(x)

    assert "recursion" in refused(ti.ad.grad(f), 1.0)
