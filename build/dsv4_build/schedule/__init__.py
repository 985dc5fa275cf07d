"""The compile engine: which compilers run when, so that they fit into memory and end soonest."""
