"""Arrays on tapes: ti.ndarrays and NumPy's carry derivatives, are kept when they change, and are
cleared."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mlirad as ti

N = 6
ARRAY = ti.types.ndarray()


@pytest.fixture(
    autouse=True, params=[(1, ti.f64), (2, ti.f64), (2, ti.f32)], ids=["one", "two", "f32"]
)
def real(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The type of floats."""
    ti.init(default_fp=request.param[1], cpu_max_num_threads=request.param[0])
    yield request.param[1]
    ti.reset()


class Model:
    """Kernels between two fields, a loss and arrays."""

    def __init__(self, real: Any, n: int = N) -> None:
        self.x, self.y = (ti.field(real, n, needs_grad=True) for _ in range(2))
        self.loss = ti.field(real, (), needs_grad=True)
        self.x.from_numpy(np.arange(1.0, n + 1))
        loss, x, y = self.loss, self.x, self.y

        @ti.kernel
        def weigh(a: ARRAY):
            for i in x:
                loss[None] += a[i] * x[i]

        @ti.kernel
        def square_to(a: ARRAY):
            for i in x:
                a[i] = x[i] ** 2

        @ti.kernel
        def add_to(a: ARRAY):
            for i in x:
                a[i] += x[i]

        @ti.kernel
        def scale(a: ARRAY, c: ti.template()):
            for i in range(x.shape[0]):
                a[i] = c * a[i]

        @ti.kernel
        def total(a: ARRAY):
            for i in range(x.shape[0]):
                loss[None] += a[i]

        @ti.kernel
        def squares(a: ARRAY):
            for i in range(x.shape[0]):
                loss[None] += a[i] ** 2

        @ti.kernel
        def move(a: ARRAY, b: ARRAY):
            for i in range(x.shape[0]):
                b[i] = 2 * a[i]

        @ti.kernel
        def to_field(a: ARRAY):
            for i in y:
                y[i] = a[i] * x[i]

        @ti.kernel
        def squares_of_y():
            for i in y:
                loss[None] += y[i] ** 2

        self.weigh, self.square_to, self.add_to, self.scale, self.total = (
            weigh,
            square_to,
            add_to,
            scale,
            total,
        )
        self.squares, self.move, self.to_field, self.squares_of_y = (
            squares,
            move,
            to_field,
            squares_of_y,
        )


def numpy_array(real: Any, shape: Any = N) -> Any:
    return np.zeros(shape, real.numpy)


def ours(real: Any, shape: Any = N) -> Any:
    return ti.ndarray(real, shape)


def columns(real: Any, shape: Any = N) -> Any:
    """An array that is not contiguous."""
    return np.zeros((shape, 3), real.numpy)[:, 1]


def put(a: Any, values: Any) -> None:
    """Write all elements from Python."""
    if isinstance(a, np.ndarray):
        a[...] = values
    else:
        a.from_numpy(np.broadcast_to(np.asarray(values, float), a.shape))


KINDS = pytest.mark.parametrize("make", [numpy_array, ours, columns])
hidden = pytest.mark.filterwarnings("ignore:.*has no gradient, but carries a derivative")


class TestRefilled:
    """Python writes into arrays between launches."""

    @KINDS
    def test_one_buffer_refilled(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        with ti.ad.Tape(m.loss):
            for k in range(5):
                put(a, 2.0 * k)
                m.weigh(a)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 20.0))
        assert m.loss[None] == 20 * m.x.to_numpy().sum()

    @KINDS
    def test_after_the_last_launch(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        put(a, 3.0)
        with ti.ad.Tape(m.loss):
            m.weigh(a)
            put(a, 100.0)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 3.0))
        assert a[0] == 100

    @pytest.mark.parametrize("make", [numpy_array, columns])
    def test_after_the_tape_was_closed(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        put(a, 3.0)
        with ti.ad.Tape(m.loss) as tape:
            m.weigh(a)
        put(a, 100.0)
        tape.grad()
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 3.0))
        assert a[0] == 100

    @KINDS
    def test_one_element_and_a_kernel_in_turns(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        put(a, 1.0)

        def run() -> Any:
            weights = np.ones(N)
            expected = np.zeros(N)
            for k in range(4):
                a[k] = 5.0 + k
                weights[k] = 5.0 + k
                m.weigh(a)
                expected += weights
                m.scale(a, 2)
                weights *= 2
                m.weigh(a)
                expected += weights
            return expected

        with ti.ad.Tape(m.loss) as tape:
            expected = run()
        left = np.array([a[i] for i in range(N)])
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected)
        tape.grad()
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected)
        np.testing.assert_array_equal([a[i] for i in range(N)], left)

    def test_indices_and_conditions(self, real: Any) -> None:
        m = Model(real)
        order, chosen = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)

        @ti.kernel
        def gather(order: ti.types.ndarray(), chosen: ti.types.ndarray()):
            for i in m.x:
                if chosen[i] == 1:
                    m.loss[None] += m.x[order[i]] ** 2

        expected = np.zeros(N)
        with ti.ad.Tape(m.loss):
            for k in range(N):
                order[:] = (np.arange(N) + k) % N
                chosen[:] = np.arange(N) <= k
                gather(order, chosen)
                np.add.at(expected, order[: k + 1], 1)
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected * 2 * m.x.to_numpy())

    def test_only_what_is_needed_is_kept(self, real: Any) -> None:
        m, rows = Model(real), np.zeros((1000, N), real.numpy)

        @ti.kernel
        def weigh_row(a: ti.types.ndarray(ndim=2), k: ti.i32):
            for i in m.x:
                m.loss[None] += a[k, i] * m.x[i]

        def kept(change: bool) -> int:
            rows[:] = 1.0
            with ti.ad.Tape(m.loss) as tape:
                for k in range(50):
                    weigh_row(rows, k)
                    if change:
                        rows[k] = 7.0  # seen by no launch again
                        rows[3] = k  # seen when the tape needs it: at no launch of row 3
            np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 50.0))
            return tape.explain().bytes

        assert kept(False) == 0
        rows[:] = 1.0
        with ti.ad.Tape(m.loss) as tape:
            for k in range(10):
                rows[4] = k
                weigh_row(rows, 4)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 45.0))
        assert tape.explain().bytes == 9 * N * np.dtype(real.numpy).itemsize

    def test_the_same_content_is_kept_once(self, real: Any) -> None:
        m, a = Model(real), numpy_array(real)
        with ti.ad.Tape(m.loss) as tape:
            for k in range(30):
                a[:] = k // 10
                m.weigh(a)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 30.0))
        assert tape.explain().bytes == 2 * a.nbytes
        assert {row.verdict for row in tape.explain()} == {"kept"}

    @pytest.mark.parametrize("make", [numpy_array, columns])
    def test_refused_where_nothing_is_kept(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        with ti.ad.Tape(m.loss, rules="refuse"):
            m.weigh(a)
            m.weigh(a)
        with (
            pytest.raises(
                ti.TaichiRuntimeError,
                match=r"array argument 'a' of kernel 'weigh', read at .*test_tape_arrays.py"
                r":\d+:\d+ and needed by the gradient, was changed in Python before the launch at",
            ),
            ti.ad.Tape(m.loss, rules="refuse"),
        ):
            m.weigh(a)
            a[2] = 1
            m.weigh(a)

    def test_elements_that_no_reverse_needs_may_change(self, real: Any) -> None:
        m, a = Model(real), numpy_array(real, 2 * N)
        with ti.ad.Tape(m.loss, rules="refuse") as tape:
            for k in range(3):
                a[N:] = k
                m.weigh(a)
        assert tape.explain().bytes == 0

    def test_temporary_arrays(self, real: Any) -> None:
        m = Model(real)
        with ti.ad.Tape(m.loss):
            for k in range(20):
                m.weigh(np.full(N, k, real.numpy))
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 190.0))

    def test_zeros_of_either_sign_and_nan(self, real: Any) -> None:
        m, a = Model(real), numpy_array(real)

        @ti.kernel
        def divide(a: ARRAY):
            for i in m.x:
                m.loss[None] += ti.max(ti.min(m.x[i] / a[i], 3.0 * m.x[i]), -5.0 * m.x[i])

        with ti.ad.Tape(m.loss):
            a[:] = 0.0
            divide(a)
            a[:] = -0.0
            divide(a)
            a[:] = np.nan
            m.total(a)
            m.total(a)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, -2.0))

    def test_functions_with_a_gradient_of_their_own(self, real: Any) -> None:
        m, a = Model(real), numpy_array(real)
        a[:] = 2

        @ti.ad.no_grad
        def double() -> None:
            m.scale(a, 2)

        with ti.ad.Tape(m.loss):
            m.weigh(a)
            double()
            m.weigh(a)
            a[:] = 1
            m.weigh(a)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 7.0))

    def given(self, m: Model, a: Any) -> Any:
        """The squares of an array, and the gradient given for them, which reads the array again."""

        @ti.kernel
        def forward(a: ARRAY):
            for i in m.x:
                m.loss[None] += m.x[i] * a[i]

        @ti.kernel
        def backward(a: ARRAY):
            for i in m.x:
                m.x.grad[i] += a[i] * m.loss.grad[None]

        @ti.ad.grad_replaced
        def run() -> None:
            forward(a)

        @ti.ad.grad_for(run)
        def gradient() -> None:
            backward(a)

        return run

    @pytest.mark.parametrize("make", [numpy_array, columns])
    def test_gradients_that_are_given(self, real: Any, make: Callable[..., Any]) -> None:
        m, a, b = Model(real), make(real), make(real)
        put(a, 2.0)
        run, other = self.given(m, a), self.given(m, b)
        with ti.ad.Tape(m.loss):
            run()
            put(b, 3.0)
            other()
            if make is numpy_array:
                m.scale(a, 5)  # a launch: what was there is kept
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 5.0))
        with ti.ad.Tape() as tape:
            run()
        put(a, 1.0)
        with pytest.raises(
            ti.TaichiRuntimeError,
            match="array argument 'a' of kernel 'forward', launched by function 'run', "
            "has since been changed in Python",
        ):
            tape.grad({m.loss: None})
        for late in (False, True):
            with (
                pytest.raises(ti.TaichiRuntimeError, match="has since been changed in Python"),
                ti.ad.Tape(m.loss),
            ):
                run()
                put(a, 3.0 + late)
                if late:
                    run()

    def test_many_launches_on_a_large_array(self) -> None:
        m, a = Model(ti.f64, 10**6), np.ones(10**6)
        with ti.ad.Tape(m.loss) as tape:
            for _ in range(40):
                m.weigh(a)
        assert tape.explain().bytes == 0
        assert (m.x.grad.to_numpy() == 40).all()


class TestChains:
    """Derivatives pass through arrays."""

    @KINDS
    def test_through_an_array(self, real: Any, make: Callable[..., Any]) -> None:
        m, acc = Model(real), make(real)
        with (
            pytest.warns(
                UserWarning,
                match=r"array argument 'a' of kernel 'square_to' "
                r"\(.*test_tape_arrays.py:\d+:\d+\) has "
                r"no gradient, but carries a derivative to the loss \(a -> loss\): it was given a "
                r"hidden one; .*"
                "ti.stop_grad",
            ),
            ti.ad.Tape(m.loss),
        ):
            m.square_to(acc)
            m.squares(acc)
        np.testing.assert_allclose(m.x.grad.to_numpy(), 4 * m.x.to_numpy() ** 3)
        with ti.ad.Tape(m.loss):  # spoken of once
            m.square_to(acc)
            m.squares(acc)
        np.testing.assert_allclose(m.x.grad.to_numpy(), 4 * m.x.to_numpy() ** 3)

    @hidden
    @KINDS
    def test_through_several_arrays_and_a_field(self, real: Any, make: Callable[..., Any]) -> None:
        m, a, b = Model(real), make(real), make(real)
        with ti.ad.Tape(m.loss) as tape:
            m.square_to(a)
            for _ in range(3):
                m.move(a, b)
                m.move(b, a)
            m.to_field(a)
            m.squares_of_y()
        expected = 6 * 64**2 * m.x.to_numpy() ** 5
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected, rtol=1e-6)
        tape.grad()
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected, rtol=1e-6)

    @hidden
    @KINDS
    def test_in_place(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)

        @ti.kernel
        def advance(a: ARRAY):
            for i in m.x:
                a[i] = ti.sin(a[i]) + 0.5 * m.x[i] * a[i]

        put(a, 0.25)
        with ti.ad.Tape(m.loss):
            for _ in range(6):
                advance(a)
            m.squares(a)
        x = m.x.to_numpy().astype(np.float64)
        value, slope = np.full(N, 0.25), np.zeros(N)
        for _ in range(6):
            value, slope = (
                np.sin(value) + 0.5 * x * value,
                np.cos(value) * slope + 0.5 * (value + x * slope),
            )
        np.testing.assert_allclose(
            m.x.grad.to_numpy(), 2 * value * slope, rtol=1e-12 if real == ti.f64 else 2e-4
        )

    @hidden
    @KINDS
    def test_python_overwrites_what_carries(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*carries a derivative")
            with ti.ad.Tape(m.loss):
                m.square_to(a)
                a[1] = 10.0
                m.total(a)
                put(a, 3.0)
                m.add_to(a)
                m.total(a)
        expected = 2 * m.x.to_numpy() + 1
        expected[1] = 1
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected)

    @KINDS
    def test_what_is_cut_on_purpose(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)

        @ti.kernel
        def stopped(a: ARRAY):
            for i in range(N):
                ti.stop_grad(a)
                m.loss[None] += a[i]

        @ti.kernel
        def declared(a: ti.types.ndarray(needs_grad=False)):
            for i in range(N):
                m.loss[None] += a[i]

        with ti.ad.Tape(m.loss):
            m.square_to(a)
            stopped(a)
            declared(a)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.zeros(N))

    def test_an_output_that_nothing_reads_warns_of_nothing(self, real: Any) -> None:
        m, a = Model(real), numpy_array(real)
        with ti.ad.Tape(m.loss):
            m.weigh(np.ones(N, real.numpy))
            m.square_to(a)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.ones(N))
        np.testing.assert_array_equal(a, m.x.to_numpy() ** 2)

    @hidden
    def test_from_an_ndarray_through_a_field_without_gradient(self, real: Any) -> None:
        m, a, y = Model(real), ti.ndarray(real, N, needs_grad=True), ti.field(real, N)
        a.from_numpy(np.arange(N))

        @ti.kernel
        def fill(a: ARRAY):
            for i in y:
                y[i] = a[i] ** 2

        @ti.kernel
        def finish():
            for i in y:
                m.loss[None] += y[i]

        with ti.ad.Tape(m.loss):
            fill(a)
            finish()
        np.testing.assert_allclose(a.grad.to_numpy(), 2 * np.arange(N))

    @hidden
    def test_to_an_ndarray_as_the_loss(self, real: Any) -> None:
        m, a, loss = Model(real), ti.ndarray(real, N), ti.ndarray(real, (), needs_grad=True)

        @ti.kernel
        def finish(a: ARRAY, out: ARRAY):
            for i in a:
                out[None] += a[i]

        with pytest.warns(UserWarning, match="a -> out"), ti.ad.Tape(loss):
            m.square_to(a)
            finish(a, loss)
        np.testing.assert_allclose(m.x.grad.to_numpy(), 2 * m.x.to_numpy())

    @hidden
    def test_vectors(self, real: Any) -> None:
        m, v = Model(real), np.zeros((N, 3), real.numpy)

        @ti.kernel
        def spread(v: ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)):
            for i in v:
                v[i] = ti.Vector([m.x[i], m.x[i] ** 2, 1.0])

        @ti.kernel
        def finish(v: ti.types.ndarray(dtype=ti.types.vector(3, real), ndim=1)):
            for i in v:
                m.loss[None] += v[i].norm_sqr()

        with ti.ad.Tape(m.loss):
            spread(v)
            finish(v)
        x = m.x.to_numpy()
        np.testing.assert_allclose(m.x.grad.to_numpy(), 2 * x + 4 * x**3)


class TestViews:
    """Views of one buffer."""

    @hidden
    def test_rows_and_columns_apart(self, real: Any) -> None:
        m, history = Model(real), np.zeros((5, N), real.numpy)
        with ti.ad.Tape(m.loss):
            m.square_to(history[0])
            for t in range(4):
                m.move(history[t], history[t + 1])
            m.total(history[4])
        np.testing.assert_allclose(m.x.grad.to_numpy(), 32 * m.x.to_numpy())
        across = history.T.copy()
        with ti.ad.Tape(m.loss):
            m.square_to(across[:, 0])
            for t in range(4):
                m.move(across[:, t], across[:, t + 1])
            m.total(across[:, 4])
        np.testing.assert_allclose(m.x.grad.to_numpy(), 32 * m.x.to_numpy())
        np.testing.assert_array_equal(across.T, history)

    @pytest.mark.parametrize(
        "other", [lambda a: a[1 : N + 1], lambda a: a.reshape(4, -1)[0], lambda a: a[::-2]]
    )
    def test_overlapping_views_that_carry_are_refused(
        self, real: Any, other: Callable[..., Any]
    ) -> None:
        m, a = Model(real, 3), np.zeros(4 * N, real.numpy)
        with (
            pytest.raises(
                ti.TaichiRuntimeError,
                match=r"array argument 'a' of kernel 'total', of shape .*, and array "
                r"argument 'a' of kernel 'square_to', of shape .*share memory",
            ),
            ti.ad.Tape(m.loss),
        ):
            m.square_to(a)
            m.total(other(a))

    def test_overlapping_views_that_are_read(self, real: Any) -> None:
        m, a = Model(real), np.arange(2.0 * N).astype(real.numpy)
        expected = np.zeros(N)
        with ti.ad.Tape(m.loss):
            for k in range(N):
                m.weigh(a[k : k + N])
                expected += a[k : k + N]
                a[N // 2] = 100 + k
        np.testing.assert_allclose(m.x.grad.to_numpy(), expected)

    def test_overlapping_arguments_of_one_launch(self, real: Any) -> None:
        m, a = Model(real, 3), np.arange(12.0).astype(real.numpy)
        with pytest.raises(ti.TaichiRuntimeTypeError, match="overlap"):
            m.move(a[::2], a[1:])
        m.move(a[::2], a[1::2])
        np.testing.assert_array_equal(a[:6], [0, 0, 2, 4, 4, 8])


class TestClearing:
    """A tape begins with gradients of 0."""

    def test_of_ndarrays(self, real: Any) -> None:
        m = Model(real)
        a, b = (ti.ndarray(real, N, needs_grad=True) for _ in range(2))
        for _ in range(3):
            with ti.ad.Tape(m.loss):
                m.square_to(a)
                m.move(a, b)
                m.total(b)
            np.testing.assert_allclose(m.x.grad.to_numpy(), 4 * m.x.to_numpy())
            # a store: what was there before has no influence
            np.testing.assert_array_equal(a.grad.to_numpy(), np.zeros(N))
            np.testing.assert_array_equal(b.grad.to_numpy(), np.zeros(N))

    def test_of_inputs(self, real: Any) -> None:
        m, a = Model(real), ti.ndarray(real, N, needs_grad=True)
        for _ in range(3):
            with ti.ad.Tape(m.loss):
                m.squares(a)
                m.weigh(a)
            np.testing.assert_array_equal(a.grad.to_numpy(), m.x.to_numpy())
        with ti.ad.Tape(m.loss, clear_gradients=False):
            m.weigh(a)
        np.testing.assert_array_equal(a.grad.to_numpy(), 2 * m.x.to_numpy())
        ti.ad.clear_all_gradients()
        assert not a.grad.to_numpy().any()

    def test_of_tangents(self, real: Any) -> None:
        m, a = Model(real), ti.ndarray(real, N, needs_grad=True)
        for _ in range(3):
            a.fill(0)
            with ti.ad.FwdMode(m.loss, m.x, np.ones(N)):
                m.add_to(a)
                m.total(a)
            assert m.loss.dual[None] == N

    @hidden
    def test_of_hidden_gradients(self, real: Any) -> None:
        m, a = Model(real), ti.ndarray(real, N)
        for _ in range(3):
            a.fill(0)
            with ti.ad.Tape(m.loss) as tape:
                m.add_to(a)
                m.add_to(a)
                m.total(a)
            for _ in range(2):
                np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 2.0))
                tape.grad()


class Tensor:
    """What mlirad uses of a torch tensor."""

    device = SimpleNamespace(type="cpu")
    is_sparse = False

    def __init__(self, values: Any, requires_grad: bool = False) -> None:
        self.values, self.requires_grad = values, requires_grad
        self.grad: Tensor | None = None

    @property
    def data(self) -> Tensor:
        return self

    def clone(self) -> Tensor:
        return Tensor(self.values.copy())

    def zero_(self) -> Tensor:
        self.values[...] = 0
        return self

    def is_contiguous(self) -> bool:
        return bool(self.values.flags.c_contiguous)

    def detach(self) -> Tensor:
        return Tensor(self.values)

    def numpy(self) -> Any:
        return self.values


Tensor.__module__ = "torch"


class TestTensors:
    """Tensors as torch has them, by a stand-in."""

    def test_gradients_add_up(self, real: Any) -> None:
        m, t = Model(real), Tensor(np.arange(1.0, N + 1).astype(real.numpy), requires_grad=True)
        for epoch in range(1, 4):
            with ti.ad.Tape(m.loss):
                m.weigh(t)
            np.testing.assert_array_equal(t.grad.values, epoch * m.x.to_numpy())
            np.testing.assert_array_equal(m.x.grad.to_numpy(), t.values)

    def test_what_lies_in_the_gradient_does_not_reach_fields(self, real: Any) -> None:
        m, t = Model(real), Tensor(numpy_array(real), requires_grad=True)
        for _ in range(3):
            t.values[:] = 0
            with ti.ad.Tape(m.loss) as tape:
                m.add_to(t)
                m.total(t)
            np.testing.assert_array_equal(m.x.grad.to_numpy(), np.ones(N))
        np.testing.assert_array_equal(t.grad.values, np.full(N, 3.0))
        tape.grad()
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.ones(N))
        np.testing.assert_array_equal(t.grad.values, np.full(N, 4.0))

    def test_refilled(self, real: Any) -> None:
        m, t = Model(real), Tensor(numpy_array(real))
        with ti.ad.Tape(m.loss):
            for k in range(5):
                t.values[:] = 2 * k
                m.weigh(t)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 20.0))

    def test_refilled_elements_have_the_gradient_of_their_first_value(self, real: Any) -> None:
        m, t = Model(real), Tensor(np.ones(N, real.numpy), requires_grad=True)
        with ti.ad.Tape(m.loss):
            m.total(t)
            t.values[2] = 5
            m.weigh(t)
        expected = 1 + m.x.to_numpy()
        expected[2] = 1
        np.testing.assert_array_equal(t.grad.values, expected)

    @hidden
    def test_chains(self, real: Any) -> None:
        m, t = Model(real), Tensor(numpy_array(real))
        with ti.ad.Tape(m.loss):
            m.square_to(t)
            m.squares(t)
        np.testing.assert_allclose(m.x.grad.to_numpy(), 4 * m.x.to_numpy() ** 3)


class TestElsewhere:
    """Checkpointed loops, forward mode, second derivatives, gradient checks."""

    def loop(
        self, m: Model, a: Any, u: Any, steps: Callable[[range], Any], change: Callable[[int], None]
    ) -> Any:
        @ti.kernel
        def advance(a: ARRAY, u: ARRAY):
            for i in m.x:
                a[i] = ti.sin(a[i]) + u[i] * m.x[i] * a[i]

        put(a, 0.25)
        put(u, 0.5)
        with ti.ad.Tape(m.loss):
            m.weigh(u)
            put(u, 0.25)
            for t in steps(range(9)):
                advance(a, u)
                change(t)
            put(u, 7.0)
            m.weigh(u)
            m.squares(a)
        return m.x.grad.to_numpy(), np.array([u[i] for i in range(N)]), a.to_numpy()

    @hidden
    @KINDS
    def test_checkpointed_loops(self, real: Any, make: Callable[..., Any]) -> None:
        m, a, u = Model(real), ti.ndarray(real, N), make(real)
        expected = self.loop(m, a, u, lambda over: over, lambda t: None)
        found = self.loop(
            m, a, u, lambda over: ti.ad.checkpointed(over, state=[a], snapshots=2), lambda t: None
        )
        for one, other in zip(found, expected):
            np.testing.assert_array_equal(one, other)
        found = self.loop(
            m,
            a,
            u,
            lambda over: ti.ad.checkpointed(iter(over), state=[a], snapshots=2),
            lambda t: None,
        )
        np.testing.assert_array_equal(found[0], expected[0])

    @hidden
    @pytest.mark.parametrize("make", [numpy_array, columns])
    def test_checkpointed_loops_in_which_python_changes_an_array(
        self, real: Any, make: Callable[..., Any]
    ) -> None:
        m, a, u = Model(real), ti.ndarray(real, N), make(real)

        def change(t: int) -> None:
            u[1] = t

        with pytest.raises(
            ti.TaichiRuntimeError,
            match="array argument 'u' of kernel 'advance' has changed",
        ):
            self.loop(
                m, a, u, lambda over: ti.ad.checkpointed(over, state=[a], snapshots=2), change
            )

    @hidden
    def test_second_derivatives(self, real: Any) -> None:
        m, a = Model(real), ti.ndarray(real, N)

        def run() -> None:
            m.square_to(a)
            m.squares(a)

        found = ti.ad.hvp(run, m.loss, m.x, np.ones(N))
        np.testing.assert_allclose(found, 12 * m.x.to_numpy() ** 2, rtol=1e-6)
        foreign = numpy_array(real)

        def through_numpy() -> None:
            m.square_to(foreign)
            m.squares(foreign)

        with pytest.raises(ti.TaichiRuntimeError, match="no tangents"):
            ti.ad.hvp(through_numpy, m.loss, m.x, np.ones(N))

    @KINDS
    def test_forward_mode_refuses(self, real: Any, make: Callable[..., Any]) -> None:
        m, a = Model(real), make(real)
        with (
            pytest.raises(
                ti.TaichiRuntimeError,
                match="a derivative passes to array argument 0 of kernel 'square_to'",
            ),
            ti.ad.FwdMode(m.loss, m.x, np.ones(N)),
        ):
            m.square_to(a)

    def test_gradient_checks(self) -> None:
        m, a = Model(ti.f64), np.arange(3.0 * N).reshape(N, 3)[:, 1]
        with ti.ad.Tape(m.loss, grad_check=[m.x]):
            m.weigh(a)
            m.weigh(a)
        with (
            pytest.raises(ti.TaichiRuntimeError, match="Python changed an array argument"),
            ti.ad.Tape(m.loss, grad_check=[m.x]),
        ):
            m.weigh(a)
            a[1] = 0
            m.weigh(a)


@pytest.mark.filterwarnings("ignore:.*it was given a hidden one")
@pytest.mark.parametrize("kind", ["numpy", "strided", "ours"])
@pytest.mark.parametrize("options", [{}, {"memory": 0.9}], ids=["tape", "budget"])
def test_a_field_that_gets_a_gradient_between_launches(
    real: Any, kind: str, options: dict[str, Any]
) -> None:
    """What the kernel needs of an array is another thing from then on."""
    x, state = ti.field(real, N, needs_grad=True), ti.field(real, N)
    loss = ti.field(real, (), needs_grad=True)
    values = np.linspace(0.3, 0.9, N).astype(real.numpy)
    if kind == "ours":
        array: Any = ti.ndarray(real, N)
        array.from_numpy(values)
    else:
        array = values if kind == "numpy" else np.stack([values, values], 1)[:, 0]

    @ti.kernel
    def weigh(a: ARRAY):
        for i in range(N):
            loss[None] += ti.cos(state[i] + a[i])

    @ti.kernel
    def move():
        for i in x:
            state[i] -= x[i] * x[i]

    x.from_numpy(np.arange(1.0, N + 1))
    with ti.ad.Tape(loss, **options):
        for _ in range(3):
            weigh(array)
            move()
    at = np.arange(1.0, N + 1)
    slope = sum(2 * k * at * np.sin(values - k * at**2) for k in (1, 2))
    np.testing.assert_allclose(
        x.grad.to_numpy(),
        slope,
        rtol=1e-3 if real is ti.f32 else 1e-9,
        atol=1e-4 if real is ti.f32 else 0,
    )
