"""Operations of random functions over tensors that read elements in unusual orders, or several
times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from programs.foreign_functions.shapes import static
from programs.foreign_functions.tensors import Tensor, TensorWriter
from programs.foreign_functions.writer import Float


def diagonal(t: TensorWriter) -> Tensor | None:
    """Elements with equal indices."""
    source = t.pick(lambda o: static(o) and o.rank >= 2 and o.extents[0] == o.extents[1])
    if source is None:
        return None
    axes = [0, 0, *range(1, source.rank - 1)]
    rank = source.rank - 1
    target = t.empty([source.extents[0], *source.extents[2:]])
    return t.generic([source], [axes], target, range(rank), rank, lambda v: t.body(v[:1]))


def trace(t: TensorWriter) -> Tensor | None:
    """The sum of elements with equal indices."""
    source = t.pick(lambda o: static(o) and o.rank == 2 and o.extents[0] == o.extents[1])
    if source is None:
        return None
    target = t.start([])

    def body(values: Sequence[Float]) -> Float:
        return t.scalars.sum([values[1], t.body(values[:1], 1)])

    # the last index is said by an operand that is not read
    shape = t.empty([source.extents[0]])
    total = t.generic([source, shape], [[0, 0], [0]], target, [], 1, lambda v: body([v[0], v[2]]))
    return replace(total, bound=target.bound + 4 * source.extents[0])


def folded(t: TensorWriter) -> Tensor | None:
    """A generic that reads an element for several indices, by quotients or remainders."""
    source = t.pick(lambda o: static(o) and o.rank > 0)
    if source is None:
        return None
    random, n = t.writer.random, source.extents[0]
    factor = random.randint(2, 3)
    form = random.choice(
        (f"d0 floordiv {factor}", f"d0 mod {n}", f"{n - 1} - d0 floordiv {factor}")
    )
    target = t.empty([n * factor, *source.extents[1:]])
    maps: list[list[int | str]] = [[form, *range(1, source.rank)]]
    every = range(source.rank)
    return t.generic([source], maps, target, every, source.rank, lambda v: t.body(v[:1]))


def plane(t: TensorWriter) -> Tensor | None:
    """Elements of one plane, each of them in sums with those of another tensor."""
    source = t.pick(lambda o: static(o) and o.rank >= 2)
    if source is None:
        return None
    number = t.writer.random.randrange(source.extents[0])
    other = t.pick(lambda o: static(o) and o.extents == source.extents[1:])
    if other is None:
        return None
    axes: list[int | str] = [str(number), *range(source.rank - 1)]
    rank = source.rank - 1
    return t.generic(
        [source, other], [axes, range(rank)], t.empty(other.extents), range(rank), rank,
        lambda v: t.body(v[:2]),
    )  # fmt: skip


def strided_convolution(t: TensorWriter) -> Tensor | None:
    """A convolution of two axes with strides and dilations, depthwise or of all channels."""
    random = t.writer.random
    source = t.pick(lambda o: static(o) and o.rank == 4 and min(o.extents[1:3]) > 1)
    if source is None:
        return None
    batch, *inner, channels = source.extents
    taps = [random.randint(1, 2) for _ in inner]
    dilations = [random.randint(1, n - 1) if k > 1 else 1 for n, k in zip(inner, taps)]
    strides = [random.choice((1, 2, 3)) for _ in inner]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(inner, taps, dilations, strides)]
    is_depthwise = random.random() < 0.5
    name = "depthwise_conv_2d_nhwc_hwc" if is_depthwise else "conv_2d_nhwc_hwcf"
    filters = [channels] if is_depthwise else [channels, random.randint(1, 2)]
    kernel = t.pick(lambda o: static(o) and list(o.extents) == [*taps, *filters])
    if kernel is None:
        kernel = t.filled([*taps, *filters], t.scalars.constant(t.element, 0.5))
        kernel = t.elementwise([kernel, *_projected(t, kernel)])
    target = t.start([batch, *counts, filters[-1]])
    sizes = f"dilations = dense<{dilations}> : tensor<2xi64>, strides = dense<{strides}>"
    text = f"linalg.{name} {{{sizes} : tensor<2xi64>}} "
    text += f"ins({source.name}, {kernel.name} : {source.type}, {kernel.type}) "
    text += f"outs({target.name} : {target.type}) -> {{type}}"
    bound = source.bound * kernel.bound * prod(taps) * (1 if is_depthwise else channels)
    return t.tensor(text, target.extents, bound + target.bound)


def _projected(t: TensorWriter, onto: Tensor) -> list[Tensor]:
    fitting = [o for o in t.values if static(o) and t.is_projected(o, onto)]
    return [t.writer.random.choice(fitting)] if fitting else []


def gather(t: TensorWriter) -> Tensor | None:
    """Slices at coordinates, some of them several times."""
    source = t.pick(lambda o: static(o) and o.rank > 0)
    if source is None:
        return None
    random = t.writer.random
    axis, count = random.randrange(source.rank), random.randint(1, 5)
    numbers = [[random.randrange(source.extents[axis])] for _ in range(count)]
    type_ = f"tensor<{count}x1xi32>"
    coordinates = t.writer.value(f"arith.constant dense<{numbers}> : {type_}")
    kept = random.random() < 0.5
    slices = [1 if k == axis else n for k, n in enumerate(source.extents) if kept or k != axis]
    text = f"tensor.gather {source.name}[{coordinates}] gather_dims([{axis}])"
    text += f" : ({source.type}, {type_}) -> {{type}}"
    return t.tensor(text, [count, *slices], source.bound)


def scatter(t: TensorWriter) -> Tensor | None:
    """Slices that are put to coordinates, each once."""
    target = t.pick(lambda o: static(o) and o.rank > 0)
    if target is None:
        return None
    random = t.writer.random
    places = random.sample(range(target.extents[0]), random.randint(1, target.extents[0]))
    count, slices = len(places), target.extents[1:]
    source = t.pick(lambda o: static(o) and o.extents == (count, *slices))
    if source is None:
        return None
    type_ = f"tensor<{count}x1xi32>"
    coordinates = t.writer.value(f"arith.constant dense<{[[n] for n in places]}> : {type_}")
    text = f"tensor.scatter {source.name} into {target.name}[{coordinates}] scatter_dims([0])"
    text += f" unique : ({source.type}, {target.type}, {type_}) -> {{type}}"
    return t.tensor(text, target.extents, max(source.bound, target.bound))


def strided_insert(t: TensorWriter) -> Tensor | None:
    """One value in a box of another, with a stride."""
    pairs = [
        (a, b)
        for a in t.values
        for b in t.values
        if static(a) and static(b) and a.rank == b.rank > 0 and a != b
        if 2 * a.extents[0] - 1 <= b.extents[0]
        if all(n <= m for n, m in zip(a.extents, b.extents))
    ]
    if not pairs:
        return None
    source, target = t.writer.random.choice(pairs)
    first = t.writer.random.randint(0, target.extents[0] - 2 * source.extents[0] + 1)
    offsets = [first, *[0] * (source.rank - 1)]
    strides = [2, *[1] * (source.rank - 1)]
    text = f"tensor.insert_slice {source.name} into {target.name}{offsets} {list(source.extents)} "
    text += f"{strides} : {source.type} into {target.type}"
    return t.tensor(text, target.extents, max(source.bound, target.bound))


def tiles(t: TensorWriter) -> Tensor | None:
    """Tiles of two axes, which may be padded; sometimes what tiles are of."""
    source = t.pick(lambda o: static(o) and o.rank == 2)
    if source is None:
        return None
    random = t.writer.random
    inner = [random.randint(1, 3) for _ in range(2)]
    outer = [-(-n // k) for n, k in zip(source.extents, inner)]
    value = t.scalars.constant(t.element, 0.25)
    target = t.empty([*outer, *inner])
    where = f"inner_dims_pos = [0, 1] inner_tiles = {inner} into {target.name}"
    text = f"linalg.pack {source.name} padding_value({value.name} : {t.element}) {where}"
    packed = t.tensor(f"{text} : {source.type} -> {{type}}", target.extents, max(source.bound, 1.0))
    if random.random() < 0.5:
        return packed
    value_of = t.elementwise([packed])
    target = t.empty(source.extents)
    where = where.replace(where.rpartition(" ")[2], target.name)
    text = f"linalg.unpack {value_of.name} {where} : {value_of.type} -> {{type}}"
    return t.tensor(text, source.extents, value_of.bound)


Operation = Callable[[TensorWriter], Tensor | None]
ODD: list[Operation] = [
    *(diagonal, trace, folded, plane, strided_convolution, strided_convolution, gather, gather),
    *(scatter, strided_insert, tiles),
]
