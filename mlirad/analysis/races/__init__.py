"""Iterations that meet at an element, and memory that is overwritten before it is read again."""
