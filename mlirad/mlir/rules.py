"""Derivatives and lowerings of ops whose dialects are not mlirad's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from os import PathLike, fspath
from types import FunctionType
from typing import Any, TypeVar

from mlirad.dialect import context
from mlirad.dialect.turn import in_turn
from mlirad.errors import SourceLocation, TaichiCompilationError
from mlirad.ir.elementary.terms import Result, Term, leaves
from mlirad.ir.foreign_ops import loaded_dialects
from mlirad.ir.foreign_ops.code import Builder, Code, Lowering, Rule
from mlirad.ir.foreign_ops.linearity import Degree, degree
from mlirad.ir.foreign_ops.registry import register_lowering, register_rule
from mlirad.pipeline.opt.source_text import check_text, decode

BuilderT = TypeVar("BuilderT", bound=Builder)


class _Absent(Enum):
    RULE = 0


def derivative(
    name: str,
    rule: Term | tuple[Term | None, ...] | Builder | str | _Absent | None = _Absent.RULE,
    transposed: Builder | str | None = None,
    *,
    partials: Code | None = None,
    replace: bool = False,
) -> Any:
    """Register the derivative of an op. Without a rule, this is a decorator of a linear map.

        @ti.mlir.derivative("geometry.scale")
        def scale(op, tangents):
            return arith.mulf(op.operands[1], tangents[0])

    An op has one derivative. A replacement applies to modules that are read after it.

    Args:
        name: the name of the op.
        rule: for an op with one result, a tuple with a term (`ti.mlir.terms`) for each operand.
            Otherwise a linear map: a function that takes the op and the tangents of its float
            operands and returns the tangents of its float results, or the name of a `func.func` of
            operands, results and tangents. None is the derivative of a constant, zero.
        transposed: the transpose of the linear map, a function of adjoints of results; by default
            it is derived.
        partials: code for the derivative of each result with respect to each operand, result by
            result.
        replace: replace the derivative that the op has.

    Raises:
        TaichiCompilationError: the rule cannot be a derivative.
    """
    if rule is _Absent.RULE and partials is None:

        def register(function: BuilderT) -> BuilderT:
            register_rule(name, Rule(_place(function), linear=function), replace=replace)
            return function

        return register
    place = _place(partials if rule is _Absent.RULE else rule)
    if partials is not None and (rule is not _Absent.RULE or transposed is not None):
        raise TaichiCompilationError("partials= is a complete derivative: pass nothing else", place)
    register_rule(name, _rule(place, rule, transposed, partials), replace=replace)
    return None


def _rule(place: SourceLocation, rule: Any, transposed: Any, partials: Any) -> Rule:
    if partials is not None:
        return Rule(place, partials=_code(partials, place, "partials"))
    if transposed is not None and not isinstance(rule, str | Callable):
        raise TaichiCompilationError("expected a linear map together with a transposed map", place)
    if rule is None:
        return Rule(place)
    code = _code(rule, place, "a derivative")
    if not isinstance(code, tuple):
        return Rule(place, linear=code, transposed=transposed)
    for number, term in enumerate(code):
        if term is not None and degree(term) not in (Degree.LINEAR, Degree.ZERO):
            raise TaichiCompilationError(f"term {number} is not linear in the tangent t", place)
    return Rule(place, terms=code)


def lowering(
    name: str, code: Any = _Absent.RULE, *, elementwise: bool = False, replace: bool = False
) -> Any:
    """Register code that computes the results of an op, so that the op can run. Without `code`,
    this is a decorator.

        ti.mlir.lowering("activation.swish", x / (exp(-x) + 1.0))

    If an op has a lowering and no derivative, its lowering is differentiated.

    Args:
        name: the name of the op.
        code: a term, or a tuple of terms for several results; a function that takes the op and
            returns values; or the name of a `func.func` of its operands.
        elementwise: apply the code to each element of vectors or tensors.
        replace: replace the lowering that the op has.

    Raises:
        TaichiCompilationError: the code cannot be a lowering.
    """
    if code is _Absent.RULE:

        def register(function: BuilderT) -> BuilderT:
            entry = Lowering(_place(function), function, elementwise)
            register_lowering(name, entry, replace=replace)
            return function

        return register
    place = _place(code)
    checked = _code(code, place, "a lowering")
    for term in checked if isinstance(checked, tuple) else ():
        if term is None or degree(term) not in (Degree.CONSTANT, Degree.ZERO):
            raise TaichiCompilationError("a term of a lowering, expected one of operands", place)
        if any(isinstance(leaf, Result) for leaf in leaves(term)):
            raise TaichiCompilationError("a term of a lowering that has the result in it", place)
    register_lowering(name, Lowering(place, checked, elementwise), replace=replace)
    return None


def _code(code: Any, place: SourceLocation, role: str) -> Code:
    if isinstance(code, Term):
        return (code,)
    is_terms = isinstance(code, tuple) and all(c is None or isinstance(c, Term) for c in code)
    if not (is_terms or isinstance(code, str) or callable(code)):
        raise TaichiCompilationError(
            f"{role} is a {type(code).__name__}, expected terms, a function or the name of one",
            place,
        )
    return code


def _place(code: object) -> SourceLocation:
    """Return where a function is defined, or the line of the program that registers."""
    if isinstance(code, FunctionType):
        return SourceLocation(code.__code__.co_filename, code.__code__.co_firstlineno, 1)
    frame = sys._getframe(2)
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno, 1)


def load_dialects(path: str | PathLike[str]) -> list[str]:
    """Load the dialects in a file in the textual form of IRDL, and return their names.

    Every module of the process can use them from then on. The same text may be loaded again.

    Raises:
        OSError: the file cannot be read.
        MLIRError: the text is not IRDL; the message has the line.
        TaichiCompilationError: another dialect has the same name.
    """
    file = fspath(path)
    with open(file, "rb") as opened:
        return _load(decode(opened.read(), file), file)


def parse_dialects(text: str) -> list[str]:
    """Load the dialects in a text; see `load_dialects`."""
    return _load(text, None)


@in_turn
def _load(text: str, file: str | None) -> list[str]:
    check_text(text, file or "-")
    return loaded_dialects.load_dialects(text, context(), file)
