"""The pages of our dialects say what the classes of ops say."""

from __future__ import annotations

from typing import Any

import pytest
from dialect_pages import DIALECTS, PAGES, example, pages, split_facts

from mlirad.bindings import ext
from mlirad.dialect import context
from mlirad.dialect.effects import effects_of
from mlirad.pipeline.opt.parsing import Reading

OPS = [op for dialect in DIALECTS for op in dialect.operations]


def test_pages_are_up_to_date() -> None:
    """`python tools/dialect_pages.py` writes them."""
    with context():
        texts = pages()
    written = {file.name: file.read_text() for file in PAGES.glob("*.md")}
    assert {name: text for name, text in written.items() if name in texts} == texts
    assert {file.stem for file in PAGES.iterdir()} == {
        "attributes",
        *(dialect.DIALECT_NAMESPACE for dialect in DIALECTS),
    }


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
def test_an_example_parses(op: Any) -> None:
    with context():
        module = Reading(example(op.OPERATION_NAME), "-", is_whole_file=False).module()
        assert module.operation.verify()


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.OPERATION_NAME)
def test_what_is_done_to_memory_is_said(op: Any) -> None:
    """Of what reads or writes: whether it races; of what has an index: which there are."""
    text, facts = split_facts(op)
    assert text
    if effects_of(op):
        assert "Races" in facts
        if "indices" in {field.name for field in op._fields if isinstance(field, ext.OperandDef)}:
            assert "Bounds" in facts or op.OPERATION_NAME == "grad.record"
