"""A tape whose launches, and whose reverses, have tangents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mlirad.ad.forward.moved_tangents import MovedTangents
from mlirad.ad.forward.overwritten import OverwrittenFields
from mlirad.ad.forward.pushed_tangents import clear_copied, copy_tangents, push_tangents
from mlirad.ad.forward.unread_tangents import UnreadTangents
from mlirad.ad.recorder.custom_gradients import nothing
from mlirad.ad.recorder.recorded_transfer import box_of_piece
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.order import Order
from mlirad.ad.recording.target_memory import (
    activities_of,
    box_of,
    clear_written,
    sparse_memory,
    touched_box,
)
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import GivenGradient, Target
from mlirad.lang.transfer import Decision, Transfer
from mlirad.pipeline.mode import PRIMAL, Mode, with_tangents
from mlirad.runtime.derivative_kind import ADJOINT, tangent, tangent_of_adjoint
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements, Index
from mlirad.runtime.program import Program

Array = np.ndarray[Any, Any]


class ForwardOverReverse(Order):
    """Second derivatives in `fields`, along `directions` of shape `(k, *shape)`."""

    repeats_steps = False  # snapshots have no tangents
    uses_gradients = False  # whose adjoints would be of the third order

    def __init__(
        self, program: Program, fields: Sequence[Field], directions: Sequence[Array]
    ) -> None:
        self.program, self.fields, self.directions = program, fields, directions
        self.count = self.tangents_beside = len(directions[0])
        self.tangents = [tangent(number) for number in range(self.count)]
        self.of_adjoints = [tangent_of_adjoint(number) for number in range(self.count)]
        self.copied = (ADJOINT, *self.of_adjoints)
        self.given = list(fields)
        self._prepared: dict[Variant, int] = {}  # version of duals when one was last looked at
        self._followed: set[Variant] = set()  # of whose launches nothing is left to be kept
        self._arrays: dict[int, Ndarray] = {}  # of recorded launches, by address
        self.overwritten = OverwrittenFields(program)
        self.moved = MovedTangents(program)
        self.unread = UnreadTangents(program, self.reverse_mode)

    def products(self) -> list[Array]:
        """The tangents of the gradients, for each field of shape `(k, *shape)`."""
        return [
            together([self.moved.result(field, kind) for kind in self.of_adjoints])
            for field in self.fields
        ]

    def end(self) -> None:
        """Tangents are fields' alone again."""
        self.moved.return_home()

    def primal_mode(self, variant: Variant, *, is_constant: bool, validates: bool) -> Mode:
        """Return a mode with tangents, which are 0 inside a function that has no derivative, unless
        nobody reads them."""
        if not is_constant and self.unread.may_miss(variant):
            return PRIMAL
        return with_tangents(self.count, is_constant=is_constant)

    @property
    def reverse_mode(self) -> Mode:
        return with_tangents(self.count, is_reverse=True)

    def prepare(self, loss: Target | None) -> None:
        """Give the loss, and what derivatives are taken in, a gradient and duals."""
        if not isinstance(loss, Field) or not loss.dtype.is_float:
            raise TaichiTypeError(
                f"expected a 0-D float field as the loss of a Hessian, got {loss!r}"
            )
        self.program.trees.materialize()
        self.given.append(loss)
        self._give([field.symbol for field in self.given])

    def begin(self, claims: Claims) -> None:
        """Set tangents to 0, and those of the parameters to the directions."""
        claims.clear(self.program.derivatives.tangents)
        claims.clear_arrays(self.program.derivatives.arrays, Ndarray.clear_tangents)
        claims.use([field.symbol for field in self.given])
        for field, rows in zip(self.fields, self.directions):
            for number, kind in enumerate(self.tangents):
                self.moved.set_direction(field, kind, rows[number, ...])
            for kind in self.of_adjoints:
                self.moved.begin_result(field, kind)

    def _give(self, symbols: Sequence[str]) -> None:
        """Give fields a gradient, and duals to both."""
        for symbol in symbols:
            for kind in (ADJOINT, *self.tangents, *self.of_adjoints):
                self.program.derivatives.give[symbol](kind)
        self.program.trees.materialize()

    def prepare_launches(self, variants: Sequence[Variant]) -> None:
        version = self.program.derivatives.tangent_version
        for variant in variants:
            if self._prepared.get(variant) != version:
                adjoints = self.program.derivatives.adjoints
                self._give([symbol for symbol in variant.kernel.fields if symbol in adjoints])
            self._before_write(variant)
        for variant in variants:
            if self._prepared.get(variant) != self.program.derivatives.tangent_version:
                variant.refresh()
                self._prepared[variant] = self.program.derivatives.tangent_version

    def _before_write(self, variant: Variant, arrays: Sequence[ArrayBuffer] = ()) -> None:
        """A kernel is about to write to fields and arrays."""
        if self.moved.are_directions:
            self.moved.before_write(variant.notes.accesses().written_fields)
            self.moved.before_arrays_write(arrays)

    def before_run(self, launch: Launch, *, is_constant: bool) -> None:
        """Keep what it overwrites; a function without a derivative may launch what has none."""
        variant = launch.variant
        if variant in self._followed and not is_constant:
            return
        self._before_write(variant, launch.arrays)
        notes = variant.notes
        written = notes.accesses().written if is_constant else notes.footprints().written
        self.overwritten.before_launch(written, launch.values)
        if not (launch.arrays or is_constant) and self.overwritten.has_all(written):
            self._followed.add(variant)

    def use_arrays(self, arrays: Iterable[Ndarray]) -> None:
        """Note arrays, beside which their tangents lie from now on."""
        self._arrays.update({array.address: array for array in arrays})

    def beside(self, key: Key) -> Sequence[Elements]:
        if isinstance(key, int):
            return _tangents_of(self._arrays.get(key), self.count)
        return [
            self.program.fields[name].elements
            for name in self.program.derivatives.duals.get(key, ())[: self.count]
        ]

    def check_call(self, function: GivenGradient) -> None:
        """Raise TaichiRuntimeError for one with a reverse."""
        if function.grad is not nothing:
            raise TaichiRuntimeError(
                f"'{function.__name__}' has its own gradient (ti.ad.grad_replaced), which has no "
                "derivative: second derivatives cannot pass through it"
            )

    def host_write(
        self, target: Target, index: Index | None, hidden: Ndarray | None
    ) -> Sequence[Elements]:
        """Clear tangents of what Python writes, which is constant; in reverse those of its adjoint
        are cleared."""
        self._keep(target, index)
        if isinstance(target, Ndarray):
            adjoint = target.grad if target.grad is not None else hidden
            tangents = [tangent.elements for tangent in target.tangents]
            beside = _tangents_of(adjoint, self.count)
        else:
            tangents = list(self.beside(target.symbol))
            beside = list(self.beside(self.program.derivatives.adjoints.get(target.symbol, "")))
        backlog = None if isinstance(target, Ndarray) else self.program.backlog
        sparse = sparse_memory(target, index)
        for elements in tangents:
            clear_written([elements], box_of(elements, index), sparse, backlog)
        return beside

    def _keep(self, target: Target, index: Index | None) -> None:
        """Keep what Python writes over in a field, and which of its elements are active."""
        for key, cells in activities_of(target):
            assert isinstance(key, str)
            self.overwritten.before_write(key, cells, box_of(cells, None))
        if isinstance(target, Ndarray):
            self.moved.before_ndarray_write(target)
        else:
            elements = target.find_memory().elements
            self.moved.before_write([target.symbol])
            self.overwritten.before_write(target.symbol, elements, touched_box(target, index))

    def host_copy(self, target: Field, source: Field, *, carries: bool) -> None:
        if carries:
            self.unread.copy(target.symbol, source.symbol)
        if carries and {source.symbol, target.symbol} <= self.program.derivatives.duals.keys():
            copy_tangents(target, source, self.tangents)
        else:
            clear_copied(target, source, self.beside(target.symbol))

    def prepare_fields(self, fields: Sequence[Field]) -> None:
        self._give([field.symbol for field in fields])

    def before_transfer(self, transfer: Transfer) -> None:
        for piece in transfer.targets:
            if isinstance(piece.target, Ndarray):
                self.moved.before_ndarray_write(piece.target)
            else:
                self.moved.before_write([piece.target.symbol])
                elements, box = piece.target.find_memory().elements, box_of_piece(piece)
                self.overwritten.before_write(piece.target.symbol, elements, box)

    def transfer(self, transfer: Transfer, decision: Decision, carries: bool) -> None:
        push_tangents(transfer, decision, self.tangents, carries)
        self.unread.transfer(
            [target.symbol for target in transfer.sent if isinstance(target, Field)],
            [target.symbol for target in transfer.reached if isinstance(target, Field)],
        )


def _tangents_of(array: Ndarray | None, count: int) -> list[Elements]:
    """The tangents of an array in some directions: zeros, if no launch has used them yet."""
    return [] if array is None else [array.tangent(number).elements for number in range(count)]


def together(rows: Sequence[Array]) -> Array:
    """Arrays of one shape as the rows of another; a single one, which may be large, is not
    copied."""
    return rows[0][np.newaxis] if len(rows) == 1 else np.stack(rows)
