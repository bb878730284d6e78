"""Blocks that are lent again, and not while anybody can reach them."""

from __future__ import annotations

import numpy as np

import mlirad as ti
from mlirad.runtime.memory.blocks import Blocks

SIZE = 1 << 20


def test_a_block_is_lent_again_when_no_part_of_it_is_left() -> None:
    blocks = Blocks()
    first = blocks.take(SIZE)
    first[...] = 7
    address, part = first.ctypes.data, first[64:128].view(np.float32).reshape(4, 4)
    del first
    other = blocks.take(SIZE)
    other[...] = 9
    assert other.ctypes.data != address
    assert (part.view(np.uint8) == 7).all()
    del part
    assert blocks.take(SIZE).ctypes.data == address
    assert blocks.take(2 * SIZE).nbytes == 2 * SIZE


def test_members_of_a_cell_are_cleared_together_and_alone() -> None:
    """Gradients of the members of a cell wait together; one that is used anew meanwhile is kept."""
    ti.init(cpu_max_num_threads=1)
    n = 1 << 17
    x, y = (ti.field(ti.f32, needs_grad=True) for _ in range(2))
    ti.root.dense(ti.i, n).place(x, y)
    expected = np.arange(n, dtype=np.float32)
    for write_between in (False, True):
        x.grad.fill(3)
        y.grad.fill(4)
        ti.ad.clear_all_gradients()
        if write_between:
            y.grad.from_numpy(expected)
        assert not x.grad.to_numpy().any()
        np.testing.assert_array_equal(y.grad.to_numpy(), expected * write_between)
