"""What is measured: contractions, softmax, attention and a step of a small network, of which each
system has a program. No system is imported here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

Shapes = Mapping[str, tuple[int, ...]]
CONVOLUTIONS = {  # shape of the input, channels of the output, stride, dilation
    "(8,16,64,64)": ((8, 16, 64, 64), 16, 1, 1),
    "(8,64,28,28)": ((8, 64, 28, 28), 64, 1, 1),
    "stride 2": ((8, 16, 64, 64), 32, 2, 1),
    "dilation 2": ((8, 16, 64, 64), 16, 1, 2),
}


@dataclass(frozen=True)
class Case:
    """One function: its kind, what it gives, and the arrays that it takes."""

    name: str
    kind: str
    wanted: str
    shapes: Shapes
    operations: float = 0.0  # multiplications and additions, where they are what counts
    stride: int = 1
    dilation: int = 1

    def arrays(self) -> list[np.ndarray]:
        """Its inputs, the same on every system."""
        random = np.random.default_rng(7)
        return [
            random.standard_normal(shape, dtype=np.float32) / max(1, prod(shape[1:])) ** 0.5
            for shape in self.shapes.values()
        ]


def cases() -> list[Case]:
    """All of them."""
    return [*_products(), *_convolutions(), *_others()]


def _products() -> Iterator[Case]:
    for size in (256, 500, 512, 1024, 2048):
        square = (size, size)
        shapes = {"x": square, "w": square, "head": square}
        for wanted in ("y", "dx", "dw"):
            yield Case(f"matmul {size}", "matmul", wanted, shapes, 2.0 * size**3)


def _convolutions() -> Iterator[Case]:
    for name, (shape, channels, stride, dilation) in CONVOLUTIONS.items():
        batch, depth, height, width = shape
        out = (batch, channels, -(-height // stride), -(-width // stride))
        padded = (batch, depth, height + 2 * dilation, width + 2 * dilation)
        shapes = {"x": padded, "w": (channels, depth, 3, 3), "head": out}
        count = 2.0 * prod(out) * depth * 9
        for wanted in ("y", "dx", "dw"):
            yield Case(f"conv2d {name}", "conv2d", wanted, shapes, count, stride, dilation)
    shapes = {"x": (8, 32, 32, 32), "w": (16, 32, 3, 3), "head": (8, 16, 65, 65)}
    for wanted in ("y", "dx", "dw"):
        count = 2.0 * 8 * 16 * 32 * 32 * 32 * 9
        yield Case("transposed conv2d, stride 2", "transposed", wanted, shapes, count, 2)


def _others() -> Iterator[Case]:
    matrix = (4096, 1024)
    yield Case("softmax (4096, 1024)", "softmax", "y", {"x": matrix, "head": matrix})
    yield Case("softmax (4096, 1024)", "softmax", "y, dx", {"x": matrix, "head": matrix})
    part = (8, 1024, 64)
    shapes = {"q": part, "k": part, "v": part, "head": part}
    yield Case("attention 8×1024×64", "attention", "y", shapes)
    yield Case("attention 8×1024×64", "attention", "y, dq, dk, dv", shapes)
    network = {
        "x": (64, 1, 8, 8),
        "w1": (8, 1, 3, 3),
        "w2": (16, 8, 3, 3),
        "w3": (16 * 4 * 4, 10),
        "target": (64, 10),
    }
    yield Case("network, 64 digits", "network", "loss, dw1, dw2, dw3", network)
