"""The page docs/performance.md: its figures, and the command that writes it."""
