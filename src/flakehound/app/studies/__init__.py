"""`flakehound study`: repeats experiments of the literature."""
