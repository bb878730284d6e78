"""Our dialects as IRDL text, which any MLIR loads: the files of `mlirad/dialect/irdl/`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.bindings import ext, ir
from mlirad.dialect.field import Field
from mlirad.dialect.grad import Grad
from mlirad.dialect.snode import Snode
from mlirad.dialect.te import Te

_WORDS = {  # of traits that IRDL cannot say
    ir.NoTerminatorTrait: "no terminator",
    ir.IsTerminatorTrait: "terminators",
    ir.IsIsolatedFromAboveTrait: "isolated from above",
    ext.Pure: "pure",
}
_DIALECTS: tuple[type[ext.Dialect], ...] = (Field, Grad, Snode, Te)


def irdl_texts() -> dict[str, str]:
    """Return the text of each dialect, by its name; they are loaded."""
    return {dialect.DIALECT_NAMESPACE: _text(dialect) for dialect in _DIALECTS}


def _text(dialect: type[ext.Dialect]) -> str:
    definitions = "\n".join(
        op.operation.get_asm().rstrip() for op in dialect._mlir_module.body.operations
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
