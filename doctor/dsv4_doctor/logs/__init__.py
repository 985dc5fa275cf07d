"""From a log of a build or a server to the cause, and what to do."""
