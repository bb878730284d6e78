"""What Python code gives while a kernel is compiled: once, and not in each launch, so it is refused
where it may differ the next time."""

from __future__ import annotations

import datetime
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(default_fp=ti.f64)


def sparse() -> Any:
    x = ti.field(ti.f64)
    ti.root.pointer(ti.i, 2).dense(ti.i, 4).place(x)
    return x


KINDS: dict[str, Callable[[], Any]] = {
    "field": lambda: ti.field(ti.f64, 3, needs_grad=True),
    "scalar": lambda: ti.field(ti.f64, ()),
    "vectors": lambda: ti.Vector.field(2, ti.f64, 3),
    "matrices": lambda: ti.Matrix.field(2, 2, ti.i32, 3),
    "structs": lambda: ti.Struct.field({"a": ti.f64, "b": ti.i32}, shape=3),
    "component": lambda: ti.Vector.field(2, ti.f64, 3).get_scalar_field(1),
    "sparse": sparse,
    "ndarray": lambda: ti.ndarray(ti.f64, 3),
}


def _first(x: Any) -> int | None:
    """The index of the first element; the extents of an ndarray are those of a launch."""
    return None if not isinstance(x, ti.Ndarray) and x.shape == () else 0


READS: dict[str, Callable[[Any], Any]] = {
    "to_numpy": lambda x: x.to_numpy(),
    "element": lambda x: x[_first(x)],
    "text": str,
    "array": lambda x: np.asarray(x) + 0,
    "slice": lambda x: x[...] if _first(x) is None else x[0:1],
}
LACKING = {  # those are texts, or no ways to read
    ("text", "ndarray"),
    ("text", "component"),
    ("array", "component"),
    ("array", "structs"),
    ("slice", "structs"),
    ("element", "structs"),
    ("slice", "component"),
}


def refused(kernel: Callable[[], Any], message: str) -> None:
    with pytest.raises(ti.TaichiTypeError, match=message) as caught:
        kernel()
    assert "# here" in str(caught.value)


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("kind", KINDS)
def test_python_reads_memory(kind: str, how: str) -> None:
    if (how, kind) in LACKING:
        return
    x, read = KINDS[kind](), READS[how]

    @ti.kernel
    def run():
        read(x)  # here

    @ti.kernel
    def once():
        ti.static(read(x))

    refused(run, "is read by Python here, once, while the kernel is compiled: .*x.i.")
    once()


@pytest.mark.parametrize("kind", ["field", "scalar", "vectors", "sparse", "ndarray"])
def test_python_writes_memory(kind: str) -> None:
    x = KINDS[kind]()

    def write(memory: Any) -> None:
        memory[_first(memory)] = 1.0

    @ti.kernel
    def run():
        write(x)  # here

    # the extents of an ndarray are read first
    how = "read by Python" if kind == "ndarray" else "written by Python here, once, .*: x.i. = v"
    refused(run, f"is {how}")


def test_python_copies_memory() -> None:
    x = ti.field(ti.f64, 3, needs_grad=True)
    values = np.ones(3)

    @ti.kernel
    def given():
        x.from_numpy(values)  # here

    @ti.kernel
    def copied():
        x.copy_from(x.grad)  # here

    for kernel in (given, copied):
        refused(kernel, "is written by Python here, once")
    assert x.to_numpy().tolist() == [0.0, 0.0, 0.0]


def test_gradients_are_cleared() -> None:
    @ti.kernel
    def run():
        ti.ad.clear_all_gradients()  # here

    refused(run, "gradients are cleared by Python here, once, while the kernel is compiled")


@pytest.mark.parametrize("kind", ["field", "scalar", "vectors", "matrices", "structs", "sparse"])
def test_printing_it_whole(kind: str) -> None:
    x = KINDS[kind]()

    @ti.kernel
    def plain():
        print(x)  # here

    @ti.kernel
    def formatted():
        print(f"{x}")  # here

    @ti.kernel
    def in_a_list():
        print("all of", [x], sep=": ")  # here

    for kernel in (plain, formatted, in_a_list):
        refused(kernel, "a kernel cannot print a whole field or array")


def test_printing_an_array_argument() -> None:
    @ti.kernel
    def run(a: ti.types.ndarray()):
        print(a)  # here

    refused(lambda: run(np.zeros(3)), "a kernel cannot print a whole field or array")


def test_printed_elements_are_those_of_the_launch(capfd: pytest.CaptureFixture[str]) -> None:
    x, v = ti.field(ti.i32, 2), ti.Vector.field(2, ti.i32, ())

    @ti.kernel
    def run():
        print(x[0], v[None], f"{x[1]}")

    for number in (1, 2):
        x.fill(number)
        v.fill(10 * number)
        run()
        ti.sync()
    assert capfd.readouterr().out == "1 [10, 10] 1\n2 [20, 20] 2\n"


draws = np.random.default_rng(0)
OUTSIDE: dict[str, Callable[[], Any]] = {
    "time.time": time.time,
    "time.perf_counter": time.perf_counter,
    "time.monotonic_ns": time.monotonic_ns,
    "datetime.now": datetime.datetime.now,
    "date.today": datetime.date.today,
    "uuid.uuid4": uuid.uuid4,
    "input": input,
    "random.random": random.random,
    "np.random.random": draws.random,
    "np.random.rand": np.random.rand,
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_differs_each_time(name: str) -> None:
    function = OUTSIDE[name]

    @ti.kernel
    def run():
        function()  # here

    refused(
        run,
        rf"{name}(\(\) is called once|.* draws a single number), while the kernel is compiled"
        r".*ti.static\(...\)",
    )


def test_the_time_of_compiling() -> None:
    @ti.kernel
    def run() -> ti.f64:
        return ti.static(time.time())

    before = time.time()
    first = run()
    assert before <= first <= time.time()
    assert run() == first


def test_methods_that_fields_have_not() -> None:
    x = ti.field(ti.f64, 3)

    @ti.kernel
    def run() -> ti.f64:
        return x.sum()  # here

    with pytest.raises(ti.TaichiCompilationError, match="no 'sum' in a kernel: use its elements x"):
        run()
