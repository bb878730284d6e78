"""`ti.tools`: image, mesh and video files, and functions that show images."""

from mlirad.tools import image, video
from mlirad.tools.image import imdisplay, imread, imresize, imshow, imwrite
from mlirad.tools.ply import PLYWriter
from mlirad.tools.video import VideoManager
from mlirad.tools.vtk import write_vtk

__all__ = [
    "PLYWriter",
    "VideoManager",
    "image",
    "imdisplay",
    "imread",
    "imresize",
    "imshow",
    "imwrite",
    "video",
    "write_vtk",
]


def __dir__() -> list[str]:
    return __all__
