"""Kernels as code for AMD's GPUs: what LLVM assembles, what is refused, and by what name."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from programs.gpu_kernels import KERNELS, REVERSED, saxpy, scatter, stencil

import mlirad as ti
from benchmarks.amdgpu_table import Kernel, kernels_of
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.kernel.array_arguments import copy_of
from mlirad.pipeline import amdgpu
from mlirad.pipeline.mode import parse_mode
from mlirad.pipeline.ocml import controls
from mlirad.pipeline.ptx_writer import llvm
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.gpu import rocm_stages
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.program import program

CHIPS = amdgpu.CHIPS
WITH_LIBRARY = ("functions-", "elementary-", "exchanges", "sweeps", "averages")
IN_OCML = r"gpu_kernels\.py:\d+:\d+: '__ocml_\w+' is in ROCm's library ocml"
PRINTS = r"gpu_kernels\.py:\d+:\d+: 'print' in a kernel for an AMD GPU"
ELF_MACHINE = 224  # AMDGPU


@pytest.fixture(autouse=True)
def without_ocml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of its own for every test, on a machine without ROCm."""
    monkeypatch.setattr(amdgpu, "ocml", lambda: None)
    ti.init()


def made(name: str, chip: str, mode: str = "primal") -> str:
    """The assembly of a kernel."""
    kernel, arguments = KERNELS[name]()
    text: str = kernel.amdgpu(*arguments, mode=mode, chip=chip)
    return text


def lowered(name: str, mode: str) -> ir.Operation:
    """A kernel's module behind the pipeline."""
    kernel, arguments = KERNELS[name]()
    variant = kernel.prepare(program(), arguments, {}).variant
    with context(), ir.Location.unknown():
        module = copy_of(variant.kernel.module)
        run_pipeline(module.operation, join(rocm_stages(parse_mode(mode))))
        return module.operation


def refusal(name: str) -> str:
    """Why a kernel is refused, as a pattern; nothing if it is not."""
    if name.startswith(WITH_LIBRARY):
        return IN_OCML
    return PRINTS if name == "printing" else ""


def atomics(text: str) -> list[str]:
    """The atomic instructions of a text, in order."""
    return [name for kernel in kernels_of(text) for name in kernel.atomics]


def instructions(kernels: list[Kernel]) -> set[str]:
    """The instructions that some kernels have."""
    return {name for kernel in kernels for name in kernel.instructions}


@pytest.mark.parametrize("mode", ["primal", "reverse"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name: str, mode: str) -> None:
    """Every kernel becomes code for every chip, which LLVM assembles and in which nothing spills,
    or is refused at a line."""
    if mode == "reverse" and name not in REVERSED:
        return
    if refusal(name):
        with pytest.raises(ti.TaichiCompilationError, match=refusal(name)):
            made(name, CHIPS[0], mode)
        return
    module = lowered(name, mode)
    for chip in CHIPS:
        text = amdgpu.to_amdgpu(module, chip)
        kernels = kernels_of(text)
        assert f"amdgcn-amd-amdhsa--{chip}" in text
        assert kernels and all(re.fullmatch(r"run_\d+", kernel.name) for kernel in kernels)
        assert [kernel for kernel in kernels if kernel.spilled or kernel.scratch] == []
        assert {kernel.wave for kernel in kernels} == {32 if chip == "gfx1100" else 64}
        assert not any(name.startswith("flat_") for name in instructions(kernels))
        code = amdgpu.to_amdgpu_object(module, chip)
        assert code.startswith(b"\x7fELF\x02")
        assert struct.unpack_from("<H", code, 18) == (ELF_MACHINE,)
        assert all(f"{kernel.name}.kd".encode() in code for kernel in kernels)


def test_the_same_text_every_time() -> None:
    """For a chip that was named or not."""
    kernel, arguments = saxpy()
    assert kernel.amdgpu(*arguments) == kernel.amdgpu(*arguments, chip="gfx942")


def test_updates_of_own_cells_are_plain() -> None:
    """Nor is a sum over all iterations atomic."""
    for make in (saxpy, stencil):
        kernel, arguments = make()
        assert atomics(kernel.amdgpu(*arguments)) == []
        assert atomics(kernel.amdgpu(*arguments, mode="reverse")) == []


@pytest.mark.parametrize("chip", CHIPS)
def test_sums_of_floats_in_memory(chip: str) -> None:
    """Sums of f32 are instructions of the memory, those of f64 except on gfx1100; the other updates
    of floats are loops of compare and swap, where no chip has more."""
    found = atomics(made("kinds-f32", chip))
    assert "global_atomic_add_f32" in found and sum("cmpswap" in name for name in found) == 3
    found = atomics(made("kinds-f64", chip))
    has_sums = chip != "gfx1100"
    assert ("global_atomic_add_f64" in found) == has_sums
    assert sum("cmpswap" in name for name in found) == 4 - has_sums
    assert sum("cmpswap" in name for name in atomics(made("integers", chip))) == 1  # a product


def test_atomics_keep_no_order() -> None:
    """Nothing is written back or made invalid around them."""
    kernel, arguments = scatter()
    assert not re.search(r"buffer_(wb|inv)", kernel.amdgpu(*arguments))


def test_sums_are_handed_from_thread_to_thread() -> None:
    """By exchanges in groups of 32, alike on waves of 32 and 64."""
    for chip in CHIPS:
        first, last = kernels_of(made("saxpy", chip))
        assert first.instructions.count("ds_swizzle_b32") == 5
        assert last.instructions.count("ds_swizzle_b32") == 5
        assert (first.shared, last.shared) == (16, 0)
        assert "s_barrier" in first.instructions and "s_barrier" not in last.instructions


def test_threads_that_exchange_values() -> None:
    """Those of a group, by number: the second half of a wave of 64 is a group of its own."""
    x, y = ti.field(ti.f32, 128), ti.field(ti.f64, 128)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=64)
        for i in range(128):
            x[i] = ti.simt.subgroup.shuffle(x[i], (i * 7) % 32)
            y[i] = ti.simt.subgroup.shuffle(y[i], (i * 3) % 32)

    for chip in CHIPS:
        (kernel,) = kernels_of(run.amdgpu(chip=chip))
        assert kernel.instructions.count("ds_bpermute_b32") == 3


def test_tiles_have_space_in_registers() -> None:
    """Of sums of products, which threads read from a memory of their block."""
    x, y, z = (ti.field(ti.f32, shape) for shape in ((4096, 64), (64, 64), (4096, 64)))

    @ti.kernel
    def run():
        for i, j in z:
            s = 0.0
            for k in range(64):
                s += x[i, k] * y[k, j]
            z[i, j] = s

    for chip in CHIPS:
        kernels = kernels_of(run.amdgpu(chip=chip))
        assert any(kernel.shared for kernel in kernels)
        assert all(kernel.spilled == kernel.scratch == 0 for kernel in kernels)


def test_checks_of_a_debug_program() -> None:
    """Failures go to the record that the host reads."""
    ti.init(debug=True)
    x = ti.field(ti.f32, 10)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            x[i] = 1.0
            assert i < 5, "too many"

    assert kernels_of(run.amdgpu(3))


def test_estimates_are_for_sums_and_derivatives() -> None:
    """1 / sqrt in a sum is the chip's instruction; what is stored is exact."""
    x, y = ti.field(ti.f32, 10), ti.field(ti.f32, 10)

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

    assert instructions(kernels_of(add.amdgpu())) & {"v_rsq_f32_e32", "v_div_fixup_f32"} == {
        "v_rsq_f32_e32"
    }
    assert "v_div_fixup_f32" in instructions(kernels_of(store.amdgpu()))


def test_a_function_that_llvm_has_needs_no_library() -> None:
    """Exponential functions and logarithms of f32 and f16; of f64, the library has them."""
    x, y = ti.field(ti.f32, 10), ti.field(ti.f64, 10)

    @ti.kernel
    def short():
        for i in x:
            x[i] = ti.exp(x[i]) + ti.log(x[i]) + ti.exp2(x[i]) + ti.log10(x[i]) + ti.log2(x[i])

    @ti.kernel
    def long():
        for i in y:
            y[i] = ti.exp(y[i])

    assert kernels_of(short.amdgpu())
    with pytest.raises(ti.TaichiCompilationError, match=r"y\[i\] = ti\.exp|__ocml_exp_f64"):
        long.amdgpu()


def test_the_library_is_linked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library of one function stands for ROCm's; it is told of the chip."""
    library = llvm.parse_assembly("""
        @__oclc_ISA_version = external addrspace(4) constant i32
        define float @__ocml_sin_f32(float %x) {
          %version = load i32, ptr addrspace(4) @__oclc_ISA_version
          %number = sitofp i32 %version to float
          %y = fmul float %x, %number
          ret float %y
        }
        define float @__ocml_cos_f32(float %x) { ret float %x }
    """)
    library.triple = amdgpu.TRIPLE
    path = tmp_path / "ocml.bc"
    path.write_bytes(library.as_bitcode())
    monkeypatch.setattr(amdgpu, "ocml", lambda: path)
    for chip, version in (("gfx942", 9402), ("gfx90a", 9010), ("gfx1100", 11000)):
        text = made("exchanges", chip)
        number = struct.unpack("<I", struct.pack("<f", version))[0]
        assert f"{number:#x}" in text
        assert "__ocml" not in text


def test_what_the_library_is_told() -> None:
    """LLVM reads it; no function may be inexact."""
    for chip in CHIPS:
        text = str(llvm.parse_assembly(controls(chip)))
        wide = int(chip != "gfx1100")
        assert re.search(rf"wavefrontsize64 .*constant i8 {wide}\b", text)
        assert re.search(r"unsafe_math_opt .*constant i8 0", text)


def test_an_unknown_chip_is_refused() -> None:
    """By name, before anything is written."""
    kernel, arguments = saxpy()
    for chip in ("sm_90", "gfx900", "gfx9999"):
        with pytest.raises(ti.TaichiCompilationError, match=f"unknown chip '{chip}'"):
            kernel.amdgpu(*arguments, chip=chip)


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    """Neither by the package nor by a kernel that runs."""
    source = """
    import sys
    import mlirad as ti
    ti.init(arch=ti.cpu)
    assert not [name for name in sys.modules if "amdgpu" in name or "llvmlite" in name]
    """
    code = "\n".join(line.strip() for line in source.splitlines())
    subprocess.run([sys.executable, "-c", code], check=True)
