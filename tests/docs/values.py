"""Values of the fields of numbers.toml, each computed when a sentence first needs it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

import pandas as pd

from hls_kernels.rtl import leaks
from packages.conform.tests.test_generators import COUNTS
from pqchain import algorithms, papers, study
from pqchain.bench import comparing, stored
from pqchain.chain import encoding
from pqchain.consensus.network import regions
from pqchain.crypto import isolated
from pqchain.falcon import model, rtl
from pqchain.study import validation
from pqchain.works import registry
from pqchain.works.falcon_hls.work import table3
from pqchain.works.pqdpol import DATA_BYTES, rebuilt
from pqchain.works.quic_reencoding import frames, replays
from pqchain_conform.mutants import mutants
from pqchain_conform.vector import ALGORITHMS
from tests.crypto.test_hawk import EARLIER, VECTORS

RECOVERY = ("Falcon-recovery-{}", "Falcon-padded-{}")


def length(name: str) -> int:
    """Return the bytes of public key and signature of a scheme."""
    algorithm = algorithms.get(name)
    return algorithm.public_key_bytes + int(algorithm.signature_bytes)


def shorter(degree: int) -> float:
    """Return by how many percent key recovery shortens public key and signature."""
    recovery, padded = (length(name.format(degree)) for name in RECOVERY)
    return 100 * (1 - recovery / padded)


def printed(key: str, row: str, quantity: str = "") -> float:
    """Return a printed number of a work."""
    frame = papers.published(key)
    is_row = (frame["printed_name"] == row) & frame["quantity"].str.contains(quantity)
    return float(frame.loc[is_row, "value"].iloc[0])


@cache
def accelerator() -> pd.Series[float]:
    """Return the seconds of Falcon-512 in Table 3 by row, printed and modelled."""
    return table3().query("algorithm == 'Falcon-512'").set_index("implementation")["ours"]


@cache
def schedules() -> list[float]:
    """Return the modelled seconds of Falcon-512 by schedule."""
    return [accelerator()[model.split_row(engine)] for engine in model.SCHEDULES]


@cache
def t_tests() -> pd.DataFrame:
    """Return the t-tests of two keys, with the detectable difference in percent of an attempt."""
    frame = rtl.timing_leakage()
    mean_cycles = frame["mean_cycles"].str[0]
    return frame.assign(percent=100 * frame["least_difference"] / mean_cycles)


def chance(t: pd.Series[float]) -> float:
    """Return the chance that the greatest |t| of equally many tests reaches that of these."""
    both_sides = 2 * (1 - NormalDist().cdf(t.abs().max()))
    return 1 - (1 - both_sides) ** len(t)


@cache
def packed() -> pd.Series[float]:
    """Return the transactions in a block of the PQ-DPoL study by scheme."""
    cells = rebuilt.tables().drop_duplicates("algorithm").set_index("algorithm")
    return cells["transactions_per_block"]


@cache
def columns() -> dict[tuple[str, str], bool]:
    """Return, by column of Table 1 of round3, whether its code is not of the same submission."""
    paper = registry.get("round3").paper
    return {
        (name, variant): any(
            paper.code_origin(paper.names[name], f"/{variant}", operation)
            for operation in algorithms.OPERATIONS
        )
        for name in paper.names
        for variant in ("ref", "avx2")
    }


def latencies(table: str) -> list[list[float]]:
    """Return the milliseconds between the regions of a table of the network of the world."""
    return [region["latency_milliseconds"] for region in regions(table)]


def latency_factor() -> float:
    """Return the median ratio of the latencies of 2019 to those of 2026."""
    pairs = zip(latencies("2019"), latencies("2026"), strict=True)
    return median(old / new for rows in pairs for old, new in zip(*rows, strict=True))


def misprint() -> Any:
    """Return the erratum of Table 6 of PQ-DPoL."""
    paper = registry.get("pqdpol").paper
    return next(erratum for erratum in paper.errata if erratum.table == "table6")


GAS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "tasks" / "gas.md"

_MICROSECONDS = {"µs": 1.0, "ms": 1000.0}


def gas_rows(text: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Return microseconds and share of key decoding by algorithm and library, as printed."""
    rows, algorithm = {}, ""
    pattern = r"^\|([^|]*)\| ([^|]+) \| ([\d.]+) (µs|ms) \| [^|]+ \|(?: (\d+) %)? *\|$"
    for name, verifier, time, unit, share in re.findall(pattern, text, re.MULTILINE):
        algorithm = name.strip() or algorithm
        # Without the remarks, which differ between the rows of one library.
        library = re.split(r", | \(", verifier)[0]
        rows[algorithm, library] = float(time) * _MICROSECONDS[unit], float(share or 0) / 100
    return rows


def kept_microseconds(rows: dict[tuple[str, str], tuple[float, float]], verifier: str) -> float:
    """Return the microseconds of a verification of ML-DSA-44 with a decoded key."""
    time, share = next(
        row for (name, by), row in rows.items() if name == "ML-DSA-44" and by.startswith(verifier)
    )
    return time * (1 - share)


@cache
def gas_table() -> dict[tuple[str, str], tuple[float, float]]:
    """Return the rows of the table of docs/tasks/gas.md."""
    return gas_rows(GAS_PAGE.read_text(encoding="utf-8"))


GAS_SCHEMES = ("ML-DSA-44", "Falcon-512")


def library_or_scheme() -> str:
    """Return "more" if the library changes the price more than the scheme does, else "less"."""
    times = {key: time for key, (time, _) in gas_table().items()}
    by_scheme = [[t for (name, _), t in times.items() if name == of] for of in GAS_SCHEMES]
    libraries = min(max(of) / min(of) for of in by_scheme)
    both = [
        times[GAS_SCHEMES[0], by] / times[GAS_SCHEMES[1], by]
        for name, by in times
        if name == GAS_SCHEMES[0] and (GAS_SCHEMES[1], by) in times
    ]
    schemes = max(max(ratio, 1 / ratio) for ratio in both)
    return "more" if libraries > schemes else "less"


def relative_capacity(chain: str, name: str) -> float:
    """Return the capacity of a chain with a scheme relative to today's."""
    plan = study.load(chain).with_(algorithms=(name,))
    found = study.run(plan, measurements=stored.load(), draws=1)
    return float(found.figures[name]["capacity_ratio"].value)


VALUES: dict[str, Callable[[], Any]] = {
    "address_bytes": lambda: encoding.ADDRESS_BYTES,
    "below": lambda: 100 * (1 - schedules()[0] / accelerator()["printed: SW+HW"]),
    "block_transactions": lambda: int(printed("mini-blockchain", "Tx count")),
    "bls_bytes": lambda: int(algorithms.get("BLS12-381").signature_bytes),
    "columns": lambda: len(columns()),
    "compare_floor": lambda: 100 * (comparing.FLOOR - 1),
    "compare_resolution": lambda: 100 * (comparing.RESOLUTION - 1),
    "corrected": lambda: misprint().expected,
    "data_bytes": lambda: DATA_BYTES,
    "datagram_microseconds": lambda: replays.DATAGRAM_SECONDS * 1e6,
    "ethereum_falcon": lambda: relative_capacity("ethereum", "Falcon-512"),
    "ethereum_ml_dsa": lambda: relative_capacity("ethereum", "ML-DSA-44"),
    "ethereum_votes": lambda: study.load("ethereum").votes_per_block,
    "falcon_full": lambda: int(packed()["Falcon-512"]),
    "falcon_transactions": lambda: (
        printed("pqdpol", "Falcon 512, n = 1", "throughput")
        * printed("pqdpol", "Falcon 512, n = 1", "latency")
    ),
    "glamsterdam_falcon": lambda: relative_capacity("ethereum-glamsterdam", "Falcon-512"),
    "glamsterdam_ml_dsa": lambda: relative_capacity("ethereum-glamsterdam", "ML-DSA-44"),
    "hash_1024": lambda: algorithms.get("Falcon-recovery-1024").public_key_bytes,
    "hash_512": lambda: algorithms.get("Falcon-recovery-512").public_key_bytes,
    "hawk_1024": lambda: len(VECTORS["Hawk-1024"]) - len(EARLIER["Hawk-1024"]),
    "hawk_512": lambda: len(VECTORS["Hawk-512"]) - len(EARLIER["Hawk-512"]),
    "hawk_earlier": lambda: sum(map(len, EARLIER.values())),
    "impairment_loss": lambda: 100 * replays.IMPAIRMENT["loss"],
    "impairment_milliseconds": lambda: 1000 * replays.IMPAIRMENT["delay_seconds"],
    "kept_circl": lambda: kept_microseconds(gas_table(), "circl"),
    "kept_fips204": lambda: kept_microseconds(gas_table(), "fips204"),
    "kept_rustcrypto": lambda: kept_microseconds(gas_table(), "RustCrypto"),
    "large_error": lambda: 100 * validation.FAR,
    "latency_2019": lambda: latencies("2019")[0][1],
    "latency_2026": lambda: latencies("2026")[0][1],
    "latency_factor": latency_factor,
    "leak_attempts": lambda: t_tests()["attempts"].min(),
    "leak_bound": lambda: leaks.THRESHOLD,
    "leak_chance": lambda: 100 * chance(t_tests()["t"]),
    "leak_percent": lambda: t_tests()["percent"].max(),
    "leak_t": lambda: t_tests()["t"].abs().max(),
    "library_or_scheme": library_or_scheme,
    "misprint": lambda: misprint().printed,
    "ml_dsa_vectors": lambda: sum(COUNTS[name] for name in COUNTS if name.startswith("ML-DSA")),
    "mutants": lambda: len({defect for name in ALGORITHMS for defect in mutants(name)}),
    "mutants_65": lambda: len(mutants("ML-DSA-65")),
    "other_code": lambda: sum(columns().values()),
    "other_fields": lambda: round(
        printed("mini-blockchain", "Avg tx size (block_size / tx_count)")
        - length("Falcon-512")
        - algorithms.get("Falcon-512").public_key_bytes
    ),
    "overlapped": lambda: 1000 * schedules()[2],
    "packet_bytes": lambda: study.load("solana").packet_bytes,
    "paper_block_kilobytes": lambda: printed("pqdpol", "Block size"),
    "paper_block_megabytes": lambda: printed("quic-reencoding", "Block file"),
    "printed_engine": lambda: 1000 * accelerator()["printed: SW+HW"],
    "printed_software": lambda: 1000 * accelerator()["printed: M4 SW"],
    "recovery_1024": lambda: int(algorithms.get("Falcon-recovery-1024").signature_bytes),
    "recovery_512": lambda: int(algorithms.get("Falcon-recovery-512").signature_bytes),
    "same_code": lambda: len(columns()) - sum(columns().values()),
    "saving": frames.claimed_percent,
    "short": lambda: 1000 * schedules()[1],
    "shorter_1024": lambda: shorter(1024),
    "shorter_512": lambda: shorter(512),
    "slow": lambda: 1000 * schedules()[0],
    "software": lambda: 1000 * sum(model.software_cycles(512, "split").values()) / model.CLOCK_HZ,
    "sphincs_full": lambda: packed()["SPHINCS+-SHA2-128f-simple"],
    "user_code_seconds": lambda: isolated._DEFAULT_LIMIT_SECONDS,
    "vectors": lambda: sum(COUNTS.values()),
}
"""Functions of the values by name; one value has one name on all pages."""


class Values(dict[str, Any]):
    """A mapping of the fields of a sentence to their values, which computes each at first use."""

    def __missing__(self, name: str) -> Any:
        self[name] = VALUES[name]()
        return self[name]
