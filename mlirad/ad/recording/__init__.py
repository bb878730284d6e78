"""What a tape has recorded, and what reverses need of it."""
