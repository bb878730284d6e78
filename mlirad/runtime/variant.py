"""One choice of argument types of a kernel: its IR, its notes, its code, and its launches, primal
and derivative."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import SplitError, TaichiRuntimeError
from mlirad.kernel.array_arguments import array_positions, with_gradients, without_derivative
from mlirad.kernel.module import KernelModule
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode
from mlirad.runtime.codes import Codes, Derivative, Unrecorded
from mlirad.runtime.executor.executor import Code, PassedArray
from mlirad.runtime.kernel_ir import KernelIR
from mlirad.runtime.notes import Notes
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
        primal: Variant | None = None,
    ) -> None:
        self.kernel = kernel
        self.program = program
        self.owners = owners  # keeps compile-time values, whose identity is part of the key, alive
        self.stages = KernelIR(kernel, program)
        self.notes = Notes(self.stages)
        self.codes: Codes = Codes(self.stages, self.notes, None if primal is None else primal.codes)
        self.unrecorded = Unrecorded(self.codes, self.refresh)
        self.launched_at = RECORDED  # the program's count of changes
        # of the program, when the gradients of the kernel's fields were last looked at
        self.gradient_version = -1
        self.array_needs_grad = [one.needs_grad and one.dtype.is_float for one in kernel.arrays]
        self._parts: list[Variant] | None = None
        self._with_gradients: dict[frozenset[int], Variant] = {}
        self._without_derivative: Variant | None = None
        self._declared, self._declared_duals = self._gradients(), self._duals()

    # Array arguments.

    @cached_property
    def array_positions(self) -> dict[int, int]:
        """The position among array arguments by the number among all arguments of the kernel's
        function."""
        with compiling:
            return array_positions(self.kernel)

    def argument_needs_grad(self, number: int) -> bool:
        """Whether an argument of the kernel's function is an array with a gradient."""
        position = self.array_positions.get(number)
        return position is not None and self.array_needs_grad[position]

    def with_gradients(self, positions: frozenset[int]) -> Variant:
        """The same kernel for arrays of which those at some positions have gradients too; its
        primal is this one's."""
        found = self._with_gradients.get(positions)
        if found is None or found.codes.is_stale:
            changed = partial(with_gradients, positions=positions)
            found = self._with_gradients[positions] = self._copy(changed)
        return found

    def without_derivative(self) -> Variant:
        """The same kernel, through which no derivative passes; its primal is this one's."""
        found = self._without_derivative
        if found is None or found.codes.is_stale:
            found = self._without_derivative = self._copy(without_derivative)
        return found

    def _copy(self, changed: Callable[[KernelModule], KernelModule]) -> Variant:
        """A variant of the kernel's module as it is now, changed."""
        self.refresh()  # the copy has its trees
        return Variant(changed(self.kernel), self.program, self.owners, self)

    def reaches_gradients(self) -> bool:
        """Whether it writes to a field with a gradient, or to an array argument."""
        adjoints = self.program.derivatives.adjoints
        return any(
            not isinstance(footprint.array, str) or footprint.array in adjoints
            for footprint in self.notes.accesses().written
        )

    # Launches.

    def launch(
        self, mode: Mode, values: Sequence[Any], arrays: Sequence[PassedArray] = ()
    ) -> tuple[Any, ...]:
        """Run a mode; the results of the kernel. Raises TaichiAssertionError where an assertion or
        an index check failed."""
        return self.codes.code(mode).launch(values, arrays)

    def reverse(
        self,
        derivative: Derivative,
        values: Sequence[Any],
        arrays: Sequence[PassedArray] = (),
    ) -> None:
        """Run a reverse. Raises TaichiAssertionError where a check of it failed, TaichiRuntimeError
        where a field is gone."""
        if self.codes.is_stale:
            raise TaichiRuntimeError(
                f"kernel '{self.kernel.name}' uses a field of a destroyed tree"
            )
        derivative.code.launch(values, arrays)

    def check(
        self, check: Code | None, values: Sequence[Any], arrays: Sequence[PassedArray] = ()
    ) -> None:
        """Run a check, where there is one. Raises TaichiRuntimeError where two iterations meet in
        an element."""
        if check is not None:
            check.launch(values, arrays)

    def launch_reverse_alone(self, values: Sequence[Any], arrays: Sequence[PassedArray]) -> None:
        """Run the reverse without a tape. Raises TaichiRuntimeError where it needs one to put
        memory back."""
        self._check_unwritten(values, arrays)
        footprints = self.notes.footprints()
        if footprints.redone:
            raise TaichiRuntimeError(
                f"{self.kernel.name}.grad(): {'; '.join(footprints.redone.values())}: "
                "use ti.ad.Tape, which keeps the values"
            )
        derivative = self.codes.derivative(REVERSE)
        self.check(derivative.check, values, arrays)
        self.reverse(derivative, values, arrays)

    def _check_unwritten(self, values: Sequence[Any], arrays: Sequence[PassedArray]) -> None:
        """Raise TaichiRuntimeError where Python wrote to what the reverse reads, since the launch
        that it belongs to.

        That launch is the last one, where it had the same arguments.
        """
        written, since = self.program.threads.written, self.launched_at
        code = self.unrecorded.code()
        if not any(at > since for at in list(written.values())) or (
            code is not None and not code.ran_last_with(values, arrays)
        ):
            return
        for footprint in self.notes.footprints().needed:
            key = footprint.array
            if isinstance(key, int):
                key = arrays[self.array_positions[key]].address
            if written.get(key, 0) > since:
                name = f"'{key}'" if isinstance(key, str) else "an array argument"
                raise TaichiRuntimeError(
                    f"{self.kernel.name}.grad(): {name}, read at {footprint.place} and needed by "
                    "the gradient, was written from Python after the kernel was launched: launch "
                    "it again, or use ti.ad.Tape, which keeps the values"
                )

    # What a tape records.

    def parts(self) -> list[Variant]:
        """The launches a tape records for this kernel: itself, or its loops one by one (see
        `keep-launch`).

        Raises TaichiCompilationError where the kernel cannot be differentiated.
        """
        found = self._parts
        return found if found is not None else self._find_parts()

    @in_turn
    def _find_parts(self) -> list[Variant]:
        if self._parts is None:
            self.refresh()  # the pieces are copies with its trees
            pieces = self.stages.pieces(are_known=True)
            try:
                if not pieces:
                    self.notes.footprints()
            except SplitError:
                pieces = self.stages.pieces()
                if len(pieces) < 2:
                    raise
            self._parts = [Variant(one, self.program, self.owners) for one in pieces] or [self]
        return self._parts

    # Derivatives of the kernel's fields.

    @in_turn
    def refresh(self) -> None:
        """Look again at which fields have gradients and duals; code for derivatives is compiled
        anew where one was added."""
        gradients, duals = self._gradients(), self._duals()
        if (gradients, duals) != (self._declared, self._declared_duals):
            self.codes.finish()
        if duals != self._declared_duals:
            self._declared_duals = duals
            self.codes.forget_modes(lambda mode: mode.tangents > 0 or mode.clears)
            for part in self._parts or ():
                if part is not self:
                    part.refresh()
        elif gradients == self._declared:
            return
        if gradients != self._declared:
            self._declared = gradients
            self.codes.forget_modes(lambda mode: mode != PRIMAL)
            self.notes.forget()
            self._parts = None
        self.stages.declare_trees_anew()

    def _gradients(self) -> tuple[str | None, ...]:
        return tuple(
            [self.program.derivatives.adjoints.get(symbol) for symbol in self.kernel.fields]
        )

    def _duals(self) -> tuple[tuple[str, ...] | None, ...]:
        names = [
            name
            for symbol in self.kernel.fields
            for name in (symbol, self.program.derivatives.adjoints.get(symbol, ""))
        ]
        return tuple([self.program.derivatives.duals.get(name) for name in names])
