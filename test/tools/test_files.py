"""Images, meshes and videos in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mlirad as ti
from mlirad.tools import video


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_come_back_as_they_were_written(channels: int, tmp_path: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (9, 7, channels)).astype(np.uint8)
    ti.tools.imwrite(image, tmp_path / "a.png")
    assert (ti.tools.imread(tmp_path / "a.png") == image).all()
    assert ti.tools.imread(tmp_path / "a.png", channels=3).shape == (9, 7, 3)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (9, 7)


def test_numbers_are_scaled_to_bytes(tmp_path: Path) -> None:
    for image in (np.full((4, 4), 0.5), np.full((4, 4), 32767, np.uint16)):
        ti.tools.imwrite(image, str(tmp_path / "a.png"))
        assert ti.tools.imread(str(tmp_path / "a.png"))[0, 0, 0] == 127


def test_resized_images_have_the_nearest_elements() -> None:
    image = np.arange(12).reshape(3, 4)
    assert (ti.tools.imresize(image, 6, 8) == image.repeat(2, 0).repeat(2, 1)).all()
    assert ti.tools.imresize(image, 3, 4) is image


def test_files_that_cannot_be_written_are_errors(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no/such"):
        ti.tools.imwrite(np.zeros((4, 4)), "no/such/a.png")
    with pytest.raises(OSError, match="nothing"):
        ti.tools.imread(tmp_path / "nothing.png")
    with pytest.raises(ValueError, match="1 to 4 channels"):
        ti.tools.imwrite(np.zeros((4, 4, 6)), "a.png")


def quads() -> ti.tools.PLYWriter:
    writer = ti.tools.PLYWriter(num_vertices=4, num_faces=1, face_type="quad")
    writer.add_vertex_pos(*np.arange(12.0).reshape(3, 4))
    writer.add_vertex_id()
    writer.add_faces(np.array([0, 1, 2, 3]))
    writer.add_face_channel("heat", "double", np.array([2.5]))
    return writer


def test_ply_files_hold_their_channels(tmp_path: Path) -> None:
    quads().export_frame_ascii(7, str(tmp_path / "a.ply"))
    text = (tmp_path / "a_000007.ply").read_text()
    head, _, body = text.partition("end_header\n")
    assert head.splitlines()[:4] == ["ply", "format ascii 1.0", "comment created by PLYWriter",
                                     "element vertex 4"]  # fmt: skip
    assert body.splitlines() == [*(f"{k}.0 {k + 4}.0 {k + 8}.0 {k}" for k in range(4)),
                                 "4 0 1 2 3 2.5"]  # fmt: skip
    quads().export(str(tmp_path / "b.ply"))
    binary = (tmp_path / "b.ply").read_bytes().partition(b"end_header\n")[2]
    assert len(binary) == 4 * 16 + 1 + 16 + 8
    assert np.frombuffer(binary[:16], "f4,f4,f4,i4")[0].tolist() == (0, 4, 8, 0)


def test_meshes_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 4 vertices"):
        quads().add_vertex_channel("a", "float", np.zeros(3))
    with pytest.warns(UserWarning, match="not a type of a PLY file: did you mean 'float'"):
        quads().add_vertex_channel("a", "floot", np.zeros(4))
    with pytest.raises(ValueError, match="no x, y, z"):
        ti.tools.PLYWriter(3).export("a.ply")


def test_videos_are_made_of_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "find_ffmpeg", lambda: None)
    manager = ti.tools.VideoManager(tmp_path, framerate=10, automatic_build=False)
    manager.write_frames(np.full((9, 8, 3), k / 4, np.float32) for k in range(5))
    manager.make_video()
    with Image.open(manager.get_output_filename(".gif")) as found:
        assert found.size == (8, 8) and found.n_frames == 5 and found.info["duration"] == 100
    manager.clean_frames()
    assert not list(Path(manager.get_frame_directory()).iterdir())


def test_grids_are_written_for_paraview(tmp_path: Path) -> None:
    ti.tools.write_vtk(np.arange(6.0).reshape(2, 3), str(tmp_path / "grid"))
    lines = (tmp_path / "grid.vtk").read_text().splitlines()
    assert "DIMENSIONS 2 3 1" in lines and lines[-6:] == ["0", "3", "1", "4", "2", "5"]
