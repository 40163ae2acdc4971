"""Imported by each Python that `oldest.py` starts: pynq finds a simulated board."""

import os
import platform
import sys
import warnings

if missing := os.environ.get("PQCHAIN_TEST_MISSING"):
    # As on a 32-bit board without that package.
    sys.modules[missing] = None  # type: ignore[assignment]
    platform.machine = lambda: "armv7l"
else:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pynq warns on every processor that is not a board's
        import pynq

        from pqchain.falcon.simboard import SimulatedDevice

    pynq.Device.active_device = SimulatedDevice()
