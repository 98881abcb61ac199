"""How good models and policies are: scores, costs, simulations, projects that no model was trained on."""
