"""Derivatives of programs: the tape."""
from mlirad.ad.check import check
from mlirad.ad.custom_gradients import grad_for, grad_replaced, no_grad
from mlirad.ad.tape import Tape, clear_all_gradients

__all__ = ["Tape", "check", "clear_all_gradients", "grad_for", "grad_replaced", "no_grad"]
