"""What a vLLM release needs, read from its own source tree without running any of it."""
