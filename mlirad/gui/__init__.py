"""`ti.GUI`: a picture to draw on, shown where there is a display."""
