"""Sign with Falcon in software or on an FPGA board, step by step.

Examples:
  pqchain falcon profile --backend kernel
  pqchain falcon doctor
"""

from __future__ import annotations

from pathlib import Path

from pqchain.commands import console, values
from pqchain.errors import PqchainError
from pqchain.falcon import BACKENDS, FalconSigner
from pqchain.render.table import Table

falcon = values.command_group("falcon", __doc__)


@falcon.command
def profile(
    *,
    degree: values.Whole = 512,
    backend: str = "auto",
    bitstream: Path | None = None,
    device: str | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Sign once with a fresh key and show the time of each step.

    Args:
        degree: 512 or 1024
        backend: auto, reference, kernel, simboard, overlay or serial
        bitstream: FPGA bitstream, for the back end overlay
        device: serial device of a board, for the back end serial
    """
    signer = FalconSigner(degree, backend, bitstream=bitstream, device=device)
    _, secret_key = signer.generate_keypair()
    frame = signer.profile(b"pqchain", secret_key)
    data = {"backend": signer.backend, "reason": signer.reason, "steps": console.records(frame)}
    remark = f"One run with {signer.backend} ({signer.reason}); repeat it by `pqchain bench`."
    table = Table.of(frame, ["step", "seconds", "calls", "where"])
    return console.show(form, data, table, remarks=[remark])


@falcon.command
def doctor(*, device: str | None = None, form: values.Format = values.TEXT) -> int:
    """Check which signing back ends work on this machine.

    Args:
        device: serial device of a board; default: a board found by its USB name
    """
    works = {name: _failure(name, device) for name in BACKENDS}
    rows = [{"backend": name, "works": not why, "reason": why} for name, why in works.items()]
    # The other back ends are optional.
    healthy = not works["reference"]
    return console.show(
        form, {"healthy": healthy, "backends": rows}, Table.of(rows, [*rows[0]]), ok=healthy
    )


def _failure(backend: str, device: str | None) -> str:
    """Return the reason for which a back end does not work here; "" if it does."""
    try:
        if backend == "serial" and device is None:
            from pqchain.falcon import serial

            device = next(map(str, serial.find_boards()), None)
        FalconSigner(512, backend, device=device if backend == "serial" else None).close()
    except (PqchainError, OSError, ImportError) as error:  # ImportError: not Linux
        return str(error)
    return ""
