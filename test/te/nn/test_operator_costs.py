"""What operators and their gradients cost: iterations of loops, memory."""

from __future__ import annotations

from math import prod

import pytest
from te.derivatives import given
from te.lowered import bytes_between, bytes_given, iterations
from te.nn.test_convolutions import CASES
from te.nn.test_convolutions import _program as convolution
from te.nn.test_pools import _programs as pools
from te.together import Program

import mlirad as ti
from mlirad import te
from mlirad.dialect.te import is_read
from mlirad.ir.walk import operations, owner_operation
from mlirad.te import nn
from mlirad.te.definitions.dependencies import behind


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init()


def _both(program: Program) -> tuple[te.Built, te.Built]:
    """The adjoints alone, and with what they are of."""
    y, head = program.output, given(*program.output.shape)
    slopes = list(te.differentiate(y, program.wanted, head=head))
    inputs = [*program.inputs, head]
    return te.build(slopes, inputs), te.build([y, *slopes], inputs)


def _check(program: Program) -> None:
    """A gradient goes through the forward's points once for each read, and through its results."""
    alone, _ = _both(program)
    definitions = [owner_operation(one.value) for one in behind([program.output])]
    reads = sum(map(is_read, (op for own in definitions for op in operations(own))))
    results = sum(prod(one.shape) for one in program.wanted)
    forward = iterations(te.build(program.output, program.inputs))
    assert iterations(alone) <= (reads + 1) * forward + results


@pytest.mark.parametrize("name", CASES)
def test_convolutions(name: str) -> None:
    program = convolution(name)
    _check(program)
    _, both = _both(program)
    assert bytes_between(both) <= 0.1 * bytes_given(both)


def test_transposed_convolutions() -> None:
    x, w = given(2, 3, 7), given(3, 4, 5, name="w")
    program = Program(nn.conv1d_transpose(x, w, stride=3), [x, w])
    _check(program)
    assert bytes_between(_both(program)[1]) == 0
    points = iterations(te.build(program.output, program.inputs))
    assert points == 2 * 3 * 4 * 7 * 5  # none is visited in vain


@pytest.mark.parametrize("name", pools())
def test_pools(name: str) -> None:
    _check(pools()[name])
