"""`pytest --flakehound`: detects failures, reruns them, asks the controller for verdicts and prints them."""
