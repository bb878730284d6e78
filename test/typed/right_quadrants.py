"""A program for Quadrants without mistakes."""

from typing import assert_type

import mlirad.quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=4, needs_grad=True)


@qd.kernel
def scale(factor: qd.f32) -> None:
    for i in x:
        x[i] *= factor


@qd.kernel(fastcache=True)
def first(field: qd.Template) -> qd.f32:
    return field[0]  # type: ignore[no-any-return]


x.fill(1.0)
scale(2.0)
scale(2.0, qd_stream=qd.create_stream())
qd.sync()
assert_type(x[0], float)
assert first(x) == 4.0
