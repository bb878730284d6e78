"""Several arguments of a kernel that are passed as one, and arguments by keyword only."""

import numpy as np
import pytest

import mlirad as ti

vec2 = ti.types.vector(2, ti.f64)
Inner = ti.types.argpack(scale=ti.f64, n=ti.i32)
Body = ti.types.struct(mass=ti.f64, v=vec2)
Pack = ti.types.argpack(x=ti.types.ndarray(ndim=1), inner=Inner, shift=vec2, body=Body)


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


@ti.kernel
def run(pack: Pack, loss: ti.types.ndarray(), factor: ti.f64 = 1.0):
    for i in range(pack.inner.n):
        weight = pack.inner.scale * pack.shift[1] + pack.body.v[0] * pack.body.mass
        loss[None] += factor * weight * pack.x[i] ** 2


def test_members_of_packs() -> None:
    x, loss = ti.ndarray(ti.f64, 4, needs_grad=True), ti.ndarray(ti.f64, (), needs_grad=True)
    x.from_numpy(np.arange(4.0))
    body = Body(mass=2.0, v=[5.0, 7.0])
    pack = Pack(x=x, inner=Inner(scale=3.0, n=4), shift=[0.0, 2.0], body=body)
    for factor in (1.0, 0.5):
        with ti.ad.Tape(loss):
            run(pack, loss, factor)
        assert loss[None] == 16 * 14 * factor
        assert x.grad.to_numpy().tolist() == [32 * factor * k for k in range(4)]
    pack.inner.n = 2
    loss[None] = 0
    run(pack, loss)
    assert loss[None] == 16 and pack.to_dict()["inner"] == {"scale": 3.0, "n": 2}


def test_packs_that_do_not_fit() -> None:
    other = ti.types.argpack(a=ti.i32)
    loss = ti.ndarray(ti.f64, ())
    with pytest.raises(ti.TaichiRuntimeTypeError, match="value for 'n' is missing"):
        Inner(scale=1.0)
    with pytest.raises(ti.TaichiRuntimeTypeError, match="no member 'skale': did you mean 'scale'"):
        Inner(scale=1.0, n=1, skale=2.0)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"Argument pack: expected argpack\(x="):
        run(other(a=1), loss)
    wrong = Pack(x=loss, inner=Inner(scale=1.0, n=1), shift=[0, 0], body=Body())
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"argument pack\.x - required ndim=1"):
        run(wrong, loss)


def test_arguments_by_keyword_only() -> None:
    @ti.func
    def combined(a, *, b: ti.f64, c=2):
        return a * b + c

    @ti.kernel
    def apply(a: ti.f64, *, b: ti.f64, c: ti.i32 = 4) -> ti.f64:
        return combined(a, b=b) + combined(a, c=c, b=1)

    assert apply(3.0, b=5.0) == 3 * 5 + 2 + 3 + 4
    assert apply(3.0, c=1, b=5.0) == 3 * 5 + 2 + 3 + 1
    with pytest.raises(ti.TaichiSyntaxError, match="Too many arguments: kernel 'apply' takes 1"):
        apply(3.0, 5.0)
    with pytest.raises(ti.TaichiSyntaxError, match="`b : f64` missing"):
        apply(3.0)

    @ti.kernel
    def by_position() -> ti.f64:
        return combined(1, 2.0)

    with pytest.raises(ti.TaichiSyntaxError, match="Too many arguments: 'combined' takes 1"):
        by_position()
