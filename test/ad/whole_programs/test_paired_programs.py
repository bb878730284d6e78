"""Programs in pairs: one overwrites what its gradient needs, the other keeps it itself and must
cost nothing.

`check_pair` compares both with finite differences and with each other; only the first may keep
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import State, check_pair, scalar, variable

import mlirad as ti
from mlirad.runtime.program import program

N = 4


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Double precision, two threads that share loops of any length, little time for compilation."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2, opt_level=0)
    program().config.thread_worth = 0
    yield
    ti.reset()


def check_closed(
    run: Callable[[], Any], inputs: list[Any], loss: Any, expected: list[Any], saves: bool
) -> None:
    """Compare a gradient with what calculus, or the table of docs/gradients.md, 7,, says it is."""
    start = State(inputs, loss)
    with ti.ad.Tape(loss, rules="save" if saves else "refuse") as tape:
        run()
    for x, value in zip(inputs, expected):
        np.testing.assert_allclose(x.grad.to_numpy(), value, rtol=1e-12, atol=1e-13)
    assert (tape.explain().bytes > 0) == saves, str(tape.explain())
    start.restore()


# Indices, conditions, bounds and coefficients that lie in fields.


def integers() -> Any:
    return ti.field(ti.i32, shape=N)


def floats() -> Any:
    return ti.field(ti.f64, shape=N)


def floats_with_gradient() -> Any:
    return ti.field(ti.f64, shape=N, needs_grad=True)


def use(role: str, holder: Any, target: Any, x: Any, loss: Any) -> Any:
    """A kernel that is steered by `holder`, and writes to `target`, which may be the same."""

    @ti.kernel
    def run():
        for i in range(N):
            k = ti.cast(holder[i], ti.i32)
            if ti.static(role == "index"):
                loss[None] += x[k] * x[i]
            elif ti.static(role == "condition"):
                if k > 1:
                    loss[None] += x[i] ** 2
                else:
                    loss[None] += x[i] ** 3
            elif ti.static(role == "bound"):
                a = x[i]
                for _ in range(k):
                    a *= x[i]
                loss[None] += a
            else:
                loss[None] += holder[i] * x[i]
            target[i] = ti.cast(i, holder.dtype)

    return run


def later_kernel(target: Any) -> Any:
    @ti.kernel
    def run():
        for i in target:
            target[i] = ti.cast(0, target.dtype)

    return run


OVERWRITES = {
    "kernel": later_kernel,
    "fill": lambda target: lambda: target.fill(1),
    "element": lambda target: lambda: target.__setitem__(2, 0),
    "from_numpy": lambda target: lambda: target.from_numpy(np.zeros(N, target.dtype.numpy)),
}


@pytest.mark.parametrize("place", ["same kernel", *OVERWRITES])
@pytest.mark.parametrize("make", [integers, floats, floats_with_gradient])
@pytest.mark.parametrize("role", ["index", "condition", "bound", "coefficient"])
def test_values_that_steer(role: str, make: Callable[[], Any], place: str) -> None:
    x, loss, holder, spare, other = variable(N), scalar(), make(), make(), make()
    holder.from_numpy(
        np.array([3, 0, 2, 1], holder.dtype.numpy) + (0.5 if holder.dtype.is_float else 0)
    )
    inputs = [x, holder] if make is floats_with_gradient else [x]
    if place == "same kernel":
        overwriting, obeying = use(role, holder, holder, x, loss), use(role, holder, spare, x, loss)
    else:
        first, end, end_elsewhere = (
            use(role, holder, other, x, loss),
            OVERWRITES[place](holder),
            OVERWRITES[place](spare),
        )
        overwriting, obeying = (lambda: (first(), end())), (lambda: (first(), end_elsewhere()))
    check_pair(overwriting, obeying, inputs, loss)


# In place on a loss and on components; stores; atomics.


def test_operators_on_the_loss() -> None:
    x, loss, total, scaled, divided = variable(N), scalar(), scalar(), scalar(), scalar()

    @ti.kernel
    def overwriting():
        for i in x:
            loss[None] += x[i] ** 2
        loss[None] *= x[0]
        loss[None] /= 1.5 + x[1] * loss[None]
        loss[None] **= 3
        loss[None] = loss[None] * loss[None]

    @ti.kernel
    def obeying():
        for i in x:
            total[None] += x[i] ** 2
        scaled[None] = total[None] * x[0]
        divided[None] = scaled[None] / (1.5 + x[1] * scaled[None])
        loss[None] = divided[None] ** 6

    check_pair(overwriting, lambda: (total.fill(0), obeying()), [x], loss)


@pytest.mark.parametrize("operator", ["*=", "/=", "**=", "x*x"])
def test_operators_on_vector_components(operator: str) -> None:
    x, loss = variable(N), scalar()
    v, w = (ti.Vector.field(3, ti.f64, shape=N, needs_grad=True) for _ in range(2))
    v.from_numpy(np.random.default_rng(0).uniform(0.5, 1.2, (N, 3)))

    @ti.func
    def update(a, b):
        if ti.static(operator == "*="):
            a *= b
        elif ti.static(operator == "/="):
            a /= b + a
        elif ti.static(operator == "**="):
            a **= 3
        else:
            a = a * a
        return a

    @ti.kernel
    def overwriting():
        for i in x:
            if ti.static(operator == "*="):
                v[i][1] *= x[i]
            elif ti.static(operator == "/="):
                v[i][1] /= x[i] + v[i][1]
            elif ti.static(operator == "**="):
                v[i][1] **= 3
            else:
                v[i][1] = v[i][1] * v[i][1]
            v[i] *= v[i][1]
            loss[None] += v[i].sum() * x[i]

    @ti.kernel
    def obeying():
        for i in x:
            middle = update(v[i][1], x[i])
            w[i] = ti.Vector([v[i][0], middle, v[i][2]]) * middle
            loss[None] += w[i].sum() * x[i]

    check_pair(overwriting, obeying, [x, v], loss)


def test_a_store_kills_an_earlier_store() -> None:
    x, y, z, w, loss = variable(N), variable(N), variable(N), variable(N), scalar()

    @ti.kernel
    def overwriting():
        for i in x:
            y[i] = ti.sin(x[i]) * y[i]
            loss[None] += y[i] ** 2
            y[i] = x[i] * x[i]
            loss[None] += y[i] ** 3

    @ti.kernel
    def obeying():
        for i in x:
            z[i] = ti.sin(x[i]) * y[i]
            loss[None] += z[i] ** 2
            w[i] = x[i] * x[i]
            loss[None] += w[i] ** 3

    check_pair(overwriting, obeying, [x, y], loss)


def test_the_value_an_atomic_returns() -> None:
    x, y, values, loss = variable(N), variable(2), variable(N + 1), scalar()

    @ti.kernel
    def overwriting():
        ti.loop_config(serialize=True)
        for i in range(N):
            before = ti.atomic_add(y[0], x[i] * y[0])
            loss[None] += before**2 * x[i]

    @ti.kernel
    def obeying():
        values[0] = y[0]
        ti.loop_config(serialize=True)
        for i in range(N):
            values[i + 1] = values[i] + x[i] * values[i]
            loss[None] += values[i] ** 2 * x[i]

    check_pair(overwriting, obeying, [x, y], loss)


@pytest.mark.parametrize("kind", ["max", "min", "mul"])
def test_atomics_that_are_no_sums(kind: str) -> None:
    x, y, z, loss = variable(N), variable(N, seed=3), variable(N), scalar()

    @ti.kernel
    def overwriting():
        for i in x:
            if ti.static(kind == "max"):
                ti.atomic_max(y[i], x[i] * x[i])
            elif ti.static(kind == "min"):
                ti.atomic_min(y[i], x[i] * x[i])
            else:
                ti.atomic_mul(y[i], x[i] * x[i])
            loss[None] += y[i] ** 2
            y[i] *= y[i]
            loss[None] += y[i] * x[i]

    @ti.kernel
    def obeying():
        for i in x:
            a = x[i] * x[i]
            if ti.static(kind == "max"):
                z[i] = ti.max(y[i], a)
            elif ti.static(kind == "min"):
                z[i] = ti.min(y[i], a)
            else:
                z[i] = y[i] * a
            loss[None] += z[i] ** 2 + z[i] * z[i] * x[i]

    check_pair(overwriting, obeying, [x, y], loss)


# What loops carry: in a field, or in locals, of which nothing is kept.


def test_a_vector_with_dynamic_indices() -> None:
    x, loss = variable(N), scalar()
    v = ti.Vector.field(3, ti.f64, shape=N, needs_grad=True)

    @ti.kernel
    def overwriting():
        for i in x:
            v[i] = ti.Vector([1.0, 2.0, x[i]])
            for j in range(7):
                v[i][j % 3] = v[i][(j + 1) % 3] * x[(i + j) % N]
                v[i][(2 * j) % 3] *= 0.5 + 0.1 * v[i][j % 3]
            loss[None] += v[i].dot(v[i])

    @ti.kernel
    def obeying():
        for i in x:
            u = ti.Vector([1.0, 2.0, x[i]])
            for j in range(7):
                u[j % 3] = u[(j + 1) % 3] * x[(i + j) % N]
                u[(2 * j) % 3] *= 0.5 + 0.1 * u[j % 3]
            loss[None] += u.dot(u)

    check_pair(overwriting, obeying, [x], loss)


def test_carried_vectors_and_matrices() -> None:
    x, loss = variable(N), scalar()
    v = ti.Vector.field(2, ti.f64, shape=N, needs_grad=True)
    m = ti.Matrix.field(2, 2, ti.f64, shape=N, needs_grad=True)

    @ti.kernel
    def overwriting():
        for i in x:
            v[i] = ti.Vector([x[i], 1.0])
            m[i] = ti.Matrix([[0.9, x[i]], [-x[i], 0.8]])
            for j in range(4):
                m[i] = m[i] @ ti.Matrix([[0.9, x[j]], [0.2, 0.7]])
                v[i] = m[i] @ v[i] + v[i] * x[j]
            loss[None] += v[i].dot(v[i]) + m[i].determinant()

    @ti.kernel
    def obeying():
        for i in x:
            u = ti.Vector([x[i], 1.0])
            n = ti.Matrix([[0.9, x[i]], [-x[i], 0.8]])
            for j in range(4):
                n = n @ ti.Matrix([[0.9, x[j]], [0.2, 0.7]])
                u = n @ u + u * x[j]
            loss[None] += u.dot(u) + n.determinant()

    check_pair(overwriting, obeying, [x], loss)


def test_a_while_on_a_value_with_break_and_continue() -> None:
    x, y, loss = variable(N), variable(N), scalar()
    count, start = integers(), integers()
    start.from_numpy(np.array([9, 0, 3, 14], np.int32))

    @ti.kernel
    def overwriting():
        for i in x:
            count[i] = start[i]
            while count[i] > 0:
                count[i] -= 1
                if count[i] % 3 == 1:
                    continue
                y[i] = y[i] * (1.1 + 0.2 * x[i]) + 0.1 * ti.sin(y[i])
                if y[i] > 6.0:
                    break
            loss[None] += y[i] ** 2

    @ti.kernel
    def obeying():
        for i in x:
            n, a = start[i], y[i]
            while n > 0:
                n -= 1
                if n % 3 == 1:
                    continue
                a = a * (1.1 + 0.2 * x[i]) + 0.1 * ti.sin(a)
                if a > 6.0:
                    break
            loss[None] += a**2

    check_pair(overwriting, obeying, [x, y], loss)


def test_a_trip_count_found_by_data_and_overwritten() -> None:
    """The source of a `while`'s trips, and of a sum's length, is gone when the reverse runs."""
    x, y, z, loss = (
        variable(N, low=1.1, high=1.6),
        variable(N, low=2.0, high=9.0),
        variable(N),
        scalar(),
    )

    @ti.kernel
    def grow():
        for i in x:
            a, trips = x[i], 0
            while a < y[i]:
                a *= x[i]
                trips += 1
            for j in range(trips):
                a += ti.sin(x[i] * j)
            loss[None] += a * a

    @ti.kernel
    def end(target: ti.template()):
        for i in target:
            target[i] = x[i]

    check_pair(lambda: (grow(), end(y)), lambda: (grow(), end(z)), [x], loss)


@pytest.mark.parametrize("trips", [0, 1, 500])
def test_trips(trips: int) -> None:
    x, y, loss = variable(2), variable(2), scalar()

    @ti.kernel
    def overwriting(n: ti.i32):
        for i in x:
            for j in range(n):
                y[i] = ti.sin(y[i] * x[i] + 0.01 * j)
            loss[None] += y[i] ** 2

    @ti.kernel
    def obeying(n: ti.i32):
        for i in x:
            a = y[i]
            for j in range(n):
                a = ti.sin(a * x[i] + 0.01 * j)
            loss[None] += a**2

    check_pair(lambda: overwriting(trips), lambda: obeying(trips), [x, y], loss)


def test_four_loops_deep() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def overwriting():
        for i in x:
            for j in range(2):
                y[i] *= 0.9 + 0.1 * x[j]
                for k in range(j + 1):
                    for m in range(2):
                        for n in range(m + k):
                            y[i] = ti.sin(y[i] * x[(m + n) % N]) + 0.3
                    y[i] += x[k] * y[i]
            loss[None] += y[i] ** 2

    @ti.kernel
    def obeying():
        for i in x:
            a = y[i]
            for j in range(2):
                a *= 0.9 + 0.1 * x[j]
                for k in range(j + 1):
                    for m in range(2):
                        for n in range(m + k):
                            a = ti.sin(a * x[(m + n) % N]) + 0.3
                    a += x[k] * a
            loss[None] += a**2

    check_pair(overwriting, obeying, [x, y], loss)


# Two paths, one of them cut.


def two_paths(x: Any, loss: Any, cut: str) -> tuple[Any, Any]:
    """Programs that reach a loss by `y` and by `z`, which is cut; the first overwrites `x`, the
    second does not."""
    y, z, spare = variable(N), variable(N), variable(N)

    @ti.kernel
    def branch(target: ti.template()):
        for i in x:
            y[i] = x[i] * x[i]
            if ti.static(cut != "no_grad"):
                z[i] = ti.sin(x[i])
            target[i] = 0.3

    @ti.kernel
    def sines():
        for i in x:
            z[i] = ti.sin(x[i])

    @ti.ad.no_grad
    def separately() -> None:
        sines()

    @ti.kernel
    def join():
        for i in x:
            if ti.static(cut == "stop_grad"):
                ti.stop_grad(z)
            loss[None] += y[i] ** 2 + z[i] * (i + 1)

    def run(target: Any) -> None:
        if cut == "no_grad":
            separately()
        branch(target)
        if cut == "host":
            z.fill(0.5)
        join()

    return (lambda: run(x)), (lambda: run(spare))


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_a_path_cut_by_the_host() -> None:
    x, loss = variable(N), scalar()
    check_pair(*two_paths(x, loss, "host"), [x], loss)


@pytest.mark.parametrize("cut", ["stop_grad", "no_grad"])
def test_a_path_cut_on_purpose(cut: str) -> None:
    x, loss = variable(N), scalar()
    overwriting, obeying = two_paths(x, loss, cut)
    expected = [4 * x.to_numpy() ** 3]
    check_closed(overwriting, [x], loss, expected, saves=True)
    check_closed(obeying, [x], loss, expected, saves=False)


# Guards at the point where the derivative of the other branch does not exist.


@ti.func
def root(a):
    return ti.sqrt(a)


@ti.func
def logarithm(a):
    return ti.log(a)


@ti.func
def inverse(a):
    return 1.0 / a


@ti.func
def inverse_root(a):
    return ti.rsqrt(a)


@ti.func
def entropy(a):
    return a * ti.log(a)


@ti.func
def square_root_power(a):
    return a**0.5


@ti.func
def arc(a):
    return ti.acos(1.0 + a) / a


@ti.func
def by_select(f: ti.template(), good, a):
    return ti.select(good > 0, f(a), 7.0 * a)


@ti.func
def by_ternary(f: ti.template(), good, a):
    return f(a) if good > 0 else 7.0 * a


@ti.func
def by_if(f: ti.template(), good, a):
    result = 7.0 * a
    if good > 0:
        result = f(a)
    return result


@ti.func
def computed_before(f: ti.template(), good, a):
    early, result = f(a), 7.0 * a
    if good > 0:
        result += early * a
    return result


@pytest.mark.parametrize(
    "guard", [by_select, by_ternary, by_if, computed_before], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(
    "f",
    [root, logarithm, inverse, inverse_root, entropy, square_root_power, arc],
    ids=lambda f: f.__name__,
)
def test_guards(f: Any, guard: Any) -> None:
    """At 0 the guard is closed; the value is overwritten by what it was used for, or kept."""
    x, y, loss, good = variable(3), variable(3), scalar(), ti.field(ti.i32, shape=3)
    x.from_numpy(np.array([0.0, 0.8, 0.0]) if f is not arc else np.array([0.0, -0.8, 0.0]))
    good.from_numpy(np.array([0, 1, 0], np.int32))

    @ti.kernel
    def overwriting():
        for i in x:
            x[i] = guard(f, good[i], x[i])
        for i in x:
            loss[None] += x[i] * (1.0 + x[i])

    @ti.kernel
    def obeying():
        for i in x:
            y[i] = guard(f, good[i], x[i])
        for i in x:
            loss[None] += y[i] * (1.0 + y[i])

    check_pair(overwriting, obeying, [x], loss)


def test_a_guard_on_a_value_stored_by_another_kernel() -> None:
    """The infinite number lies in memory between two kernels."""
    x, y, z, loss, good = variable(3), variable(3), variable(3), scalar(), ti.field(ti.i32, shape=3)
    w = variable(3)
    x.from_numpy(np.array([0.0, 0.8, 0.0]))
    good.from_numpy(np.array([0, 1, 0], np.int32))

    @ti.kernel
    def invert(source: ti.template(), target: ti.template()):
        for i in source:
            target[i] = 1.0 / source[i]

    @ti.kernel
    def total(target: ti.template()):
        for i in x:
            loss[None] += ti.select(good[i] > 0, target[i] * z[i], z[i] ** 2)

    check_pair(
        lambda: (invert(x, w), x.fill(1.0), total(w)), lambda: (invert(x, y), total(y)), [z], loss
    )


def test_norms_at_zero() -> None:
    x, loss = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True), scalar()
    x.from_numpy(np.array([[0.0, 0.0], [0.0, -2.0], [0.6, 0.3]]))
    lengths = variable(3)

    @ti.kernel
    def overwriting():
        for i in x:
            x[i] *= x[i].norm()
        for i in x:
            loss[None] += x[i].norm() * (i + 1)

    @ti.kernel
    def obeying():
        for i in x:
            lengths[i] = x[i].norm()
        for i in x:
            u = x[i] * lengths[i]
            loss[None] += u.norm() * (i + 1)

    check_pair(overwriting, obeying, [x], loss)


def test_a_norm_and_an_absolute_value_at_zero() -> None:
    """Where differences from both sides cancel, so does the subgradient of least norm."""
    x, loss = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True), scalar()
    spare = variable(2)
    x.from_numpy(np.array([[0.0, 0.0], [0.0, 0.4]]))

    @ti.kernel
    def overwriting():
        for i in x:
            loss[None] += x[i].norm() + ti.abs(x[i][0])
            x[i][0] = 3.0

    @ti.kernel
    def obeying():
        for i in x:
            loss[None] += x[i].norm() + ti.abs(x[i][0])
            spare[i] = 3.0

    check_pair(overwriting, obeying, [x], loss)


def apply_and_overwrite(
    f: Any, values: list[float]
) -> tuple[Callable[[bool], Callable[[], None]], list[Any], Any]:
    """A program of `f` of some numbers, which it overwrites if asked to; its inputs and its
    loss."""
    inputs, spares, loss = [scalar() for _ in values], [scalar() for _ in values], scalar()
    for x, value in zip(inputs, values):
        x[None] = value

    @ti.kernel
    def use():
        loss[None] = f(inputs[0][None], inputs[-1][None])

    @ti.kernel
    def overwrite(targets: ti.template()):
        for target in ti.static(targets):
            target[None] = 5.0

    def form(overwrites: bool) -> Callable[[], None]:
        return lambda: (use(), overwrite(inputs if overwrites else spares), None)[-1]

    return form, inputs, loss


@ti.func
def power(a, b):
    return a**b


@ti.func
def larger(a, b):
    return ti.max(a, b)


@ti.func
def smaller(a, b):
    return ti.min(a, b)


@ti.func
def squared(a, b):
    return a**2


@ti.func
def inverse_square(a, b):
    return a**-2


@pytest.mark.parametrize(
    "f, values, expected",
    [
        (power, [0.0, 2.0], [0.0, 0.0]),
        (power, [0.0, 1.0], [1.0, 0.0]),
        (power, [0.0, 0.0], [0.0, 0.0]),
        (power, [0.0, 0.5], [np.inf, 0.0]),
        (power, [-2.0, 3.0], [12.0, np.nan]),
        (power, [-2.0, 0.0], [0.0, np.nan]),
        (power, [2.0, 0.0], [0.0, np.log(2.0)]),
        (squared, [0.0], [0.0]),
        (squared, [-3.0], [-6.0]),
        (inverse_square, [-2.0], [0.25]),
        (larger, [1.0, 1.0], [0.0, 1.0]),
        (smaller, [1.0, 1.0], [0.0, 1.0]),
        (larger, [0.0, -0.0], [0.0, 1.0]),
        (larger, [2.0, 1.0], [1.0, 0.0]),
        (smaller, [2.0, 1.0], [0.0, 1.0]),
    ],
)
def test_powers_and_ties(f: Any, values: list[float], expected: list[float]) -> None:
    form, inputs, loss = apply_and_overwrite(f, values)
    check_closed(form(True), inputs, loss, expected, saves=True)
    check_closed(form(False), inputs, loss, expected, saves=False)


@pytest.mark.parametrize("values", [[0.0, 2.0], [0.0, 3.5], [0.7, 0.0], [1.0, -1.5]])
def test_powers_that_differences_confirm(values: list[float]) -> None:
    form, inputs, loss = apply_and_overwrite(power, values)
    if values == [0.0, 3.5]:
        inputs = inputs[1:]  # no power of what is below 0
    check_pair(form(True), form(False), inputs, loss)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_ties_of_atomics(kind: str) -> None:
    """To the value that the update brings, as to the second operand of `max`."""
    x, y, z, loss = variable(2), variable(2), variable(2), scalar()
    x.fill(0.75)
    y.fill(0.75)

    @ti.kernel
    def overwriting():
        for i in x:
            if ti.static(kind == "max"):
                ti.atomic_max(y[i], x[i])
            else:
                ti.atomic_min(y[i], x[i])
            loss[None] += y[i] ** 2
            y[i] = 0.0

    @ti.kernel
    def obeying():
        for i in x:
            z[i] = ti.max(y[i], x[i]) if ti.static(kind == "max") else ti.min(y[i], x[i])
            loss[None] += z[i] ** 2

    check_closed(overwriting, [x, y], loss, [1.5, 0.0], saves=True)
    check_closed(obeying, [x, y], loss, [1.5, 0.0], saves=False)


# Aliasing.


def test_one_array_for_three_arguments() -> None:
    x, y, z = (ti.ndarray(ti.f64, shape=N, needs_grad=True) for _ in range(3))
    loss = scalar()
    x.from_numpy(np.linspace(0.4, 1.3, N))
    array = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def run(a: array, b: array, c: array):
        for i in range(N):
            b[i] = a[i] * ti.sin(a[i])
            c[i] = b[i] * b[i] + b[i]

    @ti.kernel
    def total(a: array):
        for i in range(N):
            loss[None] += a[i] * a[i]

    check_pair(lambda: (run(x, x, x), total(x)), lambda: (run(x, y, z), total(z)), [x], loss)


def test_fields_of_one_tree_and_of_one_block() -> None:
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    block = ti.root.dense(ti.i, 2).dense(ti.i, 2)
    block.place(x)
    block.place(y)
    u, w, loss = variable(N), variable(N), scalar()
    x.from_numpy(np.linspace(0.4, 1.3, N))

    @ti.kernel
    def square(a: ti.template(), b: ti.template()):
        for i in range(N):
            b[i] = a[i] * a[i] + a[3 - i]

    @ti.kernel
    def total(a: ti.template()):
        for i in range(N):
            loss[None] += a[i] ** 2

    check_pair(
        lambda: (square(x, y), square(y, x), square(x, y), total(y)),
        lambda: (square(x, y), square(y, u), square(u, w), total(w)),
        [x],
        loss,
    )
