"""Videos of numbered frames."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Protocol

from PIL import Image

from mlirad.checks import file_name, flag, integer, number, text
from mlirad.drawing.numbers import Numbers, as_array
from mlirad.errors import TaichiRuntimeError
from mlirad.gui.display import say
from mlirad.tools.image import imwrite

__all__ = ["VideoManager", "make_video"]

_NAME = "%06d.png"


class PostProcessor(Protocol):
    """Changes frames before they are written."""

    def process(self, img: Numbers) -> Numbers:
        """The changed image."""


class VideoManager:
    """A writer of frames, as numbered files in a folder, and of videos: GIF by Pillow, and MP4 if
    ffmpeg is installed.

    Frames are images as `imwrite` takes them; `framerate` is their number per second. With
    `automatic_build`, videos are made again after 4, 8, 16, ... frames. Raises OSError if the
    folder cannot be made.
    """

    def __init__(
        self,
        output_dir: str | PathLike[str],
        video_filename: str | None = None,
        width: int | None = None,
        height: int | None = None,
        post_processor: PostProcessor | None = None,
        framerate: float = 24,
        automatic_build: bool = True,
    ) -> None:
        self.directory = Path(file_name(output_dir, "output_dir"))
        self.width, self.height = (
            None if size is None else integer(size, name, low=1)
            for name, size in (("width", width), ("height", height))
        )
        self.video_filename = (
            None if video_filename is None else text(video_filename, "video_filename")
        )
        self.framerate = number(framerate, "framerate", low=0.01, high=1000)
        self.post_processor = post_processor
        self.automatic_build = flag(automatic_build, "automatic_build")
        self.frame_counter, self._next_video = 0, 4
        self.frame_fns: list[str] = []
        self.frame_directory = str(self.directory / "frames")
        Path(self.frame_directory).mkdir(parents=True, exist_ok=True)

    def get_output_filename(self, suffix: str) -> str:
        """Return the path of the video with a suffix."""
        return str(self.directory / (Path(self.video_filename or "video").stem + suffix))

    def get_frame_directory(self) -> str:
        """Return the folder of the frames."""
        return self.frame_directory

    def write_frame(self, img: object) -> None:
        """Write the next frame, without an odd last row or column, which videos cannot have. Raises
        ValueError if it is not an image, and what `imwrite` raises."""
        image = as_array(img, "a frame")
        if self.post_processor is not None:
            image = self.post_processor.process(image)
        if image.ndim < 2:
            raise ValueError(f"expected a frame with at least two axes, got shape {image.shape}")
        image = image[: image.shape[0] // 2 * 2, : image.shape[1] // 2 * 2]
        self.width, self.height = self.width or image.shape[0], self.height or image.shape[1]
        name = _NAME % self.frame_counter
        imwrite(image, Path(self.frame_directory) / name)
        self.frame_fns.append(name)
        self.frame_counter += 1
        if self.automatic_build and self.frame_counter == self._next_video:
            self.make_video()
            self._next_video *= 2

    def write_frames(self, images: Iterable[object]) -> None:
        """Write several frames."""
        for image in images:
            self.write_frame(image)

    def clean_frames(self) -> None:
        """Delete the frames."""
        for name in self.frame_fns:
            (Path(self.frame_directory) / name).unlink(missing_ok=True)
        self.frame_fns.clear()

    def make_video(self, mp4: bool = True, gif: bool = True) -> None:
        """Make videos of the frames. Without ffmpeg, make a GIF instead of an MP4, and print one
        line that says so."""
        frames = [Path(self.frame_directory) / name for name in self.frame_fns]
        program = find_ffmpeg() if mp4 else None
        if mp4 and program is None:
            say(
                "there is no ffmpeg on the path, nor the package imageio-ffmpeg: videos are "
                f"written as GIF ({self.get_output_filename('.gif')})"
            )
        if mp4 and program is not None:
            size = self.width or 0, self.height or 0
            make_video(frames, *size, self.framerate, output_path=self.get_output_filename(".mp4"))
        if gif or program is None:
            _write_gif(frames, self.get_output_filename(".gif"), self.framerate)


def make_video(
    input_files: Iterable[str | PathLike[str]],
    width: int = 0,
    height: int = 0,
    frame_rate: float = 24,
    crf: int = 20,
    output_path: str | PathLike[str] = "video.mp4",
) -> None:
    """Make an MP4 of images, in a size or in theirs. Raises TaichiRuntimeError without ffmpeg, and
    if it fails."""
    program = find_ffmpeg()
    if program is None:
        raise TaichiRuntimeError("there is no ffmpeg on the path, nor the package imageio-ffmpeg")
    command = [program, "-loglevel", "error", "-y", "-f", "image2pipe"]
    command += ["-framerate", str(frame_rate), "-i", "-"]
    command += ["-s", f"{width}x{height}"] if width and height else []
    command += ["-c:v", "libx264", "-crf", str(crf), "-pix_fmt", "yuv420p", str(output_path)]
    images = b"".join(Path(file).read_bytes() for file in input_files)
    ended = subprocess.run(command, input=images, capture_output=True, check=False)
    if ended.returncode:
        raise TaichiRuntimeError(f"ffmpeg: {ended.stderr.decode().strip()}")


def find_ffmpeg() -> str | None:
    """Return the path of the program that makes videos, or None if there is none."""
    program = shutil.which("ffmpeg")
    if program is None and find_spec("imageio_ffmpeg") is not None:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    return program


def _write_gif(frames: list[Path], path: str, framerate: float) -> None:
    """Make a GIF of images, where there are any."""
    pictures = [Image.open(frame) for frame in frames]
    if pictures:
        first, *following = pictures
        duration = 1000 / framerate
        first.save(path, save_all=True, append_images=following, duration=duration, loop=0)
    for picture in pictures:
        picture.close()
