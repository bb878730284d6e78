"""The array arguments of the launches on a tape: which of them carry derivatives, and what reverses
need of them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mlirad.ad.tape.mirror import Array, Mirror, UnseenWrite, same_bits
from mlirad.ad.tape.places import caller
from mlirad.ad.tape.versions import Version, Versions
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments import ArrayBuffer, array_buffer, extent, overlap
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.footprints import Box, Footprint
from mlirad.runtime.program import Program
from mlirad.runtime.variant import Variant


class KnownArray:
    """An array that was an argument of a launch on a tape."""

    def __init__(self, buffer: ArrayBuffer, kernel: str) -> None:
        self.name, self.kernel = buffer.name, kernel
        self.theirs = buffer.program_memory()  # kept alive, so that its address means this array
        self.is_ours = buffer.is_ours
        self.mirror: Mirror | None = (
            None if self.is_ours else Mirror(self.theirs)
        )  # takes memory when it is written to
        self.is_watched = False  # whether the mirror holds something
        self.is_whole = False  # and all of it
        self.hidden: Ndarray | None = None
        self.place = ""  # where a derivative first reached it
        self.gradient: ArrayBuffer | None = None
        self.overlaps: list[KnownArray] = []
        self._of_reverse: ArrayBuffer | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def whole(self) -> Box:
        """The box of all elements."""
        return ((None, None),) * self.theirs.ndim

    def describe(self) -> str:
        """What to call it in messages."""
        return f"array argument '{self.name}' of kernel '{self.kernel}'"

    def hide_gradient(self, place: str, dtype: Any) -> None:
        """Give it a hidden gradient, because of a derivative that reaches it at a place."""
        self.hidden, self.place = Ndarray(dtype, self.theirs.shape, (), False), place
        self.hidden.is_gradient = True

    def of_launch(self, buffer: ArrayBuffer, needs_grad: bool) -> ArrayBuffer:
        """What a launch passes, with the hidden gradient where there is one and the kernel has a
        use for it."""
        if needs_grad and self.hidden is not None:
            buffer = replace(buffer, grad=array_buffer(self.hidden, self.name, False))
        if needs_grad:
            self.gradient = buffer.grad
        return buffer

    def of_reverse(self, buffer: ArrayBuffer) -> ArrayBuffer:
        """What its reverse passes."""
        if self.mirror is None or buffer.is_mirror:
            return buffer
        own, last = self.mirror.own, self._of_reverse
        if last is None or _address(last.grad) != _address(buffer.grad):
            last = self._of_reverse = ArrayBuffer(
                own.address, own.dims, buffer.grad, own, name=self.name, is_mirror=True
            )
        return last


class Arrays:
    """What a tape knows of array arguments."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.known: dict[Any, KnownArray] = {}
        self._choices: dict[Any, tuple[Variant, dict[int, str]]] = {}
        self._accesses: dict[Variant, list[tuple[int, Footprint, bool]]] = {}
        self._extents: list[
            tuple[int, int, int, KnownArray]
        ] = []  # of arrays that are not ours, in the order of memory
        self._longest = 0
        self._called: dict[KnownArray, None] = {}  # by a function that is running
        self._given: dict[
            KnownArray, tuple[str, Array]
        ] = {}  # that gradients given for functions may read, and a copy

    def know(self, buffer: ArrayBuffer, kernel: str) -> KnownArray:
        """What is known of an array argument."""
        key = _key(buffer)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = KnownArray(buffer, kernel)
            if found.mirror is not None:
                self.known[found.mirror.own.address] = found
                self._find_overlaps(found, *extent(buffer))
        return found

    def _find_overlaps(self, new: KnownArray, start: int, end: int) -> None:
        for first, last, _, old in self._extents[
            bisect_left(self._extents, (start - self._longest,)) :
        ]:
            if first >= end:
                break
            if last > start and overlap(old.theirs, new.theirs):
                old.overlaps.append(new)
                new.overlaps.append(old)
        insort(self._extents, (start, end, len(self._extents), new))
        self._longest = max(self._longest, end - start)

    # Which arrays carry derivatives.

    def with_gradients(
        self, variant: Variant, buffers: Sequence[ArrayBuffer]
    ) -> tuple[Variant, list[ArrayBuffer]]:
        """A variant and its arrays, where derivatives pass through arrays without gradients: with
        hidden ones.

        Raises TaichiRuntimeError for arrays that carry a derivative and share memory with others.
        """
        known = [self.know(buffer, variant.kernel.name) for buffer in buffers]
        while True:
            hidden = tuple([one.hidden is not None for one in known])
            key = (variant, hidden, self.program.gradient_version)
            choice = self._choices.get(key)
            if choice is None:
                choice = self._choices[key] = self._choose(variant, hidden)
            chosen, missing = choice
            if not missing:
                break
            for position, place in missing.items():
                known[position].hide_gradient(place, variant.kernel.arrays[position].dtype)
        found = [
            one.of_launch(buffer, needs)
            for one, buffer, needs in zip(known, buffers, chosen.array_needs_grad)
        ]
        for one in known:
            _check_apart(one)
        return chosen, found

    def _choose(self, variant: Variant, hidden: Sequence[bool]) -> tuple[Variant, dict[int, str]]:
        """The variant for arrays some of which have hidden gradients, or which others need one, and
        where."""
        arrays, adjoints = variant.kernel.arrays, self.program.adjoints
        mine = frozenset(
            position
            for position, given in enumerate(hidden)
            if given and not arrays[position].is_cut and not variant.array_needs_grad[position]
        )
        carries: set[Any] = {
            number
            for number, position in variant.array_positions.items()
            if variant.array_needs_grad[position] or position in mine
        }
        missing: dict[int, str] = {}
        flows = list(variant.flows().between)
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
        known = self.known.get(array.address)
        return None if known is None else known.hidden

    def hidden(self) -> list[KnownArray]:
        """Those with hidden gradients."""
        return [one for one in dict.fromkeys(self.known.values()) if one.hidden is not None]

    def clear_hidden(self) -> None:
        """Set hidden gradients to 0."""
        for one in self.hidden():
            assert one.hidden is not None
            one.hidden.values.fill(0)
            one.hidden.clear_tangents()

    @contextmanager
    def added_up(self) -> Iterator[None]:
        """What tensors of torch have as gradients is 0 within, and what they had before is added
        afterwards."""
        views = [
            one.gradient.array()
            for one in dict.fromkeys(self.known.values())
            if one.gradient is not None and not isinstance(one.gradient.owner, Ndarray)
        ]
        before = [view.copy() for view in views]
        for view in views:
            view[...] = 0
        try:
            yield
        finally:
            for view, copy in zip(views, before):
                view += copy

    # What reverses need.

    def look(
        self,
        piece: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
        known: Sequence[KnownArray],
        versions: Versions,
    ) -> tuple[list[ArrayBuffer], list[UnseenWrite], list[Version]]:
        """Before a launch: the arrays for its reverse, what Python wrote since the last one, and
        what is kept for loops.

        Raises TaichiRuntimeError where Python wrote what an earlier reverse needs, and the tape's
        rules keep nothing.
        """
        unseen: list[UnseenWrite] = []
        saved: list[Version] = []
        for one in known:
            if one.gradient is not None and not one.is_whole and not one.is_ours:
                unseen += self.look_at(one, versions)
        for position, footprint, is_written in self._of(piece):
            one, buffer = known[position], buffers[position]
            if one.mirror is None or buffer.is_mirror:
                continue
            box = footprint.box(values)
            if (
                is_written and buffer.address in versions.needed
            ):  # by a loop, or by a gradient that was given
                saved += versions.before_write(buffer.address, one.theirs, box, footprint.place)
            if one.is_watched or not is_written:
                unseen += self.look_at(one, versions, box)
        return [one.of_reverse(buffer) for one, buffer in zip(known, buffers)], unseen, saved

    def look_at(
        self, one: KnownArray, versions: Versions, box: Box | None = None
    ) -> list[UnseenWrite]:
        """What Python wrote to a box, or all, of an array that is not ours."""
        mirror = one.mirror
        assert mirror is not None
        at = one.whole if box is None else box
        found = mirror.look(
            at,
            lambda: versions.before_change(
                mirror.own.address, mirror.own.values, at, mirror.differs, one.describe(), caller()
            ),
            one.gradient if one.is_whole else None,
        )
        one.is_watched, one.is_whole = True, one.is_whole or box is None
        return [found] if found is not None and found.matters else []

    def look_at_all(self, versions: Versions) -> list[UnseenWrite]:
        """What Python wrote to all arrays of which something is held."""
        return [entry for one in self._watched() for entry in self.look_at(one, versions)]

    def take_all(self) -> None:
        """Hold all arrays as they are now: what wrote to them has a gradient of its own."""
        for one in self._watched():
            assert one.mirror is not None
            one.mirror.take(one.whole)

    # Functions with a gradient of their own.

    def seen_by_call(self, buffers: Sequence[ArrayBuffer], kernel: str) -> None:
        """Note the arrays of a launch inside a function with a gradient of its own."""
        self._called.update(
            {self.know(buffer, kernel): None for buffer in buffers if not buffer.is_ours}
        )

    def hold_given(self, function: str) -> None:
        """A function was called whose gradient, which runs on the program's own arrays, may read
        what there is now."""
        self._given.update({one: (function, one.theirs.copy()) for one in self._called})
        self._called.clear()

    def check_given(self) -> None:
        """Raise TaichiRuntimeError where Python has changed what a gradient given for a function
        may read."""
        for one, (function, copy) in self._given.items():
            if not same_bits(one.theirs, copy):
                raise TaichiRuntimeError(
                    f"{one.describe()}, launched by function '{function}', was changed in Python "
                    f"since: "
                    "the gradient given for that function would read what is there now; pass a "
                    "ti.ndarray, or a new array to each call"
                )

    def _watched(self) -> list[KnownArray]:
        return [one for one in dict.fromkeys(self.known.values()) if one.is_watched]

    def take(
        self,
        piece: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
        known: Sequence[KnownArray],
    ) -> None:
        """After a launch: hold what it wrote."""
        for position, footprint, is_written in self._of(piece):
            if is_written:
                one = known[position]
                if one in self._given:
                    self._given[one] = self._given[one][0], one.theirs.copy()
                if one.mirror is not None and one.is_watched and not buffers[position].is_mirror:
                    one.mirror.take(footprint.box(values))

    def _of(self, piece: Variant) -> list[tuple[int, Footprint, bool]]:
        """The accesses of a kernel to its array arguments, and whether each is a write."""
        found = self._accesses.get(piece)
        if found is None:
            footprints, positions = piece.footprints(), piece.array_positions
            found = self._accesses[piece] = [
                (positions[access.array], access, is_written)
                for accesses, is_written in (
                    (footprints.needed, False),
                    (footprints.active, False),
                    (footprints.written, True),
                )
                for access in accesses
                if isinstance(access.array, int)
            ]
        return found


def _address(buffer: ArrayBuffer | None) -> int:
    return 0 if buffer is None else buffer.address


def _key(buffer: ArrayBuffer) -> Any:
    """What tells an array from others on a tape."""
    if isinstance(buffer.owner, Ndarray):
        return buffer.address
    view = buffer.program_memory()
    if buffer.given is None:
        return buffer.address, buffer.dims, view.dtype.char
    return view.__array_interface__["data"][0], view.shape, view.strides, view.dtype.char


def _check_apart(one: KnownArray) -> None:
    """Raise TaichiRuntimeError for an array that shares memory with another, where one of them
    carries a derivative."""
    for other in one.overlaps:
        if one.gradient is not None or other.gradient is not None:
            raise TaichiRuntimeError(
                f"{one.describe()}, of shape {one.theirs.shape}, and {other.describe()}, of shape "
                f"{other.theirs.shape}, share memory and are not the same array, and a derivative "
                "passes through it: pass one array and an index, or a ti.ndarray"
            )
