"""Counts of Falcon's floating-point operations, and a cycle model of a hardware engine for them.

All results are labelled *modelled* or *estimated*. The operation counts are exact: the tests
compare `operations` with the counts of pqchain's signer. Cycles follow from stated latencies. The
engine that was built and synthesised is the one in RTL; see `pqchain.falcon.rtl`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd

from pqchain.checks import integer, one_of
from pqchain.falcon.kernel import check_degree

OPERATIONS = (
    "add", "multiply", "divide", "square_root", "from_integer", "round", "truncate", "floor",
    "halve", "exponential",
)  # fmt: skip
"""Counted operations, in the order of hls_kernels/src/fp.h."""

MEAN_ATTEMPTS = {512: 1778.9, 1024: 3502.9}
"""Attempts of SamplerZ per signature: means of 6000 and 4000 signatures of pqchain's signer with
300 and 200 keys. All other counts are the same for every signature."""

MODULUS = 12289
"""Modulus q of the coefficients of keys and signatures."""

CLOCK_HZ = 168e6
"""Clock of the processor and the engine in the modelled paper."""

MULTIPLICATIONS_PER_EXPONENTIAL = 13
"""64-bit integer multiplications: twelve of Horner's rule and one for the acceptance scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningEngine:
    """Hardware engine in the model: its arithmetic units and schedule; latencies in cycles."""

    name: str
    adder_latency: int = 6
    multiplier_latency: int = 6
    divider_latency: int = 57
    """Latency of divisions and of square roots, which share the unit."""
    integer_latency: int = 5
    """Latency of a 64-bit integer multiplication."""
    conversion_latency: int = 3
    issue_interval: int = 1
    """Cycles between two operations of one unit; 2 if memory halves the rate."""
    adders: int = 1
    multipliers: int = 1
    divider_pipelined: bool = False
    overlapped: bool = True
    """Whether operations overlap; otherwise each waits for the one before."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type == "int":
                name = f"{field.name} of engine {self.name!r}"
                integer(name, getattr(self, field.name), least=1)


PIPELINED = SigningEngine(name="pipelined")
"""One adder, one multiplier and one divider; adder and multiplier start one operation per cycle."""

SERIAL = SigningEngine(
    name="no overlap, latencies 14 and 9", adder_latency=14, multiplier_latency=9, overlapped=False
)
"""No overlap, and latencies like those of vendors' floating-point cores (assumed)."""

SHORT_SERIAL = replace(PIPELINED, name="no overlap, latencies 6 and 6", overlapped=False)

ENGINES = (
    PIPELINED,
    replace(PIPELINED, name="pipelined, memory halves the rate", issue_interval=2),
    SHORT_SERIAL,
    SERIAL,
)
"""Engines shown by the notebook and the command."""

SCHEDULES = (
    SERIAL,
    SHORT_SERIAL,
    replace(SERIAL, name="overlapped, latencies 14 and 9", overlapped=True),
    PIPELINED,
)
"""Candidates for the paper's engine: the paper states that each unit exists once and is pipelined
inside, but neither latencies nor whether operations overlap."""

ALONE, ALONE_UNCALIBRATED = "M4 software, pqm4's cycles", "M4 software, one cycle per instruction"
"""Rows of the rebuilt Table 3: cycles published elsewhere, and cycles without calibration."""

SIGN_INSTRUCTIONS = {512: 53_203_632, 1024: 116_440_640}
"""Instructions of a signature of liboqs's portable C (mean of five), by degree, counted under QEMU
by `make bench-m4`, gcc 12.2 -O3."""

NTT_INSTRUCTIONS = {512: 242_760, 1024: 519_840}

PART_INSTRUCTIONS = {
    "decode the key": {512: 22_880, 1024: 44_880},
    "complete the key (NTT)": NTT_INSTRUCTIONS,
    "hash to a point": {512: 182_880, 1024: 347_720},
    "encode": {512: 27_840, 1024: 55_720},
}
"""Instructions of the parts of pqchain's signer that stay in software, by degree."""

CYCLES_PER_INSTRUCTION = 1.1701
"""pqm4's published cycles divided by the instructions of a signature: 1.1701 for both degrees. This
calibration has two points, so cycles on the M4 are estimates, not measurements."""

PQM4_CYCLES = {512: 62_255_726, 1024: 136_241_759}
"""pqm4, implementation `clean`, sign, 24 MHz, gcc 11.3.1 (benchmarks.csv before 2025-02-03)."""

_GENERATOR_BLOCK_CYCLES = 10_480 / 8 * CYCLES_PER_INSTRUCTION
_DEVIATION_CYCLES = 1_839 * CYCLES_PER_INSTRUCTION + 89 * CYCLES_PER_INSTRUCTION
"""Cycles on a Cortex-M4, which has no unit for binary64, with portable C. The instructions of one
ChaCha20 block, and of a square root and a multiplication per deviation, are those of the round-3
code's own emulation."""

_REGISTER_ACCESS_CYCLES = 10.0
"""Cycles of one access to a register of the engine: assumed, not measured."""


def operations(degree: int, attempts: float | None = None) -> pd.DataFrame:
    """Count the floating-point operations of one signing attempt by phase.

    `attempts` is the number of attempts of SamplerZ, by default the mean. Returns a frame indexed
    by phase with one column per operation of `OPERATIONS`. Raises UsageError for another degree.
    Source: pqchain's signer, whose counting build gives the same numbers.
    """
    logn, n = check_degree(degree), degree
    draws = MEAN_ATTEMPTS[n] if attempts is None else attempts
    calls = 2 * n
    butterflies = 11 * (logn - 1) * n // 4
    pieces = 6 * (logn - 1) * n // 4  # values processed by six splits and merges per node and level
    divisions = logn * n // 2
    rows: dict[str, dict[str, float]] = {
        "transforms": {"add": 6 * butterflies, "multiply": 4 * butterflies + 2 * n},
        "split_merge": {
            "add": 6 * pieces, "multiply": 4 * pieces, "halve": pieces * 4 * 4 // 6,
        },
        "ldl": {"add": 7 * divisions, "multiply": 12 * divisions, "divide": divisions},
        "polynomials": {
            "add": (2 + 2 + 3 + 2 + 4 + 2) * n + 3 * n * logn,
            "multiply": (4 + 4 + 4 + 2 + 8) * n + 2 * n * logn,
        },
        "leaves": {"multiply": n, "square_root": n},
        "sampler": {
            "add": calls + 3 * draws, "multiply": 2 * calls + 7 * draws,
            "from_integer": calls + 3 * draws, "truncate": 3 * draws, "floor": calls,
            "halve": calls, "exponential": draws,
        },
        "other": {"from_integer": 11 * n, "round": 2 * n},
    }  # fmt: skip
    return pd.DataFrame(rows, index=list(OPERATIONS)).T.fillna(0.0)


def engine_cycles(degree: int, engine: SigningEngine) -> dict[str, float]:
    """Return the modelled cycles of one signing attempt on an engine, by phase.

    Overlapped: a phase takes as long as its busiest unit, plus the time to fill the pipeline once
    per pass or call; the sampler is serial. Not overlapped: every operation takes its latency.
    Random bits are assumed to be ready on time. Raises UsageError for another degree.
    """
    logn = check_degree(degree)
    counts = operations(degree)
    add, mul, div = engine.adder_latency, engine.multiplier_latency, engine.divider_latency
    exponential = MULTIPLICATIONS_PER_EXPONENTIAL * (engine.integer_latency + 1)
    if not engine.overlapped:
        conversions = counts[["from_integer", "round", "truncate", "floor"]].sum(axis=1)
        cycles = (
            counts["add"] * add
            + counts["multiply"] * mul
            + (counts["divide"] + counts["square_root"]) * div
            + conversions * engine.conversion_latency
            + counts["exponential"] * exponential
        )
        return {str(phase): float(value) for phase, value in cycles.items()}

    per_unit = (counts["add"] / engine.adders, counts["multiply"] / engine.multipliers)
    busiest = pd.concat(per_unit, axis=1).max(axis=1) * engine.issue_interval
    fill, nodes, divisions = 2 * add + mul + 4, degree - 1, logn * degree // 2
    # Without a pipeline the divider starts a division only when the last one has ended.
    divide = divisions + nodes * div if engine.divider_pipelined else divisions * div
    phases = {
        "transforms": busiest["transforms"] + 11 * logn * fill,
        "split_merge": busiest["split_merge"] + 6 * nodes * fill,
        "ldl": busiest["ldl"] + divide + nodes * (2 * add + 2 * mul + 4),
        "polynomials": busiest["polynomials"] + (3 * nodes + 19) * (add + mul + 4),
        "leaves": degree * (div + mul),
        "sampler": 2 * degree * (4 + add + 2 * mul)
        + MEAN_ATTEMPTS[degree] * (9 + 3 * add + 4 * mul + exponential),
        "other": counts.loc["other"].sum(),
    }
    return {phase: float(cycles) for phase, cycles in phases.items()}


def _register_accesses(degree: int) -> float:
    """Return the number of register accesses in the partition "split"; see falcon_engine.h."""
    nodes, attempts = degree - 1, MEAN_ATTEMPTS[degree]
    step = 2 + 6  # opcode, size, four addresses
    steps = 10 * nodes + 39
    loads = 9 * (2 + 4)  # opcode, size, place, buffer
    rounds = 2 * (2 + 4)
    peeks = degree * (2 + 2 + 2)  # opcode, place; a value of two words comes back
    begins = 2 * degree * (2 + 5)  # opcode, size, place, a value of two words
    draws = attempts * (2 + 4 + 1)  # opcode, three words of random bits; the verdict comes back
    return steps * step + loads + rounds + peeks + begins + draws


def software_cycles(degree: int, partition: str) -> dict[str, float]:
    """Return the estimated cycles of the steps in software on a Cortex-M4, by step.

    `partition` is "whole" or "split". "whole": one offload per attempt, with random bits. "split":
    software draws the random bits, computes the deviation of each leaf and commands each step and
    attempt. Raises UsageError for another degree or partition.
    """
    check_degree(degree)
    one_of("partition", partition, ("whole", "split"))
    parts = {
        part: count[degree] * CYCLES_PER_INSTRUCTION for part, count in PART_INSTRUCTIONS.items()
    }
    if partition == "split":
        # 12 bytes per attempt: 9 for the base draw, a sign, and a little more than one to decide.
        blocks = MEAN_ATTEMPTS[degree] * 11.004 / 62.46
        parts["random bits"] = blocks * _GENERATOR_BLOCK_CYCLES
        parts["deviations"] = degree * _DEVIATION_CYCLES
        parts["commands"] = _register_accesses(degree) * _REGISTER_ACCESS_CYCLES
    return parts


def split_row(engine: SigningEngine) -> str:
    """Return the label of the row of Table 3 for an engine in the partition "split"."""
    return f"M4 + engine, {engine.name}"


def rebuild_table3() -> pd.DataFrame:
    """Recompute the times of the paper's Table 3 with the cycle model.

    Returns a frame with the columns algorithm, row, kind ("cited", "estimated", "modelled"),
    seconds, engine_seconds, software_seconds and assumptions. Rows: software alone, as published by
    pqm4 for the same processor and as estimated from instructions alone; the paper's partition,
    with each of SCHEDULES; a whole attempt as one offload with PIPELINED.
    """
    columns = ["algorithm", "row", "kind", "seconds", "engine_seconds", "software_seconds"]
    published = "pqm4's cycles of portable C at 24 MHz, over 168 MHz; no wait states"
    counted = "instructions of portable C under QEMU, a cycle each: a lower bound"
    schedules = [(split_row(row), "split", row) for row in SCHEDULES]
    schedules.append((f"{split_row(PIPELINED)}, whole attempt", "whole", PIPELINED))
    rows: list[tuple[Any, ...]] = []
    for degree in (512, 1024):
        name = f"Falcon-{degree}"
        alone, least = PQM4_CYCLES[degree] / CLOCK_HZ, SIGN_INSTRUCTIONS[degree] / CLOCK_HZ
        rows.append((name, ALONE, "cited", alone, 0.0, alone, published))
        rows.append((name, ALONE_UNCALIBRATED, "estimated", least, 0.0, least, counted))
        for label, partition, chosen in schedules:
            phases = engine_cycles(degree, chosen)
            if partition == "split":  # software computes the deviations of the leaves
                phases.pop("leaves")
            hardware = sum(phases.values()) / CLOCK_HZ
            software = sum(software_cycles(degree, partition).values()) / CLOCK_HZ
            times = (hardware + software, hardware, software)
            rows.append((name, label, "modelled", *times, _assumptions(chosen, partition)))
    return pd.DataFrame(rows, columns=[*columns, "assumptions"])


def _assumptions(engine: SigningEngine, partition: str) -> str:
    text = (
        f"{CLOCK_HZ / 1e6:g} MHz; {engine.adders} adder(s) of {engine.adder_latency}, "
        f"{engine.multipliers} multiplier(s) of {engine.multiplier_latency}, divider of "
        f"{engine.divider_latency} cycles{', pipelined' if engine.divider_pipelined else ''}; "
        f"{'overlapped' if engine.overlapped else 'no overlap'}; software: instructions x "
        f"{CYCLES_PER_INSTRUCTION} cycles, calibrated on pqm4"
    )
    if partition == "split":
        text += (
            "; random bits, deviations and commands in software, "
            f"{_REGISTER_ACCESS_CYCLES:g} cycles per register access (assumed)"
        )
    return text


def sweep(base: SigningEngine = PIPELINED) -> pd.DataFrame:
    """Return the speed-up of the engine alone with more or faster arithmetic units.

    Returns a frame with the columns algorithm, change, cycles, seconds and gain (time of `base`
    divided by the time with the change). All values are modelled.
    """
    adder, multiplier = {"adders": base.adders + 1}, {"multipliers": base.multipliers + 1}
    both = adder | multiplier
    changes: dict[str, dict[str, Any]] = {
        "as it is": {},
        "one more multiplier": multiplier,
        "one more adder": adder,
        "one more of both": both,
        "pipelined divider": {"divider_pipelined": True},
        "half the latency of the divider": {"divider_latency": max(1, base.divider_latency // 2)},
        "pipelined divider, one more of both": {"divider_pipelined": True, **both},
    }
    rows = []
    for degree in (512, 1024):
        first = sum(engine_cycles(degree, base).values())
        for change, units in changes.items():
            cycles = sum(engine_cycles(degree, replace(base, **units)).values())
            rows.append((f"Falcon-{degree}", change, cycles, cycles / CLOCK_HZ, first / cycles))
    return pd.DataFrame(rows, columns=["algorithm", "change", "cycles", "seconds", "gain"])
