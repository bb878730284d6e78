"""What carries derivatives, and what a reverse needs of the forward run."""
