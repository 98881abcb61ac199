"""What git knows: changed files, revisions, worktrees, churn."""
