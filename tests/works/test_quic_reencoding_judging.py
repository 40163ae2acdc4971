"""Verdicts on the statements of the re-encoding paper, and what they may confirm."""

import pandas as pd
import pytest

from pqchain.errors import DataError
from pqchain.figures import Kind
from pqchain.works import registry
from pqchain.works.quic_reencoding import frames as built
from pqchain.works.quic_reencoding import work as judging
from pqchain.works.verdicts import FAILS, HOLDS, SIZE, Standing, Verdict
from tests import frames


@pytest.fixture(scope="module")
def found() -> dict[str, pd.DataFrame]:
    """Synthetic frames of a reproduction."""
    return frames.replays()


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
        ((3.6, 3.7, 3.8, 3.7), "holds on this clock"),
        ((0.1, 0.2, 0.1, 0.2), "not on this clock"),
        ((-8.0, 12.0, 15.0, -6.0), "cannot be decided here"),
        ((-1.0, 1.0, -0.5, 0.5), "not on this clock"),
        ((-5.0, -5.1, -5.2, -5.1), "not on this clock"),
    ],
)
def test_saving_is_judged_by_its_interval(found, savings, verdict):
    contrast = built.contrast({built.CALIBRATED: frames.exchanges(savings)})
    claims = registry.get(built.KEY).claims(frames={**found, "contrast": contrast})
    decided, evidence = judged(claims, "multiplexing-saves-time", "replayed")
    assert decided == verdict
    assert f"over {len(savings)} pairs" in evidence
    assert "95 % interval" in evidence


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


@pytest.mark.parametrize("savings", [(-5.0, -5.1, -5.2, -5.1), (3.6, 3.7, 3.8, 3.7)])
@pytest.mark.parametrize(("run", "mode", "difference"), [
    (built.LINK_ONLY, "virtual", "on this clock"), (built.CALIBRATED, "virtual", "on this clock"),
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
    ("zero-rtt-starts-earlier", "holds on this clock", "40 (95 % interval 40 to 40) ms earlier"),
    ("streams-independent", "not on this clock", "-607 (95 % interval"),
])  # fmt: skip
def test_latency_and_loss_runs_decide_untested_statements(found, claim, word, figure):
    claims = registry.get(built.KEY).claims(frames=found)
    verdict, evidence = judged(claims, claim, "replayed")
    assert verdict == word
    assert figure in evidence
    few = {**found, "impaired": found["impaired"].query("repeat == 0")}
    left = registry.get(built.KEY).claims(frames=few)
    assert left[(left["claim_id"] == claim) & (left["source"] == "replayed")].empty
