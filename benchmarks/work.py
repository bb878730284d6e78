"""How much arithmetic a launch does, and how much memory it must touch at least: counted in the IR
of its kernel, before anything is put into lanes or tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.structured import StructuredOp, is_branch, is_for, is_parallel, is_while
from mlirad.ir.walk import block_operations, functions
from mlirad.kernel.array_arguments import copy_of
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall, Recorder, Target
from mlirad.lang.transfer import Transfer
from mlirad.pipeline.mode import PRIMAL, REVERSE, Mode
from mlirad.pipeline.runner import run_pipeline
from mlirad.pipeline.stages.stage import join
from mlirad.runtime.kernels.touched_bytes import launch_bytes
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.program import program

# of a function that a processor has no instruction for: about the terms of its polynomial
FUNCTION = 16
_EASY = ("math.absf", "math.floor", "math.ceil", "math.copysign", "math.sqrt", "math.rsqrt")
_FLOATS = ("addf", "subf", "mulf", "divf", "negf", "cmpf", "maximumf", "minimumf", "maxnumf")


class UncountedError(Exception):
    """How often a loop runs depends on data."""


@dataclass(frozen=True)
class Work:
    """Operations on floats; bytes that are read at least once, and written at least once."""

    operations: float = 0
    bytes: float = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.operations + other.operations, self.bytes + other.bytes)


class Launches(Recorder):
    """Notes the launches of a program, and launches them."""

    def __init__(self) -> None:
        self.found: list[tuple[Variant, Sequence[Any]]] = []

    def launch(self, launch: Launch) -> Any:
        self.found.append((launch.variant, tuple(launch.values)))
        return launch.run()

    def launch_reverse(self, launch: Launch) -> None:
        raise UncountedError(f"the reverse of '{launch.kernel.__name__}'")

    def clear_gradients(self) -> None:
        pass

    def result(self, launch: Launch) -> None:
        pass

    def call_function(self, call: FunctionCall) -> Any:
        raise UncountedError(f"{call.function.__name__} has a gradient of its own")

    def host_read(self, target: Target) -> None:
        pass

    def host_write(self, target: Target, index: tuple[int | slice, ...] | None) -> None:
        pass

    def host_copy(self, target: Any, source: Any) -> None:
        pass

    def finish_write(self) -> None:
        pass

    def transfer(self, transfer: Transfer) -> None:
        raise UncountedError("what ranks send one another")

    def close(self) -> None:
        pass


class Counter:
    """Counts launches, each kernel's IR once."""

    def __init__(self) -> None:
        self._operations: dict[tuple[Variant, bool], float] = {}

    def primal(self, variant: Variant, values: Sequence[Any]) -> Work:
        """A launch."""
        return Work(self._of(variant, PRIMAL), _bytes(variant, None, values))

    def reverse(self, variant: Variant, values: Sequence[Any]) -> Work:
        """Its reverse: what it needs is read, adjoints of what was read are updated, those of what
        was written are read."""
        adjoints = program().derivatives.adjoints
        work = Work()
        for part in variant.pieces():
            work += Work(self._of(part, REVERSE), _bytes(part, adjoints, values))
        return work

    def _of(self, variant: Variant, mode: Mode) -> float:
        key = variant, mode.is_reverse
        if key not in self._operations:
            stages = variant.stages.stages(mode)
            names = [stage.name for stage in stages]
            with context(), variant.kernel.module.operation.location:
                module = copy_of(variant.kernel.module)
                run_pipeline(module.operation, join(stages[: names.index("memref")]))
                self._operations[key] = sum(
                    _inside(block)
                    for function in functions(module.operation)
                    for block in StructuredOp(function).blocks
                )
        return self._operations[key]


def _inside(block: ir.Block) -> float:
    return sum(_of_op(op) for op in block_operations(block))


def _of_op(op: ir.Operation) -> float:
    blocks = [_inside(block) for region in op.regions for block in region.blocks]
    if is_branch(op):
        return max(blocks)
    if is_while(op):
        raise UncountedError(f"{op.location} runs until a condition holds")
    if is_for(op) or is_parallel(op):
        trips = [span.trips for span in spans(op)]
        if None in trips:
            raise UncountedError(f"{op.location} runs as often as data say")
        return sum(blocks) * prod(trip for trip in trips if trip is not None)
    return sum(blocks) + _of_one(op.name)


def _of_one(name: str) -> float:
    group, _, rest = name.partition(".")
    if name == "math.fma":
        return 2
    if group == "math":
        return 1 if name in _EASY else FUNCTION
    return float((group == "arith" and rest in _FLOATS) or name == "field.atomic")


def _bytes(variant: Variant, adjoints: Mapping[str, str] | None, values: Sequence[Any]) -> float:
    touched = launch_bytes(variant.notes, adjoints, values, program().fields)
    if touched is None:
        raise UncountedError("an array argument")
    return touched
