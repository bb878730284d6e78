"""Names from outside of kernels that stand for something else since the first launch."""

from __future__ import annotations

import linecache
import math
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import mlirad as ti

number = 2.0
CELL = """
import math
import numpy as np
import mlirad as ti

x = ti.field(ti.f64, ())
y = ti.field(ti.f64, ())
result = ti.field(ti.f64, ())
number, count, offsets, table = 2.0, 3, [1, 2], np.arange(3.0)
down = ti.Vector([0.0, -9.8])

@ti.func
def power(a):
    return a ** count

@ti.func
def outer(a):
    return power(a) + 1.0

def constant():
    return 4.0

twice = ti.func(lambda a: 2 * a)

@ti.kernel
def run():
    s = x[None] + number + constant() + outer(3.0) + down[1] + twice(1.0)
    for k in ti.static(offsets):
        s += k + ti.static(table[k])
    result[None] = s
"""
CHANGES = {
    "number = 3.0": "for number = 2.0 and uses that value, but it is now 3.0: pass the value",
    "count = 4": "for count = 3 and",
    "number = 2": r"for number = 2.0 and uses that value, but it is now 2",
    "offsets = [1]": r"for offsets = \[1, 2\] and",
    "offsets = [1, 2.0]": r"for offsets = \[1, 2\] and .* now \[1, 2.0\]",
    "table = np.ones(3)": "for table = ",
    "down = ti.Vector([0.0, 9.8])": "for down = ",
    "x, y = y, x": "for x = <ti.field 'x' f64> and .* now <ti.field 'y' f64>",
    "power = ti.func(lambda a: a)": "with <ti.func 'power'> and calls it, but the function has",
    "twice = ti.func(lambda a: 3 * a)": "with <ti.func '<lambda>'> and calls it",
    "def constant():\n    return 5.0": "with <function constant .*>.* the kernel again as well",
}
SAME = [
    "number, count, offsets, table = 2.0, 3, [1, 2], np.arange(3.0)",
    CELL[CELL.index("down =") : CELL.index("twice =")],
    "del number",
    "number = 2.0; other = 5",
]


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


def run_cell(text: str, space: dict[str, Any]) -> None:
    """Run a text as notebooks do, which keep it."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec", dont_inherit=True), space)


def cells() -> tuple[dict[str, Any], Callable[[str], None]]:
    """The namespace of a notebook whose first cell has run, and what runs another."""
    space: dict[str, Any] = {}

    def run(text: str) -> None:
        run_cell(text, space)

    run(CELL)
    space["run"]()
    return space, run


def silent(launch: Callable[[], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch()


@pytest.mark.parametrize("change", CHANGES)
def test_a_cell_that_changes_what_a_name_stands_for(change: str) -> None:
    space, run = cells()
    before = space["result"][None]
    run(change)
    with pytest.warns(UserWarning, match=f"kernel 'run' was compiled {CHANGES[change]}") as caught:
        space["run"]()
    assert [w.filename for w in caught] == [__file__]
    assert space["result"][None] == before
    for _ in range(3):
        silent(space["run"])
    assert space["run"]._ready is not None


@pytest.mark.parametrize("change", SAME)
def test_a_cell_that_changes_nothing(change: str) -> None:
    space, run = cells()
    run(change)
    for _ in range(2):
        silent(space["run"])


def test_globals_and_names_around_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    scale, zero, total = 3.0, 0.0, ti.field(ti.f64, ())

    @ti.func
    def scaled(a):
        return scale * a

    @ti.kernel
    def run(a: float, kind: ti.template()):
        total[None] = scaled(a) + number + ti.atan2(zero, -1.0)

    run(2.0, 0)
    assert total[None] == 8 + math.pi
    zero = -0.0
    with pytest.warns(UserWarning, match=r"for zero = 0.0 and .* it is now -0.0"):
        run(2.0, 0)
    scale, zero = 4.0, 0.0
    with pytest.warns(UserWarning, match=r"for scale = 3.0 and .* it is now 4.0"):
        run(a=2.0, kind=0)
    monkeypatch.setitem(globals(), "number", 7.0)
    with pytest.warns(UserWarning, match=r"for number = 2.0 and .* it is now 7.0"):
        run(2.0, 0)
    scale = 3.0
    silent(lambda: run(2.0, 0))


def test_attributes_of_a_module() -> None:
    settings = ModuleType("settings")
    settings.step = 0.5  # type: ignore[attr-defined]
    run_cell("import mlirad as ti\nrate = 2.0\ntimes = ti.func(lambda a: a * rate)", vars(settings))

    @ti.kernel
    def run() -> float:
        return settings.times(settings.step)

    assert run() == 1.0
    silent(run)
    for name, value in (("step", 0.5), ("rate", 2.0)):
        setattr(settings, name, 4.0)
        with pytest.warns(UserWarning, match=rf"for {name} = {value} and .* it is now 4.0"):
            assert run() == 1.0
        silent(run)


def test_another_program_is_compiled_for_what_is_there_then() -> None:
    factor = 2.0

    @ti.kernel
    def run() -> float:
        return factor

    assert run() == 2.0
    ti.init(default_fp=ti.f64)
    factor = 3.0
    assert run() == 3.0


@pytest.mark.parametrize("kind", ["tape", "grad", "forward"])
def test_launches_that_are_differentiated_warn(kind: str) -> None:
    factor = 2.0
    x, loss = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def run():
        loss[None] += factor * x[None]

    with ti.ad.Tape(loss):
        run()
    factor = 3.0
    with pytest.warns(UserWarning, match="for factor = 2.0"):
        if kind == "tape":
            with ti.ad.Tape(loss):
                run()
        elif kind == "grad":
            run.grad()
        else:
            with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0]):
                run()
    silent(run)


def test_an_array_that_is_another() -> None:
    weights = np.array([1.0, 2.0])

    @ti.kernel
    def run() -> float:
        return ti.static(weights[0]) + ti.static(weights[1])

    assert run() == 3.0
    weights = np.array([1.0, 2.0])
    silent(run)
    weights = np.array([1.0, 3.0])
    with pytest.warns(UserWarning, match="for weights = "):
        run()
