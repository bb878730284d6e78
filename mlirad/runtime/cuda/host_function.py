"""A call of a kernel's host code, and what its failures are called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import finalize

from mlirad.bindings import ExecutionEngine
from mlirad.errors import TaichiRuntimeError, located
from mlirad.runtime.cuda.constants import CUfunction_attribute, CUresult
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.cuda.host_code import Places
from mlirad.runtime.cuda.report import During, Report
from mlirad.runtime.cuda.sequences.known_kernels import KnownKernels


class HostFunction:
    """Machine code that launches the loops of a kernel, in the driver's stream: it returns before
    they have run."""

    def __init__(
        self,
        engine: ExecutionEngine,
        name: str,
        driver: CudaDriver,
        report: Report,
        places: Places,
        kernels: KnownKernels,
    ) -> None:
        self._kernels = kernels
        self.name, self._driver, self._report, self._places = name, driver, report, places
        self._connection = connection = driver.connection
        with connection.current():
            engine.initialize()  # loads the binary
        if report.result:
            self._raise()
        if report.module is not None:  # there are loops
            finalize(self, connection.unload, report.module, kernels.handles).atexit = False
        self._run: Callable[[Any], None] = engine.lookup(name)
        place = next(iter(places.values()), None)
        self._title = f"'{name}'" if place is None else f"'{name}' ({place})"

    def __call__(self, packed: Any) -> None:
        """Launch. Raises TaichiRuntimeError where the driver refused to, or refused memory."""
        connection = self._connection
        with connection.turn:
            self._run(packed)
            if self._report.result:
                self._raise()
        connection.launched.append(self._title)

    def _raise(self) -> NoReturn:
        report, connection = self._report, self._connection
        connection.sequences.raise_failure()
        during = During(report.during)
        if during == During.ALLOCATION and report.result == CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise self._driver.no_room(
                f"{report.size} bytes that kernel '{self.name}' needs to run"
            )
        kernel = ctypes.string_at(report.kernel).decode() if report.kernel else ""
        doing, place = _DOING[during].format(name=self.name), self._places.get(kernel)
        if during == During.LOADING:
            place = next(iter(self._places.values()), None)
            doing += f" (PTX for {connection.chip}, by {connection.card.driver})"
        try:
            connection.check(report.result, doing)
        except TaichiRuntimeError as error:
            text = f"{error}{self._more(during)}"
            raise type(error)(text if place is None else located(text, place)) from None
        raise AssertionError(f"a report of no failure: {report.result}")

    def _more(self, during: During) -> str:
        """Return details that help to find the reason."""
        report = self._report
        if during == During.LOADING and report.log:
            return f"\n{report.log.decode(errors='replace').strip()}"
        if during != During.LAUNCH or not report.function or self._connection.gone:
            return ""
        threads, shared, local, registers = (
            self._connection.kernel_fact(report.function, which) for which in CUfunction_attribute
        )
        return (
            f"\nThe loop uses {registers} registers and {local} bytes of local memory per "
            f"thread, and {shared} bytes of shared memory per block; a block may have {threads} "
            "threads"
        )


_DOING = {
    During.CONTEXT: "use its context for kernel '{name}'",
    During.LOADING: "load kernel '{name}'",
    During.LOOKUP: "find a loop of kernel '{name}'",
    During.LAUNCH: "launch a loop of kernel '{name}'",
    During.ALLOCATION: "allocate memory for kernel '{name}'",
    During.FREEING: "free memory of kernel '{name}'",
    During.READING: "read the sizes that kernel '{name}' counted",
}
