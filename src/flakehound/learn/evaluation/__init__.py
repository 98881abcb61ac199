"""How good models and policies are: scores, costs, simulations, unseen projects."""
