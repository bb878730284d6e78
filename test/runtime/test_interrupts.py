"""Ctrl-C, as a real signal to a process of its own: what holds afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_stub(pytestconfig: pytest.Config) -> None:
    """A driver runs on; the stub is Python's code, which is interrupted as the program's is."""
    if pytestconfig.getoption("--stub"):
        pytest.skip("an interrupt would end the stub's calls")


PROGRAM = """
import os, random, signal, sys, threading, time, warnings
import numpy as np
import mlirad as ti

ti.init(default_fp=ti.f64, cpu_max_num_threads=2)

def make():
    x = ti.field(ti.f64, 100, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def total() -> ti.f64:
        for i in x:
            loss[None] += x[i]
        return 2.0

    return x, loss, square, total

def differentiate(x, loss, square, total, steps=3):
    x.fill(1.0)
    with ti.ad.Tape(loss):
        for _ in range(steps):
            square()
        assert total() == 2.0
    assert (x.grad.to_numpy() == 2.0 ** steps).all()
    assert loss[None] == 100.0

def say(word):
    print(word, flush=True)
"""

LAUNCHES = """
x, loss, square, total = made = make()

@ti.kernel
def count():
    for i in x:
        x[i] += 1.0

differentiate(*made)
x.fill(0.0)
count()
try:
    say("ready")
    while True:
        count()
except KeyboardInterrupt:
    found = x.to_numpy()
    assert (found == found[0]).all() and found[0] > 1.0
    count()
    assert x[7] == found[0] + 1.0
    differentiate(*made)
    differentiate(*make())
    say("fine")
"""

REVERSE = """
x, loss, square, total = made = make()
differentiate(*made)
x.fill(1.0 + 1e-9)
warnings.simplefilter("ignore")  # x[0] carries a derivative, which the writes drop
tape = ti.ad.Tape()
with tape:
    for _ in range(2000):
        x[0] = 1.0
        square()
    total()
left = x.to_numpy()
tape.grad({loss: 1.0})
try:
    say("ready")
    while True:
        tape.grad({loss: 1.0})
except KeyboardInterrupt:
    np.testing.assert_array_equal(x.to_numpy(), left)
    differentiate(*made)
    say("fine")
"""

ANYWHERE = """
chosen = random.Random(1)

def work():
    made = make()
    while True:
        differentiate(*made)
        if chosen.random() < 0.4:
            made = make()

def interrupt(delay, caught):
    time.sleep(delay)
    os.kill(os.getpid(), signal.SIGINT)
    while not caught.wait(5.0):  # Python drops what is raised in a destructor
        os.kill(os.getpid(), signal.SIGINT)

differentiate(*make())
say("ready")
for _ in range(12):
    caught = threading.Event()
    try:
        thread = threading.Thread(target=interrupt, args=(chosen.uniform(0.005, 0.2), caught))
        thread.start()
        work()
    except KeyboardInterrupt:
        caught.set()
    thread.join()
    differentiate(*make())
say("fine")
"""

LONG = """
x = ti.field(ti.f64, 4)

@ti.kernel
def slow(n: ti.i32):
    for i in x:
        s = 0.0
        for k in range(n):
            s += ti.sin(s + k)
        x[i] = s

slow(1)
try:
    say("ready")
    slow(HOW_LONG)
    say("not interrupted")
except KeyboardInterrupt:
    assert (x.to_numpy() == x[0]).all() and x[0] != 0.0
    slow(1)
    assert x[0] == 0.0
    say("fine")
"""


@contextmanager
def started(program: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs a program, once it has said that it is ready."""
    file = folder / "program.py"
    file.write_text(PROGRAM + program)
    with subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def wait_until_it_computes(process: subprocess.Popen[str]) -> None:
    """Until 0.1 s of processor time have passed: all that is left to the program is inside a
    kernel."""

    def used() -> int:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])  # proc_pid_stat(5): utime and stime, in ticks

    enough = used() + os.sysconf("SC_CLK_TCK") // 10
    end = time.monotonic() + 60
    while used() < enough:
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.01)


@pytest.mark.parametrize("program", [LAUNCHES, REVERSE])
@pytest.mark.parametrize("delay", [0.05, 0.3])
def test_between_launches(program: str, delay: float, tmp_path: Path) -> None:
    """The launch that runs is finished, memory holds what launches left, and everything goes on."""
    with started(program, tmp_path) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (out, errors, process.returncode) == ("fine\n", "", 0)


def test_anywhere(tmp_path: Path) -> None:
    """Also while fields are made, kernels compiled and reverses run: afterwards new programs are
    right."""
    with started(ANYWHERE, tmp_path) as process:
        out, errors = process.communicate(timeout=120)
    assert out == "fine\n", errors


def test_a_kernel_is_finished_first(tmp_path: Path) -> None:
    """Python's handler runs once the kernel returns, and the fields are what it left."""
    with started(LONG.replace("HOW_LONG", "50_000_000"), tmp_path) as process:
        wait_until_it_computes(process)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
    assert (out, errors, process.returncode) == ("fine\n", "", 0)


def test_a_kernel_that_does_not_end_is_ended_by_another_signal(tmp_path: Path) -> None:
    """Ctrl-\\ ends the process at once."""
    with started(LONG.replace("HOW_LONG", "2_000_000_000"), tmp_path) as process:
        wait_until_it_computes(process)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        begin = time.monotonic()
        process.send_signal(signal.SIGQUIT)
        process.communicate(timeout=10)
    assert process.returncode == -signal.SIGQUIT and time.monotonic() - begin < 5
