"""Files of NumPy's and HDF5, to which all ranks write at once, each its part.

A field lies in either as one array, without gaps: one rank makes the file, and all map it. So HDF5
needs no library that was built with MPI.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_HDF5 = {".h5", ".hdf5"}


def create(path: str, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Make a file with room for an array, or room in a file of HDF5; where it begins, in bytes."""
    if Path(path).suffix not in _HDF5:
        array = np.lib.format.open_memmap(path, "w+", dtype, shape)
        array.flush()
        return int(array.offset)
    h5py = _h5py()
    with h5py.File(path, "a") as file:
        if name in file:
            del file[name]
        group, _, last = name.rpartition("/")
        place = file.require_group(group) if group else file
        asked = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        asked.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        asked.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        kind, space = h5py.h5t.py_create(dtype, logical=True), h5py.h5s.create_simple(shape)
        dataset = h5py.h5d.create(place.id, last.encode(), kind, space, asked)
        return int(dataset.get_offset())


def write(path: str, begin: int, shape: tuple[int, ...], where: Any, values: Array) -> None:
    """Set a part of an array that begins at a byte of a file."""
    file = np.memmap(path, values.dtype, "r+", begin, shape)
    file[where] = values
    file.flush()


def read(path: str, name: str, shape: tuple[int, ...], where: Any) -> Array:
    """Return a part of an array. Raises ValueError if it is not there, or has another shape."""
    if Path(path).suffix not in _HDF5:
        return np.asarray(_check_shape(np.load(path, mmap_mode="r"), path, shape)[where])
    with _h5py().File(path, "r") as file:
        if name not in file:
            raise ValueError(f"Grid.load: {path} has no '{name}', it has {', '.join(file)}")
        return np.asarray(_check_shape(file[name], path, shape)[where])


def _check_shape(array: Any, path: str, shape: tuple[int, ...]) -> Any:
    if array.shape != shape:
        raise ValueError(f"Grid.load: the grid has {shape}, {path} has {array.shape}")
    return array


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"HDF5 files need h5py, which is not installed ({error}): pip install 'mlirad[mpi]', "
            "or give the file a name that ends in .npy"
        ) from error
    return h5py
