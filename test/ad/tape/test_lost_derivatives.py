"""Values that leave the kernels of a tape, and what Python writes over: a derivative that is lost
is spoken of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti

N = 4
pytestmark = pytest.mark.usefixtures("f64")


class Model:
    """Kernels that return something, and kernels that add to a loss."""

    def __init__(self) -> None:
        self.x, self.y = (ti.field(ti.f64, N, name=name, needs_grad=True) for name in "xy")
        self.loss = ti.field(ti.f64, (), name="loss", needs_grad=True)
        self.x.from_numpy(np.arange(1.0, N + 1))
        self.plain, self.count = ti.field(ti.f64, N), ti.field(ti.i32, ())
        x, y, loss, plain = self.x, self.y, self.loss, self.plain

        @ti.kernel
        def energy() -> ti.f64:
            total = 0.0
            for i in range(N):
                total += x[i] ** 2
            return total

        @ti.kernel
        def size() -> ti.f64:
            total = 0.0
            for i in range(N):
                total += plain[i]
            return total

        @ti.kernel
        def count() -> ti.i32:
            found = 0
            for i in range(N):
                if x[i] > 0:
                    found += 1
            return found

        @ti.kernel
        def stopped() -> ti.f64:
            ti.stop_grad(x)
            return x[0]

        @ti.kernel
        def of_array(a: ti.types.ndarray()) -> ti.f64:
            return a[0] * 2

        @ti.kernel
        def weigh(w: ti.f64):
            for i in x:
                loss[None] += w * x[i]

        @ti.kernel
        def to_y():
            for i in x:
                y[i] = x[i] ** 2

        @ti.kernel
        def to_array(a: ti.types.ndarray()):
            for i in x:
                a[i] = x[i] ** 2

        @ti.kernel
        def from_y():
            for i in y:
                loss[None] += y[i]

        self.energy, self.size, self.number, self.stopped, self.of_array = (
            energy,
            size,
            count,
            stopped,
            of_array,
        )
        self.weigh, self.to_y, self.from_y, self.to_array = weigh, to_y, from_y, to_array


class TestResults:
    """What kernels return."""

    @pytest.mark.parametrize(
        "use",
        [
            lambda m: m.weigh(m.energy()),
            lambda m: m.loss.fill(m.energy()),
            lambda m: [m.energy()],
            lambda m: m.energy() + 1,
            lambda m: print(m.energy()),
            lambda m: functools.partial(m.energy)() > 0,
            lambda m: [k() for k in [m.energy]],
        ],
    )
    def test_a_used_result_warns(self, use: Callable[[Model], Any]) -> None:
        m = Model()
        with (
            pytest.warns(
                UserWarning,
                match=r"test_lost_derivatives.py:\d+: the result of kernel 'energy' "
                r"\(.*test_lost_derivatives.py:\d+\) is used in Python inside a tape",
            ),
            ti.ad.Tape(m.loss),
        ):
            m.weigh(1.0)
            used = use(m)  # noqa: F841

    def test_once_a_line_and_naming_it(self) -> None:
        m = Model()
        with pytest.warns(UserWarning) as caught, ti.ad.Tape(m.loss):
            for _ in range(3):
                m.weigh(m.energy())
            m.weigh(m.energy())
        assert len(caught) == 2
        lines = [int(str(one.message).split(":")[1]) for one in caught]
        assert lines[1] == lines[0] + 1

    def test_assigned_to_the_loss(self) -> None:
        m = Model()
        with pytest.warns(UserWarning) as caught, ti.ad.Tape(m.loss):
            m.loss[None] = m.energy()
        texts = [str(one.message) for one in caught]
        assert "the result of kernel 'energy'" in texts[0]
        assert "no kernel launched in this tape writes to its loss, field 'loss'" in texts[1]
        assert len(texts) == 2

    def test_a_result_of_arrays(self) -> None:
        m, a = Model(), np.zeros(N)
        with pytest.warns(UserWarning, match="the result of kernel 'of_array'"), ti.ad.Tape(m.loss):
            m.weigh(m.of_array(a))  # constant
            m.to_array(a)
            m.weigh(m.of_array(a))
        b = ti.ndarray(ti.f64, N, needs_grad=True)
        with pytest.warns(UserWarning, match="the result of kernel 'of_array'"), ti.ad.Tape(m.loss):
            m.weigh(m.of_array(b))

    def test_in_forward_mode(self) -> None:
        m = Model()
        with (
            pytest.warns(
                UserWarning, match="the result of kernel 'energy' .* inside a forward mode"
            ),
            ti.ad.FwdMode(m.loss, m.x, np.ones(N)),
        ):
            m.weigh(m.energy())

    def test_in_a_checkpointed_loop(self) -> None:
        m = Model()

        def run() -> None:
            with ti.ad.Tape(m.loss):
                for _ in ti.ad.checkpointed(range(5), state=[m.y], snapshots=1):
                    m.energy()
                    m.weigh(m.energy())

        with pytest.warns(UserWarning, match="the result of kernel 'energy'") as caught:
            run()
        assert len(caught) == 1

    def test_what_warns_of_nothing(self) -> None:
        m = Model()

        def step() -> Any:
            return m.energy()

        @ti.ad.no_grad
        def constant() -> float:
            return m.energy()

        with ti.ad.Tape(m.loss):
            m.energy()
            step()
            m.weigh(m.size())
            m.weigh(m.number())
            m.weigh(m.stopped())
            m.weigh(constant())
            m.weigh(m.of_array(np.ones(N)))
        m.weigh(m.energy())
        assert m.x.grad[0] == pytest.approx(m.size() + N + m.x[0] + (m.x.to_numpy() ** 2).sum() + 2)


class TestReads:
    """What Python reads of the program's inputs."""

    @pytest.mark.parametrize(
        "read",
        [
            lambda x: x[0],
            lambda x: x.to_numpy(),
            lambda x: x[1:3],
            lambda x: np.sum(x),
            lambda x: np.array(x),
        ],
        ids=["element", "all", "slice", "library", "copy"],
    )
    @pytest.mark.parametrize("is_field", [True, False], ids=["field", "ndarray"])
    def test_of_what_has_a_gradient(self, read: Callable[[Any], Any], is_field: bool) -> None:
        m, a = Model(), ti.ndarray(ti.f64, N, needs_grad=True)
        name = "'x'" if is_field else r"a ti.ndarray of shape \(4,\)"
        with (
            pytest.warns(
                UserWarning,
                match=rf"test_lost_derivatives.py:\d+: {name} is read in Python inside a tape",
            ) as caught,
            ti.ad.Tape(m.loss),
        ):
            for _ in range(2):
                m.weigh(float(np.sum(read(m.x if is_field else a))))
        assert len(caught) == 1

    def test_what_warns_of_nothing(self) -> None:
        m, a = Model(), ti.ndarray(ti.f64, N)

        @ti.ad.no_grad
        def constant() -> float:
            return float(m.x[0])

        v = ti.Vector.field(2, ti.f64, N, needs_grad=True)
        with ti.ad.Tape(m.loss):
            v[1][0] = 1.0  # a write alone
            v[1].y = 2.0
            seen = v[1]
            m.weigh(constant() + m.plain[0] + a[0] + m.count[None])
        assert (m.x.grad.to_numpy() == 1.0).all() and m.x[0] == 1.0
        assert list(seen) == [1.0, 2.0]


class TestWrites:
    """What Python writes over."""

    @pytest.mark.parametrize(
        "write",
        [
            lambda m: m.y.fill(0),
            lambda m: m.y.from_numpy(np.zeros(N)),
            lambda m: m.y.__setitem__(2, 1.0),
            lambda m: m.y.copy_from(m.plain),
        ],
    )
    def test_over_what_no_kernel_has_read(self, write: Callable[[Model], None]) -> None:
        m = Model()
        with (
            pytest.warns(
                UserWarning,
                match=r"test_lost_derivatives.py:\d+: 'y' is written in Python inside a tape, "
                "over a value that carries a derivative",
            ) as caught,
            ti.ad.Tape(m.loss),
        ):
            m.to_y()
            write(m)
            m.from_y()
        assert len(caught) == 1

    def test_of_an_ndarray(self) -> None:
        m, a = Model(), ti.ndarray(ti.f64, N)
        with (
            pytest.warns(
                UserWarning, match="array argument 'a' of kernel 'to_array' is written in Python"
            ),
            ti.ad.Tape(m.loss),
        ):
            m.weigh(1.0)
            m.to_array(a)
            a[1] = 1

    def test_of_the_loss(self) -> None:
        m = Model()
        with (
            pytest.warns(UserWarning, match=r"'loss' is read in Python inside a tape"),
            ti.ad.Tape(m.loss),
        ):
            m.weigh(2.0)
            m.loss[None] = m.loss[None] * 4
        with (
            pytest.warns(UserWarning, match=r"'loss' is written in Python inside a tape"),
            ti.ad.Tape(m.loss),
        ):
            m.weigh(2.0)
            m.loss[None] = 0
            m.weigh(3.0)
        np.testing.assert_array_equal(m.x.grad.to_numpy(), np.full(N, 3.0))

    def test_in_a_checkpointed_loop(self) -> None:
        m = Model()

        def run(read: bool) -> None:
            with ti.ad.Tape(m.loss):
                m.weigh(1.0)
                for _ in ti.ad.checkpointed(range(5), state=[m.y], snapshots=1):
                    m.to_y()
                    if read:
                        m.from_y()
                    m.y.fill(0)

        run(True)
        with pytest.warns(UserWarning, match="'y' is written in Python") as caught:
            run(False)
        assert len(caught) == 1

    def test_ordinary_programs_warn_of_nothing(self) -> None:
        m, a = Model(), ti.ndarray(ti.f64, N)
        for _ in range(2):
            with ti.ad.Tape(m.loss):
                m.loss[None] = 0
                m.x.from_numpy(np.arange(N))
                m.y.fill(0)
                a.fill(1)
                for t in range(3):
                    m.y.fill(0)  # has been read by a kernel
                    m.y[1] = t
                    m.to_y()
                    m.from_y()
                    m.plain[1] = t
                    a[1] = t
                m.of_array(a)
            assert m.loss[None] == 3 * 14

    def test_elements_apart(self) -> None:
        m, u = Model(), ti.field(ti.f64, (10, N), name="u", needs_grad=True)

        @ti.kernel
        def step(t: ti.i32):
            for i in m.x:
                u[t, i] = m.x[i]

        with (
            pytest.warns(UserWarning, match="'u' is written in Python") as caught,
            ti.ad.Tape(m.loss),
        ):
            m.weigh(1.0)
            for t in range(5):
                u[t + 5, 0] = 1.0
                u[t, 2] = 1.0
                step(t)
            u[4, 2] = 1.0
        assert len(caught) == 1


class TestTheLoss:
    """A loss that no launch writes to."""

    def test_is_spoken_of(self) -> None:
        m, loss = Model(), ti.ndarray(ti.f64, (), needs_grad=True)
        for one in (m.loss, loss):
            with (
                pytest.warns(
                    UserWarning, match="no kernel launched in this tape writes to its loss"
                ),
                ti.ad.Tape(one),
            ):
                m.to_y()

    def test_is_reached(self) -> None:
        m, loss, other = (
            Model(),
            ti.ndarray(ti.f64, (), needs_grad=True),
            ti.field(ti.f64, (), needs_grad=True),
        )

        @ti.kernel
        def one(loss: ti.types.ndarray()):
            loss[None] += 1.0

        @ti.ad.no_grad
        def unseen() -> None:
            m.weigh(1.0)

        with ti.ad.Tape(loss):
            one(loss)
        with ti.ad.Tape(m.loss):
            unseen()
        with ti.ad.Tape(m.loss):
            for _ in ti.ad.checkpointed(range(4), state=[m.y], snapshots=1):
                m.weigh(1.0)
        with ti.ad.Tape(m.loss):
            m.loss.copy_from(other)
        with ti.ad.Tape():
            m.to_y()


@pytest.mark.cpu_code("a GPU's memory is copied")
class TestViews:
    """Views, through which Python reads unseen."""

    @pytest.mark.parametrize(
        "view",
        [np.asarray, np.from_dlpack, lambda y: np.asarray(y)[1:]],
        ids=["array", "dl", "part"],
    )
    @pytest.mark.parametrize("place", ["before", "inside"])
    def test_that_exist_when_a_derivative_arrives(self, view: Any, place: str) -> None:
        m, hidden = Model(), ti.field(ti.f64, N, name="hidden")
        with pytest.warns(
            UserWarning,
            match=r"test_lost_derivatives.py:\d+: a view of 'hidden' exists at "
            r".*test_lost_derivatives.py:\d+, inside a tape",
        ) as caught:
            early = view(hidden) if place == "before" else None
            for _ in range(2):
                with ti.ad.Tape(m.loss):
                    late = view(hidden) if place == "inside" else early
                    hidden.copy_from(m.x)
                    m.weigh(float(late[0]))
        assert len(caught) == 1

    def test_of_an_ndarray_and_in_other_modes(self) -> None:
        m, a = Model(), ti.ndarray(ti.f64, N, needs_grad=True)

        def in_steps() -> None:
            for _ in ti.ad.checkpointed(range(3), state=[m.y], snapshots=1):
                m.to_y()

        def tape(run: Callable[[], object]) -> None:
            with ti.ad.Tape(m.loss):
                m.weigh(1.0)
                run()

        def forward(run: Callable[[], object]) -> None:
            with ti.ad.FwdMode(m.loss, m.x, np.ones(N)):
                run()

        for mode, run, lent in (
            (tape, lambda: m.to_array(a), a),
            (tape, lambda: m.y.copy_from(m.x), m.y),
            (tape, in_steps, m.y),
            (forward, lambda: m.to_array(a), a),
            (forward, m.to_y, m.y),
        ):
            with pytest.warns(UserWarning, match="a view of .* exists") as caught:
                view = np.asarray(lent)
                mode(run)
            assert len(caught) == 1
            del view
            m.x.program.derivatives.warned.clear()

    def test_what_warns_of_nothing(self) -> None:
        m, a = Model(), ti.ndarray(ti.f64, N)
        x, plain, grad = np.asarray(m.x), np.asarray(m.plain), np.asarray(m.x.grad)
        copy, constant = np.array(m.y), np.asarray(a)
        assert np.asarray(m.y).sum() + np.sum(a) == 0.0  # views that do not exist any more
        with ti.ad.Tape(m.loss):
            m.to_y()
            m.from_y()
            m.of_array(a)
            m.plain.fill(1.0)
        assert np.asarray(m.y)[0] == x[0] ** 2 and plain[0] == 1.0
        assert (grad == 2 * x).all() and copy.sum() + constant.sum() == 0.0

    def test_the_line_is_the_program_s(self) -> None:
        m = Model()
        with pytest.warns(UserWarning) as caught, ti.ad.Tape(m.loss):
            m.to_y()
            np.sum(m.y)
            np.sum(m.y)
            m.from_y()
        assert len(caught) == 2
        assert all("test_lost_derivatives.py" in str(one.message) for one in caught)
