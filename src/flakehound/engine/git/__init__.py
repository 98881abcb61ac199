"""Information from git: changed files, revisions, worktrees, churn."""
