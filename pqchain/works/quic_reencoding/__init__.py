"""Published work on the re-encoding of erasure-coded blocks over QUIC."""
