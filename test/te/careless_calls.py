"""Public functions of tensor expressions, and arguments that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mlirad as ti
from mlirad import te
from mlirad.ir.elementary.table import ELEMENTARY

OF_NUMBERS = [
    *(row.name for row in ELEMENTARY if row.arity == 1),
    *(
        "abs",
        "ceil",
        "floor",
        "gelu",
        "normal_density",
        "relu",
        "round",
        "sigmoid",
        "softplus",
        "trunc",
    ),
]
OF_TENSORS = """
exp flatten gelu hard_sigmoid hard_swish log_sigmoid mish relu relu6 selu sigmoid silu softplus
softsign tanh
"""


class Call:
    """A function, arguments that are right, and those that are not replaced."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self.function, self.arguments, self.named = function, arguments, named

    def wrong(self, value: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Calls with one argument replaced, one left out, and one too many."""
        for number in range(len(self.arguments)):
            given = [*self.arguments[:number], value, *self.arguments[number + 1 :]]
            yield f"argument {number}", lambda g=given: self.function(*g, **self.named)
        for name in self.named:
            named = {**self.named, name: value}
            yield name, lambda n=named: self.function(*self.arguments, **n)

    def miscounted(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Calls with one argument less, one more, and a name that is none."""
        yield "too few", lambda: self.function(*self.arguments[:-1], **self.named)
        yield "too many", lambda: self.function(*self.arguments, *[1] * 12, **self.named)
        yield "no name", lambda: self.function(*self.arguments, **self.named, nobody=1)


def calls() -> dict[str, Call]:
    """Of each public function one that is right."""
    x, y, w = (te.placeholder(s, ti.f64, n) for n, s in (("x", (4, 3)), ("y", (4,)), ("w", (3, 5))))
    rows = te.placeholder((4,), ti.i32, "rows")
    k, i = te.reduce_axis(3), te.reduce_axis(4)
    z = te.compute((4,), lambda i: te.sum(x[i, k] ** 2, axis=k), "z")
    s = te.compute((), lambda: te.sum(z[i], axis=i), "s")
    image, kernel = te.placeholder((2, 4, 8, 8), ti.f64), te.placeholder((6, 4, 3, 3), ti.f64)
    line, taps = te.placeholder((2, 4, 8), ti.f64), te.placeholder((6, 4, 3), ti.f64)
    bias, turned = te.placeholder((6,), ti.f64), te.placeholder((4, 6, 3, 3), ti.f64)
    channel, mask = te.placeholder((4,), ti.f64), te.placeholder((4, 3), ti.f64)
    cube = te.placeholder((2, 4, 3), ti.f64)
    add = te.comm_reducer(lambda a, c: a + c, lambda t: 0, "add")
    nn, unary = te.nn, {}
    for name in OF_NUMBERS:
        unary[f"te.{name}"] = Call(getattr(te, name), x[0, 0])
    for name in OF_TENSORS.split():
        unary[f"nn.{name}"] = Call(getattr(nn, name), x)
    for rank in (1, 3):
        images = te.placeholder((2, 4, *[8] * rank), ti.f64)
        for kind in ("max", "avg", "l2"):
            unary[f"nn.{kind}_pool{rank}d"] = Call(getattr(nn, f"{kind}_pool{rank}d"), images, 2)
        for name, shape in ((f"conv{rank}d", (6, 4)), (f"conv{rank}d_transpose", (4, 6))):
            weight = te.placeholder((*shape, *[3] * rank), ti.f64)
            unary[f"nn.{name}"] = Call(getattr(nn, name), images, weight, bias, stride=2)
    for name in ("sum", "prod", "max", "min", "mean", "variance", "norm", "logsumexp"):
        unary[f"nn.{name}"] = Call(getattr(nn, name), x, axis=1, keepdims=True)
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        unary[f"nn.{name}"] = Call(getattr(nn, name), x, mask)
    for name in ("sum", "prod", "min", "logsumexp"):
        unary[f"te.{name}"] = Call(getattr(te, name), x[0, k], axis=k, where=k > 1, init=1.0)
    for name in ("mse_loss", "l1_loss", "huber_loss", "hinge_loss", "binary_cross_entropy"):
        unary[f"nn.{name}"] = Call(getattr(nn, name), x, mask)
    return {
        **unary,
        "te.var": Call(te.var, "n"),
        "te.reduce_axis": Call(te.reduce_axis, 3, "k"),
        "te.placeholder": Call(te.placeholder, (4, 3), ti.f32, "x"),
        "te.compute": Call(te.compute, (4, 3), lambda i, j: x[i, j], "c"),
        "te.compute of what": Call(lambda v: te.compute((4,), lambda i: v), 1.0),
        "te.compute reads": Call(lambda v: te.compute((4,), lambda i: x[i, v]), 1),
        "te.compute adds": Call(lambda v: te.compute((4,), lambda i: y[i] + v), 1),
        "te.compute compares": Call(
            lambda v: te.compute((4,), lambda i: te.cast(y[i] == v, ti.f64)), 1
        ),
        "te.compute divides": Call(lambda v: te.compute((4,), lambda i: y[i // v]), 1),
        "te.compute raises": Call(lambda v: te.compute((4,), lambda i: y[i] ** v), 1),
        "te.select": Call(te.select, x[0, 0] > 0, 1.0, x[0, 0]),
        "te.cast": Call(te.cast, x[0, 0], ti.f32),
        "te.clip": Call(te.clip, x[0, 0], 0.0, 1.0),
        "te.all": Call(te.all, x[0, 0] > 0, x[0, 1] > 0),
        "te.any": Call(te.any, x[0, 0] > 0, x[0, 1] > 0),
        "te.pow": Call(te.pow, x[0, 0], 2),
        **{
            f"te.{row.name}": Call(getattr(te, row.name), x[0, 0], x[0, 1])
            for row in ELEMENTARY
            if row.arity == 2
        },
        "te.maximum": Call(te.maximum, x[0, 0], x[0, 1]),
        "te.minimum": Call(te.minimum, x[0, 0], x[0, 1]),
        "te.max": Call(te.max, x[0, k], axis=k, where=k > 1, init=0.0),
        "te.max of two": Call(te.max, x[0, 0], x[0, 1]),
        "te.argmax": Call(te.argmax, x[0, k], axis=k, where=k > 1),
        "te.argmin": Call(te.argmin, x[0, k], axis=k, where=k > 1),
        "te.comm_reducer": Call(te.comm_reducer, lambda a, c: a + c, lambda t: 0, "add"),
        "a combine": Call(
            lambda v: te.comm_reducer(v, lambda t: 0)(x[0, k], axis=k), lambda a, c: a + c
        ),
        "an identity": Call(
            lambda v: te.comm_reducer(lambda a, c: a + c, v)(x[0, k], axis=k), lambda t: 0
        ),
        "what combines to": Call(
            lambda v: te.comm_reducer(lambda a, c: v, lambda t: 0)(x[0, k], axis=k), 0
        ),
        "a reducer": Call(add, x[0, k], axis=k, where=k > 1, init=1.0),
        "te.scan": Call(te.scan, 5, y, lambda t, h, i: h[i] * 0.5, "h"),
        "te.scan gives": Call(lambda v: te.scan(5, y, lambda t, h, i: v), 1.0),
        "te.einsum": Call(te.einsum, "ij,jk->ik", x, w),
        "te.differentiate": Call(
            te.differentiate,
            z,
            [x],
            head=y,
            override={z: ([x], lambda t, i, h: [mask])},
            fdiff=te.adjoint_step,
        ),
        "an override": Call(
            lambda v: te.differentiate(z, [x], y, {z: v}), ([x], lambda t, i, h: [mask])
        ),
        "an override's inputs": Call(
            lambda v: te.differentiate(z, [x], y, {z: (v, lambda t, i, h: [mask])}), [x]
        ),
        "an override's function": Call(
            lambda v: te.differentiate(z, [x], y, {z: ([x], v)}), lambda t, i, h: [mask]
        ),
        "an override's tensor": Call(
            lambda v: te.differentiate(z, [x], y, {v: ([x], lambda t, i, h: [mask])}), z
        ),
        "what an override gives": Call(
            lambda v: te.differentiate(z, [x], y, {z: ([x], lambda t, i, h: v)}), [mask]
        ),
        "what fdiff gives": Call(
            lambda v: te.differentiate(z, [x], y, fdiff=lambda o, i, h: v), mask
        ),
        "te.jvp": Call(te.jvp, z, [x], [mask]),
        "a tangent": Call(lambda v: te.jvp(z, [x], [v]), mask),
        "te.hvp": Call(te.hvp, s, [x], [mask]),
        "te.jacobian": Call(te.jacobian, z, x),
        "te.adjoint_step": Call(te.adjoint_step, z, x, y),
        "te.stop_gradient": Call(te.stop_gradient, x),
        "te.operator": Call(te.operator, lambda x: x),
        "a gradient": Call(_with_gradient, lambda t, i, h: [mask]),
        "te.build": Call(
            te.build, [z], [x], "f", schedule={z: te.Schedule()}, inline=(), materialise=[z]
        ),
        "a schedule": Call(lambda v: te.build([z], [x], schedule={z: v}), te.Schedule()),
        "inlined": Call(lambda v: te.build([s], [x], inline=[v]), z),
        "te.Schedule": Call(
            lambda **named: te.build([z], [x], schedule={z: te.Schedule(**named)}),
            tile={"i": 2},
            lanes="i",
            unroll=("k",),
            parallel=("i",),
        ),
        "a tile": Call(lambda v: te.build([z], [x], schedule={z: te.Schedule({"i": v})}), 2),
        "a tiled axis": Call(lambda v: te.build([z], [x], schedule={z: te.Schedule({v: 2})}), "i"),
        "nn.conv2d": Call(
            nn.conv2d,
            image,
            kernel,
            bias,
            stride=1,
            padding=0,
            dilation=1,
            groups=1,
            layout="NCHW",
            mode="zeros",
        ),
        "nn.conv1d": Call(nn.conv1d, line, taps, None, stride=(1,), padding=[(1, 2)]),
        "nn.conv2d_transpose": Call(
            nn.conv2d_transpose,
            image,
            turned,
            bias,
            stride=2,
            padding=0,
            output_padding=0,
            dilation=1,
            groups=1,
        ),
        "nn.max_pool2d": Call(
            nn.max_pool2d, image, 2, stride=2, padding=0, dilation=1, layout="NCHW"
        ),
        "nn.avg_pool2d": Call(
            nn.avg_pool2d, image, 2, stride=2, padding=0, layout="NCHW", count_padding=True
        ),
        "nn.l2_pool2d": Call(nn.l2_pool2d, image, 2),
        "nn.adaptive_avg_pool": Call(nn.adaptive_avg_pool, image, 2),
        "nn.adaptive_max_pool": Call(nn.adaptive_max_pool, image, 2),
        "nn.global_avg_pool": Call(nn.global_avg_pool, image),
        "nn.global_max_pool": Call(nn.global_max_pool, image),
        "nn.max_unpool2d": Call(nn.max_unpool2d, te.placeholder((2, 4, 4, 4), ti.f64), image, 2),
        "nn.dense": Call(nn.dense, x, te.placeholder((6, 3), ti.f64), bias),
        "nn.matmul": Call(nn.matmul, x, w, transpose_a=False, transpose_b=False),
        "nn.batch_matmul": Call(nn.batch_matmul, cube, te.placeholder((2, 3, 5), ti.f64)),
        "nn.attention": Call(nn.attention, cube, cube, cube),
        "nn.batch_norm": Call(nn.batch_norm, image, channel, channel),
        "nn.layer_norm": Call(nn.layer_norm, x),
        "nn.group_norm": Call(nn.group_norm, image, 2),
        "nn.instance_norm": Call(nn.instance_norm, image),
        "nn.rms_norm": Call(nn.rms_norm, x),
        "nn.softmax": Call(nn.softmax, x, axis=-1),
        "nn.log_softmax": Call(nn.log_softmax, x, axis=-1),
        "nn.l2_normalize": Call(nn.l2_normalize, x, axis=1, epsilon=1e-6),
        "nn.cross_entropy": Call(nn.cross_entropy, x, rows),
        "nn.soft_cross_entropy": Call(nn.soft_cross_entropy, x, mask),
        "nn.leaky_relu": Call(nn.leaky_relu, x, slope=0.1),
        "nn.elu": Call(nn.elu, x, alpha=0.1),
        "nn.prelu": Call(nn.prelu, x, te.placeholder((3,), ti.f64)),
        "nn.dropout": Call(nn.dropout, x, mask, rate=0.5),
        "nn.reshape": Call(nn.reshape, x, (2, 6)),
        "nn.transpose": Call(nn.transpose, x, (1, 0)),
        "nn.expand_dims": Call(nn.expand_dims, x, 1),
        "nn.squeeze": Call(nn.squeeze, te.placeholder((4, 1), ti.f64), 1),
        "nn.broadcast_to": Call(nn.broadcast_to, y, (3, 4)),
        "nn.roll": Call(nn.roll, x, 1, axis=0),
        "nn.repeat": Call(nn.repeat, x, 2, axis=0),
        "nn.tile": Call(nn.tile, x, (2, 1)),
        "nn.triangle": Call(nn.triangle, x, diagonal=0, is_upper=False),
        "nn.concat": Call(nn.concat, [x, mask], axis=0),
        "nn.stack": Call(nn.stack, [x, mask], axis=0),
        "joined": Call(lambda v: nn.concat([x, v]), mask),
        "nn.split": Call(nn.split, x, 2, axis=0),
        "nn.part": Call(nn.part, x, 0, 2, axis=0),
        "nn.slices": Call(nn.slices, x, [slice(0, 2), slice(None)]),
        "nn.pad": Call(nn.pad, x, [(1, 1), (0, 2)], mode="constant", value=1.0),
        "nn.resize_nearest": Call(nn.resize_nearest, image, 4),
        "nn.resize_bilinear": Call(nn.resize_bilinear, image, 4, align_corners=False),
        "nn.upsample": Call(nn.upsample, image, 2, method="nearest"),
        "nn.pixel_shuffle": Call(nn.pixel_shuffle, image, 2),
        "nn.pixel_unshuffle": Call(nn.pixel_unshuffle, image, 2),
        "nn.im2col": Call(nn.im2col, image, 3),
        "nn.embedding": Call(nn.embedding, rows, x),
        "nn.take": Call(nn.take, x, rows, axis=0),
        "nn.gather": Call(nn.gather, x, te.placeholder((4, 3), ti.i32), axis=0),
        "nn.scatter_add": Call(nn.scatter_add, x, rows, mask),
        "nn.segment_sum": Call(nn.segment_sum, x, rows, 5),
        "nn.one_hot": Call(nn.one_hot, rows, 5, dtype=ti.f32),
    }


def _with_gradient(gradient: Any) -> Any:
    double = te.operator(lambda x: te.compute(x.shape, lambda *i: 2.0 * x[i]))
    double.def_gradient(gradient)
    x = te.placeholder((4, 3), ti.f64)
    return te.differentiate(double(x), [x], te.placeholder((4, 3), ti.f64))
