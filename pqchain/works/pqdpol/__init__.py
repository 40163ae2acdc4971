"""PQ-DPoL: throughput and latency of 2^n nodes."""

DATA_BYTES = 12
"""Data per transaction that lets 50,000 bytes hold what the paper's tables imply.

Tables 5 and 6 fix only 30 times the overhead of a transaction plus the header, from the 29.42
transactions with Falcon-512: 3441 bytes. Ours without data is 30 * 99 + 111; 12 bytes make up the
difference. The counts of the other five schemes follow and were not used.
"""
