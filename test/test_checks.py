"""Odd input is refused where it comes in, by an error that names the argument; what it was passed
to works afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlirad as ti
from mlirad.checks import file_name, flag, integer, number, numbers, several, text, whole
from mlirad.errors import TaichiTypeError

NAN, INF = float("nan"), float("inf")


class Half:
    """What converts itself."""

    def __float__(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("check", "value", "found"),
    [
        (number, np.float32(0.5), 0.5),
        (number, np.array(2), 2.0),
        (number, Half(), 0.5),
        (number, True, 1.0),
        (integer, np.uint8(3), 3),
        (whole, 4.0, 4),
        (flag, np.bool_(False), False),
        (flag, 1, True),
        (text, "a", "a"),
        (file_name, Path("a") / "b", os.path.join("a", "b")),
    ],
)
def test_what_is_meant_is_taken(check: Callable[..., Any], value: Any, found: Any) -> None:
    taken = check(value, "x")
    assert taken == found and type(taken) is type(found)


@pytest.mark.parametrize(
    ("check", "values"),
    [
        (number, [None, "1", b"1", [1.0], np.zeros(1), 1j, float, {}]),
        (integer, [None, "1", 1.0, np.zeros(1, int), NAN, {}]),
        (flag, [None, "yes", 1.0, np.zeros(2), []]),
        (text, [None, b"a", 1, Path("a")]),
        (file_name, [None, b"a", 1, True, ["a"]]),
    ],
)
def test_another_type_is_refused(check: Callable[..., Any], values: list[Any]) -> None:
    for value in values:
        with pytest.raises(TaichiTypeError, match="the size must be"):
            check(value, "the size")


def test_values_that_mean_nothing_are_refused() -> None:
    for value in (NAN, INF, -INF, -1, 10**400):
        with pytest.raises(ValueError, match="the size must be a"):
            number(value, "the size", low=0)
    for value in (-1, 11):
        with pytest.raises(ValueError, match="an integer from 0 to 10"):
            integer(value, "the size", low=0, high=10)
    for value in ("", "a\0b"):
        with pytest.raises(ValueError, match="the name of a file"):
            file_name(value)
    for value in ((), (1,), (1, 2, 3), np.zeros(3)):
        with pytest.raises(ValueError, match="must be 2 numbers"):
            several(value, 2, "res")
    with pytest.raises(ValueError, match="res must be a finite number"):
        numbers((1, NAN), 2, "res")


IMAGE, POINTS = np.zeros((4, 4, 3)), np.full((3, 2), 0.5)


def gui() -> ti.GUI:
    return ti.GUI("t", (16, 16), show_gui=False)


def window() -> ti.ui.Window:
    return ti.ui.Window("t", (16, 16), show_window=False)


def camera(**given: Any) -> None:
    made = ti.ui.Camera()
    for name, value in given.items():
        getattr(made, name)(*value)
    made.get_projection_matrix(1.0)


CALLS: dict[str, Callable[[], object]] = {
    "filename must be a name": lambda: ti.tools.imwrite(IMAGE, 1),  # type: ignore[arg-type]
    "unknown file extension": lambda: ti.tools.imwrite(IMAGE, "a.xyz"),
    "an image has pixels": lambda: ti.tools.imwrite(np.zeros((0, 2, 3)), "a.png"),
    "channels must be an integer": lambda: ti.tools.imread("a.png", [1]),  # type: ignore[arg-type]
    "w must be an integer from 1": lambda: ti.tools.imresize(IMAGE, -1),
    "path must be a name": lambda: ti.tools.PLYWriter(1).export_ascii(True),  # type: ignore
    "comment must be one line": lambda: ti.tools.PLYWriter(1, comment="a\nb"),
    "has no blanks": lambda: ti.tools.PLYWriter(1).add_vertex_channel("a b", "int", [1]),
    "framerate must be": lambda: ti.tools.VideoManager("v", framerate=0),
    "filename must be": lambda: ti.tools.write_vtk(np.zeros((2, 2)), None),  # type: ignore[arg-type]
    "expected a color as an integer": lambda: ti.hex_to_rgb(0.5),
    "three components, got 2": lambda: ti.rgb_to_hex((1, 0)),
    "res must be a number": lambda: ti.GUI("t", "large"),  # type: ignore[arg-type]
    "at most 16384": lambda: ti.GUI("t", (10**9, 1), show_gui=False),
    "show_gui must be True or False": lambda: ti.GUI("t", show_gui="no"),  # type: ignore[arg-type]
    "color must be integers": lambda: gui().circles(POINTS, color=np.full(3, NAN)),
    "pos must be one point": lambda: gui().text("a", np.zeros((0, 2))),
    "font_size must be a": lambda: gui().text("a", (0, 0), font_size=NAN),
    "bound must be a number": lambda: gui().point_field(IMAGE[..., 0], bound="a"),  # type: ignore
    "minimum must be": lambda: gui().slider("a", NAN, 1),
    "a widget must be": lambda: setattr(gui().label("a"), "value", None),
    "a key must be a text": lambda: gui().is_pressed([1]),  # type: ignore[arg-type]
    "a file must be a name": lambda: gui().show(3),  # type: ignore[arg-type]
    "res must be 2 numbers": lambda: ti.ui.Window("t", (1, 2, 3), show_window=False),
    "color must be 3 components": lambda: window().get_canvas().set_background_color((1, 0)),
    "cmap_name must be a": lambda: window().get_canvas().contour(IMAGE[..., 0], "no such map"),
    "scene must be a ti.ui.Scene": lambda: window().get_canvas().scene(None),  # type: ignore
    "camera must be a ti.ui.Camera": lambda: window().get_scene().set_camera(3),  # type: ignore
    "position must be a number": lambda: camera(position=("a", 0, 0)),
    "fov must be a finite": lambda: camera(fov=(0,)),
    "z_near and z_far must differ": lambda: camera(z_near=(1,), z_far=(1,)),
    "width must be a number": lambda: window().get_gui().begin("a", 0, 0, None, 1),  # type: ignore
    "text must be a text": lambda: window().get_gui().text(3),  # type: ignore[arg-type]
    "old_value must be 3": lambda: window().get_gui().color_edit_3("a", (1, 0)),
    "the arguments of a graph": lambda: ti.graph.GraphBuilder().compile().run(None),  # type: ignore
    "what is appended must be": lambda: ti.graph.GraphBuilder().append(None),  # type: ignore
    "element_shape must be": lambda: ti.graph.Arg(
        ti.graph.ArgKind.SCALAR, "a", ti.f32, element_shape=3
    ),  # type: ignore
    "mode must be a text": lambda: ti.profiler.print_kernel_profiler_info([1]),  # type: ignore
    "num_rows must be a number": lambda: ti.linalg.SparseMatrixBuilder("4"),  # type: ignore
    "max_iter must be": lambda: ti.linalg.SparseCG(
        ti.linalg.SparseMatrix(2), np.zeros(2), max_iter=NAN
    ),  # type: ignore
    "as matvec_kernel": lambda: ti.linalg.LinearOperator(3),  # type: ignore[arg-type]
    "solver_type must be": lambda: ti.linalg.SparseSolver(solver_type=None),  # type: ignore
    "apply to functions: got int": lambda: ti.kernel(3),  # type: ignore[arg-type]
    "ti.dataclass marks must be a class": lambda: ti.dataclass(3),  # type: ignore[arg-type]
    "ti.data_oriented marks must be a class": lambda: ti.data_oriented(3),  # type: ignore
    "expected a field to place": lambda: ti.root.place("x"),  # type: ignore[arg-type]
    "axes such as ti.i or ti.ij, not str": lambda: ti.root.dense("i", 4),  # type: ignore[arg-type]
    "an axis must be an integer of at least 0": lambda: ti.axes(-1),
    "an extent of a field must be": lambda: ti.field(ti.f32, (2, None)),  # type: ignore
    "an extent of an ndarray must be": lambda: ti.ndarray(ti.f32, "a"),  # type: ignore[arg-type]
    "matrix must be an integer, not str": lambda: ti.Vector.field("a", ti.f32, 4),  # type: ignore
    "at least 1, not -1": lambda: ti.Vector.field(-1, ti.f32, 4),
    "at least 1, not 0": lambda: ti.types.matrix(0, 2, ti.f32),
    "members of a struct must be": lambda: ti.Struct.field(3),  # type: ignore[arg-type]
    "should be an integer scalar": lambda: ti.ndrange("a"),  # type: ignore[arg-type]
    r"ti.init\(arch=\) must be": lambda: ti.init(arch=3),  # type: ignore[arg-type]
    r"ti.init\(kernel_profiler=\) must be": lambda: ti.init(kernel_profiler="yes"),
    r"ti.init\(cpu_max_num_threads=\) must be": lambda: ti.init(cpu_max_num_threads="all"),
}


@pytest.mark.parametrize("message", CALLS)
def test_odd_input_is_refused_by_name(
    message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ti.init()
    with pytest.raises((TaichiTypeError, ValueError), match=message):
        CALLS[message]()


def test_fields_go_on_after_one_of_no_shape() -> None:
    ti.init()
    for sizes in (-1, 0, "a"):
        with pytest.raises((TaichiTypeError, ValueError)):
            ti.Vector.field(sizes, ti.f32, 4)
    x = ti.Vector.field(np.int64(2), ti.f32, np.array([3]))
    x.fill(1.5)
    np.testing.assert_array_equal(x.to_numpy(), np.full((3, 2), 1.5, np.float32))


def test_windows_go_on_after_an_error() -> None:
    shown = gui()
    for call in (
        lambda: shown.circles(POINTS, radius=[1, 2]),
        lambda: shown.lines(POINTS, POINTS, color="red"),
        lambda: shown.show(1),  # type: ignore[arg-type]
    ):
        with pytest.raises((TaichiTypeError, ValueError)):
            call()
    shown.rect((0.2, 0.2), (0.8, 0.8), color=0x00FF00)
    assert (shown.get_image()[..., 1] == 1).any()
    shown.show()
    assert shown.frame == 1


@pytest.mark.parametrize("radius", [1e4, 2.0**40, 1e300, INF])
def test_a_disc_that_is_larger_than_the_picture_fills_it(radius: float) -> None:
    shown = gui()
    shown.circle((0.5, 0.5), color=0xFF0000, radius=radius)
    assert (shown.get_image()[..., 0] == 1).all()
    shown.clear()
    shown.lines([[0.5, 0.5]], [[0.6, 0.5]], radius=radius)
    shown.show()
