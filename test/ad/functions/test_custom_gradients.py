"""Functions whose gradient is another function, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def scaled_sum(x: Any, loss: Any) -> Any:
    @ti.kernel
    def add(factor: ti.f64):
        for i in range(4):
            loss[None] += x[i] * factor

    return add


def test_the_tape_calls_the_given_gradient() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    def helper(factor: float) -> None:
        add(factor)

    @ti.ad.grad_replaced
    def forward(factor: float) -> str:
        helper(factor)
        add(factor)
        return "done"

    assert forward.grad is None

    @ti.ad.grad_for(forward)
    def backward(factor: float) -> None:
        add.grad(factor)

    with ti.ad.Tape(loss) as tape:
        assert forward(4.0) == "done"
        assert tape.calls == [(forward, (4.0,))]
    assert x.grad.to_numpy() == pytest.approx(4.0)
    assert loss[None] == pytest.approx(8.0 * x.to_numpy().sum())


def test_methods_and_keywords() -> None:
    class Model:
        def __init__(self) -> None:
            self.x, self.loss = variable(4), scalar()
            self.add = scaled_sum(self.x, self.loss)

        @ti.ad.grad_replaced
        def forward(self, factor: float = 1.0) -> None:
            self.add(factor)

        @ti.ad.grad_for(forward)
        def backward(self, factor: float = 1.0) -> None:
            self.add.grad(10.0 * factor)

        @ti.ad.no_grad
        def report(self) -> None:
            self.add(100.0)

    model = Model()
    with ti.ad.Tape(model.loss):
        model.forward(factor=2.0)
        model.report()
    assert model.x.grad.to_numpy() == pytest.approx(20.0)


def test_no_grad_cuts_and_keeps_what_others_need() -> None:
    x, loss = variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def square():
        for i in range(4):
            loss[None] += x[i] ** 2

    @ti.kernel
    def spoil():
        for i in range(4):
            x[i] = 100.0

    @ti.ad.no_grad
    def change() -> None:
        spoil()
        x[0] = 7.0

    with ti.ad.Tape(loss) as tape:
        square()
        change()
    assert x.grad.to_numpy() == pytest.approx(2 * start)
    assert x.to_numpy() == pytest.approx([7.0, 100.0, 100.0, 100.0])
    assert tape.explain().bytes == start.nbytes
    x.from_numpy(start)
    with (
        pytest.raises(ti.TaichiRuntimeError, match=r"'x'.*is overwritten"),
        ti.ad.Tape(loss, rules="refuse"),
    ):
        square()
        change()


@pytest.mark.parametrize("how", ["store", "element", "fill", "copy", "list", "nested"])
def test_what_is_stored_without_a_gradient_is_constant(how: str) -> None:
    w, x, y, loss = variable(6), variable(6), variable(6), scalar()
    indices = ti.field(ti.i32, 3)
    indices.from_numpy(np.array([1, 4, 4], np.int32))
    start = w.to_numpy()

    @ti.kernel
    def read():
        for i in w:
            x[i] = w[i] ** 2

    @ti.kernel
    def store():
        for i in range(2, 4):
            x[i] = y[i] * x[i]

    @ti.kernel
    def listed():
        for i in indices:
            x[indices[i]] = 5.0

    @ti.ad.grad_replaced
    def inner() -> None:
        store()

    @ti.ad.no_grad
    def change() -> None:
        if how == "store":
            store()
        elif how == "element":
            x[3] = 1.0
        elif how == "fill":
            x.fill(2.0)
        elif how == "copy":
            x.copy_from(y)
        elif how == "list":
            listed()
            indices.fill(0)
        else:
            inner()

    @ti.kernel
    def add():
        for i in x:
            loss[None] += 3.0 * x[i]

    left = {
        "store": [0, 1, 4, 5],
        "element": [0, 1, 2, 4, 5],
        "fill": [],
        "copy": [],
        "list": [0, 2, 3, 5],
        "nested": [0, 1, 4, 5],
    }[how]
    expected = np.zeros(6)
    expected[left] = 6 * start[left]
    with ti.ad.Tape(loss):
        read()
        change()
        add()
    assert w.grad.to_numpy() == pytest.approx(expected)
    assert y.grad.to_numpy() == pytest.approx(np.zeros(6))
    indices.from_numpy(np.array([1, 4, 4], np.int32))
    loss.fill(0.0)
    if how == "nested":
        return
    v = np.random.default_rng(0).random(6)
    with ti.ad.FwdMode(loss=loss, param=w, seed=v):
        read()
        change()
        add()
    assert loss.dual[None] == pytest.approx(float(expected @ v))


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_what_is_added_without_a_gradient_is_constant(mode: str) -> None:
    w, x, loss = variable(6), variable(6), scalar()

    @ti.kernel
    def run(factor: ti.f64):
        for i in w:
            x[i] += factor * w[i]

    @ti.ad.no_grad
    def change() -> None:
        run(5.0)

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i]

    def program() -> None:
        run(2.0)
        change()
        add()

    if mode == "reverse":
        with ti.ad.Tape(loss):
            program()
        assert w.grad.to_numpy() == pytest.approx(np.full(6, 2.0))
        assert x.grad.to_numpy() == pytest.approx(np.ones(6))
    else:
        with ti.ad.FwdMode(loss=loss, param=w, seed=np.ones(6)):
            program()
        assert loss.dual[None] == pytest.approx(12.0)


def test_a_given_gradient_sees_memory_as_its_call_left_it() -> None:
    x, loss = variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def square():
        for i in range(4):
            loss[None] += x[i] ** 2

    @ti.kernel
    def spoil():
        for i in range(4):
            x[i] = 100.0 + 0.0 * x[i]

    @ti.ad.grad_replaced
    def forward() -> None:
        square()

    @ti.ad.grad_for(forward)
    def backward() -> None:
        square.grad()

    with ti.ad.Tape(loss):
        forward()
        spoil()
    assert x.grad.to_numpy() == pytest.approx(2 * start)
    assert np.all(x.to_numpy() == 100.0)
    x.from_numpy(start)
    with ti.ad.Tape(loss, rules="refuse"):
        forward()
        square()
    assert x.grad.to_numpy() == pytest.approx(4 * start)


def test_errors() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)
    with pytest.raises(RuntimeError, match="python"):
        ti.ad.grad_for(add)(lambda factor: None)
    with pytest.raises(RuntimeError, match="python"):
        ti.ad.grad_replaced(add)
    with pytest.raises(RuntimeError, match="decorated by"):
        ti.ad.grad_for(lambda factor: None)(lambda factor: None)

    @ti.ad.grad_replaced
    def forward(factor: float) -> None:
        add(factor)

    with pytest.raises(RuntimeError, match="grad_for"), ti.ad.Tape(loss):
        forward(1.0)
    ti.ad.grad_for(forward)(add.grad)
    with pytest.raises(RuntimeError, match="already"):
        ti.ad.grad_for(forward)(add.grad)


def test_an_error_inside_leaves_the_tape_as_it_was() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    @ti.ad.no_grad
    def fail() -> None:
        raise KeyError("mine")

    with ti.ad.Tape(loss):
        with pytest.raises(KeyError, match="mine"):
            fail()
        add(3.0)
    assert x.grad.to_numpy() == pytest.approx(3.0)


def test_nested_in_several_tapes_with_keywords() -> None:
    x, first, second = variable(4), scalar(), scalar()
    to = {"first": scaled_sum(x, first), "second": scaled_sum(x, second)}

    @ti.ad.grad_replaced
    def inner(factor: float, name: str = "first") -> None:
        to[name](factor)

    @ti.ad.grad_for(inner)
    def inner_gradient(factor: float, name: str = "first") -> None:
        to[name].grad(10.0 * factor)

    @ti.ad.grad_replaced
    def outer(factor: float, *, name: str) -> None:
        inner(factor, name=name)
        inner(factor=factor, name=name)

    @ti.ad.grad_for(outer)
    def outer_gradient(factor: float, *, name: str) -> None:
        inner_gradient(factor, name=name)

    for loss, name in ((first, "first"), (second, "second"), (first, "first")):
        with ti.ad.Tape(loss):
            outer(1.0, name=name)
            inner(factor=0.5, name=name)
        assert x.grad.to_numpy() == pytest.approx(15.0)
    with ti.ad.Tape(second):
        to["second"](3.0)
        inner(2.0, "second")
    assert x.grad.to_numpy() == pytest.approx(23.0)


def test_classes_of_all_kinds() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    @ti.data_oriented
    class Model:
        scale = 2.0

        @ti.kernel
        def launch(self, factor: ti.f64):
            for i in x:
                loss[None] += self.scale * factor * x[i]

        @ti.ad.grad_replaced
        def forward(self, factor: float = 1.0) -> None:
            self.launch(factor)

        @ti.ad.grad_for(forward)
        def backward(self, factor: float = 1.0) -> None:
            self.launch.grad(5.0 * factor)

        @ti.ad.grad_replaced
        def later(self, factor: float) -> None:
            self.launch(factor)

        @staticmethod
        @ti.ad.grad_replaced
        def alone(factor: float) -> None:
            add(factor)

        @ti.ad.grad_for(alone)
        def alone_gradient(factor: float) -> None:
            add.grad(100.0 * factor)

    class Stiffer(Model):
        scale = 3.0

    model, stiffer = Model(), Stiffer()
    ti.ad.grad_for(model.later)(lambda self, factor: self.launch.grad(-factor))
    with ti.ad.Tape(loss):
        model.forward(factor=1.0)
        stiffer.forward()
        stiffer.later(2.0)
        model.alone(1.0)
    assert x.grad.to_numpy() == pytest.approx(2.0 * 5 + 3.0 * 5 - 3.0 * 2 + 100)


def test_values_that_kernels_return() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    @ti.kernel
    def total() -> ti.f64:
        found = 0.0
        for i in range(4):
            found += x[i]
        return found

    @ti.ad.no_grad
    def measured() -> float:
        return total()

    @ti.ad.grad_replaced
    def normalised(factor: float) -> float:
        weight = factor / total()
        add(weight)
        return weight

    @ti.ad.grad_for(normalised)
    def gradient(factor: float) -> None:
        add.grad(factor / total())

    sum_of_x = x.to_numpy().sum()
    with ti.ad.Tape(loss):
        assert measured() == pytest.approx(sum_of_x)
        assert normalised(3.0) == pytest.approx(3.0 / sum_of_x)
    assert x.grad.to_numpy() == pytest.approx(3.0 / sum_of_x)


def test_the_check_finds_a_wrong_one() -> None:
    x, loss = variable(4), scalar()
    add = scaled_sum(x, loss)

    def with_gradient(factor: float) -> Any:
        @ti.ad.grad_replaced
        def doubled() -> None:
            add(2.0)

        ti.ad.grad_for(doubled)(lambda: add.grad(factor))
        return doubled

    ti.ad.check(loss, x, with_gradient(2.0))
    with pytest.raises(
        ti.TaichiAssertionError, match=r"'x'\[0\] the gradient is 3.0.*function 'doubled' disagrees"
    ):
        ti.ad.check(loss, x, with_gradient(3.0))


def test_functions_in_kernels_are_refused() -> None:
    @ti.func
    def square(a):
        return a * a

    with pytest.raises(ti.TaichiRuntimeError, match=r"'square' is a @ti\.func: use def_vjp"):
        ti.ad.grad_replaced(square)
    with pytest.raises(ti.TaichiRuntimeError, match="def_vjp"):
        ti.ad.grad_for(square)(lambda a: None)


def test_kernels_without_a_gradient() -> None:
    x, loss = variable(4), scalar()
    start = x.to_numpy()
    image = np.zeros(4)

    @ti.ad.no_grad
    @ti.kernel
    def show(out: ti.types.ndarray(), gain: ti.f64) -> ti.f64:
        for i in x:
            out[i] = gain * x[i]
        return x[3]

    @ti.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2

    class Model:
        factor = 2.0

        @ti.ad.no_grad
        @ti.kernel
        def spoil(self):
            for i in x:
                x[i] *= self.factor

    show(image, gain=1.0)
    np.testing.assert_array_equal(image, start)
    model = Model()
    with ti.ad.Tape(loss) as tape:
        square()
        assert show(image, 3.0) == start[3]
        model.spoil()
        square()
        assert [name.__name__ for name, _ in tape.calls] == ["square", "show", "spoil", "square"]
    np.testing.assert_array_equal(image, 3.0 * start)
    assert x.to_numpy() == pytest.approx(2 * start)
    assert x.grad.to_numpy() == pytest.approx(2 * start)  # the second square reads constants
    assert show.grad(image, 3.0) is None


class Steps:
    """`state[t + 1]` from `state[t]` through scratch that every step overwrites, with a gradient
    that computes the scratch anew."""

    def __init__(self, steps: int, n: int) -> None:
        self.state, self.loss = variable(steps + 1, n), scalar()
        self.scratch = ti.field(ti.f64, n, needs_grad=True)
        self.steps, self.runs = steps, 0
        state, scratch, loss = self.state, self.scratch, self.loss

        @ti.kernel
        def clear():
            for i in scratch:
                scratch[i] = 0.0
                scratch.grad[i] = 0.0

        @ti.kernel
        def gather(t: ti.i32):
            for i in range(n):
                scratch[i] += ti.sin(state[t, i]) * state[t, (i + 1) % n]

        @ti.kernel
        def move(t: ti.i32):
            for i in range(n):
                state[t + 1, i] = state[t, i] + scratch[i] ** 2

        @ti.kernel
        def end():
            for i in range(n):
                loss[None] += state[steps, i] ** 2

        def step(t: int) -> None:
            self.runs += 1
            clear()
            gather(t)
            move(t)

        self.plain, self.end, self.call = step, end, ti.ad.grad_replaced(step)

        @ti.ad.grad_for(self.call)
        def step_gradient(t: int) -> None:
            clear()
            gather(t)
            move.grad(t)
            gather.grad(t)

    def gradient(self, step: Any) -> tuple[Any, int]:
        """The gradient of the first state, and the bytes that the tape kept."""
        with ti.ad.Tape(self.loss) as tape:
            for t in range(self.steps):
                step(t)
            self.end()
        return self.state.grad.to_numpy()[0], tape.explain().bytes


def test_scratch_of_calls_is_not_kept() -> None:
    m = Steps(6, 8)
    expected, kept = m.gradient(m.plain)
    assert kept >= 5 * 8 * 8
    found, kept = m.gradient(m.call)
    assert kept == 0
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_call_keeps_what_it_overwrites_and_no_more() -> None:
    x, other, loss = variable(64), variable(64), scalar()
    start = x.to_numpy()

    @ti.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2 * other[i] ** 2

    @ti.kernel
    def scale(first: ti.i32, last: ti.i32):
        for i in range(first, last):
            x[i] *= 3.0

    @ti.ad.no_grad
    def change() -> None:
        scale(8, 16)
        scale(8, 16)
        scale(12, 24)
        x[30] = 1.0

    with ti.ad.Tape(loss) as tape:
        read()
        change()
    assert x.grad.to_numpy() == pytest.approx(2 * start * other.to_numpy() ** 2)
    assert other.grad.to_numpy() == pytest.approx(2 * start**2 * other.to_numpy())
    left = start.copy()
    left[8:16] *= 9.0
    left[12:24] *= 3.0
    left[30] = 1.0
    assert x.to_numpy() == pytest.approx(left)
    assert tape.explain().bytes == 8 * (8 + 12 + 1)


def test_a_call_that_writes_in_many_places_keeps_each() -> None:
    count = 200
    x, loss = variable(count), scalar()
    start = x.to_numpy()

    @ti.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def put(i: ti.i32):
        for _ in range(1):
            x[i] = 1.0

    @ti.ad.no_grad
    def change() -> None:
        for i in [*range(0, count, 2), *range(1, count, 2)]:
            put(i)

    with ti.ad.Tape(loss) as tape:
        read()
        change()
    assert x.grad.to_numpy() == pytest.approx(2 * start)
    assert tape.explain().bytes == 8 * count


@pytest.mark.parametrize("how", ["launch", "write", "element", "copy", "call"])
def test_what_a_call_only_read_is_as_it_was(how: str) -> None:
    x, y, other, loss = variable(4), variable(4), variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def exponential():
        for i in x:
            y[i] = ti.exp(x[i])

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    @ti.kernel
    def spoil():
        for i in x:
            x[i] = 7.0

    @ti.ad.grad_replaced
    def forward() -> None:
        exponential()

    ti.ad.grad_for(forward)(lambda: exponential.grad())

    @ti.ad.grad_replaced
    def spoil_by_call() -> None:
        spoil()

    ti.ad.grad_for(spoil_by_call)(lambda: spoil.grad())
    change = {
        "launch": spoil,
        "call": spoil_by_call,
        "write": lambda: x.fill(7.0),
        "element": lambda: x.__setitem__(2, 7.0),
        "copy": lambda: x.copy_from(other),
    }[how]
    with ti.ad.Tape(loss):
        forward()
        total()
        change()
    assert x.grad.to_numpy() == pytest.approx(np.exp(start))


def test_what_a_call_wrote_is_kept_from_launches() -> None:
    x, y, loss = variable(4), variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def exponential():
        for i in x:
            y[i] = ti.exp(x[i])

    @ti.kernel
    def gradient():
        for i in x:
            x.grad[i] += y[i] * y.grad[i]
            y.grad[i] = 0.0

    @ti.kernel
    def double():
        for i in y:
            y[i] *= 2.0

    @ti.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    @ti.ad.grad_replaced
    def forward() -> None:
        exponential()

    ti.ad.grad_for(forward)(lambda: gradient())
    with ti.ad.Tape(loss):
        forward()
        double()
        total()
    assert x.grad.to_numpy() == pytest.approx(2 * np.exp(start))
    assert y.to_numpy() == pytest.approx(2 * np.exp(start))


def test_copies_and_kernels_without_a_derivative_in_calls() -> None:
    x, saved, order, loss = variable(4), variable(4), ti.field(ti.i32, 4), scalar()
    start, other = x.to_numpy(), saved.to_numpy()

    @ti.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def race():
        for i in range(4):
            x[order[i]] = ti.atomic_mul(saved[0], x[order[(i + 1) % 4]])

    @ti.ad.grad_replaced
    def change() -> None:
        race()
        x.copy_from(saved)

    ti.ad.grad_for(change)(lambda: x.grad.fill(0))
    with ti.ad.Tape(loss):
        read()
        change()
        read()
    after = x.to_numpy()
    assert after[1:] == pytest.approx(other[1:])
    assert x.grad.to_numpy() == pytest.approx(2 * start)


def test_what_is_refused_matters_only_for_fields_with_a_gradient() -> None:
    x, order, loss = variable(4), ti.field(ti.i32, 4), scalar()

    def racing(out: Any, factor: Any) -> Any:
        @ti.ad.no_grad
        @ti.kernel
        def race():
            for i in range(4):
                out[order[i]] = ti.atomic_mul(factor[0], out[order[(i + 1) % 4]])

        return race

    @ti.kernel
    def read():
        for i in x:
            loss[None] += x[i]

    plain = ti.field(ti.f64, 4)
    with ti.ad.Tape(loss):
        racing(plain, plain)()
        read()
    assert x.grad.to_numpy() == pytest.approx(np.ones(4))
    with (
        pytest.raises(ti.TaichiCompilationError, match="another iteration"),
        ti.ad.Tape(loss),
    ):
        racing(x, x)()


def test_a_call_that_fails_loses_nothing() -> None:
    x, loss = variable(4), scalar()
    start = x.to_numpy()

    @ti.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def spoil():
        for i in x:
            x[i] = 7.0

    @ti.ad.grad_replaced
    def fail() -> None:
        spoil()
        raise KeyError("mine")

    @ti.ad.grad_for(fail)
    def unused() -> None:
        raise AssertionError("it was not done")

    with ti.ad.Tape(loss):
        square()
        with pytest.raises(KeyError, match="mine"):
            fail()
    assert x.grad.to_numpy() == pytest.approx(2 * start)
    assert np.all(x.to_numpy() == 7.0)
