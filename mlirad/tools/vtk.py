"""Grids of numbers in VTK's files, which ParaView reads."""

from __future__ import annotations

import numpy as np

from mlirad.checks import file_name
from mlirad.drawing.numbers import as_array


def write_vtk(scalar_field: object, filename: str) -> None:
    """Write a grid to `filename.vtk`, in the legacy text format of VTK.

    Args:
        scalar_field: the numbers, with two or three axes.
        filename: the file without its suffix.

    Raises:
        ValueError: the shape is wrong.
        OSError: the file cannot be written.
    """
    values = as_array(scalar_field, "scalar_field")
    if values.ndim not in (2, 3):
        raise ValueError(
            f"expected scalar_field as a grid of two or three axes, got shape {values.shape}"
        )
    name = file_name(filename, "filename").removesuffix(".vtk")
    across, up, deep = (*values.shape, 1)[:3]
    head = [
        "# vtk DataFile Version 3.0",
        repr(name)[1:-1],  # one line
        "ASCII",
        "DATASET STRUCTURED_POINTS",
        f"DIMENSIONS {across} {up} {deep}",
        "ORIGIN 0 0 0",
        "SPACING 1 1 1",
        f"POINT_DATA {values.size}",
        "SCALARS value double 1",
        "LOOKUP_TABLE default",
    ]
    with open(f"{name}.vtk", "w") as file:
        file.write("\n".join(head) + "\n")
        np.savetxt(file, values.reshape(-1, order="F"), fmt="%.9g")
