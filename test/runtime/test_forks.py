"""Processes that are forked while other threads compile, or hold locks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''
import multiprocessing, os, signal, sys, threading, time
import mlirad as ti
from mlirad.dialect import turn
from mlirad.runtime.program import program

ti.init(default_fp=ti.f64, cpu_max_num_threads=2)
x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
is_compiling = threading.Event()


def pause():
    is_compiling.set()
    time.sleep(0.2)
    return 2.0


def compile_slowly():
    @ti.kernel
    def scale():
        for i in x:
            x[i] = ti.static(pause())

    scale()


def differentiate():
    """Exit with status 0 if a kernel that is compiled here has the right gradient."""
    signal.alarm(20)

    @ti.kernel
    def add_up(power: ti.template()):
        for i in x:
            loss[None] += x[i] ** power

    x.fill(2.0)
    with ti.ad.Tape(loss):
        add_up(3)
    os._exit(0 if (x.grad.to_numpy() == 12.0).all() else 1)


def forked(run):
    """The exit status of a function in a fork."""
    child = os.fork()
    if child == 0:
        run()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fork_while_compiling():
    thread = threading.Thread(target=compile_slowly)
    thread.start()
    is_compiling.wait()
    status = forked(differentiate)
    thread.join()
    return status


def fork_again():
    return forked(lambda: os._exit(fork_while_compiling()))


def start_process():
    thread = threading.Thread(target=compile_slowly)
    thread.start()
    is_compiling.wait()
    process = multiprocessing.get_context("fork").Process(target=differentiate)
    process.start()
    process.join()
    thread.join()
    return process.exitcode


def fork_in_turn():
    with turn.compiling, program().threads.alone:
        return forked(differentiate)


def fork_while_locks_are_held():
    ends, is_held = threading.Event(), threading.Event()

    def hold():
        for lock in turn._fork.locks:
            lock.acquire()
        is_held.set()
        ends.wait()

    threading.Thread(target=hold, daemon=True).start()
    is_held.wait()
    status = forked(differentiate)
    ends.set()
    return status


status = globals()[sys.argv[1]]()
sys.stdout.write(str(status))
sys.stdout.flush()
os._exit(0)
'''


@pytest.mark.parametrize(
    "way",
    [
        "fork_while_compiling",
        "fork_again",
        "start_process",
        "fork_in_turn",
        "fork_while_locks_are_held",
    ],
)
def test_a_forked_process_finds_all_locks_free(way: str, tmp_path: Path) -> None:
    """Another thread of its parent compiled, or held them."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file), way], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "0", done.stdout + done.stderr
