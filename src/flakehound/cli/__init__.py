"""The command line, one module per command: reads options, calls a use case of `app`, prints its result."""
