"""The room that decides whether a failing test is flaky or broken by the change."""
