"""The semaphores that workers sleep at: the system's, or a count that POSIX's mutexes and
conditions guard, for systems without unnamed semaphores."""

from __future__ import annotations

import ctypes

from mlirad.host import Feature, has

# where a semaphore of ours has what, in bytes; a mutex takes at most 64, a condition at most 48
_CONDITION, _COUNT = 64, 112


def begin_semaphore(library: ctypes.CDLL, address: int) -> None:
    """Begin a semaphore of nothing, in zeroed memory: 128 bytes of it."""
    if has(Feature.SEMAPHORES):
        library.sem_init(ctypes.c_void_p(address), 0, 0)
        return
    library.pthread_mutex_init(ctypes.c_void_p(address), None)
    library.pthread_cond_init(ctypes.c_void_p(address + _CONDITION), None)


def semaphore_code() -> str:
    """Return `sem_wait` and `sem_post`, in the LLVM dialect."""
    return _SYSTEM if has(Feature.SEMAPHORES) else _POSIX


_SYSTEM = """
llvm.func @sem_wait(!llvm.ptr) -> i32
llvm.func @sem_post(!llvm.ptr) -> i32
"""

_POSIX = f"""
llvm.func @pthread_mutex_lock(!llvm.ptr) -> i32
llvm.func @pthread_mutex_unlock(!llvm.ptr) -> i32
llvm.func @pthread_cond_wait(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_cond_signal(!llvm.ptr) -> i32
llvm.func internal @sem_wait(%mutex: !llvm.ptr) -> i32 {{
  %none = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %condition = llvm.getelementptr %mutex[{_CONDITION}] : (!llvm.ptr) -> !llvm.ptr, i8
  %place = llvm.getelementptr %mutex[{_COUNT}] : (!llvm.ptr) -> !llvm.ptr, i8
  %locked = llvm.call @pthread_mutex_lock(%mutex) : (!llvm.ptr) -> i32
  llvm.br ^look
^look:
  %count = llvm.load %place : !llvm.ptr -> i64
  %is_there = llvm.icmp "sgt" %count, %none : i64
  llvm.cond_br %is_there, ^take, ^sleep
^sleep:
  %woken = llvm.call @pthread_cond_wait(%condition, %mutex) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.br ^look
^take:
  %fewer = llvm.sub %count, %one : i64
  llvm.store %fewer, %place : i64, !llvm.ptr
  %unlocked = llvm.call @pthread_mutex_unlock(%mutex) : (!llvm.ptr) -> i32
  llvm.return %unlocked : i32
}}
llvm.func internal @sem_post(%mutex: !llvm.ptr) -> i32 {{
  %one = llvm.mlir.constant(1 : i64) : i64
  %condition = llvm.getelementptr %mutex[{_CONDITION}] : (!llvm.ptr) -> !llvm.ptr, i8
  %place = llvm.getelementptr %mutex[{_COUNT}] : (!llvm.ptr) -> !llvm.ptr, i8
  %locked = llvm.call @pthread_mutex_lock(%mutex) : (!llvm.ptr) -> i32
  %count = llvm.load %place : !llvm.ptr -> i64
  %more = llvm.add %count, %one : i64
  llvm.store %more, %place : i64, !llvm.ptr
  %signaled = llvm.call @pthread_cond_signal(%condition) : (!llvm.ptr) -> i32
  %unlocked = llvm.call @pthread_mutex_unlock(%mutex) : (!llvm.ptr) -> i32
  llvm.return %unlocked : i32
}}
"""
