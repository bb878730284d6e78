"""The function that a derivative is of, and its active arguments."""

from __future__ import annotations

from collections.abc import Set
from enum import StrEnum

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.grad import JvpOp, VjpOp, carries_derivative, type_of_jvp, type_of_vjp
from mlirad.ir.requirements import symbol_of, symbols_in
from mlirad.ir.signature import function_type
from mlirad.ir.walk import enclosing


class Kind(StrEnum):
    """The op that asks for a derivative."""

    VJP = VjpOp.OPERATION_NAME
    JVP = JvpOp.OPERATION_NAME


class Target(msgspec.Struct, frozen=True):
    """The derivative of a function in some arguments, under a name; `written` are the memrefs that
    the function writes to, by the numbers of its arguments, known when it is made."""

    name: str
    kind: Kind
    primal: ir.Operation
    active: tuple[int, ...]
    written: set[int]

    @classmethod
    def beside(
        cls, primal: ir.Operation, kind: Kind, active: tuple[int, ...], names: set[str]
    ) -> Target:
        """Return the derivative under a name that is free in the module, and is none of some."""
        symbols = symbols_in(enclosing(primal)).keys() | names
        return cls(
            free_name(f"{symbol_of(primal)}.{kind.name.lower()}", symbols),
            kind,
            primal,
            active,
            set(),
        )

    @property
    def type(self) -> ir.FunctionType:
        """The type of the derivative."""
        derive = type_of_vjp if self.kind is Kind.VJP else type_of_jvp
        return derive(self.primal_type, self.active)

    @property
    def primal_type(self) -> ir.FunctionType:
        """The type of the function."""
        return function_type(self.primal)

    def memrefs(self) -> list[int]:
        """Return the numbers of the active memrefs."""
        return [k for k in self.active if isinstance(self.primal_type.inputs[k], ir.MemRefType)]

    def carried_results(self) -> list[int]:
        """Return the numbers of the results that carry a derivative."""
        return [k for k, type_ in enumerate(self.primal_type.results) if carries_derivative(type_)]


def free_name(name: str, names: Set[str]) -> str:
    """Return a name, with a number behind it if there is one of it already."""
    number, free = 0, name
    while free in names:
        number += 1
        free = f"{name}_{number}"
    return free
