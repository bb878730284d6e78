"""Blocks of threads and what they share, and what the host does around a launch."""
