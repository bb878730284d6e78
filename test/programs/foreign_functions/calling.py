"""Functions that call others, and calls that pass one thing twice."""

from __future__ import annotations

from programs.foreign_functions.control import LINE, Statements
from programs.foreign_functions.reuse import counted
from programs.foreign_functions.writer import Float, Scope


def deep(statements: Statements) -> None:
    """Write a function that calls others, one of them on memory of its own."""
    type_, writer = statements.type, statements.writer
    line = LINE.format(type_)
    types = f"(%x: {type_}, %y: {type_}) -> ({type_}, {type_})"
    with writer.block(f"func.func private @deep{types} {{"):
        memory = writer.value(f"memref.alloca() : memref<3x{type_}>")
        writer.emit(f"linalg.fill ins(%x : {type_}) outs({memory} : memref<3x{type_}>)")
        view = writer.value(f"memref.cast {memory} : memref<3x{type_}> to {line}")
        writer.emit(f"func.call @update({view}, %y) : ({line}, {type_}) -> ()")
        two = writer.index(2)
        value = Float(writer.value(f"memref.load {memory}[{two}] : memref<3x{type_}>"), type_)
        results = _call(statements, writer.random.choice(statements.helpers), value, value)
        scope = Scope(floats=[value, *results, Float("%x", type_)], depth=1)
        values = [statements.value(scope).name for _ in range(2)]
        writer.emit(f"return {', '.join(values)} : {type_}, {type_}")


def mix(statements: Statements) -> None:
    """Write a function of two lines, which may be one: the first takes up what the second has."""
    type_, writer = statements.type, statements.writer
    line = LINE.format(type_)
    head = f"func.func private @mix(%a: {line}, %b: {line}, %n: index, %x: {type_}) {{"
    with writer.block(head):
        zero, one = writer.index(0), writer.index(1)
        with writer.block(f"scf.for %i = {zero} to %n step {one} {{"):
            left = Float(writer.value(f"memref.load %a[%i] : {line}"), type_)
            right = Float(writer.value(f"memref.load %b[%i] : {line}"), type_)
            value = statements.value(Scope(floats=[left, right, Float("%x", type_)]))
            writer.emit(f"memref.store {value.name}, %a[%i] : {line}")
        writer.emit("return")


def twice(statements: Statements, scope: Scope) -> None:
    """Call a function with one value for both arguments, in a loop or not."""
    if not statements.helpers:
        return
    value = statements.value(scope, 1)
    scope.floats.extend(
        _call(statements, statements.writer.random.choice(statements.helpers), value, value)
    )


def repeatedly(statements: Statements, scope: Scope) -> None:
    """Call a function on its own results, in a loop."""
    if not statements.helpers:
        return
    writer, type_ = statements.writer, statements.type
    helper = writer.random.choice(statements.helpers)
    starts = [statements.value(scope, 1).name for _ in range(2)]
    result, held = writer.name(), [writer.name(), writer.name()]
    pairs = ", ".join(f"{name} = {start}" for name, start in zip(held, starts))
    after = f" iter_args({pairs}) -> ({type_}, {type_})"
    count = writer.random.randint(0, 3)
    with counted(statements, count, before=f"{result}:2 = ", after=after):
        values = _call(statements, helper, *(Float(name, type_) for name in held))
        names = ", ".join(value.name for value in values)
        writer.emit(f"scf.yield {names} : {type_}, {type_}")
    scope.floats.extend(Float(f"{result}#{k}", type_) for k in range(2))


def lines(statements: Statements, scope: Scope) -> None:
    """Call a function with two lines, of one memory or not."""
    usable = [m for m in scope.targets if len(m.extents) == 1]
    if not usable or not statements.helpers:
        return
    writer, line = statements.writer, LINE.format(statements.type)
    pair = [writer.random.choice(usable) for _ in range(2)]
    names = [writer.value(f"memref.cast {m.name} : {m.type} to {line}") for m in pair]
    size = writer.index(min(m.extents[0] for m in pair))
    value = statements.value(scope, 1)
    types = f"({line}, {line}, index, {statements.type}) -> ()"
    writer.emit(f"func.call @mix({', '.join(names)}, {size}, {value.name}) : {types}")


def _call(statements: Statements, helper: str, *values: Float) -> list[Float]:
    type_, name = statements.type, statements.writer.name()
    types = f"({type_}, {type_}) -> ({type_}, {type_})"
    names = ", ".join(value.name for value in values)
    statements.writer.emit(f"{name}:2 = func.call @{helper}({names}) : {types}")
    return [Float(f"{name}#{k}", type_) for k in range(2)]
