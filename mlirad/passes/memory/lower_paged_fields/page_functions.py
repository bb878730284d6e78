"""The functions of GPU code that find a byte of paged memory.

While a kernel runs that takes no pages, entries stay as they are. In one that does, those which are
there stay; one that is not may have come, and is read again, as all threads see it. Of the threads
that need a page one takes it, and the others wait for the few instructions that this takes.
"""

from string import Template

from mlirad.bindings import ir
from mlirad.ir.memory.pages import (
    BYTE_BITS,
    NOWHERE,
    PAGE,
    PAGE_BITS,
    TABLE,
    TABLE_BITS,
    TREES,
    Word,
)
from mlirad.ir.memory.pages import TAKEN as BEING_TAKEN
from mlirad.ir.walk import block_operations

LOOK, LOOK_AGAIN, REACH = "pages.look", "pages.look_again", "pages.reach"


def add_page_functions(holder: ir.Operation, *, may_take: bool) -> None:
    """Add the functions to a `gpu.module`: those that read, and where a kernel `may_take` pages,
    those that write, and read in such a kernel."""
    text = _SHARED + _READING + _LOOK.replace("$look", LOOK)
    if may_take:
        text += _WRITING + _LOOK.replace("$look", LOOK_AGAIN)
    numbers = {word.name: word.value for word in Word}
    module = ir.Module.parse(
        Template(text).substitute(
            numbers,
            shift=PAGE_BITS + TABLE_BITS,
            page_bits=PAGE_BITS,
            byte_bits=BYTE_BITS,
            bytes=(1 << BYTE_BITS) - 1,
            trees=TREES - 1,
            in_page=PAGE - 1,
            in_table=TABLE - 1,
            nowhere=NOWHERE,
            taken=BEING_TAKEN,
        )
    )
    first = holder.regions[0].blocks[0].operations[0]
    for op in block_operations(module.body):
        op.move_before(first)


_SHARED = """
func.func private @pages.behind(%header: !llvm.ptr, %word: i64) -> !llvm.ptr {
  %place = llvm.getelementptr %header[%word] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %bytes = llvm.load %place invariant : !llvm.ptr -> i64
  %pointer = llvm.getelementptr %header[%bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %pointer : !llvm.ptr
}
func.func private @pages.page(%header: !llvm.ptr, %entry: i32) -> !llvm.ptr {
  %word = arith.constant $PAGES : i64
  %bits = arith.constant $page_bits : i64
  %first = func.call @pages.behind(%header, %word) : (!llvm.ptr, i64) -> !llvm.ptr
  %number = arith.extui %entry : i32 to i64
  %bytes = arith.shli %number, %bits : i64
  %page = llvm.getelementptr %first[%bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %page : !llvm.ptr
}
func.func private @pages.in_root(%header: !llvm.ptr, %address: i64) -> !llvm.ptr {
  %byte_bits = arith.constant $byte_bits : i64
  %trees = arith.constant $trees : i64
  %roots = arith.constant $ROOTS : i64
  %bytes = arith.constant $bytes : i64
  %shift = arith.constant $shift : i64
  %marked = arith.shrui %address, %byte_bits : i64
  %tree = arith.andi %marked, %trees : i64
  %word = arith.addi %tree, %roots : i64
  %root = func.call @pages.behind(%header, %word) : (!llvm.ptr, i64) -> !llvm.ptr
  %byte = arith.andi %address, %bytes : i64
  %number = arith.shrui %byte, %shift : i64
  %place = llvm.getelementptr %root[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  return %place : !llvm.ptr
}
func.func private @pages.in_table(%header: !llvm.ptr, %table: i32, %address: i64) -> !llvm.ptr {
  %page_bits = arith.constant $page_bits : i64
  %mask = arith.constant $in_table : i64
  %first = func.call @pages.page(%header, %table) : (!llvm.ptr, i32) -> !llvm.ptr
  %page = arith.shrui %address, %page_bits : i64
  %number = arith.andi %page, %mask : i64
  %place = llvm.getelementptr %first[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  return %place : !llvm.ptr
}
func.func private @pages.byte(%header: !llvm.ptr, %entry: i32, %address: i64) -> !llvm.ptr {
  %mask = arith.constant $in_page : i64
  %page = func.call @pages.page(%header, %entry) : (!llvm.ptr, i32) -> !llvm.ptr
  %number = arith.andi %address, %mask : i64
  %byte = llvm.getelementptr %page[%number] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  return %byte : !llvm.ptr
}
"""

_LOOK = """
func.func private @$look(%header: !llvm.ptr, %address: i64) -> !llvm.ptr {
  %in_root = func.call @pages.in_root(%header, %address) : (!llvm.ptr, i64) -> !llvm.ptr
  %table = func.call @$look.entry(%in_root) : (!llvm.ptr) -> i32
  %in_table = func.call @pages.in_table(%header, %table, %address)
    : (!llvm.ptr, i32, i64) -> !llvm.ptr
  %page = func.call @$look.entry(%in_table) : (!llvm.ptr) -> i32
  %byte = func.call @pages.byte(%header, %page, %address) : (!llvm.ptr, i32, i64) -> !llvm.ptr
  return %byte : !llvm.ptr
}
"""

_READING = """
func.func private @pages.look.entry(%place: !llvm.ptr) -> i32 {
  %entry = llvm.load %place invariant : !llvm.ptr -> i32
  return %entry : i32
}
"""

_WRITING = """
func.func private @pages.look_again.entry(%place: !llvm.ptr) -> i32 {
  %taken = arith.constant $taken : i32
  %seen = llvm.load %place : !llvm.ptr -> i32
  %is_none = arith.cmpi ule, %seen, %taken : i32
  %entry = scf.if %is_none -> (i32) {
    %now = llvm.load volatile %place : !llvm.ptr -> i32
    scf.yield %now : i32
  } else {
    scf.yield %seen : i32
  }
  return %entry : i32
}
func.func private @pages.next(%header: !llvm.ptr) -> i32 {
  %nowhere = arith.constant $nowhere : i32
  %one = arith.constant 1 : i64
  %taken = llvm.getelementptr %header[$TAKEN] : (!llvm.ptr) -> !llvm.ptr, i64
  %offered = llvm.getelementptr %header[$OFFERED] : (!llvm.ptr) -> !llvm.ptr, i64
  %number = llvm.atomicrmw add %taken, %one monotonic : !llvm.ptr, i64
  %limit = llvm.load %offered invariant : !llvm.ptr -> i64
  %is_there = arith.cmpi ult, %number, %limit : i64
  %page = scf.if %is_there -> (i32) {
    %word = arith.constant $RING : i64
    %ring = func.call @pages.behind(%header, %word) : (!llvm.ptr, i64) -> !llvm.ptr
    %mask_place = llvm.getelementptr %header[$MASK] : (!llvm.ptr) -> !llvm.ptr, i64
    %mask = llvm.load %mask_place invariant : !llvm.ptr -> i64
    %position = arith.andi %number, %mask : i64
    %place = llvm.getelementptr %ring[%position] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %next = llvm.load %place invariant : !llvm.ptr -> i32
    scf.yield %next : i32
  } else {
    %refused = llvm.getelementptr %header[$REFUSED] : (!llvm.ptr) -> !llvm.ptr, i64
    %earlier = llvm.atomicrmw add %refused, %one monotonic : !llvm.ptr, i64
    scf.yield %nowhere : i32
  }
  return %page : i32
}
func.func private @pages.take(%header: !llvm.ptr, %place: !llvm.ptr) -> i32 {
  %none = arith.constant 0 : i32
  %taken = arith.constant $taken : i32
  %nowhere = arith.constant $nowhere : i32
  %entry = scf.while : () -> i32 {
    %pair = llvm.cmpxchg %place, %none, %taken monotonic monotonic : !llvm.ptr, i32
    %seen = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
    %is_ours = arith.cmpi eq, %seen, %none : i32
    %now = scf.if %is_ours -> (i32) {
      %page = func.call @pages.next(%header) : (!llvm.ptr) -> i32
      %is_none = arith.cmpi eq, %page, %nowhere : i32
      %left = arith.select %is_none, %none, %page : i32
      %earlier = llvm.atomicrmw xchg %place, %left monotonic : !llvm.ptr, i32
      scf.yield %page : i32
    } else {
      scf.yield %seen : i32
    }
    %waits = arith.cmpi eq, %now, %taken : i32
    scf.condition(%waits) %now : i32
  } do {
  ^bb0(%now: i32):
    scf.yield
  }
  return %entry : i32
}
func.func private @pages.obtain(%header: !llvm.ptr, %place: !llvm.ptr, %is_zero: i1) -> i32 {
  %taken = arith.constant $taken : i32
  %nowhere = arith.constant $nowhere : i32
  %seen = llvm.load %place : !llvm.ptr -> i32
  %is_none = arith.cmpi ule, %seen, %taken : i32
  %entry = scf.if %is_none -> (i32) {
    %now = llvm.load volatile %place : !llvm.ptr -> i32
    %is_there = arith.cmpi ugt, %now, %taken : i32
    %page = scf.if %is_there -> (i32) {
      scf.yield %now : i32
    } else {
      %obtained = scf.if %is_zero -> (i32) {
        scf.yield %nowhere : i32
      } else {
        %next = func.call @pages.take(%header, %place) : (!llvm.ptr, !llvm.ptr) -> i32
        scf.yield %next : i32
      }
      scf.yield %obtained : i32
    }
    scf.yield %page : i32
  } else {
    scf.yield %seen : i32
  }
  return %entry : i32
}
func.func private @pages.reach(%header: !llvm.ptr, %address: i64, %is_zero: i1) -> !llvm.ptr {
  %nowhere = arith.constant $nowhere : i32
  %in_root = func.call @pages.in_root(%header, %address) : (!llvm.ptr, i64) -> !llvm.ptr
  %table = func.call @pages.obtain(%header, %in_root, %is_zero)
    : (!llvm.ptr, !llvm.ptr, i1) -> i32
  %is_none = arith.cmpi eq, %table, %nowhere : i32
  %page = scf.if %is_none -> (i32) {
    scf.yield %nowhere : i32
  } else {
    %in_table = func.call @pages.in_table(%header, %table, %address)
      : (!llvm.ptr, i32, i64) -> !llvm.ptr
    %entry = func.call @pages.obtain(%header, %in_table, %is_zero)
      : (!llvm.ptr, !llvm.ptr, i1) -> i32
    scf.yield %entry : i32
  }
  %byte = func.call @pages.byte(%header, %page, %address) : (!llvm.ptr, i32, i64) -> !llvm.ptr
  return %byte : !llvm.ptr
}
"""
