"""Re-encoding of blocks over QUIC."""
