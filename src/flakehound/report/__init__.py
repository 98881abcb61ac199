"""Tell what was found: text for people, JSON for tools."""
