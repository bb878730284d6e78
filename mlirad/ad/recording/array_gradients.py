"""Which array arguments of a tape's launches carry derivatives, and the hidden gradients of those
that have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlirad.ad.recording.known_arrays import KnownArray, KnownArrays
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import place_in_program
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program

_Choice = tuple[Variant, dict[int, str]]


class ArrayGradients:
    """The gradients of array arguments, given by the program or hidden."""

    def __init__(self, program: Program, known: KnownArrays) -> None:
        self.program, self.known = program, known
        self._choices: dict[tuple[Variant, tuple[bool, ...], int], _Choice] = {}

    def with_gradients(self, launch: Launch) -> Launch:
        """A launch whose arrays have gradients, hidden ones where derivatives pass through arrays
        without.

        Raises TaichiRuntimeError for arrays that carry a derivative and share memory with others.
        """
        variant = launch.variant
        known = [self.known.know(array, variant.kernel.name) for array in launch.arrays]
        while True:
            hidden = tuple([one.hidden is not None for one in known])
            key = (variant, hidden, self.program.derivatives.gradient_version)
            choice = self._choices.get(key)
            if choice is None:
                choice = self._choices[key] = self._choose(variant, hidden)
            chosen, missing = choice
            if not missing:
                break
            for position, place in missing.items():
                dtype = variant.kernel.arrays[position].dtype
                known[position].hide_gradient(place_in_program(place), dtype)
        arrays = [
            one.of_launch(array, needs)
            for one, array, needs in zip(known, launch.arrays, chosen.array_needs_grad)
        ]
        for one in known:
            _check_apart(one)
        return launch.with_variant(chosen).with_arrays(arrays)

    def _choose(self, variant: Variant, hidden: Sequence[bool]) -> _Choice:
        """The variant for arrays some of which have hidden gradients, or which others need one, and
        where."""
        arrays, adjoints = variant.kernel.arrays, self.program.derivatives.adjoints
        mine = frozenset(
            position
            for position, given in enumerate(hidden)
            if given and not arrays[position].is_cut and not variant.array_needs_grad[position]
        )
        carries: set[int | str] = {
            number
            for number, position in variant.array_positions.items()
            if variant.array_needs_grad[position] or position in mine
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
        return (variant.with_gradients(mine) if mine else variant), missing

    def hidden_of(self, array: Ndarray) -> Ndarray | None:
        """The hidden gradient of an ndarray, if it has one."""
        known = self.known.of(array)
        return None if known is None else known.hidden

    def hidden(self) -> list[KnownArray]:
        """Those with hidden gradients."""
        return [one for one in self.known.all() if one.hidden is not None]

    def clear_hidden(self) -> None:
        """Set hidden gradients to 0."""
        for one in self.hidden():
            assert one.hidden is not None
            one.hidden.elements.fill(0)
            one.hidden.clear_tangents()

    @contextmanager
    def added_up(self) -> Iterator[None]:
        """What tensors of torch have as gradients is 0 within, and what they had before is added
        afterwards."""
        gradients = [
            one.gradient.elements()
            for one in self.known.all()
            if one.gradient is not None and not isinstance(one.gradient.owner, Ndarray)
        ]
        before = [elements.copy() for elements in gradients]
        for elements in gradients:
            elements.fill(0)
        try:
            yield
        finally:
            for kept in before:
                kept.add()


def _check_apart(one: KnownArray) -> None:
    """Raise TaichiRuntimeError for an array that shares memory with another, where one of them
    carries a derivative."""
    for other in one.overlaps:
        if one.gradient is not None or other.gradient is not None:
            raise TaichiRuntimeError(
                f"{one.describe()}, of shape {one.shape}, and {other.describe()}, of shape "
                f"{other.shape}, share memory and are not the same array, and a derivative "
                "passes through it: pass one array and an index, or a ti.ndarray"
            )
