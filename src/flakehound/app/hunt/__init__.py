"""`flakehound hunt`: from options to the report."""
