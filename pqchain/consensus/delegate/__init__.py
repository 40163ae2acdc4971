"""PQ-DPoL delegates that execute the protocol: real blocks, signatures and message bytes."""
