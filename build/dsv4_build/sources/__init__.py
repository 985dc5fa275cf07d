"""Sources of a build: brought once, kept by their content, named in a lock, carried in a bundle."""
