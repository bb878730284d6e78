"""Derivatives of programs: the tape."""
from mlirad.ad.tape import Tape, clear_all_gradients

__all__ = ["Tape", "clear_all_gradients"]
