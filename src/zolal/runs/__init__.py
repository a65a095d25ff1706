"""A run from its first batch to its result: the loop, the session around it, why it ends, and what is kept of it."""
