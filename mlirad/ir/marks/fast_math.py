"""Permissions of an op's fast-math flags."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from mlirad.bindings import ir

_EVERY = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")


def fast_math(flags: Sequence[str]) -> ir.Attribute:
    """Flags as an attribute."""
    return ir.Attribute.parse(f"#arith.fastmath<{','.join(flags) or 'none'}>")


def allows(op: ir.Operation, flag: str) -> bool:
    """Return whether an op has a flag."""
    return "fastmath" in op.attributes and flag in _flags(op.attributes["fastmath"])


def forbid(op: ir.Operation, flag: str) -> None:
    """Take a flag from an op."""
    if allows(op, flag):
        op.attributes["fastmath"] = _without(op.attributes["fastmath"], flag)


@lru_cache(maxsize=64)
def _without(attribute: ir.Attribute, flag: str) -> ir.Attribute:
    return fast_math([other for other in _flags(attribute) if other != flag])


@lru_cache(maxsize=64)
def _flags(attribute: ir.Attribute) -> tuple[str, ...]:
    written = tuple(str(attribute).partition("<")[2].partition(">")[0].split(","))
    return _EVERY if written == ("fast",) else written
