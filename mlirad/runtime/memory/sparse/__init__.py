"""Elements that are seen by the activity of the blocks around them."""
