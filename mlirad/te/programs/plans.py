"""What `te.build` is told of how to compute definitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiTypeError
from mlirad.ir.walk import defining_op
from mlirad.te.definitions.schedule import Schedule, set_schedule
from mlirad.te.graph import graph
from mlirad.te.places import place
from mlirad.te.tensor import Tensor


@dataclass(frozen=True)
class Plans:
    """Schedules, what is written into its readers, and what has an array."""

    schedules: dict[Tensor, Schedule]
    inline: tuple[Tensor, ...]
    materialise: tuple[Tensor, ...]

    def check(
        self,
        needed: Collection[ir.Operation],
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
    ) -> None:
        """Raise TaichiTypeError where something is said of what is not computed, or against what is
        said elsewhere."""
        input_values = {tensor.value for tensor in inputs}
        named = (
            *(("schedule", tensor) for tensor in self.schedules),
            *(("inline", one) for one in self.inline),
            *(("materialise", tensor) for tensor in self.materialise),
        )
        for argument, one in named:
            op = None if one.value in input_values else defining_op(one.value)
            if op is None or op not in needed or te.PlaceholderOp.holds(op):
                schedule = self.schedules.get(one)
                raise TaichiTypeError(
                    f"build: {argument}: tensor '{one.name}' is not computed here, and takes no "
                    "schedule",
                    place() if schedule is None else schedule.place,
                )
        arrays = [*outputs, *self.materialise, *self.schedules]
        for one in self.inline:
            if any(one is other for other in arrays):
                why = (
                    f"build: inline: tensor '{one.name}' cannot be inlined: it is to have an array"
                )
                raise TaichiTypeError(why, place())
            op = defining_op(one.value)
            if op is None or not te.ComputeOp.holds(op):
                raise TaichiTypeError(
                    f"build: inline: tensor '{one.name}' is no definition by te.compute, and "
                    "cannot be inlined",
                    place(),
                )

    def write(self, op: ir.Operation, copied: ir.Value) -> None:
        """Say on the copy of a definition what there is to say of it."""
        copy = defining_op(copied)
        tensor = graph().known(op.results[0])
        if copy is None or tensor is None:
            return
        set_schedule(copy, tensor, self.schedules.get(tensor))
        if any(tensor is one for one in self.materialise):
            copy.attributes[te.KEPT] = ir.UnitAttr.get()
        if any(tensor is other for other in self.inline):
            copy.attributes[te.INLINED] = ir.UnitAttr.get()


NO_PLANS = Plans({}, (), ())
