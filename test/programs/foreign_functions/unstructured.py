"""Functions of blocks and branches, as they are before they are lifted, and regions of such."""

from __future__ import annotations

from programs.foreign_functions.control import Statements
from programs.foreign_functions.writer import Float, Index, Scope


def branching(statements: Statements, name: str) -> None:
    """Write a function that goes one of several ways, which meet again."""
    type_, writer = statements.type, statements.writer
    types = f"(%x: {type_}, %y: {type_}) -> ({type_}, {type_})"
    with writer.block(f"func.func private @{name}{types} {{"):
        scope = Scope(floats=[Float("%x", type_), Float("%y", type_)], depth=1)
        values = _ways(statements, scope)
        writer.emit(f"return {', '.join(values)} : {type_}, {type_}")


def looping(statements: Statements, name: str) -> None:
    """Write a function with a loop of blocks, which is left in two places."""
    type_, writer = statements.type, statements.writer
    types = f"(%x: {type_}, %y: {type_}) -> ({type_}, {type_})"
    with writer.block(f"func.func private @{name}{types} {{"):
        scope = Scope(floats=[Float("%x", type_), Float("%y", type_)], depth=1)
        writer.emit(f"return {', '.join(_loop(statements, scope))} : {type_}, {type_}")


def region(statements: Statements, scope: Scope) -> None:
    """Write a region of blocks."""
    writer, type_ = statements.writer, statements.type
    result = writer.name()
    with writer.block(f"{result}:2 = scf.execute_region -> ({type_}, {type_}) {{"):
        write = writer.random.choice((_ways, _loop))
        values = write(statements, scope.inner())
        writer.emit(f"scf.yield {', '.join(values)} : {type_}, {type_}")
    scope.floats.extend(Float(f"{result}#{k}", type_) for k in range(2))


def _ways(statements: Statements, scope: Scope) -> list[str]:
    """Write branches to blocks, or a switch, and the block where they meet; two values there."""
    writer, type_ = statements.writer, statements.type
    first, second, end = (f"^{writer.name()[1:]}" for _ in range(3))
    handed, joined = writer.name(), [writer.name(), writer.name()]
    value = statements.value(scope)
    if scope.indices and writer.chance(0.5):
        flag = writer.value(
            f"arith.index_cast {writer.random.choice(scope.indices).name} : index to i32"
        )
        cases = f"default: {second}, 1: {first}({value.name} : {type_}), 3: {second}"
        writer.emit(f"cf.switch {flag} : i32, [{cases}]")
    else:
        condition = statements.scalars.condition(value, statements.value(scope, 1))
        writer.emit(f"cf.cond_br {condition}, {first}({value.name} : {type_}), {second}")
    for label, given in ((f"{first}({handed}: {type_})", [Float(handed, type_)]), (second, [])):
        writer.emit(f"{label}:")
        inner = scope.inner(floats=given)
        statements.block(inner, writer.random.randint(0, 2))
        values = [statements.value(inner).name for _ in joined]
        writer.emit(f"cf.br {end}({', '.join(values)} : {type_}, {type_})")
    writer.emit(f"{end}({', '.join(f'{name}: {type_}' for name in joined)}):")
    return joined


def _loop(statements: Statements, scope: Scope) -> list[str]:
    """Write a loop of blocks, which ends by a count or by a value; two values behind it."""
    writer, type_ = statements.writer, statements.type
    head, body, end = (f"^{writer.name()[1:]}" for _ in range(3))
    index, held, result, other = (writer.name() for _ in range(4))
    start, limit = statements.value(scope, 1), statements.value(scope, 1)
    zero, one, most = writer.index(0), writer.index(1), writer.index(writer.random.randint(0, 4))
    writer.emit(f"cf.br {head}({zero}, {start.name} : index, {type_})")
    writer.emit(f"{head}({index}: index, {held}: {type_}):")
    goes = writer.value(f"arith.cmpi slt, {index}, {most} : index")
    types = f"{type_}, {type_}"
    writer.emit(f"cf.cond_br {goes}, {body}, {end}({held}, {limit.name} : {types})")
    writer.emit(f"{body}:")
    inner = scope.inner(indices=[Index(index, 0, 3)], floats=[Float(held, type_)])
    statements.block(inner, writer.random.randint(0, 2))
    value = statements.value(inner)
    following = writer.value(f"arith.addi {index}, {one} : index")
    if writer.chance(0.6):
        stops = statements.scalars.condition(value, limit)
        left = f"{end}({value.name}, {held} : {types})"
        writer.emit(
            f"cf.cond_br {stops}, {left}, {head}({following}, {value.name} : index, {type_})"
        )
    else:
        writer.emit(f"cf.br {head}({following}, {value.name} : index, {type_})")
    writer.emit(f"{end}({result}: {type_}, {other}: {type_}):")
    return [result, other]
