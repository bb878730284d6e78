"""One choice of argument types of a kernel: its IR, its notes, its code, and its launches, primal
and derivative."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from typing import Any

from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import SplitError
from mlirad.kernel.array_arguments import (
    array_positions,
    with_adjoints_apart,
    with_gradients,
    without_derivative,
)
from mlirad.kernel.module import KernelModule
from mlirad.pipeline.mode import PRIMAL
from mlirad.runtime.kernels.codes import Codes, Primal, UnrecordedLaunches
from mlirad.runtime.kernels.kernel_ir import KernelIR
from mlirad.runtime.kernels.notes import Notes
from mlirad.runtime.program import Program

# in place of when a variant was launched: by a tape, or its reverse ran since
RECORDED = sys.maxsize


class Variant:
    """A kernel for one choice of argument types and compile-time values."""

    def __init__(
        self,
        kernel: KernelModule,
        program: Program,
        owners: Sequence[Any],
        primal: Primal | None = None,
    ) -> None:
        self.kernel = kernel
        self.program = program
        self.owners = owners  # keeps compile-time values, whose identity is part of the key, alive
        self.stages = KernelIR(kernel, program)
        self.notes = Notes(self.stages)
        self.codes: Codes = Codes(self.stages, self.notes, primal)
        self.unrecorded = UnrecordedLaunches(self.codes, self.refresh)
        self.launched_at = RECORDED  # the program's count of changes
        self.built_at = program.threads.changes
        # of the program, when the gradients of the kernel's fields were last looked at
        self.gradient_version = -1
        self.array_needs_grad = [
            array.needs_grad and array.dtype.is_float for array in kernel.arrays
        ]
        # by which of the arrays have hidden gradients, and the version of gradients
        self.array_choices: dict[tuple[tuple[bool, ...], int], ArrayChoice] = {}
        self._pieces: list[Variant] | None = None
        self._relatives: dict[Hashable, Variant] = {}
        # the reverse as a kernel, once it was launched as one, with what it was made for
        self.reverse_made: tuple[Hashable, Variant] | None = None
        # fields of the kernel that are gradients
        self.used_gradients = tuple([s for s in kernel.fields if s in program.derivatives.primals])
        self.declared, self._declared_duals = self._gradients(), self._duals()
        if kernel.apart or kernel.is_reverse:
            self.stages.declare_trees_anew()

    # Array arguments.

    @cached_property
    def array_positions(self) -> dict[int, int]:
        """The position among array arguments by the number among all arguments of the kernel's
        function."""
        with compiling:
            return array_positions(self.kernel)

    def argument_needs_grad(self, number: int) -> bool:
        """Return whether an argument of the kernel's function is an array with a gradient."""
        position = self.array_positions.get(number)
        return position is not None and self.array_needs_grad[position]

    def _relative(
        self,
        key: Hashable,
        changed: Callable[[KernelModule], KernelModule],
        *,
        has_primal: bool = False,
    ) -> Variant:
        """Return this kernel with other derivatives; its primal is this one's, or its own."""
        variant = self._relatives.get(key)
        if variant is None or variant.codes.is_stale:
            self.refresh()  # the other one has its trees
            primal = None if has_primal else Primal(self.codes)
            variant = Variant(changed(self.kernel), self.program, self.owners, primal)
            self._relatives[key] = variant
        return variant

    def with_gradients(self, positions: frozenset[int]) -> Variant:
        """Return this kernel for arrays of which those at some positions have gradients too."""
        return self._relative(positions, partial(with_gradients, positions=positions))

    def without_derivative(self) -> Variant:
        """Return this kernel without derivatives that pass through it."""
        return self._relative(None, without_derivative)

    def with_adjoints_apart(self, symbols: frozenset[str]) -> Variant:
        """Return this kernel, of whose fields some have adjoints apart from their gradients. If it
        deactivates these, it clears the gradients, which are memory."""
        adjoints = self.program.derivatives.adjoints
        emptied = [adjoints[symbol] for symbol in self.kernel.emptied if symbol in symbols]
        changed = partial(with_adjoints_apart, symbols=symbols, emptied=emptied)
        return self._relative(("apart", symbols), changed, has_primal=bool(emptied))

    def gradients(self) -> list[str]:
        """The gradients of the kernel's fields."""
        names = map(self._adjoint_of, self.kernel.fields)
        return [name for name in names if name is not None]

    def reaches_gradients(self) -> bool:
        """Return whether it writes to a field with a gradient, or to an array argument."""
        adjoints = self.program.derivatives.adjoints
        return any(
            not isinstance(footprint.array, str) or footprint.array in adjoints
            for footprint in self.notes.accesses().written
        )

    # What a tape records.

    def pieces(self) -> list[Variant]:
        """The launches a tape records for this kernel: itself, or its loops one by one (see
        `keep-launch`).

        Raises TaichiCompilationError if the kernel cannot be differentiated.
        """
        pieces = self._pieces
        return pieces if pieces is not None else self._find_pieces()

    @in_turn
    def _find_pieces(self) -> list[Variant]:
        if self._pieces is None:
            self.refresh()  # the pieces are copies with its trees
            pieces = self.stages.pieces(are_known=True)
            try:
                if not pieces:
                    self.notes.footprints()
            except SplitError:
                pieces = self.stages.pieces()
                if len(pieces) < 2:
                    raise
            self._pieces = [Variant(piece, self.program, self.owners) for piece in pieces] or [self]
        return self._pieces

    # Derivatives of the kernel's fields.

    @in_turn
    def refresh(self) -> None:
        """Look again at which fields have gradients and duals; code for derivatives is compiled
        anew where one was added."""
        gradients, duals = self._gradients(), self._duals()
        if (gradients, duals) != (self.declared, self._declared_duals):
            self.codes.finish()
        if duals != self._declared_duals:
            self._declared_duals = duals
            self.codes.forget_modes(lambda mode: mode.tangents > 0 or mode.clears)
            for piece in self._pieces or ():
                if piece is not self:
                    piece.refresh()
        elif gradients == self.declared:
            return
        if gradients != self.declared:
            self.declared = gradients
            self.codes.forget_modes(lambda mode: mode != PRIMAL)
            self.notes.forget()
            self._pieces = None
        self.stages.declare_trees_anew()

    def _gradients(self) -> tuple[str | None, ...]:
        return tuple(map(self._adjoint_of, self.kernel.fields))

    def _adjoint_of(self, symbol: str) -> str | None:
        return self.program.derivatives.adjoint_of(symbol, self.kernel.apart)

    def _duals(self) -> tuple[tuple[str, ...] | None, ...]:
        names = [
            name
            for symbol in self.kernel.fields
            for name in (symbol, self._adjoint_of(symbol) or "")
        ]
        return tuple([self.program.derivatives.duals.get(name) for name in names])


# a variant for arrays some of which have hidden gradients, or which others need one, and where
ArrayChoice = tuple[Variant, dict[int, str]]
