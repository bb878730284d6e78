"""Random functions over memrefs and numbers."""

from __future__ import annotations

import numpy as np

from programs.foreign_functions.control import LINE, Statement, Statements
from programs.foreign_functions.writer import Float, Index, Memory, Scope, Writer

Argument = np.ndarray | int


class Loops:
    """The text of a function `f`, and arguments for it. A class of it may write more kinds of
    statements, simple ones and those with regions."""

    SIMPLE: tuple[Statement, ...] = ()
    NESTED: tuple[Statement, ...] = ()

    def __init__(self, number: int) -> None:
        self.writer = Writer(number)
        random = self.writer.random
        self.type = "f32" if random.random() < 0.1 else "f64"
        self.casts = random.random() < 0.1
        self.generator = np.random.default_rng(number)
        self.arguments: list[Argument] = []
        self.statements = Statements(
            self.writer, self.type, casts=self.casts, simple=self.SIMPLE, nested=self.NESTED
        )
        if random.random() < 0.5:
            self._helpers()
        self._function()
        self.text = self.writer.text
        self.is_rough = self.type == "f32" or self.casts

    def _helpers(self) -> None:
        """Write the functions that are called."""
        for name in ("pair", "other"):
            x, y = Float("%x", self.type), Float("%y", self.type)
            types = f"(%x: {self.type}, %y: {self.type}) -> ({self.type}, {self.type})"
            with self.writer.block(f"func.func private @{name}{types} {{"):
                scope = Scope(floats=[x, y], depth=1)
                self.statements.block(scope, self.writer.random.randint(0, 2))
                values = [self.statements.value(scope).name for _ in range(2)]
                self.writer.emit(f"return {', '.join(values)} : {self.type}, {self.type}")
        self._update()
        self.statements.helpers += ["pair", "other"]

    def _update(self) -> None:
        """Write a function that changes memory."""
        line, type_ = LINE.format(self.type), self.type
        head = f"func.func private @update(%m: {line}, %x: {type_}) {{"
        with self.writer.block(head):
            zero, one = self.writer.index(0), self.writer.index(1)
            size = self.writer.value(f"memref.dim %m, {zero} : {line}")
            with self.writer.block(f"scf.for %i = {zero} to {size} step {one} {{"):
                held = self.writer.value(f"memref.load %m[%i] : {line}")
                scope = Scope(floats=[Float(held, type_), Float("%x", type_)])
                value = self.statements.value(scope)
                self.writer.emit(f"memref.store {value.name}, %m[%i] : {line}")
            self.writer.emit("return")

    def _function(self) -> None:
        scope = Scope()
        signature = ", ".join(self._parameters(scope))
        place = len(self.writer.lines)
        with self.writer.block(""):
            if self.writer.chance(0.2):
                scope.memories.append(self._constant())
            self.statements.block(scope, self.writer.random.randint(3, 7))
            types = self._results(scope)
        listed = f" -> ({', '.join(types)})" if types else ""
        place += self.writer.lines[0].startswith("memref.global")
        self.writer.lines[place] = f"func.func @f({signature}){listed} {{"

    def _parameters(self, scope: Scope) -> list[str]:
        random, texts = self.writer.random, []
        for position in range(random.randint(1, 4)):
            name = f"%a{position}"
            kind = random.choice(("memory", "memory", "memory", "float", "index", "integers"))
            if kind == "index" and position:
                number = random.randint(0, 4)
                scope.indices.append(Index(name, number, number))
                self.arguments.append(number)
                texts.append(f"{name}: index")
            elif kind == "integers" and position:
                memory = Memory(name, random.choice(("i32", "i64", "index")), (3,), (False,), name)
                scope.integers.append(memory)
                element = np.int32 if memory.element == "i32" else np.int64
                self.arguments.append(np.asarray(self.generator.integers(0, 8, 3), element))
                texts.append(f"{name}: {memory.type}")
            elif kind == "float":
                scope.floats.append(Float(name, self.type, 1.0))
                self.arguments.append(self._random(()))
                texts.append(f"{name}: {self.type}")
            else:
                memory = self._memory(name)
                scope.memories.append(memory)
                scope.targets.append(memory)
                self.arguments.append(self._random(memory.extents))
                texts.append(f"{name}: {memory.type}")
        return texts

    def _constant(self) -> Memory:
        """Write a constant of the module, and what gives it."""
        values = [f"{self.writer.random.uniform(-1, 1):.3f}" for _ in range(3)]
        memory = Memory("%weights", self.type, (3,), (False,), "%weights")
        held = f"{memory.type} = dense<[{', '.join(values)}]>"
        self.writer.lines.insert(0, f'memref.global "private" constant @weights : {held}')
        self.writer.emit(f"{memory.name} = memref.get_global @weights : {memory.type}")
        return memory

    def _memory(self, name: str) -> Memory:
        random = self.writer.random
        extents = tuple(random.randint(1, 6) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
        is_open = tuple(random.random() < 0.25 for _ in extents)
        return Memory(name, self.type, extents, is_open, name)

    def _random(self, shape: tuple[int, ...]) -> np.ndarray:
        element = np.float32 if self.type == "f32" else np.float64
        return np.asarray(self.generator.uniform(-1, 1, shape), element)

    def _result(self, scope: Scope) -> Float:
        """Write a sum of what was computed last, and of something else."""
        values = [value for value in scope.floats if value.type == self.type][-4:]
        terms = self.writer.random.sample(values, min(len(values), 3))
        return self.statements.scalars.sum([self.statements.value(scope), *terms])

    def _results(self, scope: Scope) -> list[str]:
        """Write what is returned; its types."""
        random = self.writer.random
        results: list[tuple[str, str]] = []
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            results.append((self._result(scope).name, self.type))
        memories = [memory for memory in scope.memories if memory.is_result]
        if memories and self.writer.chance(0.5):
            memory = random.choice(memories)
            results.append((memory.name, memory.type))
        texts = (", ".join(part) for part in zip(*results))
        self.writer.emit(f"return {' : '.join(texts)}" if results else "return")
        return [type_ for _, type_ in results]
