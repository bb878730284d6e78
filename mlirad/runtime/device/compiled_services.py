"""The kernels of a device's memory, compiled by its executor as the user's are."""

from __future__ import annotations

from weakref import ref

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.signature import signature_of
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.stage import behind, join
from mlirad.runtime.config import Config
from mlirad.runtime.executor.executor import Addressable, Executor, LoweredKernel
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.runtime.memory.device.service_ir import Service, build
from mlirad.runtime.memory.device.services import ServiceLaunch, Services

_NORMAL = "normal"  # the stage that these kernels are built at


class CompiledServices(Services):
    """The kernels of an executor's memory."""

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        self._executor = ref(executor)  # which has the memory that has these
        self._config = Config(fast_math=False)

    def compile(self, service: Service) -> ServiceLaunch:
        """Lower and compile a kernel; return what launches it."""
        executor = self._executor()
        assert executor is not None, "the memory of a machine that is gone"
        with context(), ir.Location.unknown():
            lowered = _lower(service, executor, self._config)
            return executor.compile(lowered, _NoFields(), self._config).launch


def _lower(service: Service, executor: Executor, config: Config) -> LoweredKernel:
    """Return a kernel at the last stage."""
    module, stages = build(service), behind(_NORMAL, executor.stages(PRIMAL, config))
    run_pipeline(module.operation, join(stages[:-1]))
    signature = signature_of(module.operation, service.name)
    run_pipeline(module.operation, join(stages[-1:]))
    return LoweredKernel(lambda: module, service.name, signature)


class _NoFields:
    """The memory that these kernels reach without being passed it."""

    backlog = Backlog()

    def deferred_writes(self, symbol: str) -> None:
        raise TaichiRuntimeError(f"there is no field '{symbol}'")

    def field(self, symbol: str) -> Addressable:
        raise TaichiRuntimeError(f"there is no field '{symbol}'")

    def check_bits(self, symbol: str) -> Addressable:
        raise TaichiRuntimeError(f"there are no check bits of '{symbol}'")
