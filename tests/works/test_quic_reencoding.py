"""The re-encoding paper compared with replays: tables, claims, and runs in processes."""

import dataclasses
import math

import pandas as pd
import pytest

from pqchain import reencode, results
from pqchain.errors import PqchainError, UnknownName
from pqchain.reencode.replays import CONTRAST, RUN
from pqchain.reencode.scenario import Scenario
from pqchain.wire.transports import aioquic
from pqchain.wire.transports.registry import TRANSPORTS
from pqchain.works import papers, registry
from pqchain.works.quic_reencoding import frames as built
from pqchain.works.quic_reencoding import judging, replays
from pqchain.works.quic_reencoding.work import QuicReencoding
from pqchain.works.work import Bench
from tests import frames


@pytest.fixture(scope="module")
def found() -> dict[str, pd.DataFrame]:
    """Synthetic frames of a reproduction."""
    return frames.replays()


def judged(claims: pd.DataFrame, claim: str, source: str) -> tuple[str, str]:
    """Return verdict and evidence of one statement by one source."""
    row = claims[(claims["claim_id"] == claim) & (claims["source"] == source)]
    assert len(row) == 1
    return row["verdict"].iloc[0], row["evidence"].iloc[0]


def test_every_frame_matches_its_contract(found):
    contracts = {
        "runs": RUN, "table1": built.TABLE1, "figure1": built.FIGURE1, "contrast": CONTRAST,
        "libraries": built.LIBRARIES, "impaired": built.IMPAIRED, "transports": built.TRANSPORTS,
    }  # fmt: skip
    assert set(found) == set(contracts)
    for name, frame in found.items():
        results.check(frame, contracts[name])


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


@pytest.mark.parametrize(
    ("savings", "verdict"),
    [
        ((3.6, 3.7, 3.8, 3.7), "holds"),
        ((0.1, 0.2, 0.1, 0.2), "not at this size"),
        ((-8.0, 12.0, 15.0, -6.0), "cannot be decided here"),
        ((-1.0, 1.0, -0.5, 0.5), "not at this size"),
        ((-5.0, -5.1, -5.2, -5.1), "not at this size"),
    ],
)
def test_saving_is_judged_by_its_interval(found, savings, verdict):
    contrast = built.contrast(frames.exchanges(savings))
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    decided, evidence = judged(claims, "multiplexing-saves-time", "replayed")
    assert decided == verdict
    assert f"over {len(savings)} pairs" in evidence
    assert "95 % interval" in evidence


def test_one_pair_gives_no_comparison():
    assert built.contrast(frames.exchanges((3.7,))).empty


def test_runs_decide_statements_that_the_tables_cannot(found):
    before = registry.get(built.KEY).claims()
    after = registry.get(built.KEY).claims(frames=found)
    assert list(dict.fromkeys(after["claim_id"])) == list(dict.fromkeys(before["claim_id"]))
    assert judged(after, "single-stream-first-chunk", "replayed")[0] == "holds"
    assert judged(after, "transfer-decisive", "measured")[0] == "holds"
    assert judged(after, "chunks-restore-blocks", "run")[0] == "holds"
    published = [frame[frame["source"] == "published"] for frame in (before, after)]
    pd.testing.assert_frame_equal(*(each.reset_index(drop=True) for each in published))


def test_fitted_values_neither_support_nor_refute(found):
    claims = registry.get(built.KEY).claims(frames=found)
    shares = claims[claims["evidence"].str.startswith((built.CALIBRATED, built.LINK_ONLY))]
    assert len(shares) and set(shares["verdict"]) <= {"fitted", "cannot be decided here"}


@pytest.mark.parametrize(("blocks", "size", "word"), [
    (10, 64_000_000, "does not hold"), (1, 64_000_000, "not at this size"),
    (10, 70_000, "not at this size"),
])  # fmt: skip
def test_only_runs_of_the_published_size_refute(found, blocks, size, word):
    runs = frames.exchanges((-5.0, -5.1, -5.2, -5.1))
    runs = runs.assign(nodes=10, blocks=blocks, block_bytes=size)
    contrast = built.contrast(runs)
    claims = registry.get(built.KEY).claims(frames={**found, "runs": runs, "contrast": contrast})
    assert judged(claims, "multiplexing-saves-time", "replayed")[0] == word
    assert judged(claims, "multiplexing-more-efficient", "replayed")[0] == word
    (setting,) = set(claims.loc[claims["claim_id"] == "multiplexing-more-efficient", "setting"]) - {
        ""
    }
    assert setting.startswith(f"10 nodes, {blocks} x ") and "(7,3) to (6,3)" in setting
    assert ("the paper's: ten nodes" in setting) == (word != "does not hold")


@pytest.mark.parametrize(
    ("shares", "outcome"),
    [
        ({"transfer": 60, "decode": 5, "encode": 5, "io": 0, "other": 30}, "holds"),
        (
            {"transfer": 45, "decode": 5, "encode": 5, "io": 0, "other": 45},
            "cannot be decided here",
        ),
        ({"transfer": 30, "decode": 40, "encode": 20, "io": 0, "other": 10}, "does not hold"),
    ],
)
def test_transfer_is_judged_with_and_without_hashing(shares, outcome):
    assert judging.decisive(pd.Series(shares)) == outcome


def test_datagram_time_follows_from_published_values():
    printed = papers.table(built.KEY, "table1").set_index("printed_name")
    received = 10 * 8 * 64e6 / 7
    each = printed.loc["QUIC 전송", "duration_seconds"] / (received / 1452) / 2
    assert 0.85 * each < replays.DATAGRAM_SECONDS < each


def test_unknown_preset_is_rejected():
    with pytest.raises(UnknownName, match="quik"):
        replays.reproduce("quik")


def test_virtual_run_in_its_own_process_gives_the_same_numbers():
    options = ["--experiment", "exchange", "--block-bytes", "7000", "--seed", "5"]
    steps: list[int] = []
    apart = replays._run_processes([("a", options, 2)], lambda: steps.append(1))["a"]
    assert steps == [1]
    assert apart["repeat"].tolist() == [2]
    here = reencode.replay(Scenario(experiment="exchange", block_bytes=7000, seed=5)).frame
    assert apart["transfer_seconds"].tolist() == here["transfer_seconds"].tolist()
    assert apart["scenario_id"].tolist() == here["scenario_id"].tolist()


def test_failed_process_is_a_row_with_the_reason():
    row = replays._run_processes([("a", ["--loss", "2"], 0)], lambda: None)["a"].iloc[0]
    assert row["status"] == "failed"
    assert "loss must be a number from 0 to 1; got 2.0" in row["verdict"]


def text(found: dict[str, pd.DataFrame]) -> str:
    """Return all tables of the work for a terminal."""
    return "\n\n".join(table.text() for table in QuicReencoding().tables(found))


def test_text_lists_rows_and_omissions(found):
    shown = text(found)
    for expected in ("published", "replayed", "measured", "5.00", "76.21 %", "grpc", "3.7 %",
                     "by construction", "95 % interval"):  # fmt: skip
        assert expected in shown
    assert "Not done with this preset: single against multiplexed on real sockets" in shown
    assert "--preset paper" in shown


def test_page_labels_every_table(found):
    phases, *streams = [table.html() for table in QuicReencoding().tables(found)]
    for kind in ("published", "replayed", "measured"):
        assert f'class="label {kind}"' in phases
    assert 'class="label measured"' not in streams[0]
    assert any("unsupported: needs grpcio" in part for part in streams)


def test_without_a_clock_nothing_is_replayed():
    assert QuicReencoding().compute(Bench()) == {}
    assert list(QuicReencoding().tables({})) == list(QuicReencoding().figures({})) == []


def test_paper_preset_adds_sockets_and_transports(monkeypatch):
    asked: list[tuple[Scenario, dict[str, object]]] = []

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
    pairs = found["contrast"].set_index("mode")["repeats"]
    assert (pairs["virtual"], pairs["loopback"]) == (2, 10)
    first = [options["streams"][0] for one, options in asked if one.experiment == "exchange"]
    assert first == ["single", "multiplexed"] * 5
    links = {one.link for one, _ in asked if one.mode == "netns"}
    assert {link.bits_per_second for link in links} == {replays.SHAPED_BITS_PER_SECOND}
    assert found["transports"]["repeats"].tolist() == [5] * len(TRANSPORTS)
    assert found["table1"].attrs["provenance"]["preset"] == "paper"
    assert "Not done" not in text(found)


def asked_of(orders) -> dict[str, int]:
    """Return the number of repeats by name; check that seeds are unique."""
    seeds: dict[tuple[str, str], set[int]] = {}
    counts: dict[str, int] = {}
    for name, options, first in orders:
        given = dict(zip(options[::2], options[1::2], strict=True))
        kind = (
            name,
            str({key: at for key, at in given.items() if key not in ("--seed", "--repeats")}),
        )
        mine = range(first, first + int(given["--repeats"]))
        assert int(given["--seed"]) == first and not seeds.setdefault(kind, set()) & {*mine}
        seeds[kind] |= {*mine}
        counts[name] = counts.get(name, 0) + len(mine)
    return counts


def apart_of(orders, one: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return a replacement of virtual replays of whole blocks."""
    found = dict.fromkeys((name for name, _, _ in orders), one)
    series = {"series": frames.exchanges((1.0, 2.0)), "reference series": frames.exchanges((1.0,))}
    return found | series


def test_both_presets_replay_pairs_of_the_published_size(monkeypatch):
    for preset in replays.PRESETS.values():
        orders = [*replays._table1(preset), *replays._series(preset), *replays._impaired(preset)]
        counts = asked_of(orders)
        assert counts[built.LINK_ONLY] == 10 and max(preset.series)[0] == 10
        assert max(preset.series)[1] >= 3 <= preset.impaired_repeats
        whole = [options for name, options, _ in orders if name in (built.LINK_ONLY, "series")]
        assert all("64000000" in options for options in whole)


def test_aioquic_replays_without_the_native_library(monkeypatch):
    monkeypatch.setattr(replays.registry, "default", lambda: "aioquic")
    seen: list[list[str]] = []

    def apart(orders, step):
        seen.extend(options for _, options, _ in orders)
        return apart_of(orders, frames.replay_runs({}))

    monkeypatch.setattr(replays, "_run_processes", apart)
    monkeypatch.setattr(replays, "_attempt", lambda one, **_: frames.replay_runs({}))
    found = replays.reproduce("quick")
    assert not any("64000000" in options for options in seen)
    assert "was not built" in text(found)


def test_sequential_blocks_add_up():
    ten = frames.replay_runs(*({"repeat": at} for at in range(10)))
    table = built.table1({"here": replays._as_sequence(ten)}).query("run == 'here'")
    row = table.set_index("phase").loc["transfer"]
    assert (row["blocks"], row["payload_bytes"]) == (10, 20_000_000)
    assert row["seconds"] == pytest.approx(4e-2) and row["share_percent"] == pytest.approx(40)
    ten.loc[3, ["status", "verdict"]] = ["failed", "no room"]
    table = built.table1({"here": replays._as_sequence(ten)}).query("run == 'here'")
    assert set(table["status"]) == {"failed"} and table["seconds"].isna().all()


def test_libraries_are_compared_at_the_same_size(found):
    table = found["libraries"].set_index("transport")
    assert table.loc["aioquic", "over_native"] == pytest.approx(4 / 3)
    assert table.loc["native", "over_native"] == 1


@pytest.mark.parametrize(("claim", "word", "figure"), [
    ("zero-rtt-starts-earlier", "holds", "40 (95 % interval 40 to 40) ms earlier"),
    ("streams-independent", "not at this size", "-607 (95 % interval"),
])  # fmt: skip
def test_latency_and_loss_runs_decide_untested_statements(found, claim, word, figure):
    claims = registry.get(built.KEY).claims(frames=found)
    verdict, evidence = judged(claims, claim, "replayed")
    assert verdict == word
    assert figure in evidence
    few = {**found, "impaired": found["impaired"].query("repeat == 0")}
    left = registry.get(built.KEY).claims(frames=few)
    assert left[(left["claim_id"] == claim) & (left["source"] == "replayed")].empty


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
    row = replays._attempt(Scenario(mode="loopback")).iloc[0]
    assert (row["status"], row["verdict"]) == ("failed", "no sockets left")


def test_older_library_gets_shorter_datagrams(monkeypatch):
    assert replays._live_datagram_bytes() <= 8952
    older = dataclasses.replace(aioquic.LIBRARY, max_datagram_bytes=1500)
    monkeypatch.setattr(aioquic, "LIBRARY", older)
    asked = []
    monkeypatch.setattr(replays, "_attempt", lambda one, **_: asked.append(one) or pd.DataFrame())
    for _ in replays._live_pairs(1, lambda: None):
        pass
    assert [one.datagram_bytes for one in asked] == [1500]
