"""What vLLM releases, toolkits and GPUs need, as data files with a source, and their loaders."""
