"""`ti.simt`: what the threads of blocks do together, against NumPy, in every mode and machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.errors import TaichiCompilationError

block, subgroup, warp = ti.simt.block, ti.simt.subgroup, ti.simt.warp
COUNT, BLOCK = 192, 64


@pytest.fixture(autouse=True)
def _program_start() -> None:
    ti.init()


def _numbers(seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(1, 100, COUNT).astype(np.int32)


def _of_threads(compute: Callable[..., Any]) -> np.ndarray[Any, Any]:
    """What each thread makes of its number."""
    x, y = ti.field(ti.i32, COUNT), ti.field(ti.i64, COUNT)

    @ti.kernel
    def run() -> None:
        ti.loop_config(block_dim=BLOCK)
        for i in range(COUNT):
            y[i] = ti.cast(compute(x[i]), ti.i64)

    x.from_numpy(_numbers())
    run()
    return np.asarray(y.to_numpy())


_GROUPS = _numbers().astype(np.int64).reshape(-1, 32)
_BLOCKS = _numbers().astype(np.int64).reshape(-1, BLOCK)
_BITS = (1 << np.arange(32, dtype=np.int64)) * (_GROUPS > 50)
_CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum": (subgroup.reduce_add, _GROUPS.sum(1, keepdims=True)),
    "largest": (subgroup.reduce_all_max, _GROUPS.max(1, keepdims=True)),
    "sums up to": (subgroup.inclusive_add, _GROUPS.cumsum(1)),
    "sums before": (subgroup.exclusive_add, _GROUPS.cumsum(1) - _GROUPS),
    "down": (lambda v: subgroup.shuffle_down(v, 1), _GROUPS[:, [*range(1, 32), 31]]),
    "up": (lambda v: subgroup.shuffle_up(v, 2), _GROUPS[:, [0, 1, *range(30)]]),
    "xor": (lambda v: subgroup.shuffle_xor(v, 5), _GROUPS[:, np.arange(32) ^ 5]),
    "ballot": (lambda v: subgroup.ballot(v > 50), _BITS.sum(1, keepdims=True)),
    "all": (subgroup.all_true, np.ones((1, 1))),
    "any": (lambda v: subgroup.any_true(v > 98), (_GROUPS > 98).any(1, keepdims=True)),
    "first": (lambda v: subgroup.elect(), np.arange(32) == 0),
    "same": (lambda v: warp.match_any(-1, v > 50), None),
    "sum of block": (lambda v: block.reduce_add(v, BLOCK, ti.i32), _BLOCKS.sum(1, keepdims=True)),
    "sums in block": (lambda v: block.inclusive_add(v, BLOCK, ti.i32), _BLOCKS.cumsum(1)),
    "count": (lambda v: block.sync_count_nonzero(v > 50), (_BLOCKS > 50).sum(1, keepdims=True)),
    "thread": (lambda v: block.thread_idx(), np.arange(BLOCK) + 0 * _BLOCKS),
    "iteration": (lambda v: block.global_thread_idx(), np.arange(COUNT)),
}


@pytest.mark.parametrize("is_array", [False, True])
@pytest.mark.parametrize("place", [0, 5, BLOCK - 1])
def test_an_element_that_one_thread_replaces_and_all_read(is_array: bool, place: int) -> None:
    x = ti.ndarray(ti.f32, 4) if is_array else ti.field(ti.f32, 4)
    y = ti.field(ti.f32, BLOCK)
    kind: Any = ti.types.ndarray() if is_array else ti.template()

    @ti.kernel
    def run(x: kind) -> None:
        ti.loop_config(block_dim=BLOCK)
        for i in range(BLOCK):
            before = x[2]
            block.sync()
            if i == place:
                x[2] = before + 1.0
            block.sync()
            y[i] = x[2] * before

    x.fill(3.0)
    run(x)
    np.testing.assert_array_equal(y.to_numpy(), np.full(BLOCK, 12.0))
    # each thread loads the element twice, and both barriers are between the loads
    code = run.ptx(x)
    assert code.count("ld.global") == 2
    first, last = code.index("ld.global"), code.rindex("ld.global")
    assert code[first:last].count("bar.sync") == 2


@pytest.mark.parametrize("name", _CASES)
def test_threads_see_one_another(name: str) -> None:
    compute, expected = _CASES[name]
    if name == "same":
        opposite = (1 << np.arange(32, dtype=np.int64)).sum() - _BITS.sum(1, keepdims=True)
        expected = np.where(_GROUPS > 50, _BITS.sum(1, keepdims=True), opposite)
    shape = _BLOCKS.shape if np.ndim(expected) == 2 and len(expected) == 3 else _GROUPS.shape
    if name == "iteration":
        shape = (COUNT,)
    np.testing.assert_array_equal(_of_threads(compute), np.broadcast_to(expected, shape).ravel())


def test_pairs_are_sorted() -> None:
    keys, values = ti.field(ti.i32, 32), ti.field(ti.i32, 32)

    @ti.kernel
    def sort() -> None:
        ti.loop_config(block_dim=32)
        for i in range(32):
            key, value = subgroup.bitonic_sort_kv(keys[i], values[i])
            keys[i] = key
            values[i] = value

    before = np.random.default_rng(1).integers(0, 9, (2, 32)).astype(np.int32)
    keys.from_numpy(before[0])
    values.from_numpy(before[1])
    sort()
    order = np.lexsort((before[1], before[0]))
    np.testing.assert_array_equal(keys.to_numpy(), before[0][order])
    np.testing.assert_array_equal(values.to_numpy(), before[1][order])


def test_loops_and_branches_around_what_threads_wait_for() -> None:
    y = ti.field(ti.i32, 100)

    @ti.kernel
    def count() -> None:
        ti.loop_config(block_dim=32)
        for i in range(100):
            trips = 0
            for _ in range(i % 3):
                trips += 1
                block.sync()
            while trips < 5:
                trips += 1
                if i % 2 == 0:
                    block.sync()
                    trips += 1
            y[i] = trips

    def trips(i: int) -> int:
        result = i % 3
        while result < 5:
            result += 1 + (i % 2 == 0)
        return result

    count()
    np.testing.assert_array_equal(y.to_numpy(), [trips(i) for i in range(100)])


def test_a_shared_array_of_vectors() -> None:
    y = ti.Vector.field(3, ti.f32, 40)

    @ti.kernel
    def turn() -> None:
        ti.loop_config(block_dim=20)
        for i in range(40):
            shared = block.SharedArray((20,), ti.math.vec3)
            shared[i % 20] = [i, i + 1, i + 2]
            block.sync()
            y[i] = shared[19 - i % 20]

    turn()
    source = np.array([20 * (i // 20) + 19 - i % 20 for i in range(40)])
    np.testing.assert_array_equal(y.to_numpy(), source[:, None] + np.arange(3))


# Derivatives.


def _program(shape: int) -> tuple[Any, Any, Callable[[], None]]:
    x = ti.field(ti.f64, shape, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def compute() -> None:
        ti.loop_config(block_dim=32)
        for i in range(shape):
            t = block.thread_idx()
            shared = block.SharedArray(32, ti.f64)
            shared[t] = x[i] * x[i]
            block.sync()
            value = shared[31 - t] * x[i]
            largest = subgroup.reduce_all_max(x[i])
            loss[None] += subgroup.inclusive_add(value) * x[i] + largest * value

    return x, loss, compute


def _loss(x: np.ndarray[Any, Any]) -> float:
    rows = x.reshape(-1, 32)
    value = (rows**2)[:, ::-1] * rows
    return float((value.cumsum(1) * rows + rows.max(1, keepdims=True) * value).sum())


def _differences(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(_loss(x + step) - _loss(x - step)) / 2e-6 for step in steps])


def test_gradients_through_shared_arrays_shuffles_and_scans() -> None:
    x, loss, compute = _program(96)
    numbers = np.random.default_rng(2).random(96)
    x.from_numpy(numbers)
    with ti.ad.Tape(loss):
        compute()
    assert loss[None] == pytest.approx(_loss(numbers))
    np.testing.assert_allclose(x.grad.to_numpy(), _differences(numbers), rtol=1e-6, atol=1e-6)


def test_tangents_through_them() -> None:
    x, loss, compute = _program(96)
    numbers = np.random.default_rng(3).random(96)
    seed = np.random.default_rng(4).random(96)
    x.from_numpy(numbers)
    with ti.ad.FwdMode(loss=loss, param=x, seed=list(seed)):
        compute()
    assert loss.dual[None] == pytest.approx(seed @ _differences(numbers), rel=1e-6)


def test_gradients_of_ndarrays() -> None:
    x = ti.ndarray(ti.f64, 64, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def compute(a: ti.types.ndarray(ti.f64, 1)) -> None:  # type: ignore[valid-type]
        ti.loop_config(block_dim=32)
        for i in range(64):
            loss[None] += subgroup.shuffle_xor(a[i] * a[i], 1) * a[i]

    numbers = np.random.default_rng(5).random(64)
    x.from_numpy(numbers)
    with ti.ad.Tape(loss):
        compute(x)
    other = numbers[np.arange(64) ^ 1]
    np.testing.assert_allclose(x.grad.to_numpy(), other**2 + 2 * numbers * other, rtol=1e-12)


def test_a_value_that_a_loop_overwrites_is_refused() -> None:
    x = ti.field(ti.f64, 32, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def compute() -> None:
        ti.loop_config(block_dim=32)
        for i in range(32):
            value = x[i]
            for _ in range(5):
                value *= subgroup.shuffle_xor(value, 1)
            loss[None] += value

    with (
        pytest.raises(TaichiCompilationError, match="that is overwritten"),
        ti.ad.Tape(loss),
    ):
        compute()


def test_the_gradient_of_an_unknown_number_of_blocks_is_refused() -> None:
    x = ti.ndarray(ti.f64, 64, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def compute(a: ti.types.ndarray(ti.f64, 1)) -> None:  # type: ignore[valid-type]
        for i in a:
            loss[None] += subgroup.shuffle_xor(a[i] * a[i], 1)

    with pytest.raises(TaichiCompilationError, match="known while compiling"), ti.ad.Tape(loss):
        compute(x)


# What is refused.


def test_threads_outside_of_a_parallel_loop() -> None:
    @ti.kernel
    def alone() -> ti.i32:
        return subgroup.shuffle(3, 0)

    with pytest.raises(TaichiCompilationError, match="call it inside a parallel loop"):
        alone()


def test_what_other_blocks_see_has_no_order() -> None:
    y = ti.field(ti.i32, 64)

    @ti.kernel
    def publish() -> None:
        for i in range(64):
            y[i] = 1
            ti.simt.grid.mem_fence()

    with pytest.raises(TaichiCompilationError, match=r"grid.mem_fence between blocks"):
        publish()


def test_a_block_of_another_size() -> None:
    y = ti.field(ti.i32, 64)

    @ti.kernel
    def add() -> None:
        ti.loop_config(block_dim=64)
        for i in range(64):
            y[i] = block.reduce_add(i, 32, ti.i32)

    with pytest.raises(TaichiCompilationError, match="expected block_dim=64, got 32"):
        add()


def test_many_blocks_in_lanes_and_threads() -> None:
    ti.init(cpu_max_num_threads=2)
    count = 64 * 256
    x, y = ti.field(ti.i32, count), ti.field(ti.i32, count)

    @ti.kernel
    def turn(bare: ti.types.ndarray) -> None:
        ti.loop_config(block_dim=64)
        for i in range(count):
            shared = block.SharedArray(64, ti.i32)
            shared[i % 64] = x[i] + bare[0]
            block.sync()
            y[i] = block.inclusive_add(shared[63 - i % 64], 64, ti.i32)

    numbers = np.arange(count, dtype=np.int32) % 97
    x.from_numpy(numbers)
    turn(np.ones(1, np.int32))
    expected = (numbers.reshape(-1, 64)[:, ::-1] + 1).cumsum(1)
    np.testing.assert_array_equal(y.to_numpy().reshape(-1, 64), expected)


@pytest.mark.parametrize("count", [64, 4096, 1000])
@pytest.mark.parametrize("dtype", [ti.i8, ti.i64, ti.f16, ti.f64])
def test_the_code_of_a_gpu_has_its_barriers_and_shuffles(count: int, dtype: Any) -> None:
    x, y = ti.field(dtype, count), ti.field(dtype, count)

    @ti.kernel
    def turn() -> None:
        ti.loop_config(block_dim=64)
        for i in range(count):
            shared = block.SharedArray(64, dtype)
            shared[block.thread_idx()] = x[i]
            block.sync()
            y[i] = shared[63 - block.thread_idx()] + subgroup.shuffle_xor(x[i], 3)

    text = str(turn.ptx(chip="sm_90"))
    # of 64 bits are two
    assert text.count("shfl.sync.idx") == (2 if dtype in (ti.i64, ti.f64) else 1)
    assert "bar.sync" in text or "barrier.sync" in text
    assert "st.shared" in text and "ld.shared" in text
    assert len(re.findall(r"\.reqntid 64|\.maxntid 64", text)) == 1
    numbers = np.random.default_rng(0).integers(1, 20, count)
    x.from_numpy(numbers.astype(x.to_numpy().dtype))
    turn()
    whole = numbers[: count // 64 * 64].reshape(-1, 64)
    expected = whole[:, ::-1] + whole[:, np.arange(64) ^ 3]
    np.testing.assert_array_equal(y.to_numpy()[: whole.size], expected.reshape(-1))
