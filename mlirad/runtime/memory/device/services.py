"""Kernels that a device's memory runs for itself: compiled when they are first asked for, as the
user's are, and launched as they are."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

import msgspec

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.signature import signature_of
from mlirad.pipeline.mode import PRIMAL
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.stage import behind, join
from mlirad.runtime.boxes import Box
from mlirad.runtime.config import Config
from mlirad.runtime.executor.executor import Code, Executor, Located, Lowered, PassedArray
from mlirad.runtime.memory.device.service_ir import Operation, Service, build
from mlirad.runtime.memory.device.strided import Loops
from mlirad.runtime.memory.values import Values
from mlirad.runtime.memory.waiting import Clearing, Waiting

_NORMAL = "normal"  # what these kernels are from the start


class Services:
    """The kernels of a machine, by what they do."""

    def __init__(self, executor: Executor) -> None:
        self._executor = ref(executor)  # which has the memory that has these
        self._config = Config(fast_math=False)
        self._codes: dict[Service, Code] = {}

    def launch(
        self,
        operation: Operation,
        loops: Loops,
        addresses: Sequence[int],
        *,
        word: str = "",
        flag: int | None = None,
        numbers: Sequence[int] = (),
    ) -> None:
        """Run a kernel on arrays at addresses; `flag` is the address of a byte, `word` the type of
        elements that are more than bits."""
        extents = loops.extents or (1,)
        service = Service(operation, word or f"i{8 * loops.width}", len(extents))
        code = self._codes.get(service)
        if code is None:
            code = self._compile(service)
        steps = [
            step // (int(name[1:]) // 8)
            for name, strides in zip(service.words, loops.strides)
            for step in strides or (0,)
        ]
        passed = [*addresses] if flag is None else [*addresses, flag]
        values = [*[0] * len(passed), *extents, *steps, *numbers]
        code.launch(values, [_Passed(address) for address in passed])

    @in_turn
    def _compile(self, service: Service) -> Code:
        found = self._codes.get(service)
        if found is None:
            executor = self._executor()
            assert executor is not None, "the memory of a machine that is gone"
            with context(), ir.Location.unknown():
                lowered = _lowered(service, executor, self._config)
                found = executor.compile(lowered, _Nothing(), self._config)
            self._codes[service] = found
        return found


def _lowered(service: Service, executor: Executor, config: Config) -> Lowered:
    """A kernel at the last stage."""
    module, stages = build(service), behind(_NORMAL, executor.stages(PRIMAL, config))
    run_pipeline(module.operation, join(stages[:-1]))
    signature = signature_of(module.operation, service.name)
    run_pipeline(module.operation, join(stages[-1:]))
    return Lowered(lambda: module, service.name, signature)


class _Passed(msgspec.Struct, frozen=True):
    """An array that is on the machine."""

    address: int
    dims: tuple[int, ...] = (1 << 62,)  # nobody asks where it ends
    host: Values | None = None

    def adjoint(self) -> PassedArray:
        raise TaichiRuntimeError("the arrays of these kernels have no adjoints")

    def tangent(self, number: int) -> PassedArray:
        raise TaichiRuntimeError("the arrays of these kernels have no tangents")


class _Nothing:
    """The memory that these kernels reach without being passed it."""

    clearing = Clearing()

    def waiting(self, symbol: str) -> Waiting:
        return Waiting()

    def field(self, symbol: str) -> Located:
        raise TaichiRuntimeError(f"there is no field '{symbol}'")

    def clear(self, symbol: str, box: Box) -> None:
        raise TaichiRuntimeError(f"there is no field '{symbol}'")

    def check_bits(self, symbol: str) -> Located:
        raise TaichiRuntimeError(f"there are no check bits of '{symbol}'")
