"""Python source of a project: modules, names, definitions and what they refer to."""
