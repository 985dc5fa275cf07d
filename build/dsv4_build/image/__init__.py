"""From a proved wheel to the image that a cluster pulls."""
