"""A convolution network learns digits of 8 by 8 pixels: in fields with a tape, on arrays by
`te.differentiate`, and in torch, with the same losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad import te

Array = np.ndarray[Any, Any]
STEPS, BATCH, RATE = 40, 32, 0.2
# rows of five pixels, the first one at the top
GLYPHS = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "01110 10001 00001 00110 00001 10001 01110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)
SHAPES = {
    "k1": (6, 1, 3, 3),
    "b1": (6,),
    "k2": (8, 6, 3, 3),
    "b2": (8,),
    "w": (10, 128),
    "b": (10,),
}


def _digits(count: int, seed: int) -> tuple[Array, Array]:
    """Digits at some place, of some brightness, with noise; and which they are."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count).astype(np.int32)
    images = random.normal(0, 0.1, (count, 1, 8, 8))
    for image, label in zip(images, labels):
        glyph = np.array([[int(c) for c in row] for row in GLYPHS[label].split()])
        top, left = random.integers(0, 2), random.integers(1, 3)
        image[0, top : top + 7, left : left + 5] += random.uniform(0.7, 1.3) * glyph
    return images.astype(np.float32), labels


def _start() -> dict[str, Array]:
    random = np.random.default_rng(0)
    return {
        name: (random.normal(size=shape) / np.sqrt(np.prod(shape[1:]) / 2)).astype(np.float32)
        * (0.1 if len(shape) == 1 else 1)
        for name, shape in SHAPES.items()
    }


def _given() -> dict[str, te.Tensor]:
    shapes = {"x": (BATCH, 1, 8, 8), **SHAPES}
    found = {name: te.placeholder(shape, ti.f32, name) for name, shape in shapes.items()}
    return {**found, "labels": te.placeholder((BATCH,), ti.i32, "labels")}


def _features(of: dict[str, te.Tensor]) -> te.Tensor:
    first = te.nn.relu(te.nn.conv2d(of["x"], of["k1"], of["b1"], padding=1))
    pooled = te.nn.max_pool2d(first, 2)
    return te.nn.flatten(te.nn.relu(te.nn.conv2d(pooled, of["k2"], of["b2"], padding=1)))


def _loss(features: te.Tensor, of: dict[str, te.Tensor]) -> te.Tensor:
    return te.nn.cross_entropy(te.nn.dense(features, of["w"], of["b"]), of["labels"])


def _batches() -> list[tuple[Array, Array]]:
    return [_digits(BATCH, seed) for seed in range(1, STEPS + 1)]


def _in_fields() -> list[float]:
    """Two built functions and kernels, recorded by a tape."""
    given = _given()
    between = te.placeholder((BATCH, 128), ti.f32, "features")
    names = ("x", "k1", "b1", "k2", "b2")
    features = te.build(_features(given), [given[n] for n in names], "features")
    last = [between, given["w"], given["b"], given["labels"]]
    head = te.build(_loss(between, given), last, "head")
    fields = {n: ti.field(ti.f32, s, needs_grad=True) for n, s in SHAPES.items()}
    for name, values in _start().items():
        fields[name].from_numpy(values)
    x, labels = ti.field(ti.f32, (BATCH, 1, 8, 8)), ti.field(ti.i32, BATCH)
    found, loss = (
        ti.field(ti.f32, (BATCH, 128), needs_grad=True),
        ti.field(ti.f32, (), needs_grad=True),
    )

    @ti.kernel
    def descend(weights: ti.template()) -> None:
        for i in ti.grouped(weights):
            weights[i] -= ti.cast(RATE, ti.f32) * weights.grad[i]

    losses = []
    for images, numbers in _batches():
        x.from_numpy(images)
        labels.from_numpy(numbers)
        with ti.ad.Tape(loss):
            features(x, *(fields[n] for n in names[1:]), out=found)
            head(found, fields["w"], fields["b"], labels, out=loss)
        losses.append(float(loss[None]))
        for weights in fields.values():
            descend(weights)
    return losses


def _on_arrays() -> list[float]:
    """One function of the loss and all gradients."""
    given = _given()
    loss = _loss(_features(given), given)
    wanted = [given[name] for name in SHAPES]
    step = te.build([loss, *te.differentiate(loss, wanted)], list(given.values()), "step")
    values, losses = _start(), []
    for images, numbers in _batches():
        value, *slopes = step(images, *values.values(), numbers)
        losses.append(float(value))
        for weights, slope in zip(values.values(), slopes):
            weights -= np.float32(RATE) * slope
    return losses


def _in_torch(torch: Any, loss_of: Callable[..., Any]) -> list[float]:
    values = {n: torch.tensor(v, requires_grad=True) for n, v in _start().items()}
    optimizer = torch.optim.SGD(values.values(), RATE)
    losses = []
    for images, numbers in _batches():
        optimizer.zero_grad()
        loss = loss_of(torch.from_numpy(images), values, torch.from_numpy(numbers))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def test_digits() -> None:
    ti.init(opt_level=1)
    losses = _in_fields()
    assert np.mean(losses[:3]) > 1.9 and np.mean(losses[-5:]) < 0.5
    np.testing.assert_allclose(losses, _on_arrays(), rtol=0, atol=1e-5)


def test_digits_in_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    ti.init(opt_level=1)
    functional = torch.nn.functional

    def by_torch(x: Any, of: dict[str, Any], labels: Any) -> Any:
        x = functional.relu(functional.conv2d(x, of["k1"], of["b1"], padding=1))
        x = functional.conv2d(functional.max_pool2d(x, 2), of["k2"], of["b2"], padding=1)
        logits = functional.linear(functional.relu(x).flatten(1), of["w"], of["b"])
        return functional.cross_entropy(logits, labels.long())

    given = _given()
    step = te.build(_loss(_features(given), given), list(given.values()), "step").torch()
    expected = _in_torch(torch, by_torch)
    np.testing.assert_allclose(_in_fields(), expected, rtol=0, atol=1e-5)
    found = _in_torch(torch, lambda x, of, labels: step(x, *of.values(), labels))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
