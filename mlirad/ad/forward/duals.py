"""The duals that launches in forward mode need, given to fields that have none."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.dialect.turn import in_turn
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import place_in_program
from mlirad.runtime.derivative_kind import tangent
from mlirad.runtime.footprints import Flow
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import Program


class Duals:
    """Tangents of fields to which derivatives pass, as many as there are directions."""

    def __init__(self, program: Program, count: int) -> None:
        self.program, self.count = program, count
        self.hidden: dict[str, str] = {}  # fields that were given duals, and why: a place
        self._flows: dict[Variant, tuple[Flow, ...]] = {}
        self._transfers: list[tuple[Flow, ...]] = []
        self._versions: dict[Variant, int] = {}  # of duals, at a variant's last launch

    @property
    def flows(self) -> list[tuple[Flow, ...]]:
        """Return how derivatives passed through the launches, the first to the last."""
        return [*self._flows.values(), *self._transfers]

    def give(self, symbol: str) -> None:
        """Give a field a dual for each direction, once memory is given out."""
        for number in range(self.count):
            self.program.derivatives.give[symbol](tangent(number))

    def give_to_copy(self, symbol: str, place: str) -> None:
        """Give duals to a field that is a copy of one that has some."""
        duals = self.program.derivatives.duals
        if len(duals.get(symbol, ())) < self.count:
            if symbol not in duals:
                self.hidden[symbol] = place
            self.give(symbol)
            self.program.trees.materialize()

    def note_transfer(self, sent: Sequence[str], reached: Sequence[str], place: str) -> None:
        """Derivatives pass from fields to fields that Python transfers."""
        flows = tuple(Flow(target, place, tuple(sent)) for target in reached)
        if flows not in self._transfers:
            self._transfers.append(flows)

    def prepare(self, variant: Variant, *, is_constant: bool) -> None:
        """Give duals to the fields of a kernel that is launched, through which derivatives pass
        unless it `is_constant`."""
        if self._versions.get(variant) != self.program.derivatives.tangent_version:
            self._give_all(variant, () if is_constant else variant.notes.flows().between)
            self._versions[variant] = self.program.derivatives.tangent_version
        if not is_constant:
            self._flows[variant] = variant.notes.flows().between

    def look_again(self) -> None:
        """Forget what was constant, or was not."""
        self._versions.clear()

    @in_turn
    def _give_all(self, variant: Variant, flows: Sequence[Flow]) -> None:
        variant.refresh()
        while missing := self._fields_without(variant, flows):
            for symbol in missing:
                self.give(symbol)
            self.program.trees.materialize()
            variant.refresh()

    def _fields_without(self, variant: Variant, flows: Sequence[Flow]) -> list[str]:
        """The fields that have fewer duals than there are directions, or none where a derivative
        arrives."""
        duals = self.program.derivatives.duals
        symbols = [s for s in variant.kernel.fields if 0 < len(duals.get(s, ())) < self.count]
        for flow in flows:
            if not any(self.carries(variant, source) for source in flow.sources):
                continue
            if not self._may_arrive(variant, flow.target):
                place, name = place_in_program(flow.place), variant.kernel.name
                raise TaichiRuntimeError(
                    f"{place}: a derivative passes to array argument {flow.target} of kernel "
                    f"'{name}', which has no gradient"
                )
            if isinstance(flow.target, str) and flow.target not in duals:
                self.hidden[flow.target] = flow.place
                symbols.append(flow.target)
        return list(dict.fromkeys(symbols))

    def carries(self, variant: Variant, array: str | int) -> bool:
        """Return whether an array of a kernel, as flows name it, has tangents."""
        return (
            array in self.program.derivatives.duals
            if isinstance(array, str)
            else variant.argument_needs_grad(array)
        )

    def _may_arrive(self, variant: Variant, array: str | int) -> bool:
        if isinstance(array, int):
            return variant.argument_needs_grad(array)
        return array in self.program.derivatives.duals or array in self.program.derivatives.give
