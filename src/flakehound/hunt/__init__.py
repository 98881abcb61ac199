"""The hunt room: decides which runs to make next and what the runs made so far prove."""
