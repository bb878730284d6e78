"""The adjoints of fields whose gradients a program on a tape uses: they lie apart from these.

Such a gradient is memory like any other: launches read and write it, and it has an adjoint of its
own. While reverses run it holds what the program left there, step by step, and the adjoint of its
field is elsewhere; before and afterwards, the gradient holds that adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field.field import Field
from mlirad.runtime.derivative_kind import ADJOINT, OUTER, DerivativeKind
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Elements, Kept
from mlirad.runtime.program import Program


class OuterAdjoints:
    """The fields whose gradients a tape's program uses, and what the program left in these
    gradients."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols: frozenset[str] = frozenset()  # of the fields
        self._used: set[str] = set()  # gradients that what is recorded uses
        self._foreign: dict[str, str] = {}  # that functions with gradients of their own use
        self.begins_clear = True  # gradients were set to 0
        self._cleared: set[str] = set()  # gradients that the program gave values before
        self._follows_reverse = False  # a tape before gave all gradients values
        self._set: set[str] = set()  # gradients that what is recorded gave values
        self._left: list[Kept] = []  # once the tape is closed

    # While it is recorded.

    def begin(self, may_clear: Callable[[str], bool], *, all_gradients: bool) -> None:
        """Gradients that may be cleared are about to be set to 0."""
        derivatives = self.program.derivatives
        self.begins_clear = all_gradients
        if not all_gradients:
            return
        # other threads may add to them meanwhile
        self._cleared = {name for name in tuple(derivatives.given) if may_clear(name)}
        derivatives.given -= self._cleared
        self._follows_reverse, derivatives.follow_reverse = derivatives.follow_reverse, False

    def is_cleared(self, gradient: str, *, of_reverses: bool) -> bool:
        """Return whether entering the tape set a gradient to 0 that had values, `of_reverses` of
        another tape too, and nothing gave it values since."""
        had_values = gradient in self._cleared or (of_reverses and self._follows_reverse)
        return had_values and gradient not in self._set

    def note_set(self, gradients: Iterable[str]) -> None:
        """Note that recorded launches give gradients values."""
        self._set.update(gradients)

    def is_set(self, gradient: str) -> bool:
        """Return whether what is recorded gave a gradient values."""
        return gradient in self._set

    def forget_cleared(self) -> None:
        """All gradients are 0 as the program wants them to be."""
        self._cleared.clear()
        self._follows_reverse = False

    def has(self, gradients: Iterable[str], function: str | None = None) -> bool:
        """Return whether it is known that the program uses some gradients; or a function that has a
        gradient of its own."""
        users = self._used if function is None else self._foreign.keys()
        return all(gradient in users for gradient in gradients)

    def use(self, gradients: Sequence[str], function: str | None = None) -> None:
        """The program uses some gradients; or a function that has a gradient of its own.

        Raises TaichiRuntimeError where both do.
        """
        if function is None:
            self._used.update(gradients)
        else:
            self._foreign.update(dict.fromkeys(gradients, function))
        for gradient in self._used.intersection(self._foreign):
            raise TaichiRuntimeError(
                f"{self._foreign[gradient]}, which has its own gradient, uses '{gradient}', and "
                "so does the program outside of it: its gradient cannot account for that"
            )
        primals = self.program.derivatives.primals
        self._add({primals[gradient] for gradient in gradients} - self.symbols)

    @in_turn
    def _add(self, new: set[str]) -> None:
        for symbol in new:
            self.program.derivatives.give[symbol](OUTER)
        self.program.trees.materialize()
        self.symbols |= new

    def variant(self, variant: Variant) -> Variant:
        """A kernel, with the adjoints of its fields where they are."""
        symbols = self.symbols.intersection(variant.kernel.fields)
        same = symbols == variant.kernel.apart
        return variant if same else variant.with_adjoints_apart(symbols)

    # While reverses run.

    def kind(self, field: Field, kind: DerivativeKind) -> DerivativeKind:
        """Return which derivative of a field holds one that is asked for."""
        return OUTER if kind == ADJOINT and field.symbol in self.symbols else kind

    def elements(self, elements: Elements) -> Elements:
        """Return the elements that hold an adjoint: of a gradient that is used, those apart from
        it."""
        for gradient, outer in self._memory():
            if gradient.elements is elements:
                return outer.elements
        return elements

    def _memory(self) -> list[tuple[FieldMemory, FieldMemory]]:
        """The gradients, and the adjoints apart from them."""
        fields, derivatives = self.program.fields, self.program.derivatives
        return [
            (fields[derivatives.adjoints[symbol]], fields[derivatives.outers[symbol]])
            for symbol in sorted(self.symbols)
        ]

    def settle(self) -> None:
        """The program has run: keep what it left in gradients, which hold adjoints from now on."""
        if self.symbols and not self._left:
            for gradient, _ in self._memory():
                self._left.append(gradient.elements.copy())
                gradient.fill(0)

    @property
    def is_settled(self) -> bool:
        """Return whether gradients hold adjoints."""
        return bool(self._left) or not self.symbols

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While reverses run: let gradients hold what the program left there."""
        for (gradient, outer), left in zip(self._memory(), self._left):
            outer.take(gradient)
            left.restore()
        try:
            yield
        finally:
            for gradient, outer in self._memory():
                gradient.take(outer)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """While a gradient of a user's own runs: let gradients hold adjoints."""
        copies = [gradient.elements.copy() for gradient, _ in self._memory()]
        for gradient, outer in self._memory():
            gradient.take(outer)
        try:
            yield
        finally:
            for (gradient, outer), copy in zip(self._memory(), copies):
                outer.take(gradient)
                copy.restore()
