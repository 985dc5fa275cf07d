"""What a build will take, before it is begun, and whether the machine has that much."""
