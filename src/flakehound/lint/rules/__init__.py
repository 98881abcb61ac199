"""The rules of `flakehound lint`: one module, one `RULE`, one cause of flakiness each."""
