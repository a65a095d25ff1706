"""Calls of the user's function: who makes them, and what becomes of those that fail."""
