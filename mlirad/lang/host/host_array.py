"""The common Python interface of fields and ndarrays: elements that it reads and writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from mlirad.frontend.python.building.builder import being_built, refuse_in_kernel
from mlirad.lang.host.element_arrays import OfElements
from mlirad.lang.host.host_values import array_of, fitting_array
from mlirad.lang.matrix import ElementMatrix
from mlirad.runtime.memory.memory import Elements, Index
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import Program
from mlirad.types import DataType


class HostArray(OfElements):
    """Elements over index axes; each is a scalar, or a vector or matrix (`element_shape`)."""

    program: Program
    dtype: DataType

    @property
    @abstractmethod
    def key(self) -> str | int:
        """Return the key of the array in accesses: a field's name, or an address."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Return the array's name in messages."""

    @property
    @abstractmethod
    def is_derivative(self) -> bool:
        """Return whether it holds adjoints or tangents, whose writes are not counted."""

    @property
    def is_followed(self) -> bool:
        """Return whether recorders are told of what Python reads and writes."""
        return not self.is_derivative

    @abstractmethod
    def _locate(self, key: object) -> tuple[Elements, tuple[int, ...]]:
        """The elements, and which of them a subscript means."""

    def __getitem__(self, key: object) -> Any:
        elements, index = self._locate(key)
        if not self.element_shape:
            self.note_read()
            return elements.get(index)
        values = elements.get(index)
        entries = (
            values if len(self.element_shape) == 1 else [entry for row in values for entry in row]
        )
        write = partial(self._set_component, elements, index)
        return ElementMatrix(self.element_shape, entries, write, self.read_later())

    def element(self, key: object) -> Any:
        """Return an element without notifying a recorder."""
        elements, index = self._locate(key)
        return elements.get(index)

    def _set_component(
        self, elements: Elements, index: tuple[int, ...], position: tuple[int, ...], value: object
    ) -> None:
        place = (*index, *position)
        fit = self.fit(array_of(value, self.description))
        self.note_write(place)
        elements.put(place, fit)

    def fit(self, values: Values) -> Values:
        """Convert values to the element type. Raises TaichiRuntimeTypeError if one is out of
        range."""
        return fitting_array(values, self.dtype, self.description)

    def note_read(self) -> None:
        """Notify the recorder that Python reads. Raises TaichiTypeError while a kernel is
        compiled."""
        self._refuse_read_in_kernel()
        recorder = self.program.threads.recorder
        if recorder is not None and self.is_followed:
            recorder.host_read(self)

    def read_later(self) -> Callable[[], object] | None:
        """Record that Python reads an element: at once, if a function with a custom gradient reads
        it; otherwise when the returned function is called, if Python uses the element. Raises
        TaichiTypeError while a kernel is compiled."""
        self._refuse_read_in_kernel()
        recorder = self.program.threads.recorder
        if recorder is None or not self.is_followed:
            return None
        if recorder.follows_reads:
            self.note_read()
            return None
        return self.note_read

    def _refuse_read_in_kernel(self) -> None:
        if being_built:
            refuse_in_kernel(
                f"{self.description} is read",
                "x[i] is an element, which a launch reads, and print(x[i]) shows it",
            )

    def refuse_write_in_kernel(self) -> None:
        """Raise TaichiTypeError while a kernel is compiled."""
        refuse_in_kernel(f"{self.description} is written", "x[i] = v is a write of a launch")

    def note_write(self, index: Index | None = None) -> None:
        """Count a write from Python, to all elements or to the one at `index`, and notify the
        recorder. Raises TaichiTypeError while a kernel is compiled."""
        if being_built:
            self.refuse_write_in_kernel()
        if not self.is_derivative:
            self.count_write()
        recorder = self.program.threads.recorder
        if recorder is not None and self.is_followed:
            recorder.host_write(self, index)

    def count_write(self) -> None:
        """Record the time of a write from Python."""
        self.program.threads.written[self.key] = self.program.threads.count_change()
