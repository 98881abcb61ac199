"""What a test depends on: executed lines, imported modules, opened files, listed folders, started processes."""
