"""Building twice under different circumstances, and saying whether the bytes are the same."""
