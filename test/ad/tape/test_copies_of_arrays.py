"""`copy_from` between ndarrays, and between ndarrays and fields, where derivatives are taken: a
store of what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mlirad as ti

N = 4
AT = np.array([0.5, 1.5, -2.0, 3.0])
V = np.array([1.0, -0.5, 2.0, 0.25])


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(default_fp=ti.f64, opt_level=0)
    yield
    ti.reset()


def blocked(**options: Any) -> Any:
    found = ti.field(ti.f64, **options)
    ti.root.dense(ti.i, 2).dense(ti.i, 2).place(found)
    if options:
        ti.root.dense(ti.i, N).place(found.grad)
    return found


def sparse() -> Any:
    found = ti.field(ti.f64, needs_grad=True)
    ti.root.pointer(ti.i, 2).dense(ti.i, 2).place(found, found.grad)
    for i in range(N):
        found[i] = 0.0
    return found


SCALARS: dict[str, Callable[[], Any]] = {
    "ndarray": lambda: ti.ndarray(ti.f64, N, needs_grad=True),
    "hidden ndarray": lambda: ti.ndarray(ti.f64, N),
    "field": lambda: ti.field(ti.f64, N, needs_grad=True),
    "hidden field": lambda: ti.field(ti.f64, N),
    "offset": lambda: ti.field(ti.f64, N, offset=(3,), needs_grad=True),
    "blocked": blocked,
    "sparse": sparse,
}
PAIRS = [(one, other) for one in SCALARS for other in SCALARS if "ndarray" in (one, other)]


@ti.kernel
def from_x(x: ti.template(), a: ti.types.ndarray()):
    for i in a:
        a[i] = x[i] ** 2


@ti.kernel
def field_from_x(x: ti.template(), a: ti.template(), start: ti.template()):
    for i in a:
        a[i] = x[i - start] ** 2


@ti.kernel
def weigh(x: ti.template(), a: ti.types.ndarray(), loss: ti.template()):
    for i in a:
        loss[None] += a[i] * x[i] * (i + 1)


@ti.kernel
def field_weigh(x: ti.template(), a: ti.template(), loss: ti.template(), start: ti.template()):
    for i in a:
        loss[None] += a[i] * x[i - start] * (i - start + 1)


def start_of(a: Any) -> int:
    return a.offset[0] if not isinstance(a, ti.Ndarray) and a.offset else 0


class Model:
    """loss = sum of (i + 1) x[i] ** 3, by way of a copy of the squares."""

    def __init__(self, source: Any, target: Any) -> None:
        self.x = ti.field(ti.f64, N, needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.x.from_numpy(AT)
        self.source, self.target = source, target

    def run(self) -> None:
        """Each step overwrites what the one before needs."""
        for _ in range(2):
            self.square()
            self.target.copy_from(self.source)
        self.weigh()

    def square(self) -> None:
        if isinstance(self.source, ti.Ndarray):
            from_x(self.x, self.source)
        else:
            field_from_x(self.x, self.source, start_of(self.source))

    def weigh(self) -> None:
        if isinstance(self.target, ti.Ndarray):
            weigh(self.x, self.target, self.loss)
        else:
            field_weigh(self.x, self.target, self.loss, start_of(self.target))


WEIGHTS = np.arange(1.0, N + 1)
FIRST, SECOND = 3 * WEIGHTS * AT**2, 6 * WEIGHTS * AT


@pytest.mark.parametrize("pair", PAIRS, ids=" to ".join)
@pytest.mark.filterwarnings("ignore:.*has no (gradient|dual), but carries")
def test_in_every_mode(pair: tuple[str, str]) -> None:
    m = Model(*(SCALARS[one]() for one in pair))
    with ti.ad.Tape(m.loss):
        m.run()
    np.testing.assert_allclose(m.x.grad.to_numpy(), FIRST)
    assert m.loss[None] == pytest.approx((WEIGHTS * AT**3).sum())
    for _ in range(2):
        np.testing.assert_allclose(ti.ad.hvp(m.run, m.loss, m.x, V), SECOND * V)
    m.loss.fill(0)
    if "hidden ndarray" in pair:
        with (
            pytest.raises(ti.TaichiRuntimeError, match="passes to array argument"),
            ti.ad.FwdMode(m.loss, m.x, V),
        ):
            m.run()
        return
    with ti.ad.FwdMode(m.loss, m.x, V):
        m.run()
    assert m.loss.dual[None] == pytest.approx(FIRST @ V)


def array(*values: float, dtype: Any = ti.f64, **options: Any) -> Any:
    found = ti.ndarray(dtype, len(values), **options)
    found.from_numpy(np.array(values))
    return found


@pytest.mark.parametrize("kind", ["memory", "checkpointed", "transform", "no_grad"])
def test_elsewhere_in_a_program(kind: str) -> None:
    m = Model(SCALARS["ndarray"](), SCALARS["ndarray"]())
    m.target.fill(2.0)

    def steps() -> None:
        for _ in ti.ad.checkpointed(range(3), state=[m.source, m.target], snapshots=1):
            m.square()
            m.target.copy_from(m.source)
        m.weigh()

    run = steps if kind == "checkpointed" else ti.ad.no_grad(m.run) if kind == "no_grad" else m.run
    if kind == "transform":
        np.testing.assert_allclose(ti.ad.grad(run, inputs=m.x, output=m.loss)(AT), FIRST)
        assert (m.target.to_numpy() == 2.0).all()
        return
    with ti.ad.Tape(m.loss, memory=1 << 16 if kind == "memory" else None):
        run()
    np.testing.assert_allclose(m.x.grad.to_numpy(), 0.0 if kind == "no_grad" else FIRST)


@pytest.mark.parametrize("is_split", [False, True], ids=["whole", "by component"])
def test_of_vectors_and_matrices(is_split: bool) -> None:
    for shape in ((2,), (2, 2)):
        make = ti.Vector if len(shape) == 1 else ti.Matrix
        v = make.ndarray(*shape, ti.f64, 3, needs_grad=True)
        w = make.ndarray(*shape, ti.f64, 3, needs_grad=True)
        f = make.field(*shape, ti.f64, None if is_split else 3, needs_grad=True)
        if is_split:
            parts = [f.get_scalar_field(*at) for at in np.ndindex(*shape)]
            ti.root.dense(ti.i, 3).place(*parts)
            ti.root.lazy_grad()
        loss = ti.field(ti.f64, (), needs_grad=True)
        values = np.arange(3.0 * np.prod(shape)).reshape(3, *shape)
        v.from_numpy(values)

        @ti.kernel
        def total(a: ti.types.ndarray()):
            for i in a:
                loss[None] += a[i].norm_sqr()  # noqa: B023 - compiled at once

        with ti.ad.Tape(loss):
            f.copy_from(v)
            w.copy_from(f)
            total(w)
        np.testing.assert_allclose(v.grad.to_numpy(), 2 * values)
        np.testing.assert_allclose(f.to_numpy(), values)


def test_of_other_float_types() -> None:
    x, y = array(1.0, 2.0, needs_grad=True), array(0.0, 0.0, dtype=ti.f32, needs_grad=True)
    k, z = array(3, 4, dtype=ti.i32), array(0.0, 0.0, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i] ** 2 + b[i]

    with ti.ad.Tape(loss):
        y.copy_from(x)
        z.copy_from(k)
        total(y, z)
    np.testing.assert_allclose(x.grad.to_numpy(), [2.0, 4.0])
    assert loss[None] == 12.0 and y.grad.to_numpy().dtype == np.float32
    k.copy_from(x)
    assert k.to_numpy().tolist() == [1, 2]


def test_what_is_no_copy() -> None:
    """Adjoints and tangents are numbers; so is what Python reads and writes, with a warning."""
    x, y = array(1.0, 2.0, needs_grad=True), array(0.0, 0.0, needs_grad=True)
    z = array(0.0, 0.0, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i] ** 2

    x.grad.fill(5.0)
    with ti.ad.Tape(loss, clear_gradients=False):
        y.copy_from(x.grad)
        total(y)
    np.testing.assert_allclose(x.grad.to_numpy(), [5.0, 5.0])
    with pytest.warns(UserWarning, match="is read in Python") as caught, ti.ad.Tape(loss):
        y.copy_from(x)
        z.from_numpy(y.to_numpy())
        z[0:1] = y[0:1]
        total(z)
    assert len(caught) == 2
    np.testing.assert_allclose(x.grad.to_numpy(), [0.0, 0.0])


def test_without_a_tape_and_what_is_refused() -> None:
    x, v = array(1.0, 2.0, 3.0, 4.0), ti.Vector.ndarray(2, ti.f64, 2)
    f, short = ti.field(ti.f32, 4, offset=(7,)), ti.ndarray(ti.f64, 3)
    f.copy_from(x)
    x.fill(0.0)
    x.copy_from(f)
    assert x.to_numpy().tolist() == [1.0, 2.0, 3.0, 4.0] and f[10] == 4.0
    wide = ti.ndarray(ti.f64, (2, 2))
    v.fill(3.0)
    wide.copy_from(v)
    assert wide[1, 0] == 3.0
    loss = ti.field(ti.f64, (), needs_grad=True)
    with pytest.raises(ValueError, match=r"\(2, 2\) and \(2,\) of \(2,\) differ"), ti.ad.Tape(loss):
        wide.copy_from(v)
    for target, source in ((short, x), (f, short), (short, f)):
        with pytest.raises(ValueError, match="copy_from: shapes"):
            target.copy_from(source)
    for target in (x, f):
        with pytest.raises(TypeError, match="expected a field or an ndarray, got list"):
            target.copy_from([1.0])
