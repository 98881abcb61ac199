"""Reports of traced calls: text and CSV."""
