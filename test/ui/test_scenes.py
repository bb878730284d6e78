"""Windows that nobody sees: canvases, scenes and cameras."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlirad as ti


@pytest.fixture
def window() -> ti.ui.Window:
    return ti.ui.Window("test", (80, 60), show_window=False)


def seen(window: ti.ui.Window) -> np.ndarray:
    """The picture `[row, column, channel]` from the top."""
    return np.swapaxes(window.get_image_buffer_as_numpy(), 0, 1)


def looking(scene: ti.ui.Scene) -> ti.ui.Camera:
    """A camera that sees x and y from -1 to 1 at depth 0, from z = 2."""
    camera = ti.ui.Camera()
    camera.position(0, 0, 2)
    camera.lookat(0, 0, 0)
    camera.fov(2 * np.degrees(np.arctan(0.5)))
    scene.set_camera(camera)
    return camera


def test_a_camera_projects_points(window: ti.ui.Window) -> None:
    camera = looking(window.get_scene())
    points = np.array([[1, 1, 0, 1], [0, 0, 1, 1], [0.5, 0, -2, 1]])
    found = points @ camera.get_view_matrix() @ camera.get_projection_matrix(4 / 3)
    flat = found[:, :2] / found[:, 3:]
    assert np.allclose(flat, [[0.75, 1], [0, 0], [0.1875, 0]])
    assert (np.diff((found[:, 2] / found[:, 3])[[1, 0, 2]]) > 0).all()  # what is farther is deeper


def test_an_orthogonal_camera_shows_no_depth() -> None:
    camera = ti.ui.make_camera()
    camera.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    camera.position(0, 0, 2)
    camera.lookat(0, 0, 0)
    points = np.array([[0.5, 0.25, 0, 1], [0.5, 0.25, -5, 1]])
    found = points @ camera.get_view_matrix() @ camera.get_projection_matrix(1)
    assert np.allclose(found[:, :2], [[0.5, 0.25]] * 2) and np.allclose(found[:, 3], 1)


@pytest.mark.parametrize("first", [0, 1])
def test_what_is_nearer_hides_what_is_farther(window: ti.ui.Window, first: int) -> None:
    scene = window.get_scene()
    looking(scene)
    scene.ambient_light((1, 1, 1))
    corners = np.array([[-9, -9], [9, -9], [0, 9.0]])

    def triangle() -> None:
        scene.mesh(np.concatenate([corners, np.zeros((3, 1))], axis=1), color=(0, 1, 0))

    def spheres() -> None:
        centres = np.array([[-0.5, 0, 0.2], [0.5, 0, -0.9]])
        scene.particles(centres, radius=0.2, color=(1, 0, 0))

    for draw in (triangle, spheres) if first else (spheres, triangle):
        draw()
    window.get_canvas().scene(scene)
    image = seen(window)
    left = round(40 - 30 * 0.5 / 0.9)
    assert image[30, left, 0] > 0.3 and image[30, left, 1] == 0
    assert image[30, 51].tolist() == [0, 1, 0, 1]  # in front of the second sphere


def test_spheres_have_their_size(window: ti.ui.Window) -> None:
    scene = window.get_scene()
    looking(scene)
    scene.particles(np.zeros((1, 3)), radius=0.5, per_vertex_color=np.array([[1, 1, 1]]))
    window.get_canvas().scene(scene)
    assert (seen(window)[..., 0] > 0).sum() == pytest.approx(np.pi * 15**2, rel=0.03)


def test_lines_meshes_and_many_particles(window: ti.ui.Window) -> None:
    scene = window.get_scene()
    looking(scene)
    grid = np.array([[0, 0, 0], [0.5, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0]])
    scene.mesh(grid, indices=[0, 1, 2, 0, 2, 3], color=(1, 1, 0))
    scene.lines(grid - 0.9, 3, indices=[0, 1])
    scene.particles(np.random.default_rng(0).random((20_000, 3)) - [3, 0, 0], radius=0.01)
    window.get_canvas().scene(scene)
    image = seen(window)
    assert (image[16:29, 41:54, :3] == [1, 1, 0]).all()
    assert image[48, 26].tolist()[:3] != [0, 0, 0]


def test_a_canvas_draws_and_forgets(window: ti.ui.Window, tmp_path: Path) -> None:
    canvas = window.get_canvas()
    canvas.set_background_color((0, 0, 1))
    canvas.circles(np.array([[0.5, 0.5]]), radius=0.1, color=(1, 0, 0))
    canvas.lines(np.array([[0, 0.9], [1, 0.9]]), width=0.05, color=(0, 1, 0))
    canvas.triangles(np.array([[0, 0], [0.3, 0], [0, 0.3]]), color=(1, 1, 1))
    image = seen(window)
    assert image[30, 40].tolist() == [1, 0, 0, 1] and image[6, 40].tolist() == [0, 1, 0, 1]
    assert image[57, 3].tolist() == [1, 1, 1, 1] and image[30, 70].tolist() == [0, 0, 1, 1]
    window.save_image(tmp_path / "a.png")
    assert ti.tools.imread(tmp_path / "a.png")[40, 30].tolist() == [255, 0, 0]
    window.show()
    assert (seen(window)[..., :3] == [0, 0, 1]).all() and window.running
    canvas.set_image(np.ones((8, 6, 3), np.float32))
    assert (seen(window) == 1).all()


def test_panels_hold_values(window: ti.ui.Window) -> None:
    with window.get_gui().sub_window("panel", 0, 0, 0.5, 0.9) as panel:
        assert panel.slider_float("speed", 0.25, 0, 1) == 0.25
        assert panel.slider_int("steps", 7, 1, 9) == 7
        assert panel.checkbox("on", True) and not panel.button("go")
        assert panel.color_edit_3("colour", (0.1, 0.2, 0.3)) == (0.1, 0.2, 0.3)


def test_what_cannot_be_drawn_is_refused(window: ti.ui.Window) -> None:
    scene = window.get_scene()
    with pytest.raises(ti.TaichiRuntimeError, match="no camera"):
        window.get_canvas().scene(scene)
    with pytest.raises(ValueError, match="points of 3 numbers, not of shape"):
        scene.particles(np.zeros((4, 2)), radius=1)
    with pytest.raises(ValueError, match="indices are from 0 to 2"):
        scene.mesh(np.zeros((3, 3)), indices=[0, 1, 3])
    with pytest.raises(ValueError, match="5 colors for 3 points"):
        scene.particles(np.zeros((3, 3)), radius=1, per_vertex_color=np.zeros((5, 3)))
