"""Tuning of PyTorch models by forward passes alone, under constraints."""
