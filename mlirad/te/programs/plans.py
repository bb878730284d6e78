"""Plans of how to compute definitions, which `te.build` takes."""

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

    schedule: dict[Tensor, Schedule]
    inline: tuple[Tensor, ...]
    materialise: tuple[Tensor, ...]

    def check(
        self, needed: Collection[ir.Operation], outputs: Sequence[Tensor], inputs: Sequence[Tensor]
    ) -> None:
        """Raise TaichiTypeError if something is said of what is not computed, or against what is
        said elsewhere."""
        input_values = {tensor.value for tensor in inputs}
        named = ("schedule", self.schedule), ("inline", self.inline)
        for argument, tensors in (*named, ("materialise", self.materialise)):
            for tensor in tensors:
                op = None if tensor.value in input_values else defining_op(tensor.value)
                if op is None or op not in needed or te.PlaceholderOp.holds(op):
                    schedule = self.schedule.get(tensor)
                    raise TaichiTypeError(
                        f"build: {argument}: tensor '{tensor.name}' is not computed here, so it "
                        "takes no schedule",
                        place() if schedule is None else schedule.place,
                    )
        arrays = {*outputs, *self.materialise, *self.schedule}
        for tensor in self.inline:
            if tensor in arrays:
                why = "cannot be inlined, because it must have an array"
                raise TaichiTypeError(f"build: inline: tensor '{tensor.name}' {why}", place())
            op = defining_op(tensor.value)
            if op is None or not te.ComputeOp.holds(op):
                why = "is not defined by te.compute, so it cannot be inlined"
                raise TaichiTypeError(f"build: inline: tensor '{tensor.name}' {why}", place())

    def write(self, op: ir.Operation, copied: ir.Value) -> None:
        """Say on the copy of a definition what there is to say of it."""
        copy = defining_op(copied)
        tensor = graph().find_tensor(op.results[0])
        if copy is None or tensor is None:
            return
        set_schedule(copy, tensor, self.schedule.get(tensor))
        if tensor in self.materialise:
            copy.attributes[te.KEPT] = ir.UnitAttr.get()
        if tensor in self.inline:
            copy.attributes[te.INLINED] = ir.UnitAttr.get()


NO_PLANS = Plans({}, (), ())
