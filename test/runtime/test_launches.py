"""What a GPU would run, run on the CPU one thread after the other: the same memory as the CPU's own
code leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs.gpu_kernels import KERNELS, REVERSED, returned

import mlirad as ti
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir import build as b
from mlirad.ir.signature import signature_of
from mlirad.ir.walk import at_end, before, block_operations, operations
from mlirad.pipeline.mode import parse_mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import target_stage
from mlirad.pipeline.stages.gpu import cuda_stages
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.executor.cpu import CompiledKernel
from mlirad.runtime.executor.executor import Located, Lowered
from mlirad.runtime.memory.host import HostAllocation
from mlirad.runtime.program import program

NOT_COMPARED = ("printing",)


def serialise(launch: ir.Operation) -> None:
    """A launch as loops over its blocks and threads, last thread first."""
    blocks, threads = launch.operands[0], launch.operands[3]
    arguments = list(launch.regions[0].blocks[0].arguments)
    with before(launch):
        zero, one = b.index(0), b.index(1)
        outer = b.for_loop(zero, blocks, one)
        with at_end(outer.body, launch.location):
            inner = b.for_loop(zero, threads, one)
            b.yield_()
        with at_end(inner.body, launch.location):
            last = b.sub(b.sub(threads, one), inner.induction)
            b.yield_()
    end = block_operations(inner.body)[-1]
    for op in block_operations(launch.regions[0].blocks[0])[:-1]:
        op.move_before(end)
    arguments[0].replace_all_uses_with(outer.induction)
    arguments[3].replace_all_uses_with(last)
    launch.erase()


class Launches:
    """The launches of a kernel, and the memory that they share."""

    def __init__(self, kernel: Any, arguments: tuple[Any, ...], mode: str) -> None:
        self.variant, self.values, self.buffers = kernel.prepare(program(), arguments, {})
        self.mode = mode
        if self.variant.kernel.uses_seed:
            self.values.append(1234)
        self.shared: dict[str, HostAllocation] = {}
        with context(), self.variant.kernel.module.operation.location:
            module = ir.Module.parse(str(self.variant.kernel.module))
            run_pipeline(module.operation, join(cuda_stages(parse_mode(mode))[:-1]))
            for op in list(operations(module.operation)):
                if op.name == "gpu.launch":
                    serialise(op)
            assert not [op for op in operations(module.operation) if op.name.startswith("field.")]
            name = self.variant.kernel.name
            signature = signature_of(module.operation, name)
            run_pipeline(module.operation, join([target_stage(fast_math=False)]))
            self.code = CompiledKernel(Lowered(module, name, signature), self, parallel=False)

    def check_bits(self, symbol: str) -> Located:
        """Nothing is checked."""
        raise KeyError(symbol)

    def field(self, symbol: str) -> Located:
        """Where the host would have the GPU keep a field: what launches share starts with
        rubbish."""
        if not symbol.startswith(("$launch", "$results")):
            return program().fields[symbol]
        made = self.shared.setdefault(symbol, HostAllocation(4096))
        made.data[:] = 0x55
        return made

    def run(self) -> None:
        """One launch after the other."""
        self.code.launch(self.values, self.buffers)


def same_memory(arguments: tuple[Any, ...]) -> None:
    """Give all fields and arrays the same random contents every time."""
    generator = np.random.default_rng(1)
    for name in sorted(program().fields):
        memory = program().fields[name]
        low_high = (1, 10) if memory.elements.dtype.kind in "iu" else (0.2, 0.9)
        memory.write(
            generator.uniform(*low_high, memory.read().shape).astype(memory.elements.dtype)
        )
    for array in arguments:
        if isinstance(array, np.ndarray):
            array[...] = generator.uniform(size=array.shape)


def contents(arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Copies of all fields and arrays."""
    found: dict[str, Any] = {name: memory.read() for name, memory in program().fields.items()}
    return found | {str(k): a.copy() for k, a in enumerate(arguments) if isinstance(a, np.ndarray)}


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, "primal") for name in KERNELS if name not in NOT_COMPARED]
    + [(name, "reverse") for name in REVERSED],
)
def test_launches_leave_what_the_cpu_leaves(
    name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every field and array, bit for bit but for the order of sums."""
    ti.init(cpu_max_num_threads=1, fast_math=False)
    monkeypatch.setattr(type(program().random), "next_seed", lambda self: 1234)
    kernel, arguments = KERNELS[name]()
    launches = Launches(kernel, arguments, mode)
    same_memory(arguments)
    before_launch = contents(arguments)
    launches.run()
    found = contents(arguments)
    same_memory(arguments)
    kernel(*arguments) if mode == "primal" else kernel.grad(*arguments)
    expected = contents(arguments)
    assert name == "returned" or any(
        (expected[symbol] != before_launch[symbol]).any() for symbol in expected
    )
    for symbol, values in expected.items():
        tolerance = (
            {2: 1e-2, 4: 1e-5, 8: 1e-12}[values.dtype.itemsize] if values.dtype.kind == "f" else 0
        )
        np.testing.assert_allclose(found[symbol], values, rtol=tolerance, err_msg=symbol)


def test_results_are_left_in_memory() -> None:
    """What a kernel returns is in the fields of the tree `$results`."""
    ti.init(cpu_max_num_threads=1)
    kernel, arguments = returned()
    launches = Launches(kernel, arguments, "primal")
    same_memory(arguments)
    launches.run()
    expected = kernel(*arguments)
    assert launches.shared["$results.0"].data.view(np.float32)[0] == pytest.approx(
        expected, rel=1e-5
    )
