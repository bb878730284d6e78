"""The elements that a kernel touches, as boxes."""
