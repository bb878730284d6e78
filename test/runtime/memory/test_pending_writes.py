"""Deferred writes as values, beside a model that has one entry for each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlirad as ti
from mlirad.ir.memory.large_arrays import LEAST
from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.deferred_writes import Backlog, DeferredWrites
from mlirad.runtime.memory.deferred_writes.field_accesses import FieldAccesses, Step
from mlirad.runtime.memory.deferred_writes.pending import NOTHING, Pending

ROWS = 9
SHAPE = ROWS, LEAST // 8 // ROWS + 1
COLUMNS, PART = (0, SHAPE[1] - 1), (1, 2)
ends = st.tuples(st.integers(0, ROWS - 1), st.integers(0, ROWS - 1)).map(sorted).map(tuple)
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["clear", "copies", "leave", "set", "part", "use", "sum", "sum part", "all"]
        ),
        ends,
    )
)


def rows_of(pending: Pending) -> dict[int, str]:
    """What is to be written to each row."""
    rows = dict[int, str]()
    for write in pending.writes:
        for row in range(write.first, write.last + 1):
            assert row not in rows
            kind = "zeros" if write.box[1] == COLUMNS else "part"
            rows[row] = "copy" if write.is_copy else kind
    return rows


@given(steps)
def test_steps(actions: list[tuple[str, tuple[int, int]]]) -> None:
    memory, expected = np.full(SHAPE, 5.0), np.full(SHAPE, 5.0)
    array, backlog, model = DeferredWrites(memory, None), Backlog(), dict[int, str]()

    def do(rows: range) -> None:
        for row in rows:
            kind = model.pop(row, "")
            columns = slice(1, 3) if kind == "part" else slice(None)
            if kind:
                expected[row, columns] = row + 1.0 if kind == "copy" else 0.0

    for action, (first, last) in actions:
        rows = range(first, last + 1)
        if action == "clear":
            assert array.clear(backlog)
            model = dict.fromkeys(range(ROWS), "zeros")
        elif action == "copies":
            boxes: dict[KnownBox, np.ndarray] = {
                ((row, row), COLUMNS): np.full((1, SHAPE[1]), row + 1.0) for row in rows
            }
            are_deferred = array.put_back(boxes, backlog)
            assert are_deferred == {"copy"}.issuperset(model.values())
            model |= dict.fromkeys(rows if are_deferred else [], "copy")
        elif action == "set":
            array.become(array.without_box(array.pending, ((first, last), COLUMNS)))
            for row in rows:
                model.pop(row, None)
        elif action == "part":  # of each row, which keeps what is to be written to more of it
            before = array.pending
            array.become(array.without_box(before, ((first, last), PART)))
            gone = [row for row in rows if model.get(row) == "part"]
            assert (array.pending is before) == (not gone)
            for row in gone:
                del model[row]
        elif action == "leave":  # zeros of a part, as a launch does
            before = array.pending
            array.defer_zeros(
                backlog,
                ((first, last), PART),
                before,
                array.with_zeros(before, ((first, last), PART)),
            )
            are_deferred = not model.keys() & set(rows)
            assert are_deferred == (array.pending is not before)
            if are_deferred:
                model |= dict.fromkeys(rows, "part")
            else:
                expected[first : last + 1, 1:3] = 0.0
        elif action.startswith("sum"):
            kind = "zeros" if action == "sum" else "part"
            box = ((first, last), COLUMNS if action == "sum" else PART)
            left = array.without_zeros(array.pending, box)
            assert (left is not None) == all(model.get(row) == kind for row in rows)
            if left is not None:
                array.become(left)
                for row in rows:
                    del model[row]
        else:
            array.finish([(first, last)] if action == "use" else None)
            do(rows if action == "use" else range(ROWS))
        assert rows_of(array.pending) == model
        assert (array.pending is NOTHING) == (not model) == (array not in backlog.arrays)
    array.finish()
    do(range(ROWS))
    np.testing.assert_array_equal(memory, expected)


def test_copies_are_put_back_again_where_nothing_else_is_deferred() -> None:
    memory, backlog = np.zeros(SHAPE), Backlog()
    array = DeferredWrites(memory, None)
    assert array.copies() is None
    assert array.put_back({((2, 3), COLUMNS): np.ones((2, SHAPE[1]))}, backlog)
    copies = array.copies()
    assert copies is not None and copies.covered.holds(((3, 3), COLUMNS))
    array.finish([(2, 3)])
    memory[...] = 7.0
    assert array.put_back_again(copies, backlog) and array.copies() is copies
    array.finish()
    np.testing.assert_array_equal(memory.sum(1) / SHAPE[1], [7, 7, 1, 1, 7, 7, 7, 7, 7])
    array.clear(backlog)
    assert not array.put_back_again(copies, backlog)
    array.finish()
    assert not memory.any()


def test_a_program_that_repeats_finds_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of a second product do what those of the first did."""
    count, steps = 1 << 13, 6
    x = ti.field(ti.f64, (steps + 1, count), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(count):
            x[t + 1, i] = ti.sin(x[t, i]) * x[t, i]

    @ti.kernel
    def measure():
        for i in range(count):
            loss[None] += x[steps, i] ** 2

    def run() -> None:
        for t in range(steps):
            step(t)
        measure()

    values, v = np.random.default_rng(2).uniform(0.5, 1, (2, steps + 1, count))
    x.from_numpy(values)
    found = list[FieldAccesses]()
    find, products = FieldAccesses._find_step, []

    def note(self: FieldAccesses, arguments: Sequence[Any]) -> Step:
        found.append(self)
        return find(self, arguments)

    monkeypatch.setattr(FieldAccesses, "_find_step", note)
    for _ in range(3):
        found.clear()
        products.append(ti.ad.hvp(run, loss=loss, wrt=x, v=v))
    assert not found
    assert products[0].tobytes() == products[1].tobytes() == products[2].tobytes()
    np.testing.assert_array_equal(x.to_numpy(), values)
