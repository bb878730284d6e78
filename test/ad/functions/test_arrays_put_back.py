"""Derivatives of programs that change arrays: each call gives the same, and leaves the arrays as
they were."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te

N = 3
ARRAY = ti.types.ndarray()
START = np.array([1.0, 2.0, 3.0])
AT = np.array([0.5, 1.5, -2.0])
V = np.array([1.0, -0.5, 2.0])
pytestmark = pytest.mark.usefixtures("f64")


class Model:
    """loss = sum of c a[i] x[i] ** 3, where `a` is an array that the program multiplies."""

    def __init__(self) -> None:
        self.x = ti.field(ti.f64, N, needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        self.x.from_numpy(AT)
        x, loss = self.x, self.loss

        @ti.kernel
        def double(a: ARRAY):
            for i in a:
                a[i] *= 2.0

        @ti.kernel
        def by_x(a: ARRAY):
            for i in a:
                a[i] = a[i] * x[i]

        @ti.kernel
        def total(a: ARRAY):
            for i in a:
                loss[None] += a[i]

        @ti.kernel
        def weigh(a: ARRAY):
            for i in a:
                loss[None] += a[i] * x[i] ** 3

        self.double, self.by_x, self.total, self.weigh = double, by_x, total, weigh


def active(**options: Any) -> Any:
    found = ti.ndarray(ti.f64, N, **options)
    found.from_numpy(START)
    return found


def numpy_array() -> Any:
    return START.copy()


def with_gaps() -> Any:
    found = np.zeros((2, N))
    found[:, ::-1][0] = START
    return found[0, ::-1]


def torch_tensor() -> Any:
    return pytest.importorskip("torch").tensor(START)


PLACES: dict[str, Callable[[], Any]] = {
    "ndarray": lambda: active(needs_grad=True),
    "hidden": active,
    "numpy": numpy_array,
    "gaps": with_gaps,
    "torch": torch_tensor,
}
OURS = ("ndarray", "hidden")


def contents(a: Any) -> list[float]:
    found: list[float] = (a.to_numpy() if hasattr(a, "to_numpy") else a).tolist()
    return found


def changes(a: Any) -> dict[str, tuple[Callable[[], Any], np.ndarray[Any, Any]]]:
    """What Python writes to an array before kernels do, and what is there then."""
    found: dict[str, Any] = {"nothing": (lambda: None, START)}
    if isinstance(a, ti.Ndarray):
        other = active()
        other.fill(4.0)
        found |= {
            "fill": (lambda: a.fill(5.0), np.full(N, 5.0)),
            "element": (lambda: a.__setitem__(1, 7.0), np.array([1.0, 7.0, 3.0])),
            "slice": (lambda: a.__setitem__(slice(1, 3), 7.0), np.array([1.0, 7.0, 7.0])),
            "from_numpy": (lambda: a.from_numpy(2 * START), 2 * START),
            "copy_from": (lambda: a.copy_from(other), np.full(N, 4.0)),
        }
    return found


def transforms(m: Model, run: Callable[[], Any]) -> dict[str, tuple[Callable[[], Any], Any]]:
    """Derivatives of the program, and each in closed form, where a[i] is 1."""
    one = {"inputs": m.x, "output": m.loss}
    value, first, second = AT**3, 3 * AT**2, 6 * AT
    called = ti.ad.program(run, **one)
    return {
        "hvp": (lambda: ti.ad.hvp(run, m.loss, m.x, V), second * V),
        "hvp within a budget": (lambda: ti.ad.hvp(run, m.loss, m.x, V, memory=1 << 20), second * V),
        "hessian": (lambda: ti.ad.hessian(run, m.loss, m.x), np.diag(second)),
        "grad": (lambda: ti.ad.grad(run, **one)(AT), first),
        "value_and_grad": (lambda: ti.ad.value_and_grad(run, **one)(AT)[0], value),
        "vjp": (lambda: ti.ad.vjp(run, **one)(AT, 2.0)[1], 2 * first),
        "jvp": (lambda: ti.ad.jvp(run, **one)(AT, V)[1], first * V),
        "values": (lambda: called(AT), value),
    }


def check(m: Model, a: Any, begin: Callable[[], Any], weights: Any, *, carries: bool) -> None:
    """Call each transform of a program twice, and look at the array after each call."""

    def run() -> None:
        begin()
        if carries:
            m.by_x(a)
            m.by_x(a)
            m.by_x(a)
            m.total(a)
        else:
            m.double(a)
            m.weigh(a)

    factor = np.asarray(weights) * (1.0 if carries else 2.0)
    is_tangent_refused = carries and not isinstance(a, ti.Ndarray)
    for name, (call, form) in transforms(m, run).items():
        if name in ("value_and_grad", "values", "jvp"):
            want = (factor * form).sum()
        else:
            want = np.diag(factor) @ form if name == "hessian" else factor * form
        if is_tangent_refused and name in ("jvp", "hvp", "hvp within a budget", "hessian"):
            with pytest.raises(ti.TaichiRuntimeError, match=r"no tangents|no gradient"):
                call()
        elif name == "jvp" and carries and a.grad is None:
            with pytest.raises(ti.TaichiRuntimeError, match="no gradient"):
                call()
        else:
            for _ in range(2):
                np.testing.assert_allclose(call(), want, rtol=1e-12, err_msg=name)
                assert contents(a) == START.tolist(), name
        assert contents(a) == START.tolist(), name


@pytest.mark.parametrize("carries", [False, True], ids=["constant", "carrying"])
@pytest.mark.parametrize("place", PLACES)
def test_each_call_gives_the_same(place: str, carries: bool) -> None:
    m, a = Model(), PLACES[place]()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*has no gradient, but carries")
        for begin, weights in changes(a).values():
            check(m, a, begin, weights, carries=carries)


def check_twice(m: Model, run: Callable[[], Any], weights: Any, power: int, *arrays: Any) -> None:
    """Call transforms of a program with the loss sum of weights[i] x[i] ** power."""
    before = [contents(a) for a in arrays]
    first, second = power * weights * AT ** (power - 1), power * (power - 1) * AT ** (power - 2)
    gradient = ti.ad.grad(run, inputs=m.x, output=m.loss)
    for _ in range(2):
        np.testing.assert_allclose(ti.ad.hvp(run, m.loss, m.x, V), weights * second * V)
        assert [contents(a) for a in arrays] == before
        np.testing.assert_allclose(gradient(AT), first)
        assert [contents(a) for a in arrays] == before


@pytest.mark.parametrize("is_hidden", [False, True], ids=["gradient", "hidden"])
@pytest.mark.filterwarnings("ignore:.*has no gradient, but carries")
def test_vectors_and_their_components(is_hidden: bool) -> None:
    m, v = Model(), ti.Vector.ndarray(2, ti.f64, N, needs_grad=not is_hidden)
    v.from_numpy(np.stack([START, 10 * START], axis=1))

    @ti.kernel
    def by_x(a: ARRAY):
        for i in a:
            a[i] *= ti.Vector([m.x[i], m.x[i]])

    @ti.kernel
    def total(a: ARRAY):
        for i in a:
            m.loss[None] += 2 * a[i][0] + a[i][1]

    def run() -> None:
        v[1][0] = 5.0
        v[2] = [6.0, 7.0]
        by_x(v)
        by_x(v)
        by_x(v)
        total(v)

    check_twice(m, run, np.array([12.0, 30.0, 19.0]), 3, v)


def test_other_ways_to_write() -> None:
    m, a, b = Model(), PLACES["ndarray"](), PLACES["ndarray"]()
    p, q = (te.placeholder((N,), name=name, dtype="float64") for name in "pq")
    multiply = te.build(te.compute((N,), lambda i: p[i] * q[i]), [p, q])
    builder, argument = ti.graph.GraphBuilder(), ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a")
    for kernel in (m.by_x, m.by_x, m.by_x, m.total):
        builder.dispatch(kernel, argument)
    graph = builder.compile()
    quiet = ti.ad.no_grad(lambda: (m.double(a), a.__setitem__(0, 8.0)))

    def tensors() -> None:
        multiply(a, m.x, out=b)
        multiply(b, m.x, out=a)
        m.by_x(a)
        m.total(a)

    def steps() -> None:
        for _ in ti.ad.checkpointed(range(3), state=[a], snapshots=1):
            m.by_x(a)
        m.total(a)

    def constants() -> None:
        quiet()
        steps()

    for run, weights in (
        (tensors, START),
        (steps, START),
        (lambda: graph.run({"a": a}), START),
        (constants, np.array([8.0, 4.0, 6.0])),
    ):
        check_twice(m, run, weights, 3, a, b)


def test_overlapping_views() -> None:
    m, values = Model(), np.arange(1.0, 7.0)

    @ti.kernel
    def scale(a: ARRAY, factor: ti.f64):
        for i in a:
            a[i] *= factor

    def run() -> None:
        scale(values[0:4], 2.0)
        scale(values[2:6], 3.0)
        scale(values[1:5][::-1], 5.0)
        m.weigh(values[2:5])

    check_twice(m, run, np.array([90.0, 120.0, 75.0]), 3, values)


def test_errors_and_gradients() -> None:
    """Arrays are put back after an error as well; gradients are what a program leaves there."""
    m, a = Model(), PLACES["ndarray"]()

    def fails() -> None:
        m.double(a)
        raise ValueError

    for name, (call, _) in transforms(m, fails).items():
        with pytest.raises(ValueError, match=r"^$"):
            call()
        assert contents(a) == START.tolist(), name

    def run() -> None:
        m.weigh(a)
        m.double(a)

    for _ in range(2):
        np.testing.assert_allclose(
            ti.ad.grad(run, inputs=m.x, output=m.loss)(AT), START * 3 * AT**2
        )
        np.testing.assert_allclose(a.grad.to_numpy(), AT**3)
        a.grad.fill(7.0)
    with ti.ad.FwdMode(m.loss, m.x, V):
        m.by_x(a)  # whose tangents are left behind
    a.from_numpy(START)
    np.testing.assert_allclose(ti.ad.hvp(run, m.loss, m.x, V), START * 6 * AT * V)
