"""What plays one view on one network: a readable reference, and a fast engine equal to it."""
