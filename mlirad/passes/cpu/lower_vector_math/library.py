"""The functions of a vector library that a module calls."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.vector_math import ARGUMENTS, lanes, scalar_name, vector_name
from mlirad.ir.ops import Llvm
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.walk import at_start, block_operations
from mlirad.passes.cpu.lower_vector_math.function_texts import LibraryFunction, keep_functions

_KEPT = "llvm.compiler.used"
_ALONE = {"pow": Llvm.INTR_POW}


class Library:
    """libmvec, as a module knows it."""

    def __init__(self, module: ir.Operation, instructions: str) -> None:
        self.module, self.instructions = module, instructions
        self.block = module.regions[0].blocks[0]
        self.present = {
            symbol_of(op): op for op in block_operations(self.block) if "sym_name" in op.attributes
        }
        self.texts: dict[str, str] = {}  # of what is new, by symbol
        self.variants: list[str] = []

    def lanes(self, type_: ir.Type) -> int:
        """Return how many floats of a type its functions take."""
        return lanes(self.instructions, ir.FloatType(type_).width)

    def call_on_vectors(self, name: str, operands: Sequence[ir.Value]) -> ir.Value:
        """A function of vectors of as many floats."""
        element = ir.VectorType(operands[0].type).element_type
        symbol = self._declare(name, element).symbol
        return b.llvm_call(symbol, operands, [operands[0].type]).result

    def call_on_scalars(self, name: str, operands: Sequence[ir.Value]) -> ir.Value:
        """A function of scalars, of which the vectorizer has variants."""
        type_ = operands[0].type
        symbol = f"libmvec.{scalar_name(name, ir.FloatType(type_).width)}"
        if symbol not in self.present and symbol not in self.texts:
            function = self._declare(name, type_)
            variants = {function.lanes: function.symbol}
            for count in (function.lanes // 2, function.lanes // 4):
                if count > 1:
                    variants[count] = f"{symbol}.{count}"
                    self._add(variants[count], function.definition(variants[count], count, {}))
            self.variants += variants.values()
            self._add(symbol, function.definition(symbol, 1, variants))
        return b.llvm_call(symbol, operands, [type_]).result

    def _declare(self, name: str, type_: ir.Type) -> LibraryFunction:
        bits = ir.FloatType(type_).width
        symbol = vector_name(name, self.instructions, bits)
        function = LibraryFunction(
            symbol, ARGUMENTS[name], str(type_), self.lanes(type_), _ALONE.get(name, "")
        )
        self._add(symbol, function.declaration())
        return function

    def _add(self, symbol: str, text: str) -> None:
        if symbol not in self.present:
            self.texts[symbol] = text

    def finish(self) -> None:
        """Add to the module what is new. LLVM is to keep the variants, which nothing calls as
        yet."""
        if self.variants:
            if _KEPT in self.present:
                refuse(self.present[_KEPT], f"a module that has '{_KEPT}' already")
            self._add(_KEPT, keep_functions(self.variants))
        if self.texts:
            definitions = ir.Module.parse("\n".join(self.texts.values()))
            with at_start(self.block, self.module.location):
                for op in block_operations(definitions.body):
                    op.clone()
