"""`ti.ad.program`: programs over fields as functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foreign.chain import Chain

import mlirad as ti
from mlirad.errors import TaichiRuntimeError, TaichiTypeError


@pytest.fixture
def chain() -> Chain:
    ti.init(default_fp=ti.f64)
    return Chain()


def test_values(chain: Chain) -> None:
    x, w = np.array([0.1, 0.4, -0.7]), np.array([2.0])
    chain.hidden.fill(5)
    total, ends = ti.ad.program(chain.run, inputs=[chain.x, chain.w], output=[chain.y, chain.z])(
        x, w
    )
    expected = chain.expected(x, w)
    assert total == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(ends, expected[1], rtol=1e-12)
    assert (chain.hidden.to_numpy() == 5).all()
    assert isinstance(ti.ad.program(chain.run, inputs=chain.x, output=chain.y)(x), np.ndarray)


def test_bad_input(chain: Chain) -> None:
    function = ti.ad.program(chain.run, inputs=chain.x, output=chain.y)
    with pytest.raises(TaichiTypeError, match=r"shape \(4,\)"):
        function(np.ones(4))
    with pytest.raises(TaichiTypeError, match="2 arguments for 1 inputs"):
        function(np.ones(3), np.ones(3))
    with (
        pytest.raises(TaichiRuntimeError, match="within a tape"),
        ti.ad.Tape(chain.y),
    ):
        function(np.ones(3))
    with pytest.raises(TaichiTypeError, match="no gradient"):
        ti.ad.program(chain.run, inputs=ti.field(ti.f64, 3), output=chain.y)
    with pytest.raises(TaichiTypeError, match="function that launches kernels"):
        ti.ad.program(3, inputs=chain.x, output=chain.y)  # type: ignore[arg-type]


def test_torch(chain: Chain) -> None:
    torch: Any = pytest.importorskip("torch")
    function = ti.ad.program(
        chain.run, inputs=[chain.x, chain.w], output=[chain.y, chain.z]
    ).torch()
    x = torch.tensor([0.1, 0.4, -0.7], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (x, w))
    total, ends = function(x * x, w)
    (total * ends.sum()).backward()
    assert x.grad is not None and bool((x.grad != 0).all())
    with pytest.raises(TaichiRuntimeError, match=r"second derivatives .* ti\.ad\.hvp"):
        (first,) = torch.autograd.grad(function(x, w)[0], x, create_graph=True)
        first.sum().backward()


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_transforms_of_torch(chain: Chain) -> None:
    torch: Any = pytest.importorskip("torch")
    f = ti.ad.program(chain.run, inputs=[chain.x, chain.w], output=[chain.y, chain.z]).torch()
    x, w = (torch.tensor(one, dtype=torch.float64) for one in ([0.1, 0.4, -0.7], [2.0]))

    def expected(x: Any, w: Any) -> tuple[Any, Any]:
        return chain.expected(x, w, torch)

    for found, wanted in zip(
        torch.func.vmap(f, (0, None))(torch.stack([x, 2 * x]), w),
        torch.func.vmap(expected, (0, None))(torch.stack([x, 2 * x]), w),
    ):
        np.testing.assert_allclose(found, wanted)
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        for found, wanted in zip(transform(f, (0, 1))(x, w), transform(expected, (0, 1))(x, w)):
            for own, other in zip(found, wanted):
                np.testing.assert_allclose(own, other)


def test_jax_is_asked_for_by_name(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlirad.foreign import jax_function

    def missing() -> None:
        raise ImportError("no module named jax")

    monkeypatch.setattr(jax_function, "_primitive", missing)
    with pytest.raises(ImportError, match=r"jax\(\) needs JAX"):
        ti.ad.program(chain.run, inputs=chain.x, output=chain.y).jax()
