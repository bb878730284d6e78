"""Statements of random functions about integers: computed indices, and memory that holds them."""

from __future__ import annotations

from collections.abc import Callable

from programs.foreign_functions.control import Statements
from programs.foreign_functions.writer import Float, Index, Memory, Scope


def combine(statements: Statements, scope: Scope) -> None:
    """Compute an index of others."""
    usable = [index for index in scope.indices if index.low >= 0 and index.high <= 16]
    if usable:
        writer = statements.writer
        left, right = writer.random.choice(usable), writer.random.choice(usable)
        scope.indices.append(writer.random.choice(_FORMS)(statements, left, right))


def _arithmetic(name: str, low: str, high: str) -> Callable[[Statements, Index, Index], Index]:
    def write(statements: Statements, left: Index, right: Index) -> Index:
        result = statements.writer.value(f"arith.{name} {left.name}, {right.name} : index")
        names = {"a": left.low, "b": left.high, "c": right.low, "d": right.high}
        return Index(result, _BOUNDS[low](**names), _BOUNDS[high](**names))

    return write


_BOUNDS: dict[str, Callable[..., int]] = {
    "0": lambda a, b, c, d: 0,
    "smaller low": lambda a, b, c, d: min(a, c),
    "smaller high": lambda a, b, c, d: min(b, d),
    "larger low": lambda a, b, c, d: max(a, c),
    "larger high": lambda a, b, c, d: max(b, d),
    "bits": lambda a, b, c, d: 31,
    "left high": lambda a, b, c, d: b,
}


def _divide(statements: Statements, left: Index, right: Index) -> Index:
    writer = statements.writer
    divisor, name = (
        writer.random.randint(1, 3),
        writer.random.choice(("divui", "ceildivsi", "divsi")),
    )
    result = writer.value(f"arith.{name} {left.name}, {writer.index(divisor)} : index")
    return Index(result, 0, -(-left.high // divisor))


def _cast(statements: Statements, left: Index, right: Index) -> Index:
    writer, type_ = statements.writer, statements.writer.random.choice(("i32", "i64"))
    narrow = writer.value(f"arith.index_cast {left.name} : index to {type_}")
    added = writer.value(
        f"arith.addi {narrow}, {writer.value(f'arith.constant 2 : {type_}')} : {type_}"
    )
    result = writer.value(f"arith.index_cast {added} : {type_} to index")
    return Index(result, left.low + 2, left.high + 2)


def _chosen(statements: Statements, left: Index, right: Index) -> Index:
    writer = statements.writer
    is_less = writer.value(f"arith.cmpi slt, {left.name}, {right.name} : index")
    result = writer.value(f"arith.select {is_less}, {left.name}, {right.name} : index")
    return Index(result, min(left.low, right.low), max(left.high, right.high))


def _affine(statements: Statements, left: Index, right: Index) -> Index:
    writer = statements.writer
    if not left.is_affine:
        return left
    text = "affine.apply affine_map<(d0) -> (d0 floordiv 2 + 1)>"
    if writer.chance(0.5):
        text = "affine.min affine_map<(d0) -> (d0 + 1, 3)>"
    result = writer.value(f"{text}({left.name})")
    return Index(result, 0, max(left.high // 2 + 1, 3))


_FORMS: tuple[Callable[[Statements, Index, Index], Index], ...] = (
    *(_arithmetic("minsi", "smaller low", "smaller high"), _divide, _cast, _chosen, _affine),
    _arithmetic("maxui", "larger low", "larger high"),
    _arithmetic("andi", "0", "left high"),
    _arithmetic("xori", "0", "bits"),
)


def store(statements: Statements, scope: Scope) -> None:
    """Store an integer: an index, or a float that is rounded."""
    lines = [] if scope.is_parallel else scope.integers
    if not lines:
        return
    writer, line = statements.writer, statements.writer.random.choice(lines)
    type_ = line.element
    usable = [index for index in scope.indices if index.low >= 0]
    if usable and writer.chance(0.6):
        name = writer.random.choice(usable).name
        bounded = writer.value(f"arith.remui {name}, {writer.index(8)} : index")
        if type_ != "index":
            bounded = writer.value(f"arith.index_cast {bounded} : index to {type_}")
    else:
        bounded = _rounded(statements, scope, type_)
    place = statements.memories.index_in(scope, line.extents[0]).name
    writer.emit(f"memref.store {bounded}, {line.name}[{place}] : {line.type}")


def allocate(statements: Statements, scope: Scope) -> None:
    """Make a line of integers, of which some are indices."""
    if scope.depth:
        return  # a list that all scopes share
    writer, element = statements.writer, statements.writer.random.choice(("i32", "i64", "index"))
    name = writer.name()
    line = Memory(name, element, (3,), (False,), name)
    writer.emit(f"{name} = memref.alloc() : {line.type}")
    for place in range(3):
        number = writer.value(f"arith.constant {writer.random.randrange(8)} : {element}")
        writer.emit(f"memref.store {number}, {name}[{writer.index(place)}] : {line.type}")
    scope.integers.append(line)
    store(statements, scope)


def _rounded(statements: Statements, scope: Scope, type_: str) -> str:
    writer, scalars = statements.writer, statements.scalars
    value = scalars.bounded(statements.value(scope, 1), 1.0)
    scaled = scalars.product(value, scalars.constant(statements.type, 3.0))
    moved = scalars.sum([scaled, scalars.constant(statements.type, 3.5)])
    held = "i64" if type_ == "index" else type_
    number = writer.value(f"arith.fptosi {moved.name} : {statements.type} to {held}")
    return writer.value(f"arith.index_cast {number} : i64 to index") if type_ == "index" else number


def as_float(statements: Statements, scope: Scope) -> None:
    """Take an integer for a float."""
    usable = [index for index in scope.indices if index.low >= 0 and index.high <= 8]
    if not usable:
        return
    writer = statements.writer
    number = writer.value(f"arith.index_cast {writer.random.choice(usable).name} : index to i32")
    name = writer.value(f"arith.sitofp {number} : i32 to {statements.type}")
    scope.floats.append(statements.scalars.bounded(Float(name, statements.type, 8.0)))
