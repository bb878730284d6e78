"""Kernels as PTX: the entries and atomics one expects, and text that NVIDIA's assembler takes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs.gpu_kernels import (
    KERNELS,
    REVERSED,
    Make,
    bounds_in_memory,
    functions,
    integers,
    ndarrays,
    returned,
    rows,
    saxpy,
    scatter,
    stencil,
)

import mlirad as ti
from benchmarks.assembler import Assembled, tool
from benchmarks.assembler import assemble as assembled
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.pipeline.float_text import spell_floats_as_bits
from mlirad.pipeline.ptx import CHIPS as KNOWN_CHIPS
from mlirad.pipeline.ptx import to_ptx

CHIPS = ("sm_90", "sm_80", "sm_100")
# libdevice reduces large f64 angles by a table of theirs on the stack; print's arguments lie there
ON_STACK = ("functions-f64", "elementary-f64", "sweeps", "printing")


@pytest.fixture
def assemble() -> Callable[[str], list[Assembled]]:
    """A function that gives the kernels of a text, and fails where ptxas rejects it or registers
    spill."""
    if tool("ptxas") is None:
        pytest.skip("no ptxas: neither on the path nor in the wheel nvidia-cuda-nvcc")
    return all_assembled


def all_assembled(text: str) -> list[Assembled]:
    """Every kernel of a text."""
    found = assembled(text, disassemble=False)
    assert {kernel.name for kernel in found} == set(entries(text))
    assert [kernel for kernel in found if kernel.spilled] == []
    return found


def entries(text: str) -> dict[str, str]:
    """The body of every kernel by name."""
    return {
        m[1]: m[2]
        for m in re.finditer(r"\.visible \.entry (\w+)\((.*?)^\}", text, re.MULTILINE | re.DOTALL)
    }


def atomics(text: str) -> list[str]:
    """The atomic instructions of a text, in order."""
    return re.findall(r"\b(?:atom|red)\.[\w.]+", text)


@pytest.fixture(autouse=True)
def fresh_program() -> None:
    """A program of its own for every test."""
    ti.init()


@pytest.mark.parametrize("name", KERNELS)
def test_ptxas_takes_every_kernel(name: str, assemble: Callable[[str], list[Assembled]]) -> None:
    """Every kernel becomes PTX for its chip, the same every time, with entries named after it."""
    kernel, arguments = KERNELS[name]()
    for chip in CHIPS if name.startswith("kinds") else CHIPS[:1]:
        text = kernel.ptx(*arguments, chip=chip)
        assert f".target {chip}" in text
        assert entries(text) and all(re.fullmatch(r"run_\d+", entry) for entry in entries(text))
        for found in assemble(text):
            assert found.local == 0 or name in ON_STACK
    assert kernel.ptx(*arguments, chip=chip) == text


def made(make: Make, **options: Any) -> str:
    """The PTX of a kernel."""
    kernel, arguments = make()
    text: str = kernel.ptx(*arguments, **options)
    return text


def test_updates_of_own_cells_are_plain() -> None:
    """Nor is a sum over all iterations atomic."""
    for make in (saxpy, stencil, ndarrays, bounds_in_memory):
        assert atomics(made(make)) == []


def test_sums_are_handed_from_thread_to_thread() -> None:
    """By shuffles in a block; the blocks leave their sums in memory, for one block."""
    found = entries(made(saxpy))
    assert list(found) == ["run_0", "run_1"]
    assert all("shfl.sync" in body for body in found.values())
    assert "bar.sync" in found["run_0"] and "bar.sync" not in found["run_1"]
    assert all(atomics(made(KERNELS[name])) == [] for name in KERNELS if name.startswith("sums-"))


def test_adjoints_of_stencils_are_gathered() -> None:
    """The thread of an element adds up what reaches it; the clear is a launch of its own."""
    text = made(stencil, mode="reverse")
    assert atomics(text) == []
    assert list(entries(text)) == ["run_0", "run_1"]


def test_a_warp_needs_no_shared_memory() -> None:
    """Few iterations are one warp, whose threads hand sums to one another."""
    x, total = ti.field(ti.f64, 20), ti.field(ti.f64, ())

    @ti.kernel
    def run():
        for i in x:
            total[None] += x[i]

    text = run.ptx()
    assert list(entries(text)) == ["run_0"]
    assert text.count("shfl.sync") == 10  # two for a number of 64 bits
    assert not re.search(r"\.shared|bar\.sync", text)


def test_of_very_many_sums_none_is_atomic(assemble: Callable[[str], None]) -> None:
    """A thread has 255 registers: the loop runs for so many sums at a time as have room in them."""
    x, cells = ti.field(ti.f64, 1000), ti.field(ti.f64, 200)

    @ti.kernel
    def run():
        for i in x:
            for k in ti.static(range(200)):
                cells[k] += x[i] * k

    text = run.ptx()
    assert atomics(text) == []
    assert len(entries(text)) == 2 * -(-200 // 32)
    assemble(text)


def test_a_loop_that_writes_does_not_run_twice(assemble: Callable[[str], None]) -> None:
    """Sums without room stay atomic there."""
    x, cells = ti.field(ti.f64, 1000), ti.field(ti.f64, 50)

    @ti.kernel
    def run():
        for i in x:
            x[i] *= 2.0
            for k in ti.static(range(50)):
                cells[k] += x[i] * k

    text = run.ptx()
    assert len(atomics(text)) == 50 - 32
    assemble(text)


def test_cells_shared_along_one_axis_are_sums() -> None:
    """A row's sum is one-to-one in the first axis only: threads of a block add up a row."""
    text = made(rows)
    assert atomics(text) == [] and "shfl.sync" in text
    assert list(entries(text)) == ["run_0"]


def test_every_integer_kind_is_one_instruction() -> None:
    """Integer updates need no loop of compare and swap, except for xor."""
    found = atomics(made(integers))
    assert [name.split(".")[2] for name in found][:5] == ["add", "min", "max", "and", "or"]
    assert len(found) == 6


def test_neighbouring_sums_are_one_instruction(assemble: Callable[[str], list[Assembled]]) -> None:
    """Two components of a vector in memory, on chips that can."""
    where, x = ti.field(ti.i32, 100), ti.Vector.field(2, ti.f32, 10)

    @ti.kernel
    def run():
        for i in where:
            x[where[i]] += ti.Vector([1.0, 2.0])

    found = {chip: made(lambda: (run, ()), chip=chip) for chip in CHIPS}
    assert len(atomics(found["sm_80"])) == 2
    for chip in ("sm_90", "sm_100"):
        assert atomics(found[chip]) == ["red.relaxed.gpu.global.add.v2.f32"]
    for text in found.values():
        assemble(text)


def test_sums_of_rows_are_vectors(assemble: Callable[[str], list[Assembled]]) -> None:
    """Matrices, halves, and cells side by side: as wide as 16 bytes."""
    where, cell = ti.field(ti.i32, 100), ti.Vector.field(2, ti.f32, 10)
    matrix, half = ti.Matrix.field(2, 2, ti.f32, 10), ti.Vector.field(8, ti.f16, 10)

    @ti.kernel
    def run():
        for i in where:
            k = where[i]
            matrix[k] += ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
            half[k] += ti.Vector([ti.cast(1.0, ti.f16)] * 8)
            for j in ti.static(range(3)):
                cell[k + j] += ti.Vector([j * 1.0, 2.0])

    texts = {chip: made(lambda: (run, ()), chip=chip) for chip in CHIPS}
    assert len(atomics(texts["sm_80"])) == 4 + 8 + 6
    names = ["v4.f32", "noftz.v8.f16", "v4.f32", "v2.f32"]
    for chip in ("sm_90", "sm_100"):
        assert sorted(atomics(texts[chip])) == sorted(
            f"red.relaxed.gpu.global.add.{n}" for n in names
        )
    for text in texts.values():
        assemble(text)


def test_atomics_keep_no_order() -> None:
    """No fence, no scope beyond the device."""
    for make in (saxpy, scatter, integers):
        text = made(make)
        assert not re.search(r"fence|membar|acq|rel\b|\.sys", text)


def test_values_cross_launches_in_memory() -> None:
    """A local sum: clear its cell, add in parallel, then one thread computes the result."""
    found = entries(made(returned))
    assert list(found) == ["run_0", "run_1", "run_2"]
    assert atomics("".join(found.values())) == []
    assert "shfl.sync" in found["run_1"]
    assert "st.global" in found["run_2"]


def test_pointers_do_not_alias() -> None:
    """What a kernel only reads goes through the read-only cache."""
    assert "ld.global.nc.f32" in made(stencil) or "ld.global.nc.b32" in made(stencil)


def test_block_size_comes_from_the_loop() -> None:
    """`block_dim` of `ti.loop_config`, else 128."""
    x = ti.field(ti.f32, 10000)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in x:
            x[i] = 1.0
        for i in x:
            x[i] = 2.0

    found = made(lambda: (run, ()))
    assert re.findall(r"\.maxntid (\d+)", found) == ["64", "128"]


def test_only_what_is_called_is_linked() -> None:
    """Nothing of libdevice is left that no kernel calls."""
    assert "__nv_" not in made(functions(ti.f32))
    assert made(saxpy).count(".func") == 0


def test_square_root_is_exact() -> None:
    """Roots are rounded to nearest: accuracy is not given away for speed."""
    x = ti.field(ti.f32, 10)

    @ti.kernel
    def run():
        for i in x:
            x[i] = ti.sqrt(x[i])

    assert "sqrt.rn.f32" in made(lambda: (run, ()))


def test_estimates_are_for_sums_and_derivatives() -> None:
    """1 / sqrt in a sum is one instruction, as its derivative is; elsewhere nothing is estimated,
    nor anything without fast_math."""

    def compiled(**options: Any) -> list[list[str]]:
        ti.init(**options)
        x, y = ti.field(ti.f32, 10, needs_grad=True), ti.field(ti.f32, 10, needs_grad=True)

        @ti.kernel
        def add():
            for i in x:
                s = 0.0
                for j in range(10):
                    s += 1.0 / ti.sqrt(x[j] * x[j] + 0.1)
                y[i] = s

        @ti.kernel
        def store():
            for i in x:
                y[i] = 1.0 / ti.sqrt(x[i] * x[i] + 0.1)

        texts = [made(lambda: (add, ())), made(lambda: (add, ()), mode="reverse")]
        texts.append(made(lambda: (store, ())))
        return [re.findall(r"\b(?:sqrt|rsqrt|div)\.\w+", text) for text in texts]

    added, reversed_, stored = compiled()
    assert set(added) == {"rsqrt.approx"} and "rsqrt.approx" in reversed_
    assert set(stored) <= {"sqrt.rn", "div.rn", "rcp.rn"}
    for found in compiled(fast_math=False):
        assert "sqrt.rn" in found and not any("approx" in name or "full" in name for name in found)


@pytest.mark.parametrize("name", REVERSED)
def test_reverse_mode(name: str, assemble: Callable[[str], list[Assembled]]) -> None:
    """Reverse kernels take the same way."""
    kernel, arguments = KERNELS[name]()
    text = kernel.ptx(*arguments, mode="reverse")
    assert entries(text)
    assemble(text)


def test_saved_values_of_serial_code(assemble: Callable[[str], list[Assembled]]) -> None:
    """Values saved in one launch for another are in memory that the host allocates."""
    x, y = ti.field(ti.f32, 100, needs_grad=True), ti.field(ti.f32, 100, needs_grad=True)

    @ti.kernel
    def run(n: ti.i32):
        a = 1.0
        ti.loop_config(serialize=True)
        for i in range(n):
            a = a * x[i]
        for i in x:
            y[i] += a * x[i]

    text = run.ptx(3, mode="reverse")
    found = entries(text)
    assert "malloc" not in text and "free" not in text
    assert "st.global" in found["run_0"] and "ld.global" in list(found.values())[-1]
    assemble(text)


def test_checks_of_a_debug_program(assemble: Callable[[str], list[Assembled]]) -> None:
    """Failures go to the record that the host reads."""
    ti.init(debug=True)
    x = ti.field(ti.f32, 10)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            x[i] = 1.0
            assert i < 5, "too many"

    text = run.ptx(3)
    assert len(re.findall(r"st\.global\.b64", text)) >= 2
    assemble(text)


def test_an_unknown_chip_is_refused() -> None:
    """By name, before anything is written."""
    kernel, arguments = saxpy()
    for chip in ("sm_35", "gfx90a", "sm_9999"):
        with pytest.raises(ti.TaichiCompilationError, match=chip):
            kernel.ptx(*arguments, chip=chip)


def test_every_known_chip_is_known_to_llvm(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM would go on with an unknown chip, and say so on the standard error."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse("""gpu.module @kernels {
          llvm.func @f(%p: !llvm.ptr, %v: f32) attributes {nvvm.kernel} {
            llvm.store %v, %p : f32, !llvm.ptr
            llvm.return
          }
        }""")
        for chip in KNOWN_CHIPS:
            assert list(entries(to_ptx(module.operation, chip))) == ["f"]
    assert capfd.readouterr().err == ""


def test_kernels_that_allocate_are_refused() -> None:
    """So no kernel of any test does."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse("""gpu.module @kernels {
          llvm.func @malloc(i64) -> !llvm.ptr
          llvm.func @f(%n: i64, %p: !llvm.ptr) attributes {nvvm.kernel} {
            %memory = llvm.call @malloc(%n) : (i64) -> !llvm.ptr
            llvm.store %memory, %p : !llvm.ptr, !llvm.ptr
            llvm.return
          }
        }""")
        with pytest.raises(ti.TaichiCompilationError, match="calls 'malloc'"):
            to_ptx(module.operation, "sm_90")


def test_kernels_that_are_not_lowered_are_refused() -> None:
    """By the first op that is in the way, at its line."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse("""gpu.module @kernels {
          gpu.func @f() kernel { gpu.return }
        }""")
        with pytest.raises(ti.TaichiCompilationError, match=r"2:11: 'gpu.func' cannot become PTX"):
            to_ptx(module.operation, "sm_90")


def test_too_large_a_block_is_refused_at_its_line() -> None:
    """With the line of the loop."""
    x = ti.field(ti.f32, 10000)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=2048)
        for i in x:
            x[i] = 1.0

    with pytest.raises(
        ti.TaichiCompilationError, match=r"test_ptx\.py:\d+:\d+: block_dim is 1 to 1024"
    ):
        run.ptx()


def _float(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fmul float %51, f0x33800000", f"fmul float %51, {_float(2.0**-24)}"),
        ("fadd double %1, 1.000000e-01", f"fadd double %1, {_float(0.1)}"),
        (
            "call double @f(float 5.000000e-01, double 2.5)",
            f"call double @f(float {_float(0.5)}, double {_float(2.5)})",
        ),
        (
            "select i1 %c, float +inf, float -inf",
            f"select i1 %c, float {_float(np.inf)}, float {_float(-np.inf)}",
        ),
        ("store half 1.000000e+00, ptr %p", "store half 0xH3C00, ptr %p"),
        ("store bfloat 1.000000e+00, ptr %p", "store bfloat 0xR3F80, ptr %p"),
        ("phi float [ -0.000000e+00, %1 ]", f"phi float [ {_float(-0.0)}, %1 ]"),
        ('@s = constant [9 x i8] c"float 1.0"', '@s = constant [9 x i8] c"float 1.0"'),
        ("%x = add i32 %double, 1", "%x = add i32 %double, 1"),
    ],
)
def test_floats_are_spelled_as_bits(line: str, expected: str) -> None:
    """Constants of every type, and nothing else."""
    assert spell_floats_as_bits(line) == expected
