"""What is wrong with a test that has failed: questions to the history, proofs and verdicts."""
