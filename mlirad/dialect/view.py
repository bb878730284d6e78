"""Ops that are seen through their class: `AtomicOp(op).kind`, `AtomicOp.holds(op)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mlirad.bindings import ext, ir
from mlirad.dialect.effects import Effect, effects_trait


class NamedOp(Protocol):
    """An operation, or what stands for one in an analysis."""

    @property
    def name(self) -> str:
        """The name of the operation."""


class View(ext.Operation):
    """The class of an op, which takes one that there is. Builders are functions beside it.

    Upstream finds operands by an attribute with the sizes of their groups; ours have none, because
    only their last group has a size of its own.
    """

    def __init_subclass__(
        cls,
        name: str,
        dialect: type[ext.Dialect],
        traits: Sequence[type] = (),
        effects: Sequence[Effect] | None = None,
    ) -> None:
        super().__init_subclass__(name=name, dialect=dialect, traits=[*traits])
        if effects is not None:
            cls._traits = [*cls._traits, effects_trait(cls._fields, effects)]
        cls.__init__ = _see  # type: ignore[method-assign, assignment]  # upstream's makes an op
        groups = [field for field in cls._fields if isinstance(field, ext.OperandDef)]
        if sum(group.variadicity is not ext.Variadicity.single for group in groups) < 2:
            for position, group in enumerate(groups):
                is_one = group.variadicity is ext.Variadicity.single
                setattr(cls, group.name, _operand(position) if is_one else _operands(position))
        if "problem" in vars(cls):
            cls.verify_region_invariants = _verify  # type: ignore[attr-defined]  # upstream calls it

    def problem(self) -> str | None:
        """Return what is wrong with the op in one sentence, or nothing; an op whose class says so
        is verified."""
        return None

    @classmethod
    def holds(cls, op: NamedOp) -> bool:
        """Return whether an op is one of these."""
        return op.name == cls.OPERATION_NAME


def _verify(self: View) -> bool:
    problem = self.problem()
    if problem is not None:
        self.operation.location.emit_error(problem)
    return problem is None


def _see(self: ir.OpView, op: ir.Operation | ir.OpView) -> None:
    ir.OpView.__init__(self, op)


def _operand(position: int) -> property:
    return property(lambda self: self.operands[position])


def _operands(first: int) -> property:
    return property(lambda self: self.operands[first:])
