"""Functions of vectors give the same numbers as their elements."""

from __future__ import annotations

import pytest
from programs.foreign_vectors.cases import FAMILIES, family, reworded
from programs.foreign_vectors.random_functions import module
from programs.foreign_vectors.running import differences

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.walk import operations
from mlirad.pipeline.runner import run_pipeline

PASS = "scalarize-vectors"


@pytest.mark.parametrize("name", FAMILIES)
def test_each_op(name: str) -> None:
    """Each op in each kind, bit for bit as upstream lowers it."""
    assert not differences(family(name), PASS)


def test_what_upstream_lowers_wrongly() -> None:
    """Upstream gets the same in other words."""
    ours, theirs = reworded()
    assert not differences(ours, PASS, reworded=theirs)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_functions(first: int) -> None:
    """Functions of some 20 ops whose sums are exact."""
    assert not differences(module(first, 20), PASS, runs=2)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_vectors_are_left(name: str) -> None:
    """Neither ops nor values."""
    with context():
        root = ir.Module.parse(family(name)).operation
        run_pipeline(root, f"builtin.module({PASS})")
        ops = list(operations(root))
        assert not [op.name for op in ops if op.name.startswith("vector.")]
        assert not [op.name for op in ops for v in op.results if isinstance(v.type, ir.VectorType)]
