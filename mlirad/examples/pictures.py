"""Pictures of a simulation, drawn into arrays, and files of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from mlirad.tools.video import find_ffmpeg, make_video

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]

NIGHT, INK, GOLD, SKY, ROSE, LEAF = (
    (11, 14, 20),
    (170, 178, 192),
    (255, 180, 84),
    (89, 194, 255),
    (242, 122, 134),
    (149, 204, 120),
)
FINER = 3  # drawn larger, then made smaller: edges are smooth
STRIP, LETTERS = 28, 15  # pixels: the height of a line of text, and the size of its letters
FASTEST, SHORTEST, LAST = 25, 1.6, 1.0  # frames per second; seconds of a video, and of its end


class Canvas:
    """A square picture of the square from (0, 0) to (1, 1), with y upwards."""

    def __init__(self, size: int, background: Colour = NIGHT) -> None:
        self.size, self.scale = size, size * FINER
        self._image = Image.new("RGB", (self.scale, self.scale), background)
        self._draw = ImageDraw.Draw(self._image)

    def discs(self, centres: ArrayLike, radius: float, colours: Colour | Sequence[Colour]) -> None:
        """Draw discs of one radius, of one color or one for each."""
        middles = np.atleast_2d(np.asarray(centres))
        colour_of_each = [colours] * len(middles) if isinstance(colours[0], int) else colours
        for middle, colour in zip(middles, colour_of_each):
            x, y = self._place(middle)
            r = max(radius * self.scale, 0.5)
            self._draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)  # type: ignore[arg-type]

    def path(self, points: ArrayLike, width: float, colour: Colour) -> None:
        """Draw a line from point to point."""
        places = [self._place(point) for point in np.asarray(points)]
        self._draw.line(places, fill=colour, width=max(1, round(width * self.scale)), joint="curve")

    def ring(self, centre: ArrayLike, radius: float, width: float, colour: Colour) -> None:
        """Draw a circle."""
        (x, y), r = self._place(np.asarray(centre)), radius * self.scale
        thick = max(1, round(width * self.scale))
        self._draw.ellipse((x - r, y - r, x + r, y + r), outline=colour, width=thick)

    def flag(self, x: float, floor: float, height: float) -> None:
        """Draw a flag on the floor: the mark that something is to reach."""
        top, tip = floor + height, 0.25 * height
        self.path([(x, floor), (x, top)], 0.01, GOLD)
        cloth = [(x, top), (x + tip, top - 0.5 * tip), (x, top - tip)]
        self._draw.polygon([self._place(corner) for corner in cloth], fill=GOLD)

    def picture(self) -> Picture:
        """Return the picture."""
        small = self._image.resize((self.size, self.size), Image.Resampling.LANCZOS)
        return np.asarray(small)

    def _place(self, point: ArrayLike) -> tuple[float, float]:
        x, y = np.asarray(point)
        return float(x) * self.scale, (1 - float(y)) * self.scale


def shades(values: ArrayLike, size: int, colours: Sequence[Colour]) -> Picture:
    """Return a field over the unit square as a picture: its values from 0 to 1 go through the
    colors. The first index is x."""
    turned = np.clip(np.asarray(values).T[::-1], 0, 1)
    stops = np.linspace(0, 1, len(colours))
    painted = np.stack(
        [np.interp(turned, stops, [colour[k] for colour in colours]) for k in range(3)], axis=-1
    )
    image = Image.fromarray(painted.round().astype(np.uint8))
    return np.asarray(image.resize((size, size), Image.Resampling.BICUBIC))


def outline(picture: Picture, values: ArrayLike, colour: Colour = INK) -> Picture:
    """Return a picture with the line around the values above one half of a field."""
    inside = shades(values, len(picture), [(0, 0, 0), (255, 255, 255)])[:, :, 0] > 127
    rim = np.zeros_like(inside)
    rim[:, 1:] |= inside[:, 1:] != inside[:, :-1]
    rim[1:] |= inside[1:] != inside[:-1]
    return np.where(rim[:, :, None], np.array(colour, np.uint8), picture)


def side_by_side(
    pictures: Sequence[Picture], titles: Sequence[str], notes: Sequence[str]
) -> Picture:
    """Return pictures in a row, each with a title above it and a note below it."""
    height, size = pictures[0].shape[:2]
    image = Image.new("RGB", (size * len(pictures), height + 2 * STRIP), NIGHT)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(LETTERS)
    for k, (picture, title, note) in enumerate(zip(pictures, titles, notes)):
        middle = (k + 0.5) * size
        image.paste(Image.fromarray(picture), (k * size, STRIP))
        draw.text((middle, STRIP / 2), title, fill=INK, font=font, anchor="mm")
        draw.text((middle, height + 1.5 * STRIP), note, fill=GOLD, font=font, anchor="mm")
        draw.line([(k * size, 0), (k * size, image.height)], fill=INK if k else NIGHT)
    return np.asarray(image)


def default_suffix() -> str:
    """Return the kind of video that this machine can make: `.mp4` if it has ffmpeg."""
    return ".mp4" if find_ffmpeg() is not None else ".gif"


def save(frames: Sequence[Picture], file: Path) -> None:
    """Write a video (.mp4, .gif, .webp), or the last frame as a picture."""
    images = [Image.fromarray(frame) for frame in frames]
    rate = min(FASTEST, len(images) / SHORTEST)
    if file.suffix == ".mp4":
        _save_mp4([*images, *images[-1:] * round(LAST * rate)], rate, file)
    elif file.suffix in (".gif", ".webp"):
        durations = [round(1000 / rate)] * (len(images) - 1) + [round(1000 * LAST)]
        first, *following = images
        first.save(
            file,
            save_all=True,
            append_images=following,
            duration=durations,
            loop=0,
            quality=50,  # of .webp
        )
    else:
        images[-1].save(file)


def _save_mp4(images: Sequence[Image.Image], rate: float, file: Path) -> None:
    with TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number:06}.png" for number in range(len(images))]
        for image, path in zip(images, files):
            image.save(path, compress_level=1)
        make_video(files, frame_rate=rate, output_path=str(file))
