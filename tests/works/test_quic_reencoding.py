"""The re-encoding paper compared with replays: tables, claims, and runs in processes."""

import math
import os
from dataclasses import replace

import pandas as pd
import pytest

from pqchain import reencode, results
from pqchain.errors import DataError, PqchainError, UnknownName
from pqchain.figures import Kind
from pqchain.reencode.scenario import ReplayScenario
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers, registry
from pqchain.works.quic_reencoding import frames as built
from pqchain.works.quic_reencoding import replays
from pqchain.works.quic_reencoding import work as judging
from pqchain.works.quic_reencoding.work import QuicReencoding
from pqchain.works.verdicts import FAILS, HOLDS, OPEN, SIZE, Standing, Verdict
from tests import frames


@pytest.fixture(scope="module")
def found() -> dict[str, pd.DataFrame]:
    """Synthetic frames of a reproduction."""
    return frames.replays()


def test_table1_keeps_printed_values_and_kinds_apart(found):
    table = found["table1"]
    printed = table[table["run"] == "printed"].set_index("phase")
    assert printed.loc["transfer", "seconds"] == 4.9978
    assert printed.loc["encode", "share_percent"] == 6.62
    assert printed["seconds"].sum() == pytest.approx(6.5575, abs=1e-4)
    assert set(zip(table["run"], table["kind"], strict=True)) == {
        ("printed", "published"), (built.LINK_ONLY, "replayed"),
        (built.CALIBRATED, "replayed"), (built.LOOPBACK, "measured"),
    }  # fmt: skip


def test_shares_are_fractions_of_the_total():
    table = built.table1({"here": frames.replay_runs({}, {"repeat": 1})})
    ours = table[table["run"] == "here"].set_index("phase")
    assert list(ours.index) == list(built.PHASES)
    assert ours["share_percent"].sum() == pytest.approx(100)
    assert ours.loc["transfer", "seconds"] == 4e-3
    assert ours.loc["transfer", "share_percent"] == pytest.approx(40)


def test_failed_run_has_a_reason_and_no_numbers():
    frame = frames.replay_runs({"status": "failed", "verdict": "no room", "mode": "loopback"})
    ours = built.table1({"here": frame}).query("run == 'here'")
    assert set(ours["status"]) == {"failed"}
    assert set(ours["note"]) == {"no room"}
    assert ours["seconds"].isna().all()


def test_figure1_has_mean_and_extremes():
    series = built.figure1(frames.exchanges((0.0, 10.0)))
    row = series[series["streams"] == "multiplexed"].iloc[0]
    assert (row["repeats"], row["blocks"], row["kind"]) == (2, 10, "replayed")
    assert row["transfer_seconds"] == pytest.approx(4.75e-3)
    assert (row["low_seconds"], row["high_seconds"]) == pytest.approx((4.5e-3, 5e-3))


def test_unsupported_transports_are_rows(found):
    table = found["transports"].set_index("transport")
    assert table.loc["aioquic", "repeats"] == 3
    assert table.loc["aioquic", "transfer_seconds"] == pytest.approx(0.62)
    assert table.loc["native", "status"] == "unsupported"
    assert table.loc["native", "verdict"] == "needs cargo"
    assert math.isnan(table.loc["native", "transfer_seconds"])


def test_facts_give_the_deviation_of_fitted_phases(found):
    table = found["table1"]
    printed = table[table["run"] == "printed"].set_index("phase")["seconds"]
    facts = QuicReencoding().facts(found)
    # 0.5 ms for 2 MB, and 7.1 ms for 640 MB as printed.
    expected = {"files_of_print": (5e-4, "io"), "transfer_of_print": (9e-3, "transfer")}
    for name, (seconds, phase) in expected.items():
        assert facts[name] == pytest.approx(100 * (seconds / 2e6) / (printed[phase] / 640e6))


def test_datagram_time_follows_from_published_values():
    printed = papers.table(built.KEY, "table1").set_index("printed_name")
    received = 10 * 8 * 64e6 / 7
    each = printed.loc["QUIC 전송", "duration_seconds"] / (received / 1452) / 2
    assert 0.85 * each < built.DATAGRAM_SECONDS < each


def test_unknown_preset_is_rejected():
    with pytest.raises(UnknownName, match="quik"):
        replays.reproduce("quik")


@pytest.mark.long
def test_virtual_run_in_its_own_process_gives_the_same_numbers():
    wanted = ReplayScenario(experiment="exchange", block_bytes=7000, seed=5)
    steps: list[int] = []
    apart = replays._run_processes([("a", wanted, {"repeats": 1})], lambda: steps.append(1))["a"]
    assert steps == [1]
    assert apart["repeat"].tolist() == [5]
    here = reencode.replay(wanted).frame
    assert apart["transfer_seconds"].tolist() == here["transfer_seconds"].tolist()
    assert apart["scenario_id"].tolist() == here["scenario_id"].tolist()


def die(scenario: ReplayScenario) -> None:
    """End this process, as the kernel does if memory runs out."""
    os._exit(3)


def test_process_that_dies_is_a_row_with_the_reason(monkeypatch):
    monkeypatch.setattr(replays, "_attempt", die)
    row = replays._run_processes([("a", ReplayScenario(), {})], lambda: None)["a"].iloc[0]
    assert row["status"] == "failed"
    assert "terminated abruptly" in row["verdict"]


def test_paper_preset_adds_sockets_and_transports(monkeypatch):
    asked: list[tuple[ReplayScenario, dict[str, object]]] = []

    def apart(orders, step):
        counts = asked_of(orders)
        assert counts["series"] == sum(count for _, count in replays.PRESETS["paper"].series)
        return apart_of(orders, frames.replay_runs({"block_bytes": 64_000_000}))

    def attempt(one, **options):
        asked.append((one, options))
        about = {"mode": one.mode, "transport": one.transport}
        if one.experiment == "exchange":
            return frames.exchanges((float(one.seed % 3),), mode=one.mode)
        return frames.replay_runs(about)

    monkeypatch.setattr(replays, "_run_processes", apart)
    monkeypatch.setattr(replays, "_attempt", attempt)
    found = replays.reproduce("paper")
    pairs = found["contrast"].set_index("run")["repeats"]
    assert pairs.to_dict() == {built.LINK_ONLY: 2, built.CALIBRATED: 10, built.LOOPBACK: 10}
    first = [options["streams"][0] for one, options in asked if one.experiment == "exchange"]
    assert first == ["single", "multiplexed"] * 5
    links = {one.link for one, _ in asked if one.mode == "netns"}
    assert {link.bits_per_second for link in links} == {replays.SHAPED_BITS_PER_SECOND}
    assert found["transports"]["repeats"].tolist() == [5] * len(TRANSPORTS)
    assert found["table1"].attrs["provenance"]["preset"] == "paper"


def asked_of(orders) -> dict[str, int]:
    """Return the number of repeats by name; check that seeds are unique."""
    seeds: dict[tuple[str, ReplayScenario], set[int]] = {}
    counts: dict[str, int] = {}
    for name, wanted, options in orders:
        used = seeds.setdefault((name, replace(wanted, seed=0)), set())
        ours = {wanted.seed + at for at in range(options["repeats"])}
        assert not used & ours
        used |= ours
        counts[name] = counts.get(name, 0) + len(ours)
    return counts


def apart_of(orders, one: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return a replacement of virtual replays of whole blocks."""
    found = dict.fromkeys((name for name, _, _ in orders), one)
    series = {
        "series": frames.exchanges((1.0, 2.0)),
        "calibrated series": frames.exchanges((1.0, 2.0) * 5).assign(
            block_bytes=one["block_bytes"].iloc[0]
        ),
        "reference series": frames.exchanges((1.0,)),
    }
    return found | series


def test_both_presets_replay_pairs_of_the_published_size():
    for preset in replays.PRESETS.values():
        orders = [*replays._virtual(preset)]
        counts = asked_of(orders)
        assert counts[built.LINK_ONLY] == 10 and max(preset.series)[0] == 10
        assert max(preset.series)[1] >= 3 <= preset.impaired_repeats
        whole = [wanted for name, wanted, _ in orders if name in (built.LINK_ONLY, "series")]
        assert {wanted.block_bytes for wanted in whole} == {64_000_000}
        # With processor time for datagrams, ten pairs of the length it was calibrated for.
        assert counts["calibrated series"] == replays.PAIRS == 10
        calibrated = {wanted for name, wanted, _ in orders if name == "calibrated series"}
        for wanted in calibrated:
            assert wanted.compute.datagram_seconds == built.DATAGRAM_SECONDS
            assert (wanted.datagram_bytes, wanted.blocks) == (1452, 10)


def test_aioquic_replays_without_the_native_library(monkeypatch):
    monkeypatch.setattr(replays.registry, "default", lambda: "aioquic")
    seen: list[ReplayScenario] = []

    def apart(orders, step):
        seen.extend(wanted for _, wanted, _ in orders)
        return apart_of(orders, frames.replay_runs({}))

    monkeypatch.setattr(replays, "_run_processes", apart)
    monkeypatch.setattr(replays, "_attempt", lambda one, **_: frames.replay_runs({}))
    replays.reproduce("quick")
    assert max(wanted.block_bytes for wanted in seen) < 64_000_000


def test_sequential_blocks_add_up():
    ten = frames.replay_runs(*({"repeat": at} for at in range(10)))
    table = built.table1({"here": replays.as_sequence(ten)}).query("run == 'here'")
    row = table.set_index("phase").loc["transfer"]
    assert (row["blocks"], row["payload_bytes"]) == (10, 20_000_000)
    assert row["seconds"] == pytest.approx(4e-2) and row["share_percent"] == pytest.approx(40)
    ten.loc[3, ["status", "verdict"]] = ["failed", "no room"]
    table = built.table1({"here": replays.as_sequence(ten)}).query("run == 'here'")
    assert set(table["status"]) == {"failed"} and table["seconds"].isna().all()


def test_libraries_are_compared_at_the_same_size(found):
    table = found["libraries"].set_index("transport")
    assert table.loc["aioquic", "over_native"] == pytest.approx(4 / 3)
    assert table.loc["native", "over_native"] == 1


def test_every_failed_run_is_a_failure_of_the_reproduction(found):
    work = registry.get(built.KEY)
    assert list(work.failures(found)) == []
    series, impaired = found["runs"].copy(), found["impaired"].copy()
    series.loc[series.index[-1], ["status", "verdict"]] = ["failed", "no room"]
    impaired.loc[impaired.index[0], ["status", "verdict"]] = ["failed", "no time"]
    texts = list(work.failures({**found, "runs": series, "impaired": impaired}))
    assert [text.rpartition(": ")[2] for text in texts] == ["no room", "no time"]


def test_unavailable_transport_is_a_row_with_the_reason(monkeypatch):
    def refuse(one, **options):
        raise PqchainError("no sockets left")

    monkeypatch.setattr(replays, "replay", refuse)
    row = replays._attempt(ReplayScenario(mode="loopback")).iloc[0]
    assert (row["status"], row["verdict"]) == ("failed", "no sockets left")


def judged(claims: pd.DataFrame, claim: str, source: str) -> tuple[str, str]:
    """Return verdict and evidence of one statement by one source."""
    ((verdict, evidence, _),) = all_judged(claims, claim, source)
    return verdict, evidence


def all_judged(claims: pd.DataFrame, claim: str, source: str) -> list[tuple[str, str, str]]:
    """Return verdict, evidence and setting of a statement by each run of one source."""
    rows = claims[(claims["claim_id"] == claim) & (claims["source"] == source)]
    return list(zip(rows["verdict"], rows["evidence"], rows["setting"], strict=True))


@pytest.mark.parametrize(
    ("savings", "verdict"),
    [
        ((3.6, 3.7, 3.8, 3.7, 3.7, 3.7), "holds on this clock"),
        ((0.1, 0.2, 0.1, 0.2, 0.1, 0.2), "not on this clock"),
        ((-8.0, 12.0, 15.0, -6.0, 3.0, 4.0), "cannot be decided here"),
        ((-1.0, 1.0, -0.5, 0.5, 0.0, 0.1), "not on this clock"),
        ((-5.0, -5.1, -5.2, -5.1, -5.0, -5.1), "not on this clock"),
        ((3.6, 3.7, 3.8, 3.7, 3.7), "cannot be decided here"),
    ],
)
def test_saving_is_judged_by_its_interval(found, savings, verdict):
    contrast = built.contrast({built.LINK_ONLY: frames.exchanges(savings)})
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    decided, evidence = judged(claims, "multiplexing-saves-time", "replayed")
    assert decided == verdict
    assert f"{len(savings)} pairs" in evidence
    assert ("95 % interval" in evidence) == (len(savings) >= 6)


def test_saving_of_equal_prices_is_by_construction(found):
    contrast = built.contrast({built.CALIBRATED: frames.exchanges((3.6, 3.7) * 5)})
    assert contrast[["low_percent", "high_percent"]].isna().all(axis=None)
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    decided, evidence = judged(claims, "multiplexing-saves-time", "replayed")
    assert decided == "cannot be decided here"
    assert "by construction" in evidence and "interval" not in evidence


@pytest.mark.parametrize(("slow", "verdict"), [(1.05, "holds with this code"), (1.3, OPEN)])
def test_busy_loopback_gives_no_verdict(found, slow, verdict):
    runs = frames.exchanges((3.6, 3.7) * 5, mode="loopback")
    # The fastest run of each kind shows what the others could be.
    factor = runs["repeat"].map(lambda repeat: slow if repeat else 1.0)
    runs["transfer_seconds"] *= factor
    contrast = built.contrast({built.LOOPBACK: runs})
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    ((decided, evidence, _),) = all_judged(claims, "multiplexing-saves-time", "measured")
    assert decided == verdict
    assert ("times of a busy machine, so no verdict: median/min 1.30" in evidence) == (slow > 1.1)
    joined = results.joined((found["runs"], runs.assign(run=built.LOOPBACK)), built.RUNS)
    both = {**found, "contrast": contrast, "runs": joined}
    claims = registry.get(built.KEY).claims(frames=both)
    ((decided, _, _),) = all_judged(claims, "single-stream-first-chunk", "measured")
    assert decided == verdict


def test_one_pair_gives_no_comparison():
    assert built.contrast({built.LINK_ONLY: frames.exchanges((3.7,))}).empty


def test_runs_decide_statements_that_the_tables_cannot(found):
    before = registry.get(built.KEY).claims()
    after = registry.get(built.KEY).claims(frames=found)
    assert list(dict.fromkeys(after["claim_id"])) == list(dict.fromkeys(before["claim_id"]))
    earlier = all_judged(after, "single-stream-first-chunk", "replayed")
    assert [verdict for verdict, _, _ in earlier] == ["holds on this clock"] * 2
    assert judged(after, "transfer-decisive", "measured")[0] == "holds with this code"
    assert judged(after, "chunks-restore-blocks", "run")[0] == "holds with this code"
    published = [frame[frame["source"] == "published"] for frame in (before, after)]
    pd.testing.assert_frame_equal(*(each.reset_index(drop=True) for each in published))


def test_fitted_values_neither_support_nor_refute(found):
    claims = registry.get(built.KEY).claims(frames=found)
    shares = claims[claims["evidence"].str.startswith((built.CALIBRATED, built.LINK_ONLY))]
    assert len(shares) and set(shares["verdict"]) <= {"fitted", "cannot be decided here"}


@pytest.mark.parametrize("savings", [(-5.0, -5.1, -5.2) * 2, (3.6, 3.7, 3.8) * 2])
@pytest.mark.parametrize(("run", "mode", "difference"), [
    (built.LINK_ONLY, "virtual", "on this clock"),
    (built.LOOPBACK, "loopback", "with this code"),
])  # fmt: skip
@pytest.mark.parametrize(("blocks", "size"), [(10, 64_000_000), (1, 64_000_000), (10, 70_000)])
def test_no_run_here_confirms_or_refutes_the_saving(
    found, savings, run, mode, difference, blocks, size
):
    runs = frames.exchanges(savings, mode=mode)
    runs = runs.assign(nodes=10, blocks=blocks, block_bytes=size)
    contrast = built.contrast({run: runs})
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    source = "replayed" if mode == "virtual" else "measured"
    word = f"{'holds' if savings[0] > 0 else 'not'} {difference}"
    for claim in ("multiplexing-saves-time", "multiplexing-more-efficient"):
        ((verdict, _, setting),) = all_judged(claims, claim, source)
        assert verdict == word
    assert setting.startswith(f"10 nodes, {blocks} x ") and "(7,3) to (6,3)" in setting
    assert "the paper's: ten nodes" in setting and "library that it does not name" in setting
    elsewhere = judging._standing(contrast.iloc[0], "nodes").elsewhere
    assert (SIZE in elsewhere) == ((blocks, size) != (10, 64_000_000))


def test_replayed_success_is_not_counted_as_a_confirmation(found):
    claims = registry.get(built.KEY).claims(frames=found)
    by_runs = claims[claims["source"].isin(["replayed", "measured", "run"])]
    assert {"holds on this clock", "holds with this code"} <= set(by_runs["verdict"])
    assert not {HOLDS, FAILS} & set(by_runs["verdict"])
    # A standing without the clock is an error, whatever the size.
    with pytest.raises(DataError, match="must name the difference 'on this clock'; got \\[\\]"):
        Verdict(HOLDS, "3.7 % saved", Kind.REPLAYED, Standing("10 nodes, 10 x 64 MB"))


def test_both_regimes_have_a_row_a_verdict_and_dropped_datagrams(found):
    pairs = {
        built.LINK_ONLY: frames.exchanges((1.0, 2.0)).assign(dropped_datagrams=[9, 7, 11, 5]),
        built.CALIBRATED: frames.exchanges((3.6, 3.8)),
        built.LOOPBACK: frames.exchanges((0.5, 0.9), mode="loopback"),
    }
    contrast = built.contrast(pairs)
    assert contrast["run"].tolist() == list(pairs)
    dropped = contrast[["single_dropped_datagrams", "multiplexed_dropped_datagrams"]]
    assert dropped.iloc[0].tolist() == [10, 6] and dropped.iloc[1].tolist() == [0, 0]
    # What the system drops on sockets is unknown, not 0.
    assert dropped.iloc[2].isna().all()
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    replayed = all_judged(claims, "multiplexing-saves-time", "replayed")
    assert "full queues drop 10 and 6 datagrams of a run" in replayed[0][1]
    assert "a datagram takes no processor time" in replayed[0][2]
    assert "a datagram takes 4.7\N{NARROW NO-BREAK SPACE}µs" in replayed[1][2]
    assert "all nodes on one machine" in judged_setting(claims)


def judged_setting(claims: pd.DataFrame) -> str:
    """Return the setting of the pairs on sockets."""
    ((_, _, setting),) = all_judged(claims, "multiplexing-saves-time", "measured")
    return setting


@pytest.mark.parametrize(
    ("shares", "exceeds"),
    [
        ({"transfer": 60, "decode": 5, "encode": 5, "io": 0, "other": 30}, True),
        ({"transfer": 45, "decode": 5, "encode": 5, "io": 0, "other": 45}, None),
        ({"transfer": 30, "decode": 40, "encode": 20, "io": 0, "other": 10}, False),
    ],
)
def test_transfer_is_judged_with_and_without_hashing(shares, exceeds):
    assert judging.decisive(pd.Series(shares)) is exceeds


@pytest.mark.parametrize(("claim", "word", "figure"), [
    ("zero-rtt-starts-earlier", "holds on this clock", "40 ms less (95 % interval 40 to 40 ms)"),
    ("streams-independent", "not on this clock", "-617 ms less (95 % interval"),
])  # fmt: skip
def test_latency_and_loss_runs_decide_untested_statements(found, claim, word, figure):
    claims = registry.get(built.KEY).claims(frames=found)
    verdict, evidence = judged(claims, claim, "replayed")
    assert verdict == word
    assert figure in evidence
    few = {**found, "impaired": found["impaired"].query("repeat == 0")}
    left = judged(registry.get(built.KEY).claims(frames=few), claim, "replayed")
    assert left[0] == OPEN and "no interval" in left[1]
