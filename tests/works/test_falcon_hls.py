"""The Falcon accelerator: kinds, devices and ranges of the figures of our RTL."""

import pytest

from pqchain.falcon import rtl
from pqchain.figures import Kind
from pqchain.works import registry
from pqchain.works.falcon_hls import work as falcon_hls
from tests.frames import computed

WORK = registry.get("falcon-hls")

FIGURES = ["lookup_tables", "flip_flops", "dsp_blocks", "block_rams"]


def clock(*megahertz: float) -> list[dict]:
    """Return the recorded clocks of the compact configuration, one for each seed."""
    keys = {"configuration": rtl.COMPACT, "device": "LFE5U-85F-8"}
    return [keys | {"seed": seed, "mhz": value} for seed, value in enumerate(megahertz, 1)]


def test_only_clock_and_times_are_routed_and_on_a_proxy_device() -> None:
    frame = falcon_hls.engines().set_index("kind")
    assert frame.index.tolist() == [Kind.PUBLISHED, Kind.SYNTHESISED, Kind.ROUTED]
    clocks = ["clock_megahertz", "low_clock_megahertz", "high_clock_megahertz", "seconds_512"]
    assert frame.loc[Kind.ROUTED, FIGURES].isna().all()
    assert frame.loc[Kind.ROUTED, clocks].notna().all()
    assert frame.loc[Kind.ROUTED, "device"] == "LFE5U-85F-8 (ECP5)"
    assert "proxy device" in frame.loc[Kind.ROUTED, "note"]
    assert frame.loc[Kind.SYNTHESISED, FIGURES].notna().all()
    assert frame.loc[Kind.SYNTHESISED, clocks].isna().all()


def test_times_are_at_the_median_of_the_placements(monkeypatch) -> None:
    recorded = rtl.figures() | {"clock": clock(113.0, 101.0, 107.0)}
    monkeypatch.setattr(rtl, "figures", lambda: recorded)
    frame = falcon_hls.engines().set_index("kind").loc[Kind.ROUTED]
    names = ["clock_megahertz", "low_clock_megahertz", "high_clock_megahertz"]
    assert frame[names].tolist() == pytest.approx([107.0, 101.0, 113.0])
    assert frame["seconds_512"] == pytest.approx(frame["cycles_512"] / 107e6)
    assert frame["note"] == "proxy device; median of 3 placements, 101.0 to 113.0 MHz"
    recorded["clock"] = clock(113.0)
    assert falcon_hls.engines()["note"].iloc[-1] == "proxy device; one placement"


def test_ours_is_the_range_over_the_schedules() -> None:
    frame = WORK.printed(frames=computed("falcon-hls"))
    ranges = frame[frame["ours_low"].notna()]
    assert len(ranges) == 7 and ranges["ours"].isna().all() and ranges["ratio"].isna().all()
    times = ranges.query("table == 'table3' and printed_name == 'FALCON-512' and unit == 's'")
    assert times[["ours_low", "ours_high"]].values.tolist() == [
        pytest.approx([0.02074, 0.03832], 1e-3)
    ]


def test_few_resources_are_judged_with_block_rams(monkeypatch) -> None:
    (verdict,) = WORK.judge("few-resources", {})
    assert "34 block rams (9.315" in verdict.evidence
    assert "our choice" in verdict.evidence
    small = dict.fromkeys(falcon_hls._DEVICE, 10**6) | {"block_rams": 100}
    monkeypatch.setattr(falcon_hls, "_DEVICE", small)
    (exceeded,) = WORK.judge("few-resources", {})
    assert exceeded.outcome != verdict.outcome
