"""A block of a transformer by differences; `te.torch_check` holds a larger one against torch."""

from __future__ import annotations

import numpy as np
from te.derivatives import given
from te.layered import transformer

import mlirad as ti
from mlirad import te


def test_gradients_of_a_block() -> None:
    ti.init(default_fp=ti.f64, opt_level=1, cpu_max_num_threads=1)
    network, random, step = transformer(1, 2, 4, 2, 3), np.random.default_rng(9), 1e-6
    inputs = list(network.inputs.values())
    head = given(*network.output.shape, name="head")
    both = [network.output, *te.differentiate(network.output, inputs, head)]
    built = te.build(both, [*inputs, head])
    values = [0.3 * random.normal(size=one.shape) for one in inputs]
    along = [random.normal(size=one.shape) for one in inputs]
    weights = random.normal(size=head.shape)
    _, *adjoints = built(*values, weights)
    ahead, back = (
        built(*(v + s * d for v, d in zip(values, along)), weights)[0] for s in (step, -step)
    )
    slope = float(((ahead - back) * weights).sum()) / (2 * step)
    terms = [float((own * d).sum()) for own, d in zip(adjoints, along)]
    assert abs(sum(terms) - slope) <= 1e-7 * (1 + sum(map(abs, terms)))
    assert min(map(abs, terms)) > 1e-6  # each of the weights counts
