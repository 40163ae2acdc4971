"""What `pqchain falcon ...` does: one thin function per command, returning the exit code."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.commands import console as commands
from pqchain.commands.console import CHECK_FAILED, FINE, talk
from pqchain.errors import BadLength, PqchainError, UsageError
from pqchain.render import numbers


def add(subparsers: Any, formatter: Any) -> None:
    """Add the command and its own commands."""
    falcon = subparsers.add_parser(
        "falcon", help="sign in parts: liboqs, kernels, a board; and what an engine would take",
        description="Falcon's signer in parts.", formatter_class=formatter,
        epilog="examples:\n"
        "  pqchain falcon keys --degree 512 --public-key my.pk --secret-key my.sk\n"
        "  pqchain falcon sign note.txt --secret-key my.sk --output note.sig\n"
        "  pqchain falcon verify note.txt note.sig --public-key my.pk\n"
        "  pqchain falcon model",
    )  # fmt: skip
    actions = falcon.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = actions.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.",
            formatter_class=formatter,
        )  # fmt: skip
        added.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
        added.set_defaults(run=run)
        return added

    keys = command("keys", make_keys, "write a fresh key pair into two files")
    keys.add_argument("--degree", type=int, default=512, metavar="N", help="512 (default) or 1024")
    keys.add_argument("--public-key", type=Path, required=True, metavar="FILE")
    keys.add_argument("--secret-key", type=Path, required=True, metavar="FILE")
    sign = command("sign", sign_file, "sign a file")
    sign.add_argument("message", type=Path, metavar="MESSAGE")
    sign.add_argument("--secret-key", type=Path, required=True, metavar="FILE")
    sign.add_argument("--output", type=Path, required=True, metavar="FILE")
    verify = command("verify", verify_file, "verify a signature of a file; exits 1 if it is wrong")
    verify.add_argument("message", type=Path, metavar="MESSAGE")
    verify.add_argument("signature", type=Path, metavar="SIGNATURE")
    verify.add_argument("--public-key", type=Path, required=True, metavar="FILE")
    profile = command("profile", show_profile, "sign once and show where the time goes")
    profile.add_argument("--degree", type=int, default=512, metavar="N", help="512 or 1024")
    for parser in (sign, profile):
        parser.add_argument(
            "--backend", default="auto", metavar="NAME",
            help="auto (default), reference, kernel, simboard or overlay",
        )  # fmt: skip
        parser.add_argument("--bitstream", type=Path, metavar="FILE", help="for overlay")
    command("model", show_model, "rebuild the paper's Table 3 and show what more units would buy")
    command("doctor", examine, "say which backends work here, and why the others do not")


def _degree_of_key(path: Path, key: bytes, field: str) -> int:
    """Return the degree that a key of that length has.

    Raises BadLength.
    """
    lengths = {getattr(algorithms.get(f"Falcon-{n}"), field): n for n in (512, 1024)}
    if len(key) not in lengths:
        raise BadLength(
            f"{path} has {len(key)} bytes; a key of Falcon has {' or '.join(map(str, lengths))}: "
            "`pqchain falcon keys` makes one"
        )
    return lengths[len(key)]


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
    """Refuse a file that cannot be written or that another argument names, however spelled.

    Raises UsageError.
    """
    from pqchain.results import check_writable

    for what, other in others.items():
        if other is not None and other.resolve() == path.resolve():
            raise UsageError(
                f"{option} {path} is {what} {other} too, which would be lost; name another file"
            )
    check_writable(path)


def make_keys(arguments: argparse.Namespace) -> int:
    """Write a key pair."""
    from pqchain.falcon import FalconSigner

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
        commands._write_json({"algorithm": signer.algorithm.name})
    talk(f"{signer.algorithm.name}: {arguments.public_key}, {arguments.secret_key}")
    return FINE


def sign_file(arguments: argparse.Namespace) -> int:
    """Sign a file."""
    from pqchain.falcon import FalconSigner

    inputs = {
        "MESSAGE": arguments.message,
        "--secret-key": arguments.secret_key,
        "--bitstream": arguments.bitstream,
    }
    _check_place("--output", arguments.output, inputs)
    secret_key = arguments.secret_key.read_bytes()
    degree = _degree_of_key(arguments.secret_key, secret_key, "secret_key_bytes")
    signer = FalconSigner(degree, arguments.backend, bitstream=arguments.bitstream)
    signature = signer.sign(arguments.message.read_bytes(), secret_key)
    _write_file(arguments.output, signature)
    if arguments.json:
        commands._write_json(
            {
                "algorithm": signer.algorithm.name, "backend": signer.backend, "why": signer.why,
                "signature_bytes": len(signature),
            }
        )  # fmt: skip
    talk(f"{arguments.output}: {len(signature)} bytes by {signer.backend} ({signer.why})")
    return FINE


def verify_file(arguments: argparse.Namespace) -> int:
    """Verify a signature of a file."""
    from pqchain.falcon import FalconSigner

    public_key = arguments.public_key.read_bytes()
    degree = _degree_of_key(arguments.public_key, public_key, "public_key_bytes")
    signer = FalconSigner(degree, "reference")
    valid = signer.verify(
        arguments.message.read_bytes(), arguments.signature.read_bytes(), public_key
    )
    if arguments.json:
        commands._write_json({"algorithm": signer.algorithm.name, "valid": valid})
    talk(f"{arguments.signature}: {'valid' if valid else 'WRONG'} ({signer.algorithm.name})")
    return FINE if valid else CHECK_FAILED


def show_profile(arguments: argparse.Namespace) -> int:
    """Sign once with a fresh key and show the parts."""
    from pqchain.falcon import FalconSigner

    signer = FalconSigner(arguments.degree, arguments.backend, bitstream=arguments.bitstream)
    _, secret_key = signer.generate_keypair()
    frame = signer.profile(b"pqchain", secret_key)
    if arguments.json:
        commands._write_json(
            {"backend": signer.backend, "why": signer.why, "steps": commands._records(frame)}
        )
        return FINE
    rows = [
        [row["step"], numbers.seconds(row["seconds"]), str(row["calls"]), row["where"]]
        for row in frame.to_dict("records")
    ]
    commands._write(numbers.text_table(["step", "time", "calls", "where"], rows, right=(1, 2)))
    talk(f"One run with {signer.backend} ({signer.why}); `pqchain bench` measures.")
    return FINE


def show_model(arguments: argparse.Namespace) -> int:
    """Show the rebuilt table, the sweep, and what they rest on."""
    from pqchain.falcon import model
    from pqchain.works.falcon_hls import work as accelerator

    table, gains = accelerator.table3(), model.sweep()
    if arguments.json:
        commands._write_json(
            {
                "table3": commands._records(table), "sweep": commands._records(gains),
                "resources": model.RESOURCE_NOTES,
            }
        )  # fmt: skip
        return FINE
    rows = [
        [
            row["algorithm"], row["row"], row["kind"], f"{row['seconds'] * 1e3:.1f}",
            "" if row["kind"] == "published" else f"{row['ratio']:.2f}",
        ]
        for row in table.to_dict("records")
    ]  # fmt: skip
    head = ["algorithm", "row", "kind", "ms", "to printed"]
    commands._write(numbers.text_table(head, rows, right=(3, 4)))
    commands._write("")
    rows = [
        [row["algorithm"], row["change"], f"{row['seconds'] * 1e3:.2f}", f"{row['gain']:.2f}"]
        for row in gains.to_dict("records")
    ]
    head = ["algorithm", "pipelined engine", "ms", "gain"]
    commands._write(numbers.text_table(head, rows, right=(2, 3)))
    for text in dict.fromkeys(table["assumptions"]):
        talk(f"- {text}")
    talk(model.RESOURCE_NOTES)
    return FINE


def examine(arguments: argparse.Namespace) -> int:
    """Try every backend."""
    from pqchain.falcon import BACKENDS, FalconSigner

    found = []
    for backend in BACKENDS:
        try:
            FalconSigner(512, backend)
        except (PqchainError, RuntimeError, OSError) as error:
            found.append({"backend": backend, "works": False, "reason": str(error)})
        else:
            found.append({"backend": backend, "works": True, "reason": ""})
    works = {row["backend"] for row in found if row["works"]}
    if arguments.json:
        commands._write_json({"healthy": "reference" in works, "backends": found})
    else:
        for row in found:
            commands._write(
                f"  {'ok' if row['works'] else '--'}  {row['backend']:9}  {row['reason']}"
            )
    return FINE if "reference" in works else CHECK_FAILED
