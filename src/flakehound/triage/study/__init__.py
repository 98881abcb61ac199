"""The figures of the evaluation in the thesis that the triage implements."""
