"""Statements of random functions about vectors: of lines of memory, under masks, by indices."""

from __future__ import annotations

from programs.foreign_functions.control import Statements
from programs.foreign_functions.writer import LARGEST, Float, Memory, Scope

LANES = (2, 3, 4)


class Vector:
    """A vector of some lanes, whose elements have a bound."""

    def __init__(self, name: str, lanes: int, element: str, bound: float = LARGEST) -> None:
        self.name, self.lanes, self.element, self.bound = name, lanes, element, bound

    @property
    def type(self) -> str:
        """The type in MLIR."""
        return f"vector<{self.lanes}x{self.element}>"

    @property
    def mask(self) -> str:
        """The type of a mask of as many lanes."""
        return f"vector<{self.lanes}xi1>"


def on_a_line(statements: Statements, scope: Scope) -> None:
    """Read lanes of memory, compute, and give their sum or an element, or write them."""
    lines = [m for m in scope.memories if m.extents and m.element == statements.type]
    if not lines:
        return
    writer, line = statements.writer, statements.writer.random.choice(lines)
    lanes = writer.random.choice(LANES)
    place = ", ".join(statements.memories.place(scope, line))
    vector = _computed(statements, scope, _read(statements, scope, line, place, lanes))
    if line in scope.targets and writer.chance(0.6):
        held = _bounded(statements, vector)
        mask = f", {_mask(statements, scope, lanes)}" if writer.chance(0.5) else ""
        writer.emit(
            f"vector.transfer_write {held.name}, {line.name}[{place}]{mask} "
            f"{{in_bounds = [false]}} : {held.type}, {line.type}"
        )
    else:
        scope.floats.append(_scalar(statements, scope, vector))


def by_indices(statements: Statements, scope: Scope) -> None:
    """Gather lanes of a line, compute, and scatter them to other elements."""
    lines = [m for m in scope.memories if len(m.extents) == 1 and _is_plain(statements, m)]
    if not lines:
        return
    writer, line = statements.writer, statements.writer.random.choice(lines)
    zero, size = writer.index(0), line.extents[0]
    lanes = writer.random.choice([n for n in LANES if n <= max(size, 2)])
    numbers = [writer.random.randrange(size) for _ in range(lanes)]
    vector = _computed(statements, scope, _gather(statements, scope, line, zero, numbers))
    if line in scope.targets and size >= lanes and writer.chance(0.6):
        held = _bounded(statements, vector)
        indices = _indices(statements, writer.random.sample(range(size), lanes))
        mask = _mask(statements, scope, lanes)
        writer.emit(
            f"vector.scatter {line.name}[{zero}] [{indices}], {mask}, {held.name} : {line.type}, "
            f"vector<{lanes}xi32>, {held.mask}, {held.type}"
        )
    else:
        scope.floats.append(_scalar(statements, scope, vector))


def under_masks(statements: Statements, scope: Scope) -> None:
    """Load lanes under a mask, compute, and store them under another."""
    lines = [m for m in scope.memories if m.extents and _is_plain(statements, m)]
    if not lines:
        return
    writer, line = statements.writer, statements.writer.random.choice(lines)
    lanes = min(writer.random.choice(LANES), line.extents[-1])
    place = ", ".join([*statements.memories.place(scope, line)[:-1], writer.index(0)])
    load = writer.random.choice(("maskedload", "expandload"))
    other = _splat(statements, scope, lanes)
    types = f"{line.type}, {other.mask}, {other.type} into {other.type}"
    mask = _mask(statements, scope, lanes)
    name = writer.value(f"vector.{load} {line.name}[{place}], {mask}, {other.name} : {types}")
    vector = _computed(statements, scope, Vector(name, lanes, statements.type))
    if line in scope.targets and writer.chance(0.6):
        held, store = (
            _bounded(statements, vector),
            writer.random.choice(("maskedstore", "compressstore")),
        )
        types = f"{line.type}, {held.mask}, {held.type}"
        mask = _mask(statements, scope, lanes)
        writer.emit(f"vector.{store} {line.name}[{place}], {mask}, {held.name} : {types}")
    else:
        scope.floats.append(_scalar(statements, scope, vector))


def _is_plain(statements: Statements, memory: Memory) -> bool:
    return memory.strides is None and memory.element == statements.type


def _read(statements: Statements, scope: Scope, line: Memory, place: str, lanes: int) -> Vector:
    writer = statements.writer
    padding = statements.value(scope, 1)
    mask = f", {_mask(statements, scope, lanes)}" if writer.chance(0.4) else ""
    vector = f"vector<{lanes}x{line.element}>"
    name = writer.value(
        f"vector.transfer_read {line.name}[{place}], {padding.name}{mask} "
        f"{{in_bounds = [false]}} : {line.type}, {vector}"
    )
    return Vector(name, lanes, line.element)


def _gather(
    statements: Statements, scope: Scope, line: Memory, zero: str, numbers: list[int]
) -> Vector:
    lanes = len(numbers)
    indices, mask = _indices(statements, numbers), _mask(statements, scope, lanes)
    other = _splat(statements, scope, lanes)
    types = f"{line.type}, vector<{lanes}xi32>, {other.mask}, {other.type} into {other.type}"
    name = statements.writer.value(
        f"vector.gather {line.name}[{zero}] [{indices}], {mask}, {other.name} : {types}"
    )
    return Vector(name, lanes, statements.type)


def _indices(statements: Statements, numbers: list[int]) -> str:
    type_ = f"vector<{len(numbers)}xi32>"
    return statements.writer.value(f"arith.constant dense<{numbers}> : {type_}")


def _mask(statements: Statements, scope: Scope, lanes: int) -> str:
    """Write a mask: so many lanes, those of a pattern, or those that a comparison says."""
    writer, type_ = statements.writer, f"vector<{lanes}xi1>"
    kind = writer.random.choice(("count", "pattern", "comparison"))
    if kind == "count":
        count = statements.memories.index_in(scope, lanes + 1).name
        return writer.value(f"vector.create_mask {count} : {type_}")
    if kind == "pattern":
        bits = ", ".join(writer.random.choice(("true", "false")) for _ in range(lanes))
        return writer.value(f"arith.constant dense<[{bits}]> : {type_}")
    left, right = (_splat(statements, scope, lanes) for _ in range(2))
    lane = writer.random.randrange(lanes)
    value = statements.value(scope, 1)
    moved = writer.value(
        f"vector.insert {value.name}, {left.name} [{lane}] : {value.type} into {left.type}"
    )
    return writer.value(f"arith.cmpf olt, {moved}, {right.name} : {left.type}")


def _splat(statements: Statements, scope: Scope, lanes: int) -> Vector:
    value = statements.value(scope, 1)
    type_ = f"vector<{lanes}x{value.type}>"
    name = statements.writer.value(f"vector.broadcast {value.name} : {value.type} to {type_}")
    return Vector(name, lanes, value.type, value.bound)


def _computed(statements: Statements, scope: Scope, vector: Vector) -> Vector:
    """Write a few operations on a vector."""
    for _ in range(statements.writer.random.randint(0, 3)):
        vector = _operation(statements, scope, _bounded(statements, vector))
    return vector


def _operation(statements: Statements, scope: Scope, vector: Vector) -> Vector:
    writer = statements.writer
    lanes, type_, name = vector.lanes, vector.type, vector.name
    kind = writer.random.choice(("mulf", "addf", "fma", "sin", "select", "shuffle", "scan"))
    if kind in ("mulf", "addf", "fma"):
        other = _splat(statements, scope, lanes)
        if kind == "fma":
            result = writer.value(f"vector.fma {name}, {other.name}, {name} : {type_}")
        else:
            result = writer.value(f"arith.{kind} {name}, {other.name} : {type_}")
        return Vector(result, lanes, vector.element, 6.0)
    if kind == "select":
        mask, other = _mask(statements, scope, lanes), _splat(statements, scope, lanes)
        result = writer.value(f"arith.select {mask}, {name}, {other.name} : {vector.mask}, {type_}")
        return Vector(result, lanes, vector.element)
    if kind == "shuffle":
        order = [writer.random.randrange(lanes) for _ in range(lanes)]
        result = writer.value(f"vector.shuffle {name}, {name} {order} : {type_}, {type_}")
        return Vector(result, lanes, vector.element)
    return Vector(writer.value(f"math.sin {name} : {type_}"), lanes, vector.element, 1.0)


def _bounded(statements: Statements, vector: Vector) -> Vector:
    if vector.bound <= LARGEST:
        return vector
    name = statements.writer.value(f"math.tanh {vector.name} : {vector.type}")
    return Vector(name, vector.lanes, vector.element, 1.0)


def _scalar(statements: Statements, scope: Scope, vector: Vector) -> Float:
    writer = statements.writer
    held = _bounded(statements, vector)
    if writer.chance(0.3):
        lane = writer.random.randrange(held.lanes)
        name = writer.value(f"vector.extract {held.name}[{lane}] : {held.element} from {held.type}")
        return Float(name, held.element)
    kind = writer.random.choice(("add", "mul", "maximumf", "minimumf"))
    name = writer.value(f"vector.reduction <{kind}>, {held.name} : {held.type} into {held.element}")
    return statements.scalars.bounded(Float(name, held.element, LARGEST**held.lanes))
