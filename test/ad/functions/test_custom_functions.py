"""Functions with derivatives of their own: `@f.def_vjp`, `@f.def_jvp`, and `ti.ad.check_custom`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def swapped() -> Any:
    """A function whose own derivative is wrong on purpose, so that one sees that it is used: 7 in
    place of 2."""

    @ti.func
    def double(x):
        return x * 2.0

    @double.def_vjp
    @ti.func
    def double_vjp(x, result, adjoint):
        return 7.0 * adjoint

    return double


def filtered() -> Any:
    """A function of a scalar, a matrix and an integer, with loops in it and in its derivative."""

    @ti.func
    def f(x, A, n):
        y = x
        for _ in range(n):
            y = 0.5 * y + ti.sin(x)
        return y * (A @ A), x * x

    @f.def_vjp
    def f_vjp(x, A, n, result, adjoint):
        _, square = result
        R, r = adjoint
        y, dy = x, 1.0
        k = 0
        while k < n:
            y, dy = 0.5 * y + ti.sin(x), 0.5 * dy + ti.cos(x)
            k += 1
        return 2.0 * square / x * r + dy * (R * (A @ A)).sum(), y * (
            A.transpose() @ R + R @ A.transpose()
        )

    return f


def test_the_given_derivative_is_taken() -> None:
    x, loss, double = variable(4), scalar(), swapped()

    @ti.kernel
    def run():
        for i in x:
            loss[None] += double(x[i])

    with ti.ad.Tape(loss):
        run()
    assert loss[None] == pytest.approx(2 * x.to_numpy().sum())
    assert x.grad.to_numpy() == pytest.approx(7.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_scalars_matrices_integers_and_loops(threads: int) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    x, count, loss, f = variable(6), ti.field(ti.i32, shape=6), scalar(), filtered()
    A = ti.Matrix.field(2, 2, ti.f64, shape=6, needs_grad=True)
    A.from_numpy(np.random.default_rng(1).uniform(-1, 1, (6, 2, 2)))
    count.from_numpy(np.array([0, 1, 2, 3, 4, 5], np.int32))

    @ti.kernel
    def run():
        for i in x:
            s = 0.0
            for _ in range(3):
                M, q = f(x[i] + s, A[i], n=count[i])
                s += 0.1 * M[0, 1] * q
            loss[None] += s**2

    check(run, [x, A], loss)


def test_in_place_and_in_while_loops() -> None:
    """What the derivative reads is kept like any needed value, and nothing else is."""
    x, loss = variable(5), scalar()

    @ti.func
    def root(a):
        return ti.sqrt(a)

    @root.def_vjp
    @ti.func
    def root_vjp(a, result, adjoint):
        return adjoint / (2.0 * result)

    @ti.kernel
    def step():
        for i in x:
            k = 0
            while k < 3:
                x[i] = root(x[i]) * 1.5
                k += 1

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def program() -> None:
        step()
        total()

    check(program, [x], loss)


def test_linear_rules_keep_nothing() -> None:
    x, y, loss = variable(5), variable(5, seed=1), scalar()

    @ti.func
    def product(a, b):
        return a * b

    @product.def_vjp
    def product_vjp(a, b, result, adjoint):
        return b * adjoint, a * adjoint

    @ti.kernel
    def scale(c: ti.f64):
        for i in x:
            x[i] = product(x[i], c)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    with ti.ad.Tape(loss) as tape:
        scale(3.0)
        scale(2.0)
        total()
    assert tape.explain().bytes == 0
    assert x.grad.to_numpy() == pytest.approx(6.0)
    assert y.grad.to_numpy() == pytest.approx(0.0)


def test_an_adjoint_of_zero_stays_zero() -> None:
    x, loss = variable(3), scalar()
    x[1] = 0.0

    @ti.func
    def logarithm(a):
        return ti.log(a)

    @logarithm.def_vjp
    def logarithm_vjp(a, result, adjoint):
        return adjoint / a

    @ti.kernel
    def run():
        for i in x:
            loss[None] += ti.select(x[i] > 0, logarithm(x[i]), 0.0)

    with ti.ad.Tape(loss):
        run()
    start = x.to_numpy()
    assert x.grad.to_numpy() == pytest.approx([1 / start[0], 0.0, 1 / start[2]])


def test_methods_templates_defaults_and_nesting() -> None:
    @ti.data_oriented
    class Material:
        def __init__(self, stiffness: float) -> None:
            self.stiffness = stiffness

        @ti.func
        def energy(self, e, power: ti.template() = 2, scale=1.0):
            return self.square(e) * self.stiffness * scale if ti.static(power == 2) else e

        @energy.def_vjp
        @ti.func
        def energy_vjp(self, e, power, scale, result, adjoint):
            value, slope = self.square(e), 2.0 * e
            return adjoint * slope * self.stiffness * scale, adjoint * value * self.stiffness

        @ti.func
        def square(self, e):
            return e * e

        @square.def_vjp
        @ti.func
        def square_vjp(self, e, result, adjoint):
            return 2.0 * e * adjoint

    x, y, loss = variable(4), variable(4, seed=2), scalar()
    soft, hard = Material(2.0), Material(30.0)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += (
                soft.energy(x[i]) + hard.energy(x[i] * y[i], scale=y[i]) + hard.square(y[i])
            )

    check(run, [x, y], loss)


def test_in_plain_functions_and_under_conditions() -> None:
    x, loss, f = variable(6, low=-1.0, high=1.0), scalar(), filtered()

    @ti.func
    def outer(a):
        result = a
        if a > 0:
            M, q = f(a + 1.0, ti.Matrix([[a, 1.0], [0.5, a]]), 2)
            result = M.trace() + q
        return result

    @ti.kernel
    def run():
        for i in x:
            loss[None] += outer(x[i]) * outer(0.5 + x[i])

    check(run, [x], loss)


def test_single_precision_beside_double() -> None:
    x, y, loss = variable(3, dtype=ti.f32), variable(3), scalar()

    @ti.func
    def f(a: ti.f32, b: ti.f64):
        return a * b

    @f.def_vjp
    @ti.func
    def f_vjp(a, b, result, adjoint):
        return adjoint * b, adjoint * a

    @ti.kernel
    def run():
        for i in x:
            loss[None] += f(x[i], y[i])

    with ti.ad.Tape(loss):
        run()
    assert x.grad.to_numpy() == pytest.approx(y.to_numpy(), rel=1e-6)
    assert y.grad.to_numpy() == pytest.approx(x.to_numpy(), rel=1e-7)


def test_none_stands_for_zeros() -> None:
    x, y, loss = variable(3), variable(3, seed=1), scalar()

    @ti.func
    def f(a, v):
        return a * v

    @f.def_vjp
    @ti.func
    def f_vjp(a, v, result, adjoint):
        return adjoint.dot(v), None

    @ti.kernel
    def run():
        for i in x:
            loss[None] += f(x[i], ti.Vector([y[i], 2.0])).sum()

    with ti.ad.Tape(loss):
        run()
    assert x.grad.to_numpy() == pytest.approx(y.to_numpy() + 2.0)
    assert y.grad.to_numpy() == pytest.approx(0.0)


def test_through_values_that_kernels_return() -> None:
    double = swapped()

    @ti.kernel
    def twice(a: ti.f64) -> ti.f64:
        return double(a) + double(a)

    assert twice(3.0) == 12.0


# Forward mode.


def jvp_of(with_own: bool) -> Any:
    f = filtered()
    if with_own:

        @f.def_jvp
        @ti.func
        def f_jvp(x, A, n, result, dx, dA):
            y, dy = x, 1.0
            for _ in range(n):
                y, dy = 0.5 * y + ti.sin(x), 0.5 * dy + ti.cos(x)
            return dy * dx * (A @ A) + y * (dA @ A + A @ dA), 2.0 * x * dx

    return f


@pytest.mark.parametrize("with_own", [False, True])
def test_tangents(with_own: bool) -> None:
    f = jvp_of(with_own)
    rng = np.random.default_rng(3)
    x, dx, A, dA = 0.7, 0.3, rng.uniform(-1, 1, (2, 2)), rng.uniform(-1, 1, (2, 2))
    _, (M, q) = ti.ad.jvp(f, argnums=(0, 1))(x, A, 3, tangent=(dx, dA))

    @ti.kernel
    def value(x: ti.f64, A: ti.types.matrix(2, 2, ti.f64)) -> ti.types.vector(5, ti.f64):
        M, q = f(x, A, 3)
        return ti.Vector([M[0, 0], M[0, 1], M[1, 0], M[1, 1], q])

    h = 1e-5
    slope = (value(x + h * dx, A + h * dA) - value(x - h * dx, A - h * dA)).to_numpy() / (2 * h)
    np.testing.assert_allclose([*np.asarray(M).ravel(), q], slope, rtol=1e-8)


@pytest.mark.parametrize("with_own", [False, True])
def test_second_order(with_own: bool) -> None:
    """Forward over reverse: the derivative of a function's own derivative."""

    @ti.func
    def cube(x):
        return x * x * x

    @cube.def_vjp
    @ti.func
    def cube_vjp(x, result, adjoint):
        return 3.0 * x * x * adjoint

    if with_own:

        @cube.def_jvp
        @ti.func
        def cube_jvp(x, result, dx):
            return 3.0 * x * x * dx

    @ti.func
    def slope(x):
        return ti.ad.grad(cube)(x)

    assert ti.ad.grad(cube)(2.0) == pytest.approx(12.0)
    assert ti.ad.grad(ti.ad.grad(cube))(2.0) == pytest.approx(12.0)
    assert ti.ad.grad(slope)(2.0) == pytest.approx(12.0)


def test_forward_mode_alone_is_refused_in_reverse() -> None:
    x, loss = variable(3), scalar()

    @ti.func
    def f(a):
        return a * a

    @f.def_jvp
    @ti.func
    def f_jvp(a, result, da):
        return 2.0 * a * da

    @ti.kernel
    def run():
        for i in x:
            loss[None] += f(x[i])

    assert ti.ad.grad(f)(3.0) == pytest.approx(6.0)
    with (
        pytest.raises(
            ti.TaichiCompilationError,
            match=r"test_custom.*'f' has a derivative.*forward mode.*def_vjp",
        ),
        ti.ad.Tape(loss),
    ):
        run()


def test_forward_mode_agrees_with_reverse() -> None:
    F = ti.Matrix.field(3, 3, ti.f64, shape=4, needs_grad=True)
    loss, rng = scalar(), np.random.default_rng(5)
    F.from_numpy(rng.standard_normal((4, 3, 3)))
    f = filtered()

    @ti.kernel
    def run():
        for i in F:
            U, S, V = ti.svd(F[i])
            M, q = f(S.trace(), S[0:2, 0:2], 2)
            loss[None] += (
                (U @ V.transpose() * F[i]).sum() + q + M[0, 0] * ti.polar_decompose(F[i])[0][1, 2]
            )

    with ti.ad.Tape(loss):
        run()
    seeds = rng.standard_normal((2, 4, 3, 3))
    with ti.ad.FwdMode(loss, F, seed=seeds) as forward:
        run()
    expected = (F.grad.to_numpy() * seeds).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(np.ravel(forward.tangents(loss)), expected, rtol=1e-11)


def test_assertions_stay() -> None:
    ti.init(default_fp=ti.f64, debug=True)
    x, loss = variable(3), scalar()

    @ti.func
    def entry(v, k):
        assert k < 2, "too far"
        return v[k]

    @entry.def_vjp
    def entry_vjp(v, k, result, adjoint):
        w = v * 0.0
        w[k] = adjoint
        return w

    @ti.kernel
    def run(k: ti.i32):
        for i in x:
            loss[None] += entry(ti.Vector([x[i], 2.0 * x[i], 3.0 * x[i]]), k)

    with ti.ad.Tape(loss):
        run(1)
    assert x.grad.to_numpy() == pytest.approx(2.0)
    with pytest.raises(ti.TaichiAssertionError, match="too far"):
        run(2)


# The self-test.


def test_a_right_derivative_passes() -> None:
    f = jvp_of(True)
    ti.ad.check_custom(f, 0.7, np.array([[1.0, 2.0], [0.5, -1.0]]), 3)
    ti.ad.check_custom(f, 2.0, ti.Matrix([[1.0, 2.0], [0.5, -1.0]]), 0)


def test_a_wrong_derivative_is_found() -> None:
    with pytest.raises(
        ti.TaichiAssertionError,
        match=r"'double_vjp' .* 'double': with respect to argument 'x' it gives 7.*give 2",
    ):
        ti.ad.check_custom(swapped(), 3.0)

    @ti.func
    def norm(v, shift: ti.template()):
        return v.dot(v) + shift

    @norm.def_vjp
    @ti.func
    def norm_vjp(v, shift, result, adjoint):
        return ti.Vector([2.0 * v[0], 2.0 * v[1], 2.0 * v[1]]) * adjoint

    with pytest.raises(
        ti.TaichiAssertionError, match=r"with respect to argument 'v'\[2\] it gives"
    ):
        ti.ad.check_custom(norm, [1.0, 2.0, 3.0], 5)

    @norm.def_jvp
    @ti.func
    def norm_jvp(v, shift, result, dv):
        return 2.0 * v.dot(dv)

    with pytest.raises(ti.TaichiAssertionError, match="norm_vjp"):
        ti.ad.check_custom(norm, [1.0, 2.0, 3.0], 5)


def test_what_cannot_be_checked() -> None:
    @ti.func
    def plain(x):
        return x

    with pytest.raises(ti.TaichiTypeError, match=r"'plain' has none"):
        ti.ad.check_custom(plain, 1.0)
    with pytest.raises(ti.TaichiTypeError, match=r"no argument of 'double' is a float"):
        ti.ad.check_custom(swapped(), 1)
    with pytest.raises(ti.TaichiTypeError, match=r"'double'"):
        ti.ad.check_custom(swapped())

    @ti.func
    def single(x: ti.f32):
        return x

    @single.def_vjp
    def single_vjp(x, result, adjoint):
        return adjoint

    with pytest.raises(ti.TaichiTypeError, match=r"needs f64.*f32"):
        ti.ad.check_custom(single, 1.0)


# Errors.


def raised(call: Any, *args: Any) -> str:
    """What compiling a kernel with a call says."""
    with pytest.raises(ti.TaichiCompilationError) as error:
        call(*args)
    return str(error.value)


def test_what_a_derivative_returns() -> None:
    x = variable(3)

    @ti.func
    def f(a, v, n):
        return a * v

    def run_with(rule: Any) -> str:
        f.vjp = None
        f.def_vjp(rule)

        @ti.kernel
        def run():
            for i in x:
                x[i] = f(x[i], ti.Vector([1.0, 2.0]), 3).sum()

        return raised(run)

    @ti.func
    def too_few(a, v, n, result, adjoint):
        return a

    @ti.func
    def for_the_integer(a, v, n, result, adjoint):
        return a, v, 0

    @ti.func
    def scalar_for_vector(a, v, n, result, adjoint):
        return a, a

    @ti.func
    def longer(a, v, n, result, adjoint):
        return a, ti.Vector([a, a, a])

    @ti.func
    def nothing(a, v, n, result, adjoint):
        a + 1

    @ti.func
    def parameters(a, v, n, adjoint):
        return a, v

    assert (
        "'too_few' returns 1 adjoints, expected 2, of 'a', 'v' (here 'n' is not a float"
        in run_with(too_few)
    )
    assert "'for_the_integer' returns 3 adjoints, expected 2" in run_with(for_the_integer)
    assert (
        "'scalar_for_vector' returns a scalar as the adjoint of 'v', expected a vector of shape "
        "(2,)" in run_with(scalar_for_vector)
    )
    assert "'longer' returns a vector of shape (3,) as the adjoint of 'v'" in run_with(longer)
    assert "'nothing' returns 0 adjoints, expected 2" in run_with(nothing)
    message = run_with(parameters)
    assert (
        "'parameters' takes 4 arguments, expected 5: those of the function, its result and the "
        "adjoint" in message
    )
    assert "test_custom_functions.py" in message and "def parameters(" in message


def test_what_a_function_may_not_do() -> None:
    x, y = variable(3), variable(3)

    def run_with(function: Any) -> str:
        @function.def_vjp
        @ti.func
        def rule(a, result, adjoint):
            return adjoint

        @ti.kernel
        def run():
            for i in x:
                x[i] = function(x[i])

        return raised(run)

    @ti.func
    def reads(a):
        return a + y[0]

    @ti.func
    def writes(a):
        y[0] += a
        return a

    @ti.func
    def prints(a):
        print(a)
        return a

    @ti.func
    def draws(a):
        return a + ti.random(ti.f64)

    @ti.func
    def counts(a):
        return 3

    @ti.func
    def silent(a):
        a + 1.0

    assert "'reads' has its own derivatives" in (message := run_with(reads))
    assert (
        "reads memory 'x_1': pass what it reads as an argument" in message
        and "return a + y[0]" in message
    )
    assert "updates memory 'x_1'" in run_with(writes)
    assert "'prints' has its own derivatives" in run_with(prints)
    assert "draws random numbers" in run_with(draws)
    assert "'counts' has its own derivatives, so it must return floats, not i32" in run_with(counts)
    assert "'silent' has its own derivatives, but returns nothing" in run_with(silent)


def test_a_derivative_may_not_touch_memory_either() -> None:
    x, y = variable(3), variable(3)

    @ti.func
    def f(a):
        return a

    @f.def_vjp
    @ti.func
    def f_vjp(a, result, adjoint):
        return y[0] * adjoint

    @ti.kernel
    def run():
        for i in x:
            x[i] = f(x[i])

    assert "reads memory 'x_1'" in raised(run)


def test_arguments_are_values() -> None:
    x = variable(3)

    @ti.func
    def f(a: ti.template(), b):
        return b

    @f.def_vjp
    @ti.func
    def f_vjp(a, b, result, adjoint):
        return adjoint

    @ti.kernel
    def by_reference():
        for i in x:
            k = x[i]
            x[i] = f(k, x[i])

    @ti.kernel
    def arrays(a: ti.types.ndarray()):
        for i in x:
            x[i] = f(a, x[i])

    assert "'a' is passed by reference" in raised(by_reference)
    assert "'a' is an array: pass the elements" in raised(arrays, np.zeros(3))


def test_definitions() -> None:
    double = swapped()
    with pytest.raises(
        ti.TaichiRuntimeError, match=r"'double' already has a def_vjp: 'double_vjp'"
    ):
        double.def_vjp(lambda x, result, adjoint: adjoint)

    @ti.kernel
    def run():
        pass

    with pytest.raises(
        ti.TaichiTypeError, match=r"expected a @ti\.func or a Python function, got Kernel"
    ):
        double.def_jvp(run)
    with pytest.raises(ti.TaichiTypeError, match=r"'run' is a kernel.*@ti.func"):
        run.def_vjp(lambda result, adjoint: adjoint)

    class Model:
        @ti.func
        def f(self, x):
            return x

    with pytest.raises(ti.TaichiRuntimeError, match="belongs to an object"):
        Model().f.def_vjp(lambda x, result, adjoint: adjoint)
