"""Windows on a display that nobody sees, and programs without one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

WINDOW = """
import mlirad as ti, numpy as np
gui = ti.GUI("a window", res=(80, 60))
print(type(gui._display).__name__)
for k in range(3):
    gui.circles(np.array([[0.5, 0.5]]), radius=20, color=0xFF8000)
    gui.show()
print(gui.running, gui.get_event(gui.ESCAPE))
gui._display._window.dispatch_event("on_mouse_press", 40, 30, 1, 0)
gui._display._window.dispatch_event("on_key_press", 0xFF1B, 0)
print([(e.type, e.key) for e in gui.get_events(gui.PRESS)], gui.get_cursor_pos())
print(gui.is_pressed(gui.LMB, "a"))
gui._display._window.dispatch_event("on_close")
gui.show()
print(gui.running)
gui.close()
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, on a display if one is given."""
    given = {k: v for k, v in os.environ.items() if k != "DISPLAY"} | environment
    return subprocess.run(
        [sys.executable, "-c", program], env=given, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def display() -> Iterator[str]:
    """A display without a screen."""
    if shutil.which("Xvfb") is None or find_spec("pyglet") is None:
        pytest.skip("needs Xvfb and pyglet")
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "640x480x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as number:
        yield f":{number.readline().strip()}"
    server.terminate()
    server.wait()


def test_a_window_opens_and_hears(display: str) -> None:
    ended = run(WINDOW, DISPLAY=display)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "WindowDisplay",
        "True False",
        "[('Press', 'LMB'), ('Press', 'Escape')] (0.5, 0.5)",
        "True",
        "False",
    ]


def test_without_a_display_one_line_says_so() -> None:
    ended = run(
        "import mlirad as ti\nfor k in range(2):\n gui = ti.GUI()\nwhile gui.running: gui.show()\n",
        MLIRAD_FRAMES="3",
    )
    assert ended.returncode == 0 and ended.stderr.count("\n") == 1
    assert "no window is shown" in ended.stderr and "DISPLAY is not set" in ended.stderr


def test_a_display_that_is_gone_is_no_error() -> None:
    pytest.importorskip("pyglet")
    ended = run("import mlirad as ti\nti.GUI().show()\nprint('on')", DISPLAY=":987")
    assert ended.stdout == "on\n", ended.stderr
    assert "no window is shown" in ended.stderr
