"""`pqchain falcon ...`: Falcon's signer in parts, a command for each."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pqchain import algorithms
from pqchain.commands import console
from pqchain.errors import BadLength, PqchainError, UsageError
from pqchain.falcon import BACKENDS, FalconSigner
from pqchain.render import numbers
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the commands and their options."""
    parser.description = "Falcon's signer in parts."
    parser.epilog = """examples:
  pqchain falcon keys --degree 512 --public-key my.pk --secret-key my.sk
  pqchain falcon sign note.txt --secret-key my.sk --output note.sig
  pqchain falcon verify note.txt note.sig --public-key my.pk
  pqchain falcon model

each of these has --json"""
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, action: Callable[..., int], summary: str) -> argparse.ArgumentParser:
        added = console.add_command(actions, name, summary)
        console.add_json(added)
        added.set_defaults(action=action)
        return added

    def add_files(added: argparse.ArgumentParser, *options: str) -> None:
        for option in options:
            added.add_argument(option, type=Path, required=True, metavar="FILE")

    keys = command("keys", make_keys, "write a fresh key pair into two files")
    sign = command("sign", sign_file, "sign a file")
    verify = command("verify", verify_file, "verify a signature of a file; exits 1 if it is wrong")
    profile = command("profile", show_profile, "sign once and show where the time goes")
    command("model", show_model, "rebuild the paper's Table 3 and show what more units would buy")
    command("doctor", examine, "say which backends work here, and why the others do not")
    sign.add_argument("message", type=Path, metavar="MESSAGE")
    verify.add_argument("message", type=Path, metavar="MESSAGE")
    verify.add_argument("signature", type=Path, metavar="SIGNATURE")
    add_files(keys, "--public-key", "--secret-key")
    add_files(sign, "--secret-key", "--output")
    add_files(verify, "--public-key")
    for each in (keys, profile):
        meaning = "512 (default) or 1024"
        each.add_argument("--degree", type=int, default=512, metavar="N", help=meaning)
    for each in (sign, profile):
        meaning = f"auto (default), {', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}"
        each.add_argument("--backend", default="auto", metavar="NAME", help=meaning)
        console.add_options(each, "FILE", Path, bitstream="for overlay")


def run(arguments: argparse.Namespace) -> int:
    """Run one of the commands."""
    code: int = arguments.action(arguments)
    return code


def _key(path: Path, field: str) -> tuple[int, bytes]:
    """Return the degree of a key, which its length tells, and the key. Raises BadLength."""
    key = path.read_bytes()
    lengths = {getattr(algorithms.get(f"Falcon-{n}"), field): n for n in (512, 1024)}
    if len(key) not in lengths:
        raise BadLength(
            f"{path} has {len(key)} bytes; a key of Falcon has {' or '.join(map(str, lengths))}: "
            "`pqchain falcon keys` makes one"
        )
    return lengths[len(key)], key


def _write_file(path: Path, data: bytes, *, secret: bool = False) -> None:
    """Write a file whole or not at all; a secret one is for its owner only."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(part, path)  # noqa: PTH105
    finally:
        part.unlink(missing_ok=True)


def _check_place(option: str, path: Path, others: dict[str, Path | None]) -> None:
    """Refuse a file that cannot be written or that another argument names, however spelled."""
    from pqchain.results import check_writable

    for what, other in others.items():
        if other is not None and other.resolve() == path.resolve():
            raise UsageError(
                f"{option} {path} is {what} {other} too, which would be lost; name another file"
            )
    check_writable(path)


def make_keys(arguments: argparse.Namespace) -> int:
    """Write a key pair."""
    for path in (arguments.public_key, arguments.secret_key):
        if path.exists():
            raise UsageError(f"{path} exists already; keys are not overwritten: name another file")
    _check_place("--public-key", arguments.public_key, {"--secret-key": arguments.secret_key})
    _check_place("--secret-key", arguments.secret_key, {})
    signer = FalconSigner(arguments.degree)
    public_key, secret_key = signer.generate_keypair()
    _write_file(arguments.secret_key, secret_key, secret=True)
    _write_file(arguments.public_key, public_key)
    if arguments.json:
        console.write_json({"algorithm": signer.algorithm.name})
    console.talk(f"{signer.algorithm.name}: {arguments.public_key}, {arguments.secret_key}")
    return console.FINE


def sign_file(arguments: argparse.Namespace) -> int:
    """Sign a file."""
    message, key, bitstream = arguments.message, arguments.secret_key, arguments.bitstream
    inputs = {"MESSAGE": message, "--secret-key": key, "--bitstream": bitstream}
    _check_place("--output", arguments.output, inputs)
    degree, secret_key = _key(key, "secret_key_bytes")
    signer = FalconSigner(degree, arguments.backend, bitstream=bitstream)
    signature = signer.sign(message.read_bytes(), secret_key)
    _write_file(arguments.output, signature)
    if arguments.json:
        about = {"algorithm": signer.algorithm.name, "backend": signer.backend, "why": signer.why}
        console.write_json({**about, "signature_bytes": len(signature)})
    console.talk(f"{arguments.output}: {len(signature)} bytes by {signer.backend} ({signer.why})")
    return console.FINE


def verify_file(arguments: argparse.Namespace) -> int:
    """Verify a signature of a file."""
    degree, public_key = _key(arguments.public_key, "public_key_bytes")
    signer = FalconSigner(degree, "reference")
    message, signature = arguments.message.read_bytes(), arguments.signature.read_bytes()
    valid = signer.verify(message, signature, public_key)
    if arguments.json:
        console.write_json({"algorithm": signer.algorithm.name, "valid": valid})
    verdict = "valid" if valid else "WRONG"
    console.talk(f"{arguments.signature}: {verdict} ({signer.algorithm.name})")
    return console.FINE if valid else console.CHECK_FAILED


def show_profile(arguments: argparse.Namespace) -> int:
    """Sign once with a fresh key and show the parts."""
    signer = FalconSigner(arguments.degree, arguments.backend, bitstream=arguments.bitstream)
    _, secret_key = signer.generate_keypair()
    frame = signer.profile(b"pqchain", secret_key)
    plain = {"backend": signer.backend, "why": signer.why, "steps": console.records(frame)}
    time = Column("time", key="seconds", numeric=True, show=numbers.seconds)
    columns = [Column("step"), time, Column("calls", numeric=True), Column("where")]
    remark = f"One run with {signer.backend} ({signer.why}); `pqchain bench` measures."
    console.show(arguments, plain, Table.of(frame, columns), remark)
    return console.FINE


def show_model(arguments: argparse.Namespace) -> int:
    """Show the rebuilt table, the sweep, and what they rest on."""
    from pqchain.falcon import model
    from pqchain.works.falcon_hls import work as accelerator

    table, gains = accelerator.table3(), model.sweep()
    plain = {"table3": console.records(table), "sweep": console.records(gains)}
    shown = "\n\n".join(each.text(console.width()) for each in (_rebuilt(table), _gains(gains)))
    remarks = [f"- {text}" for text in dict.fromkeys(table["assumptions"])]
    notes = model.RESOURCE_NOTES
    console.show(arguments, {**plain, "resources": notes}, shown, *remarks, notes)
    return console.FINE


def _rebuilt(frame: pd.DataFrame) -> Table:
    """Lay out the paper's Table 3; what is printed has no ratio to itself."""
    columns = [Column("algorithm"), Column("row"), Column("kind"), Column("ms", numeric=True)]
    rows = []
    for row in frame.to_dict("records"):
        ratio = "" if row["kind"] == "published" else f"{row['ratio']:.2f}"
        names = (row["algorithm"], row["row"], row["kind"])
        rows.append([*names, f"{row['seconds'] * 1e3:.1f}", ratio])
    return Table(columns=[*columns, Column("to printed", numeric=True)], rows=rows)


def _gains(frame: pd.DataFrame) -> Table:
    columns = [
        Column("algorithm"),
        Column("pipelined engine", key="change"),
        Column("ms", key="seconds", numeric=True, show=lambda seconds: f"{seconds * 1e3:.2f}"),
        Column("gain", numeric=True, show="{:.2f}".format),
    ]
    return Table.of(frame, columns)


def examine(arguments: argparse.Namespace) -> int:
    """Try every backend."""
    reasons = dict.fromkeys(BACKENDS, "")
    for backend in BACKENDS:
        try:
            FalconSigner(512, backend)
        except (PqchainError, RuntimeError, OSError) as error:
            reasons[backend] = str(error)
    backends = [
        {"backend": name, "works": not reason, "reason": reason} for name, reason in reasons.items()
    ]
    lines = (f"  {'--' if why else 'ok'}  {name:9}  {why}" for name, why in reasons.items())
    healthy = not reasons["reference"]
    console.show(arguments, {"healthy": healthy, "backends": backends}, "\n".join(lines))
    return console.FINE if healthy else console.CHECK_FAILED
