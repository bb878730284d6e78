"""Threads of this process that share parallel loops with those that launch them."""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.host import Feature, has
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import lines_for_debuggers
from mlirad.runtime.cpu.semaphores import begin_semaphore
from mlirad.runtime.cpu.worker_code import ADDRESSES, WORDS, Word, code
from mlirad.runtime.executor.executor import KeptCode, LoweredKernel
from mlirad.runtime.native.machine_code import machine_code

_PATIENCE = 1.0  # seconds that the end of the process waits for workers
_OWN_FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
_WORD = 8  # bytes


class _Code(NamedTuple):
    """The addresses of the functions; `owner` has their memory."""

    share: int
    work: int
    owner: object


class Workers:
    """Threads that live as long as the process; a forked process gets its own.

    Launches find them by the address of their state, which never changes.
    """

    def __init__(self, kept_code: KeptCode, *, debug_info: bool = False) -> None:
        self._code = _compile(kept_code, debug_info)
        self._memory = mmap.mmap(-1, WORDS * _WORD, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._words = (ctypes.c_int64 * WORDS).from_buffer(self._memory)
        self._threads: list[ctypes.c_ulong] = []
        self._library = ctypes.CDLL(None)
        self._clear()
        os.register_at_fork(after_in_child=self._begin_anew)
        atexit.register(self._end)

    @property
    def address(self) -> int:
        return ctypes.addressof(self._words)

    def hire(self, count: int) -> None:
        """See to it that there are so many, as far as the system allows."""
        if count <= len(self._threads):
            return
        blocked = signal.valid_signals() - _OWN_FAULTS
        earlier = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)  # they are for Python's threads
        try:
            while len(self._threads) < count and self._start():
                pass
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, earlier)

    def _start(self) -> bool:
        thread = ctypes.c_ulong()
        work, state = ctypes.c_void_p(self._code.work), ctypes.c_void_p(self.address)
        if self._library.pthread_create(ctypes.byref(thread), None, work, state):
            return False
        self._threads.append(thread)
        return True

    def _clear(self) -> None:
        ctypes.memset(self.address, 0, WORDS * _WORD)
        self._words[Word.SHARE] = self._code.share
        for place in (Word.BED, Word.CHAIR):
            begin_semaphore(self._library, self.address + place * _WORD)

    def _begin_anew(self) -> None:
        """In a forked process, which has only the thread that forked."""
        count, self._threads = len(self._threads), []
        self._clear()
        self.hire(count)

    def _end(self) -> None:
        """Have the workers return, before Python takes their code from under them; where they
        cannot be waited for, their code stays."""
        if not has(Feature.SEMAPHORES):
            self._keep()
            return
        self._words[Word.IS_OVER] = 1
        self._words[Word.BELL] += 1
        for _ in self._threads:
            self._library.sem_post(ctypes.c_void_p(self.address + Word.BED * _WORD))
        deadline = _Time.after(_PATIENCE)
        for thread in self._threads:
            if self._library.pthread_timedjoin_np(thread, None, ctypes.byref(deadline)):
                self._keep()  # it is within a kernel
        self._threads = []

    def _keep(self) -> None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


class _Time(ctypes.Structure):
    """`timespec`."""

    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]

    @classmethod
    def after(cls, seconds: float) -> _Time:
        """The time some seconds from now."""
        return cls(*divmod(time.time_ns() + int(seconds * 1e9), 10**9))


def _compile(kept_code: KeptCode, debug_info: bool) -> _Code:
    def parse_code() -> ir.Module:
        with context():
            module = ir.Module.parse(code())
            if debug_info:
                run_pipeline(module.operation, f"builtin.module({lines_for_debuggers()})")
        return module

    # compiled fast: what takes time is the pieces
    lowered = LoweredKernel(parse_code, ADDRESSES, (), code=kept_code)
    machine = machine_code(lowered, opt_level=0, debug_info=debug_info)
    addresses = (ctypes.c_int64 * 2)()
    first = ctypes.c_void_p(ctypes.addressof(addresses))
    machine.function((ctypes.c_void_p * 1)(ctypes.addressof(first)))
    return _Code(addresses[0], addresses[1], machine.owner)


class _Process:
    """The workers of this process."""

    workers: Workers | None = None


def workers(
    count: int, find_code: Callable[[str], KeptCode], *, debug_info: bool = False
) -> Workers:
    """The workers of this process, `count` at least; `find_code` is asked for their code, by its
    text."""
    if _Process.workers is None:
        _Process.workers = Workers(find_code(code()), debug_info=debug_info)
    _Process.workers.hire(count)
    return _Process.workers
