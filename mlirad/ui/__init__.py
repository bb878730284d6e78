"""`ti.ui`: windows with a canvas, and with 3D scenes seen by a camera."""

from mlirad.gui.events import (
    ALT,
    BACKSPACE,
    CAPSLOCK,
    CTRL,
    DOWN,
    ESCAPE,
    LEFT,
    LMB,
    MMB,
    PRESS,
    RELEASE,
    RETURN,
    RIGHT,
    RMB,
    SHIFT,
    SPACE,
    TAB,
    UP,
)
from mlirad.gui.gui import GUI
from mlirad.ui.camera import Camera, ProjectionMode, make_camera
from mlirad.ui.canvas import Canvas
from mlirad.ui.panels import Gui
from mlirad.ui.scene import Scene
from mlirad.ui.window import Window

__all__ = [
    "ALT",
    "BACKSPACE",
    "CAPSLOCK",
    "CTRL",
    "DOWN",
    "ESCAPE",
    "GUI",
    "LEFT",
    "LMB",
    "MMB",
    "PRESS",
    "RELEASE",
    "RETURN",
    "RIGHT",
    "RMB",
    "SHIFT",
    "SPACE",
    "TAB",
    "UP",
    "Camera",
    "Canvas",
    "Gui",
    "ProjectionMode",
    "Scene",
    "Window",
    "make_camera",
]


def __dir__() -> list[str]:
    return __all__
