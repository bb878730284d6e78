"""A program with mistakes that type checkers find, each in a line that says its kind."""

from typing import Annotated

import mlirad as ti

ti.init()
x = ti.field(ti.f32, shape=8, needs_grad=True)
v = ti.Vector.field(2, ti.f32, shape=(4, 4))


@ti.kernel
def push(dt: ti.f32, steps: ti.i32) -> ti.f32:
    for i in x:
        x[i] += dt
    return dt


@ti.kernel
def copy(source: ti.types.ndarray, target: ti.template) -> None:
    for i in target:
        target[i] = source[i]


@ti.kernel
def clear(target: Annotated[ti.ScalarField[ti.f32], ti.template]) -> None:
    for i in target:
        target[i] = 0.0


@ti.func
def double(value: ti.f32) -> ti.f32:
    return 2.0 * value


@ti.data_oriented
class Body:
    def __init__(self) -> None:
        self.place = ti.field(ti.f32, shape=())

    @ti.kernel
    def move(self, dt: ti.f32) -> None:
        self.place[None] += dt


body = Body()
push(0.1)  # call-arg
push(0.1, 2, 3)  # call-arg
push("0.1", 2)  # arg-type
push(0.1, 2.5)  # arg-type
push(0.1, count=2)  # call-arg
push.grad(0.1)  # call-arg
copy(1.0, x)  # arg-type
clear(v)  # arg-type
body.move()  # call-arg
body.move("0.1")  # arg-type
double("2.0")  # arg-type
for i, j, k in v:  # misc
    print(i, j, k)
name: str = x[0]  # assignment
print(x.gradient)  # attr-defined
ti.feild(ti.f32, shape=8)  # attr-defined
ti.field(ti.f32, shape=8, need_grad=1)  # call-overload
