"""Object files that are brought into memory by hand: what LLVM writes for a module does there what
it does in the engine."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from mlirad.bindings import ExecutionEngine, ir
from mlirad.dialect import context
from mlirad.host import Feature, has
from mlirad.runtime.native.loaded_object import LoadedObject
from mlirad.runtime.native.object_file import UnreadableObjectError, read_object

pytestmark = [
    pytest.mark.skipif(not has(Feature.LOADER), reason="objects are loaded on x86-64 Linux"),
    pytest.mark.cpu_code("the machine code of a CPU"),
]

SOURCE = """
llvm.func @cos(f64) -> f64
llvm.mlir.global internal constant @table(dense<[2.0, 3.0, 5.0]> : tensor<3xf64>)
  : !llvm.array<3 x f64>
llvm.mlir.global internal @calls(0 : i64) : i64
llvm.func internal @scaled(%x: f64, %k: i64) -> f64 attributes {no_inline} {
  %start = llvm.mlir.addressof @table : !llvm.ptr
  %place = llvm.getelementptr %start[%k] : (!llvm.ptr, i64) -> !llvm.ptr, f64
  %factor = llvm.load %place : !llvm.ptr -> f64
  %product = llvm.fmul %x, %factor : f64
  llvm.return %product : f64
}
llvm.func @_mlir_ciface_run(%memory: !llvm.ptr, %k: i64) {
  %x = llvm.load %memory : !llvm.ptr -> f64
  %y = llvm.call @cos(%x) : (f64) -> f64
  %z = llvm.call @scaled(%y, %k) : (f64, i64) -> f64
  llvm.store %z, %memory : f64, !llvm.ptr
  %counter = llvm.mlir.addressof @calls : !llvm.ptr
  %one = llvm.mlir.constant(1 : i64) : i64
  %before = llvm.load volatile %counter : !llvm.ptr -> i64
  %now = llvm.add %before, %one : i64
  llvm.store volatile %now, %counter : i64, !llvm.ptr
  %second = llvm.getelementptr %memory[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %now, %second : i64, !llvm.ptr
  llvm.return
}
"""


def object_of(source: str, opt_level: int, file: Path) -> bytes:
    """The object file of a module."""
    with context(), ir.Location.unknown():
        engine = ExecutionEngine(ir.Module.parse(source), opt_level=opt_level)
        engine.raw_lookup("_mlir_ciface_run")
        engine.dump_to_object_file(str(file))
    return file.read_bytes()


@pytest.mark.parametrize("opt_level", [0, 3])
def test_code_constants_and_variables(tmp_path: Path, opt_level: int) -> None:
    """A call of a library, one within the file, a table, and a variable, which each copy has for
    itself."""
    data = object_of(SOURCE, opt_level, tmp_path / "object")
    for _ in range(2):
        loaded = LoadedObject(data)
        run = loaded.function("_mlir__mlir_ciface_run")
        for count in (1, 2):
            memory = (ctypes.c_double * 2)(0.0, 0.0)
            start, k = ctypes.c_void_p(ctypes.addressof(memory)), ctypes.c_int64(count)
            run((ctypes.c_void_p * 2)(ctypes.addressof(start), ctypes.addressof(k)))
            assert memory[0] == (2.0, 3.0, 5.0)[count]
            assert ctypes.c_int64.from_buffer(memory, 8).value == count


def test_code_cannot_be_written_to(tmp_path: Path) -> None:
    """Its pages are code, and no longer memory."""
    loaded = LoadedObject(object_of(SOURCE, 3, tmp_path / "object"))
    run = loaded.function("_mlir__mlir_ciface_run")
    address = ctypes.cast(run, ctypes.c_void_p).value
    assert address is not None
    with open("/proc/self/maps", encoding="ascii") as file:
        for line in file:
            bounds, protection = line.split()[:2]
            low, high = (int(bound, 16) for bound in bounds.split("-"))
            if low <= address < high:
                assert protection == "r-xp"
                return
    pytest.fail("the code is nowhere")


def test_what_no_library_has(tmp_path: Path) -> None:
    """Is named."""
    data = object_of(SOURCE, 0, tmp_path / "object").replace(b"\0cos\0", b"\0c0s\0")
    with pytest.raises(UnreadableObjectError, match="no library defines 'c0s'"):
        LoadedObject(data)


def test_files_that_are_cut_off(tmp_path: Path) -> None:
    """At any byte: none is read beyond its end."""
    data = object_of(SOURCE, 3, tmp_path / "object")
    for size in range(0, len(data), 7):
        with pytest.raises(UnreadableObjectError):
            LoadedObject(data[:size])


@pytest.mark.parametrize("position, byte", [(0, 0), (4, 1), (5, 2), (16, 3), (18, 183)])
def test_files_for_others(tmp_path: Path, position: int, byte: int) -> None:
    """No ELF, 32 bits, big-endian, a shared library, 64-bit Arm."""
    data = bytearray(object_of(SOURCE, 3, tmp_path / "object"))
    data[position] = byte
    with pytest.raises(UnreadableObjectError, match="not a relocatable file"):
        read_object(bytes(data))


def test_memory_goes_with_the_object(tmp_path: Path) -> None:
    """A thousand objects, one after the other, take no more room than one."""
    data = object_of(SOURCE, 3, tmp_path / "object")

    def mapped() -> int:
        return len(Path(f"/proc/{os.getpid()}/maps").read_text().splitlines())

    kept = LoadedObject(data)
    before = mapped()
    for _ in range(1000):
        LoadedObject(data)
    assert mapped() <= before + 4
    assert kept is not None
