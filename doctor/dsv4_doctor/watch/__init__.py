"""A running server of vLLM and the GPUs under it, watched by rules that are data."""
