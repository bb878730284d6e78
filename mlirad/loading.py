"""When this process began to load mlirad, and from where: the first module of ours to be read."""

from os.path import dirname
from time import time_ns

BEGAN, FOLDER = time_ns(), dirname(__file__)
