"""The re-encoding paper compared with replays: tables, claims, and runs in processes."""

import math
import os
from dataclasses import replace

import pandas as pd
import pytest

from pqchain import reencode
from pqchain.errors import PqchainError, UnknownName
from pqchain.reencode.scenario import ReplayScenario
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers, registry
from pqchain.works.quic_reencoding import frames as built
from pqchain.works.quic_reencoding import replays
from pqchain.works.quic_reencoding.work import QuicReencoding
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
    assert table.loc["grpc", "status"] == "unsupported"
    assert table.loc["grpc", "verdict"] == "needs grpcio"
    assert math.isnan(table.loc["grpc", "transfer_seconds"])


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
