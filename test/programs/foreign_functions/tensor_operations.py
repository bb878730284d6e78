"""Operations that random functions over tensors are made of; each gives a tensor, or None if no
value fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from programs.foreign_functions.odd_accesses import ODD
from programs.foreign_functions.shapes import SHAPES, static
from programs.foreign_functions.tensors import Tensor, TensorWriter
from programs.foreign_functions.writer import Float

NAMED_UNARY = {"exp": 2.8, "tanh": 1, "abs": 4, "negf": 4, "square": 16, "erf": 1, "floor": 5}
NAMED_BINARY = {"add": 8, "sub": 8, "mul": 16, "max": 4, "min": 4}


def elementwise(t: TensorWriter) -> Tensor | None:
    first = t.pick()
    if first is None:
        return None
    others = [
        other
        for other in t.values
        if other != first and t.is_projected(other, first) and other.element == first.element
    ]
    count = min(len(others), t.writer.random.choice((0, 1, 1, 2)))
    return t.elementwise([first, *t.writer.random.sample(others, count)])


def in_place(t: TensorWriter) -> Tensor | None:
    """A generic whose target is read."""
    first = t.pick()
    other = first and t.pick(lambda o: o.extents == first.extents and o.is_open == first.is_open)
    if first is None or other is None:
        return None
    axes = tuple(range(first.rank))
    return t.generic([other], [axes], first, axes, first.rank, t.body)


def permuted(t: TensorWriter) -> Tensor | None:
    """A generic that gives axes in another order, and indices of them."""
    source = t.pick(static)
    if source is None:
        return None
    axes = list(range(source.rank))
    t.writer.random.shuffle(axes)
    target = t.empty([source.extents[axis] for axis in axes])
    return t.generic(
        [source], [range(source.rank)], target, axes, source.rank, lambda v: t.body(v[:1])
    )


def reduction(t: TensorWriter) -> Tensor | None:
    """A generic that combines over some axes."""
    source = t.pick(lambda o: static(o) and o.rank > 0)
    if source is None:
        return None
    random = t.writer.random
    remaining = sorted(random.sample(range(source.rank), random.randint(0, source.rank - 1)))
    random.shuffle(remaining)
    extents = [source.extents[axis] for axis in remaining]
    target = t.start(extents)
    kind = random.choice(("sum", "sum", "maximumf", "minimumf", "mulf"))

    def body(values: Sequence[Float]) -> Float:
        value = t.body(values[:1], 1)
        if kind == "sum":
            return t.scalars.sum([values[1], value])
        if kind == "mulf":
            return t.scalars.product(values[1], t.scalars.bounded(value, 1.0))
        name = t.writer.value(f"arith.{kind} {values[1].name}, {value.name} : {t.element}")
        return Float(name, t.element, max(value.bound, values[1].bound))

    result = t.generic([source], [range(source.rank)], target, remaining, source.rank, body)
    return replace(result, bound=target.bound + 4 * prod(source.extents) if kind == "sum" else 6.0)


def named_reduce(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: static(o) and o.rank > 0)
    if source is None:
        return None
    axis = t.writer.random.randrange(source.rank)
    extents = [e for a, e in enumerate(source.extents) if a != axis]
    target, kind = t.start(extents), t.writer.random.choice(("addf", "maximumf"))
    text = f"linalg.reduce {{arith.{kind}}} ins({source.name} : {source.type}) "
    text += f"outs({target.name} : {target.type}) dimensions = [{axis}]"
    return t.tensor(text, extents, source.bound * source.extents[axis] + target.bound)


def window(t: TensorWriter) -> Tensor | None:
    """A generic over sums of indices, with strides: a convolution that has no name."""
    random = t.writer.random
    source = t.pick(lambda o: static(o) and o.rank > 0 and o.extents[0] > 1)
    kernel = t.pick(lambda o: static(o) and o.rank == 1 and o != source)
    if source is None or kernel is None or kernel.extents[0] > source.extents[0]:
        return None
    stride = random.choice((1, 2))
    count = (source.extents[0] - kernel.extents[0]) // stride + 1
    extents = [count, *source.extents[1:]]
    target, last = t.start(extents), source.rank
    form = f"d0 * {stride} + d{last}" if stride > 1 else f"d0 + d{last}"
    maps: list[list[int | str]] = [[form, *range(1, last)], [last]]

    def body(values: Sequence[Float]) -> Float:
        product = t.scalars.product(t.body(values[:1], 1), values[1])
        return t.scalars.sum([values[2], product])

    result = t.generic([source, kernel], maps, target, list(range(last)), last + 1, body)
    return replace(result, bound=target.bound + 4 * kernel.bound * kernel.extents[0])


def matmul(t: TensorWriter) -> Tensor | None:
    return _product(t, "matmul", 2, 2, lambda a, b: a[1] == b[0], lambda a, b: (a[0], b[1]))


def matvec(t: TensorWriter) -> Tensor | None:
    return _product(t, "matvec", 2, 1, lambda a, b: a[1] == b[0], lambda a, b: (a[0],))


def vecmat(t: TensorWriter) -> Tensor | None:
    return _product(t, "vecmat", 1, 2, lambda a, b: a[0] == b[0], lambda a, b: (b[1],))


def dot(t: TensorWriter) -> Tensor | None:
    return _product(t, "dot", 1, 1, lambda a, b: a == b, lambda a, b: ())


def batch_matmul(t: TensorWriter) -> Tensor | None:
    return _product(
        t,
        "batch_matmul",
        3,
        3,
        lambda a, b: (a[0], a[2]) == (b[0], b[1]),
        lambda a, b: (a[0], a[1], b[2]),
    )


def _product(
    t: TensorWriter,
    name: str,
    left_rank: int,
    right_rank: int,
    fits: Callable[[Sequence[int], Sequence[int]], bool],
    shape: Callable[[Sequence[int], Sequence[int]], Sequence[int]],
) -> Tensor | None:
    pairs = [
        (a, b)
        for a in t.values
        for b in t.values
        if a.rank == left_rank and b.rank == right_rank and static(a) and static(b)
        if fits(a.extents, b.extents)
    ]
    if not pairs:
        return None
    left, right = t.writer.random.choice(pairs)
    extents = shape(left.extents, right.extents)
    bound = left.bound * right.bound * left.extents[-1]
    return _call(t, name, [left, right], t.start(extents), bound)


def _call(
    t: TensorWriter,
    name: str,
    inputs: Sequence[Tensor],
    target: Tensor,
    bound: float,
    more: str = "",
) -> Tensor:
    """Write a named operation."""
    names, types = ", ".join(i.name for i in inputs), ", ".join(i.type for i in inputs)
    text = f"linalg.{name}{more} ins({names} : {types}) outs({target.name} : {target.type})"
    return t.tensor(f"{text} -> {{type}}", target.extents, bound + target.bound, target.is_open)


def named_unary(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: o.rank > 0)
    if source is None:
        return None
    name = t.writer.random.choice(list(NAMED_UNARY))
    if name == "exp" and source.bound > 1.1:
        name = "tanh"
    bound = max(NAMED_UNARY[name], 3.0) if name == "exp" else NAMED_UNARY[name]
    return _call(t, name, [source], replace(t.empty(source.extents, source), bound=0.0), bound)


def named_binary(t: TensorWriter) -> Tensor | None:
    left = t.pick(lambda o: o.rank > 0)
    right = left and t.pick(lambda o: o.extents == left.extents and o.is_open == left.is_open)
    if left is None or right is None:
        return None
    name = t.writer.random.choice(list(NAMED_BINARY))
    return _call(t, name, [left, right], t.empty(left.extents, left), NAMED_BINARY[name])


def convolution(t: TensorWriter) -> Tensor | None:
    """Convolutions of one and two axes, without channels and with."""
    random = t.writer.random
    forms: dict[str, Callable[[Tensor, Tensor], tuple[Sequence[int], int] | None]] = {
        "conv_1d": _conv_plain,
        "conv_2d": _conv_plain,
        "conv_1d_nwc_wcf": _conv_last,
        "conv_2d_nhwc_hwcf": _conv_last,
        "conv_1d_ncw_fcw": _conv_first,
        "conv_2d_nchw_fchw": _conv_first,
    }
    name = random.choice(list(forms))
    rank = (1 if "1d" in name else 2) + (2 if "n" in name[4:].partition("_")[2] else 0)
    source = t.pick(lambda o: static(o) and o.rank == rank)
    if source is None:
        return None
    kernel = _kernel(t, name, source)
    extents, count = forms[name](source, kernel)
    more = ""
    if "_n" in name:
        ones = f"dense<1> : tensor<{rank - 2}xi64>"
        more = f" {{dilations = {ones}, strides = {ones}}}"
    return _call(
        t, name, [source, kernel], t.start(extents), source.bound * kernel.bound * count, more
    )


def _kernel(t: TensorWriter, name: str, source: Tensor) -> Tensor:
    """Write a kernel that fits: a slice of a value or one made of constants."""
    random, e = t.writer.random, source.extents
    taps = [random.randint(1, min(3, n)) for n in e]
    if "wc" in name.partition("_n")[2]:
        shape = [*taps[1:-1], e[-1], random.randint(1, 3)]
    elif "_n" in name:
        shape = [random.randint(1, 3), e[1], *taps[2:]]
    else:
        shape = taps
    fitting = t.pick(lambda o: static(o) and list(o.extents) == shape)
    if fitting is not None:
        return fitting
    scalar = t.pick(lambda o: o.rank == 0)
    number = t.scalars.constant(t.element, 0.5)
    if scalar is not None:
        name_ = t.writer.value(f"tensor.extract {scalar.name}[] : {scalar.type}")
        number = Float(name_, t.element, scalar.bound)
    return t.filled(shape, number)


def _conv_plain(source: Tensor, kernel: Tensor) -> tuple[Sequence[int], int]:
    extents = [n - k + 1 for n, k in zip(source.extents, kernel.extents)]
    return extents, prod(kernel.extents)


def _conv_last(source: Tensor, kernel: Tensor) -> tuple[Sequence[int], int]:
    n, *inner, _ = source.extents
    *taps, channels, filters = kernel.extents
    extents = [n, *(a - k + 1 for a, k in zip(inner, taps)), filters]
    return extents, prod(taps) * channels


def _conv_first(source: Tensor, kernel: Tensor) -> tuple[Sequence[int], int]:
    n, _, *inner = source.extents
    filters, channels, *taps = kernel.extents
    extents = [n, filters, *(a - k + 1 for a, k in zip(inner, taps))]
    return extents, prod(taps) * channels


def pooling(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: static(o) and o.rank == 4)
    if source is None:
        return None
    random = t.writer.random
    layout, kind = random.choice(("nhwc", "nchw")), random.choice(("sum", "max"))
    axes = (1, 2) if layout == "nhwc" else (2, 3)
    taps = [random.randint(1, min(2, source.extents[axis])) for axis in axes]
    strides = [random.choice((1, 2)) for _ in axes]
    extents = list(source.extents)
    for axis, size, stride in zip(axes, taps, strides):
        extents[axis] = (source.extents[axis] - size) // stride + 1
    shape = t.empty(taps)
    start = t.scalars.constant(t.element, 0.0 if kind == "sum" else -100.0)
    target = replace(t.filled(extents, start), bound=0.0)
    more = f" {{dilations = dense<1> : tensor<2xi64>, strides = dense<{strides}> : tensor<2xi64>}}"
    bound = source.bound * (4 if kind == "sum" else 1)
    return _call(t, f"pooling_{layout}_{kind}", [source, shape], target, bound, more)


def softmax(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: static(o) and o.rank > 0)
    if source is None:
        return None
    axis = t.writer.random.randrange(source.rank)
    target = t.empty(source.extents)
    text = f"linalg.softmax dimension({axis}) ins({source.name} : {source.type}) "
    return t.tensor(f"{text}outs({target.name} : {target.type}) -> {{type}}", source.extents, 1.0)


def loop(t: TensorWriter) -> Tensor | None:
    """A tensor that a loop carries."""
    start = t.pick(lambda o: static(o) and o.rank > 0)
    if start is None:
        return None
    bounds = [t.writer.index(n) for n in (0, t.writer.random.randint(0, 4), 1)]
    name, index, held = (t.writer.name() for _ in range(3))
    header = f"{name} = scf.for {index} = {bounds[0]} to {bounds[1]} step {bounds[2]}"
    with t.writer.block(f"{header} iter_args({held} = {start.name}) -> ({start.type}) {{"):
        carried = replace(start, name=held, bound=4.0)
        others = [o for o in t.values if t.is_projected(o, start)][-1:]
        value = t.elementwise([carried, *others])
        t.writer.emit(f"scf.yield {value.name} : {value.type}")
    return replace(start, name=name, bound=4.0)


def branch(t: TensorWriter) -> Tensor | None:
    """A tensor of two."""
    left = t.pick(lambda o: static(o) and o.rank > 0)
    right = left and t.pick(lambda o: o.type == left.type and o != left)
    scalar = t.pick(lambda o: o.rank == 0)
    if left is None or right is None or scalar is None:
        return None
    value = t.writer.value(f"tensor.extract {scalar.name}[] : {scalar.type}")
    limit = t.writer.float(t.element)
    condition = t.scalars.condition(Float(value, t.element), limit)
    name = t.writer.name()
    with t.writer.block(f"{name} = scf.if {condition} -> ({left.type}) {{", "} else {"):
        one = t.elementwise([left])
        t.writer.emit(f"scf.yield {one.name} : {left.type}")
    with t.writer.block_after():
        t.writer.emit(f"scf.yield {right.name} : {left.type}")
    return replace(left, name=name, bound=4.0)


def indexed(t: TensorWriter) -> Tensor | None:
    """A generic that reads another tensor at an index of its own."""
    source = t.pick(lambda o: static(o) and o.rank == 1)
    first = t.pick(lambda o: o.rank > 0)
    if source is None or first is None:
        return None

    def body(values: Sequence[Float]) -> Float:
        index = t.writer.value(f"linalg.index {t.writer.random.randrange(first.rank)} : index")
        index = t.writer.value(f"arith.remui {index}, {t.writer.index(source.extents[0])} : index")
        name = t.writer.value(f"tensor.extract {source.name}[{index}] : {source.type}")
        return t.body([values[0], Float(name, t.element, source.bound)])

    return t.elementwise([first], body)


def arithmetic(t: TensorWriter) -> Tensor | None:
    """Arithmetic on tensors, without linalg."""
    source = t.pick(lambda o: o.rank > 0)
    if source is None:
        return None
    name = t.writer.random.choice(("math.sin", "math.tanh", "arith.negf"))
    text = f"{name} {source.name} : {source.type}"
    value = t.tensor(text, source.extents, max(source.bound, 1.0), source.is_open)
    text = f"arith.mulf {value.name}, {source.name} : {source.type}"
    return t.tensor(text, source.extents, value.bound * source.bound, source.is_open)


def mapped(t: TensorWriter) -> Tensor | None:
    source = t.pick(lambda o: static(o) and o.rank > 0)
    if source is None:
        return None
    target = t.empty(source.extents)
    text = f"linalg.map {{ math.atan }} ins({source.name} : {source.type}) "
    return t.tensor(f"{text}outs({target.name} : {target.type})", source.extents, 1.6)


def forall(t: TensorWriter) -> Tensor | None:
    """Rows that are put into a tensor in parallel."""
    source = t.pick(lambda o: static(o) and o.rank == 2)
    if source is None:
        return None
    rows, columns = source.extents
    target, result = t.empty(source.extents), t.writer.name()
    index, out = t.writer.name(), t.writer.name()
    header = f"{result} = scf.forall ({index}) in ({rows}) shared_outs({out} = {target.name})"
    with t.writer.block(f"{header} -> ({target.type}) {{"):
        text = f"tensor.extract_slice {source.name}[{index}, 0] [1, {columns}] [1, 1]"
        row = t.tensor(f"{text} : {source.type} to {{type}}", [1, columns], source.bound)
        row = t.elementwise([row])
        with t.writer.block("scf.forall.in_parallel {"):
            box = f"{row.name} into {out}[{index}, 0] [1, {columns}] [1, 1]"
            types = f"{row.type} into {target.type}"
            t.writer.emit(f"tensor.parallel_insert_slice {box} : {types}")
    return replace(target, name=result, bound=row.bound)


Operation = Callable[[TensorWriter], Tensor | None]
OPERATIONS: list[Operation] = [
    *(elementwise, elementwise, in_place, permuted, reduction, reduction, named_reduce, window),
    *(window, matmul, matmul, matvec, vecmat, dot, batch_matmul, named_unary, named_binary),
    *(convolution, convolution, pooling, softmax, loop, branch, *SHAPES, *SHAPES),
    *(indexed, arithmetic, mapped, forall, *ODD),
]
