"""The rules of `flakehound lint`: each module has one `RULE` for one cause of flakiness."""
