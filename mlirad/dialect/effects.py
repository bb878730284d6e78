"""Memory effects of ops, for upstream's passes and for readers: allocations that nothing uses are
removed, and reads of the same element with no write between them are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from mlirad.bindings import ext, ir


class Action(StrEnum):
    """A kind of access to memory."""

    ALLOCATE = "allocates"
    READ = "reads"
    WRITE = "writes"
    FREE = "frees"


class Effect(msgspec.Struct, frozen=True):
    """An action on memory: that of an operand, a result or a symbol, by the name of the operand,
    result or attribute; or, with no name, on what is outside of the program."""

    action: Action
    on: str = ""

    def __str__(self) -> str:
        return f"{self.action} `{self.on}`" if self.on else f"{self.action} the world outside"


def allocates(result: str) -> Effect:
    """The effect of an op whose result is memory of its own."""
    return Effect(Action.ALLOCATE, result)


def reads(name: str) -> Effect:
    """The effect of an op that takes something from memory."""
    return Effect(Action.READ, name)


def writes(name: str = "") -> Effect:
    """The effect of an op that changes memory, or, with no name, tells the host something."""
    return Effect(Action.WRITE, name)


def frees(operand: str) -> Effect:
    """The effect of an op behind which there is no such memory."""
    return Effect(Action.FREE, operand)


Target: TypeAlias = ir.OpOperand | ir.OpResult | ir.Attribute
Finder: TypeAlias = Callable[[ir.OpView], Target]


class Stated(ir.MemoryEffectsOpInterface):
    """The trait of ops that have some effects, always the same."""

    effects: Sequence[Effect] = ()


def effects_of(kind: type[ext.Operation]) -> Sequence[Effect] | None:
    """Return the effects that a class of ops states; None if it states none, as declarations and
    pure ops."""
    return next((trait.effects for trait in kind._traits if issubclass(trait, Stated)), None)


def effects_trait(fields: Sequence[ext.FieldDef], effects: Sequence[Effect]) -> type[Stated]:
    """Return the trait of ops with some operands, results and attributes that has some effects."""
    kinds = {
        Action.ALLOCATE: ir.MemoryEffect.Allocate,
        Action.READ: ir.MemoryEffect.Read,
        Action.WRITE: ir.MemoryEffect.Write,
        Action.FREE: ir.MemoryEffect.Free,
    }
    listed = [(kinds[effect.action], _finder(fields, effect.on)) for effect in effects]

    class Effects(Stated):
        """The effects of an op that are always the same."""

        @staticmethod
        def get_effects(op: ir.OpView, instances: ir.MemoryEffectInstancesList) -> None:
            """List the effects of an op."""
            for kind, finder in listed:
                instances.append(kind, None if finder is None else finder(op))

    Effects.effects = effects
    return Effects


def _finder(fields: Sequence[ext.FieldDef], name: str) -> Finder | None:
    """Return what finds an operand, a result or an attribute of an op by its name; all in front of
    an operand or a result are single."""
    if not name:
        return None
    operands = [field.name for field in fields if isinstance(field, ext.OperandDef)]
    results = [field.name for field in fields if isinstance(field, ext.ResultDef)]
    if name in operands:
        position = operands.index(name)
        return lambda op: op.op_operands[position]
    if name in results:
        position = results.index(name)
        return lambda op: op.results[position]
    return lambda op: op.attributes[name]


class OfRegions(ir.MemoryEffectsOpInterface):
    """The trait of ops that do what is in their regions: nothing to memory, if that is arithmetic
    alone; else anything."""

    @staticmethod
    def get_effects(op: ir.OpView, instances: ir.MemoryEffectInstancesList) -> None:
        """List the effects of an op."""
        inside = (
            child.operation.name
            for region in op.regions
            for block in region.blocks
            for child in block.operations
        )
        if not all(name.startswith(("arith.", "math.")) or name == "grad.yield" for name in inside):
            instances.append(ir.MemoryEffect.Read)
            instances.append(ir.MemoryEffect.Write)
