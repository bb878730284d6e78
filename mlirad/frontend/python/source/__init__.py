"""Functions as text: their syntax trees, and what these say about names and control flow."""
