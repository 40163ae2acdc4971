"""`pqchain falcon ...`: Falcon's signer in steps, a subcommand for each task."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pqchain import algorithms
from pqchain.commands import console
from pqchain.errors import BadLength, PqchainError, UsageError
from pqchain.falcon import BACKENDS, FalconSigner
from pqchain.installation import read_bytes
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd


_LONGEST_KEY_FILE_BYTES = 1 << 16
_LONGEST_SIGNATURE_FILE_BYTES = 1 << 16
_LONGEST_MESSAGE_BYTES = 1 << 30
"""Messages are read into memory whole."""


def _key(path: Path, field: str) -> tuple[int, bytes]:
    """Return the degree of a key, which its length determines, and the key. Raises BadLength."""
    key = read_bytes(path, _LONGEST_KEY_FILE_BYTES)
    lengths = {getattr(algorithms.get(f"Falcon-{n}"), field): n for n in (512, 1024)}
    if len(key) not in lengths:
        raise BadLength(
            f"{path} has {len(key)} bytes; a key of Falcon has {' or '.join(map(str, lengths))}: "
            "`pqchain falcon keys` makes one"
        )
    return lengths[len(key)], key


def _check_place(option: str, path: Path, others: dict[str, Path | None]) -> None:
    """Refuse an output that cannot be written or, links resolved, is another argument's file."""
    from pqchain.results import check_writable

    for what, other in others.items():
        # Path.resolve() raises RuntimeError at a loop of links before Python 3.13.
        if other is not None and os.path.realpath(other) == os.path.realpath(path):
            raise UsageError(
                f"{option} {path} is {what} {other} too, which would be lost; name another file"
            )
    check_writable(path)


def make_keys(arguments: argparse.Namespace) -> int:
    """Generate a key pair and write it to two files."""
    from pqchain.results import write_atomically

    for path in (arguments.public_key, arguments.secret_key):
        # exists() is false for a broken link.
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} exists already; keys are not overwritten: name another file")
    _check_place("--public-key", arguments.public_key, {"--secret-key": arguments.secret_key})
    _check_place("--secret-key", arguments.secret_key, {})
    signer = FalconSigner(arguments.degree)
    public_key, secret_key = signer.generate_keypair()
    # Only the owner may read the secret key.
    write_atomically(arguments.secret_key, secret_key, mode=0o600)
    write_atomically(arguments.public_key, public_key)
    if arguments.json:
        console.write_json({"algorithm": signer.algorithm.name})
    console.talk(f"{signer.algorithm.name}: {arguments.public_key}, {arguments.secret_key}")
    return console.FINE


def sign_file(arguments: argparse.Namespace) -> int:
    """Sign a file."""
    from pqchain.results import write_atomically

    message, key, bitstream = arguments.message, arguments.secret_key, arguments.bitstream
    inputs = {"MESSAGE": message, "--secret-key": key, "--bitstream": bitstream}
    _check_place("--output", arguments.output, inputs)
    degree, secret_key = _key(key, "secret_key_bytes")
    signer = FalconSigner(degree, arguments.backend, bitstream=bitstream)
    signature = signer.sign(read_bytes(message, _LONGEST_MESSAGE_BYTES), secret_key)
    write_atomically(arguments.output, signature)
    if arguments.json:
        about = {
            "algorithm": signer.algorithm.name,
            "backend": signer.backend,
            "reason": signer.reason,
        }
        console.write_json({**about, "signature_bytes": len(signature)})
    console.talk(
        f"{arguments.output}: {len(signature)} bytes by {signer.backend} ({signer.reason})"
    )
    return console.FINE


def verify_file(arguments: argparse.Namespace) -> int:
    """Verify the signature of a file."""
    degree, public_key = _key(arguments.public_key, "public_key_bytes")
    signer = FalconSigner(degree, "reference")
    message = read_bytes(arguments.message, _LONGEST_MESSAGE_BYTES)
    signature = read_bytes(arguments.signature, _LONGEST_SIGNATURE_FILE_BYTES)
    valid = signer.verify(message, signature, public_key)
    if arguments.json:
        console.write_json({"algorithm": signer.algorithm.name, "valid": valid})
    verdict = "valid" if valid else "WRONG"
    console.talk(f"{arguments.signature}: {verdict} ({signer.algorithm.name})")
    return console.FINE if valid else console.CHECK_FAILED


def show_profile(arguments: argparse.Namespace) -> int:
    """Sign once with a fresh key and show the time of each step."""
    signer = FalconSigner(arguments.degree, arguments.backend, bitstream=arguments.bitstream)
    _, secret_key = signer.generate_keypair()
    frame = signer.profile(b"pqchain", secret_key)
    plain = {"backend": signer.backend, "reason": signer.reason, "steps": console.records(frame)}
    remark = f"One run with {signer.backend} ({signer.reason}); `pqchain bench` measures."
    return console.show(
        arguments, plain, Table.of(frame, ["step", "seconds", "calls", "where"]), remarks=[remark]
    )


def show_model(arguments: argparse.Namespace) -> int:
    """Show the reconstructed table, the sweep, and their assumptions."""
    from pqchain.falcon import model
    from pqchain.works import registry

    table = registry.get("falcon-hls").models()["table3"]()
    gains = model.sweep()
    remarks = [*(f"- {text}" for text in dict.fromkeys(table["note"])), model.RESOURCE_NOTES]
    plain = {
        "table3": console.records(table),
        "sweep": console.records(gains),
        "resources": model.RESOURCE_NOTES,
    }
    return console.show(arguments, plain, _rebuilt(table), _gains(gains), remarks=remarks)


def _rebuilt(frame: pd.DataFrame) -> Table:
    """Lay out Table 3 of the paper; printed rows have no ratio."""
    columns = [Column("algorithm"), Column("row"), Column("kind"), Column("ms", numeric=True)]
    rows = []
    for row in frame.to_dict("records"):
        ratio = "" if row["kind"] == "published" else f"{row['ratio']:.2f}"
        names = (row["algorithm"], row["implementation"], row["kind"])
        rows.append([*names, f"{row['ours'] * 1e3:.1f}", ratio])
    return Table(columns=[*columns, Column("to printed", numeric=True)], rows=rows)


def _gains(frame: pd.DataFrame) -> Table:
    columns = [
        Column("algorithm"),
        Column("pipelined engine", key="change"),
        Column("ms", key="seconds", numeric=True, show=lambda seconds: f"{seconds * 1e3:.2f}"),
        Column("gain", numeric=True, show="{:.2f}".format),
    ]
    return Table.of(frame, columns)


def show_rtl(arguments: argparse.Namespace) -> int:
    """Show the figures of the engine in RTL next to the paper's."""
    from pqchain.falcon import rtl
    from pqchain.works import papers

    printed = papers.table("falcon-hls", "table2")
    frames = {
        "times": rtl.times(),
        "cycles": rtl.cycles(),
        "cells": rtl.cells(),
        "model": rtl.compare_with_model(),
        "leaks": rtl.timing_leakage(),
        "printed_table2": printed,
        "printed_table3": papers.table("falcon-hls", "table3"),
    }
    plain = {name: console.records(frame) for name, frame in frames.items()}
    about = {"clock": rtl.figures()["clock"], "tools": rtl.figures()["tools"]}
    standard = {
        name: frames[name][frames[name]["configuration"] == rtl.STANDARD]
        for name in ("cycles", "cells")
    }
    tables = (
        _engine_times(frames),
        _phases(standard["cycles"]),
        _modelled(frames["model"]),
        _cells(standard["cells"]),
        _wholes(frames["cells"], printed),
        *([_leaks(frames["leaks"])] if len(frames["leaks"]) else []),
    )
    return console.show(
        arguments,
        {**plain, **about, "limits": list(rtl.LIMITS)},
        *tables,
        remarks=[f"- {text}" for text in rtl.LIMITS],
    )


def _engine_times(frames: dict[str, pd.DataFrame]) -> Table:
    columns = [
        Column("engine"),
        Column("degree", numeric=True),
        Column("cycles", numeric=True, show="{:,.0f}".format),
        Column("MHz", numeric=True),
        Column("ms", numeric=True),
        Column("what"),
    ]
    rows: list[list[object]] = []
    for row in frames["times"].to_dict("records"):
        what = "RTL of ours, one attempt of the engine alone"
        clock = ["", ""]  # no place and route is recorded
        # Only NaN differs from itself.
        if row["seconds"] == row["seconds"]:
            clock = [f"{row['clock_hertz'] / 1e6:.1f}", f"{row['seconds'] * 1e3:.2f}"]
            what += ", at the clock of a routed proxy (ECP5)"
        rows.append([row["configuration"], row["degree"], row["cycles"], *clock, what])
    megahertz = frames["printed_table2"]["clock_megahertz"].iloc[0]
    for row in frames["printed_table3"].to_dict("records"):
        if "artix" in str(row["implementation"]):
            degree = int(str(row["algorithm"]).split("-")[1])
            seconds = float(row["sign_seconds"])
            cycles = seconds * float(megahertz) * 1e6
            what = "printed: software and hardware, Artix-7"
            rows.append(["printed", degree, cycles, str(megahertz), f"{seconds * 1e3:.1f}", what])
    return Table(columns=columns, rows=rows)


def _phases(frame: pd.DataFrame) -> Table:
    columns = [Column("degree", numeric=True), Column("phase")]
    columns += [
        Column(name, numeric=True, show="{:,.0f}".format) for name in ("mean", "least", "greatest")
    ]
    return Table.of(frame, columns)


def _modelled(frame: pd.DataFrame) -> Table:
    cycles = "{:,.0f}".format
    columns = [Column("degree", numeric=True), Column("phase")]
    columns += [Column(name, numeric=True, show=cycles) for name in ("modelled", "netlist")]
    return Table.of(frame, [*columns, Column("ratio", numeric=True, show="{:.2f}".format)])


def _count(value: float) -> str:
    """Format a count; empty for NaN, where a print or a family has none."""
    return "" if value != value else f"{value:g}"


_CELLS = ("lut", "lutram", "shift_register", "flip_flop", "dsp", "block_ram_36k", "block_ram_18k")
_WHOLE = "design_hierarchy"


def _cell_columns(*names: str) -> list[Column]:
    counts = [Column(name.replace("_", " "), numeric=True, show=_count) for name in _CELLS]
    return [*(Column(name) for name in names), *counts]


def _cells(frame: pd.DataFrame) -> Table:
    """Lay out the cells for xc7 by module."""
    rows = [
        [row["module"].replace("_", " "), *(row[name] for name in _CELLS)]
        for row in frame.query("family == 'xc7'").to_dict("records")
    ]
    return Table(columns=_cell_columns("module"), rows=rows)


def _wholes(frame: pd.DataFrame, printed: pd.DataFrame) -> Table:
    """Lay out every complete engine, and the paper's."""
    rows = [
        [row["configuration"], row["family"], *(row[name] for name in _CELLS)]
        for row in frame[frame["module"] == _WHOLE].to_dict("records")
    ]
    paper = printed.iloc[0]
    nothing = float("nan")
    counts = dict.fromkeys(_CELLS, nothing) | {
        "lut": float(paper["lookup_tables"]),
        "flip_flop": float(paper["flip_flops"]),
        "dsp": float(paper["dsp_blocks"]),
    }
    rows.append(["printed", "Artix-7", *counts.values()])
    return Table(columns=_cell_columns("engine", "family"), rows=rows)


def _leaks(frame: pd.DataFrame) -> Table:
    columns = [
        Column("two keys: degree", numeric=True),
        Column("attempts", numeric=True),
        Column("t of cycles", numeric=True),
        Column("least difference seen", numeric=True),
        Column("cycles outside the sampler"),
    ]
    rows = [
        [
            row["degree"], row["attempts"], f"{row['t']:.2f}", f"{row['least_difference']:.0f}",
            ", ".join(map(str, row["cycles_outside_the_sampler"])),
        ]
        for row in frame.to_dict("records")
    ]  # fmt: skip
    return Table(columns=columns, rows=rows)


def examine(arguments: argparse.Namespace) -> int:
    """Try every back end."""
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
    # The other back ends are optional.
    healthy = not reasons["reference"]
    plain = {"healthy": healthy, "backends": backends}
    return console.show(arguments, plain, "\n".join(lines), fine=healthy)
