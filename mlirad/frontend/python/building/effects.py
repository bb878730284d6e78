"""Ops that do more than compute: memory, printing and random numbers. A function with derivatives
of its own cannot hold them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeGuard, TypeVar

from mlirad.bindings import ir
from mlirad.dialect import activity, field
from mlirad.dialect.field import GetOp
from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.building.builder import current

P = ParamSpec("P")
R = TypeVar("R")


def _effect(description: str, build: Callable[P, R]) -> Callable[P, R]:
    """Make a builder raise TaichiCompilationError in a function with derivatives of its own."""

    @wraps(build)
    def build_if_allowed(*operands: P.args, **options: P.kwargs) -> R:
        if (function := current().custom) is not None:
            names = [f" '{GetOp(o.owner).field.value}'" for o in operands if _is_field(o)]
            raise TaichiCompilationError(
                f"'{function}' has its own derivatives, so it can only use its arguments, but "
                f"this {description}{''.join(names)}: pass what it reads as an argument"
            )
        return build(*operands, **options)

    return build_if_allowed


def _is_field(operand: object) -> TypeGuard[ir.OpResult]:
    return isinstance(operand, ir.OpResult) and GetOp.holds(operand.owner)


sync = _effect("waits for other threads", field.sync)
shuffle = _effect("asks other threads", field.shuffle)
ballot = _effect("asks other threads", field.ballot)
shared = _effect("makes memory", field.shared)
cell = _effect("makes memory", field.alloca)
load = _effect("reads memory", field.load)
address = _effect("takes the address of memory", field.address)
store = _effect("writes to memory", field.store)
atomic = _effect("updates memory", field.atomic)
activate = _effect("activates memory", activity.activate)
deactivate = _effect("deactivates memory", activity.deactivate)
is_active = _effect("reads memory", activity.is_active)
length = _effect("reads memory", activity.length)
append = _effect("updates memory", activity.append)
print_ = _effect("prints", field.print_)
random = _effect("draws random numbers", field.random)
clock = _effect("reads a clock", field.clock)
