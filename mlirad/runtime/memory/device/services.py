"""Kernels that a device's memory runs itself, launched as the user's are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import msgspec

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.ir.memory.pages import is_paged
from mlirad.runtime.memory.device.service_ir import Operation, Service
from mlirad.runtime.memory.device.strided import Loops
from mlirad.runtime.memory.values import Values


class DeviceArray(msgspec.Struct, frozen=True):
    """An array argument that is on the device already."""

    address: int
    dims: tuple[int, ...] = (1 << 62,)  # nobody asks where it ends
    host: Values | None = None

    def adjoint(self) -> DeviceArray:
        """Raise TaichiRuntimeError."""
        raise TaichiRuntimeError("the arrays of these kernels have no adjoints")

    def tangent(self, number: int) -> DeviceArray:
        """Raise TaichiRuntimeError."""
        raise TaichiRuntimeError("the arrays of these kernels have no tangents")


ServiceLaunch = Callable[[Sequence[int], Sequence[DeviceArray]], object]


class Services(ABC):
    """The kernels of a device, by what they do, compiled when they are first asked for."""

    def __init__(self) -> None:
        self._launches: dict[Service, ServiceLaunch] = {}

    @abstractmethod
    def compile(self, service: Service) -> ServiceLaunch:
        """Return what launches a kernel."""

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
        paged = tuple(map(is_paged, addresses))
        word = word or f"i{8 * loops.width}"
        service = Service(operation, word, len(extents), paged if any(paged) else ())
        launch = self._launches.get(service) or self._launch_of(service)
        steps = [
            step // (int(name[1:]) // 8)
            for name, strides in zip(service.words, loops.strides)
            for step in strides or (0,)
        ]
        arrays = [*addresses] if flag is None else [*addresses, flag]
        values = [*[0] * len(arrays), *extents, *steps, *numbers]
        launch(values, [DeviceArray(address) for address in arrays])

    @in_turn
    def _launch_of(self, service: Service) -> ServiceLaunch:
        if service not in self._launches:
            self._launches[service] = self.compile(service)
        return self._launches[service]
