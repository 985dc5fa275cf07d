"""The account of a build: what ran when, in how much memory, as JSON and as a page to look at."""
