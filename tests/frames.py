"""Synthetic frames that match the contracts, for tests without native code or clock."""

import math
from collections.abc import Mapping
from functools import cache

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench.blocks import BLOCK
from pqchain.chain.encoding import encoded_size, header_bytes
from pqchain.reencode.replays import NODE, RUN, Replay
from pqchain.results.measurements import MEASUREMENT

PROVENANCE = {
    "machine_id": "test-machine-00000000",
    "cpu_model": "Imaginary 9000",
    "cpu_count": 4,
    "cpu_flags": ["avx2", "bmi2"],
    "date": "2026-11-21T00:00:00+00:00",
    "python": "CPython 3.11.7",
    "load_average": 0.5,
    "pqchain": "0.0.0",
    "preset": "quick",
    "native": {"liboqs-0.13-avx2": {"source": "liboqs", "corrections": ["ml-dsa-avx2-verify"]}},
}
"""What a measurement frame says of its machine."""

AVX2, REF = "liboqs-0.13/avx2", "liboqs-0.13/ref"

LACKING = "Hawk-512"
"""Stands for what cannot run: in these frames it has no implementation."""

_MICROSECONDS = {
    "Dilithium2": (45, 120, 46),
    "Dilithium3": (80, 190, 76),
    "Dilithium5": (110, 240, 118),
    "ML-DSA-44": (44, 118, 45),
    "Falcon-512": (7300, 310, 58),
    "Falcon-1024": (22000, 620, 112),
    "SPHINCS+-SHA2-128f-simple": (480, 11000, 1030),
    "SPHINCS+-SHA2-192f-simple": (700, 18000, 1460),
    "SPHINCS+-SHA2-256f-simple": (1900, 38000, 1520),
    "Kyber512": (13, 16, 12),
    "Classic-McEliece-348864": (48000, 22, 55),
    "ECDSA-secp256k1": (19, 24, 27),
    "Ed25519": (25, 28, 70),
    LACKING: (0, 0, 0),
    "Rainbow-I-Classic": (130000, 1550, 1600),
}


def measurement(
    algorithm: str, implementation: str, operation: str, median: float, **changes: object
) -> dict[str, object]:
    """Build a row of a measurement frame: 1000 samples with a MAD of 1 %; NaN is unsupported."""
    is_ok = not math.isnan(median)
    names = ("median_seconds", "mean_seconds", "min_seconds", "p95_seconds")
    return {
        "algorithm": algorithm, "implementation": implementation, "operation": operation,
        "samples": 1000 * is_ok, **dict.fromkeys(names, median), "mad_seconds": median / 100,
        "median_cycles": math.nan, "status": "ok" if is_ok else "unsupported",
        "reason": "" if is_ok else "needs avx2",
    } | changes  # fmt: skip


def measured(*rows: dict[str, object]) -> pd.DataFrame:
    """Build a measurement frame of rows, with the provenance of a machine."""
    frame = MEASUREMENT.frame(rows)
    frame.attrs["provenance"] = {"machine_id": "test-machine"}
    return frame


def timed_operations(*rows: tuple) -> pd.DataFrame:
    """Build a measurement frame of (algorithm, implementation, operation, median, status)."""
    reasons = {"ok": "", "unsupported": "no AVX2 here", "failed": "no AVX2 here"}
    return measured(
        *(measurement(*row, status=status, reason=reasons[status]) for *row, status in rows)
    )


def all_three(algorithm: str, implementation: str, median: float, status: str = "ok") -> list:
    """Return the rows of the three operations of a signature scheme."""
    return [
        (algorithm, implementation, operation, median, status)
        for operation in ("generate_keypair", "sign", "verify")
    ]


def measurements(names: list[str] | None = None) -> pd.DataFrame:
    """Build a measurement frame: the fastest implementation and the next, which is slower."""
    records = []
    for name in names or list(_MICROSECONDS):
        algorithm = algorithms.get(name)
        offered = () if name == LACKING else algorithm.implementations
        for implementation in offered[:2] or ("",):
            slower = 1 + len(name) / 4 if implementation.endswith("/ref") else 1.0
            for operation, microseconds in zip(
                algorithm.operations, _MICROSECONDS.get(name, (90, 180, 60)), strict=True
            ):
                fine = bool(offered)
                median = microseconds * slower * 1e-6 if fine else math.nan
                row = measurement(
                    name, implementation, operation, median,
                    samples=100 * fine, mean_seconds=median * 1.05, mad_seconds=median * 0.02,
                    min_seconds=median * 0.95, p95_seconds=median * 1.4, median_cycles=median * 3e9,
                    reason="" if fine else f"no implementation of {name} in this version",
                )  # fmt: skip
                records.append(row)
    frame = MEASUREMENT.frame(records)
    frame.attrs["provenance"] = dict(PROVENANCE)
    return frame


def run_of(machine: str, factor: float = 1.0, **provenance: object) -> pd.DataFrame:
    """Build a run of Falcon-512 on a machine that is slower by a factor."""
    frame = measurements(["Falcon-512"])
    seconds = [column for column in frame.columns if column.endswith("_seconds")]
    frame[[*seconds, "median_cycles"]] *= factor
    frame.attrs["provenance"] = {**PROVENANCE, "machine_id": machine, "rounds": 3, **provenance}
    return frame


def times() -> pd.DataFrame:
    """Build a printed frame of times that are 1.25 times as long as the synthetic measurements."""
    ours = measurements()
    printed = ours["median_seconds"].fillna(1e-3) * 1.25
    return pd.DataFrame(
        {
            "paper": "pqdpol",
            "table": "table4",
            "algorithm": ours["algorithm"],
            "printed_name": ours["algorithm"],
            "variant": "",
            "quantity": ours["operation"] + "_seconds",
            "printed": printed,
            "unit": "s",
            "kind": "measured",
            "ours": ours["median_seconds"],
            "ours_low": math.nan,
            "ours_high": math.nan,
            "deviation": ours["mad_seconds"],
            "ratio": ours["median_seconds"] / printed,
            "implementation": ours["implementation"],
            "verdict": ours["status"],
            "note": ours["reason"],
            "reason": "",
        }
    )


def blocks(names: list[str] | None = None) -> pd.DataFrame:
    """Build a block frame: one and four threads, of which four are three times as fast.

    Hawk represents unsupported schemes, independent of the build.
    """
    rows = []
    for name in names or ["Falcon-512", "ML-DSA-44", "Hawk-512"]:
        algorithm = algorithms.get(name)
        size = encoded_size(name)
        for threads in (1, 4):
            row = dict.fromkeys(BLOCK.columns, math.nan) | {
                "algorithm": name, "implementation": "", "key_mode": "inline", "threads": threads,
                "transactions": pd.NA, "public_key_bytes": pd.NA, "block_bytes": pd.NA,
                "wallets": pd.NA, "rounds": pd.NA, "apply_code": "", "valid": "", "tampered": "",
                "block_hash": "",
                "previous_hash": "", "status": "unsupported", "reason": f"no {name} here",
            }  # fmt: skip
            if algorithm.family != "Hawk":
                verify = (
                    _MICROSECONDS.get(name, (90, 180, 60))[2] * 1e-3 / (1 if threads == 1 else 3)
                )
                row |= {
                    "implementation": AVX2, "transactions": 1000, "rounds": 9, "wallets": 25,
                    "public_key_bytes": algorithm.public_key_bytes,
                    "signature_bytes": float(algorithm.signature_bytes),
                    "block_bytes": header_bytes() + 1000 * size,
                    "transaction_bytes": size + header_bytes() / 1000,
                    "wallet_median_seconds": 8e-3, "wallet_mad_seconds": 1e-4,
                    "sign_median_seconds": 3.2e-4, "sign_mad_seconds": 1e-6,
                    "verify_median_seconds": verify, "verify_mad_seconds": verify / 100,
                    "loop_median_seconds": 0.99 * verify * (1 if threads == 1 else 3),
                    "apply_median_seconds": verify + 0.03, "apply_mad_seconds": 1e-3,
                    "hash_median_seconds": 4e-3, "apply_code": "C", "valid": "yes",
                    "tampered": "bad signature",
                    "previous_hash": "0a" * 32, "block_hash": "0b" * 32, "status": "ok",
                    "reason": "",
                }  # fmt: skip
            rows.append(row)
    frame = results.check(pd.DataFrame(rows), BLOCK)
    frame.attrs["provenance"] = dict(PROVENANCE)
    return frame


def replay_run(**changes: object) -> dict[str, object]:
    """Build a row of a "reencode" frame: a virtual replay of 2 MB, 10 ms long."""
    row: dict[str, object] = {
        "scenario_id": "0123456789abcdef", "experiment": "reencode", "mode": "virtual",
        "transport": "aioquic", "streams": "multiplexed", "repeat": 0, "block": -1, "seed": 0,
        "nodes": 9, "blocks": 1, "block_bytes": 2_000_000, "transfer_seconds": 4e-3,
        "decode_seconds": 2e-3, "encode_seconds": 1e-3, "io_seconds": 5e-4, "other_seconds": 2.5e-3,
        "total_seconds": 1e-2, "span_seconds": 1.1e-2, "first_chunk_seconds": 1e-3,
        "mean_chunk_seconds": 3e-3, "wire_limit_seconds": 2e-3, "cpu_seconds": math.nan,
        "cpu_share": math.nan, "machine_busy": math.nan, "received_bytes": 20_000_000,
        "wasted_bytes": 0, "dropped_datagrams": 0, "lost_datagrams": 0, "engine": "numpy",
        "identity": "ML-DSA-44", "status": "ok", "verdict": "bound by something",
    }  # fmt: skip
    return row | changes


def replay_runs(*rows: dict[str, object]) -> pd.DataFrame:
    """Build a "reencode" frame of rows that differ from `replay_run` in given columns."""
    return results.check(pd.DataFrame([replay_run(**row) for row in rows]), RUN)


def replay_result(*rows: dict[str, object]) -> Replay:
    """Build the result of a replay with these runs and no nodes."""
    return Replay(frame=replay_runs(*rows), nodes=NODE.frame())


def exchanges(
    savings: tuple[float, ...], *, mode: str = "virtual", blocks: int = 10
) -> pd.DataFrame:
    """Build pairs of exchanges; the multiplexed one is faster by given percentages."""
    rows = []
    for repeat, saving in enumerate(savings):
        for streams, factor, mean in (
            ("single", 1.0, 2e-3),
            ("multiplexed", 1 - saving / 100, 4e-3),
        ):
            rows.append(
                {
                    "experiment": "exchange", "mode": mode, "streams": streams, "repeat": repeat,
                    "seed": repeat, "blocks": blocks, "block_bytes": 70_000,
                    "transfer_seconds": 5e-3 * factor, "mean_chunk_seconds": mean,
                }
            )  # fmt: skip
    return replay_runs(*rows)


def shaped() -> pd.DataFrame:
    """Build runs of two transports between namespaces; the third is unsupported."""
    seconds = {"aioquic": 0.6, "tcp-tls": 0.5}
    rows: list[dict[str, object]] = [
        {"mode": "netns", "transport": name, "repeat": repeat,
         "transfer_seconds": time + repeat / 50,
         "wire_limit_seconds": 0.44, "cpu_seconds": time}
        for name, time in seconds.items() for repeat in range(3)
    ]  # fmt: skip
    missing = {"status": "unsupported", "verdict": "needs cargo", "transfer_seconds": math.nan}
    return replay_runs(*rows, {"mode": "netns", "transport": "native", **missing})


def troubled() -> list[tuple[dict[str, object], pd.DataFrame]]:
    """Build runs under latency: 0-RTT saves 40 ms, and loss delays chunks more on many streams."""
    from pqchain.works.quic_reencoding import frames as reencoding

    found: list[tuple[dict[str, object], pd.DataFrame]] = []
    for sessions, first in (("full", 0.16), ("0-rtt", 0.12)):
        about = {"comparison": reencoding.EARLY, "sessions": sessions, "delay_seconds": 0.02}
        rows = [{"repeat": at, "first_chunk_seconds": first + at / 1e4 * first} for at in range(6)]
        found.append((about | {"loss": 0.0}, replay_runs(*rows)))
    for loss, times in ((0.0, (0.2, 0.3)), (0.01, (0.8, 1.5))):
        about = {"comparison": reencoding.LOSSY, "sessions": "kept", "delay_seconds": 0.02}
        rows = [
            {"repeat": at, "streams": streams, "experiment": "exchange", "blocks": 10,
             "mean_chunk_seconds": time * (1 + loss * at)}
            for at in range(6)
            for streams, time in zip(("single", "multiplexed"), times, strict=True)
        ]  # fmt: skip
        found.append((about | {"loss": loss}, replay_runs(*rows)))
    return found


def replays() -> dict[str, pd.DataFrame]:
    """Return a result of `pqchain.works.quic_reencoding.replays.reproduce`."""
    return {name: frame.copy() for name, frame in _replays().items()}


@cache
def _replays() -> dict[str, pd.DataFrame]:
    from pqchain.works.quic_reencoding import frames as reencoding

    loopback = {"mode": "loopback", "transfer_seconds": 8e-3, "total_seconds": 1.4e-2}
    phases = {
        reencoding.LINK_ONLY: replay_runs({}),
        reencoding.CALIBRATED: replay_runs({"transfer_seconds": 9e-3, "total_seconds": 1.5e-2}),
        reencoding.LOOPBACK: replay_runs(loopback),
    }
    series = {
        reencoding.LINK_ONLY: pd.concat(
            [exchanges((0.0,) * 3, blocks=1), exchanges((1.0, 3.0, 2.0, -1.0))]
        ),
        reencoding.CALIBRATED: exchanges((3.6, 3.7, 3.8, 3.7)),
    }
    reference = replay_runs({}, {"transport": "native", "transfer_seconds": 3e-3})
    parts = [
        *phases.items(), *series.items(), (reencoding.OTHER_LIBRARIES, reference),
        (reencoding.SHAPED, shaped()),
    ]  # fmt: skip
    built = {
        "runs": results.joined((frame.assign(run=run) for run, frame in parts), reencoding.RUNS),
        "table1": reencoding.table1(phases),
        "figure1": reencoding.figure1(series[reencoding.LINK_ONLY]),
        "contrast": reencoding.contrast(series),
        "libraries": reencoding.libraries(reference),
        "impaired": reencoding.impaired_links(troubled()),
        "transports": reencoding.transports([shaped()], 1e7),
    }
    for frame in built.values():
        frame.attrs["provenance"] = PROVENANCE
    return built


@cache
def computed(key: str) -> Mapping[str, pd.DataFrame]:
    """Return what a work computes without measurements; the tests share it and change nothing."""
    from pqchain.works import registry
    from pqchain.works.work import Bench

    return registry.get(key).compute(Bench())
