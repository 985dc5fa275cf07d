"""Questions over all known vLLM releases: what changed, and which one fits."""
