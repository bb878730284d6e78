"""Kernels as Python sees them, and their launches."""
