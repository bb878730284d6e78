"""Memory of random functions: allocations, views, loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from programs.foreign_functions.writer import Float, Index, Memory, Scope, Writer

EXTENTS = (1, 2, 3, 4, 5, 6)


class Memories:
    """Writes operations on memrefs."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def index_in(self, scope: Scope, extent: int, *, is_affine: bool = False) -> Index:
        """Return an index in an extent, written if there is none."""
        random = self.writer.random
        usable = [i for i in scope.indices if i.is_affine or not is_affine]
        if scope.integers and not is_affine and self.writer.chance(0.2):
            return self._wrapped(self._element(scope), extent)
        if usable and self.writer.chance(0.85):
            index = random.choice(usable)
            if index.low >= 0 and index.high < extent and self.writer.chance(0.8):
                return index
            if not is_affine and index.low >= 0:
                return self._wrapped(index, extent)
        number = random.randrange(extent)
        return Index(self.writer.index(number), number, number, is_affine=True)

    def _element(self, scope: Scope) -> Index:
        """Return an index that memory holds, in [0, 8)."""
        memory = self.writer.random.choice(scope.integers)
        place = self.index_in(replace(scope, integers=[]), memory.extents[0]).name
        name = self.writer.value(f"memref.load {memory.name}[{place}] : {memory.type}")
        if memory.element != "index":
            name = self.writer.value(f"arith.index_cast {name} : {memory.element} to index")
        return Index(name, 0, 7)

    def _wrapped(self, index: Index, extent: int) -> Index:
        writer = self.writer
        name = index.name
        if writer.chance(0.4):
            factor = writer.index(writer.random.randint(1, 3))
            name = writer.value(f"arith.muli {name}, {factor} : index")
        if writer.chance(0.4):
            name = writer.value(f"arith.addi {name}, {writer.index(1)} : index")
        operation = writer.random.choice(("remui", "remsi"))
        name = writer.value(f"arith.{operation} {name}, {writer.index(extent)} : index")
        return Index(name, 0, extent - 1)

    def place(self, scope: Scope, memory: Memory) -> list[str]:
        """Return indices of an element."""
        return [self.index_in(scope, extent).name for extent in memory.extents]

    def load(self, scope: Scope, memory: Memory) -> Float:
        """Write a load of an element."""
        if self.writer.chance(0.3):
            operation, place = "affine.load", self._affine_place(scope, memory)
        else:
            operation, place = "memref.load", self.place(scope, memory)
        name = self.writer.value(f"{operation} {memory.name}[{', '.join(place)}] : {memory.type}")
        return Float(name, memory.element)

    def store(self, scope: Scope, memory: Memory, value: Float) -> None:
        """Write a store to an element."""
        if self.writer.chance(0.3):
            operation, place = "affine.store", self._affine_place(scope, memory)
        else:
            operation, place = "memref.store", self.place(scope, memory)
        text = f"{operation} {value.name}, {memory.name}[{', '.join(place)}] : {memory.type}"
        self.writer.emit(text)

    def _affine_place(self, scope: Scope, memory: Memory) -> list[str]:
        return [self._affine_index(scope, extent) for extent in memory.extents]

    def _affine_index(self, scope: Scope, extent: int) -> str:
        """Return an affine expression that is in an extent."""
        random, usable = self.writer.random, [i for i in scope.indices if i.is_affine]
        if not usable or self.writer.chance(0.2):
            return str(random.randrange(extent))
        index = random.choice(usable)
        forms = [f"({index.name}) mod {extent}"] if index.low >= 0 else []
        if index.low >= 0 and index.high < extent:
            forms += [index.name] * 4 + [f"-{index.name} + {extent - 1}"] * 2
        if index.low - 1 >= 0 and index.high - 1 < extent:
            forms += [f"{index.name} - 1"] * 2
        if index.low >= 0 and index.high + 1 < extent:
            forms += [f"{index.name} + 1"] * 2
        if index.low >= 0 and index.high // 2 < extent:
            forms.append(f"{index.name} floordiv 2")
        if index.low >= 0 and index.high * 2 < extent:
            forms.append(f"{index.name} * 2")
        return random.choice(forms) if forms else str(random.randrange(extent))

    def allocate(self, scope: Scope, element: str, shape: Sequence[int] | None = None) -> Memory:
        """Write an allocation of memory that holds a constant, or another memory."""
        writer = self.writer
        if shape is None:
            shape = [
                writer.random.choice(EXTENTS[1:5])
                for _ in range(writer.random.choice((0, 1, 1, 2, 2, 3)))
            ]
        is_open = [writer.chance(0.15) and not scope.is_parallel for _ in shape]
        sizes = [writer.index(e) for e, is_dynamic in zip(shape, is_open) if is_dynamic]
        operation = "memref.alloca" if writer.chance(0.4) and not scope.depth else "memref.alloc"
        name = writer.name()
        memory = Memory(name, element, tuple(shape), tuple(is_open), name)
        memory = replace(memory, is_result=operation == "memref.alloc" and not scope.depth)
        writer.emit(f"{name} = {operation}({', '.join(sizes)}) : {memory.type}")
        self._start(scope, memory)
        scope.memories.append(memory)
        scope.targets.append(memory)
        return memory

    def _start(self, scope: Scope, memory: Memory) -> None:
        """Write what memory holds at first."""
        same = [
            other
            for other in scope.memories
            if other.extents == memory.extents and other.element == memory.element
        ]  # of other allocations, as the new one is
        if same and self.writer.chance(0.5):
            self.copy(self.writer.random.choice(same), memory)
            return
        values = [v for v in scope.floats if v.type == memory.element and v.bound <= 2]
        is_value = values and self.writer.chance(0.5)
        value = self.writer.random.choice(values) if is_value else self.writer.float(memory.element)
        self.fill(memory, value)

    def copy(self, source: Memory, target: Memory) -> None:
        """Write a copy."""
        self.writer.emit(
            f"memref.copy {source.name}, {target.name} : {source.type} to {target.type}"
        )

    def fill(self, memory: Memory, value: Float) -> None:
        """Write a fill."""
        types = f"{value.type}) outs({memory.name} : {memory.type})"
        self.writer.emit(f"linalg.fill ins({value.name} : {types}")

    def view(self, scope: Scope) -> None:
        """Write a view of memory, if there is any."""
        if not scope.memories:
            return
        source = self.writer.random.choice(scope.memories)
        kinds: list[Callable[[Scope, Memory], Memory | None]] = [self._subview, self._subview]
        kinds += [self._transpose] if len(source.extents) > 1 else []
        if source.strides is None:
            kinds += [self._collapse, self._expand, self._cast]
            kinds += [self._reinterpret] if source.name == source.base else []
        view = self.writer.random.choice(kinds)(scope, source)
        if view is not None:
            view = replace(view, is_result=False)
            scope.memories.append(view)
            if source in scope.targets:
                scope.targets.append(view)

    def _subview(self, scope: Scope, source: Memory) -> Memory | None:
        """Write a box, whose offsets and sizes may be operands, and axes of one element dropped."""
        random, writer = self.writer.random, self.writer
        offsets, sizes, strides, texts = [], [], [], []
        for extent in source.extents:
            stride = random.choice((1, 1, 1, 2))
            size = random.randint(1, (extent - 1) // stride + 1)
            slack = extent - 1 - (size - 1) * stride
            index = self.index_in(scope, slack + 1)
            number = index.low if index.low == index.high else None
            is_dynamic = number is None or writer.chance(0.3)
            offsets.append(None if is_dynamic else number)
            texts.append(index.name if is_dynamic else str(number))
            sizes.append(size)
            strides.append(stride)
        is_open = [writer.chance(0.1) for _ in sizes]
        size_texts = [writer.index(s) if o else str(s) for s, o in zip(sizes, is_open)]
        is_reduced = writer.chance(0.5)  # of all unit axes: which of them is not always told
        dropped = [size == 1 and not o and is_reduced for size, o in zip(sizes, is_open)]
        view = self._box(source, offsets, sizes, strides, is_open)
        view = _without(view, dropped)
        texts_of = (", ".join(texts), ", ".join(size_texts), ", ".join(map(str, strides)))
        box = " ".join(f"[{text}]" for text in texts_of)
        writer.emit(
            f"{view.name} = memref.subview {source.name}{box} : {source.type} to {view.type}"
        )
        return view

    def _box(
        self,
        source: Memory,
        offsets: Sequence[int | None],
        sizes: Sequence[int],
        strides: Sequence[int],
        is_open: Sequence[bool],
    ) -> Memory:
        offset = source.offset
        for step, number in zip(source.steps, offsets):
            moved = 0 if number == 0 else None if None in (step, number) else step * number
            offset = None if None in (offset, moved) else offset + moved
        steps = [None if s is None else s * by for s, by in zip(source.steps, strides)]
        name = self.writer.name()
        return Memory(
            name,
            source.element,
            tuple(sizes),
            tuple(is_open),
            source.base,
            tuple(steps),
            offset,
            has_twins=source.has_twins,
        )

    def _transpose(self, scope: Scope, source: Memory) -> Memory:
        axes = list(range(len(source.extents)))
        self.writer.random.shuffle(axes)
        view = replace(
            source,
            name=self.writer.name(),
            extents=tuple(source.extents[a] for a in axes),
            is_open=tuple(source.is_open[a] for a in axes),
            strides=tuple(source.steps[a] for a in axes),
        )
        names = [f"d{axis}" for axis in range(len(axes))]
        order = f"({', '.join(names)}) -> ({', '.join(names[a] for a in axes)})"
        types = f"{source.type} to {view.type}"
        self.writer.emit(f"{view.name} = memref.transpose {source.name} {order} : {types}")
        return view

    def _collapse(self, scope: Scope, source: Memory) -> Memory | None:
        rank = len(source.extents)
        if rank < 2:
            return None
        cut = self.writer.random.randint(1, rank - 1)
        groups = [list(range(cut + 1)), *[[axis] for axis in range(cut + 1, rank)]]
        view = replace(
            source,
            name=self.writer.name(),
            extents=tuple(prod(source.extents[a] for a in group) for group in groups),
            is_open=tuple(any(source.is_open[a] for a in group) for group in groups),
        )
        types = f"{source.type} into {view.type}"
        self.writer.emit(f"{view.name} = memref.collapse_shape {source.name} {groups} : {types}")
        return view

    def _expand(self, scope: Scope, source: Memory) -> Memory | None:
        axes = [a for a, e in enumerate(source.extents) if e in (4, 6) and not source.is_open[a]]
        if not axes:
            return None
        axis = self.writer.random.choice(axes)
        factors = self.writer.random.choice(
            [(2, source.extents[axis] // 2), (source.extents[axis], 1)]
        )
        extents = [*source.extents[:axis], *factors, *source.extents[axis + 1 :]]
        is_open = [*source.is_open[:axis], False, False, *source.is_open[axis + 1 :]]
        groups = [
            [a] if a < axis else [a, a + 1] if a == axis else [a + 1]
            for a in range(len(source.extents))
        ]
        view = replace(
            source, name=self.writer.name(), extents=tuple(extents), is_open=tuple(is_open)
        )
        sizes = [self.writer.index(e) if o else str(e) for e, o in zip(extents, is_open)]
        text = f"{groups} output_shape [{', '.join(sizes)}] : {source.type} into {view.type}"
        self.writer.emit(f"{view.name} = memref.expand_shape {source.name} {text}")
        return view

    def _cast(self, scope: Scope, source: Memory) -> Memory | None:
        if not source.extents:
            return None
        is_open = tuple(o or self.writer.chance(0.5) for o in source.is_open)
        view = replace(source, name=self.writer.name(), is_open=is_open)
        types = f"{source.type} to {view.type}"
        self.writer.emit(f"{view.name} = memref.cast {source.name} : {types}")
        return view

    def _reinterpret(self, scope: Scope, source: Memory) -> Memory | None:
        """Write a box of the elements in row-major order."""
        random = self.writer.random
        sizes = [random.randint(1, 3) for _ in range(random.choice((1, 2)))]
        strides = [random.choice((1, 2, 3)) for _ in sizes]
        reach = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
        if reach > source.size:
            return None
        offset = random.randint(0, source.size - reach)
        view = Memory(
            self.writer.name(),
            source.element,
            tuple(sizes),
            (False,) * len(sizes),
            source.base,
            tuple(strides),
            offset,
            has_twins=len(sizes) > 1,
        )
        text = f"to offset: [{offset}], sizes: {sizes}, strides: {strides}"
        types = f"{source.type} to {view.type}"
        self.writer.emit(f"{view.name} = memref.reinterpret_cast {source.name} {text} : {types}")
        return view

    def dimension(self, scope: Scope) -> None:
        """Write an extent."""
        memories = [m for m in scope.memories if m.extents]
        if not memories:
            return
        memory = self.writer.random.choice(memories)
        axis = self.writer.random.randrange(len(memory.extents))
        number = self.writer.index(axis)
        name = self.writer.value(f"memref.dim {memory.name}, {number} : {memory.type}")
        scope.indices.append(Index(name, memory.extents[axis], memory.extents[axis]))


def _without(view: Memory, dropped: Sequence[bool]) -> Memory:
    """Return a view without some axes."""
    axes = [axis for axis, is_dropped in enumerate(dropped) if not is_dropped]
    assert view.strides is not None
    return replace(
        view,
        extents=tuple(view.extents[a] for a in axes),
        is_open=tuple(view.is_open[a] for a in axes),
        strides=tuple(view.strides[a] for a in axes),
    )
