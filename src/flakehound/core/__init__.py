"""The vocabulary of all other packages: frozen values and pure functions; standard library only."""
