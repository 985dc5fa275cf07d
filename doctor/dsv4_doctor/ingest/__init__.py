"""Foreign text to a snapshot: what other tools print, pasted somewhere, one module per format."""
