"""Which tests pytest would collect, read from the source alone."""
