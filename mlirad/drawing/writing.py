"""Pictures in files."""

from __future__ import annotations

from os import PathLike
from os.path import splitext

import numpy as np
from PIL import Image

from mlirad.checks import file_name
from mlirad.drawing.colours import Bytes


def write_rows(rows: Bytes, file: str | PathLike[str]) -> None:
    """Write rows from the top, as the name of the file asks. Raises OSError if it cannot be
    written, ValueError for an unknown kind, TaichiTypeError for what is no name."""
    name = file_name(file)
    kind = splitext(name)[1].lower()
    if Image.registered_extensions().get(kind) not in Image.SAVE:
        raise ValueError(
            f"unknown file extension: {name!r} does not end in .png, .jpg, .bmp, .gif, ..."
        )
    channels = rows if rows.ndim == 2 or rows.shape[2] != 1 else rows[..., 0]
    if channels.ndim == 3 and channels.shape[2] == 2:
        channels = np.concatenate([channels, np.zeros_like(channels[..., :1])], axis=2)
    picture = Image.fromarray(np.ascontiguousarray(channels))
    if kind in (".jpg", ".jpeg", ".bmp") and picture.mode == "RGBA":
        picture = picture.convert("RGB")
    picture.save(name)
