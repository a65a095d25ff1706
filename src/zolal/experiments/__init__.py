"""The paper's three experiments: grids of runs with paired seeds."""
