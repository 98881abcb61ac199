"""What a run can be watched for: calls, features, state, dependencies, written files."""
