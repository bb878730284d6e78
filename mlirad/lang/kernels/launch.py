"""A launch of a kernel: its variant for the arguments, values, and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mlirad.errors import TaichiRuntimeError
from mlirad.frontend.python.building.builder import being_built, refuse_in_kernel
from mlirad.lang.arguments.array_buffer import ArrayBuffer, write_back
from mlirad.lang.ndarray import Ndarray
from mlirad.pipeline.mode import PRIMAL, Mode
from mlirad.runtime.kernels.variant import RECORDED, Variant


class LaunchedKernel(Protocol):
    """A kernel, as recorders know it."""

    __name__: str

    @property
    def place(self) -> str:
        """The line where it is defined."""


class Launch:
    """A kernel, its variant, a value for each argument of its function (None in the place of an
    array), and the arrays."""

    __slots__ = ("arrays", "kernel", "values", "variant")

    def __init__(
        self,
        kernel: LaunchedKernel,
        variant: Variant,
        values: Sequence[Any],
        arrays: Sequence[ArrayBuffer] = (),
    ) -> None:
        self.kernel, self.variant, self.values, self.arrays = kernel, variant, values, arrays

    def with_variant(self, variant: Variant) -> Launch:
        if variant is self.variant:
            return self
        return Launch(self.kernel, variant, self.values, self.arrays)

    def with_arrays(self, arrays: Sequence[ArrayBuffer]) -> Launch:
        if arrays is self.arrays:
            return self
        return Launch(self.kernel, self.variant, self.values, arrays)

    def array(self, number: int) -> ArrayBuffer:
        """The array that is the argument with a number among all arguments."""
        return self.arrays[self.variant.array_positions[number]]

    def ndarrays(self) -> list[Ndarray]:
        """The ndarrays among the arrays."""
        return [array.owner for array in self.arrays if isinstance(array.owner, Ndarray)]

    def execute(self) -> tuple[Any, ...]:
        """Do what the program asks for: run the primal, or have what records the thread's launches
        run it; the results of the kernel. Raises TaichiTypeError while a kernel is compiled."""
        variant, arrays, threads = self.variant, self.arrays, self.variant.program.threads
        if being_built:
            name, place = self.kernel.__name__, self.kernel.place
            refuse_in_kernel(f"'{name}' ({place}) is called", "call it between launches")
        if arrays and (keeper := threads.keeper) is not None:
            keeper.before_launch(self)
        if (recorder := threads.recorder) is None:
            variant.launched_at = threads.count_change()
            results = variant.unrecorded.launch(self.values, arrays)
        else:
            results = self.record_by(recorder)
        if arrays:
            write_back(arrays, variant.notes.written_arrays)
        return results

    def record_by(self, recorder: Any) -> tuple[Any, ...]:
        """Have a `Recorder` run the primal; the results of the kernel."""
        variant, threads = self.variant, self.variant.program.threads
        if threads.views.writable:
            self._check_views()
        threads.count_change()
        variant.launched_at = RECORDED
        results: tuple[Any, ...] = recorder.launch(self)
        if variant.kernel.results:
            recorder.result(self)
        return results

    def _check_views(self) -> None:
        """Raise TaichiRuntimeError if somebody may write, unseen, to what the launch uses."""
        views = self.variant.program.threads.views
        lent = views.lent_writable(
            [*self.variant.kernel.fields, *(array.address for array in self.arrays)]
        )
        if lent is not None:
            key, place = lent
            name = f"field '{key}'" if isinstance(key, str) else "an ndarray"
            raise TaichiRuntimeError(
                f"kernel '{self.kernel.__name__}' ({self.kernel.place}) uses {name}, which "
                f"{place} may write to through to_dlpack(), which derivatives cannot track. "
                "Release it first, or make a copy there (to_numpy, to_torch)"
            )

    def run(self, mode: Mode = PRIMAL) -> tuple[Any, ...]:
        """Run a mode of the variant; the results of the kernel. Raises TaichiAssertionError if
        an assertion or an index check failed."""
        return self.variant.codes.code(mode).launch(self.values, self.arrays)

    def repeat(self) -> None:
        """Launch again, on the same arrays as they are now."""
        self.with_arrays([array.renew() for array in self.arrays]).run()


def gradient_positions(variant: Variant, arrays: Sequence[ArrayBuffer]) -> list[int]:
    """Return the positions of the arrays of floats that have gradients."""
    arguments = variant.kernel.arrays
    return [
        k
        for k, array in enumerate(arrays)
        if array.grad is not None and arguments[k].dtype.is_float
    ]
