"""Kernels by name and line: what gdb shows, and what perf reads."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import mlirad as ti
from mlirad.bindings import ExecutionEngine, ir
from mlirad.dialect import context
from mlirad.host import Feature, has
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode, with_tangents
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import lines_for_debuggers
from mlirad.runtime.config import Config
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.native import perf_map
from mlirad.runtime.native.line_table import read_lines
from mlirad.runtime.native.object_file import read_section
from mlirad.runtime.program import program
from mlirad.types import DataType

pytestmark = [
    pytest.mark.skipif(not has(Feature.LOADER), reason="objects are loaded on x86-64 Linux"),
    pytest.mark.cpu_code("debuggers of the CPU"),
]
FOLDER = Path(__file__).parent
PROGRAM = FOLDER / "debugged_program.py"
LINE = re.compile(r"([0-9a-f]+) ([0-9a-f]+) (\S+)(?: (\S+):(\d+))?")
TOTAL = """func.func @total(%x: memref<8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> f64 {
    %v = memref.load %x[%i] : memref<8xf64>
    %w = math.sin %v : f64 // here
    %t = arith.addf %s, %w : f64
    scf.yield %t : f64
  }
  return %sum : f64
}
"""

CACHED = """
import os, sys
import mlirad as ti
from mlirad.runtime.native import machine_code
compiled, make = [], machine_code._compile
machine_code._compile = lambda *rest: compiled.append(rest) or make(*rest)
ti.init(debug_info=sys.argv[2] == "on", offline_cache=True, offline_cache_file_path=sys.argv[1])
x = ti.field(ti.f32, 64)

@ti.kernel
def cube():
    for i in x:
        x[i] = x[i] ** 3

cube()
print(os.getpid(), bool(compiled))
"""

Entry = tuple[int, int, str, str, int]  # address, size, name, file and line


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Entry]]:
    """What perf would read of this process."""
    file = tmp_path / "perf.map"
    monkeypatch.setattr(perf_map, "perf_map_path", lambda: str(file))
    return lambda: [*read_map(file)]


def read_map(file: Path) -> Iterator[Entry]:
    """Read a file for perf."""
    for text in file.read_text().splitlines():
        match = LINE.fullmatch(text)
        assert match is not None, text
        address, size, name, source, line = match.groups()
        yield int(address, 16), int(size, 16), name, source or "", int(line or 0)


def address_of(mode: Mode) -> int:
    """Where the code of the only kernel is, by ctypes."""
    (code,) = (codes.compiled[mode] for codes in program().compiled if mode in codes.compiled)
    assert isinstance(code, CompiledKernel)
    return ctypes.cast(code.function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


MODES = {"": PRIMAL, ".reverse": REVERSE, ".forward": with_tangents(1)}


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("arch", [ti.cpu, ti.simt])
@pytest.mark.parametrize("suffix", MODES)
@pytest.mark.parametrize("opt_level", [0, 3])
def test_perf_has_names_and_lines(
    suffix: str, arch: str, dtype: DataType, opt_level: int, entries: Callable[[], list[Entry]]
) -> None:
    """Entries do not overlap, the address that is called is in one, and the code of a mode has the
    lines of the kernel, and no others."""
    ti.init(arch=arch, debug_info=True, offline_cache=False, opt_level=opt_level)
    x = ti.field(dtype, 64, needs_grad=True, needs_dual=True)
    loss = ti.field(dtype, (), needs_grad=True, needs_dual=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += ti.sin(x[i])  # summed

    x.fill(1.0)
    if suffix == ".forward":
        with ti.ad.FwdMode(loss, x, seed=[1.0] * 64):
            total()
    else:
        with ti.ad.Tape(loss):
            total()
    places = sorted((address, address + size) for address, size, *_ in entries())
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    called = address_of(MODES[suffix])
    assert any(start <= called < end for start, end in places)
    pattern = re.compile(rf"total{re.escape(suffix)}(_kernels\..*|\.(chunk|piece)\d+)?")
    of_mode = [entry for entry in entries() if pattern.fullmatch(entry[2])]
    summed = line_of("# summed", Path(__file__))
    assert {file for *_, file, _ in of_mode if file} == {Path(__file__).name}
    lines = {line for *_, line in of_mode if line}
    assert summed in lines and lines <= {summed - 3, summed - 2, summed - 1, summed}


def test_nothing_is_written_without_the_option(entries: Callable[[], list[Entry]]) -> None:
    """Kernels leave no names unless they are asked for."""
    ti.init(arch=ti.cpu, debug_info=False, offline_cache=False)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = 1

    fill()
    with pytest.raises(FileNotFoundError):
        entries()


def test_the_environment_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """MLIRAD_DEBUG_INFO is for programs that say nothing."""
    monkeypatch.setenv("MLIRAD_DEBUG_INFO", "1")
    assert Config().debug_info
    assert not Config.from_options({"debug_info": False}).debug_info
    monkeypatch.setenv("MLIRAD_DEBUG_INFO", "0")
    assert not Config().debug_info
    with pytest.raises(TypeError, match=r"ti.init\(debug_info=\)"):
        Config.from_options({"debug_info": "gdb"})


def test_functions_of_mlir_have_their_lines(
    tmp_path: Path, entries: Callable[[], list[Entry]]
) -> None:
    """The lines of a function that was loaded are those of its file."""
    file = tmp_path / "total.mlir"
    file.write_text(TOTAL)
    ti.init(arch=ti.cpu, debug_info=True, offline_cache=False)
    total = ti.mlir.load(file)
    x, loss = ti.ndarray(ti.f64, 8, needs_grad=True), ti.ndarray(ti.f64, (), needs_grad=True)
    x.fill(1.0)
    with ti.ad.Tape(loss):
        total(x, out=loss)
    for name in ("total", "total.reverse"):
        lines = {(source, line) for _, _, own, source, line in entries() if own == name and line}
        assert ("total.mlir", line_of("// here", file)) in lines


def test_code_of_another_file_has_its_name(
    tmp_path: Path, entries: Callable[[], list[Entry]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a kernel calls is in the file where it is written."""
    (tmp_path / "other_file.py").write_text(
        "import mlirad as ti\n\n\n@ti.func\ndef cubed(v):\n    return v * v * v  # here\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    cubed = import_module("other_file").cubed
    ti.init(arch=ti.cpu, debug_info=True, offline_cache=False)
    x = ti.field(ti.f32, 64)

    @ti.kernel
    def cube():
        for i in x:
            x[i] = cubed(x[i])

    cube()
    places = {(file, line) for *_, file, line in entries()}
    assert ("other_file.py", 6) in places
    assert Path(__file__).name in {file for file, _ in places}


def test_code_from_the_cache_has_names_and_lines(tmp_path: Path) -> None:
    """A later process, which compiles nothing, tells perf the same; without the option there is
    code of its own."""
    program_file = tmp_path / "cube.py"
    program_file.write_text(CACHED)
    maps = []
    for debug_info in ("off", "on", "on", "off"):
        command = [sys.executable, str(program_file), str(tmp_path / "cache"), debug_info]
        pid, was_compiled = run(command).split()
        file = Path(f"/tmp/perf-{pid}.map")
        entries = [entry[1:] for entry in read_map(file)] if file.exists() else []
        file.unlink(missing_ok=True)
        maps.append((was_compiled, entries))
    _, first, second, _ = (entries for _, entries in maps)
    assert [was_compiled for was_compiled, _ in maps] == ["True", "True", "False", "False"]
    assert first == second and any("cube.py" in entry for entry in first)
    assert not maps[0][1] and not maps[3][1]


def test_a_file_for_perf_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program runs without it."""
    monkeypatch.setattr(perf_map, "perf_map_path", lambda: str(tmp_path / "none" / "perf.map"))
    with pytest.warns(UserWarning, match="perf cannot name kernels: .*No such file"):
        perf_map.note_for_perf([perf_map.Code(16, 4, "saxpy")])


def test_broken_lines_are_none(tmp_path: Path) -> None:
    """A table of lines that is cut or changed gives lines, or nothing, and ends."""
    source = """
llvm.func @run(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> f32 loc("a.py":3:1)
  %y = llvm.fdiv %x, %x : f32 loc("a.py":5:1)
  llvm.store %y, %p : f32, !llvm.ptr loc("b.py":70:1)
  llvm.return loc("a.py":4:1)
} loc("a.py":1:1)
"""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(source)
        run_pipeline(module.operation, f"builtin.module({lines_for_debuggers()})")
        engine = ExecutionEngine(module, opt_level=0)
        engine.raw_lookup("run")
        engine.dump_to_object_file(str(tmp_path / "run.o"))
    data = (tmp_path / "run.o").read_bytes()
    lines = [(Path(line.file).name, line.number) for line in read_lines(data) if line.number]
    assert lines == [("a.py", 3), ("a.py", 5)] + [("b.py", 70), ("a.py", 4)]
    table = read_section(data, ".debug_line")
    assert table is not None
    start, chance = data.index(table.content), Random(1)
    for _ in range(2000):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[start + chance.randrange(len(table.content))] = chance.randrange(256)
        assert isinstance(read_lines(bytes(changed)), list)


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")
@pytest.mark.parametrize("opt_level", [0, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_gdb_stops_at_lines(threads: int, opt_level: int, tmp_path: Path) -> None:
    """A breakpoint at a line of a kernel is hit, forward and in reverse, and the frames have the
    kernel's name, and its lines; so has one in a file of MLIR."""
    file = tmp_path / "total.mlir"
    file.write_text(TOTAL)
    here = f"{PROGRAM.name}:{line_of('# here', PROGRAM)}"
    there = f"{file.name}:{line_of('// here', file)}"
    shown = in_gdb(
        [str(PROGRAM), str(threads), str(opt_level), str(file)],
        *(f"break {here}", "run", "bt", "delete", "break saxpy.reverse", "continue", "bt"),
        *(f"break {here}", "continue", "bt", "delete", f"break {there}", "continue", "bt"),
    )
    primal, entry, reverse, loaded = shown.split("\n#0 ")[1:]
    assert re.match(rf".*saxpy\S* \(.*\) at .*{here}\n", primal)
    assert re.search(r"#\d+ .*(saxpy|take_pieces|work|share) \(", primal)
    assert re.match(r".*saxpy[.\[]reverse\]? \(.*\) at .*debugged_program.py:\d+\n", entry)
    assert re.match(rf".*saxpy[.\[]reverse\S* \(.*\) at .*{here}\n", reverse)
    assert re.match(rf".*total \(.*\) at .*{there}\n", loaded)


def in_gdb(arguments: list[str], *commands: str) -> str:
    """Return what gdb prints of a program in Python."""
    options = ["-nx", "-batch", "-iex", "set auto-load off", "-ex", "set breakpoint pending on"]
    given = [part for command in commands for part in ("-ex", command)]
    return run(["gdb", *options, *given, "--args", sys.executable, *arguments])


def run(command: list[str]) -> str:
    """Return what a process prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert not done.returncode, done.stderr
    return done.stdout


def line_of(text: str, file: Path) -> int:
    """Return the first line of a file that ends with a text."""
    lines = file.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(text))
