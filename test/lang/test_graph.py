"""Sequences of launches with arguments by name."""

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


@ti.kernel
def scale(x: ti.types.ndarray(ndim=1), y: ti.types.ndarray(ndim=1), factor: ti.f64):
    for i in x:
        y[i] = factor * x[i] ** 2


@ti.kernel
def add(y: ti.types.ndarray(ndim=1), loss: ti.types.ndarray()):
    for i in y:
        loss[None] += y[i]


def built() -> ti.graph.Graph:
    kind = ti.graph.ArgKind
    x, y = (ti.graph.Arg(kind.NDARRAY, name, ti.f64, ndim=1) for name in "xy")
    loss = ti.graph.Arg(kind.NDARRAY, "loss", ti.f64, ndim=0)
    factor = ti.graph.Arg(kind.SCALAR, "factor", ti.f64)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(scale, x, y, factor)
    twice = builder.create_sequential()
    twice.dispatch(add, y, loss)
    for _ in range(2):
        builder.append(twice)
    return builder.compile()


def test_a_graph_is_its_launches_and_is_differentiated() -> None:
    graph = built()
    x = ti.ndarray(ti.f64, 4, needs_grad=True)
    y, loss = ti.ndarray(ti.f64, 4, needs_grad=True), ti.ndarray(ti.f64, (), needs_grad=True)
    x.from_numpy(np.arange(4.0))
    with ti.ad.Tape(loss):
        graph.run({"x": x, "y": y, "loss": loss, "factor": 3.0})
    assert loss[None] == 2 * 3 * (1 + 4 + 9)
    assert x.grad.to_numpy().tolist() == [0, 12, 24, 36]


def test_arguments_that_do_not_fit() -> None:
    graph, x = built(), ti.ndarray(ti.f64, 4)
    with pytest.raises(ti.TaichiRuntimeError, match="Missing runtime value for factor"):
        graph.run({"x": x, "y": x, "loss": x})
    with pytest.raises(ti.TaichiRuntimeError, match="no argument 'factr': did you mean 'factor'"):
        graph.run({"x": x, "y": x, "loss": x, "factor": 1.0, "factr": 2.0})
    with pytest.raises(ti.TaichiTypeError, match="got function"):
        ti.graph.GraphBuilder().dispatch(built)
