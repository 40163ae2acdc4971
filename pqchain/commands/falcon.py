"""`pqchain falcon`: sign with Falcon step by step, verify, and model the accelerator."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pqchain import algorithms
from pqchain.commands import console
from pqchain.errors import BadLength, PqchainError, UsageError
from pqchain.falcon import BACKENDS, FalconSigner
from pqchain.figures import BYTES, RATIO, SECONDS, Kind, humanize, integer
from pqchain.installation import read_bytes
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd
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


def make_keys(arguments: argparse.Namespace) -> int:
    """Generate a key pair and write it to two files."""
    from pqchain.results.files import write_atomically

    for path in (arguments.public_key, arguments.secret_key):
        # exists() is false for a broken link.
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} already exists; name a new file, as keys are not overwritten")
    _check_output("--public-key", arguments.public_key, {"--secret-key": arguments.secret_key})
    _check_output("--secret-key", arguments.secret_key, {})
    signer = FalconSigner(arguments.degree)
    public_key, secret_key = signer.generate_keypair()
    # Only the owner may read the secret key.
    write_atomically(arguments.secret_key, secret_key, mode=0o600)
    write_atomically(arguments.public_key, public_key)
    if arguments.json:
        console.print_json({"algorithm": signer.algorithm.name})
    console.print_stderr(f"{signer.algorithm.name}: {arguments.public_key}, {arguments.secret_key}")
    return console.SUCCESS


def sign_file(arguments: argparse.Namespace) -> int:
    """Sign a file."""
    from pqchain.results.files import write_atomically

    message, key, bitstream = arguments.message, arguments.secret_key, arguments.bitstream
    inputs = {"MESSAGE": message, "--secret-key": key, "--bitstream": bitstream}
    _check_output("--output", arguments.output, inputs)
    degree, secret_key = _read_key(key, "secret_key_bytes")
    signer = FalconSigner(degree, arguments.backend, bitstream=bitstream, device=arguments.device)
    signature = signer.sign(read_bytes(message, _MAX_MESSAGE_BYTES), secret_key)
    write_atomically(arguments.output, signature)
    if arguments.json:
        about = {
            "algorithm": signer.algorithm.name,
            "backend": signer.backend,
            "reason": signer.reason,
        }
        console.print_json({**about, "signature_bytes": len(signature)})
    size = BYTES.text(len(signature))
    console.print_stderr(f"{arguments.output}: {size} by {signer.backend} ({signer.reason})")
    return console.SUCCESS


def verify_file(arguments: argparse.Namespace) -> int:
    """Verify the signature of a file."""
    degree, public_key = _read_key(arguments.public_key, "public_key_bytes")
    signer = FalconSigner(degree, "reference")
    message = read_bytes(arguments.message, _MAX_MESSAGE_BYTES)
    signature = read_bytes(arguments.signature, _MAX_SIGNATURE_FILE_BYTES)
    valid = signer.verify(message, signature, public_key)
    if arguments.json:
        console.print_json({"algorithm": signer.algorithm.name, "valid": valid})
    verdict = "valid" if valid else "WRONG"
    console.print_stderr(f"{arguments.signature}: {verdict} ({signer.algorithm.name})")
    return console.SUCCESS if valid else console.CHECK_FAILED


def show_profile(arguments: argparse.Namespace) -> int:
    """Sign once with a fresh key and show the time of each step."""
    board = {"bitstream": arguments.bitstream, "device": arguments.device}
    signer = FalconSigner(arguments.degree, arguments.backend, **board)
    _, secret_key = signer.generate_keypair()
    frame = signer.profile(b"pqchain", secret_key)
    data = {"backend": signer.backend, "reason": signer.reason, "steps": console.records(frame)}
    remark = f"One run with {signer.backend} ({signer.reason}); repeat it by `pqchain bench`."
    table = Table.of(frame, ["step", "seconds", "calls", "where"])
    return console.show(arguments, data, table, remarks=[remark])


def show_model(arguments: argparse.Namespace) -> int:
    """Show the model of Table 3, the gain of additional arithmetic units, and the assumptions."""
    from pqchain.falcon import model
    from pqchain.works import registry

    table = registry.get("falcon-hls").models()["table3"]()
    gains = model.sweep()
    remarks = [*(f"- {text}" for text in dict.fromkeys(table["note"])), model.RESOURCE_NOTES]
    data = {
        "table3": console.records(table),
        "sweep": console.records(gains),
        "resources": model.RESOURCE_NOTES,
    }
    modelled = table.assign(ratio=table["ratio"].where(table["kind"] != Kind.PUBLISHED))
    tables = (
        Table.of(modelled, [
            "algorithm", Column("row", key="implementation"), "kind",
            Column("sign", key="ours", numeric=True, unit=SECONDS),
            Column("ratio to printed", key="ratio", numeric=True, unit=RATIO),
        ]),
        Table.of(gains, [
            "algorithm", Column("pipelined engine", key="change"), "seconds",
            Column("gain", numeric=True, unit=RATIO),
        ]),
    )  # fmt: skip
    return console.show(arguments, data, *tables, remarks=remarks)


def show_rtl(arguments: argparse.Namespace) -> int:
    """Compare cycles, cells and clock of the RTL engine with the paper's."""
    import pandas as pd

    from pqchain.falcon import rtl
    from pqchain.works import papers

    printed = papers.table("falcon-hls", "table2")
    frames = {
        "times": rtl.times(),
        "cycles": rtl.cycles(),
        "cells": rtl.cells(),
        "model": rtl.compare_with_model(),
        "area_time": rtl.area_time(),
        "boards": rtl.boards(),
        "leaks": rtl.timing_leakage(),
        "printed_table2": printed,
        "printed_table3": papers.table("falcon-hls", "table3"),
    }
    data = {name: console.records(frame) for name, frame in frames.items()}
    provenance = {name: rtl.figures()[name] for name in ("clock", "tools")}
    cycles = frames["cycles"][frames["cycles"]["configuration"] == rtl.COMPACT]
    cells = frames["cells"][frames["cells"]["configuration"] == rtl.COMPACT]
    modules = cells[cells["family"] == "xc7"]
    engines = frames["cells"][frames["cells"]["module"] == _ENGINE]
    paper = printed.rename(columns=_PRINTED_CELLS).assign(configuration="printed", family="Artix-7")
    tables = (
        _engine_times(frames),
        *([_board_table(frames["boards"])] if len(frames["boards"]) else []),
        Table.of(cycles, ["degree", "phase", *_cycle_columns("mean", "least", "greatest")]),
        Table.of(
            frames["model"], ["degree", "phase", *_cycle_columns("modelled", "netlist"), "ratio"]
        ),
        _cell_table(modules, "module"),
        _cell_table(pd.concat([engines, paper], ignore_index=True), "configuration", "family"),
        _area_time_table(frames["area_time"]),
    )
    limits = list(rtl.LIMITS)
    remarks = [f"- {text}" for text in limits]
    return console.show(
        arguments, {**data, **provenance, "limits": limits},
        *tables, *([_leak_table(frames["leaks"])] if len(frames["leaks"]) else []),
        remarks=remarks,
    )  # fmt: skip


def _cycle_columns(*names: str) -> list[Column]:
    return [Column(name, numeric=True, show=integer) for name in names]


def _engine_times(frames: dict[str, pd.DataFrame]) -> Table:
    columns = [
        Column("engine"),
        Column("degree", numeric=True),
        *_cycle_columns("cycles"),
        Column("placements", numeric=True),
        Column("median clock (MHz)", numeric=True, digits=4),
        Column("slowest", numeric=True, digits=4),
        Column("fastest", numeric=True, digits=4),
        Column("time", numeric=True, unit=SECONDS),
        Column("setting"),
    ]
    rows: list[list[object]] = []
    for row in frames["times"].to_dict("records"):
        setting = "RTL of pqchain, one attempt of the engine alone"
        # Without a recorded place and route, clock and time are NaN.
        if math.isfinite(row["seconds"]):
            setting += f"; routed on {row['device']} (ECP5), a proxy device"
        names = ("clock_hertz", "low_clock_hertz", "high_clock_hertz")
        clock = [row["placements"], *(row[name] / 1e6 for name in names), row["seconds"]]
        rows.append([row["configuration"], row["degree"], row["cycles"], *clock, setting])
    megahertz = float(frames["printed_table2"]["clock_megahertz"].iloc[0])
    for row in frames["printed_table3"].to_dict("records"):
        if "artix" in str(row["implementation"]):
            degree = int(str(row["algorithm"]).split("-")[1])
            seconds = float(row["sign_seconds"])
            clock = [seconds * megahertz * 1e6, 1, megahertz, math.nan, math.nan, seconds]
            rows.append(["printed", degree, *clock, "printed: software and hardware, Artix-7"])
    return Table(columns=columns, rows=rows)


_CELLS = (
    "lut", "lutram", "shift_register", "lut_total", "flip_flop", "dsp", "block_ram_36k",
    "block_ram_18k",
)  # fmt: skip
_PRINTED_CELLS = {"lookup_tables": "lut_total", "flip_flops": "flip_flop", "dsp_blocks": "dsp"}
_ENGINE = "design_hierarchy"  # name of the module that contains the complete engine


def _cell_table(frame: pd.DataFrame, *names: str) -> Table:
    counts = [Column(humanize(name), key=name, numeric=True, exact=True) for name in _CELLS]
    return Table.of(frame, [*names, *counts])


def _board_table(frame: pd.DataFrame) -> Table:
    clocks = {"clock_hertz": "median clock (MHz)", "low_clock_hertz": "slowest",
              "high_clock_hertz": "fastest"}  # fmt: skip
    megahertz = frame.assign(**{key: frame[key] / 1e6 for key in clocks})
    return Table.of(megahertz, [
        "board", "device", Column("placements", numeric=True),
        *(Column(title, key=key, numeric=True, digits=4) for key, title in clocks.items()),
        Column("bitstream of seed 1 (SHA-256)", key="sha256"),
    ])  # fmt: skip


def _area_time_table(frame: pd.DataFrame) -> Table:
    counts = [Column(name, numeric=True, show=integer) for name in ("lut", "dsp", "slices")]
    return Table.of(frame, [
        "core", "degree", *counts, Column("time", key="seconds", numeric=True, unit=SECONDS),
        Column("slices x s", key="area_time", numeric=True, digits=3), "kind", "contains",
    ])  # fmt: skip


def _leak_table(frame: pd.DataFrame) -> Table:
    columns = [
        Column("two keys: engine", key="configuration"),
        Column("degree", numeric=True),
        Column("attempts", numeric=True),
        Column("t of cycles", numeric=True, key="t"),
        Column("least detectable difference", numeric=True, key="least_difference"),
        Column("cycles outside the sampler", key="cycles_outside_the_sampler"),
    ]
    outside = frame["cycles_outside_the_sampler"].map(lambda cycles: ", ".join(map(str, cycles)))
    return Table.of(frame.assign(cycles_outside_the_sampler=outside), columns)


def _serial_device(named: str | None) -> str | None:
    """Return the serial device to examine: the named one, or that of a board found by its name."""
    if named is not None:
        return named
    try:
        from pqchain.falcon import serial
    except ImportError:  # not Linux
        return None
    return next(map(str, serial.find_boards()), None)


def examine(arguments: argparse.Namespace) -> int:
    """Check which back ends work on this machine."""
    backends = []
    for name in BACKENDS:
        reason = ""
        device = _serial_device(arguments.device) if name == "serial" else None
        try:
            FalconSigner(512, name, device=device).close()
        except (PqchainError, OSError) as error:
            reason = str(error)
        backends.append({"backend": name, "works": not reason, "reason": reason})
    rows = (f"  {'ok' if row['works'] else '--'}  {row['backend']:9}  {row['reason']}"
            for row in backends)  # fmt: skip
    # The other back ends are optional.
    healthy = any(row["works"] for row in backends if row["backend"] == "reference")
    data = {"healthy": healthy, "backends": backends}
    return console.show(arguments, data, "\n".join(rows), ok=healthy)
