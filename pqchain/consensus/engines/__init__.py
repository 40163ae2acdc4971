"""Engines that simulate one view: a readable reference, and a fast one with equal results."""
