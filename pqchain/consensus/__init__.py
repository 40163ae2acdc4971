"""PQ-DPoL and its relatives over any network: scenarios in, frames out."""
