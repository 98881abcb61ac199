"""The figures of the evaluation in the source of triage."""
