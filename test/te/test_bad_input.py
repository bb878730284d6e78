"""What is wrong is said where it is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.careless import failures, launches, wrong_values
from te.careless_calls import calls
from te.derivatives import given

import mlirad as ti
from mlirad import te
from mlirad.errors import TaichiIndexError, TaichiRuntimeTypeError
from mlirad.te.expressions import Call


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init()


def _wrong() -> dict[str, tuple[Callable[[], Any], type[Exception], str]]:
    x, rows = given(4, 3), te.placeholder((4,), ti.i32, "rows")
    k, n = te.reduce_axis(3), te.var("n")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), "y")
    kind = ti.TaichiTypeError
    return {
        "too many indices": (
            lambda: te.compute((4,), lambda i: x[i]),
            TaichiIndexError,
            "tensor 'x' has 2 axes, but is read with 1 index",
        ),
        "out of bounds": (
            lambda: te.compute((5,), lambda i: x[i, 0]),
            TaichiIndexError,
            "index 0 of tensor 'x' goes from 0 to 4, but its extent is 4",
        ),
        "never in bounds": (
            lambda: te.compute((4,), lambda i: te.select(i > 2, x[i, 3], 0.0)),
            TaichiIndexError,
            "index 1 of tensor 'x' goes from 3 to 3",
        ),
        "out of bounds for every size": (
            lambda: te.compute((n,), lambda i: te.placeholder((n,), ti.f64, "v")[i + 1]),
            TaichiIndexError,
            "index 0 of tensor 'v', of extent n.*, is out of bounds for every size",
        ),
        "below 0 for every size": (
            lambda: te.compute((n,), lambda i: te.placeholder((n,), ti.f64, "v")[i - n]),
            TaichiIndexError,
            "is out of bounds for every size",
        ),
        "never in bounds for any size": (
            lambda: te.compute(
                (n,), lambda i: te.select(i > 2, te.placeholder((n,), ti.f64, "v")[i + n], 0.0)
            ),
            TaichiIndexError,
            "is out of bounds for every size",
        ),
        "a cycle": (
            lambda: te.differentiate(
                z := te.compute((4,), lambda i: y[i]), [x], given(4), {y: ([z], lambda t, i, h: h)}
            ),
            kind,
            "a cycle: an override makes",
        ),
        "a float as an index": (
            lambda: te.compute((4,), lambda i: x[i, x[i, 0]]),
            kind,
            "index 1 of tensor 'x' is of type f64",
        ),
        "an axis left free": (
            lambda: te.compute((4,), lambda i: x[i, k]),
            kind,
            "reduction axis 'k' is used outside a reduction over it",
        ),
        "an axis twice": (
            lambda: te.compute((4,), lambda i: te.sum(te.sum(x[i, k], axis=k), axis=k)),
            kind,
            "reduction axis 'k' is reduced within a reduction over it",
        ),
        "an axis named twice": (
            lambda: te.sum(x[0, k], axis=(k, k)),
            kind,
            "a reduction axis is named twice",
        ),
        "no axis": (
            lambda: te.sum(x[0, 0], axis=0),
            kind,
            "expected an axis made by te.reduce_axis",
        ),
        "a truth value": (
            lambda: te.compute((4,), lambda i: 1.0 if x[i, 0] > 0 else 0.0),
            kind,
            "an expression has no truth value",
        ),
        "another function": (
            lambda: te.compute((4, 3), lambda i: x[i, 0]),
            kind,
            "the tensor has 2 axes, but the function takes 1 indices",
        ),
        "a head": (
            lambda: te.differentiate(y, [x], head=given(5)),
            kind,
            r"the head of 'y' is of shape \(5\) and type f64, expected one that ends in \(4\)",
        ),
        "a number for a head": (
            lambda: te.differentiate(y, [x], head=1.0),
            kind,
            r"head is 1.0, expected a tensor or a list of tensors or None",
        ),
        "an array for a head": (
            lambda: te.differentiate(y, [x], head=np.ones(4)),
            kind,
            "head is a ndarray, expected a tensor",
        ),
        "a number for a function": (
            lambda: te.compute((4,), 3),
            kind,
            "compute: element is 3, expected a function",
        ),
        "a number for a name": (
            lambda: te.placeholder((4,), ti.f64, 3),
            kind,
            "placeholder: name is 3, expected text",
        ),
        "a keyword-only index": (
            lambda: te.compute((4,), lambda *, i: x[i, 0]),
            kind,
            "the function takes 0 indices",
        ),
        "a number for an output": (
            lambda: te.differentiate(3),
            kind,
            "differentiate: output is 3, expected a tensor or a list of tensors",
        ),
        "a number for a tangent": (
            lambda: te.jvp(y, [x], [1.0]),
            kind,
            r"jvp: tangents is \[1.0\], expected a list of tensors",
        ),
        "a tensor for inputs": (
            lambda: te.differentiate(y, x),
            kind,
            "inputs is a Tensor, expected a list of tensors or None",
        ),
        "an override by no function": (
            lambda: te.differentiate(y, [x], given(4), {y: ([x], 3)}),
            kind,
            "override is {.*}, expected a dictionary from tensors to tuples",
        ),
        "an override of what is not reached": (
            lambda: te.differentiate(y, [x], given(4), {rows: ([x], lambda t, i, h: [x])}),
            kind,
            "an override of 'rows', on which no output depends",
        ),
        "an override that takes other arguments": (
            lambda: te.differentiate(y, [x], given(4), {y: ([x], lambda head: [x])}),
            kind,
            "override of 'y': too many positional arguments",
        ),
        "a scan of a number": (
            lambda: te.scan(3, 1.0, lambda t, h: h),
            kind,
            "scan: initial is 1.0, expected a tensor or a list of tensors",
        ),
        "a maximum of nothing": (
            lambda: te.compute((4,), lambda i: te.max(x[i, 0], axis=te.reduce_axis(0, "none"))),
            kind,
            "te.max over axis 'none', of extent 0, has no value: give init=",
        ),
        "no output": (lambda: te.build([], [x]), kind, "build: outputs is empty"),
        "a number that a type has not": (
            lambda: te.compute((4,), lambda i: rows[i] + (1 << 40)),
            kind,
            "1099511627776 is out of range for i32",
        ),
        "more elements than addresses": (
            lambda: te.placeholder((1 << 40, 1 << 40)),
            kind,
            "has more elements than an array can have",
        ),
        "one input with two tangents": (
            lambda: te.jvp(y, [x, x], [given(4, 3), given(4, 3)]),
            kind,
            "contains a tensor twice",
        ),
        "a head of another type": (
            lambda: te.differentiate(y, [x], head=given(4, dtype=ti.f32)),
            kind,
            "of type f64",
        ),
        "a tangent": (lambda: te.jvp(y, [x], [given(4, 4)]), kind, "of another shape or type"),
        "integers": (
            lambda: te.differentiate(y, [rows]),
            kind,
            "tensor 'rows' is of type i32: integers have no derivative",
        ),
        "no inputs": (
            lambda: list(te.differentiate(y, head=given(4))),
            kind,
            "te.differentiate got no inputs",
        ),
        "an override that gives too little": (
            lambda: te.differentiate(y, [x], given(4), {y: ([x], lambda t, i, h: [])}),
            kind,
            "the override of 'y' returns 0 adjoints for 1 inputs",
        ),
        "an override of another shape": (
            lambda: te.differentiate(y, [x], given(4), {y: ([x], lambda t, i, h: [h])}),
            kind,
            r"returned an adjoint of shape \(4\) and type f64 for 'x', expected \(4, 3\)",
        ),
        "a placeholder that is no input": (
            lambda: te.build([y], []),
            kind,
            "tensor 'x' is needed, but is not among the inputs",
        ),
        "a size that no input has": (
            lambda: te.build([te.compute((n,), lambda i: 1.0)], []),
            kind,
            "size n is not an extent of an input",
        ),
        "a negative extent": (
            lambda: te.placeholder((-1,), ti.f64, "x"),
            kind,
            "extent -1 of tensor 'x' is negative",
        ),
        "division by data": (
            lambda: te.compute((4,), lambda i: rows[i] // rows[i]),
            kind,
            "the divisor of // contains more than sizes",
        ),
        "floats divided as integers": (
            lambda: te.compute((4,), lambda i: x[i, 0] // 2.0),
            kind,
            "// and % need integers",
        ),
        "steps without number": (
            lambda: te.scan(n, y, lambda t, h, i: h[3 - i]),
            kind,
            "combines different elements of the states",
        ),
        "einsum": (lambda: te.einsum("ij,jk->ik", x, x), kind, "'j' has the extents 3 and 4"),
    }


@pytest.mark.parametrize("name", _wrong())
def test_errors(name: str) -> None:
    make, kind, message = _wrong()[name]
    with pytest.raises(kind) as caught:
        make()
    line, *_ = str(caught.value).splitlines()  # without the source, which may hold the pattern
    assert re.match(rf"{re.escape(__file__)}:\d+:\d+: ", line) and re.search(message, line)


def test_the_column_of_an_expression() -> None:
    x = given(4, 3)
    with pytest.raises(TaichiIndexError) as caught:
        te.compute((4,), lambda i: 2.0 * x[i, 0] + x[i, 3])
    text = str(caught.value).splitlines()
    assert text[2].index("^") == text[1].index("x[i, 3]")


def test_an_operator_without_a_rule() -> None:
    x = given(4)
    y = te.compute((4,), lambda i: Call(ti.f64, "math.clampf", (x[i], x[i], x[i])))
    with pytest.raises(ti.TaichiCompilationError, match="has no derivative rule") as caught:
        te.differentiate(y, [x], given(4))
    assert __file__ in str(caught.value)


def test_arrays_that_do_not_fit() -> None:
    n = te.var("n")
    x, w = te.placeholder((n, 3), ti.f32, "x"), te.placeholder((n,), ti.f32, "w")
    f = te.build(te.compute((n,), lambda i: x[i, 0] * w[i]), [x, w])
    full, half = np.ones((4, 3), np.float32), np.ones(2, np.float32)
    with pytest.raises(TaichiRuntimeTypeError, match="takes 2 arrays, got 1"):
        f(full)
    with pytest.raises(TaichiRuntimeTypeError, match=r"'w' has shape \(4\).*\(2,\)"):
        f(full, half)
    with pytest.raises(TaichiRuntimeTypeError, match=r"'x' has type f32.* of type f64"):
        f(full.astype(np.float64), np.ones(4, np.float32))
    with pytest.raises(TaichiRuntimeTypeError, match="expected an array"):
        f(full, "no")
    with pytest.raises(TaichiRuntimeTypeError, match="no mlirad type for NumPy's complex64") as it:
        f(full.astype(np.complex64), half)
    assert re.match(rf"{re.escape(__file__)}:\d+:\d+: ", str(it.value))
    np.testing.assert_array_equal(f(full, np.ones(4, np.float32)), 1)


def test_arrays_that_are_written() -> None:
    x = te.placeholder((4,), ti.f32, "x")
    f = te.build(te.compute((4,), lambda i: x[3 - i]), [x])
    values, frozen = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(TaichiRuntimeTypeError, match="shares memory with another array"):
        f(values, out=values)
    with pytest.raises(TaichiRuntimeTypeError, match="is a read-only array"):
        f(values, out=frozen)
    np.testing.assert_array_equal(values, np.arange(4))
    wide = np.arange(8, dtype=np.float32)[::2]  # not contiguous, and only read
    wide.flags.writeable = False
    np.testing.assert_array_equal(f(wide), [6, 4, 2, 0])


def test_arrays_that_share_memory() -> None:
    x, y = te.placeholder((4,), ti.f32, "x"), te.placeholder((4,), ti.f32, "y")
    outputs = [te.compute((4,), lambda i: x[3 - i] + y[i]), te.compute((4,), lambda i: x[i] * y[i])]
    f, memory = te.build(outputs, [x, y]), np.arange(6, dtype=np.float32)
    first, second = memory[:4], memory[2:]  # inputs may
    total, product = f(first, second)
    np.testing.assert_array_equal(total, first[::-1] + second)
    np.testing.assert_array_equal(product, first * second)
    for one, other in ((first, second), (first.copy(), second)):
        room = np.zeros(6, np.float32)
        with pytest.raises(TaichiRuntimeTypeError, match="shares memory with another array"):
            f(one, other, out=[room[:4], room[2:]])
        with pytest.raises(TaichiRuntimeTypeError, match="shares memory with another array"):
            f(one, other, out=[room[:4], memory[2:]])
    np.testing.assert_array_equal(memory, np.arange(6))


def test_second_derivatives_through_data_are_refused_under_bounds_of_sizes() -> None:
    n = te.var("n")
    x, v, head, above = given(n + 2), given(5, name="v"), given(n), given(n + 2)
    rows, k = te.placeholder((n,), ti.i32, "rows"), te.reduce_axis(3)
    y = te.compute((n,), lambda i: te.sum(x[i + k] * v[rows[i]] ** 2, axis=k))
    (slope,) = te.differentiate(y, [x], head)
    with pytest.raises(ti.TaichiCompilationError, match="use te\\.jvp of the first") as caught:
        te.differentiate(slope, [v], above)
    assert __file__ in str(caught.value)


def test_sizes_for_which_there_is_no_result() -> None:
    n = te.var("n")
    x, y = te.placeholder((n,), ti.f32, "x"), te.compute((n - 2,), lambda i: 1.0, "y")
    f = te.build(y, [x])
    assert f(np.ones(5, np.float32)).shape == (3,)
    with pytest.raises(TaichiRuntimeTypeError, match=r"'y' would have the shape \(-1,\)"):
        f(np.ones(1, np.float32))


def test_numbers_that_an_input_has_not() -> None:
    count = te.placeholder((), ti.i8, "count")
    f = te.build(te.compute((), lambda: count[()] + 1), [count])
    assert f(3) == 4
    with pytest.raises(ti.TaichiTypeError, match="300 is out of range for i8"):
        f(300)
    with pytest.raises(TaichiRuntimeTypeError, match=r"has type i8, .* of type f64"):
        f(1.5)


def test_careless_calls_are_of_every_function() -> None:
    known = {f"{space}.{name}" for space, name in (one.split(".") for one in calls() if "." in one)}
    for space, module in {"te": te, "nn": te.nn}.items():
        public = {name for name in module.__all__ if callable(getattr(module, name))}
        assert (
            not {f"{space}.{name}" for name in public} - known - {"te.Differentiation", "te.Tensor"}
        )


def test_what_nobody_should_give_has_a_place() -> None:
    assert not failures({**calls(), **launches()}, wrong_values()[::9])
