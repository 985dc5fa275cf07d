"""One module per source of facts. A probe reads and returns facts; it never judges."""
