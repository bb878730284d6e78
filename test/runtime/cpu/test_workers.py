"""Threads that share parallel loops: every piece is done once, whoever is there to do it."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mlirad as ti
from mlirad.runtime.cpu.workers import Workers
from mlirad.runtime.executor.executor import NOT_KEPT
from mlirad.runtime.program import program

_PIECE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_SHARE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, _PIECE, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)

pytestmark = pytest.mark.cpu_code("threads of the CPU's code")


@pytest.fixture(scope="module")
def workers() -> Workers:
    found = Workers(NOT_KEPT)
    found.hire(3)
    return found


def share(workers: Workers, piece: Callable[[int], None], pieces: int, threads: int) -> None:
    """Have some threads call a function of the number of a piece."""
    function = ctypes.cast(ctypes.c_void_p.from_address(workers.address).value or 0, _SHARE)
    function(workers.address, _PIECE(lambda _, k: piece(k)), None, pieces, threads)


@pytest.mark.parametrize("threads", [1, 2, 4, 9])
@pytest.mark.parametrize("pieces", [0, 1, 2, 7, 64])
def test_every_piece_is_done_once(workers: Workers, pieces: int, threads: int) -> None:
    for _ in range(20):
        done: list[int] = []
        share(workers, done.append, pieces, threads)
        assert sorted(done) == list(range(pieces))


def test_no_more_threads_take_part_than_are_asked_for(workers: Workers) -> None:
    for _ in range(20):
        seen = set[int]()

        def piece(_: int, seen: set[int] = seen) -> None:
            seen.add(threading.get_native_id())
            time.sleep(0.0005)

        share(workers, piece, 16, 2)
        assert 1 <= len(seen) <= 2


def test_pieces_are_done_at_the_same_time(workers: Workers) -> None:
    meeting = threading.Barrier(4)
    share(workers, lambda _: (meeting.wait(20), None)[1], 4, 4)
    assert not meeting.broken


def test_one_who_finds_the_workers_busy_does_all_by_himself(workers: Workers) -> None:
    own: list[int] = []
    inner: list[tuple[int, int]] = []

    def piece(k: int) -> None:
        own.append(k)
        here = threading.get_native_id()
        share(workers, lambda n: inner.append((here, n)) if _is(here) else None, 5, 4)

    share(workers, piece, 3, 4)
    assert sorted(own) == [0, 1, 2]
    assert len(inner) == 15


def _is(thread: int) -> bool:
    return threading.get_native_id() == thread


def test_several_threads_share_at_once(workers: Workers) -> None:
    totals = [0] * 4

    def run(number: int) -> None:
        for _ in range(50):
            done: list[int] = []
            share(workers, done.append, 9, 4)
            totals[number] += sum(done)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [50 * 36] * 4


@pytest.mark.parametrize("count", [0, 1, 3, 7, 8, 9, 1000, 4099])
@pytest.mark.parametrize("threads", [2, 3])
def test_sums_are_the_same_whoever_takes_the_pieces(count: int, threads: int) -> None:
    ti.init(cpu_max_num_threads=threads)
    program().config.thread_worth = 0
    x, total = ti.field(ti.f32, 5000), ti.field(ti.f32, ())
    values = np.random.default_rng(3).normal(size=5000).astype(np.float32)
    x.from_numpy(values)

    @ti.kernel
    def add_up(n: int):
        for i in range(n):
            total[None] += x[i] * x[i]

    found = set[float]()
    for _ in range(10):
        total[None] = 0.0
        add_up(count)
        found.add(total[None])
    assert len(found) == 1
    expected = float((values[:count].astype(np.float64) ** 2).sum())
    assert found.pop() == pytest.approx(expected, rel=1e-5, abs=1e-12)


PROGRAM = """
import os, signal, threading, time
import mlirad as ti

ti.init(cpu_max_num_threads=3)
x = ti.field(ti.f64, 1 << 20)


@ti.kernel
def add(steps: int):
    for i in x:
        for _ in range(steps):
            x[i] += 1.0


def workers():
    \"\"\"The threads that leave signals to others.\"\"\"
    lines = [
        line.split()
        for name in os.listdir("/proc/self/task")
        for line in open(f"/proc/self/task/{name}/status")
    ]
    masks = [int(words[1], 16) for words in lines if words[0] == "SigBlk:"]
    return sum(mask >> (signal.SIGINT - 1) & 1 for mask in masks)


add(1)
"""


def run(text: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_forked_process_has_workers_of_its_own(tmp_path: Path) -> None:
    done = run(
        """
        child = os.fork()
        add(1)
        seen = set(x.to_numpy())
        if child == 0:
            os._exit(0 if seen == {2.0} and workers() == 2 else 1)
        assert seen == {2.0} and workers() >= 2
        assert os.waitpid(child, 0)[1] == 0
        print("good")
        """,
        tmp_path,
    )
    assert done.stdout == "good\n", done.stderr


def test_a_process_ends_while_workers_are_busy(tmp_path: Path) -> None:
    done = run(
        """
        threading.Thread(target=add, args=(1 << 30,), daemon=True).start()
        time.sleep(0.2)
        print("good")
        """,
        tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "good\n"), done.stderr
