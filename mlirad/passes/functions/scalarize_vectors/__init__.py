"""Vectors, as others' programs have them, become their elements: what knows scalars knows them.

Takes functions of one block a region whose vectors have fixed shapes, of `MOST_ELEMENTS` elements
at most. Behind it no value of a function is a vector, and no op is of the `vector` dialect: what
is not known here is an error at its line. An element that is not in memory or whose mask is off
is neither read nor written. Sums have the order of the elements. Poison becomes 0.

A private function takes and gives elements, in row-major order. A public one takes
`memref<4xf64> {field.vector_argument}` in the place of `vector<4xf64>`; a vector that it gives is
written to memory behind the other arguments, `memref<4xf64> {field.vector_result = n}`, where n is
the number that the result had; results that are not vectors stay, in their order:

    func.func @f(%x: vector<4xf64>, %a: f64) -> (f64, vector<2xi32>)

becomes

    func.func @f(%x: memref<4xf64> {field.vector_argument}, %a: f64,
                 %r: memref<2xi32> {field.vector_result = 1}) -> f64
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Builtin, Func, Scf
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.walk import before, block_operations, functions
from mlirad.passes.functions.scalarize_vectors.carrying import (
    ENDS,
    HOLDERS,
    carry_elements,
    pass_elements,
    reduce_elements,
)
from mlirad.passes.functions.scalarize_vectors.elements import (
    MOST_ELEMENTS,
    Rule,
    Scalars,
    Vectors,
    count,
    is_vector,
)
from mlirad.passes.functions.scalarize_vectors.elementwise import RULES as ELEMENTWISE
from mlirad.passes.functions.scalarize_vectors.elementwise import elementwise, is_elementwise
from mlirad.passes.functions.scalarize_vectors.masks import RULES as MASKS
from mlirad.passes.functions.scalarize_vectors.memory import RULES as MEMORY
from mlirad.passes.functions.scalarize_vectors.rearranging import RULES as REARRANGING
from mlirad.passes.functions.scalarize_vectors.reducing import RULES as REDUCING
from mlirad.passes.functions.scalarize_vectors.signatures import (
    call_with_elements,
    has_vectors,
    privatize_callees,
    return_elements,
    split_signature,
)

RULES: dict[str, Rule] = {
    **ELEMENTWISE,
    **REARRANGING,
    **REDUCING,
    **MEMORY,
    **MASKS,
    Func.CALL: call_with_elements,
}


def scalarize_vectors(module: ir.Operation) -> None:
    """Replace vectors by their elements."""
    for inner in block_operations(module.regions[0].blocks[0]):
        if inner.name == Builtin.MODULE:
            scalarize_vectors(inner)
        elif inner.name == Func.FUNC and has_vectors(inner) and not len(inner.regions[0].blocks):
            refuse(inner, "a function without a body that takes or gives vectors")
    by_name = {symbol_of(function): function for function in functions(module)}
    privatize_callees(by_name)
    for function in by_name.values():
        _Scalarizer().rewrite(function)


class _Scalarizer:
    """The rewriting of a function."""

    def __init__(self) -> None:
        self.vectors = Vectors()
        self.results: Scalars = []  # the memory of those that are vectors
        self.types: dict[ir.Type, str] = {}  # with what is wrong with them

    def rewrite(self, function: ir.Operation) -> None:
        """Replace the vectors of a function."""
        blocks = list(function.regions[0].blocks)
        self._check_types(function, [argument for block in blocks for argument in block.arguments])
        if has_vectors(function):
            with function.location:
                self.results = split_signature(function, self.vectors)
        self._visit_regions(function)
        self.vectors.erase_replaced()

    def _visit_regions(self, op: ir.Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in block_operations(block):
                    self._visit(inner)

    def _visit(self, op: ir.Operation) -> None:
        inner = [a for region in op.regions for block in region.blocks for a in block.arguments]
        values = [*op.operands, *op.results, *inner]
        has_vector = self._check_types(op, values) or op.name.startswith("vector.")
        if not has_vector:
            self._visit_regions(op)
            return
        if len(op.block.region.blocks) > 1:
            refuse(op, f"'{op.name}' of vectors among several blocks: run lift-cf-to-scf first")
        with before(op):
            self._replace(op)

    def _replace(self, op: ir.Operation) -> None:
        vectors = self.vectors
        if op.name in HOLDERS:
            self._visit_regions(carry_elements(op, vectors))
        elif op.name == Func.RETURN:
            return_elements(op, vectors, self.results)
        elif op.name == Scf.REDUCE:
            self._visit_regions(reduce_elements(op, vectors))
        elif op.name in ENDS:
            pass_elements(op, vectors)
        else:
            vectors.bind_all(list(op.results), self._rule_of(op)(op, vectors))
        vectors.replaced.append(op)

    def _rule_of(self, op: ir.Operation) -> Rule:
        if op.name in RULES:
            return RULES[op.name]
        if is_elementwise(op):
            return elementwise
        refuse(op, f"'{op.name}' of vectors, which scalarize-vectors does not know")

    def _check_types(self, op: ir.Operation, values: list[ir.Value]) -> bool:
        """Refuse vectors that have no elements here; return whether there are others."""
        has_vector = False
        for value in values:
            type_ = value.type
            if type_ not in self.types:
                self.types[type_] = _what_is_wrong(type_)
            if self.types[type_]:
                refuse(op, f"'{op.name}' of {type_}, expected {self.types[type_]}")
            has_vector |= is_vector(type_)
        return has_vector


def _what_is_wrong(type_: ir.Type) -> str:
    """Return what a type should be, or nothing."""
    if not isinstance(type_, ir.VectorType):
        return "no vectors within another type" if "vector<" in str(type_) else ""
    if type_.scalable:
        return "a vector of a fixed shape"
    return f"{MOST_ELEMENTS} elements at most" if count(type_) > MOST_ELEMENTS else ""
