"""What a grader says: rows that outlive a crash, and all that is drawn from them."""
