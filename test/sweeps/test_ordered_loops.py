"""Loops that set a variable of their kernel run in the program's order on every machine, and so do
their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, total, variable

import mlirad as ti
from mlirad.runtime.program import program

N = 12
MACHINES: dict[str, dict[str, Any]] = {
    "default": {},
    "two_threads_of_a_cpu": {"arch": ti.cpu, "cpu_max_num_threads": 2},
    "descending": {"arch": ti.simt, "simt_order": "descending"},
    "shuffled": {"arch": ti.simt, "simt_order": "shuffled"},
}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """A program on one machine, which shares loops of any length."""
    ti.init(default_fp=ti.f64, **MACHINES[request.param])
    program().config.thread_worth = 0
    yield request.param
    ti.reset()


@ti.func
def mix(s: ti.template(), v):
    s = 0.5 * s + v


@ti.dataclass
class Pair:
    """What a loop changes one member of."""

    sum: ti.f64
    count: ti.i32


def kernels(x: Any, y: Any, z: Any) -> dict[str, Callable[[], Any]]:
    """Kernels that leave in y what a variable is in each iteration."""

    @ti.kernel
    def product():
        a = 1.0
        for i in x:
            a = a * ti.sin(x[i])
            y[i] = a

    @ti.kernel
    def running_sum():
        s = 0.0
        for i in x:
            s += x[i] ** 2
            y[i] = s

    @ti.kernel
    def two_kinds():
        s = 0.0
        for i in x:
            s += x[i]
            s *= 0.75
        for i in y:
            y[i] = s * x[i]

    @ti.kernel
    def by_reference():
        s = 0.0
        for i in x:
            mix(s, x[i])
            y[i] = s

    @ti.kernel
    def two_at_once():
        a, b = 0.0, 1.0
        for i in range(N):
            a, b = b, 0.5 * a + b * x[i]
            y[i] = a

    @ti.kernel
    def member():
        p = Pair(sum=0.0, count=1)
        for i in x:
            p.count = (p.count * 7 + i) % 11
            p.sum = 0.5 * p.sum + p.count * x[i]
            y[i] = p.sum

    @ti.kernel
    def of_a_box():
        v = ti.Vector([0.0, 1.0])
        for i, j in z:
            v[0] = 0.5 * v[1] + z[i, j]
            v[1] = ti.sin(v[0]) + 0.5 * v[1]
            y[i * 4 + j] = v[1]

    @ti.kernel
    def largest():
        best, at = 0.0, 0
        for i in x:
            if x[i] > best:
                best, at = x[i], i
        for i in y:
            y[i] = best * x[at] + i

    return {one.__name__: one for one in (
        product, running_sum, two_kinds, by_reference, two_at_once, member, of_a_box, largest
    )}  # fmt: skip


def expected(name: str, x: list[float]) -> list[float]:
    """What they leave there, by plain Python."""
    s, found = {"product": 1.0, "two_at_once": 1.0}.get(name, 0.0), []
    before, count, v = 0.0, 1, [0.0, 1.0]
    for i, value in enumerate(x):
        if name == "product":
            s = s * math.sin(value)
        elif name == "running_sum":
            s += value**2
        elif name == "two_kinds":
            s = (s + value) * 0.75
        elif name == "by_reference":
            s = 0.5 * s + value
        elif name == "two_at_once":
            before, s = s, 0.5 * before + s * value
        elif name == "member":
            count = (count * 7 + i) % 11
            s = 0.5 * s + count * value
        elif name == "of_a_box":
            v[0] = 0.5 * v[1] + value
            s = v[1] = math.sin(v[0]) + 0.5 * v[1]
        found.append(before if name == "two_at_once" else s)
    if name == "two_kinds":
        return [s * value for value in x]
    return [max(x) ** 2 + i for i in range(N)] if name == "largest" else found


NAMES = ["product", "running_sum", "two_kinds", "by_reference"]
NAMES += ["two_at_once", "member", "of_a_box", "largest"]
CASES = [(name, machine) for machine in ("default", "shuffled") for name in NAMES]
CASES += [(name, machine) for machine in MACHINES for name in NAMES[:2]]


@pytest.mark.parametrize(("name", "machine"), [*dict.fromkeys(CASES)], indirect=["machine"])
def test_values_and_gradients_are_those_of_the_order(name: str, machine: str) -> None:
    x, y, z, loss = variable(N), variable(N), variable(3, 4), scalar()
    run, used = kernels(x, y, z)[name], z if name == "of_a_box" else x
    run()
    np.testing.assert_allclose(
        y.to_numpy(), expected(name, used.to_numpy().ravel().tolist()), rtol=1e-14
    )
    check(lambda: (run(), total(y, loss)), [used], loss)


def test_integers_and_long_loops(machine: str) -> None:
    @ti.kernel
    def run(n: int) -> int:
        a, last = 1, ti.Vector([0, 0])
        for i in range(n):
            a = (a * 7 + i) % 1000003
            last[0] = i
        return a * 2 + last[0]

    a = 1
    for i in range(20_000):
        a = (a * 7 + i) % 1000003
    assert run(20_000) == a * 2 + 19_999


def test_elements_that_are_counted_keep_their_order(machine: str) -> None:
    """The value before an update is the value before it in this order."""
    x, y = variable(N), ti.field(ti.f64, N)

    @ti.kernel
    def run() -> ti.i32:
        count = 0
        for i in x:
            if x[i] > 0.8:
                y[ti.atomic_add(count, 1)] = x[i]
        return count

    chosen = [value for value in x.to_numpy() if value > 0.8]
    assert run() == len(chosen)
    assert y.to_numpy()[: len(chosen)].tolist() == chosen


def test_active_elements_in_order(machine: str) -> None:
    x = ti.field(ti.f64)
    ti.root.pointer(ti.i, 16).dense(ti.i, 8).place(x)

    @ti.kernel
    def run() -> int:
        a = 1
        for i in x:
            a = (a * 7 + i) % 10007
        return a

    a = 1
    for block in (2, 5, 11):
        x[8 * block] = 1.0
        for i in range(8 * block, 8 * block + 8):
            a = (a * 7 + i) % 10007
    assert run() == a


def test_a_variable_that_each_iteration_sets_first_leaves_the_loop_parallel(machine: str) -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def run():
        t, k = 0.0, 0
        for i in x:
            t = x[i]
            for _ in range(3):
                t += ti.sin(t)
            if x[i] > 1.0:  # noqa: SIM108 - two stores
                k = 1
            else:
                k = 2
            y[i] = t * k

    assert "scf.parallel" in run.ir(stage="normal")
    check(lambda: (run(), total(y, loss)), [x], loss)


@pytest.mark.parametrize("statement", ["s += x[i]", "s -= x[i]", "s = s + x[i]"])
def test_only_sums_stay_parallel(statement: str, tmp_path: Any) -> None:
    from programs.load import load

    ti.init(default_fp=ti.f64)
    source = f"""
import mlirad as ti
x = ti.field(ti.f64, 8)
@ti.kernel
def run() -> ti.f64:
    s = 0.0
    for i in x:
        {statement}
    return s
"""
    run = load(source, tmp_path).run
    assert ("scf.parallel" in run.ir(stage="normal")) == ("s = s" not in statement)
