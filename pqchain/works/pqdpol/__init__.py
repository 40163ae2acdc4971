"""PQ-DPoL: throughput and latency of 2^n nodes."""
