"""Command lines of ``vllm serve`` held against what a release really takes."""
