"""Pictures as arrays: shapes drawn on them, and what fields and images are as colors."""
