"""The words everything else is said in: frozen values and pure functions, standard library only."""
