"""Published work PQ-DPoL: throughput and latency of a consensus of 2^n nodes."""

DATA_BYTES = 12
"""Data per transaction for which 50,000 bytes hold the transactions that the tables imply.

The 29.42 transactions with Falcon-512 in Tables 5 and 6 determine 30 times the overhead of a
transaction plus the header: 3441 bytes. Ours without data is 30 * 99 + 111; 12 bytes per
transaction are the difference. The numbers of the other five schemes follow and were not used.
"""
