"""What programs ask of a compiled kernel: its variants, and the arguments of its last launch."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from mlirad.quadrants.lang._kernel_types import KernelBatchedArgType as Kind

import mlirad.quadrants as qd
from mlirad.lang.kernels.kernel import Kernel


@dataclasses.dataclass
class State:
    position: qd.types.NDArray[qd.f32, 1]
    velocity: qd.types.NDArray[qd.f32, 1]
    unread: qd.types.NDArray[qd.f32, 1]
    step: qd.f32
    unread_count: qd.i32


@pytest.fixture(autouse=True)
def program() -> None:
    qd.init()


@qd.func
def advance(state: State, i: int):
    state.position[i] += state.step * state.velocity[i]


@qd.kernel
def move(state: State, only_first: qd.template()):
    for i in range(2):
        if qd.static(only_first):
            state.position[0] += state.step
        else:
            advance(state, i)


@qd.kernel
def read(state: State, loss: qd.types.NDArray[qd.f32, 0]):
    loss[None] += state.position[1]


def make_state(*, needs_grad: bool = False) -> State:
    arrays = [qd.ndarray(qd.f32, (2,), needs_grad=needs_grad) for _ in range(3)]
    return State(*arrays, step=0.5, unread_count=3)


def counts() -> dict[Kind, int]:
    return move._primal.launch_stats.kernel_args_count_by_type


def test_members_that_are_not_read_are_not_counted() -> None:
    state = make_state()
    assert not move._primal.compiled_kernel_data_by_key
    with pytest.raises(qd.QuadrantsRuntimeError, match="'move' was not launched"):
        counts()
    move(state, False)
    assert counts()[Kind.QD_ARRAY] == 2
    assert counts()[Kind.FLOAT] == 1
    assert counts()[Kind.INT] == 0
    move(state, True)
    assert counts()[Kind.QD_ARRAY] == 1
    assert len(move._primal.compiled_kernel_data_by_key) == 2
    move(state, False)  # a launch that is repeated
    assert counts()[Kind.QD_ARRAY] == 2
    assert len(move._primal.compiled_kernel_data_by_key) == 2


def test_arrays_with_gradients_are_counted_apart() -> None:
    move(make_state(needs_grad=True), False)
    assert counts()[Kind.QD_ARRAY_WITH_GRAD] == 2
    assert counts()[Kind.QD_ARRAY] == 0


def test_the_last_of_several_variants_is_not_guessed_where_a_tape_recorded() -> None:
    state = make_state(needs_grad=True)
    loss = qd.ndarray(qd.f32, (), needs_grad=True)
    move(state, True)
    with qd.ad.Tape(loss):
        move(state, False)
        read(state, loss)
    with pytest.raises(qd.QuadrantsRuntimeError, match="a tape has recorded a launch"):
        counts()


@qd.kernel
def two_loops(x: qd.types.NDArray[qd.f32, 1]):
    for i in x:
        x[i] += 1
    x[0] = 2
    x[1] = 3
    for i in x:
        x[i] *= 2


@qd.kernel
def one_loop(x: qd.types.NDArray[qd.f32, 1]):
    for i in x:
        for _ in range(3):
            if x[i] > 0:
                x[i] += 1


def test_the_tasks_of_the_last_launch_are_counted() -> None:
    prog = qd.lang.impl.get_runtime().prog
    assert prog.get_num_offloaded_tasks_on_last_call() == 0
    x = qd.ndarray(qd.f32, (4,))
    for _ in range(3):  # the first, which compiles, and those that are repeated
        two_loops(x)
        assert prog.get_num_offloaded_tasks_on_last_call() == 3
        one_loop(x)
        assert prog.get_num_offloaded_tasks_on_last_call() == 1


@qd.kernel(fastcache=True)
def fill(x: qd.types.NDArray[qd.f32, 1], is_twice: qd.template()):
    for i in x:
        x[i] = 2.0 if qd.static(is_twice) else 1.0


@qd.pure
@qd.kernel
def fill_by_pure(x: qd.types.NDArray[qd.f32, 1]):
    for i in x:
        x[i] = 3.0


@qd.kernel
def fill_otherwise(x: qd.types.NDArray[qd.f32, 1]):
    for i in x:
        x[i] = 4.0


def cached(kernel: Kernel) -> tuple[bool, ...]:
    of_cache = kernel._primal.src_ll_cache_observations
    names = "cache_key_generated", "cache_validated", "cache_loaded", "cache_stored"
    return tuple(getattr(of_cache, name) for name in names)


NOTHING = (False, False, False, False)
STORED = (True, False, False, True)
LOADED = (True, True, True, False)


@pytest.mark.host("loader", "code is not stored in the cache")
def test_code_from_the_cache_is_told_from_what_is_stored(tmp_path: Path) -> None:
    for expected in (STORED, LOADED):
        qd.init(offline_cache=True, offline_cache_file_path=str(tmp_path))
        assert cached(fill) == NOTHING  # not launched in this program
        x = qd.ndarray(qd.f32, (2,))
        for kernel in (fill_by_pure, fill_otherwise):
            kernel(x)
        assert cached(fill_by_pure) == expected
        assert cached(fill_otherwise) == NOTHING  # is kept too, but was not asked for
        fill(x, False)
        fill(x, False)
        assert cached(fill) == expected


@pytest.mark.host("loader", "code is not stored in the cache")
def test_each_variant_has_its_place_in_the_cache(tmp_path: Path) -> None:
    x = run_with_cache(tmp_path)
    fill(x, False)
    x = run_with_cache(tmp_path)
    fill(x, True)
    assert cached(fill) == STORED
    fill(x, False)
    assert cached(fill) == LOADED
    assert x.to_numpy().tolist() == [1.0, 1.0]


def run_with_cache(path: Path) -> qd.Ndarray:
    qd.init(offline_cache=True, offline_cache_file_path=str(path))
    return qd.ndarray(qd.f32, (2,))


def test_nothing_is_stored_without_a_cache_or_in_a_spoilt_one(tmp_path: Path) -> None:
    qd.init(offline_cache=False)
    fill(qd.ndarray(qd.f32, (2,)), False)
    assert cached(fill) == (True, False, False, False)
    fill(run_with_cache(tmp_path), False)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(b"\x00spoilt")
    x = run_with_cache(tmp_path)
    fill(x, False)
    assert cached(fill) == STORED
    assert x.to_numpy().tolist() == [1.0, 1.0]


def test_the_first_launch_of_a_variant_compiles_it() -> None:
    x = qd.ndarray(qd.f32, (2,))
    launches = []
    for is_twice in (False, False, True, False, True, True):
        fill(x, is_twice)
        launches.append(fill._primal.launch_observations.found_kernel_in_materialize_cache)
    assert launches == [False, True, False, True, True, True]
