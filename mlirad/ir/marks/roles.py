"""The roles of parameters of functions on arrays: see `raise-memrefs-to-arrays`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import count

from mlirad.bindings import ir

ROLE, EXTENTS = "field.role", "field.extents"
VALUE = "field.value"  # of a constant that no `memref.global` holds
# of memory that a function writes its result of this number to, which was a vector, or complex
VECTOR_RESULT, COMPLEX_RESULT = "field.vector_result", "field.complex_result"

Label = Mapping[str, ir.Attribute]


class Role(StrEnum):
    """An argument or a result of the function, memory that it allocates, or a constant."""

    ARGUMENT = "argument"
    RESULT = "result"
    BUFFER = "buffer"
    CONSTANT = "constant"


def result_in_memory(label: Label) -> int | None:
    """Return the number of the result that a function writes to an argument with this label."""
    marks = [label.get(mark) for mark in (VECTOR_RESULT, COMPLEX_RESULT)]
    return next((ir.IntegerAttr(m).value for m in marks if isinstance(m, ir.IntegerAttr)), None)


def returned_results(labels: Sequence[Label]) -> Iterator[int]:
    """Yield the numbers of the results that a function returns, by the labels of its arguments."""
    written = set(map(result_in_memory, labels))
    return (number for number in count() if number not in written)
