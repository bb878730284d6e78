"""Random functions over memrefs in which everything meets: memory written again, vectors under
masks, complex numbers, integers in memory, branches of blocks, calls."""

from __future__ import annotations

from programs.foreign_functions import (
    calling,
    complexes,
    concurrent,
    integers,
    reuse,
    unstructured,
    vectors,
)
from programs.foreign_functions.control import Statement
from programs.foreign_functions.loops import Loops


class Mixed(Loops):
    """The text of a function `f`, and arguments for it."""

    SIMPLE: tuple[Statement, ...] = (
        *(reuse.exchange, reuse.exchange, integers.combine, integers.combine, integers.store),
        *(integers.store, integers.allocate),
        *(integers.as_float, calling.twice, calling.lines, calling.lines, complexes.compute),
        *(vectors.on_a_line, vectors.on_a_line, vectors.by_indices, vectors.under_masks),
    )
    NESTED: tuple[Statement, ...] = (
        *(reuse.sweep, reuse.sweep, reuse.sweep, reuse.steps, reuse.steps, reuse.while_small),
        *(reuse.first_above, reuse.dead_code, reuse.alloca_scope, unstructured.region),
        *(calling.repeatedly, concurrent.rows, concurrent.affine_reduce, concurrent.atomics),
    )

    def _helpers(self) -> None:
        super()._helpers()
        calling.mix(self.statements)
        unstructured.branching(self.statements, "branching")
        unstructured.looping(self.statements, "looping")
        calling.deep(self.statements)
        self.statements.helpers += ["branching", "looping", "deep"]
