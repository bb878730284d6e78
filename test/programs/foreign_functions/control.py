"""Statements of random functions: loops, branches and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from programs.foreign_functions.memory import Memories
from programs.foreign_functions.scalars import Scalars
from programs.foreign_functions.writer import LARGEST, Float, Index, Scope, Writer

DEEPEST = 3  # how far loops and branches stand in each other


class Statements:
    """Writes statements in a scope."""

    def __init__(
        self,
        writer: Writer,
        type_: str,
        *,
        casts: bool,
        simple: Sequence[Statement] = (),
        nested: Sequence[Statement] = (),
    ) -> None:
        self.writer, self.type = writer, type_
        self.simple = [*_SIMPLE, *simple]
        self.kinds = [*self.simple, *_NESTED, *nested]
        self.scalars, self.memories = Scalars(writer, casts=casts), Memories(writer)
        self.helpers: list[str] = []

    def block(self, scope: Scope, count: int) -> None:
        """Write some statements."""
        for _ in range(count):
            kinds = self.simple if scope.depth >= DEEPEST else self.kinds
            self.writer.random.choice(kinds)(self, scope)

    def source(self, scope: Scope) -> Callable[[str], Float]:
        """Return what gives the floats that are to be had: values, and elements of memory."""

        def draw(type_: str) -> Float:
            values = [value for value in scope.floats if value.type == type_]
            memories = [memory for memory in scope.memories if memory.element == type_]
            if memories and (not values or self.writer.chance(0.5)):
                return self.memories.load(scope, self.writer.random.choice(memories))
            return self.writer.random.choice(values) if values else self.writer.float(type_)

        return draw

    def value(self, scope: Scope, depth: int = 2) -> Float:
        """Write an expression that is in the bound of memory."""
        value = self.scalars.expression(self.source(scope), self.type, depth)
        return self.scalars.bounded(value)

    def _assign(self, scope: Scope) -> None:
        scope.floats.append(self.value(scope, 3))

    def _store(self, scope: Scope) -> None:
        if scope.targets:
            target = self.writer.random.choice(scope.targets)
            self.memories.store(scope, target, self.value(scope))

    def _accumulate(self, scope: Scope) -> None:
        """Read an element, and write it again."""
        if not scope.targets:
            return
        memory = self.writer.random.choice(scope.targets)
        place = f"{memory.name}[{', '.join(self.memories.place(scope, memory))}] : {memory.type}"
        held = Float(self.writer.value(f"memref.load {place}"), memory.element)
        following = self.scalars.sum([held, self.value(scope, 1)])
        if self.writer.chance(0.5):
            following = self.scalars.product(held, self.value(scope, 1))
        bounded = self.scalars.bounded(following)
        self.writer.emit(f"memref.store {bounded.name}, {place}")

    def _copy(self, scope: Scope) -> None:
        pairs = [
            (source, target)
            for target in scope.targets
            for source in scope.memories
            if source.extents == target.extents and source.base != target.base
            if not target.has_twins
        ]
        if pairs:
            self.memories.copy(*self.writer.random.choice(pairs))

    def _view(self, scope: Scope) -> None:
        self.memories.view(scope)

    def _dimension(self, scope: Scope) -> None:
        self.memories.dimension(scope)

    def _allocate(self, scope: Scope) -> None:
        self.memories.allocate(scope, self.type)

    def _call(self, scope: Scope) -> None:
        if self.helpers:
            values = [self.value(scope, 1).name for _ in range(2)]
            name, helper = self.writer.name(), self.writer.random.choice(self.helpers)
            types = f"({self.type}, {self.type}) -> ({self.type}, {self.type})"
            self.writer.emit(f"{name}:2 = func.call @{helper}({', '.join(values)}) : {types}")
            scope.floats.extend(Float(f"{name}#{k}", self.type) for k in range(2))

    def _call_on_memory(self, scope: Scope) -> None:
        lines = [m for m in scope.targets if len(m.extents) == 1]
        if not lines or not self.helpers:
            return
        memory = self.writer.random.choice(lines)
        types = f"{memory.type} to {LINE.format(self.type)}"
        line = self.writer.value(f"memref.cast {memory.name} : {types}")
        value = self.value(scope, 1)
        types = f"({LINE.format(self.type)}, {self.type}) -> ()"
        self.writer.emit(f"func.call @update({line}, {value.name}) : {types}")

    def _if(self, scope: Scope) -> None:
        condition = self._condition(scope)
        count = self.writer.random.choice((0, 0, 1, 2))
        names = self.names(count)
        types = f" -> ({', '.join([self.type] * count)})" if count else ""
        first = f"{names.first}scf.if {condition}{types} {{"
        with self.writer.block(first, "} else {" if count or self.writer.chance(0.5) else "}"):
            self._region(scope.inner(), count, 2)
        if self.writer.lines[-1].endswith("} else {"):
            with self.writer.block_after():
                self._region(scope.inner(), count, 2)
        scope.floats.extend(Float(name, self.type) for name in names.all)

    def _affine_if(self, scope: Scope) -> None:
        indices = [index for index in scope.indices if index.is_affine]
        if not indices:
            return
        index, limit = self.writer.random.choice(indices), self.writer.random.randint(0, 3)
        test = self.writer.random.choice((f"d0 - {limit}", f"{limit} - d0"))
        relation = self.writer.random.choice((">=", ">=", "=="))
        set_ = f"affine_set<(d0) : ({test} {relation} 0)>"
        names = self.names(self.writer.random.choice((0, 1)))
        types = f" -> {self.type}" if names.all else ""
        first = f"{names.first}affine.if {set_}({index.name}){types} {{"
        with self.writer.block(first, "} else {" if names.all else "}"):
            self._region(scope.inner(), len(names.all), 2, "affine")
        if names.all:
            with self.writer.block_after():
                self._region(scope.inner(), len(names.all), 1, "affine")
        scope.floats.extend(Float(name, self.type) for name in names.all)

    def _condition(self, scope: Scope) -> str:
        if scope.indices and self.writer.chance(0.6):
            index = self.writer.random.choice(scope.indices)
            limit = self.writer.index(self.writer.random.randint(index.low, index.high))
            predicate = self.writer.random.choice(("slt", "sge", "eq", "ult"))
            return self.writer.value(f"arith.cmpi {predicate}, {index.name}, {limit} : index")
        return self.scalars.condition(self.value(scope, 1), self.value(scope, 1))

    def _region(self, scope: Scope, count: int, statements: int, dialect: str = "scf") -> None:
        """Write statements, and what gives the results."""
        self.block(scope, self.writer.random.randint(0, statements))
        if count:
            names = ", ".join(self.value(scope).name for _ in range(count))
            self.writer.emit(f"{dialect}.yield {names} : {', '.join([self.type] * count)}")

    def _for(self, scope: Scope) -> None:
        lower, upper, step = self._bounds()
        bounds = [self.writer.index(number) for number in (lower, upper, step)]
        if self.writer.chance(0.3) and scope.indices:
            index = self.writer.random.choice(scope.indices)
            if index.low >= lower and index.high <= 6:
                bounds[1], upper = index.name, index.high
        name = self.writer.name()
        carried = self.names(self.writer.random.choice((0, 1, 1, 2)))
        header = f"scf.for {name} = {bounds[0]} to {bounds[1]} step {bounds[2]}"
        index = Index(name, lower, max(lower, upper - 1))
        self._loop(scope, header, [index], carried, "scf")

    def _affine_for(self, scope: Scope) -> None:
        lower, upper, step = self._bounds()
        name, low = self.writer.name(), str(lower)
        affine = [i for i in scope.indices if i.is_affine and i.low >= 0 and i.high < upper]
        if affine and self.writer.chance(0.4):  # a triangle
            outer = self.writer.random.choice(affine)
            form = self.writer.random.choice(
                ("affine_map<(d0) -> (d0)>", f"max affine_map<(d0) -> (d0, {lower})>")
            )
            low = f"{form}({outer.name})"
            lower = min(lower, outer.low)
        carried = self.names(self.writer.random.choice((0, 1, 1, 2)))
        by = f" step {step}" if step > 1 else ""
        header = f"affine.for {name} = {low} to {upper}{by}"
        index = Index(name, lower, max(lower, upper - 1), is_affine=True)
        self._loop(scope, header, [index], carried, "affine")

    def _bounds(self) -> tuple[int, int, int]:
        random = self.writer.random
        lower = random.choice((0, 0, 0, 1))
        return lower, random.randint(lower, lower + 4), random.choice((1, 1, 1, 2))

    def _loop(
        self,
        scope: Scope,
        header: str,
        indices: Sequence[Index],
        carried: Names,
        dialect: str,
    ) -> None:
        starts = [self.value(scope, 1).name for _ in carried.all]
        inner = [self.writer.name() for _ in starts]
        types = ", ".join([self.type] * len(starts))
        pairs = ", ".join(f"{n} = {s}" for n, s in zip(inner, starts))
        more = f" iter_args({pairs}) -> ({types})" if starts else ""
        with self.writer.block(f"{carried.first}{header}{more} {{"):
            floats = [Float(name, self.type) for name in inner]
            self._region(scope.inner(indices=indices, floats=floats), len(starts), 3, dialect)
        scope.floats.extend(Float(name, self.type) for name in carried.all)

    def _while(self, scope: Scope) -> None:
        """Count, or go on until a value is large."""
        zero, one = self.writer.index(0), self.writer.index(1)
        start = self.value(scope, 1)
        names, before = self.names(2), [self.writer.name(), self.writer.name()]
        after = [self.writer.name(), self.writer.name()]
        limit = self.writer.index(self.writer.random.randint(0, 4))
        types = f"index, {self.type}"
        first = f"{names.first}scf.while ({before[0]} = {zero}, {before[1]} = {start.name})"
        with self.writer.block(f"{first} : ({types}) -> ({types}) {{", "} do {"):
            go = self.writer.value(f"arith.cmpi slt, {before[0]}, {limit} : index")
            if self.writer.chance(0.3):
                held = Float(before[1], self.type)
                small = self.scalars.condition(held, self.value(scope.inner(floats=[held]), 1))
                go = self.writer.value(f"arith.andi {go}, {small} : i1")
            self.writer.emit(f"scf.condition({go}) {before[0]}, {before[1]} : {types}")
        with self.writer.block_after():
            self.writer.emit(f"^bb0({after[0]}: index, {after[1]}: {self.type}):")
            index, held = Index(after[0], 0, 3), Float(after[1], self.type)
            inner = scope.inner(indices=[index], floats=[held])
            self.block(inner, self.writer.random.randint(0, 2))
            value = self.value(inner)
            following = self.writer.value(f"arith.addi {after[0]}, {one} : index")
            self.writer.emit(f"scf.yield {following}, {value.name} : {types}")
        scope.floats.append(Float(names.all[1], self.type))

    def _switch(self, scope: Scope) -> None:
        if not scope.indices:
            return
        index = self.writer.random.choice(scope.indices)
        names = self.names(self.writer.random.choice((0, 1)))
        types = f" -> {self.type}" if names.all else ""
        self.writer.emit(f"{names.first}scf.index_switch {index.name}{types}")
        for case in ("case 0", "case 2", "default"):
            with self.writer.block(f"{case} {{"):
                self._region(scope.inner(), len(names.all), 1)
                if not names.all:
                    self.writer.emit("scf.yield")
        scope.floats.extend(Float(name, self.type) for name in names.all)

    def _execute(self, scope: Scope) -> None:
        names = self.names(1)
        with self.writer.block(f"{names.first}scf.execute_region -> {self.type} {{"):
            self._region(scope.inner(), 1, 2)
        scope.floats.append(Float(names.all[0], self.type))

    def _parallel(self, scope: Scope) -> None:
        """Write each element of a memory from others."""
        targets = [m for m in scope.targets if m.extents and not m.has_twins]
        if not targets:
            return
        target = self.writer.random.choice(targets)
        kind = self.writer.random.choice(("scf.parallel", "scf.forall", "affine.parallel"))
        header, indices = self._axes(kind, target.extents)
        with self.writer.block(f"{header} {{"):
            inner = scope.parallel(target.base, indices)
            place = f"{target.name}[{', '.join(i.name for i in indices)}] : {target.type}"
            if self.writer.chance(0.5):
                name = self.writer.value(f"memref.load {place}")
                inner.floats.append(Float(name, target.element))
            self.block(inner, self.writer.random.randint(0, 2))
            self.writer.emit(f"memref.store {self.value(inner).name}, {place}")
            if kind == "scf.parallel":
                self.writer.emit("scf.reduce")

    def _axes(self, kind: str, extents: Sequence[int]) -> tuple[str, list[Index]]:
        """Return the head of a loop over all indices."""
        names = [self.writer.name() for _ in extents]
        is_affine = kind == "affine.parallel"
        indices = [Index(n, 0, e - 1, is_affine) for n, e in zip(names, extents)]
        axes, numbers = ", ".join(names), ", ".join(map(str, extents))
        zeros = ", ".join("0" for _ in extents)
        if kind == "affine.parallel":
            return f"affine.parallel ({axes}) = ({zeros}) to ({numbers})", indices
        if kind == "scf.forall":
            return f"scf.forall ({axes}) in ({numbers})", indices
        zero, one = self.writer.index(0), self.writer.index(1)
        upper = ", ".join(self.writer.index(extent) for extent in extents)
        lower, step = (", ".join([name] * len(names)) for name in (zero, one))
        return f"scf.parallel ({axes}) = ({lower}) to ({upper}) step ({step})", indices

    def _reduce(self, scope: Scope) -> None:
        """Combine a value for each index by a parallel loop."""
        random = self.writer.random
        start, names = self.value(scope, 1), self.names(1)
        header, indices = self._axes(
            "scf.parallel", [random.randint(1, 4) for _ in range(random.choice((1, 2)))]
        )
        first = f"{names.first}{header} init ({start.name}) -> {self.type} {{"
        operation = random.choice(("addf", "mulf", "maximumf", "minimumf"))
        with self.writer.block(first):
            inner = scope.parallel("", indices)
            self.block(inner, random.randint(0, 1))
            value = self.scalars.bounded(self.value(inner), 1.0)
            with self.writer.block(f"scf.reduce({value.name} : {self.type}) {{"):
                left, right = self.writer.name(), self.writer.name()
                self.writer.emit(f"^bb0({left}: {self.type}, {right}: {self.type}):")
                total = self.writer.value(f"arith.{operation} {left}, {right} : {self.type}")
                self.writer.emit(f"scf.reduce.return {total} : {self.type}")
        result = Float(names.all[0], self.type, LARGEST + 16)
        scope.floats.append(self.scalars.bounded(result))

    def _atomic(self, scope: Scope) -> None:
        """Add to elements of a memory in a parallel loop."""
        if not scope.targets:
            return
        random, target = self.writer.random, self.writer.random.choice(scope.targets)
        header, indices = self._axes("scf.parallel", [random.randint(1, 5)])
        with self.writer.block(f"{header} {{"):
            inner = scope.parallel(target.base, indices)
            value = self.scalars.bounded(self.value(inner), 0.2)
            place = ", ".join(self.memories.place(inner, target))
            types = f"({self.type}, {target.type}) -> {self.type}"
            self.writer.value(
                f"memref.atomic_rmw addf {value.name}, {target.name}[{place}] : {types}"
            )
            self.writer.emit("scf.reduce")

    def _linalg(self, scope: Scope) -> None:
        """Apply a function to each element of a memory."""
        targets = [m for m in scope.targets if not m.has_twins]
        if not targets:
            return
        target = self.writer.random.choice(targets)
        axes = [f"d{axis}" for axis in range(len(target.extents))]
        map_ = f"affine_map<({', '.join(axes)}) -> ({', '.join(axes)})>"
        kinds = ", ".join('"parallel"' for _ in axes)
        traits = f"{{indexing_maps = [{map_}], iterator_types = [{kinds}]}}"
        held = self.writer.name()
        with self.writer.block(f"linalg.generic {traits} outs({target.name} : {target.type}) {{"):
            self.writer.emit(f"^bb0({held}: {self.type}):")
            inner = Scope(floats=[*scope.floats, Float(held, self.type)])
            self.writer.emit(f"linalg.yield {self.value(inner).name} : {self.type}")

    def names(self, count: int) -> Names:
        """Return names for the results of an operation."""
        return Names(self.writer, count)


class Names:
    """The results of an operation: `first` is the text in front of it, `all` has a name each."""

    def __init__(self, writer: Writer, count: int) -> None:
        name = writer.name()
        self.all = [name] if count == 1 else [f"{name}#{k}" for k in range(count)]
        self.first = f"{name}{f':{count}' if count > 1 else ''} = " if count else ""


LINE = "memref<?x{}, strided<[?], offset: ?>>"
Statement = Callable[[Statements, Scope], None]
_SIMPLE: list[Statement] = [
    *(Statements._assign, Statements._assign, Statements._store, Statements._store),
    *(Statements._accumulate, Statements._copy, Statements._view, Statements._view),
    *(Statements._dimension, Statements._allocate, Statements._call, Statements._call_on_memory),
    Statements._linalg,
]
_NESTED: list[Statement] = [
    *(Statements._if, Statements._affine_if, Statements._for, Statements._for),
    *(Statements._affine_for, Statements._affine_for, Statements._while, Statements._switch),
    *(Statements._execute, Statements._parallel, Statements._parallel, Statements._reduce),
    *(Statements._atomic, Statements._for, Statements._affine_for),
]
