"""`flakehound lint` and `flakehound train`."""
