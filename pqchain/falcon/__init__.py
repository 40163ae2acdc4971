"""Falcon signers on liboqs, pqchain's C++, an FPGA board or a simulated board, and cycle models.

The scheme is Falcon of NIST's third round, as in liboqs, not the coming FN-DSA.
"""

from __future__ import annotations

from pqchain.falcon.signer import BACKENDS, FalconSigner

__all__ = ["BACKENDS", "FalconSigner"]
