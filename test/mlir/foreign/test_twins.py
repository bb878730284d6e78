"""Random functions in which ops of a foreign dialect stand for those of mlirad's table, against the
functions as they are: same numbers, same derivatives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs.foreign_functions import KINDS
from torch_mlir.dialects import arith

import mlirad as ti
from mlirad.analysis.rules.table import RULES
from mlirad.ir.elementary.terms import Apply, Operand, Term, Values, emit
from mlirad.ir.foreign_ops.registry import FOREIGN_RULES, LOWERINGS
from mlirad.mlir.run.derivatives import Program
from mlirad.pipeline.runner import VERIFY

NAMES = [name for name in RULES if name not in ("arith.select", "arith.extf", "arith.truncf")]
ARITY = {name: len(RULES[name]) for name in NAMES}
OP = re.compile(r"= (\w+\.\w+) (%\w+(?:, %\w+)*)(?: fastmath<[\w,]+>)? : (f32|f64)$", re.MULTILINE)
EACH = 4


@pytest.fixture(autouse=True, scope="module")
def _dialect() -> Iterator[None]:
    ops = "".join(
        f"irdl.operation @{twin(name)} {{ %0 = irdl.any "
        f"irdl.operands({', '.join(f'x{k}: %0' for k in range(count))}) irdl.results(r: %0) }} "
        for name, count in ARITY.items()
    )
    ti.mlir.parse_dialects(f"irdl.dialect @twin {{ {ops} }}")
    for number, (name, terms) in enumerate((name, RULES[name]) for name in NAMES):
        operands = tuple(Operand(k) for k in range(len(terms)))
        ti.mlir.lowering(f"twin.{twin(name)}", Apply(name, operands))
        register(number, f"twin.{twin(name)}", terms)
    yield
    for name in NAMES:
        del FOREIGN_RULES[f"twin.{twin(name)}"], LOWERINGS[f"twin.{twin(name)}"]


def twin(name: str) -> str:
    return name.replace(".", "_")


def register(number: int, name: str, terms: tuple[Term | None, ...]) -> None:
    """Register a rule of the table, in one of three forms."""

    def tangent(op: Any, tangents: Any) -> Any:
        return [total([share(term, op, along) for term, along in zip(terms, tangents)])]

    def adjoints(op: Any, along: Any) -> Any:
        return [share(term, op, along[0]) for term in terms]

    def partials(op: Any) -> Any:
        one = unit(op.operands[0])
        return [share(term, op, one) for term in terms]

    if number % 3 == 0:
        ti.mlir.derivative(name, terms)
    elif number % 3 == 1:
        ti.mlir.derivative(name, tangent, adjoints)
    else:
        ti.mlir.derivative(name, partials=partials)


def share(term: Term | None, op: Any, along: Any) -> Any:
    """What an operand's derivative makes of a tangent."""
    if term is None:
        return None
    operands, (result,) = op.operands, op.results
    return emit(term, Values(along, operands.__getitem__, lambda: result, along.type, along.type))


def total(shares: list[Any]) -> Any:
    present = [value for value in shares if value is not None]
    for value in present[1:]:
        present[0] = arith.addf(present[0], value)
    return present[0] if present else None


def unit(like: Any) -> Any:
    return arith.constant(like.type, 1.0)


def in_twins(text: str) -> str:
    """Return a function with foreign ops in the place of those of the table."""

    def replaced(match: re.Match[str]) -> str:
        name, operands, type_ = match.groups()
        if name not in ARITY or operands.count("%") != ARITY[name]:
            return match[0]
        types = ", ".join([type_] * ARITY[name])
        return f'= "twin.{twin(name)}"({operands}) : ({types}) -> {type_}'

    return OP.sub(replaced, text)


def check(kind: str, number: int) -> int:
    """Compare a function with its twin; the number of foreign ops."""
    function = KINDS[kind](number)
    text = in_twins(function.text)
    ti.init(ti.simt if number % 4 == 3 else ti.cpu, default_fp=ti.f64, log_level="error")
    try:
        first = Program(ti.mlir.parse(function.text, "f"), function.arguments)
        expected = results_of(first, number)
    except (ti.TaichiCompilationError, ti.TaichiRuntimeError):
        return 0
    results = results_of(Program(ti.mlir.parse(text, "f"), function.arguments), number)
    tolerance = 2e-3 if function.is_rough else 1e-8
    for value, other in zip(results, expected, strict=True):
        scale = 1 + np.abs(other).max(initial=0)
        if np.isfinite(scale):
            assert np.abs(value - other).max(initial=0) <= tolerance * scale, f"{number}\n{text}"
    return text.count('"twin.')


def results_of(program: Program, seed: int) -> list[Any]:
    """Return what a function gives, adjoints, and tangents, in directions of a seed."""
    generator = np.random.default_rng(seed)
    program.run()
    values = [np.array(array.to_numpy(), np.float64) for array in program.outputs]
    if not program.active:
        return values
    heads = [along(generator, array) for array in program.outputs]
    directions = [along(generator, array) for array in program.inputs]
    return [*values, *program.gradients(heads), *program.tangents(directions)]


def along(generator: np.random.Generator, array: Any) -> Any:
    return np.asarray(generator.uniform(-1, 1, array.shape), array.dtype.numpy)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_twins(kind: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VERIFY, raising=False)  # as users compile
    counts = [check(kind, number) for number in range(part * EACH, (part + 1) * EACH)]
    assert sum(counts) > EACH
