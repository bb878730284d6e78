"""`arch=ti.cuda` without a GPU: the executor as it is, over the stub, which is told of every
kernel's `gpu.func` before its PTX is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.cuda.device_space import run_guarded
from runtime.cuda.stub import Kernel, Stub

from mlirad.bindings import ir
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import block_operations, functions
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.cpu import target_stage
from mlirad.pipeline.stages.gpu import PAGED_FROM, cuda_stages, gpu_stages
from mlirad.pipeline.stages.stage import Stage, join
from mlirad.runtime.config import Config
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.cuda.cuda_executor import CudaExecutor, CudaKernel
from mlirad.runtime.executor.executor import LaunchMemory, LoweredKernel
from mlirad.runtime.executors import EXECUTORS
from mlirad.runtime.native.engine import engine_of


class StubbedExecutor(CudaExecutor):
    """The GPU's, over a stub."""

    def __init__(self, stub: Stub, driver: CudaDriver, paged_from: int = PAGED_FROM) -> None:
        super().__init__(driver, paged_from=paged_from)
        self._stub = stub

    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        shared = gpu_stages(
            mode,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            keeps=keeps,
            paged_from=self.paged_from,
        )
        return [*shared, Stage("target", "canonicalize")]

    def compile(self, lowered: LoweredKernel, memory: LaunchMemory, config: Config) -> CudaKernel:
        module = lowered.module.operation
        self._stub.next_kernels = kernels_on_the_cpu(module)
        run_pipeline(module, join(cuda_stages()[-1:]))
        return super().compile(lowered, memory, config)


def kernels_on_the_cpu(module: ir.Operation) -> dict[str, Kernel]:
    """The kernels of an outlined module, by name."""
    copy = ir.Module.parse(str(module))
    for function in functions(copy.operation):
        if "sym_visibility" not in function.attributes:  # which launches
            function.erase()
    types = {}
    for holder in block_operations(copy.body):
        if holder.name == "gpu.module":
            for op in block_operations(holder.regions[0].blocks[0]):
                if "kernel" in op.attributes:
                    given = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
                    name = symbol_of(holder), symbol_of(op)
                    types[name] = [text for type_ in given.inputs for text in _words(type_)]
    run_pipeline(copy.operation, "builtin.module(run-threads-in-loops{order=shuffled})")
    wanted = {f"{holder}.{name}" for holder, name in types}
    for op in block_operations(copy.body):
        if "sym_name" in op.attributes and symbol_of(op) in wanted:
            del op.attributes["sym_visibility"]
    run_pipeline(copy.operation, join([target_stage(fast_math=False)]))
    engine = engine_of(copy, opt_level=0)
    engine.initialize()
    return {
        name: Kernel(given, _packed(engine, f"{holder}.{name}"))
        for (holder, name), given in types.items()
    }


def _words(type_: ir.Type) -> list[str]:
    """The types that an argument is passed as."""
    if not isinstance(type_, ir.MemRefType):
        return [str(type_)]
    return ["!llvm.ptr", "!llvm.ptr", "i64", *["i64"] * 2 * ir.MemRefType(type_).rank]


def _packed(engine: Any, name: str) -> Callable[[Any], None]:
    code = engine.raw_lookup(name)

    def run(arguments: Any) -> None:
        run_guarded(code, arguments)
        assert engine  # is there until its module is unloaded

    return run


def stub_the_driver(
    capability: tuple[int, int] = (9, 0), *, paged_from: int = PAGED_FROM, **options: Any
) -> Stub:
    """Have `arch=ti.cuda` run on a stub from now on, with sparse trees of so many bytes in
    pages."""
    made = Stub(capability=capability, **options)
    driver = CudaDriver(made.functions())
    EXECUTORS["cuda"] = lambda: StubbedExecutor(made, driver, paged_from)
    return made
