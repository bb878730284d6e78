"""Statements of random functions that write memory again and again, and those that nobody needs."""

from __future__ import annotations

from programs.foreign_functions.control import Statements
from programs.foreign_functions.writer import Float, Index, Memory, Scope


def sweep(statements: Statements, scope: Scope) -> None:
    """Go over a memory some times, up or down: an element is made of it and of its neighbour."""
    target = _with_axes(statements, scope)
    if target is None:
        return
    writer = statements.writer
    with (
        counted(statements, writer.random.randint(1, 3)),
        counted(statements, target.extents[0]) as index,
    ):
        first = _turned(statements, index, target.extents[0])
        rest = statements.memories.place(scope, target)[1:]
        following = _following(statements, first, target.extents[0])
        inner = scope.inner(
            indices=[Index(index, 0, target.extents[0] - 1)],
            floats=[_loaded(statements, target, [i, *rest]) for i in (first, following)],
        )
        place = f"{target.name}[{', '.join([first, *rest])}] : {target.type}"
        writer.emit(f"memref.store {statements.value(inner).name}, {place}")


def steps(statements: Statements, scope: Scope) -> None:
    """Step a line in time: a second buffer has the new values, which are copied back."""
    lines = [m for m in scope.targets if len(m.extents) == 1 and not m.has_twins]
    if not lines:
        return
    writer, line = statements.writer, statements.writer.random.choice(lines)
    size = line.extents[0]
    following = writer.value(f"memref.alloc() : memref<{size}x{line.element}>")
    with counted(statements, writer.random.randint(1, 3)):
        with counted(statements, size) as index:
            nearby = [index, _following(statements, index, size)]
            inner = scope.inner(
                indices=[Index(index, 0, size - 1)],
                floats=[_loaded(statements, line, [i]) for i in nearby],
            )
            value = statements.value(inner)
            writer.emit(
                f"memref.store {value.name}, {following}[{index}] : memref<{size}x{line.element}>"
            )
        writer.emit(
            f"memref.copy {following}, {line.name} : memref<{size}x{line.element}> to {line.type}"
        )


def exchange(statements: Statements, scope: Scope) -> None:
    """Exchange two elements, which may be the same."""
    if not scope.targets:
        return
    writer = statements.writer
    pair = [writer.random.choice(scope.targets) for _ in range(2)]
    places = [
        f"{m.name}[{', '.join(statements.memories.place(scope, m))}] : {m.type}" for m in pair
    ]
    values = [writer.value(f"memref.load {place}") for place in places]
    for value, place in zip(reversed(values), places):
        writer.emit(f"memref.store {value}, {place}")


def while_small(statements: Statements, scope: Scope) -> None:
    """Change an element as long as memory says so, some times at most."""
    if not scope.targets:
        return
    writer, memory = statements.writer, statements.writer.random.choice(scope.targets)
    place = f"{memory.name}[{', '.join(statements.memories.place(scope, memory))}] : {memory.type}"
    zero, one, most = writer.index(0), writer.index(1), writer.index(writer.random.randint(1, 4))
    limit = writer.float(statements.type)
    result, before, after = writer.name(), writer.name(), writer.name()
    with writer.block(f"{result} = scf.while ({before} = {zero}) : (index) -> index {{", "} do {"):
        held = Float(writer.value(f"memref.load {place}"), statements.type)
        goes = statements.scalars.condition(held, limit)
        few = writer.value(f"arith.cmpi ult, {before}, {most} : index")
        writer.emit(
            f"scf.condition({writer.value(f'arith.andi {goes}, {few} : i1')}) {before} : index"
        )
    with writer.block_after():
        writer.emit(f"^bb0({after}: index):")
        held = Float(writer.value(f"memref.load {place}"), statements.type)
        inner = scope.inner(indices=[Index(after, 0, 3)], floats=[held])
        writer.emit(f"memref.store {statements.value(inner).name}, {place}")
        following = writer.value(f"arith.addi {after}, {one} : index")
        writer.emit(f"scf.yield {following} : index")


def first_above(statements: Statements, scope: Scope) -> None:
    """Take the first element of a line that is above a number; a flag is carried."""
    lines = [m for m in scope.memories if len(m.extents) == 1 and m.element == statements.type]
    if not lines:
        return
    writer, line = statements.writer, statements.writer.random.choice(lines)
    start, limit = statements.value(scope, 1), writer.float(statements.type)
    no = writer.value("arith.constant false")
    types = f"i1, {statements.type}"
    result, flag, best = writer.name(), writer.name(), writer.name()
    carried = f"iter_args({flag} = {no}, {best} = {start.name}) -> ({types})"
    with counted(
        statements, line.extents[0], before=f"{result}:2 = ", after=f" {carried}"
    ) as index:
        value = _loaded(statements, line, [index])
        is_above = statements.scalars.condition(value, limit)
        yes = writer.value("arith.constant true")
        none_yet = writer.value(f"arith.xori {flag}, {yes} : i1")
        is_first = writer.value(f"arith.andi {is_above}, {none_yet} : i1")
        taken = writer.value(f"arith.select {is_first}, {value.name}, {best} : {statements.type}")
        writer.emit(
            f"scf.yield {writer.value(f'arith.ori {flag}, {is_above} : i1')}, {taken} : {types}"
        )
    scope.floats.append(Float(f"{result}#1", statements.type))


def dead_code(statements: Statements, scope: Scope) -> None:
    """Fill memory that nobody reads, in a loop whose result nobody uses."""
    writer = statements.writer
    memory = writer.value(f"memref.alloc() : memref<4x{statements.type}>")
    start = statements.value(scope, 1)
    held = writer.name()
    carried = f" iter_args({held} = {start.name}) -> ({statements.type})"
    with counted(statements, 4, before=f"{writer.name()} = ", after=carried) as index:
        value = statements.value(scope.inner(floats=[Float(held, statements.type)]))
        writer.emit(f"memref.store {value.name}, {memory}[{index}] : memref<4x{statements.type}>")
        writer.emit(f"scf.yield {value.name} : {statements.type}")


def alloca_scope(statements: Statements, scope: Scope) -> None:
    """Put a value by in memory of a scope."""
    writer, type_ = statements.writer, statements.type
    result = writer.name()
    with writer.block(f"{result} = memref.alloca_scope -> ({type_}) {{"):
        slot = writer.value(f"memref.alloca() : memref<{type_}>")
        memory = Memory(slot, type_, (), (), slot)
        writer.emit(f"memref.store {statements.value(scope, 1).name}, {slot}[] : memref<{type_}>")
        inner = scope.inner()
        inner.memories.append(memory)
        inner.targets.append(memory)
        for _ in range(writer.random.randint(0, 2)):  # upstream lowers no loops inside
            target = writer.random.choice(inner.targets)
            statements.memories.store(inner, target, statements.value(inner))
        value = statements.value(inner)
        writer.emit(f"memref.alloca_scope.return {value.name} : {type_}")
    scope.floats.append(Float(result, type_))


def counted(statements: Statements, count: int, *, before: str = "", after: str = "") -> _Counted:
    """Return a loop with so many iterations; inside, the name of its index."""
    return _Counted(statements, count, before, after)


class _Counted:
    def __init__(self, statements: Statements, count: int, before: str, after: str) -> None:
        writer = statements.writer
        bounds = [writer.index(number) for number in (0, count, 1)]
        self._index = writer.name()
        header = f"scf.for {self._index} = {bounds[0]} to {bounds[1]} step {bounds[2]}"
        self._block = writer.block(f"{before}{header}{after} {{")

    def __enter__(self) -> str:
        self._block.__enter__()
        return self._index

    def __exit__(self, *error: object) -> None:
        self._block.__exit__(None, None, None)


def _with_axes(statements: Statements, scope: Scope) -> Memory | None:
    memories = [memory for memory in scope.targets if memory.extents]
    return statements.writer.random.choice(memories) if memories else None


def _turned(statements: Statements, index: str, extent: int) -> str:
    if statements.writer.chance(0.5):
        return index
    last = statements.writer.index(extent - 1)
    return statements.writer.value(f"arith.subi {last}, {index} : index")


def _following(statements: Statements, index: str, extent: int) -> str:
    writer = statements.writer
    following = writer.value(f"arith.addi {index}, {writer.index(1)} : index")
    return writer.value(f"arith.remui {following}, {writer.index(extent)} : index")


def _loaded(statements: Statements, memory: Memory, place: list[str]) -> Float:
    text = f"memref.load {memory.name}[{', '.join(place)}] : {memory.type}"
    return Float(statements.writer.value(text), memory.element)
