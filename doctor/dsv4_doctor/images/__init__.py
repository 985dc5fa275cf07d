"""Reading container images where they lie: OCI layouts and archives, layer by layer."""
