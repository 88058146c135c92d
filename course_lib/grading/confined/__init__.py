"""Where a student's code runs: a process behind walls, and the line on which it is called."""
