"""`flakehound study`: experiments of the literature, repeated."""
