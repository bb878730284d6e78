"""Host code that notes a launch, in the LLVM dialect: see `queue.py` for the words."""

from __future__ import annotations

from mlirad.runtime.cuda.sequences.queue import CAPACITY, HEAD, State

_QUEUE = f"!llvm.struct<(i64, i64, i64, i64, i64, array<{CAPACITY} x i64>)>"
_SIZES = ("gx", "gy", "gz", "bx", "by", "bz", "shared")
_FACTOR = 0x9E3779B97F4A7C15 - (1 << 64)


def _store(number: int, value: str) -> str:
    """Have a word of the head, and the hash of all before."""
    return f"""
  %place{number} = llvm.getelementptr %base[{number}] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store {value}, %place{number} : i64, !llvm.ptr
  %mixed{number} = llvm.xor %hash{number}, {value} : i64
  %hash{number + 1} = llvm.mul %mixed{number}, %factor : i64"""


_HEAD = "".join(
    _store(number, value)
    for number, value in enumerate(["%handle", *(f"%w{name}" for name in _SIZES), "%count"])
)
_WIDENED = "\n".join(f"  %w{name} = llvm.zext %{name} : i32 to i64" for name in _SIZES)
_FIELDS = "".join(
    f"""
llvm.func internal @queue.{name}() -> !llvm.ptr {{
  %queue = llvm.call @get.queue() : () -> !llvm.ptr
  %place = llvm.getelementptr %queue[0, {number}] : (!llvm.ptr) -> !llvm.ptr, {_QUEUE}
  llvm.return %place : !llvm.ptr
}}"""
    for number, name in enumerate(("state", "used", "count", "shape", "limit", "words"))
)

# A launch whose arguments nobody knows is made at once, behind those that are noted.
NOTING = f"""
{_FIELDS}
llvm.mlir.global internal @shim.masks() : !llvm.ptr {{
  %none = llvm.mlir.zero : !llvm.ptr
  llvm.return %none : !llvm.ptr
}}
llvm.func internal @shim.settle() {{
  %during = $LAUNCH
  %zero = llvm.mlir.constant(0 : i64) : i64
  %place = llvm.call @queue.used() : () -> !llvm.ptr
  %used = llvm.load %place : !llvm.ptr -> i64
  %is_empty = llvm.icmp "eq" %used, %zero : i64
  llvm.cond_br %is_empty, ^end, ^go
^go:
  %finish = llvm.call @get.finish() : () -> !llvm.ptr
  %result = llvm.call %finish() : !llvm.ptr, () -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}}
llvm.func internal @shim.note_launch(%function: !llvm.ptr, %gx: i32, %gy: i32, %gz: i32, %bx: i32,
    %by: i32, %bz: i32, %shared: i32, %arguments: !llvm.ptr, %count: i64) -> i1 {{
  %false = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !llvm.ptr
  %closed = llvm.mlir.constant({State.CLOSED:d} : i64) : i64
  %gathered = llvm.mlir.constant({State.GATHERED:d} : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %capacity = llvm.mlir.constant({CAPACITY} : i64) : i64
  %head = llvm.mlir.constant({HEAD} : i64) : i64
  %factor = llvm.mlir.constant({_FACTOR} : i64) : i64
  %state_place = llvm.call @queue.state() : () -> !llvm.ptr
  %used_place = llvm.call @queue.used() : () -> !llvm.ptr
  %count_place = llvm.call @queue.count() : () -> !llvm.ptr
  %shape_place = llvm.call @queue.shape() : () -> !llvm.ptr
  %words = llvm.call @queue.words() : () -> !llvm.ptr
  %state = llvm.load %state_place : !llvm.ptr -> i64
  %is_closed = llvm.icmp "eq" %state, %closed : i64
  llvm.cond_br %is_closed, ^launch, ^look
^look:
  %masks_place = llvm.mlir.addressof @shim.masks : !llvm.ptr
  %masks = llvm.load %masks_place : !llvm.ptr -> !llvm.ptr
  %is_unknown = llvm.icmp "eq" %masks, %null : !llvm.ptr
  llvm.cond_br %is_unknown, ^alone, ^measure
^alone:
  llvm.call @shim.settle() : () -> ()
  llvm.br ^launch
^measure:
  %twice = llvm.add %count, %count : i64
  %size = llvm.add %twice, %head : i64
  %used_before = llvm.load %used_place : !llvm.ptr -> i64
  %count_before = llvm.load %count_place : !llvm.ptr -> i64
  %used_then = llvm.add %used_before, %size : i64
  %is_wide = llvm.icmp "ugt" %used_then, %capacity : i64
  %limit_place = llvm.call @queue.limit() : () -> !llvm.ptr
  %limit = llvm.load %limit_place : !llvm.ptr -> i64
  %is_long = llvm.icmp "uge" %count_before, %limit : i64
  %is_full = llvm.or %is_wide, %is_long : i1
  llvm.cond_br %is_full, ^full, ^append
^full:
  llvm.call @shim.settle() : () -> ()
  llvm.br ^append
^append:
  %used = llvm.load %used_place : !llvm.ptr -> i64
  %noted = llvm.load %count_place : !llvm.ptr -> i64
  %hash0 = llvm.load %shape_place : !llvm.ptr -> i64
  %base = llvm.getelementptr %words[%used] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %handle = llvm.ptrtoint %function : !llvm.ptr to i64
{_WIDENED}{_HEAD}
  %used_now = llvm.add %used, %size : i64
  %noted_now = llvm.add %noted, %one : i64
  llvm.store %used_now, %used_place : i64, !llvm.ptr
  llvm.store %noted_now, %count_place : i64, !llvm.ptr
  llvm.store %hash{HEAD}, %shape_place : i64, !llvm.ptr
  %addresses = llvm.getelementptr %base[{HEAD}] : (!llvm.ptr) -> !llvm.ptr, i64
  %values = llvm.getelementptr %addresses[%count] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.br ^copy(%zero : i64)
^copy(%k: i64):
  %is_done = llvm.icmp "uge" %k, %count : i64
  llvm.cond_br %is_done, ^noted, ^word
^word:
  %from_place = llvm.getelementptr %arguments[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %from = llvm.load %from_place : !llvm.ptr -> !llvm.ptr
  %loaded = llvm.load %from {{alignment = 1 : i64}} : !llvm.ptr -> i64
  %mask_place = llvm.getelementptr %masks[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %mask = llvm.load %mask_place : !llvm.ptr -> i64
  %value = llvm.and %loaded, %mask : i64
  %to = llvm.getelementptr %values[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %to_place = llvm.getelementptr %addresses[%k] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  llvm.store %value, %to : i64, !llvm.ptr
  llvm.store %to, %to_place : !llvm.ptr, !llvm.ptr
  %next = llvm.add %k, %one : i64
  llvm.br ^copy(%next : i64)
^noted:
  %state_now = llvm.load %state_place : !llvm.ptr -> i64
  %is_gathered = llvm.icmp "uge" %state_now, %gathered : i64
  llvm.return %is_gathered : i1
^launch:
  llvm.return %false : i1
}}
"""
