"""Remarks of passes: kept on the op they speak of, as `grad.remarks`, until `mlirad-opt` reports
them."""

from collections.abc import Iterable, Iterator

from mlirad.bindings import ir
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import Array, operations

REMARKS = "grad.remarks"


def remark(op: ir.Operation, text: str) -> None:
    """Say something about an op."""
    op.attributes[REMARKS] = ir.ArrayAttr.get([*_remarks(op), ir.StringAttr.get(text)])


def _remarks(op: ir.Operation) -> list[ir.Attribute]:
    return list(ir.ArrayAttr(op.attributes[REMARKS])) if REMARKS in op.attributes else []


def copy_remarks(op: ir.Operation, targets: Iterable[ir.Operation]) -> None:
    """Say of others too what was said of an op that goes."""
    texts = _remarks(op)
    for target in targets if texts else ():
        target.attributes[REMARKS] = ir.ArrayAttr.get([*_remarks(target), *texts])


def move_remarks(op: ir.Operation, other: ir.Operation) -> None:
    """Say of another op what was said of one whose part it takes."""
    copy_remarks(op, [other])
    forget_remarks(op)


def forget_remarks(op: ir.Operation) -> None:
    """Say nothing more of an op."""
    if REMARKS in op.attributes:
        del op.attributes[REMARKS]


def take_remarks(module: ir.Operation) -> Iterator[tuple[ir.Operation, str]]:
    """Every remark with its op, taken away from it."""
    for op in operations(module):
        if REMARKS in op.attributes:
            texts = [ir.StringAttr(item).value for item in ir.ArrayAttr(op.attributes[REMARKS])]
            forget_remarks(op)
            for text in texts:
                yield op, text


def shown_array(array: Array) -> str:
    """An array as a message names it."""
    return (
        f"'{array}'"
        if isinstance(array, str)
        else "an array argument"
        if isinstance(array, ir.BlockArgument)
        else "a local of the kernel"
    )


def shown_place(op: ir.Operation) -> str:
    """Return the place of an op in the source, or that it is not known."""
    place = source_location(op.location)
    return "a place not known" if place is None else str(place)
