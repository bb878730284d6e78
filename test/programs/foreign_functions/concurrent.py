"""Statements of random functions about loops whose iterations may run at once."""

from __future__ import annotations

from programs.foreign_functions.control import Statements
from programs.foreign_functions.reuse import counted
from programs.foreign_functions.writer import LARGEST, Float, Index, Memory, Scope


def rows(statements: Statements, scope: Scope) -> None:
    """Go over each row of a memory, at once, where elements are made of those before them."""
    targets = [m for m in scope.targets if len(m.extents) == 2 and not m.has_twins]
    if not targets:
        return
    writer, target = statements.writer, statements.writer.random.choice(targets)
    kind = writer.random.choice(("scf.parallel", "scf.forall", "affine.parallel"))
    header, (row,) = statements._axes(kind, target.extents[:1])
    with writer.block(f"{header} {{"):
        outer = scope.parallel(target.base, [row])
        slot = _slot(statements, outer)
        with counted(statements, target.extents[1]) as column:
            place = f"{target.name}[{row.name}, {column}] : {target.type}"
            held = Float(writer.value(f"memref.load {place}"), target.element)
            before = Float(writer.value(f"memref.load {slot.name}[] : {slot.type}"), slot.element)
            index = Index(column, 0, target.extents[1] - 1)
            inner = outer.inner(indices=[index], floats=[held, before])
            value = statements.value(inner)
            writer.emit(f"memref.store {value.name}, {place}")
            writer.emit(f"memref.store {value.name}, {slot.name}[] : {slot.type}")
        if kind == "scf.parallel":
            writer.emit("scf.reduce")


def _slot(statements: Statements, scope: Scope) -> Memory:
    """Write memory of an iteration, which holds a value."""
    writer, type_ = statements.writer, f"memref<{statements.type}>"
    operation = writer.random.choice(("memref.alloca", "memref.alloc"))
    name = writer.value(f"{operation}() : {type_}")
    writer.emit(f"memref.store {statements.value(scope, 1).name}, {name}[] : {type_}")
    return Memory(name, statements.type, (), (), name)


def affine_reduce(statements: Statements, scope: Scope) -> None:
    """Reduce values of an affine loop, two at once."""
    writer, type_ = statements.writer, statements.type
    result, kinds = writer.name(), [writer.random.choice(_KINDS) for _ in range(2)]
    header, indices = statements._axes("affine.parallel", [writer.random.randint(1, 4)])
    listed = ", ".join(f'"{kind}"' for kind in kinds)
    with writer.block(f"{result}:2 = {header} reduce ({listed}) -> ({type_}, {type_}) {{"):
        inner = scope.parallel("", indices)
        values = [statements.scalars.bounded(statements.value(inner), 1.0) for _ in kinds]
        names = ", ".join(value.name for value in values)
        writer.emit(f"affine.yield {names} : {type_}, {type_}")
    for number in range(2):
        total = Float(f"{result}#{number}", type_, LARGEST * 4)
        scope.floats.append(statements.scalars.bounded(total))


_KINDS = ("addf", "mulf", "maximumf", "minimumf")


def atomics(statements: Statements, scope: Scope) -> None:
    """Update elements of a memory in a parallel loop by one of several operations."""
    targets = [m for m in scope.targets if m.extents]
    if not targets:
        return
    writer, target = statements.writer, statements.writer.random.choice(targets)
    header, indices = statements._axes("scf.parallel", [writer.random.randint(1, 5)])
    kind = writer.random.choice(("addf", "maximumf", "minimumf"))  # what upstream lowers
    with writer.block(f"{header} {{"):
        inner = scope.parallel(target.base, indices)
        value = statements.scalars.bounded(statements.value(inner), 1.0)
        place = ", ".join(statements.memories.place(inner, target))
        types = f"({statements.type}, {target.type}) -> {statements.type}"
        writer.value(f"memref.atomic_rmw {kind} {value.name}, {target.name}[{place}] : {types}")
        writer.emit("scf.reduce")
    _settle(statements, scope, target)


def _settle(statements: Statements, scope: Scope, target: Memory) -> None:
    """Bring the elements of a line, which sums may have made large, into their bound again."""
    writer = statements.writer
    for _ in range(2):
        place = ", ".join(statements.memories.place(scope, target))
        held = writer.value(f"memref.load {target.name}[{place}] : {target.type}")
        settled = writer.value(f"math.tanh {held} : {statements.type}")
        writer.emit(f"memref.store {settled}, {target.name}[{place}] : {target.type}")
