"""What is wrong with a test that has failed: questions, proofs and verdicts."""
