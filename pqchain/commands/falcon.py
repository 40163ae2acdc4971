"""Sign with Falcon in software or on an FPGA board, step by step.

Examples:
  pqchain falcon keys --degree 512 --public-key my.pk --secret-key my.sk
  pqchain falcon sign note.txt --secret-key my.sk --output note.sig
  pqchain falcon verify note.txt note.sig --public-key my.pk
  pqchain falcon profile --backend kernel
  pqchain falcon model
  pqchain falcon rtl
  pqchain falcon doctor
"""

from __future__ import annotations

import os
from pathlib import Path

from pqchain import algorithms
from pqchain.commands import console, values
from pqchain.errors import BadLength, PqchainError, UsageError
from pqchain.falcon import BACKENDS, FalconSigner
from pqchain.figures import BYTES, Kind
from pqchain.installation import read_bytes
from pqchain.render.table import Table

falcon = values.command_group("falcon", __doc__)

_MAX_KEY_FILE_BYTES = 1 << 16
_MAX_SIGNATURE_FILE_BYTES = 1 << 16
_MAX_MESSAGE_BYTES = 1 << 30  # limit of a message, which is read into memory


def _read_key(path: Path, field: str) -> tuple[int, bytes]:
    """Read a key; return its degree, which its length determines, and the key. Raises BadLength."""
    key = read_bytes(path, _MAX_KEY_FILE_BYTES)
    lengths = {getattr(algorithms.get(f"Falcon-{n}"), field): n for n in (512, 1024)}
    if len(key) not in lengths:
        raise BadLength(
            f"{path} must have {' or '.join(map(str, lengths))} bytes, as a Falcon key has; got "
            f"{len(key)}. Generate a key by `pqchain falcon keys`."
        )
    return lengths[len(key)], key


def _check_output(option: str, path: Path, others: dict[str, Path | None]) -> None:
    from pqchain.results.files import check_writable

    for name, other in others.items():
        # Path.resolve() raises RuntimeError at a loop of links before Python 3.13.
        if other is not None and os.path.realpath(other) == os.path.realpath(path):
            raise UsageError(
                f"{option} must differ from {name}, which would be overwritten; got {path} for both"
            )
    check_writable(path)


@falcon.command
def keys(
    *,
    public_key: Path,
    secret_key: Path,
    degree: values.Whole = 512,
    form: values.Format = values.TEXT,
) -> int:
    """Generate a key pair and write it to two files.

    Args:
        public_key: output file
        secret_key: output file, readable by its owner only
        degree: 512 or 1024; default: 512
    """
    from pqchain.results.files import write_atomically

    for path in (public_key, secret_key):
        # exists() is false for a broken link.
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} already exists; name a new file, as keys are not overwritten")
    _check_output("--public-key", public_key, {"--secret-key": secret_key})
    _check_output("--secret-key", secret_key, {})
    signer = FalconSigner(degree)
    public, secret = signer.generate_keypair()
    # Only the owner may read the secret key.
    write_atomically(secret_key, secret, mode=0o600)
    write_atomically(public_key, public)
    name = signer.algorithm.name
    return _report(form, {"algorithm": name}, f"{name}: {public_key}, {secret_key}")


@falcon.command
def sign(
    message: Path,
    /,
    *,
    secret_key: Path,
    output: Path,
    backend: str = "auto",
    bitstream: Path | None = None,
    device: str | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Sign a file.

    Args:
        message: file to sign
        secret_key: file of the secret key
        output: output file of the signature
        backend: auto, reference, kernel, simboard, overlay or serial; default: auto
        bitstream: FPGA bitstream, for the back end overlay
        device: serial device of a board, for the back end serial
    """
    from pqchain.results.files import write_atomically

    inputs = {"MESSAGE": message, "--secret-key": secret_key, "--bitstream": bitstream}
    _check_output("--output", output, inputs)
    degree, key = _read_key(secret_key, "secret_key_bytes")
    signer = FalconSigner(degree, backend, bitstream=bitstream, device=device)
    signature = signer.sign(read_bytes(message, _MAX_MESSAGE_BYTES), key)
    write_atomically(output, signature)
    facts = {
        "algorithm": signer.algorithm.name, "backend": signer.backend, "reason": signer.reason,
        "signature_bytes": len(signature),
    }  # fmt: skip
    size = BYTES.text(len(signature))
    return _report(form, facts, f"{output}: {size} by {signer.backend} ({signer.reason})")


@falcon.command
def verify(
    message: Path, signature: Path, /, *, public_key: Path, form: values.Format = values.TEXT
) -> int:
    """Verify the signature of a file; exit code 1 if it is wrong.

    Args:
        message: signed file
        signature: file of the signature
        public_key: file of the public key
    """
    degree, key = _read_key(public_key, "public_key_bytes")
    signer = FalconSigner(degree, "reference")
    signed = read_bytes(signature, _MAX_SIGNATURE_FILE_BYTES)
    valid = signer.verify(read_bytes(message, _MAX_MESSAGE_BYTES), signed, key)
    name, verdict = signer.algorithm.name, "valid" if valid else "WRONG"
    _report(form, {"algorithm": name, "valid": valid}, f"{signature}: {verdict} ({name})")
    return console.SUCCESS if valid else console.CHECK_FAILED


def _report(form: values.Format, facts: dict[str, object], text: str) -> int:
    if form.json:
        console.print_json(facts)
    console.print_stderr(text)
    return console.SUCCESS


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
        degree: 512 or 1024; default: 512
        backend: auto, reference, kernel, simboard, overlay or serial; default: auto
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
def model(*, form: values.Format = values.TEXT) -> int:
    """Model the paper's Table 3 and the gain of additional arithmetic units."""
    from pqchain.falcon import model as engines
    from pqchain.works import registry

    table, gains = registry.get("falcon-hls").models()["table3"](), engines.sweep()
    modelled = table.assign(ratio=table["ratio"].where(table["kind"] != Kind.PUBLISHED))
    columns = ["algorithm", "implementation", "kind", "ours", "unit", "ratio"]
    remarks = [*(f"- {text}" for text in dict.fromkeys(table["note"])), engines.RESOURCE_NOTES]
    data = {
        "table3": console.records(table), "sweep": console.records(gains),
        "resources": engines.RESOURCE_NOTES,
    }  # fmt: skip
    tables = Table.of(modelled, columns), Table.of(gains, list(gains.columns))
    return console.show(form, data, *tables, remarks=remarks)


@falcon.command
def rtl(*, form: values.Format = values.TEXT) -> int:
    """Compare cycles, cells and clock of the RTL engine with the paper's."""
    from pqchain.falcon import rtl as engine
    from pqchain.works import papers, registry

    frames = {
        "engines": registry.get("falcon-hls").models()["engines"](),
        "times": engine.times(), "cycles": engine.cycles(), "cells": engine.cells(),
        "model": engine.compare_with_model(), "area_time": engine.area_time(),
        "boards": engine.boards(), "leaks": engine.timing_leakage(),
        "printed_table2": papers.table("falcon-hls", "table2"),
        "printed_table3": papers.table("falcon-hls", "table3"),
    }  # fmt: skip
    provenance = {name: engine.figures()[name] for name in ("clock", "tools")}
    data = {name: console.records(frame) for name, frame in frames.items()}
    shown = [frames[name] for name in ("engines", "times", "cycles", "model", "area_time")]
    return console.show(
        form, {**data, **provenance, "limits": list(engine.LIMITS)},
        *(Table.of(frame, list(frame.columns)) for frame in shown),
        Table.of(frames["leaks"], ["configuration", "degree", "attempts", "t", "least_difference"]),
        remarks=[f"- {text}" for text in engine.LIMITS],
    )  # fmt: skip


def _serial_device(named: str | None) -> str | None:
    """Return the serial device to examine: the named one, or that of a board found by its name."""
    if named is not None:
        return named
    try:
        from pqchain.falcon import serial
    except ImportError:  # not Linux
        return None
    return next(map(str, serial.find_boards()), None)


@falcon.command
def doctor(*, device: str | None = None, form: values.Format = values.TEXT) -> int:
    """Check which signing back ends work on this machine.

    Args:
        device: serial device of a board; default: a board found by its USB name
    """
    backends = []
    for name in BACKENDS:
        reason = ""
        try:
            FalconSigner(
                512, name, device=_serial_device(device) if name == "serial" else None
            ).close()
        except (PqchainError, OSError) as error:
            reason = str(error)
        backends.append({"backend": name, "works": not reason, "reason": reason})
    rows = [
        f"  {'ok' if row['works'] else '--'}  {row['backend']:9}  {row['reason']}"
        for row in backends
    ]
    # The other back ends are optional.
    healthy = any(row["works"] for row in backends if row["backend"] == "reference")
    data = {"healthy": healthy, "backends": backends}
    return console.show(form, data, "\n".join(rows), ok=healthy)
