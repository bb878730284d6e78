"""Names that `ti.static` gives values that are known while compiling."""

from typing import Any

import numpy as np

import mlirad as ti


def test_a_value_stays_known_where_it_is_passed_to_a_function_with_a_name_of_its_own() -> None:
    ti.init()
    x = ti.field(ti.i32, shape=4)

    @ti.func
    def read_if(place: ti.template(), i: ti.template(), is_on: ti.template()) -> Any:
        return place[i] if ti.static(is_on) else 0

    @ti.func
    def total(n: Any, flag: ti.template()) -> Any:
        is_backward = ti.static(flag)
        read = ti.static(read_if)
        result = read(x, n, is_backward)
        for i in range(n) if ti.static(not is_backward) else ti.static(range(2)):
            result += i
        return result

    @ti.kernel
    def run(flag: ti.template()) -> None:
        for i in x:
            x[i] = total(i, flag)

    x.fill(10)
    run(True)
    np.testing.assert_array_equal(x.to_numpy(), [11, 11, 11, 11])
    run(False)
    np.testing.assert_array_equal(x.to_numpy(), [0, 0, 1, 3])


def test_a_name_that_two_static_assignments_give_each_other_is_no_circle() -> None:
    ti.init()

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        a = ti.static(max)
        b = ti.static(a)
        return b(n, 3)

    assert run(2) == 3
