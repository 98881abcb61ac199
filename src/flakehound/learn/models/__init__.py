"""Classifiers, pipelines, cross-validation and explanations."""
