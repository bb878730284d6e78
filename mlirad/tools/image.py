"""Images in files, and shown."""

from __future__ import annotations

from os import PathLike

import numpy as np
from PIL import Image

from mlirad.checks import file_name, integer, text
from mlirad.drawing.colours import Bytes
from mlirad.drawing.images import as_rgb, from_rows, image_bytes, rows_from_top
from mlirad.drawing.numbers import Numbers, as_array
from mlirad.drawing.picture import LARGEST
from mlirad.drawing.writing import write_rows
from mlirad.gui.gui import GUI

__all__ = ["imdisplay", "imread", "imresize", "imshow", "imwrite"]

_MODES = {0: None, 1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def imwrite(img: object, filename: str | PathLike[str]) -> None:
    """Write an image to a file. The suffix of the name selects the format.

    Args:
        img: a field, an ndarray or an array `[x, y]`, gray or with up to four channels; x points
            right and y up. Floats range from 0 to 1; unsigned integers are divided by the largest
            value of their type.
        filename: the file.

    Raises:
        OSError: the file cannot be written.
        ValueError: the shape is wrong, or the suffix is unknown.
        TaichiTypeError: the numbers have another type.
    """
    write_rows(rows_from_top(image_bytes(img)), file_name(filename, "filename"))


def imread(filename: str | PathLike[str], channels: int = 0) -> Bytes:
    """Read an image as bytes (u8) `[x, y, channel]`.

    Args:
        filename: the file.
        channels: the number of channels, 1 to 4; 0 keeps those of the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the number of channels is wrong.
    """
    if integer(channels, "channels") not in _MODES:
        raise ValueError(f"expected channels from 0 (those of the file) to 4, got {channels}")
    with Image.open(file_name(filename, "filename")) as picture:
        mode = _MODES[channels]
        if mode is None:
            mode = picture.mode if picture.mode in _MODES.values() else "RGB"
        rows = np.asarray(picture.convert(mode))
    return from_rows(rows if rows.ndim == 3 else rows[..., None])


def imresize(img: object, w: int, h: int | None = None) -> Numbers:
    """Resize an image `[x, y]` by selecting the nearest elements.

    Args:
        img: the image.
        w: the new width.
        h: the new height, by default the width.

    Returns:
        An array of the type of the image.

    Raises:
        ValueError: the image has fewer than two axes.
    """
    image = as_array(img, "an image")
    if image.ndim < 2:
        raise ValueError(f"expected an image with at least two axes, got shape {image.shape}")
    width = integer(w, "w", low=1, high=LARGEST)
    size = width, width if h is None else integer(h, "h", low=1, high=LARGEST)
    if not image.size:
        raise ValueError(f"an image has pixels: one of shape {image.shape} has none")
    if image.shape[:2] == size:
        return image
    rows, columns = (np.arange(n) * m // n for n, m in zip(size, image.shape))
    return image[np.ix_(rows, columns)]


def imshow(img: object, title: str = "imshow") -> None:
    """Show an image in a window until it is closed, or in the output of a notebook. Without a
    display nothing is shown. Raises what `imwrite` raises if it is not an image."""
    image = as_rgb(image_bytes(img))
    with GUI(text(title, "title"), res=image.shape[:2]) as gui:
        while gui.running:
            gui.set_image(image)
            gui.show()
            if not gui.waits or gui.get_event(GUI.ESCAPE):
                break


def imdisplay(img: object) -> None:
    """Show an image in the output of a notebook, or in a window; see `imshow`."""
    imshow(img, "imdisplay")
