"""Operations of random functions over tensors that move elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from programs.foreign_functions.tensors import Tensor, TensorWriter


def static(tensor: Tensor) -> bool:
    """Return whether a type has all extents."""
    return tensor.is_static


def _static_axes(tensor: Tensor) -> bool:
    return tensor.is_static and tensor.rank > 0


def broadcast(t: TensorWriter) -> Tensor | None:
    source = t.pick(static)
    if source is None or source.rank > 3:
        return None
    axis, extent = t.writer.random.randint(0, source.rank), t.writer.random.randint(1, 3)
    extents = [*source.extents[:axis], extent, *source.extents[axis:]]
    target = t.empty(extents)
    text = f"linalg.broadcast ins({source.name} : {source.type}) "
    text += f"outs({target.name} : {target.type}) dimensions = [{axis}]"
    return t.tensor(text, extents, source.bound)


def transpose(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: static(o) and o.rank > 1)
    if source is None:
        return None
    axes = list(range(source.rank))
    t.writer.random.shuffle(axes)
    extents = [source.extents[axis] for axis in axes]
    target = t.empty(extents)
    text = f"linalg.transpose ins({source.name} : {source.type}) "
    text += f"outs({target.name} : {target.type}) permutation = {axes}"
    return t.tensor(text, extents, source.bound)


def pad(t: TensorWriter) -> Tensor | None:
    source = t.pick(_static_axes)
    if source is None:
        return None
    random = t.writer.random
    low = [random.randint(0, 1) for _ in source.extents]
    high = [random.randint(0, 2) for _ in source.extents]
    extents = [n + a + b for n, a, b in zip(source.extents, low, high)]
    value = t.writer.float(t.element)
    scalar = t.pick(lambda o: o.rank == 0)
    name = value.name
    if scalar is not None and t.writer.chance(0.5):
        name = t.writer.value(f"tensor.extract {scalar.name}[] : {scalar.type}")
    result = t.writer.name()
    shape = Tensor(
        result, t.element, tuple(extents), (False,) * source.rank, max(source.bound, 4.0)
    )
    header = f"{result} = tensor.pad {source.name} low{low} high{high} {{"
    with t.writer.block(header, f"}} : {source.type} to {shape.type}"):
        arguments = ", ".join(f"{t.writer.name()}: index" for _ in source.extents)
        t.writer.emit(f"^bb0({arguments}):")
        t.writer.emit(f"tensor.yield {name} : {t.element}")
    return shape


def _box(t: TensorWriter, extents: tuple[int, ...]) -> tuple[list[int], list[int], list[int]]:
    random = t.writer.random
    strides = [random.choice((1, 1, 2)) for _ in extents]
    sizes = [random.randint(1, (n - 1) // s + 1) for n, s in zip(extents, strides)]
    offsets = [random.randint(0, n - 1 - (z - 1) * s) for n, z, s in zip(extents, sizes, strides)]
    return offsets, sizes, strides


def extract_slice(t: TensorWriter) -> Tensor | None:
    source = t.pick(_static_axes)
    if source is None:
        return None
    offsets, sizes, strides = _box(t, source.extents)
    texts = [t.writer.index(n) if t.writer.chance(0.2) else str(n) for n in offsets]
    dropped = sizes[0] == 1 and t.writer.chance(0.6)
    extents = sizes[1:] if dropped else sizes
    text = f"tensor.extract_slice {source.name}[{', '.join(texts)}] {sizes} {strides}"
    return t.tensor(f"{text} : {source.type} to {{type}}", extents, source.bound)


def insert_slice(t: TensorWriter) -> Tensor | None:
    """Write one value into a box of another."""
    pairs = [
        (a, b)
        for a in t.values
        for b in t.values
        if _static_axes(a) and static(b) and a != b and a.rank == b.rank
        if all(n <= m for n, m in zip(a.extents, b.extents))
    ]
    if not pairs:
        return None
    source, target = t.writer.random.choice(pairs)
    offsets = [t.writer.random.randint(0, m - n) for n, m in zip(source.extents, target.extents)]
    text = f"tensor.insert_slice {source.name} into {target.name}{offsets} {list(source.extents)} "
    text += f"{[1] * source.rank} : {source.type} into {target.type}"
    return t.tensor(text, target.extents, max(source.bound, target.bound))


def collapse(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: static(o) and o.rank > 1)
    if source is None:
        return None
    cut = t.writer.random.randint(1, source.rank - 1)
    groups = [list(range(cut + 1)), *[[axis] for axis in range(cut + 1, source.rank)]]
    extents = [prod(source.extents[axis] for axis in group) for group in groups]
    text = f"tensor.collapse_shape {source.name} {groups} : {source.type} into {{type}}"
    return t.tensor(text, extents, source.bound)


def expand(t: TensorWriter) -> Tensor | None:
    source = t.pick(_static_axes)
    if source is None:
        return None
    factor = next((f for f in (2, 3) if source.extents[0] % f == 0), 1)
    extents = [factor, source.extents[0] // factor, *source.extents[1:]]
    groups = [[0, 1], *[[axis + 1] for axis in range(1, source.rank)]]
    text = f"tensor.expand_shape {source.name} {groups} output_shape {extents} : {source.type}"
    return t.tensor(f"{text} into {{type}}", extents, source.bound)


def concat(t: TensorWriter) -> Tensor | None:
    first = t.pick(_static_axes)
    if first is None:
        return None
    axis = t.writer.random.randrange(first.rank)
    others = [
        o
        for o in t.values
        if static(o) and o.rank == first.rank
        if all(n == m for k, (n, m) in enumerate(zip(o.extents, first.extents)) if k != axis)
    ]
    sources = [
        first,
        *t.writer.random.sample(others, min(len(others), t.writer.random.randint(1, 2))),
    ]
    extents = list(first.extents)
    extents[axis] = sum(o.extents[axis] for o in sources)
    names, types = ", ".join(o.name for o in sources), ", ".join(o.type for o in sources)
    text = f"tensor.concat dim({axis}) {names} : ({types}) -> {{type}}"
    return t.tensor(text, extents, max(o.bound for o in sources))


def cast(t: TensorWriter) -> Tensor | None:
    """Forget extents, and say them again."""
    source = t.pick(_static_axes)
    if source is None:
        return None
    is_open = [t.writer.chance(0.6) for _ in source.extents]
    text = f"tensor.cast {source.name} : {source.type} to {{type}}"
    middle = t.tensor(text, source.extents, source.bound, is_open)
    if t.writer.chance(0.5):
        return middle
    value = t.elementwise([middle])
    text = f"tensor.cast {value.name} : {value.type} to {{type}}"
    return t.tensor(text, source.extents, value.bound)


def insert(t: TensorWriter) -> Tensor | None:
    """Write an element of one value to another."""
    source, target = t.pick(_static_axes), t.pick(_static_axes)
    if source is None or target is None:
        return None
    place = [t.writer.index(t.writer.random.randrange(n)) for n in source.extents]
    name = t.writer.value(f"tensor.extract {source.name}[{', '.join(place)}] : {source.type}")
    place = [t.writer.index(t.writer.random.randrange(n)) for n in target.extents]
    text = f"tensor.insert {name} into {target.name}[{', '.join(place)}] : {target.type}"
    return t.tensor(text, target.extents, max(source.bound, target.bound))


def from_elements(t: TensorWriter) -> Tensor | None:
    scalars = [o for o in t.values if o.rank == 0]
    if not scalars:
        return None
    names = [
        t.writer.value(f"tensor.extract {o.name}[] : {o.type}")
        for o in (t.writer.random.choice(scalars) for _ in range(t.writer.random.randint(1, 3)))
    ]
    bound = max(o.bound for o in scalars)
    return t.tensor(f"tensor.from_elements {', '.join(names)} : {{type}}", [len(names)], bound)


def generate(t: TensorWriter) -> Tensor | None:
    """A tensor of a value's elements, one for each index."""
    source = t.pick(lambda o: static(o) and o.rank == 1)
    if source is None:
        return None
    extents = (t.writer.random.randint(1, 4), source.extents[0])
    result, i, j = (t.writer.name() for _ in range(3))
    shape = Tensor(result, t.element, extents, (False, False), source.bound + 1)
    with t.writer.block(f"{result} = tensor.generate {{", f"}} : {shape.type}"):
        t.writer.emit(f"^bb0({i}: index, {j}: index):")
        value = t.writer.value(f"tensor.extract {source.name}[{j}] : {source.type}")
        t.writer.emit(f"tensor.yield {value} : {t.element}")
    return shape


Operation = Callable[[TensorWriter], Tensor | None]
SHAPES: list[Operation] = [
    *(broadcast, transpose, pad, extract_slice, insert_slice, collapse, expand, concat, cast),
    *(insert, from_elements, generate),
]
