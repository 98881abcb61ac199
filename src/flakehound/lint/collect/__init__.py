"""Which tests pytest would collect, told from the source alone."""
