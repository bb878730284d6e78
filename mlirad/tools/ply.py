"""Meshes and points in PLY files."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import numpy as np

from mlirad.checks import file_name, integer, text
from mlirad.drawing.numbers import Numbers, as_array
from mlirad.errors import did_you_mean

_TYPES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "float": "f4",
    "double": "f8",
}
LARGEST = 2**31 - 1  # vertices or faces
_CORNERS = {"tri": 3, "quad": 4}


class Channels:
    """Columns of numbers with names, so many rows of each."""

    def __init__(self, count: int, noun: str) -> None:
        self.count, self.what = count, noun
        self.columns: dict[str, tuple[str, Numbers]] = {}

    def add(self, key: str, data_type: str, data: object) -> None:
        """Add a column, or several, whose names are numbered; one of an unknown type is left out,
        with a warning. Raises ValueError for another number of rows, and a name that is there."""
        if _one_line(key, "a channel's name") != key.replace(" ", "_"):
            raise ValueError(f"a channel's name has no blanks, as {key!r} has")
        if text(data_type, "a channel's type") not in _TYPES:
            hint = did_you_mean(data_type, _TYPES)
            warnings.warn(
                f"channel '{key}' is left out: '{data_type}' is not a type of a PLY file{hint}",
                stacklevel=3,
            )
            return
        array = as_array(data, f"channel '{key}'")
        if array.ndim not in (1, 2) or len(array) != self.count:
            raise ValueError(
                f"channel '{key}' has the shape {array.shape}: there are {self.count} {self.what}"
            )
        names = [key] if array.ndim == 1 else [f"{key}_{k + 1}" for k in range(array.shape[1])]
        for name, column in zip(names, array.reshape(self.count, -1).T):
            if name in self.columns:
                raise ValueError(f"there is already a channel '{name}'")
            self.columns[name] = data_type, column.astype(_TYPES[data_type])

    def header(self) -> list[str]:
        """A line for each column."""
        return [f"property {kind} {name}" for name, (kind, _) in self.columns.items()]

    def formats(self) -> list[tuple[str, str]]:
        """Names and NumPy's types."""
        return [(name, _TYPES[kind]) for name, (kind, _) in self.columns.items()]

    def fill(self, table: Numbers) -> None:
        """Put the columns into a table with columns of their names."""
        for name, (_, column) in self.columns.items():
            table[name] = column


class PLYWriter:
    """A mesh of triangles or quads, or a set of points, with data for vertices and faces, for a PLY
    file.

    Data are fields, ndarrays or arrays with a number, or a row of numbers, for each vertex or face.
    Data of an unknown type are omitted, with a warning. The named channels (`add_vertex_pos`, ...)
    are stored as 32-bit floats and integers.

    Args:
        num_vertices: the number of vertices.
        num_faces: the number of faces.
        face_type: "tri" or "quad".
        comment: a comment in the file.

    Raises:
        ValueError: a size is not valid, the number of rows differs, or a channel exists already.
    """

    def __init__(
        self,
        num_vertices: int,
        num_faces: int = 0,
        face_type: str = "tri",
        comment: str = "created by PLYWriter",
    ) -> None:
        num_vertices = integer(num_vertices, "num_vertices", high=LARGEST)
        num_faces = integer(num_faces, "num_faces", high=LARGEST)
        if num_vertices <= 0 or num_faces < 0:
            raise ValueError(f"{num_vertices} vertices and {num_faces} faces are not a mesh")
        if text(face_type, "face_type") not in _CORNERS:
            raise ValueError(f"expected face_type='tri' or face_type='quad', got {face_type!r}")
        self.num_vertices, self.num_faces = num_vertices, num_faces
        self.face_type, self.comment = face_type, _one_line(comment, "comment")
        self._vertices = Channels(num_vertices, "vertices")
        self._faces = Channels(num_faces, "faces")
        self.face_indices = np.full((num_faces, _CORNERS[face_type]), -1, np.int32)

    def add_vertex_channel(self, key: str, data_type: str, data: object) -> None:
        """Add data for the vertices, in a type of PLY: "char", "uchar", "short", "ushort", "int",
        "uint", "float" or "double"."""
        self._vertices.add(key, data_type, data)

    def _add_floats(self, keys: Sequence[str], *columns: object) -> None:
        for key, column in zip(keys, columns):
            self._vertices.add(key, "float", column)

    def add_vertex_pos(self, x: object, y: object, z: object) -> None:
        """Add positions of the vertices. Nothing is exported without them."""
        self._add_floats(("x", "y", "z"), x, y, z)

    def add_vertex_normal(self, nx: object, ny: object, nz: object) -> None:
        """Add normals of the vertices."""
        self._add_floats(("nx", "ny", "nz"), nx, ny, nz)

    def add_vertex_vel(self, vx: object, vy: object, vz: object) -> None:
        """Add velocities of the vertices."""
        self._add_floats(("vx", "vy", "vz"), vx, vy, vz)

    def add_vertex_color(self, r: object, g: object, b: object) -> None:
        """Add colors of the vertices."""
        self._add_floats(("red", "green", "blue"), r, g, b)

    def add_vertex_alpha(self, alpha: object) -> None:
        """Add opacities of the vertices."""
        self._add_floats(("Alpha",), alpha)

    def add_vertex_rgba(self, r: object, g: object, b: object, a: object) -> None:
        """Add colors and opacities of the vertices."""
        self._add_floats(("red", "green", "blue", "Alpha"), r, g, b, a)

    def add_vertex_id(self) -> None:
        """Add the index of each vertex."""
        self._vertices.add("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: object) -> None:
        """Add the piece to which each vertex belongs."""
        self._vertices.add("piece", "int", piece)

    def add_faces(self, indices: object) -> None:
        """Set the corners of the faces, as indices of vertices, in one row or in a row for each
        face. Raises ValueError if their number is wrong."""
        corners = as_array(indices, "indices")
        if corners.size != self.face_indices.size:
            raise ValueError(
                f"{self.num_faces} faces have {self.face_indices.size} corners, not {corners.size}"
            )
        self.face_indices = corners.reshape(self.face_indices.shape).astype(np.int32)

    def add_face_channel(self, key: str, data_type: str, data: object) -> None:
        """Add data for the faces; see `add_vertex_channel`."""
        self._faces.add(key, data_type, data)

    def add_face_id(self) -> None:
        """Add the index of each face."""
        self._faces.add("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: object) -> None:
        """Add the piece to which each face belongs."""
        self._faces.add("piece", "int", piece)

    def export(self, path: str) -> None:
        """Write a binary file.

        Raises:
            OSError: the file cannot be written.
            ValueError: there are no positions, or a corner is not a vertex.
        """
        self._write(path, f"binary_{sys.byteorder}_endian")

    def export_ascii(self, path: str) -> None:
        """Write a text file. Raises what `export` raises."""
        self._write(path, "ascii")

    def export_frame(self, series_num: int, path: str) -> None:
        """Write a binary file of a numbered series, such as `path_000012.ply`. Raises what `export`
        raises."""
        self.export(_frame_name(path, series_num))

    def export_frame_ascii(self, series_num: int, path: str) -> None:
        """Write a text file of a numbered series, such as `path_000012.ply`. Raises what `export`
        raises."""
        self.export_ascii(_frame_name(path, series_num))

    def _write(self, path: str, kind: str) -> None:
        name = file_name(path, "path")
        _check(self._vertices, self.face_indices)
        head = ["ply", f"format {kind} 1.0", f"comment {self.comment}"]
        head += _header(self._vertices, self._faces)
        with open(name, "wb") as file:
            file.write("\n".join([*head, "end_header", ""]).encode())
            for table in self._tables():
                if kind == "ascii":
                    file.writelines(_row(record).encode() for record in table)
                else:
                    file.write(table.tobytes())

    def _tables(self) -> list[Numbers]:
        corners = self.face_indices.shape[1]
        vertices = np.zeros(self.num_vertices, self._vertices.formats())
        around: list[tuple[str, str, tuple[int, ...]]] = [("#", "u1", ()), ("@", "i4", (corners,))]
        faces = np.zeros(self.num_faces, [*around, *self._faces.formats()])
        faces["#"], faces["@"] = corners, self.face_indices
        self._vertices.fill(vertices)
        self._faces.fill(faces)
        return [vertices, faces]


def _check(vertices: Channels, corners: Numbers) -> None:
    """Raise ValueError if positions are missing, or faces have corners that do not exist."""
    missing = [name for name in ("x", "y", "z") if name not in vertices.columns]
    if missing:
        raise ValueError(f"the vertices have no {', '.join(missing)}: use add_vertex_pos")
    if corners.size and not 0 <= corners.min() <= corners.max() < vertices.count:
        raise ValueError(f"corners of faces must be from 0 to {vertices.count - 1}")


def _header(vertices: Channels, faces: Channels) -> list[str]:
    lines = [f"element vertex {vertices.count}", *vertices.header()]
    if faces.count:
        corners = "property list uchar int vertex_indices"
        lines += [f"element face {faces.count}", corners, *faces.header()]
    return lines


def _row(record: Numbers) -> str:
    """The numbers of a row as text."""
    numbers = [str(number) for column in record.tolist() for number in np.ravel(column).tolist()]
    return " ".join(numbers) + "\n"


def _frame_name(path: str, number: int) -> str:
    return f"{file_name(path, 'path').removesuffix('.ply')}_{integer(number, 'series_num'):06d}.ply"


def _one_line(value: object, subject: str) -> str:
    line = text(value, subject)
    if "\n" in line or "\r" in line:
        raise ValueError(f"{subject} must be one line, not {line!r}")
    return line
