"""Memory of a device that only its owner reaches: what is not allocated, or no more, faults."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

GUARD, UNWRITTEN = 0xFC, 0xFD
_SIZE = 1 << 42  # bytes of address space, of which none is given twice
_NOTHING, _PRIVATE, _FIXED, _NORESERVE = 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0x10, 0x4000
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Space:
    """Addresses, of which none can be touched but those that were taken and not given back."""

    def __init__(self) -> None:
        self._next = self._forbid(None, _SIZE)
        self._end = self._next + _SIZE

    def take(self, size: int) -> int:
        """Return where so many bytes lie: behind a page that faults, and in front of one."""
        start, length = self._next, _pages(size)
        self._next += length + mmap.PAGESIZE
        assert self._next < self._end, "no addresses are left"
        if _libc.mprotect(start, length, mmap.PROT_READ | mmap.PROT_WRITE):
            raise OSError(ctypes.get_errno(), "mprotect")
        return start

    def give_back(self, start: int, size: int) -> None:
        """Let what lies there fault, for ever."""
        self._forbid(start, _pages(size))

    def _forbid(self, start: int | None, size: int) -> int:
        fixed = 0 if start is None else _FIXED
        place = _libc.mmap(start, size, _NOTHING, _PRIVATE | _NORESERVE | fixed, -1, 0)
        if place in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "mmap")
        return int(place)


def _pages(size: int) -> int:
    return -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE


@cache
def _space() -> Space:
    return Space()


class Block:
    """An allocation, with garbage in it, and guards behind it to the end of its page."""

    def __init__(self, size: int) -> None:
        self.size, self.start = size, _space().take(size)
        ctypes.memset(self.start, UNWRITTEN, size)
        ctypes.memset(self.start + size, GUARD, _pages(size) - size)

    def is_damaged(self) -> bool:
        """Whether somebody wrote to the guards."""
        behind = ctypes.string_at(self.start + self.size, _pages(self.size) - self.size)
        return behind.count(GUARD) != len(behind)

    def end(self) -> None:
        """Give the bytes back."""
        _space().give_back(self.start, self.size)

    def has(self, address: int) -> bool:
        """Whether a byte is in it."""
        return self.start <= address < self.start + self.size


class StrayError(Exception):
    """Code touched memory that is nobody's."""


# A signal that is caught by who runs the code: it goes back to where that was called.
_GUARDED = """
@place = internal global [1024 x i8] zeroinitializer, align 16
@runner = internal global i64 0
declare i32 @__sigsetjmp(ptr, i32) returns_twice
declare void @siglongjmp(ptr, i32) noreturn
declare i32 @sigaction(i32, ptr, ptr)
declare i64 @pthread_self()
declare void @abort() noreturn
define internal void @caught(i32 %signal) {
  %self = call i64 @pthread_self()
  %runner = load i64, ptr @runner
  %is_runner = icmp eq i64 %self, %runner
  br i1 %is_runner, label %back, label %die
back:
  call void @siglongjmp(ptr @place, i32 1)
  unreachable
die:
  call void @abort()
  unreachable
}
define i32 @guarded(ptr %code, ptr %arguments) {
  %action = alloca [256 x i8], align 16
  %before = alloca [256 x i8], align 16
  store [256 x i8] zeroinitializer, ptr %action
  store ptr @caught, ptr %action
  %self = call i64 @pthread_self()
  store i64 %self, ptr @runner
  %set = call i32 @sigaction(i32 11, ptr %action, ptr %before)
  %again = call i32 @__sigsetjmp(ptr @place, i32 1) returns_twice
  %is_first = icmp eq i32 %again, 0
  br i1 %is_first, label %run, label %end
run:
  call void %code(ptr %arguments)
  br label %end
end:
  %reset = call i32 @sigaction(i32 11, ptr %before, ptr null)
  ret i32 %again
}
"""


@cache
def _guarded() -> tuple[Any, Callable[[int, Any], int]]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
    compiler = llvm.create_mcjit_compiler(llvm.parse_assembly(_GUARDED), machine)
    compiler.finalize_object()
    address = compiler.get_function_address("guarded")
    return compiler, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)


def run_guarded(code: int, arguments: Any) -> None:
    """Call machine code. Raises StrayError where it touches memory that is nobody's."""
    _, guarded = _guarded()
    if guarded(code, arguments):
        raise StrayError
