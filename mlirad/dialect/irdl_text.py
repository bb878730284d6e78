"""Our dialects as IRDL text, which any MLIR loads: the files of `mlirad/dialect/irdl/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.bindings import ext, ir
from mlirad.dialect import OURS
from mlirad.dialect.loading import generated_module

_WORDS = {  # of traits that IRDL cannot say
    ir.NoTerminatorTrait: "no terminator",
    ir.IsTerminatorTrait: "terminators",
    ir.IsIsolatedFromAboveTrait: "isolated from above",
    ext.Pure: "pure",
}


def irdl_texts() -> dict[str, str]:
    """Return the text of each dialect, by its name, generated from its classes."""
    with ir.Context(load_on_create_dialects=["irdl"]), ir.Location.unknown():
        return {dialect.DIALECT_NAMESPACE: _text(dialect) for dialect in OURS}


def _text(dialect: type[ext.Dialect]) -> str:
    definitions = "\n".join(
        op.operation.get_asm().rstrip() for op in generated_module(dialect).body.operations
    )
    definitions = "\n".join(line.rstrip() for line in definitions.splitlines())
    head = [
        f"// The dialect '{dialect.DIALECT_NAMESPACE}' of mlirad; tools/irdl_files.py writes it.",
        *_traits(dialect.operations),
    ]
    return "\n".join([*head, definitions, ""])


def _traits(ops: Sequence[type[ext.Operation]]) -> Iterator[str]:
    """Yield comments that say which ops have a trait."""
    for trait, words in _WORDS.items():
        names = [op.OPERATION_NAME for op in ops if trait in op._traits]
        if names:
            yield f"// {words}: {', '.join(names)}"
