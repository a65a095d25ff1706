"""The front doors: `minimize`, and `Optimizer` for those who evaluate by themselves."""
