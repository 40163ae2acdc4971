"""Reproduce the published works in one run and write `index.html`, tables and plots about it."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import (
    accelerator,
    algorithms,
    bench,
    blockbench,
    chapters,
    compare,
    landscape,
    layout,
    overview,
    page,
    papers,
    plots,
    pqdpol,
    pqdpol_layout,
    reencoding,
    replaylayout,
    results,
    round3,
)
from pqchain.costs import from_frame
from pqchain.errors import DataError, UsageError
from pqchain.page import Markup
from pqchain.reproduction import Reproduction

BASELINE = ("ECDSA-secp256k1", "Schnorr-secp256k1", "ECDSA-P256", "Ed25519")
"""What chains sign with today; measured beside whatever a work compares."""

BLOCKS = {"mini-blockchain": "blockchain"}
"""Works that measure a block, and the table that prints it."""


def reproduce(
    output: str | Path = "results",
    *,
    preset: str = "quick",
    only: Iterable[str] | str | None = None,
    progress: bool = False,
) -> Reproduction:
    """Measure once, compare with every work (or those in `only`), and write the report.

    Writes into the folder `output`: index.html; measurements.csv; <work>/comparison.csv,
    sizes.csv and claims.csv, each with a JSON sidecar; blocks.csv and <work>/block-comparison.csv
    for works that measure blocks; pqdpol/table5-6.csv and what else `pqchain.pqdpol.study` models;
    quic-reencoding/runs.csv, table1.csv, figure1.csv, contrast.csv and transports.csv of the
    replays; figures/*.svg and *.png. Files appear only when all are complete; other files in the
    folder stay.

    A broken size or a failed computation is in `failures`; a slow machine is not a failure.
    Raises UnknownPaper for an unknown work and UsageError for an unknown preset.
    """
    keys = _keys(only)
    output = Path(output)
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file; give a folder to write the report into")
    # Better to fail now than after minutes of measuring.
    output.mkdir(parents=True, exist_ok=True)
    published = [papers.published(key) for key in keys]
    named = {name for key in keys for name in papers.paper(key).names.values()}
    wanted = [name for name in algorithms.ALGORITHMS if name in named or name in BASELINE]
    measured = bench.measure(wanted, preset=preset, progress=progress)
    blocks = _blocks(keys, preset, progress)
    study = _study(measured, preset, progress) if pqdpol.KEY in keys else None
    judged = _joined("claims", (_claims(key, measured, blocks, study) for key in keys))
    replays: dict[str, pd.DataFrame] = {}
    if reencoding.PAPER in keys:
        replays = reencoding.reproduce(preset, progress=progress)
        judged = reencoding.claims(replays, judged)
    done = Reproduction(
        output=output,
        keys=tuple(keys),
        measurements=measured,
        comparison=_joined("comparison", (_aligned(measured, frame) for frame in published)),
        sizes=_joined("sizes", (compare.sizes(frame) for frame in published)),
        claims=judged,
        replays=replays,
        blocks=blocks,
        block_comparison=_joined(
            "block-comparison",
            (
                compare.blocks(blocks, papers.table(key, table), paper=key, table=table)
                for key, table in BLOCKS.items()
                if key in keys
            ),
        ),
        study=study,
    )
    write(done)
    return done


def _blocks(keys: Iterable[str], preset: str, progress: bool) -> pd.DataFrame:
    """Measure a block of every scheme that a work puts into one."""
    named = {name for key in keys if key in BLOCKS for name in papers.paper(key).names.values()}
    wanted = [name for name in algorithms.ALGORITHMS if name in named]
    if not wanted:
        return _joined("block", ())
    measured = blockbench.measure_blocks(wanted, preset=preset, progress=progress)
    measured.attrs.pop("rounds", None)
    return measured


def _study(measured: pd.DataFrame, preset: str, progress: bool) -> pqdpol.Study:
    """Model the consensus with the paper's costs, and with ours if there are any."""
    try:
        costs = from_frame(measured)
    except DataError:  # nothing was measured
        costs = None
    return pqdpol.study(costs, preset=preset, progress=progress)


def _claims(
    key: str, measured: pd.DataFrame, blocks: pd.DataFrame, study: pqdpol.Study | None
) -> pd.DataFrame:
    """Check a work's statements; what only a model can decide, by the model."""
    if key != pqdpol.KEY or study is None:
        return compare.claims(key, measured, blocks)
    found = compare.claims(key, measured, blocks, study.tables)
    return _joined("claims", (found, pqdpol.softening(study.delegation)))


def write(done: Reproduction) -> Path:
    """Write the report of a finished run into its folder, all or nothing; return the page."""
    output = done.output
    building = output.parent / f".{output.name}.{uuid.uuid4().hex}.tmp"
    try:
        drawn = _figures(done)
        for name, (axes, _, _) in drawn.items():
            (building / "figures").mkdir(parents=True, exist_ok=True)
            (building / "figures" / f"{name}.png").write_bytes(plots.figure_bytes(axes, "png"))
            (building / "figures" / f"{name}.svg").write_bytes(plots.figure_bytes(axes, "svg"))
        _save_tables(done, building)
        files = sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file())
        shown = {
            name: page.figure(
                (building / "figures" / f"{name}.svg").read_bytes(),
                identifier=f"figure-{name}", description=description, caption=caption,
            )
            for name, (_, description, caption) in drawn.items()
        }  # fmt: skip
        (building / "index.html").write_text(_page(done, shown, files), encoding="utf-8")
        # The page goes last, so that it never speaks of files that are not there yet.
        for file in [*files, Path("index.html")]:
            (output / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(building / file, output / file)  # noqa: PTH105
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return done.index


def _keys(only: Iterable[str] | str | None) -> list[str]:
    """Return the works to reproduce, in the order of the report: most reproduced first."""
    known = sorted(papers.keys(), key=lambda key: (*_rank(key), key))
    if only is None:
        return known
    chosen = [only] if isinstance(only, str) else list(only)
    for key in chosen:
        papers.paper(key)
    if not chosen:
        raise UsageError(f"no work chosen; expected some of {', '.join(known)}")
    return [key for key in known if key in chosen]


def _rank(key: str) -> tuple[int]:
    """Return the place of a work in the report."""
    order = list(chapters.SCOPE)
    return (order.index(key) if key in order else len(order),)


def _joined(contract: str, frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Put frames of one contract together; there may be none with rows."""
    filled = [results.check(frame, contract) for frame in frames if len(frame)]
    for frame in filled:
        frame.attrs = {}
    if not filled:
        empty = pd.DataFrame(columns=list(results.CONTRACTS[contract]))
        return results.check(empty, contract)
    return pd.concat(filled, ignore_index=True)


def _aligned(measured: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Set our times beside those of a processor like ours; a microcontroller is no counterpart."""
    alike = published["implementation"].isin(("", "ref", "avx2"))
    return compare.align(measured, published[alike])


def _save_tables(done: Reproduction, folder: Path) -> None:
    """Save every frame with the provenance of the measurements that it rests on."""
    provenance = done.measurements.attrs.get("provenance", {})
    results.save(done.measurements, folder / "measurements.csv", contract="measurement")
    if len(done.blocks):
        results.save(done.blocks, folder / "blocks.csv", contract="block")
    frames = {
        "comparison": done.comparison,
        "sizes": done.sizes,
        "claims": done.claims,
        "block-comparison": done.block_comparison,
    }
    for contract, frame in frames.items():
        for key, rows in frame.groupby("paper", sort=False):
            path = folder / str(key) / f"{contract}.csv"
            results.save(rows, path, contract=contract, provenance=provenance)
    for name, (frame, contract) in done.study.frames.items() if done.study else ():
        path = folder / pqdpol.KEY / f"{name}.csv"
        results.save(frame, path, contract=contract, provenance=provenance)
    if round3.KEY in done.keys:
        path = folder / round3.KEY / "table1.csv"
        results.save(round3.table1(done.measurements), path, contract="table1")
    for name, frame in done.replays.items():
        path = folder / reencoding.PAPER / f"{name}.csv"
        results.save(frame, path, contract=reencoding.CONTRACTS[name])


def _figures(done: Reproduction) -> dict[str, tuple[Any, str, str]]:
    """Draw what there is to draw: name -> axes, description for those who cannot see, caption."""
    drawn: dict[str, tuple[Any, str, str]] = {}
    for key, rows in done.comparison.groupby("paper", sort=False):
        fine = rows[rows["status"] == "ok"]
        if len(fine) and fine["ratio"].notna().any():
            low, high = fine["ratio"].min(), fine["ratio"].max()
            drawn[f"{key}-ratio"] = (
                plots.plot_ratio(rows),
                f"Dots on a logarithmic axis around 1, from {low:.2g} to {high:.2g}: our time "
                f"divided by that of {key}, for each algorithm and operation.",
                f"Our times over those published in {key}. Left of the line, this machine is "
                "faster. The pattern, not the distance from the line, is what two machines share.",
            )
    drawn |= _block_figures(done.blocks)
    drawn |= _consensus_figures(done.study) if done.study else {}
    if round3.KEY in done.keys:
        drawn |= _round3_figures(done.measurements)
    if done.replays:
        drawn |= _replay_figures(done.replays)
    measured = done.measurements
    kinds = measured["algorithm"].map(lambda name: algorithms.get(name).kind)
    done_here = measured["status"] == "ok"
    if (done_here & (kinds == "signature")).any():
        drawn["speed-signatures"] = (
            plots.plot_speed(measured[kinds == "signature"]),
            "Median times of key generation, signing and verification of each signature scheme, "
            "on a logarithmic axis; the table below holds the values.",
            "Signature schemes on this machine.",
        )
    if (done_here & (kinds == "kem")).any():
        drawn["speed-kems"] = (
            plots.plot_speed(measured[kinds == "kem"]),
            "Median times of key generation, encapsulation and decapsulation of each KEM, on a "
            "logarithmic axis; the table below holds the values.",
            "Key encapsulation on this machine.",
        )
    if len(plots.speedups(measured)):
        drawn["speedup"] = (
            plots.plot_speedup(measured),
            "How many times faster AVX2 is than portable C, for each algorithm and operation.",
            "What AVX2 gains over portable C, in the same library and the same run.",
        )
    if (done_here & (measured["operation"] == "verify")).any():
        drawn["tradeoff"] = (
            plots.plot_tradeoff(measured),
            "Scatter plot: bytes of public key and signature against the time of one "
            "verification, both axes logarithmic.",
            "What a transaction costs every node of a chain: bytes to store and time to verify. "
            "Nearer the lower left corner is cheaper.",
        )
    signatures = list(dict.fromkeys(measured["algorithm"][kinds == "signature"]))
    if signatures:
        drawn["sizes"] = (
            plots.plot_sizes(signatures),
            "Sizes of public key and signature of each scheme on a logarithmic axis.",
            "Bytes of public key and signature, from the registry.",
        )
    return drawn


def _block_figures(blocks: pd.DataFrame) -> dict[str, tuple[Any, str, str]]:
    """Draw what a block costs, if blocks were measured."""
    if not (blocks["status"] == "ok").any():
        return {}
    return {
        "block-bytes": (
            plots.plot_blocks(blocks, "bytes"),
            "Bytes of block per transaction for each signature scheme, on a logarithmic axis.",
            "What a transaction adds to a block, with its public key, signature and addresses.",
        ),
        "block-verify": (
            plots.plot_blocks(blocks, "verify"),
            "Time to check one signature of a block, for each scheme and number of threads.",
            "Checking the signatures of a block, per transaction, by number of threads.",
        ),
        "block-rate": (
            plots.plot_blocks(blocks, "rate"),
            "Bytes of block validated in a second, for each scheme and number of threads.",
            "Bytes of block validated in a second: decoding, hashes, balances and signatures.",
        ),
    }


def _consensus_figures(study: pqdpol.Study) -> dict[str, tuple[Any, str, str]]:
    """Draw Tables 5 and 6 beside ours, latency on other networks, and who wins there."""
    cells = study.printed_costs
    drawn: dict[str, tuple[Any, str, str]] = {
        "consensus-throughput": (
            plots.plot_cells(cells, "throughput"),
            "Lines and hollow markers on logarithmic axes: transactions per second of six schemes "
            "over 2 to 32 nodes, modelled and printed. The table above holds the values.",
            "Table 5: transactions per second as printed (markers) and modelled with the paper's "
            "costs (lines).",
        ),
        "consensus-latency": (
            plots.plot_cells(cells, "latency", per_pair=True),
            "Lines and hollow markers on logarithmic axes: latency over the square of the number "
            "of nodes, for six schemes; the lines are nearly level. The table above holds the "
            "latencies.",
            "Table 6: latency over N squared as printed (markers) and modelled with the paper's "
            "costs (lines). Level lines are the law; the scatter of the markers is the print's.",
        ),
    }
    drawn["consensus-networks"] = (
        plots.plot_networks(study.laws),
        "Lines on two logarithmic axes: latency over the number of nodes up to 2 to the power of "
        "20, for each kind of network.",
        "Modelled: latency of a block of Falcon-512 on each kind of network. Solid: every node "
        "votes. Dashed: 128 delegates vote and the block travels by gossip. Bands: three draws of "
        "who lives in which region. Each kind has rates of its own, so compare how lines grow, "
        "not how high they lie.",
    )
    drawn["consensus-winners"] = (
        plots.plot_winners(landscape.winners(study.contest)),
        "Four maps of squares over bandwidth and number of nodes; each square names the scheme "
        "that wins there and by what factor.",
        "Modelled: who wins where, by gossip with 128 delegates, with the paper's costs. Above: "
        "throughput of full blocks; below: latency of blocks that hold equally many transactions, "
        "because a full block holds 30 of Falcon-512 and 2 of SPHINCS+. In a square: how many "
        "times better than the runner-up, or the runner-up where both are as good.",
    )
    return drawn


def _round3_figures(measured: pd.DataFrame) -> dict[str, tuple[Any, str, str]]:
    """Draw Table 1 of the round-3 comparison, one figure for each operation, and its sizes."""
    table = round3.table1(measured)
    drawn: dict[str, tuple[Any, str, str]] = {}
    for operation in algorithms.OPERATIONS:
        if not table.loc[table["quantity"] == f"{operation}_seconds", "here"].notna().any():
            continue
        spoken = page.spoken(operation)
        drawn[f"{round3.KEY}-{operation.partition('_')[0]}"] = (
            plots.plot_operation(table, operation),
            f"Bars on a logarithmic axis: {spoken} of every algorithm that has it, reference and "
            "AVX2, as printed and here. The table above holds the values.",
            f"Table 1: {spoken}. Hatched: as printed, on another processor.",
        )
    drawn[f"{round3.KEY}-sizes"] = (
        plots.plot_sizes(dict.fromkeys(table["algorithm"]), secret_keys=True),
        "Sizes of public key, secret key, and ciphertext or signature of the seven finalists on a "
        "logarithmic axis.",
        "Table 1: sizes, from the registry.",
    )
    return drawn


def _replay_figures(replays: Mapping[str, pd.DataFrame]) -> dict[str, tuple[Any, str, str]]:
    """Draw where the time of a re-encoding goes, and what streams and transports change."""
    key = reencoding.PAPER
    drawn: dict[str, tuple[Any, str, str]] = {
        f"{key}-phases": (
            plots.plot_phases(replays["table1"]),
            "Stacked bars of shares in percent: transfer, decoding, encoding, files and the rest, "
            "as printed and in each replay. The table above holds the values.",
            "Table 1 as shares of the time of a node. Each bar says whether it is published, "
            "modelled or measured.",
        ),
    }
    if len(replays["figure1"]):
        drawn[f"{key}-streams"] = (
            plots.plot_streams(replays["figure1"]),
            "Time of transfer against the number of blocks, single and multiplexed, with whiskers "
            "from the shortest to the longest run. The table above holds the values.",
            "Figure 1 replayed. Whiskers: shortest and longest run.",
        )
    if (replays["transports"]["status"] == "ok").any():
        drawn[f"{key}-transports"] = (
            plots.plot_transports(replays["transports"]),
            "Bars: time of transfer of each transport over links of equal rate, with whiskers from "
            "the shortest to the longest run, and a line where the link alone would be.",
            "Transports at equal links, measured between network namespaces.",
        )
    return drawn


def _page(done: Reproduction, figures: Mapping[str, Markup], files: Iterable[Path]) -> str:
    """Compose the page."""
    facts: dict[str, Any] = done.measurements.attrs.get("provenance", {})
    works = []
    contents = [("summary", "Summary"), ("reading", "How to read this page")]
    for key in done.keys:
        paper = papers.paper(key)
        beside = done.block_comparison[done.block_comparison["paper"] == key]
        drawn = [figures[name] for name in figures if name.startswith("block-")]
        chain = chapters.block_part(paper, beside, done.blocks, drawn) if len(beside) else None
        own = [markup for name, markup in figures.items() if name.startswith(f"{key}-")]
        if key == round3.KEY:
            checks = round3.cross_check(done.measurements)
            own = [*layout.markup(round3.table1(done.measurements), checks), *own]
        replayed: tuple[list[Markup], list[Markup]] = ([], [])
        if key == reencoding.PAPER and done.replays:
            replayed, own = replaylayout.markup(done.replays, figures), []
        comparison, sizes, claims = (
            frame[frame["paper"] == key] for frame in (done.comparison, done.sizes, done.claims)
        )
        missing = [
            name for name in paper.names.values() if name not in set(comparison["algorithm"])
        ]
        without = done.measurements[done.measurements["algorithm"].isin(missing)]
        unprinted = overview.measurement_tables(without) if len(comparison) else []
        modelled = []
        if key == accelerator.PAPER:
            modelled = [chapters.accelerator_table(accelerator.table3())]
        if key == pqdpol.KEY and done.study:
            drawn = [figures[name] for name in figures if name.startswith("consensus-")]
            modelled = pqdpol_layout.markup(done.study, drawn)
        works.append(
            chapters.work(
                paper,
                comparison,
                sizes,
                claims,
                own,
                unprinted,
                chain=chain,
                modelled=modelled,
                replayed=replayed,
            )
        )
        contents.append((key, key))
    prefixes = tuple(f"{key}-" for key in (*done.keys, "block", "consensus"))
    general = [markup for name, markup in figures.items() if not name.startswith(prefixes)]
    here = page.section(
        "measured", "What this machine measured", *general,
        *overview.measurement_tables(done.measurements),
    )  # fmt: skip
    contents += [
        ("measured", "What this machine measured"),
        ("correction", "A corrected defect"),
        ("provenance", "Where our numbers were made"),
        ("files", "Files"),
    ]
    listed = page.section(
        "files", "Files beside this page",
        page.bullets(page.link(path.as_posix(), path.as_posix()) for path in files),
    )  # fmt: skip
    return page.document(
        "pqchain: published and measured here", contents,
        overview.summary(done, facts), overview.reading(facts), *works, here,
        overview.correction(facts.get("native", {})), overview.provenance(facts), listed,
    )  # fmt: skip
