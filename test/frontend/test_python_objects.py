"""Python objects and values in kernels: what depends on run time is refused, with the lines that
disagree."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti

HERE = __file__
kept: list[Any] = []
count = 0


class Holder:
    """An object of a program, with a list."""

    shared = 0

    def __init__(self) -> None:
        self.number = 0
        self.items: list[Any] = []

    def step(self) -> None:
        self.number += 1

    def grow(self, value: Any) -> None:
        self.items.append(value)


def keep(value: Any) -> Any:
    kept.append(value)
    return value


def share() -> None:
    Holder.shared = Holder.shared + 1


def step_global() -> None:
    global count
    count += 1


@pytest.fixture(autouse=True)
def program() -> Any:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
    globals()["kept"] = []
    yield
    ti.reset()


def marked(kernel: Any, mark: str) -> str:
    """The place that a message gives for the line of a kernel with a mark, without the column."""
    start = kernel.function.__code__.co_firstlineno
    lines = Path(HERE).read_text().splitlines()
    return (
        f"{HERE}:{next(k + 1 for k in range(start, len(lines)) if lines[k].endswith('# ' + mark))}:"
    )


def refused(kernel: Any, message: str, *arguments: Any, marks: tuple[str, ...] = ("here",)) -> None:
    with pytest.raises(ti.TaichiCompilationError, match=message) as caught:
        kernel(*arguments)
    assert str(caught.value).startswith(marked(kernel, marks[0]))
    for mark in marks[1:]:
        assert marked(kernel, mark) in str(caught.value)


def changed_by(change: Any) -> list[Any]:
    """Kernels that call a function in a branch, a serial loop, a parallel loop, a while loop, and
    behind a return."""
    x = ti.field(ti.f64, shape=4)

    @ti.kernel
    def branch(n: int):
        if n > 5:  # outer
            change()  # here

    @ti.kernel
    def serial(n: int):
        ti.loop_config(serialize=True)
        for _ in range(n):  # outer
            change()  # here

    @ti.kernel
    def parallel(n: int):
        for _ in x:  # outer
            if ti.static(True):
                change()  # here

    @ti.kernel
    def repeated(n: int):
        while n > 0:  # outer
            n -= 1
            change()  # here

    @ti.kernel
    def conditional(n: int) -> float:
        return change() if n > 3 else 0.0  # here

    return [branch, serial, parallel, repeated, conditional]


class TestChanges:
    """An object from outside is changed where a condition or a loop of run time decides how
    often."""

    @pytest.mark.parametrize(
        "make",
        [
            lambda: [].append,
            lambda: {"a": 1}.clear,
            lambda: set().add,
            lambda: deque([1]).popleft,
            lambda: [3, 1].sort,
            lambda: Holder().step,
            lambda: Holder().grow,
            lambda: np.ones(3).fill,
            lambda: keep,
            lambda: step_global,
            lambda: bytearray(b"a").append,
            lambda: share,
        ],
    )
    def test_is_refused(self, make: Any) -> None:
        takes = {"append": 1, "add": 1, "grow": 2.0, "fill": 3, "keep": 1.0}
        function = make()

        def change() -> float:
            function(*[takes[name] for name in [function.__name__] if name in takes])
            return 1.0

        for kernel in changed_by(change):
            marks = ("here",) if kernel.__name__ == "conditional" else ("here", "outer")
            refused(
                kernel,
                "is changed in a (branch|loop), whose outcome is known only at run time",
                1,
                marks=marks,
            )
            function = make()

    def test_of_a_method_is_refused_at_its_line(self) -> None:
        items: list[float] = []

        @ti.kernel
        def run(n: int) -> float:
            if n > 5:  # outer
                items.append(1.0)  # here
            return 1.0

        refused(run, "a list is changed", 1, marks=("here", "outer"))

    def test_of_an_iterator_is_refused(self) -> None:
        numbers = iter([1.0, 2.0])

        @ti.kernel
        def run(n: int) -> float:
            s = 0.0
            if n > 0:
                s = next(numbers)  # here
            return s

        refused(run, "is changed", 1)

    def test_behind_a_conditional_return_is_refused(self) -> None:
        items: list[float] = []

        @ti.kernel
        def run(n: int) -> float:
            if n > 5:
                return 0.0
            items.append(1.0)  # here
            return 1.0

        refused(run, "is changed", 1)

    def test_in_a_function_is_refused_where_its_caller_branches(self) -> None:
        @ti.func
        def add(items, value):
            items.append(value)

        @ti.kernel
        def run(n: int) -> float:
            items = [1.0]
            if n > 5:
                add(items, 2.0)
            return items[0]

        with pytest.raises(ti.TaichiCompilationError, match="a list is changed in a branch"):
            run(1)

    def test_of_a_name_is_refused(self) -> None:
        @ti.kernel
        def run(n: int) -> float:
            chosen = [1.0]
            if n > 5:
                chosen = [2.0]  # here
            return chosen[0]

        refused(run, "'chosen' names a list from outside a branch", 1)

    def test_of_an_attribute_or_an_entry_is_refused_anywhere(self) -> None:
        holder, table, items = Holder(), {"a": 1.0}, [1.0]

        @ti.kernel
        def attribute(n: int):
            if n > 5:
                holder.number = 3  # here

        @ti.kernel
        def new_attribute():
            holder.other = 3  # here

        @ti.kernel
        def entry():
            table["b"] = 3.0  # here

        @ti.kernel
        def updated():
            items[0] += 3.0  # here

        refused(attribute, "an attribute of a Holder cannot be assigned in a kernel", 1)
        refused(new_attribute, "an attribute of a Holder cannot be assigned in a kernel")
        refused(entry, "an entry of a dict cannot be assigned in a kernel")
        refused(updated, "an entry of a list cannot be assigned in a kernel")


class TestAllowed:
    """What a compiler can do once, or as often as the object is made."""

    def test_at_the_top_of_a_kernel_and_under_static(self) -> None:
        items: list[float] = []

        @ti.kernel
        def run(n: int) -> float:
            items.append(1.0)
            for k in ti.static(range(3)):
                if ti.static(k != 1):
                    items.append(k * 1.0)
            return items[2]

        assert run(1) == 2.0
        assert items == [1.0, 0.0, 2.0]

    def test_objects_of_the_same_iteration(self) -> None:
        x = ti.field(ti.f64, shape=5)
        x.from_numpy(np.arange(5.0))

        @ti.kernel
        def run():
            for i in x:
                parts = []
                for k in ti.static(range(3)):
                    parts.append(x[i] * k)
                table = {}
                table.update(a=parts)
                if i == 2:
                    continue
                parts.append(10.0)
                x[i] = parts[0] + parts[1] + table["a"][2] + parts[3]

        run()
        np.testing.assert_array_equal(x.to_numpy(), [10, 13, 2, 19, 22])

    def test_objects_that_a_call_made(self) -> None:
        x = ti.field(ti.f64, shape=5)

        def make() -> list[Any]:
            return [Holder(), []]

        @ti.kernel
        def run():
            for i in x:
                holder = Holder()
                holder.grow(2.0 * i)
                holder.items.append(1.0)
                holder.step()
                pair = make()
                pair[1].append(3.0)
                pair[0].grow(4.0)
                x[i] = (
                    holder.items[0]
                    + holder.items[1]
                    + holder.number
                    + pair[1][0]
                    + pair[0].items[0]
                )

        run()
        np.testing.assert_array_equal(x.to_numpy(), 2 * np.arange(5) + 9)

    def test_functions_that_change_nothing(self) -> None:
        holder = Holder()
        table = {"a": [1.0, 2.0]}

        def total(name: str) -> float:
            return sum(table[name]) + len(holder.items)

        @ti.kernel
        def run(n: int) -> float:
            s = 0.0
            for _ in range(n):
                s += total("a") + table["a"].index(2.0) + len(sorted([3, 1]))
            return s

        assert run(3) == 3 * (3 + 1 + 2)

    def test_a_name_under_a_condition_known_while_compiling(self) -> None:
        wanted = True

        @ti.kernel
        def run() -> float:
            chosen = [1.0]
            if wanted:
                chosen = [2.0]
            return chosen[0]

        assert run() == 2.0


class TestValues:
    """A value is used where the block that computed it has ended."""

    def test_of_another_kernel_is_refused(self) -> None:
        x = ti.field(ti.f64, shape=())

        @ti.kernel
        def first() -> float:
            return keep(x[None])  # here

        @ti.kernel
        def second() -> float:
            return kept[0] * 2.0  # here

        first()
        with pytest.raises(ti.TaichiCompilationError, match="belongs to kernel 'first'") as caught:
            second()
        assert str(caught.value).startswith(marked(second, "here"))
        assert marked(first, "here") in str(caught.value)

    def test_of_another_kernel_is_refused_as_an_array_and_a_matrix(self) -> None:
        v = ti.Vector.field(2, ti.f64, shape=())

        @ti.kernel
        def first(a: ti.types.ndarray()):
            keep(a)
            keep(v[None])
            a[0] = 1.0

        @ti.kernel
        def arrays() -> float:
            return kept[0][0]  # here

        @ti.kernel
        def extents() -> int:
            return kept[0].shape[0]  # here

        @ti.kernel
        def vectors() -> float:
            return kept[1].sum()  # here

        first(np.zeros(3))
        for kernel in (arrays, extents, vectors):
            refused(kernel, "belongs to kernel 'first'")

    @pytest.mark.parametrize("where", ["branch", "loop", "condition"])
    def test_of_a_block_that_ended_is_refused(self, where: str) -> None:
        x = ti.field(ti.f64, shape=3)

        @ti.kernel
        def branch(n: int) -> float:
            s = (z := x[0]) if n > 2 else x[1]  # made
            return s + z  # here

        @ti.kernel
        def condition(n: int) -> float:
            s = 0.0
            while (z := x[0]) < 3.0:  # made
                s += z  # here
                x[0] += 1.0
            return s

        def put(value: Any) -> None:  # in a way that no snapshot sees
            globals()["kept"] = [value]

        @ti.kernel
        def loop(n: int) -> float:
            for k in range(n):
                put(x[k])  # made
            return kept[0]  # here

        refused(
            locals()[where],
            "was created in (a branch|the condition of a loop|a loop) and is used outside it",
            3,
            marks=("here", "made"),
        )

    def test_from_outside_a_function_with_derivatives_of_its_own_is_refused(self) -> None:
        @ti.func
        def f(a):
            return a * kept[0]  # here

        @f.def_vjp
        def f_vjp(a, result, adjoint):
            return adjoint

        @ti.kernel
        def run(n: float) -> float:
            keep(n * 2.0)
            return f(n)

        with pytest.raises(
            ti.TaichiCompilationError,
            match="was made outside 'f', which has its own derivatives",
        ):
            run(3.0)
