"""Pure functions from facts and a target to findings, one module per subject."""
