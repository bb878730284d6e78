"""Functions that host code calls, `mgpu*` as upstream names them, in the LLVM dialect over the
driver's functions.

Their addresses are constants of the module: no symbol is looked up, so that nothing loads the
driver but a program that asks for a GPU. The first failure is left in a `Report`; what comes behind
it in the same call is not done. A kernel is looked up once, by the address of its name; its first
launch is made at once, later ones may be noted (`sequences`).
"""

from __future__ import annotations

import ctypes
from string import Template
from typing import Any

from mlirad.runtime.cuda.connection import Connection
from mlirad.runtime.cuda.report import During, Report
from mlirad.runtime.cuda.sequences.known_kernels import KnownKernels
from mlirad.runtime.cuda.sequences.noting_shims import NOTING
from mlirad.runtime.cuda.sequences.queue import State

ENTER, LEAVE, STREAM = "mgpuEnter", "mgpuLeave", "mgpuStreamCreate"
ALLOCATE, FREE, READ = "mgpuMemAlloc", "mgpuMemFree", "mgpuMemcpy"
_CALLED = (
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuLaunchKernel",
    "cuMemcpyDtoHAsync_v2",
    "cuStreamSynchronize",
)
# what gives scratch, and takes it: functions, and how they are called
_POOL = {
    "cuMemAllocAsync": "%given, %size, %stream) : !llvm.ptr, (!llvm.ptr, i64, !llvm.ptr",
    "cuMemFreeAsync": "%address, %stream) : !llvm.ptr, (!llvm.ptr, !llvm.ptr",
}
_PLAIN = {
    "cuMemAlloc_v2": "%given, %size) : !llvm.ptr, (!llvm.ptr, i64",
    "cuMemFree_v2": "%address) : !llvm.ptr, (!llvm.ptr",
}


def shims(connection: Connection, report: Report, kernels: KnownKernels) -> str:
    """The text of a module of them, for the host code of one kernel."""
    addresses = connection.functions.addresses
    scratch = _POOL if connection.card.has_pools else _PLAIN
    table = {
        **{name: addresses[name] for name in _CALLED},
        **dict(zip(("allocate", "free"), [addresses[name] for name in scratch])),
        "report": ctypes.addressof(report),
        "context": connection.card.context,
        "stream": connection.stream,
        "queue": ctypes.addressof(connection.sequences.queue),
        "finish": _address(connection.sequences.finish),
        "noted": _address(kernels.noted),
    }
    constants = [
        f"llvm.mlir.global internal constant @shim.{name}({value} : i64) : i64\n"
        f"llvm.func internal @get.{name}() -> !llvm.ptr {{\n"
        f"  %place = llvm.mlir.addressof @shim.{name} : !llvm.ptr\n"
        "  %value = llvm.load %place : !llvm.ptr -> !llvm.ptr\n"
        "  llvm.return %value : !llvm.ptr\n}"
        for name, value in table.items()
    ]
    numbers: dict[str, object] = {"TIMED": State.TIMED.value}
    numbers |= {during.name: f"llvm.mlir.constant({during:d} : i32) : i32" for during in During}
    calls = dict(zip(("allocate", "free"), scratch.values()))
    pieces = [
        *constants,
        _REPORT,
        NOTING,
        _CONTEXT,
        _MODULES,
        _LAUNCH,
        _ALLOCATION,
        _READING,
        _STREAMS,
    ]
    return Template("\n".join(pieces)).substitute(numbers, **calls)


def _address(callback: Any) -> int:
    return ctypes.cast(callback, ctypes.c_void_p).value or 0


_STRUCT = "!llvm.struct<(i32, i32, ptr, ptr, ptr, i64, ptr, array<2 x i32>, array<2 x ptr>)>"


def _field(name: str, number: int) -> str:
    return f"""
llvm.func internal @report.{name}() -> !llvm.ptr {{
  %report = llvm.call @get.report() : () -> !llvm.ptr
  %place = llvm.getelementptr %report[0, {number}] : (!llvm.ptr) -> !llvm.ptr, {_STRUCT}
  llvm.return %place : !llvm.ptr
}}"""


_NAMES = (
    "result", "during", "kernel", "function", "module", "size", "given", "options", "values",
)  # fmt: skip
_REPORT = (
    "".join(_field(name, number) for number, name in enumerate(_NAMES))
    + """
llvm.func internal @shim.has_failed() -> i1 {
  %place = llvm.call @report.result() : () -> !llvm.ptr
  %result = llvm.load %place : !llvm.ptr -> i32
  %success = llvm.mlir.constant(0 : i32) : i32
  %failed = llvm.icmp "ne" %result, %success : i32
  llvm.return %failed : i1
}
llvm.func internal @shim.note(%result: i32, %during: i32) {
  %failed = llvm.call @shim.has_failed() : () -> i1
  llvm.cond_br %failed, ^end, ^first
^first:
  %result_place = llvm.call @report.result() : () -> !llvm.ptr
  %during_place = llvm.call @report.during() : () -> !llvm.ptr
  llvm.store %result, %result_place : i32, !llvm.ptr
  llvm.store %during, %during_place : i32, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}
"""
)

_CONTEXT = """
llvm.mlir.global internal @shim.is_pushed(false) : i1
llvm.func @mgpuEnter() {
  %during = $CONTEXT
  %success = llvm.mlir.constant(0 : i32) : i32
  %no = llvm.mlir.constant(false) : i1
  %null = llvm.mlir.zero : !llvm.ptr
  %place = llvm.call @report.result() : () -> !llvm.ptr
  %given = llvm.call @report.given() : () -> !llvm.ptr
  %is_pushed = llvm.mlir.addressof @shim.is_pushed : !llvm.ptr
  llvm.store %success, %place : i32, !llvm.ptr
  llvm.store %no, %is_pushed : i1, !llvm.ptr
  llvm.store %null, %given : !llvm.ptr, !llvm.ptr
  %context = llvm.call @get.context() : () -> !llvm.ptr
  %get = llvm.call @get.cuCtxGetCurrent() : () -> !llvm.ptr
  %asked = llvm.call %get(%given) : !llvm.ptr, (!llvm.ptr) -> i32
  llvm.call @shim.note(%asked, %during) : (i32, i32) -> ()
  %now = llvm.load %given : !llvm.ptr -> !llvm.ptr
  %is_ours = llvm.icmp "eq" %now, %context : !llvm.ptr
  %is_none = llvm.icmp "eq" %now, %null : !llvm.ptr
  llvm.cond_br %is_ours, ^end, ^other
^other:
  llvm.cond_br %is_none, ^set, ^push
^set:
  %set = llvm.call @get.cuCtxSetCurrent() : () -> !llvm.ptr
  %result = llvm.call %set(%context) : !llvm.ptr, (!llvm.ptr) -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  llvm.br ^end
^push:
  %push = llvm.call @get.cuCtxPushCurrent_v2() : () -> !llvm.ptr
  %pushed = llvm.call %push(%context) : !llvm.ptr, (!llvm.ptr) -> i32
  %is_there = llvm.icmp "eq" %pushed, %success : i32
  llvm.store %is_there, %is_pushed : i1, !llvm.ptr
  llvm.call @shim.note(%pushed, %during) : (i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}
llvm.func @mgpuLeave() {
  %during = $CONTEXT
  %place = llvm.mlir.addressof @shim.is_pushed : !llvm.ptr
  %is_pushed = llvm.load %place : !llvm.ptr -> i1
  llvm.cond_br %is_pushed, ^pop, ^end
^pop:
  %given = llvm.call @report.given() : () -> !llvm.ptr
  %pop = llvm.call @get.cuCtxPopCurrent_v2() : () -> !llvm.ptr
  %result = llvm.call %pop(%given) : !llvm.ptr, (!llvm.ptr) -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}
"""

_MODULES = """
llvm.func @mgpuModuleLoadJIT(%image: !llvm.ptr, %level: i32, %size: i64) -> !llvm.ptr {
  %during = $LOADING
  %count = llvm.mlir.constant(2 : i32) : i32
  %options = llvm.call @report.options() : () -> !llvm.ptr
  %values = llvm.call @report.values() : () -> !llvm.ptr
  %place = llvm.call @report.module() : () -> !llvm.ptr
  %load = llvm.call @get.cuModuleLoadDataEx() : () -> !llvm.ptr
  %result = llvm.call %load(%place, %image, %count, %options, %values)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  %module = llvm.load %place : !llvm.ptr -> !llvm.ptr
  llvm.return %module : !llvm.ptr
}
llvm.func @mgpuModuleUnload(%module: !llvm.ptr) {
  llvm.return
}
llvm.mlir.global internal @shim.known() : !llvm.array<256 x struct<(ptr, ptr, ptr)>> {
  %none = llvm.mlir.zero : !llvm.array<256 x struct<(ptr, ptr, ptr)>>
  llvm.return %none : !llvm.array<256 x struct<(ptr, ptr, ptr)>>
}
llvm.func @mgpuModuleGetFunction(%module: !llvm.ptr, %name: !llvm.ptr) -> !llvm.ptr {
  %during = $LOOKUP
  %null = llvm.mlir.zero : !llvm.ptr
  %mask = llvm.mlir.constant(255 : i64) : i64
  %kernel = llvm.call @report.kernel() : () -> !llvm.ptr
  %failed = llvm.call @shim.has_failed() : () -> i1
  llvm.cond_br %failed, ^end(%null : !llvm.ptr), ^look
^look:
  llvm.store %name, %kernel : !llvm.ptr, !llvm.ptr
  %number = llvm.ptrtoint %name : !llvm.ptr to i64
  %slot = llvm.and %number, %mask : i64
  %all = llvm.mlir.addressof @shim.known : !llvm.ptr
  %entry = llvm.getelementptr %all[0, %slot]
    : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<256 x struct<(ptr, ptr, ptr)>>
  %entry_function = llvm.getelementptr %entry[0, 1]
    : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr)>
  %entry_masks = llvm.getelementptr %entry[0, 2]
    : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, ptr, ptr)>
  %masks_place = llvm.mlir.addressof @shim.masks : !llvm.ptr
  %known_masks = llvm.load %entry_masks : !llvm.ptr -> !llvm.ptr
  llvm.store %known_masks, %masks_place : !llvm.ptr, !llvm.ptr
  %known_name = llvm.load %entry : !llvm.ptr -> !llvm.ptr
  %known_function = llvm.load %entry_function : !llvm.ptr -> !llvm.ptr
  %is_known = llvm.icmp "eq" %known_name, %name : !llvm.ptr
  llvm.cond_br %is_known, ^end(%known_function : !llvm.ptr), ^ask
^ask:
  llvm.store %null, %masks_place : !llvm.ptr, !llvm.ptr
  %given = llvm.call @report.given() : () -> !llvm.ptr
  %get = llvm.call @get.cuModuleGetFunction() : () -> !llvm.ptr
  %result = llvm.call %get(%given, %module, %name)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  %again = llvm.call @shim.has_failed() : () -> i1
  llvm.cond_br %again, ^end(%null : !llvm.ptr), ^keep
^keep:
  %function = llvm.load %given : !llvm.ptr -> !llvm.ptr
  %noted = llvm.call @get.noted() : () -> !llvm.ptr
  %masks = llvm.call %noted(%function, %name) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.store %name, %entry : !llvm.ptr, !llvm.ptr
  llvm.store %masks, %entry_masks : !llvm.ptr, !llvm.ptr
  %state_place = llvm.call @queue.state() : () -> !llvm.ptr
  %state = llvm.load %state_place : !llvm.ptr -> i64
  %timed = llvm.mlir.constant($TIMED : i64) : i64
  %is_timed = llvm.icmp "eq" %state, %timed : i64
  %masks_now = llvm.select %is_timed, %masks, %null : i1, !llvm.ptr
  llvm.store %masks_now, %masks_place : !llvm.ptr, !llvm.ptr
  llvm.store %function, %entry_function : !llvm.ptr, !llvm.ptr
  llvm.br ^end(%function : !llvm.ptr)
^end(%found: !llvm.ptr):
  llvm.return %found : !llvm.ptr
}
"""

_LAUNCH = """
llvm.func @mgpuLaunchKernel(%function: !llvm.ptr, %grid_x: i64, %grid_y: i64, %grid_z: i64,
    %block_x: i64, %block_y: i64, %block_z: i64, %shared: i32, %stream: !llvm.ptr,
    %arguments: !llvm.ptr, %extra: !llvm.ptr, %count: i64) {
  %during = $LAUNCH
  %failed = llvm.call @shim.has_failed() : () -> i1
  llvm.cond_br %failed, ^end, ^go
^go:
  %place = llvm.call @report.function() : () -> !llvm.ptr
  llvm.store %function, %place : !llvm.ptr, !llvm.ptr
  %gx = llvm.trunc %grid_x : i64 to i32
  %gy = llvm.trunc %grid_y : i64 to i32
  %gz = llvm.trunc %grid_z : i64 to i32
  %bx = llvm.trunc %block_x : i64 to i32
  %by = llvm.trunc %block_y : i64 to i32
  %bz = llvm.trunc %block_z : i64 to i32
  %is_gathered = llvm.call @shim.note_launch(%function, %gx, %gy, %gz, %bx, %by, %bz, %shared,
      %arguments, %count)
    : (!llvm.ptr, i32, i32, i32, i32, i32, i32, i32, !llvm.ptr, i64) -> i1
  llvm.cond_br %is_gathered, ^end, ^now
^now:
  %launch = llvm.call @get.cuLaunchKernel() : () -> !llvm.ptr
  %result = llvm.call %launch(%function, %gx, %gy, %gz, %bx, %by, %bz, %shared, %stream,
      %arguments, %extra)
    : !llvm.ptr, (!llvm.ptr, i32, i32, i32, i32, i32, i32, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr)
      -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}
"""

_ALLOCATION = """
llvm.func @mgpuMemAlloc(%size: i64, %stream: !llvm.ptr) -> !llvm.ptr {
  %during = $ALLOCATION
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = llvm.mlir.constant(0 : i64) : i64
  %failed = llvm.call @shim.has_failed() : () -> i1
  %none = llvm.icmp "eq" %size, %zero : i64
  %nothing = llvm.or %failed, %none : i1
  llvm.cond_br %nothing, ^end(%null : !llvm.ptr), ^go
^go:
  %place = llvm.call @report.size() : () -> !llvm.ptr
  llvm.store %size, %place : i64, !llvm.ptr
  %given = llvm.call @report.given() : () -> !llvm.ptr
  llvm.store %null, %given : !llvm.ptr, !llvm.ptr
  %allocate = llvm.call @get.allocate() : () -> !llvm.ptr
  %result = llvm.call %allocate($allocate) -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  %address = llvm.load %given : !llvm.ptr -> !llvm.ptr
  llvm.br ^end(%address : !llvm.ptr)
^end(%found: !llvm.ptr):
  llvm.return %found : !llvm.ptr
}
llvm.func @mgpuMemFree(%address: !llvm.ptr, %stream: !llvm.ptr) {
  %during = $FREEING
  %null = llvm.mlir.zero : !llvm.ptr
  %none = llvm.icmp "eq" %address, %null : !llvm.ptr
  llvm.cond_br %none, ^end, ^go
^go:
  llvm.call @shim.settle() : () -> ()
  %free = llvm.call @get.free() : () -> !llvm.ptr
  %result = llvm.call %free($free) -> i32
  llvm.call @shim.note(%result, %during) : (i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}
"""
# What the host reads decides what it does next: it waits, and finds zeros where that failed.
_READING = """
llvm.func @mgpuMemcpy(%target: !llvm.ptr, %source: !llvm.ptr, %size: i64, %stream: !llvm.ptr) {
  %during = $READING
  %zero = llvm.mlir.constant(0 : i8) : i8
  "llvm.intr.memset"(%target, %zero, %size) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %failed = llvm.call @shim.has_failed() : () -> i1
  llvm.cond_br %failed, ^end, ^go
^go:
  %place = llvm.call @report.size() : () -> !llvm.ptr
  llvm.store %size, %place : i64, !llvm.ptr
  llvm.call @shim.settle() : () -> ()
  %copy = llvm.call @get.cuMemcpyDtoHAsync_v2() : () -> !llvm.ptr
  %copied = llvm.call %copy(%target, %source, %size, %stream)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.call @shim.note(%copied, %during) : (i32, i32) -> ()
  %wait = llvm.call @get.cuStreamSynchronize() : () -> !llvm.ptr
  %waited = llvm.call %wait(%stream) : !llvm.ptr, (!llvm.ptr) -> i32
  llvm.call @shim.note(%waited, %during) : (i32, i32) -> ()
  llvm.br ^end
^end:
  llvm.return
}
"""

# There is one stream: what upstream orders by events is in order.
_STREAMS = """
llvm.func @mgpuStreamCreate() -> !llvm.ptr {
  %stream = llvm.call @get.stream() : () -> !llvm.ptr
  llvm.return %stream : !llvm.ptr
}
llvm.func @mgpuStreamDestroy(%stream: !llvm.ptr) {
  llvm.return
}
llvm.func @mgpuStreamSynchronize(%stream: !llvm.ptr) {
  llvm.return
}
"""
