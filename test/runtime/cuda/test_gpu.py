"""What only a GPU can show: skipped where there is none. `--stub` rehearses it."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.machines import CASES, assert_alike, left_by

import mlirad as ti
from mlirad.runtime.executor.executor import UnavailableError
from mlirad.runtime.executors import executor_of

ASTRAY = """
import mlirad as ti
ti.init(arch=ti.cuda, enable_fallback=False)
x = ti.field(ti.f32, 16)

@ti.kernel
def astray(far: ti.i32):
    for i in range(16):
        x[i * far] = 1.0

astray(1)
ti.sync()
astray(1 << 26)
for _ in range(2):
    try:
        ti.sync()
    except ti.TaichiRuntimeError as error:
        print(error)
"""


@pytest.fixture(autouse=True)
def gpu() -> Any:
    """A program on it."""
    try:
        executor_of("cuda")
    except UnavailableError as error:
        pytest.skip(str(error))
    ti.init(arch=ti.cuda, enable_fallback=False)
    yield
    ti.reset()


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_kernel_does_as_on_the_cpu(name: str, mode: str) -> None:
    """Bit for bit, but for the order of sums, and functions that another library has."""
    assert_alike(left_by(ti.cpu, name, mode), left_by(ti.cuda, name, mode))


def test_large_copies() -> None:
    """There and back, of more than is copied at once."""
    numbers = np.random.default_rng(1).random(1 << 20)
    x, y = ti.field(ti.f64, 1 << 20), ti.field(ti.f64, 1 << 20)
    x.from_numpy(numbers)
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), numbers)


def test_writes_launches_and_reads_in_turn() -> None:
    """In the order in which Python asked for them, though nobody waits for launches."""
    x, step = ti.field(ti.i32, 1 << 16), ti.field(ti.i32, ())

    @ti.kernel
    def add():
        for i in x:
            x[i] += step[None]

    for k in range(1000):
        step[None] = k
        add()
    assert (x.to_numpy() == 999 * 500).all()


def test_what_is_printed_comes_with_the_next_wait(capfd: pytest.CaptureFixture[str]) -> None:
    """By every thread."""

    @ti.kernel
    def say():
        for i in range(3):
            print("thread", i, 0.5)

    say()
    ti.sync()
    ctypes.CDLL(None).fflush(None)
    found = sorted(line for line in capfd.readouterr().out.splitlines() if line)
    assert [line.split()[:2] for line in found] == [["thread", str(i)] for i in range(3)]


def test_an_assertion() -> None:
    """One of many that fail is told."""
    ti.init(arch=ti.cuda, debug=True)
    x = ti.field(ti.i32, 1 << 16)

    @ti.kernel
    def check():
        for i in x:
            assert x[i] > 0, f"no number at {i}"

    for _ in range(2):
        with pytest.raises(ti.TaichiAssertionError, match=r"test_gpu\.py:\d+.*no number at \d+"):
            check()


def test_more_than_there_is() -> None:
    """Is refused, and the program goes on."""
    x = ti.field(ti.f32, 16)
    x.fill(1.0)
    with pytest.raises(ti.TaichiMemoryError):
        y = ti.field(ti.f64, 1 << 40)
        y[0] = 1.0
    assert x[3] == 1.0


def test_an_address_that_is_nobodys(tmp_path: Path) -> None:
    """Ends the process' use of the GPU; it says so, and names the kernel."""
    script = tmp_path / "astray.py"
    script.write_text(ASTRAY)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("until the process is restarted") == 2
    assert re.search("ILLEGAL_ADDRESS|INVALID_ADDRESS_SPACE", done.stdout)  # by what lies there
    assert "'astray'" in done.stdout


def test_threads_of_a_block_wait_and_shuffle() -> None:
    """Threads of the card for those of blocks: against NumPy, the last block full and not."""
    for count in (64, 4096, 1000):
        _turn_blocks(count)


def _turn_blocks(count: int) -> None:
    x, y = ti.field(ti.i32, count), ti.field(ti.i32, count)
    total = ti.field(ti.i32, ())

    @ti.kernel
    def turn() -> None:
        ti.loop_config(block_dim=64)
        for i in range(count):
            t = ti.simt.block.thread_idx()
            shared = ti.simt.block.SharedArray(64, ti.i32)
            shared[t] = x[i]
            ti.simt.block.sync()
            y[i] = shared[63 - t] + ti.simt.subgroup.inclusive_add(x[i])
            rounds = x[i] % 5
            while ti.simt.block.sync_any_nonzero(rounds > 0):
                rounds -= 1
                ti.atomic_add(total[None], ti.simt.subgroup.shuffle_xor(x[i], 1))

    numbers = np.random.default_rng(count).integers(1, 100, count).astype(np.int32)
    x.from_numpy(numbers)
    turn()
    padded = np.zeros(-(-count // 64) * 64, np.int32)
    padded[:count] = numbers
    turned = padded.reshape(-1, 64)[:, ::-1].reshape(-1)
    sums = padded.reshape(-1, 32).cumsum(1).reshape(-1)
    np.testing.assert_array_equal(y.to_numpy(), (turned + sums)[:count])
    rounds = (padded % 5).reshape(-1, 64).max(1, keepdims=True)
    assert total[None] == (rounds * padded.reshape(-1, 64)).sum()
