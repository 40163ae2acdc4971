"""Recorded figures of the RTL engine: complete, up to date, and compared with the model."""

from itertools import chain

import pandas as pd
import pytest

from hls_kernels.rtl import figures, mutants
from hls_kernels.rtl.assembler import __main__ as assembler
from hls_kernels.rtl.assembler import kernels, program
from hls_kernels.rtl.assembler.schedule import LATENCY
from pqchain import installation
from pqchain.errors import DataError
from pqchain.falcon import rtl


def phases(degree: int, configuration: str = rtl.COMPACT) -> pd.DataFrame:
    """Return the recorded cycles of an attempt, by phase."""
    frame = rtl.cycles().query(f"degree == {degree} and configuration == {configuration!r}")
    return frame.set_index("phase")


SIGNING = [
    (name, degree)
    for name, configuration in figures.CONFIGURATIONS.items()
    if configuration.routed
    for degree in configuration.degrees
] + [(rtl.NEW_KEY, degree) for degree in (512, 1024)]

KERNELS = {rtl.COMPACT: kernels.all_kernels(), rtl.FAST: kernels.all_kernels(tree=True)}


@pytest.mark.parametrize(("configuration", "degree"), SIGNING)
def test_phases_add_up_to_an_attempt(configuration: str, degree: int) -> None:
    frame = phases(degree, configuration)
    total = frame.loc["total"]
    assert frame.drop("total")["mean"].sum() == pytest.approx(total["mean"], abs=4)
    assert set(frame.index) == {*figures.PHASES, "total"}
    assert (frame["known_answers"] > 0).all(), "cycles of wrong signatures are no figures"
    assert total["least"] <= total["mean"] <= total["greatest"]


@pytest.mark.parametrize("degree", [512, 1024])
@pytest.mark.parametrize(
    ("configuration", "transforms"), [(rtl.COMPACT, 7), (rtl.FAST, 3), (rtl.NEW_KEY, 7)]
)
def test_transform_cycles_equal_the_microcode(degree, configuration, transforms):
    """Transforms of logn - 1 passes, each of n/4 iterations of 6 cycles and a tail."""
    cycles = phases(degree, configuration)["mean"]["transforms"]
    forward = next(kernel for kernel in KERNELS[rtl.COMPACT] if kernel.name == "forward")
    passes = transforms * (degree.bit_length() - 2)
    tail = forward.length - forward.interval
    assert cycles == passes * (forward.interval * degree // 4 + tail)


@pytest.mark.parametrize("configuration", KERNELS)
def test_leaves_run_once_per_node(configuration: str) -> None:
    lengths = {kernel.name: kernel.length for kernel in KERNELS[configuration]}
    once = lengths["open_leaf"] + lengths["turn_leaf"] + lengths["close_leaf"]
    for degree in (512, 1024):
        assert phases(degree, configuration)["mean"]["leaves"] == once * degree // 2


def test_times_need_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = rtl.figures()
    clock = [
        {"configuration": rtl.STANDARD, "device": "d", "seed": seed, "mhz": mhz}
        for seed, mhz in ((1, 100.0), (2, 90.0), (3, 92.0))
    ]
    monkeypatch.setattr(rtl, "figures", lambda: {**recorded, "clock": clock})
    times = rtl.times().set_index("configuration")
    standard = times.loc[rtl.STANDARD]
    assert standard["placements"].tolist() == [3, 3]
    clocks = standard[["clock_hertz", "low_clock_hertz", "high_clock_hertz"]]
    assert clocks.to_numpy().tolist() == [[92e6, 90e6, 100e6]] * 2
    seconds = times["cycles"] / times["clock_hertz"]
    pd.testing.assert_series_equal(times["seconds"], seconds, check_names=False)
    others = times.drop(index=rtl.STANDARD)
    assert others["seconds"].isna().all() and (others["placements"] == 0).all()
    monkeypatch.setattr(rtl, "figures", lambda: {**recorded, "clock": []})
    assert rtl.times()["seconds"].isna().all()


def test_cells_and_clock_of_a_core_are_of_one_device() -> None:
    frame = rtl.cores()
    assert list(frame.columns) == rtl.CORE_COLUMNS
    assert (frame[["platform", "kind", "contains", "source"]] != "").all(axis=None)
    engine = frame[frame["kind"] == "routed"].set_index(["core", "degree"])
    assert set(engine.index.get_level_values("degree")) == {512, 1024}
    assert set(engine["platform"]) == {"LFE5U-85F-8 (ECP5)"}  # that of the clock
    compact = engine.loc["pqchain, compact", 512]
    assert compact[["lut", "flip_flop", "dsp", "block_ram_18k"]].tolist() == [
        13_924 + 2_252, 8_839, 22, 69,
    ]  # fmt: skip


def test_derived_areas_follow_from_the_printed_ratios() -> None:
    frame = rtl.cores().set_index("core")
    schmid, sign = frame.loc["Schmid et al. (HLS)"], frame.loc["FalconSign"]
    assert schmid["seconds"] / sign["seconds"] == pytest.approx(5.1, rel=0.01)
    ratios = {"lut": 2.8, "flip_flop": 4.5, "dsp": 4.2, "block_ram_36k": 3.2}
    for kind, ratio in ratios.items():
        products = [row[kind] * row["seconds"] for row in (schmid, sign)]
        assert products[0] / products[1] == pytest.approx(ratio, rel=0.01)


def test_damaged_figures_are_an_error(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "data", lambda name: tmp_path)
    with pytest.raises(DataError, match="restore the file"):
        rtl.figures()
    (tmp_path / "rtl.json").write_text("{")
    with pytest.raises(DataError, match=r"rtl\.json"):
        rtl.cycles()
    with pytest.raises(DataError, match=r"cores\.csv"):
        rtl.cores()


def test_cells_are_summed_by_module() -> None:
    text = """
=== fp_add ===

     3   LUT2
     4   LUT6
     2   FDRE
=== $paramod\\bank\\READS=5 ===

     5   RAM32M
     1   RAMB18E1
     1   RAMB36E1
"""
    counts = figures.count_cells(text, "xc7")
    assert (counts["fp_add"]["lut"], counts["fp_add"]["flip_flop"]) == (7, 2)
    assert (counts["bank"]["lutram"], counts["bank"]["block_ram_36k"]) == (20, 1.5)


@pytest.mark.parametrize("configuration", KERNELS)
def test_schedules_respect_dependencies(configuration: str) -> None:
    """Data dependencies between kernels, and exclusive use of the datapath."""
    for kernel in KERNELS[configuration]:
        slots, writes = set(), set()
        for each in kernel.operations:
            for earlier, distance in each.before():
                assert each.time >= earlier.time + distance, kernel.name
            if each.exactly:
                assert each.time == each.exactly[0].time + each.exactly[1]
            place = (each.slot, each.time % kernel.interval)
            assert place not in slots, kernel.name
            slots.add(place)
            if each.bank:
                write = (each.bank, (each.time + each.latency) % kernel.interval)
                assert write not in writes, kernel.name
                writes.add(write)
            if kernel.straight and each.bank:
                assert each.time + each.latency <= kernel.length, "a result after the kernel"
    built = {kernel.name: kernel for kernel in KERNELS[configuration]}
    # the root of open_leaf is in the divider when turn_leaf reads it
    assert built["attempt"].length + LATENCY["convert"] + BOUNDING >= LATENCY["root"]
    # verdicts are read once the last lane's bounds are valid
    conversions = [op for op in built["attempt"].operations if op.unit == "convert"]
    times = [op.time for op in conversions]
    assert times == sorted(times)
    assert [op.fields["to"] for op in conversions] == list(range(len(kernels.LANES)))
    assert len(kernels.LANES) <= kernels.EXACT_LANE


BOUNDING = 5
"""Cycles from y to the bounds of a threshold, in datapath.sv."""


def test_bounds_of_thresholds_contain_every_product() -> None:
    """2^-y times the scale is from the bound's product to the slack above it, for every entry."""
    bounds, slack = assembler.powers()
    assert len(bounds) == 256
    assert max(bounds) < 1 << assembler.POWER_BITS
    for index, bound in enumerate(bounds):
        high, low = (2.0 ** (assembler.POWER_BITS - f / 256) for f in (index, index + 1))
        for scale in (0, 1, 2500, 2**assembler.SCALE_BITS - 1):
            assert bound * scale < low * scale + 1e-9
            assert high * (scale + 1) < bound * scale + slack
    # one value of a byte in 256 is left open anyway, and these bounds leave less than two
    assert slack < 2 ** (assembler.POWER_BITS + assembler.SCALE_BITS - 8)


@pytest.mark.parametrize("layout", [program.COMPACT, program.FAST])
def test_microprogram_is_complete(layout: program.Layout) -> None:
    names = [kernel.name for kernel in kernels.all_kernels(tree=layout.tree > 0)]
    listing = program.program(layout)
    words = program.assemble(listing, names)
    marks = program.labels(listing)
    assert len(words) <= 64
    assert 0 < marks["node"] < marks["leaf"] < len(words)
    used = {line[1] for line in listing if line[0] in ("run", "passes", "sample")}
    assert used == set(names) - {"attempt", "exact"}, "every kernel is used, and none is missing"
    assert all(0 <= word < 1 << 38 for word in words)


@pytest.mark.parametrize("logn", [9, 10])
def test_tree_and_work_share_no_bank(logn: int) -> None:
    """The kept key fills whole banks of 1,024 words, so wiping the others leaves it intact."""
    layout = program.FAST
    end = (layout.tree + logn + 1) << logn
    assert end % 1024 == 0
    assert end <= layout.gram << logn
    assert layout.top_g00 == layout.tree
    assert layout.frames + 2 == layout.polynomials


def test_engine_area_is_bounded() -> None:
    """Checks the target size for xc7 after synthesis."""
    cells = rtl.cells().query("family == 'xc7'")
    frame = cells.query(f"configuration == {rtl.STANDARD!r}").set_index("module")
    whole = frame.loc["design_hierarchy"]
    assert whole["lut_total"] == whole[["lut", "lutram", "shift_register"]].sum() <= 8000
    assert whole["dsp"] <= 20
    assert whole["block_ram_36k"] <= 35
    modules = {path.stem for path in figures.HLS.glob("rtl/core/*.sv")}
    assert set(frame.index) == modules | {"design_hierarchy"}
    # Memory for a kept key costs at most 35 % of the area of the engine before it.
    rows = cells.query("module == 'design_hierarchy'").set_index("configuration")
    # The equivalent in slices that papers on FPGAs use.
    area = rows["lut_total"] / 4 + rows["flip_flop"] / 8
    area += 102.4 * rows["dsp"] + 116.2 * rows["block_ram_36k"]
    assert 1 < area[rtl.FAST] / area[rtl.STANDARD] <= 1.35
    assert area[rtl.COMPACT] < area[rtl.FAST]


TARGETS = [
    (rtl.STANDARD, "low_clock_hertz", (4.8e-3, 10e-3), None),
    (rtl.COMPACT, "clock_hertz", (3.0e-3, 6.3e-3), (340_000, 710_000)),
    (rtl.FAST, "clock_hertz", (1.9e-3, 4.0e-3), (210_000, 440_000)),
]
"""Configuration, clock (slowest placement or median), seconds and cycles by degree, at most."""


@pytest.mark.parametrize(("configuration", "clock", "seconds", "cycles"), TARGETS)
def test_cycles_and_signing_times_meet_their_targets(configuration, clock, seconds, cycles) -> None:
    times = rtl.times().query(f"configuration == {configuration!r}").set_index("degree")
    assert (times["placements"] >= 5).all()
    for at, degree in enumerate((512, 1024)):
        assert times["cycles"][degree] / times[clock][degree] <= seconds[at]
        if cycles is not None:
            assert phases(degree, configuration)["mean"]["total"] <= cycles[at]


def test_every_mutant_matches_the_source(tmp_path) -> None:
    """`make -C hls_kernels mutants` checks detection; here each mutant only applies."""
    listed = mutants.write(tmp_path)
    assert [number for number, _, _ in listed] == list(range(1, len(listed) + 1))
    assert len(listed) >= 50
    text = "".join(path.read_text() for path in (tmp_path / "core").glob("*.sv"))
    assert text.count("mutant ==") == len(listed)
    # An expression is put in parentheses, so it needs all of its own.
    for expression in chain.from_iterable(chain.from_iterable(mutants.MUTANTS.values())):
        assert expression.count("(") == expression.count(")"), expression
