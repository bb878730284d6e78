"""Elements, copies and arenas of a device, beside the host's: the same for the same requests."""

from __future__ import annotations

import gc
from math import prod
from typing import Any

import numpy as np
import pytest
from device_machine import DeviceCpu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.host.host_memory import HostMemory
from mlirad.runtime.memory.memory import Arena, Kept, Memory

DTYPES = ["f4", "f8", "f2", "i1", "u1", "i2", "i4", "i8", "?"]
FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module", params=[1, 1 << 16], ids=["kernels", "copies"])
def executor(request: pytest.FixtureRequest) -> DeviceCpu:
    """Of a device that launches for every byte, or only for many; on which kernels stay
    compiled."""
    return DeviceCpu(small=request.param)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...], int, int]:
    """A type, extents, strides in bytes with gaps and in any order of the axes, an offset and
    the bytes of it all."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=0, max_size=3)))
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in draw(st.permutations(range(len(shape)))):
        step += dtype.itemsize * draw(st.sampled_from([0, 0, 0, 1, 2]))
        strides[axis] = step
        step *= shape[axis]
    offset = dtype.itemsize * draw(st.integers(0, 3))
    return dtype, shape, tuple(strides), offset, offset + step + dtype.itemsize


@st.composite
def boxes(draw: st.DrawFn, shape: tuple[int, ...]) -> Box | None:
    """A box that may be open, empty, or reach beyond the ends."""
    if draw(st.booleans()):
        return None
    bound = st.none() | st.integers(-1, 5)
    return tuple((draw(bound), draw(bound)) for _ in shape)


def _values(data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 16)))
    found = random.integers(0, 3, shape).astype(dtype)
    return -found if dtype.kind == "f" else found  # which has -0.0


class Pair:
    """The same elements in both memories."""

    def __init__(self, data: st.DataObject, device: Memory) -> None:
        dtype, shape, strides, offset, size = data.draw(layouts())
        self.device, self.host = device, HostMemory()
        self.both = [
            memory.elements(memory.allocate(size), offset, dtype, shape, strides)
            for memory in (self.device, self.host)
        ]
        self.dtype, self.shape, self.data = dtype, shape, data
        start = _values(data, dtype, shape)
        for elements in self.both:
            elements.write(start)

    def box(self) -> tuple[Box | None, tuple[int, ...]]:
        """A box, and the extents of what is in it."""
        box = self.data.draw(boxes(self.shape))
        return box, self.both[1].read(box).shape

    def check(self) -> None:
        """The same bits."""
        one, other = (elements.read() for elements in self.both)
        assert one.tobytes() == other.tobytes()


@FEW
@given(data=st.data())
def test_reads_and_writes(executor: DeviceCpu, data: st.DataObject) -> None:
    pair = Pair(data, executor.memory)
    box, shape = pair.box()
    assert pair.both[0].read(box).tobytes() == pair.both[1].read(box).tobytes()
    values = _values(data, pair.dtype, shape)
    for elements in pair.both:
        elements.write(values, box)
    pair.check()
    assert pair.both[0].checksum() == pair.both[1].checksum()
    assert pair.both[0].any() == pair.both[1].any()
    for elements in pair.both:
        assert elements.equals(values, box)
    other = _values(data, pair.dtype, shape)
    found = [elements.differing(other, box).tolist() for elements in pair.both]
    assert found[0] == found[1]
    assert pair.both[0].equals(other, box) == (not np.any(found[1]))


@FEW
@given(data=st.data())
def test_single_elements(executor: DeviceCpu, data: st.DataObject) -> None:
    pair = Pair(data, executor.memory)
    index = tuple(data.draw(st.integers(-n, n - 1)) for n in pair.shape)
    index = index[: data.draw(st.integers(0, len(index)))]
    assert pair.both[0].get(index) == pair.both[1].get(index)
    for elements in pair.both:
        elements.put(index, 1)
    assert pair.both[0].get(index) == pair.both[1].get(index)
    pair.check()


@FEW
@given(data=st.data())
def test_fills(executor: DeviceCpu, data: st.DataObject) -> None:
    pair = Pair(data, executor.memory)
    box, shape = pair.box()
    value = data.draw(st.sampled_from([0, 1, 0.5, 2]))
    mask = _values(data, np.dtype(bool), shape) if data.draw(st.booleans()) else None
    for elements in pair.both:
        elements.fill(value, box, mask)
    pair.check()
    assert pair.both[0].any() == pair.both[1].any()


def _changed(pair: Pair) -> None:
    values = _values(pair.data, pair.dtype, pair.shape)
    for elements in pair.both:
        elements.write(values)


@FEW
@given(data=st.data(), in_arena=st.booleans())
def test_copies(executor: DeviceCpu, data: st.DataObject, in_arena: bool) -> None:
    pair = Pair(data, executor.memory)
    kept: list[Kept] = []
    arenas: list[Arena] = [memory.arena(Capacity()) for memory in (pair.device, pair.host)]
    box, shape = pair.box()
    for elements, arena in zip(pair.both, arenas):
        kept.append(arena.keep(elements, box, "x") if in_arena else elements.copy())
    if in_arena:
        assert kept[0].nbytes == kept[1].nbytes == prod(shape) * pair.dtype.itemsize
    assert not kept[0].differs()
    _changed(pair)
    assert kept[0].differs() == kept[1].differs()
    present = [one.present(arena, "x") for one, arena in zip(kept, arenas)]
    assert present[0].place == kept[0].place
    for one in kept:
        one.exchange()
    pair.check()
    for one in present:
        one.restore()
    pair.check()
    if pair.dtype.kind != "b":
        for one in kept:
            one.add()
        pair.check()
    for one in kept:
        one.exchange()
    pair.check()
    for one in kept:
        one.renew()
        assert not one.differs()


def test_interleaved_elements_do_not_overlap(executor: DeviceCpu) -> None:
    memory = executor.memory
    room = memory.allocate(64)
    dtype = np.dtype("f4")
    even, odd = (memory.elements(room, offset, dtype, (8,), (8,)) for offset in (0, 4))
    half = memory.elements(room, 32, dtype, (4,), (8,))
    assert even.overlaps(half) and half.overlaps(even)
    assert not even.overlaps(odd) and not odd.overlaps(half)
    assert not even.overlaps(HostMemory().array(dtype, (8,))[1])


def test_neighbours_are_read_at_once_until_memory_changes() -> None:
    executor = DeviceCpu()
    reads: list[int] = []
    read = executor.driver.read

    def counted(host_address: int, address: int, size: int) -> None:
        reads.append(size)
        read(host_address, address, size)

    executor.driver.read = counted  # type: ignore[method-assign]
    x = executor.memory.array(np.dtype("f4"), (100_000,))[1]
    y = executor.memory.array(np.dtype("f4"), ())[1]
    assert [x.get((k,)) for k in range(50)] == [0.0] * 50
    assert [y.get(()) for _ in range(50)] == [0.0] * 50
    assert len(reads) == 2
    y.put((), 3.0)
    assert (x.get((0,)), y.get(()), y.get(())) == (0.0, 3.0, 3.0)
    assert len(reads) == 4
    x.fill(2.0)
    assert [x.get((k,)) for k in range(0, 100_000, 10)] == [2.0] * 10_000
    assert len(reads) < 40


def test_everything_is_given_back() -> None:
    executor = DeviceCpu(small=1)
    driver, memory = executor.driver, executor.memory
    arrays = [memory.array(np.dtype("f4"), (1000,))[1] for _ in range(1000)]
    arena = memory.arena(Capacity())
    kept = [arena.keep(one, ((3, 800),), "x") for one in arrays]
    kept += [one.copy() for one in arrays[:100]]
    for one in kept:
        one.exchange()
    assert driver.allocations > 1100
    del one, arrays, arena
    assert driver.allocations > 1100  # the copies keep what they are of
    del kept
    memory.transfers.pool.release()
    gc.collect()
    assert driver.allocations == 0


def test_a_device_that_is_full_collects_and_says_so() -> None:
    executor = DeviceCpu(total=1 << 20)
    memory = executor.memory
    cycle: list[Any] = [memory.array(np.dtype("u1"), (800_000,))[1]]
    cycle.append(cycle)
    del cycle
    kept = memory.array(np.dtype("u1"), (800_000,))[1]  # in place of what nobody reaches
    with pytest.raises(TaichiMemoryError, match="800000 bytes"):
        memory.array(np.dtype("u1"), (800_000,))
    assert kept.nbytes == 800_000
    with pytest.raises(TaichiMemoryError, match=r"the device's memory of 1\.0 MiB"):
        memory.capacity().take({"x": 2 << 20}, "field 'x'")


@FEW
@given(data=st.data())
def test_elements_of_others(executor: DeviceCpu, data: st.DataObject) -> None:
    pair = Pair(data, executor.memory)
    others = [memory.array(pair.dtype, pair.shape)[1] for memory in (pair.device, pair.host)]
    values = _values(data, pair.dtype, pair.shape)
    for elements, other in zip(pair.both, others):
        other.write(values)
        if pair.dtype.kind != "b":
            elements.add(other)
    pair.check()
    for elements, other in zip(pair.both, others):
        elements.take(other)
    pair.check()
    wide = pair.device.array(np.dtype("f8"), pair.shape)[1]
    wide.take(pair.both[0])
    np.testing.assert_array_equal(wide.read(), pair.both[1].read().astype("f8"))


@FEW
@given(data=st.data())
def test_numbers_and_vectors_everywhere(executor: DeviceCpu, data: st.DataObject) -> None:
    pair = Pair(data, executor.memory)
    axes = data.draw(st.integers(0, len(pair.shape)))
    vector = _values(data, pair.dtype, pair.shape[axes:])
    for elements in pair.both:
        elements.write(vector)
    pair.check()
    index = tuple(
        data.draw(st.one_of(st.just(slice(None)), st.integers(0, n - 1))) for n in pair.shape
    )
    for elements in pair.both:
        elements.put(index, 2)
    pair.check()


def test_a_number_for_all_elements_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = DeviceCpu()
    x = executor.memory.array(np.dtype("f4"), (10_000, 3))[1]
    monkeypatch.setattr(executor.driver, "write", None)
    x.put((), 1.5)
    x.write(np.array([1.0, 2.0, 3.0]))
    x.put((slice(None), 1), 7)
    np.testing.assert_array_equal(x.read(), np.tile([1.0, 7.0, 3.0], (10_000, 1)))
