"""From a model and a machine to a start command: each parameter with its reason, and the memory."""
