"""Engines that play one view on one network: a readable reference, and a fast one equal to it."""
