"""`pytest --flakehound`: notice failures, rerun them, ask the controller, tell."""
