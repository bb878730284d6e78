"""Gradients of array arguments of a tape's launches: which carry derivatives, and hidden ones of
those that have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlirad.ad.recording.array_table import ArrayTable, TapeArray
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import place_in_program
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.kernels.variant import ArrayChoice, Variant
from mlirad.runtime.program import Program


class ArrayGradients:
    """The gradients of array arguments, given by the program or hidden."""

    def __init__(self, program: Program, table: ArrayTable) -> None:
        self.program, self.table = program, table
        # of launches on ndarrays without hidden gradients, by address: version of derivatives
        self._known: dict[tuple[Variant, tuple[int, ...]], int] = {}

    def are_known(self, launch: Launch) -> bool:
        """Return whether `with_gradients` returned an earlier launch on the same ndarrays as it
        was, and would do so again."""
        addresses = tuple([buffer.address for buffer in launch.arrays])
        version = self._known.get((launch.variant, addresses))
        return version == self.program.derivatives.version

    def with_gradients(self, launch: Launch) -> Launch:
        """A launch whose arrays have gradients, hidden ones where derivatives pass through arrays
        without.

        Raises TaichiRuntimeError for arrays that carry a derivative and share memory with others.
        """
        variant = launch.variant
        arrays = [self.table.know(buffer, variant.kernel.name) for buffer in launch.arrays]
        while True:
            hidden = tuple([array.hidden is not None for array in arrays])
            key = (hidden, self.program.derivatives.gradient_version)
            choice = variant.array_choices.get(key)
            if choice is None or choice[0].codes.is_stale:
                choice = variant.array_choices[key] = self._choose(variant, hidden)
            chosen, missing = choice
            if not missing:
                break
            for position, place in missing.items():
                dtype = variant.kernel.arrays[position].dtype
                arrays[position].hide_gradient(place_in_program(place), dtype)
                self._known.clear()
        buffers = [
            array.of_launch(buffer, needs)
            for array, buffer, needs in zip(arrays, launch.arrays, chosen.array_needs_grad)
        ]
        for array in arrays:
            if array.overlaps:
                _check_apart(array)
        if not any(hidden):
            if chosen is variant and all(array.mirror is None for array in arrays):
                addresses = tuple([buffer.address for buffer in launch.arrays])
                self._known[variant, addresses] = self.program.derivatives.version
            return launch.with_variant(chosen)
        return launch.with_variant(chosen).with_arrays(buffers)

    def _choose(self, variant: Variant, hidden: Sequence[bool]) -> ArrayChoice:
        """The variant for arrays some of which have hidden gradients, or which others need one, and
        where."""
        arrays, adjoints = variant.kernel.arrays, self.program.derivatives.adjoints
        with_hidden = frozenset(
            position
            for position, is_hidden in enumerate(hidden)
            if is_hidden and not arrays[position].is_cut and not variant.array_needs_grad[position]
        )
        carries: set[int | str] = {
            number
            for number, position in variant.array_positions.items()
            if variant.array_needs_grad[position] or position in with_hidden
        }
        missing: dict[int, str] = {}
        flows = list(variant.notes.flows().between)
        while flow := next(
            (flow for flow in flows if any(s in carries or s in adjoints for s in flow.sources)),
            None,
        ):
            flows.remove(flow)
            if isinstance(flow.target, int) and flow.target not in carries:
                position = variant.array_positions[flow.target]
                if arrays[position].is_cut:
                    continue
                missing[position] = flow.place
            carries.add(flow.target)
        return (variant.with_gradients(with_hidden) if with_hidden else variant), missing

    def hidden_of(self, array: Ndarray) -> Ndarray | None:
        """The hidden gradient of an ndarray, if it has one."""
        argument = self.table.of(array)
        return None if argument is None else argument.hidden

    def hidden(self) -> list[TapeArray]:
        """Return the arrays with hidden gradients."""
        return [array for array in self.table.all() if array.hidden is not None]

    def clear_hidden(self) -> None:
        """Set hidden gradients to 0."""
        for array in self.hidden():
            assert array.hidden is not None
            array.hidden.elements.fill(0)
            array.hidden.clear_tangents()

    @contextmanager
    def added_up(self) -> Iterator[None]:
        """Clear what tensors of torch have as gradients within, and add what they had before
        afterwards."""
        gradients = [
            array.gradient.elements()
            for array in self.table.all()
            if array.gradient is not None and not isinstance(array.gradient.owner, Ndarray)
        ]
        before = [elements.copy() for elements in gradients]
        for elements in gradients:
            elements.fill(0)
        try:
            yield
        finally:
            for copy in before:
                copy.add()


def _check_apart(array: TapeArray) -> None:
    """Raise TaichiRuntimeError for an array that shares memory with another, where one of them
    carries a derivative."""
    for other in array.overlaps:
        if array.gradient is not None or other.gradient is not None:
            raise TaichiRuntimeError(
                f"{array.describe()}, of shape {array.shape}, and {other.describe()}, of shape "
                f"{other.shape}, share memory and are not the same array, and a derivative "
                "passes through it: pass one array and an index, or a ti.ndarray"
            )
