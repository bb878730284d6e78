"""The code of workers, in the LLVM dialect: `share`, which launches call, and `work`, which workers
run.

    share(state, piece, frame, pieces, threads)

calls `piece(frame, k)` for all k below `pieces`. The caller takes pieces one by one; so does every
worker that comes by before all are taken, up to `threads` threads in all. Nobody waits for a worker
that has not come: only for the pieces that workers are in the middle of. Where another launch has
the workers, the caller does all pieces by itself.

The gate counts the workers that are in a job; a bit says that others may enter. Workers that have
nothing to do look at the bell for a while, then sleep, and count themselves as sleepers first.
"""

from __future__ import annotations

from enum import IntEnum
from string import Template

from mlirad.host import architecture
from mlirad.runtime.cpu.semaphores import semaphore_code

ADDRESSES = "addresses"  # a function that writes those of `share` and `work`
PAUSES = 4000  # of a processor that waits, some 20 to 40 ns each


class Word(IntEnum):
    """Positions in the state of the workers, in words of 8 bytes; words that different threads
    change are in different lines of the cache."""

    SHARE = 0  # the address of the function
    OWNER = 16
    GATE = 32
    NEXT = 48  # the first piece that nobody has taken
    PIECE = 64
    FRAME = 65
    PIECES = 66
    HELPERS = 67  # how many workers may take part
    BELL = 80  # how many jobs there were
    SLEEPERS = 96
    IS_OVER = 97
    BED = 112  # a semaphore that workers sleep at
    WAITING = 128  # whether the caller sleeps
    CHAIR = 136  # a semaphore that the caller sleeps at


WORDS = 160

_PAUSE = {"x86_64": "pause", "aarch64": "yield"}


def code() -> str:
    """The text of a module of both functions, and of one that says where they are."""
    places = {word.name: f"{_PLACE[0]}{word:d}{_PLACE[1]}" for word in Word}
    pause = _PAUSE.get(architecture(), "")
    text = semaphore_code() + _COMMON + _SHARE + _WORK + _ADDRESSES
    return Template(text).substitute(places, pause=pause, pauses=PAUSES)


_PLACE = "llvm.getelementptr %state[", "] : (!llvm.ptr) -> !llvm.ptr, i64"

_COMMON = """
llvm.func internal @pause() {
  llvm.inline_asm has_side_effects "$pause", "" : () -> ()
  llvm.return
}
llvm.func internal @take_pieces(%state: !llvm.ptr, %piece: !llvm.ptr, %frame: !llvm.ptr,
    %pieces: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %next = $NEXT
  llvm.br ^take
^take:
  %k = llvm.atomicrmw add %next, %one acq_rel : !llvm.ptr, i64
  %is_there = llvm.icmp "slt" %k, %pieces : i64
  llvm.cond_br %is_there, ^run, ^end
^run:
  llvm.call %piece(%frame, %k) : !llvm.ptr, (!llvm.ptr, i64) -> ()
  llvm.br ^take
^end:
  llvm.return
}
"""

_SHARE = """
llvm.func internal @share(%state: !llvm.ptr, %piece: !llvm.ptr, %frame: !llvm.ptr, %pieces: i64,
    %threads: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %owner = $OWNER
  %swap = llvm.cmpxchg %owner, %zero, %one acquire monotonic : !llvm.ptr, i64
  %is_ours = llvm.extractvalue %swap[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_ours, ^open, ^alone(%zero : i64)
^alone(%k: i64):
  %is_left = llvm.icmp "slt" %k, %pieces : i64
  llvm.cond_br %is_left, ^run, ^end
^run:
  llvm.call %piece(%frame, %k) : !llvm.ptr, (!llvm.ptr, i64) -> ()
  %after = llvm.add %k, %one : i64
  llvm.br ^alone(%after : i64)
^open:
  %others = llvm.sub %threads, %one : i64
  %rest = llvm.sub %pieces, %one : i64
  %helpers = llvm.intr.smin(%others, %rest) : (i64, i64) -> i64
  llvm.call @open(%state, %piece, %frame, %pieces, %helpers)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
  llvm.call @take_pieces(%state, %piece, %frame, %pieces)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.call @close(%state) : (!llvm.ptr) -> ()
  llvm.store %zero, %owner atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}
llvm.func internal @open(%state: !llvm.ptr, %piece: !llvm.ptr, %frame: !llvm.ptr, %pieces: i64,
    %helpers: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %is_open = llvm.mlir.constant(4294967296 : i64) : i64
  %piece_place = $PIECE
  %frame_place = $FRAME
  %pieces_place = $PIECES
  %helpers_place = $HELPERS
  %next = $NEXT
  %gate = $GATE
  %bell = $BELL
  %sleepers = $SLEEPERS
  %bed = $BED
  llvm.store %piece, %piece_place : !llvm.ptr, !llvm.ptr
  llvm.store %frame, %frame_place : !llvm.ptr, !llvm.ptr
  llvm.store %pieces, %pieces_place : i64, !llvm.ptr
  llvm.store %helpers, %helpers_place atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store %zero, %next atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store %is_open, %gate atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  %jobs = llvm.atomicrmw add %bell, %one seq_cst : !llvm.ptr, i64
  llvm.br ^wake(%zero : i64)
^wake(%woken: i64):
  %is_wanted = llvm.icmp "slt" %woken, %helpers : i64
  llvm.cond_br %is_wanted, ^look, ^end
^look:
  %asleep = llvm.load %sleepers atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %is_one = llvm.icmp "sgt" %asleep, %zero : i64
  llvm.cond_br %is_one, ^claim, ^end
^claim:
  %fewer = llvm.sub %asleep, %one : i64
  %swap = llvm.cmpxchg %sleepers, %asleep, %fewer seq_cst monotonic : !llvm.ptr, i64
  %is_claimed = llvm.extractvalue %swap[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_claimed, ^post, ^look
^post:
  %posted = llvm.call @sem_post(%bed) : (!llvm.ptr) -> i32
  %more = llvm.add %woken, %one : i64
  llvm.br ^wake(%more : i64)
^end:
  llvm.return
}
llvm.func internal @close(%state: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %most = llvm.mlir.constant($pauses : i64) : i64
  %inside = llvm.mlir.constant(4294967295 : i64) : i64
  %gate = $GATE
  %waiting = $WAITING
  %chair = $CHAIR
  %shut = llvm.atomicrmw _and %gate, %inside seq_cst : !llvm.ptr, i64
  llvm.br ^watch(%zero : i64)
^watch(%paused: i64):
  %now = llvm.load %gate atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  %is_empty = llvm.icmp "eq" %now, %zero : i64
  llvm.cond_br %is_empty, ^end, ^patience
^patience:
  %is_patient = llvm.icmp "slt" %paused, %most : i64
  llvm.cond_br %is_patient, ^pause, ^sit
^pause:
  llvm.call @pause() : () -> ()
  %longer = llvm.add %paused, %one : i64
  llvm.br ^watch(%longer : i64)
^sit:
  llvm.store %one, %waiting atomic seq_cst {alignment = 8 : i64} : i64, !llvm.ptr
  %then = llvm.load %gate atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %is_over = llvm.icmp "eq" %then, %zero : i64
  llvm.cond_br %is_over, ^rise, ^sleep
^sleep:
  %slept = llvm.call @sem_wait(%chair) : (!llvm.ptr) -> i32
  llvm.br ^watch(%most : i64)
^rise:
  llvm.store %zero, %waiting atomic seq_cst {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}
"""

_WORK = """
llvm.func internal @work(%state: !llvm.ptr) -> !llvm.ptr {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %most = llvm.mlir.constant($pauses : i64) : i64
  %is_open = llvm.mlir.constant(4294967296 : i64) : i64
  %counted = llvm.mlir.constant(4294967295 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %gate = $GATE
  %bell = $BELL
  %helpers = $HELPERS
  %sleepers = $SLEEPERS
  %over = $IS_OVER
  %bed = $BED
  %waiting = $WAITING
  %chair = $CHAIR
  llvm.br ^listen
^listen:
  %heard = llvm.load %bell atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %ended = llvm.load %over atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %is_ended = llvm.icmp "ne" %ended, %zero : i64
  llvm.cond_br %is_ended, ^end, ^look
^look:
  %now = llvm.load %gate atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
  %inside = llvm.and %now, %counted : i64
  %may = llvm.load %helpers atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  %opened = llvm.icmp "sge" %now, %is_open : i64
  %has_room = llvm.icmp "slt" %inside, %may : i64
  %go = llvm.and %opened, %has_room : i1
  llvm.cond_br %go, ^enter, ^watch(%zero : i64)
^enter:
  %more = llvm.add %now, %one : i64
  %swap = llvm.cmpxchg %gate, %now, %more acq_rel monotonic : !llvm.ptr, i64
  %is_in = llvm.extractvalue %swap[1] : !llvm.struct<(i64, i1)>
  llvm.cond_br %is_in, ^help, ^look
^help:
  %piece_place = $PIECE
  %frame_place = $FRAME
  %pieces_place = $PIECES
  %piece = llvm.load %piece_place : !llvm.ptr -> !llvm.ptr
  %frame = llvm.load %frame_place : !llvm.ptr -> !llvm.ptr
  %pieces = llvm.load %pieces_place : !llvm.ptr -> i64
  llvm.call @take_pieces(%state, %piece, %frame, %pieces)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  %before = llvm.atomicrmw sub %gate, %one seq_cst : !llvm.ptr, i64
  %is_last = llvm.icmp "eq" %before, %one : i64
  llvm.cond_br %is_last, ^leave, ^watch(%zero : i64)
^leave:
  %sits = llvm.atomicrmw xchg %waiting, %zero seq_cst : !llvm.ptr, i64
  %is_sitting = llvm.icmp "ne" %sits, %zero : i64
  llvm.cond_br %is_sitting, ^call, ^watch(%zero : i64)
^call:
  %called = llvm.call @sem_post(%chair) : (!llvm.ptr) -> i32
  llvm.br ^watch(%zero : i64)
^watch(%paused: i64):
  %rings = llvm.load %bell atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %is_new = llvm.icmp "ne" %rings, %heard : i64
  llvm.cond_br %is_new, ^listen, ^patience
^patience:
  %is_patient = llvm.icmp "slt" %paused, %most : i64
  llvm.cond_br %is_patient, ^pause, ^lie
^pause:
  llvm.call @pause() : () -> ()
  %longer = llvm.add %paused, %one : i64
  llvm.br ^watch(%longer : i64)
^lie:
  %asleep = llvm.atomicrmw add %sleepers, %one seq_cst : !llvm.ptr, i64
  %late = llvm.load %bell atomic seq_cst {alignment = 8 : i64} : !llvm.ptr -> i64
  %is_late = llvm.icmp "ne" %late, %heard : i64
  llvm.cond_br %is_late, ^listen, ^sleep
^sleep:
  %slept = llvm.call @sem_wait(%bed) : (!llvm.ptr) -> i32
  llvm.br ^listen
^end:
  llvm.return %null : !llvm.ptr
}
"""

_ADDRESSES = """
llvm.func @_mlir_ciface_addresses(%found: !llvm.ptr) {
  %share = llvm.mlir.addressof @share : !llvm.ptr
  %work = llvm.mlir.addressof @work : !llvm.ptr
  %second = llvm.getelementptr %found[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  llvm.store %share, %found : !llvm.ptr, !llvm.ptr
  llvm.store %work, %second : !llvm.ptr, !llvm.ptr
  llvm.return
}
"""
