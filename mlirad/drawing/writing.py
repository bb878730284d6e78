"""Pictures in files."""

from __future__ import annotations

from os import PathLike

import numpy as np
from PIL import Image

from mlirad.drawing.colours import Bytes


def write_rows(rows: Bytes, file: str | PathLike[str]) -> None:
    """Write rows from the top, as the name of the file asks. Raises OSError where it cannot be
    written, ValueError for an unknown kind."""
    channels = rows if rows.ndim == 2 or rows.shape[2] != 1 else rows[..., 0]
    if channels.ndim == 3 and channels.shape[2] == 2:
        channels = np.concatenate([channels, np.zeros_like(channels[..., :1])], axis=2)
    picture = Image.fromarray(np.ascontiguousarray(channels))
    if str(file).lower().endswith((".jpg", ".jpeg", ".bmp")) and picture.mode == "RGBA":
        picture = picture.convert("RGB")
    picture.save(file)
