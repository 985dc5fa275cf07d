"""Many machines to one picture."""
