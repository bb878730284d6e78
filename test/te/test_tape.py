"""Built functions in tapes: between kernels, over memory that changes, in loops, with second
derivatives; against differences of the whole program, and against kernels that do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te


@pytest.fixture(autouse=True, params=["x64", "simt"])
def arch(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    ti.init(arch=name, default_fp=ti.f64, opt_level=1)
    return name


def _layer(rows: int = 5, inner: int = 6, columns: int = 4) -> Any:
    x, w = te.placeholder((rows, inner), ti.f64, "x"), te.placeholder((inner, columns), ti.f64, "w")
    k = te.reduce_axis(inner)
    product = te.compute((rows, columns), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k))
    return te.build(te.compute(product.shape, lambda i, j: te.tanh(product[i, j])), [x, w], "layer")


def _field(*shape: int, seed: int = 0, needs_grad: bool = True) -> Any:
    made = ti.field(ti.f64, shape, needs_grad=needs_grad)
    made.from_numpy(0.5 * np.random.default_rng(seed).normal(size=shape))
    return made


def _agrees(program: Callable[[], None], loss: Any, *inputs: Any, at: float = 1e-6) -> None:
    """Gradients of a program against central differences, along a random direction each."""
    starts = [one.to_numpy() for one in inputs]

    def value() -> float:
        loss.fill(0)
        program()
        return float(loss[None])

    with ti.ad.Tape(loss):
        program()
    gradients = [one.grad.to_numpy() for one in inputs]
    for one, start, gradient in zip(inputs, starts, gradients):
        for other, values in zip(inputs, starts):
            other.from_numpy(values)
        direction = np.random.default_rng(7).normal(size=start.shape)
        ends = []
        for sign in (1, -1):
            for other, values in zip(inputs, starts):
                other.from_numpy(values)
            one.from_numpy(start + sign * at * direction)
            ends.append(value())
        slope = (ends[0] - ends[1]) / (2 * at)
        assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=1e-9)
        assert abs(slope) > 1e-6


def _squares(y: Any, loss: Any) -> Callable[[], None]:
    @ti.kernel
    def squares() -> None:
        for i, j in y:
            loss[None] += y[i, j] ** 2 * (1.0 + i + 2 * j)

    return squares


def _doubling(x: Any) -> Callable[[], None]:
    @ti.kernel
    def double() -> None:
        for i, j in x:
            x[i, j] = x[i, j] * 1.5 + 0.1

    return double


def test_between_kernels_that_overwrite() -> None:
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    squares, change_x, change_y = _squares(y, loss), _doubling(x), _doubling(y)

    def program() -> None:
        change_x()
        layer(x, w, out=y)
        squares()
        change_y()
        squares()
        change_x()  # the reverse of the layer needs what was there
        layer(x, w, out=y)
        squares()

    _agrees(program, loss, x, w)


def test_in_a_loop_over_itself() -> None:
    """Ten steps through two fields, of which every one is overwritten."""
    x, w, y = _field(5, 6), _field(6, 6, seed=1), _field(5, 6)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer(5, 6, 6)
    add_up = _squares(x, loss)

    def program() -> None:
        for _ in range(5):
            layer(x, w, out=y)
            layer(y, w, out=x)
        add_up()

    _agrees(program, loss, x, w)
    with ti.ad.Tape(loss) as tape:
        program()
    kept = str(tape.explain())  # both fields, at every step, with the lines of definitions
    assert kept.count(__file__) == 4 and " 1200" in kept and " 960" in kept


def test_in_a_checkpointed_loop() -> None:
    x, w, y = _field(5, 6), _field(6, 6, seed=1), _field(5, 6)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer(5, 6, 6)
    add_up, start = _squares(x, loss), x.to_numpy()

    def program(steps: Any) -> None:
        for _ in steps:
            layer(x, w, out=y)
            layer(y, w, out=x)
            add_up()

    with ti.ad.Tape(loss):
        program(range(12))
    plain = [x.grad.to_numpy(), w.grad.to_numpy(), loss[None]]
    x.from_numpy(start)
    with ti.ad.Tape(loss):
        program(ti.ad.checkpointed(range(12), state=[x], scratch=[y], snapshots=3))
    np.testing.assert_allclose(x.grad.to_numpy(), plain[0], rtol=1e-12)
    np.testing.assert_allclose(w.grad.to_numpy(), plain[1], rtol=1e-12)
    assert loss[None] == plain[2]


def test_hidden_gradients_and_results_of_numpy() -> None:
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4, needs_grad=False)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    add_up = _squares(y, loss)

    @ti.kernel
    def add_up_array(y: ti.types.ndarray()) -> None:
        for i, j in y:
            loss[None] += y[i, j] ** 2 * (1.0 + i + 2 * j)

    def through_field() -> None:
        layer(x, w, out=y)
        add_up()

    with pytest.warns(UserWarning, match="has no gradient, but carries"), ti.ad.Tape(loss):
        through_field()
    expected = x.grad.to_numpy()
    with pytest.warns(UserWarning, match="array argument '.*' of kernel"), ti.ad.Tape(loss):
        add_up_array(layer(x, w))
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12)


def test_ndarrays() -> None:
    x, w, y = (ti.ndarray(ti.f64, s, needs_grad=True) for s in ((5, 6), (6, 4), (5, 4)))
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    a, c = (
        np.random.default_rng(0).normal(size=(5, 6)),
        np.random.default_rng(1).normal(size=(6, 4)),
    )
    x.from_numpy(a)
    w.from_numpy(c)

    @ti.kernel
    def add_up(y: ti.types.ndarray()) -> None:
        for i, j in y:
            loss[None] += y[i, j] ** 2

    @ti.kernel
    def clear(x: ti.types.ndarray()) -> None:
        for i, j in x:
            x[i, j] = 0

    with ti.ad.Tape(loss):
        layer(x, w, out=y)
        add_up(y)
        clear(x)
    t = np.tanh(a @ c)
    g = 2 * t * (1 - t * t)
    np.testing.assert_allclose(w.grad.to_numpy(), a.T @ g, rtol=1e-10)
    np.testing.assert_allclose(x.grad.to_numpy(), g @ c.T, rtol=1e-10)
    np.testing.assert_array_equal(x.to_numpy(), 0)


def test_one_field_twice() -> None:
    x, y = te.placeholder((4,), ti.f64), te.placeholder((4,), ti.f64)
    product = te.build(te.compute((4,), lambda i: x[i] * y[3 - i] * x[i]), [x, y])
    field, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    result = ti.field(ti.f64, 4, needs_grad=True)
    field.from_numpy(np.arange(1.0, 5))

    @ti.kernel
    def first() -> None:
        loss[None] += result[0]

    with ti.ad.Tape(loss):
        product(field, field, out=result)
        first()
    np.testing.assert_allclose(field.grad.to_numpy(), [8, 0, 0, 1])


def test_integers_scatters_and_numbers() -> None:
    """An embedding with repeats, a sum over all as the loss, and rows that a kernel changes."""
    table, rows, k = te.placeholder((7, 3), ti.f64), te.placeholder((5,), ti.i32), (5, 3)
    i, j = map(te.reduce_axis, k)
    total = te.compute((), lambda: te.sum(table[rows[i], j] ** 2 * (1 + i), axis=(i, j)))
    lookup = te.build(total, [table, rows], "lookup")
    x, chosen = _field(7, 3), ti.field(ti.i32, 5)
    loss = ti.field(ti.f64, (), needs_grad=True)
    numbers = np.array([1, 3, 3, 0, 6], np.int32)
    chosen.from_numpy(numbers)

    @ti.kernel
    def forget() -> None:
        for n in chosen:
            chosen[n] = 0

    with ti.ad.Tape(loss):
        lookup(x, chosen, out=loss)
        forget()
    expected = np.zeros((7, 3))
    np.add.at(expected, numbers, 2 * x.to_numpy()[numbers] * np.arange(1, 6)[:, np.newaxis])
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12)


def test_ties_operators_and_stops() -> None:
    """What `te.differentiate` says counts, not what the loops would give."""
    x, k = te.placeholder((4,), ti.f64), te.reduce_axis(4)

    @te.operator
    def tripled(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i: 3 * x[i])

    tripled.def_gradient(lambda y, inputs, h: te.compute((4,), lambda i: 100 * h[i]))
    best = te.compute((), lambda: te.max(x[k], axis=k))
    outputs = [best, tripled(x), te.stop_gradient(te.compute((4,), lambda i: x[i] * 5))]
    made = te.build(outputs, [x])
    field, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    one, three = ti.field(ti.f64, ()), ti.field(ti.f64, 4)
    five = ti.field(ti.f64, 4, needs_dual=True)
    field.fill(2.0)

    @ti.kernel
    def add_up() -> None:
        loss[None] += one[None] + three[2] + five[1]

    with pytest.warns(UserWarning, match="has no gradient"), ti.ad.Tape(loss):
        made(field, out=[one, three, five])
        add_up()
    np.testing.assert_array_equal(field.grad.to_numpy(), [1, 0, 100, 0])
    assert loss[None] == 2 + 6 + 10
    with ti.ad.FwdMode(loss=one, param=field, seed=[3.0, 1.0, 1.0, 1.0]) as forward:
        made(field, out=[one, three, five])
    assert forward.tangents(one) == 3
    np.testing.assert_array_equal(forward.tangents(three), [[9, 3, 3, 3]])
    assert not five.dual.to_numpy().any()


def test_gradients_add_up_and_cut() -> None:
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    add_up = _squares(y, loss)

    def program() -> None:
        layer(x, w, out=y)
        add_up()

    with ti.ad.Tape(loss):
        program()
    once = x.grad.to_numpy()
    with ti.ad.Tape(loss, clear_gradients=False):
        program()
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * once, rtol=1e-12)

    @ti.ad.no_grad
    def cut() -> None:
        layer(x, w, out=y)

    with ti.ad.Tape(loss):
        cut()
        add_up()
    np.testing.assert_array_equal(x.grad.to_numpy(), 0)


def test_in_a_function_with_a_gradient_of_its_own() -> None:
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    add_up, change = _squares(y, loss), _doubling(x)

    @ti.ad.grad_replaced
    def forward() -> None:
        layer(x, w, out=y)

    @ti.ad.grad_for(forward)
    def backward() -> None:
        x.grad.fill(7.0)

    with ti.ad.Tape(loss):
        change()
        forward()
        add_up()
    np.testing.assert_allclose(x.grad.to_numpy(), 7 * 1.5)


def test_forward_mode_and_second_order() -> None:
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    add_up, change = _squares(y, loss), _doubling(x)
    start = x.to_numpy()

    def program() -> None:
        change()
        layer(x, w, out=y)
        change()
        add_up()

    directions = np.random.default_rng(3).normal(size=(2, 5, 6))
    loss.fill(0)
    with ti.ad.FwdMode(loss=loss, param=x, seed=directions) as forward:
        program()
    slopes = forward.tangents(loss)
    x.from_numpy(start)
    with ti.ad.Tape(loss):
        program()
    np.testing.assert_allclose(slopes, (directions * x.grad.to_numpy()).sum((1, 2)), rtol=1e-10)

    def gradient(at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        x.from_numpy(at)
        with ti.ad.Tape(loss):
            program()
        found: np.ndarray[Any, Any] = x.grad.to_numpy()
        return found

    v, step = directions[0], 1e-6
    expected = (gradient(start + step * v) - gradient(start - step * v)) / (2 * step)
    x.from_numpy(start)
    product = ti.ad.hvp(program, loss, x, v)
    np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-7)
    both = ti.ad.hvp(program, loss, [x, w], [v, np.zeros((6, 4))])
    np.testing.assert_allclose(both[0], product, rtol=1e-12)


def test_second_order_of_ndarrays() -> None:
    x, y = ti.ndarray(ti.f64, 3, needs_grad=True), ti.ndarray(ti.f64, 3, needs_grad=True)
    t = te.placeholder((3,), ti.f64)
    cubes = te.build(te.compute((3,), lambda i: t[i] ** 3), [t])
    x.from_numpy(np.array([1.0, 2, 3]))
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 1.0, 2.0]) as forward:
        cubes(x, out=y)
    np.testing.assert_allclose(forward.tangents(y), [[3, 12, 54]])


def test_gradients_by_differences_of_the_tape() -> None:
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    add_up = _squares(y, loss)
    with ti.ad.Tape(loss, grad_check=[x, w]):
        layer(x, w, out=y)
        add_up()
    with ti.ad.Tape() as tape:
        layer(x, w, out=y)
    seed = np.random.default_rng(2).normal(size=(5, 4))
    tape.grad({y: seed})
    slopes = seed * (1 - np.tanh(x.to_numpy() @ w.to_numpy()) ** 2)
    np.testing.assert_allclose(w.grad.to_numpy(), x.to_numpy().T @ slopes, rtol=1e-10)


def test_rules_of_tapes(arch: str) -> None:
    ti.init(arch=arch, default_fp=ti.f64, opt_level=1, debug=True)
    x, w, y = _field(5, 6), _field(6, 4, seed=1), _field(5, 4)
    loss, layer = ti.field(ti.f64, (), needs_grad=True), _layer()
    change = _doubling(x)
    with (
        pytest.raises(ti.TaichiAssertionError, match="x"),
        ti.ad.Tape(loss, validation=True),
    ):
        layer(x, w, out=y)
        change()
    with pytest.raises(RuntimeError, match="overwritten"), ti.ad.Tape(loss, rules="refuse"):
        layer(x, w, out=y)
        change()
    x[1, 2] = float("nan")
    with (
        pytest.raises(ti.TaichiAssertionError, match=r"test_tape\.py:\d+.*kernel=layer.*nan"),
        ti.ad.Tape(loss, anomaly=True),
    ):
        layer(x, w, out=y)


def test_no_derivative_is_refused_where_it_is_written() -> None:
    x = te.placeholder((4,), ti.f64)
    broken = te.build(te.compute((4,), lambda i: x[te.cast(x[i], ti.i32)] * 2), [x])
    field, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    out = ti.field(ti.f64, 4, needs_grad=True)
    field.from_numpy(np.array([3.0, 0, 1, 1]))

    @ti.kernel
    def add_up() -> None:
        for i in out:
            loss[None] += out[i]

    with ti.ad.Tape(loss):  # what indices are made of has no derivative; what is read has one
        broken(field, out=out)
        add_up()
    np.testing.assert_array_equal(field.grad.to_numpy(), [2, 4, 0, 2])
