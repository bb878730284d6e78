"""The short forms of our ops: a table that the writer and the reader share.

The syntax of a form is what follows the name of the op (signs: `syntax.Kind`). Attributes without a
piece stand in braces, where `&` is or at the end. Then come types, if any: `: T`. A type is a fixed
one (`index`), or a letter. `T` is written; `H` and `G` are the types of operands that hold
something (an array, a stack, a log, a tensor) and `E` is the type of an element of `H`. Where the
text says the type of a value at its definition, it is not written again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from types import MappingProxyType

from mlirad.ir.assembly.syntax import Kind, Piece, parse_syntax

Attributes = Mapping[str, str]
HOLDERS = ("H", "G")
ELEMENT = "E"
_NO_DEFAULTS: Mapping[str, Callable[[Attributes], str]] = MappingProxyType({})


class Form:
    """The short form of an op."""

    def __init__(
        self,
        syntax: str,
        operands: Mapping[str, str],
        results: str = "",
        types: str = "",
        *,
        regions: bool = False,
        segments: bool = False,
        defaults: Mapping[str, Callable[[Attributes], str]] = _NO_DEFAULTS,
    ) -> None:
        self.syntax = syntax
        self.operands = operands  # and their types, in the order of the generic form
        self.results, self.types = results.split(), types.split()
        self.has_regions, self.has_segments = regions, segments
        self.defaults = defaults  # of attributes that the form may leave out

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the syntax, with a place for attributes."""
        pieces = parse_syntax(self.syntax)
        if any(piece.kind is Kind.ATTRIBUTES for piece in pieces):
            return pieces
        return (*pieces, Piece(Kind.ATTRIBUTES, "", True))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes that the syntax has pieces for."""
        leaves = (leaf for piece in self.pieces for leaf in piece.leaves())
        values = (Kind.LITERAL, Kind.OPERAND, Kind.ATTRIBUTES)
        return tuple(leaf.name for leaf in leaves if leaf.kind not in values)

    @cached_property
    def lists(self) -> frozenset[str]:
        """The operands of which there may be any number."""
        leaves = (leaf for piece in self.pieces for leaf in piece.leaves())
        return frozenset(leaf.name for leaf in leaves if leaf.kind is Kind.OPERAND and leaf.many)

    @cached_property
    def is_name(self) -> bool:
        """Return whether nothing but the name of the op has to be written."""
        return all(piece.kind is Kind.ATTRIBUTES for piece in self.pieces)

    @cached_property
    def bare_list(self) -> str | None:
        """The operands of a list that nothing encloses."""
        bare = (piece.name for piece in self.pieces if piece.kind is Kind.OPERAND and piece.many)
        return next(bare, None) if len(self.pieces) == 2 else None

    @cached_property
    def holders(self) -> dict[str, str]:
        """The letters of what holds elements, and the operands that are these."""
        return {type_: name for name, type_ in self.operands.items() if type_ in HOLDERS}


def _first_axes(attributes: Attributes) -> str:
    """Return the axes of a block that has as many, from the first on."""
    count = len(re.findall(r"-?\d+", attributes.get("extents", "")))
    return f"[{', '.join(map(str, range(count)))}]"


def _block(clauses: str = "") -> Form:
    syntax = f"[#extents*]{{ axes [#axes*]}}{clauses}"
    return Form(syntax, {}, regions=True, defaults={"axes": _first_axes})


_ACCESS = {"array": "H", "indices": "index"}
_WRITE = {"value": "E", **_ACCESS}
_ON_BLOCK = {"indices": "index"}
_NUMBERS = ("launch", "iteration", "draw")
_YIELD = Form("%values*", {"values": "T"}, types="T*")
_SPARSE = _block(" activity(@activity)")


@cache
def forms() -> dict[str, Form]:
    """Return the short forms by the names of the ops."""
    return {**_field_forms(), **_grad_forms(), **_snode_forms(), **_te_forms()}


def _field_forms() -> dict[str, Form]:
    return {
        "field.get": Form("@field", {}, "T", "T"),
        "field.alloca": Form("", {}, "T", "T"),
        "field.load": Form("%array[%indices*]", _ACCESS, "E", "E"),
        "field.store": Form("%value, %array[%indices*]", _WRITE),
        "field.atomic": Form("~kind %value, %array[%indices*]", _WRITE, "E"),
        "field.dim": Form("%array, #axis", {"array": "H"}, "index"),
        "field.address": Form("%array[%indices*]", _ACCESS, "i64"),
        "field.sync": Form("", {}),
        "field.shared": Form("", {}, "T", "T"),
        "field.shuffle": Form("%value, %lane", {"value": "T", "lane": "index"}, "T", "T"),
        "field.ballot": Form("%predicate", {"predicate": "i1"}, "i32"),
        "field.chunk": Form("", {}, "index"),
        "field.clock": Form("", {}, "i64"),
        "field.random": Form(
            "%launch, %iteration, %draw", dict.fromkeys(_NUMBERS, "i64"), "T", "T"
        ),
        "field.fetch": Form("%values*", {"values": "index"}, "index*"),
        "field.spell": Form("%value", {"value": "T"}, "!field.word", "T"),
        "field.print": Form('"format"{, %values*}', {"values": "T"}, types="T*"),
        "field.assert": Form(
            '%condition, "message"{, %values*}', {"condition": "i1", "values": "T"}, types="T*"
        ),
    }


def _grad_forms() -> dict[str, Form]:
    log = {"log": "H"}
    return {
        "grad.alloc": Form("%trips", {"trips": "index"}, "T", "T"),
        "grad.push": Form("%value, %stack[%trip]", {"value": "E", "stack": "H", "trip": "index"}),
        "grad.pop": Form("%stack[%trip]", {"stack": "H", "trip": "index"}, "E", "E"),
        "grad.free": Form("%stack", {"stack": "H"}),
        "grad.open": Form("%entries*", {"entries": "index"}, "T", "T"),
        "grad.record": Form(
            "%value, %log[%indices*]", {"value": "E", "log": "H", "indices": "index"}
        ),
        "grad.mark": Form("%log", log, "index"),
        "grad.undo": Form("%log, %count, %array", {"log": "H", "count": "index", "array": "G"}),
        "grad.close": Form("%log", log),
        "grad.yield": _YIELD,
        "grad.detach": Form("%value", {"value": "T"}, "T", "T"),
        **dict.fromkeys(("grad.vjp", "grad.jvp"), Form("@callee", {}, "T", "T")),
    }


def _snode_forms() -> dict[str, Form]:
    on_block = "@activity[%indices*]"
    return {
        "snode.root": Form("$sym_name", {}, regions=True),
        "snode.dense": _block(),
        "snode.pointer": _SPARSE,
        "snode.bitmasked": _SPARSE,
        "snode.dynamic": _SPARSE,
        "snode.place": Form(
            "$sym_name{ [#component_shape*]} & : !element{ adjoint(@adjoint)}{ duals(@duals*)}",
            {},
            defaults={"component_shape": lambda _: "[]"},
        ),
        "snode.activate": Form(on_block, _ON_BLOCK),
        "snode.deactivate": Form(on_block, _ON_BLOCK),
        "snode.is_active": Form(on_block, _ON_BLOCK, "i1"),
        "snode.length": Form(on_block, _ON_BLOCK, "i32"),
        "snode.append": Form(on_block, _ON_BLOCK, "i32"),
    }


def _te_forms() -> dict[str, Form]:
    labelled, sizes = '"label"{(%sizes*)}', {"sizes": "index"}
    return {
        "te.size": Form('"label"', {}, "index"),
        "te.placeholder": Form(labelled, sizes, "T", "T"),
        "te.compute": Form(labelled, sizes, "T", "T", regions=True),
        "te.scatter": Form(labelled, sizes, "T", "T", regions=True),
        "te.scan": Form(f"{labelled} states #states", sizes, "T", "T", regions=True),
        "te.reduce": Form(
            "~kind [%bounds*]{ init(%initial*)}",
            {"bounds": "index", "initial": "T"},
            "T*",
            "T*",
            regions=True,
            segments=True,
        ),
        "te.read": Form("%tensor[%indices*]", {"tensor": "H", "indices": "index"}, "E", "H"),
        "te.put": Form(
            "%value at [%indices*] if %holds_here",
            {"holds_here": "i1", "value": "T", "indices": "index"},
            types="T",
        ),
        "te.yield": _YIELD,
    }
