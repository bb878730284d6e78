"""Pictures drawn by `ti.GUI`, without a display."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture
def gui() -> ti.GUI:
    return ti.GUI("test", res=(64, 48), show_gui=False)


def lit(gui: ti.GUI) -> np.ndarray:
    """How bright the pixels `[x, y]` are."""
    return gui.get_image()[..., :3].max(axis=-1)


def test_discs_cover_their_areas(gui: ti.GUI) -> None:
    gui.circle((0.5, 0.5), radius=10)
    assert lit(gui).sum() == pytest.approx(np.pi * 100, rel=0.02)
    x, y = np.indices((64, 48)) + 0.5
    away = np.hypot(x - 32, y - 24)
    assert (lit(gui)[away < 9] == 1).all() and (lit(gui)[away > 11] == 0).all()


def test_later_discs_lie_above_earlier_ones(gui: ti.GUI) -> None:
    points = np.array([[0.5, 0.5], [0.55, 0.5], [2.0, np.nan]])
    gui.circles(points, radius=np.array([8, 5, 3]), palette=[0xFF0000, 0x0000FF],
                palette_indices=[0, 1, 0])  # fmt: skip
    image = gui.get_image()
    assert image[35, 24].tolist() == [0, 0, 1, 1]
    assert image[26, 24].tolist() == [1, 0, 0, 1]


def test_many_discs_are_as_many_single_ones(gui: ti.GUI) -> None:
    rng = np.random.default_rng(1)
    points, radii = rng.random((60, 2)), rng.uniform(2, 6, 60)
    colours = rng.integers(0, 1 << 24, 60)
    gui.circles(points, radius=radii, color=colours)
    together = gui.get_image()
    gui.clear()
    for point, radius, colour in zip(points, radii, colours):
        gui.circle(point, radius=radius, color=int(colour))
    # rims that lie above rims differ by what is below them
    assert (np.abs(together - gui.get_image()).max(axis=-1) > 0.01).mean() < 0.05


def test_images_have_their_origin_at_the_lower_left(gui: ti.GUI, tmp_path: Path) -> None:
    image = np.zeros((64, 48, 3), np.float32)
    image[:10, :5] = 1, 0.5, 0
    gui.set_image(image)
    assert np.allclose(gui.get_image()[..., :3], image, atol=1 / 250)
    gui.show(str(tmp_path / "a.png"))
    read = ti.tools.imread(tmp_path / "a.png")
    assert read.shape == (64, 48, 3) and read[3, 3].tolist() == [255, 127, 0]
    assert read[3, 40].max() == 0 and lit(gui).max() == 0  # the next frame is empty


def test_fields_are_images(gui: ti.GUI) -> None:
    ti.init()
    field = ti.Vector.field(3, ti.f32, shape=(64, 48))
    field.fill(0.2)
    gui.set_image(field)
    assert np.allclose(gui.get_image()[..., :3], 0.2, atol=1 / 250)
    gui.contour(np.linspace(0, 1, 12).reshape(4, 3))
    assert len(np.unique(gui.get_image().reshape(-1, 4), axis=0)) == 12


def test_shapes_lie_where_they_are_put(gui: ti.GUI) -> None:
    gui.triangle((0, 0), (1, 0), (0, 1), color=0x00FF00)
    assert lit(gui)[5, 5] == 1 and lit(gui)[60, 40] == 0
    gui.clear(0x102030)
    assert np.allclose(gui.get_image()[7, 7, :3] * 255, [16, 32, 48])
    gui.clear()
    gui.line((0, 0.5), (1, 0.5), radius=2)
    assert lit(gui)[:, 24].all() and not lit(gui)[:, 30].any()
    gui.clear()
    gui.text("mlirad", (0.1, 0.9), font_size=12)
    assert lit(gui)[:, 24:].any() and not lit(gui)[:, :20].any()


def test_arrows_and_grids(gui: ti.GUI) -> None:
    gui.arrow((0.25, 0.5), (0.5, 0), radius=1)
    assert lit(gui)[32, 22:26].any() and lit(gui)[44].sum() > lit(gui)[30].sum()
    gui.clear()
    gui.point_field(np.full((4, 3), 2.0))
    assert lit(gui).sum() == pytest.approx(12 * np.pi * 4, rel=0.2)
    gui.arrow_field(np.full((4, 3, 2), 0.05))
    gui.vector_field(np.ones((10, 10, 2)))


def test_widgets_have_values(gui: ti.GUI) -> None:
    slider, label = gui.slider("speed", 2, 10, step=2), gui.label("time")
    assert slider.value == 2 and gui.button("go") == "WidgetButton_go"
    slider.value, label.value = 8, 3.5
    gui._display.pressed.add(gui.LMB)
    gui._display.cursor = (6 + 80) / 64, 1 - 10 / 48
    gui.show()
    assert slider.value == 6  # half of the bar's 160 pixels


def test_events_are_filtered(gui: ti.GUI) -> None:
    event = gui.Event(gui.PRESS, gui.ESCAPE)
    gui._display.events.extend([gui.Event(gui.MOTION, gui.MOVE), event])
    assert gui.get_event((gui.PRESS, gui.ESCAPE)) and gui.event is event
    assert not gui.get_event() and gui.get_key_event() is None
    gui._display.pressed.add("Shift_L")
    assert gui.is_pressed("a", gui.SHIFT) and not gui.is_pressed(gui.CTRL)
    gui.running = False
    assert not gui.running


@pytest.mark.parametrize(
    ("image", "error", "says"),
    [
        (np.zeros((48, 64, 3)), ValueError, "48 by 64 is set in a window of 64 by 48"),
        (np.zeros((64, 48, 5)), ValueError, "1 to 4 channels"),
        (np.zeros(64), ValueError, "got \\(64,\\)"),
        (np.zeros((64, 48), complex), ti.TaichiTypeError, "must be numbers"),
        (np.zeros((64, 48), np.int32), ti.TaichiTypeError, "got int32"),
        (["a", "b"], ti.TaichiTypeError, "must be numbers, not list"),
    ],
)
def test_images_of_a_wrong_kind_are_refused(
    gui: ti.GUI, image: object, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        gui.set_image(image)


def test_shapes_of_a_wrong_kind_are_refused(gui: ti.GUI) -> None:
    with pytest.raises(ValueError, match="points of 2 numbers, not of shape"):
        gui.circles(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="radius must be one number, or 4, not 3"):
        gui.circles(np.zeros((4, 2)), radius=[1, 2, 3])
    with pytest.raises(ValueError, match="from 0 to 1"):
        gui.circles(np.zeros((2, 2)), palette=[0, 1], palette_indices=[0, 2])
    with pytest.raises(ValueError, match="4 shapes have 3 ends"):
        gui.lines(np.zeros((4, 2)), np.zeros((3, 2)))
    with pytest.raises(OSError, match="no/such"):
        gui.show("no/such/folder.png")
    with pytest.raises(ValueError, match="unknown file extension"):
        gui.show("picture.unknown")
