"""Places in a user's program, remarks, and messages of failures."""
