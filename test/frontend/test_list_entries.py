"""Entries of Python lists that kernels assign: each is a local, and the length stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    yield
    ti.reset()


def test_entries_are_swapped_in_a_branch() -> None:
    x = ti.field(ti.i32, shape=(6, 3))

    @ti.kernel
    def run():
        for i in range(6):
            corners = [10 * i + j for j in range(3)]
            if i % 2 == 1:
                kept = corners[1]
                corners[1] = corners[2]
                corners[2] = kept
            if i == 4:
                corners[0], corners[-1] = corners[-1], corners[0]
            for j in ti.static(range(3)):
                x[i, j] = corners[j]

    run()
    expected = [[0, 1, 2], [10, 12, 11], [20, 21, 22], [30, 32, 31], [42, 41, 40], [50, 52, 51]]
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_entries_are_updated_in_a_serial_loop() -> None:
    @ti.kernel
    def run(n: int) -> float:
        pair = [1.0, 1.0]
        k = 0
        while k < n:
            pair = [pair[1], pair[0] + pair[1]]
            pair[0] *= 2.0
            k += 1
        return pair[0] + 100 * pair[1]

    a, b = 1.0, 1.0
    for _ in range(7):
        a, b = 2 * b, a + b
    assert run(7) == a + 100 * b


def test_entries_are_summed_by_a_parallel_loop() -> None:
    x = ti.field(ti.f64, shape=1000)
    x.from_numpy(np.arange(1000.0))

    @ti.kernel
    def run() -> ti.types.vector(2, float):
        sums = [0.0, 5.0]
        for i in x:
            sums[0] += x[i]
            ti.atomic_max(sums[1], x[i])
        return ti.Vector(sums)

    assert list(run()) == [499500.0, 999.0]


def test_entries_may_be_vectors_lists_and_fields() -> None:
    x = ti.field(ti.f64, shape=3)

    @ti.kernel
    def run() -> float:
        mixed = [ti.Vector([1.0, 2.0]), [3.0, 4.0], x]
        mixed[0][1] = 20.0
        mixed[1][0] += 30.0
        mixed[2][1] = 7.0
        mixed[0] = 2 * mixed[0]
        mixed[1][0:2] = [mixed[1][1], mixed[1][0]]
        return mixed[0].sum() + 100 * mixed[1][0] + 1000 * mixed[1][1]

    assert run() == 42.0 + 400.0 + 33000.0
    assert x[1] == 7.0


def test_lists_of_the_program_are_not_touched() -> None:
    table = [1.0, 2.0]

    @ti.kernel
    def run() -> float:
        mine = table
        mine[0] = 5.0
        copied = mine
        copied[1] = 7.0
        return mine[0] + 10 * mine[1] + 100 * copied[1]

    assert run() == 725.0
    assert table == [1.0, 2.0]


def test_functions_change_a_list_that_they_take_by_reference() -> None:
    @ti.func
    def double(items: ti.template(), k: ti.template()):
        items[k] = 2 * items[k]

    @ti.func
    def changed(items):
        items[0] = 50.0
        return items[0]

    @ti.kernel
    def run() -> float:
        items = [1.0, 2.0]
        items[0] = 3.0
        double(items, 1)
        other = changed(items)
        return items[0] + 10 * items[1] + other

    assert run() == 3.0 + 40.0 + 50.0


def test_gradients() -> None:
    n = 5
    x = ti.field(ti.f64, shape=n, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            parts = [x[i], x[i] * x[i], 3.0]
            if i % 2 == 0:
                kept = parts[0]
                parts[0] = parts[1] * parts[2]
                parts[1] = kept
            for _ in range(2):
                parts[2] = parts[2] * parts[0]
            parts[1] += ti.sin(parts[2])
            loss[None] += parts[0] * parts[1]

    def reference(v: float, i: int) -> float:
        a, b = (3 * v * v, v) if i % 2 == 0 else (v, v * v)
        return float(a * (b + np.sin(3 * a * a)))

    values = np.linspace(0.3, 0.9, n)
    x.from_numpy(values)
    with ti.ad.Tape(loss):
        run()
    assert loss[None] == pytest.approx(sum(map(reference, values, range(n))), rel=1e-12)
    h = 1e-6
    differences = [
        (reference(v + h, i) - reference(v - h, i)) / (2 * h) for i, v in enumerate(values)
    ]
    np.testing.assert_allclose(x.grad.to_numpy(), differences, rtol=1e-7)


def refused(kernel: Any, message: str, *arguments: Any) -> None:
    with pytest.raises(ti.TaichiCompilationError, match=message) as caught:
        kernel(*arguments)
    assert str(caught.value).startswith(f"{__file__}:")


def test_what_is_refused() -> None:
    @ti.kernel
    def at_run_time(k: int):
        items = [1.0, 2.0]
        items[k] = 3.0

    @ti.kernel
    def beyond():
        items = [1.0, 2.0]
        items[2] = 3.0

    @ti.kernel
    def longer(n: int):
        items = [1.0, 2.0]
        items[0] = 3.0
        if n > 0:
            items.append(1.0)

    @ti.kernel
    def replaced():
        items = [1.0, 2.0]
        items[0] = 3.0
        items = [1.0, 2.0, 3.0]

    @ti.kernel
    def as_a_whole():
        items = [1.0, 2.0]
        items[0] = 3.0
        items += [1.0]

    @ti.kernel
    def in_a_tuple():
        items = (1.0, 2.0)
        items[0] = 3.0

    refused(at_run_time, "a list is a constant of the compiled kernel, so its index must", 1)
    refused(beyond, "IndexError: list index out of range")
    refused(longer, "cannot change in a kernel: 'append' is not supported", 1)
    refused(replaced, "cannot change in a kernel: 3 cannot replace 2 entries")
    refused(as_a_whole, "a list cannot be updated as a whole: update its entries")
    refused(in_a_tuple, "an entry of a tuple cannot be assigned in a kernel")
