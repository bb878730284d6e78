"""What gradients cost: iterations of their loops, memory, and no Jacobian."""

from __future__ import annotations

import math
from itertools import product
from math import prod

import numpy as np
import pytest
from te.contractions import (
    CONVOLUTIONS,
    Program,
    conv2d,
    dense,
    embedding,
    matmul,
    max_pool,
    mean_pool,
)
from te.lowered import bytes_between, bytes_given, iterations, simplified

import mlirad as ti
from mlirad import te
from mlirad.bindings import ir
from mlirad.dialect.te import is_read
from mlirad.ir.walk import operations, owner_operation

GRID = {
    f"conv2d-{kernel}-{stride}-{dilation}": (
        lambda k=kernel, s=stride, d=dilation: conv2d((s, s), (d, d), (k, k), shape=(1, 2, 10, 10))
    )
    for kernel, stride, dilation in product((1, 2, 3), repeat=3)
}
POOLS = {
    f"pool-{kernel}-{stride}": (lambda k=kernel, s=stride: max_pool(k, s))
    for kernel, stride in product((1, 2, 3), repeat=2)
}
PROGRAMS: dict[str, Program] = {
    **{f"matmul {turned}": (lambda t=turned: matmul(t)) for turned in ("", "a", "c", "ac")},
    "dense": lambda: dense(32, 40, 30),
    "mean pool": mean_pool,
    "embedding": embedding,
    **GRID,
    **POOLS,
    **CONVOLUTIONS,
}


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init()


def _gradient(output: te.Tensor, inputs: list[te.Tensor]) -> te.Built:
    """The adjoints of all floats."""
    head = te.placeholder(output.shape, name="head")
    floats = [one for one in inputs if one.dtype.is_float]
    return te.build(list(te.differentiate(output, floats, head=head)), [*inputs, head])


def _reads(output: te.Tensor) -> int:
    return sum(map(is_read, operations(owner_operation(output.value))))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_take_as_many_iterations_as_reads_say(name: str) -> None:
    output, inputs = PROGRAMS[name]()
    forward = iterations(te.build(output, inputs))
    results = sum(prod(map(int, one.shape)) for one in inputs if one.dtype.is_float)
    found = iterations(_gradient(output, inputs))
    assert found <= (_reads(output) + 1) * forward + results, (found, forward, results)


def test_iterations_are_counted() -> None:
    output, inputs = matmul()
    assert iterations(te.build(output, inputs)) == 17 * 33 * 9


def test_conditions_are_bounds() -> None:
    x, k = te.placeholder((100,), name="x"), te.reduce_axis(100)
    sums = te.compute((100,), lambda i: te.sum(x[k], axis=k, where=k <= i))
    chosen = te.compute((100,), lambda i: te.max(te.select(k > i + 10, x[k], -math.inf), axis=k))
    assert iterations(te.build(sums, [x])) == 100 * 101 // 2
    # a loop that is empty counts as one
    assert iterations(te.build(chosen, [x])) == 90 * 89 // 2


def test_jacobians_take_an_iteration_for_each_element() -> None:
    output, (x, w) = dense(4, 7, 6)
    (jacobian,) = te.differentiate(output, [x])
    step = te.build(jacobian, [w])
    assert iterations(step) <= 2 * 4 * 6 * 4 * 7
    values = np.arange(42, dtype=np.float32).reshape(6, 7)
    np.testing.assert_array_equal(step(values), np.einsum("bc,jk->bjck", np.eye(4), values))


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_gradients_of_convolutions_need_no_memory_of_their_own(name: str) -> None:
    output, inputs = CONVOLUTIONS[name]()
    head = te.placeholder(output.shape, name="head")
    both = te.build([output, *te.differentiate(output, inputs, head=head)], [*inputs, head])
    assert bytes_between(both) <= 0.1 * bytes_given(both)


def test_gradients_of_a_large_layer_need_no_memory_of_their_own() -> None:
    output, inputs = dense(32, 10000, 3000)
    head = te.placeholder(output.shape, name="head")
    both = te.build([output, *te.differentiate(output, inputs, head=head)], [*inputs, head])
    assert bytes_between(both) == 0
    assert bytes_given(both) == 4 * 2 * (32 * 10000 + 3000 * 10000 + 32 * 3000)


@pytest.mark.parametrize("name", [*CONVOLUTIONS, "large", "dense", "pool-3-2", "mean pool"])
def test_gradients_hold_no_jacobian(name: str) -> None:
    output, inputs = dense(32, 10000, 3000) if name == "large" else PROGRAMS[name]()
    built, given = _gradient(output, inputs), (output, *inputs)
    for module in (built.module, simplified(built)):
        types = [
            ir.RankedTensorType(result.type)
            for op in operations(module.operation)
            for result in op.results
            if isinstance(result.type, ir.RankedTensorType)
        ]
        counts = [prod(one.get_dim_size(axis) for axis in range(one.rank)) for one in types]
        assert types and max(one.rank for one in types) <= max(one.ndim for one in given)
        assert max(counts) <= 2 * max(prod(map(int, one.shape)) for one in given)  # with padding
