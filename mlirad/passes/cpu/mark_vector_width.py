"""Have LLVM make vectors as long as the processor's.

Of processors with vectors of 512 bits its vectorizer uses half, for the sake of those whose clock
slowed down under longer ones. What this compiler makes itself, tiles and lanes, has their whole
length.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.walk import llvm_functions

_ATTRIBUTES, _WIDTH = "passthrough", "prefer-vector-width"  # LLVM's attributes of a function


def mark_vector_width(module: ir.Operation, *, width: Annotated[int, Range(16, 64)] = 64) -> None:
    """Tell LLVM the width of vectors in bytes, for every function that is compiled."""
    for function in llvm_functions(module):
        _mark(function, ir.Attribute.parse(f'["{_WIDTH}", "{8 * width}"]'))


def _mark(function: ir.Operation, mark: ir.Attribute) -> None:
    attributes = function.attributes
    passthrough = attributes[_ATTRIBUTES] if _ATTRIBUTES in attributes else ir.ArrayAttr.get([])
    other_attributes = [
        attribute
        for attribute in ir.ArrayAttr(passthrough)
        if not str(attribute).startswith(f'["{_WIDTH}"')
    ]
    attributes[_ATTRIBUTES] = ir.ArrayAttr.get([*other_attributes, mark])
