"""Falcon's signer in parts: on liboqs, on our kernels, on a board or a simulated one; and its cost.

What is signed here is Falcon of NIST's third round, as liboqs has it, not the coming FN-DSA.
"""

from __future__ import annotations

from pqchain.falcon.signer import BACKENDS, FalconSigner

__all__ = ["BACKENDS", "FalconSigner"]
