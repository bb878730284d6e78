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
    """Write an image `[x, y]`, grey or with up to four channels, as the name of the file asks.

    It is a field, an ndarray or an array; x goes to the right, y upwards. Floats are from 0 to 1,
    unsigned integers are divided by their greatest value. Raises OSError if the file cannot be
    written, ValueError for another shape or an unknown kind of file, TaichiTypeError for other
    numbers.
    """
    write_rows(rows_from_top(image_bytes(img)), file_name(filename, "filename"))


def imread(filename: str | PathLike[str], channels: int = 0) -> Bytes:
    """Read an image as bytes (u8) `[x, y, channel]`, with the file's channels (0) or so many, 1 to
    4. Raises OSError if it cannot be read, ValueError for another number of channels."""
    if integer(channels, "channels") not in _MODES:
        raise ValueError(f"channels is 0 (as many as there are) to 4, not {channels}")
    with Image.open(file_name(filename, "filename")) as picture:
        mode = _MODES[channels]
        if mode is None:
            mode = picture.mode if picture.mode in _MODES.values() else "RGB"
        rows = np.asarray(picture.convert(mode))
    return from_rows(rows if rows.ndim == 3 else rows[..., None])


def imresize(img: object, w: int, h: int | None = None) -> Numbers:
    """An image `[x, y]` of another width and height (else the same as the width), with its nearest
    elements, as an array of its own type. Raises ValueError for one with fewer than two axes."""
    image = as_array(img, "an image")
    if image.ndim < 2:
        raise ValueError(f"an image has at least two axes, not the shape {image.shape}")
    width = integer(w, "w", low=1, high=LARGEST)
    size = width, width if h is None else integer(h, "h", low=1, high=LARGEST)
    if not image.size:
        raise ValueError(f"an image has pixels: one of shape {image.shape} has none")
    if image.shape[:2] == size:
        return image
    rows, columns = (np.arange(n) * m // n for n, m in zip(size, image.shape))
    return image[np.ix_(rows, columns)]


def imshow(img: object, title: str = "imshow") -> None:
    """Show an image in a window until it is closed, or in a notebook's output; without a display
    nothing is shown. Raises what `imwrite` raises for what is no image."""
    image = as_rgb(image_bytes(img))
    with GUI(text(title, "title"), res=image.shape[:2]) as gui:
        while gui.running:
            gui.set_image(image)
            gui.show()
            if not gui.waits or gui.get_event(GUI.ESCAPE):
                break


def imdisplay(img: object) -> None:
    """Show an image in a notebook's output, or a window; see `imshow`."""
    imshow(img, "imdisplay")
