"""Published numbers and measured ones: every number has a row with a value or a reason."""

import csv
import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain import results
from pqchain.algorithms import ALGORITHMS
from pqchain.errors import DataError, UnknownName
from pqchain.figures import Kind
from pqchain.installation import read_toml
from pqchain.reencode.scenario import ReplayScenario
from pqchain.works import papers, printed, registry
from pqchain.works.printed import PRINTED, SIZE, SIZE_VERDICTS
from pqchain.works.quic_reencoding import frames as reencoding
from pqchain.works.work import Work
from tests import frames
from tests.works.expectations import EXPECTED, KEYS, SEEDS, WHY, numbers, text_of
from tests.works.measurements import measured, measurement, unsupported
from tests.works.sixth.test_sixth import FOLDER

WORKS = pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)

KEY_COLUMNS = ["table", "printed_name", "variant", "quantity"]


# All printed numbers


@WORKS
def test_every_published_number_has_a_value_or_a_reason(work):
    frame = work.printed(frames=frames.computed(work.key))
    pd.testing.assert_frame_equal(results.check(frame, PRINTED), frame)
    for column in ("paper", "table", "algorithm", "printed_name", "quantity", "unit"):
        assert frame[column].tolist() == work.published[column].tolist()
    assert frame["variant"].tolist() == work.published["implementation"].tolist()
    assert frame["printed"].tolist() == work.published["value"].tolist()
    assert frame.loc[frame["kind"] == printed.NONE, "ours"].isna().all()
    assert (frame.loc[frame["ours"].isna(), "reason"] != "").all()
    has_both = frame["ours"].notna() & (frame["printed"] != 0)
    assert frame.loc[has_both, "ratio"].tolist() == pytest.approx(
        (frame["ours"] / frame["printed"])[has_both].tolist()
    )
    assert frame["kind"].value_counts().to_dict() == EXPECTED[work.key]["coverage"]
    facts = frame[frame["kind"] == Kind.REGISTRY]
    assert facts["ours"].notna().all()
    keys = facts[facts["quantity"].str.endswith("_key_bytes")]
    assert ((keys["ours"] - keys["printed"]).abs() <= 16).all()
    taken = frame[(frame["kind"] == Kind.TAKEN) & frame["ours"].notna()]
    assert taken["ours"].tolist() == taken["printed"].tolist()


@WORKS
def test_every_rule_matches_a_printed_number(work):
    rules = printed.read_rules(work.paper.folder)
    rows = work.published.to_dict("records")
    first = {next(index for index, rule in enumerate(rules) if rule.matches(row)) for row in rows}
    assert first == set(range(len(rules)))


def test_measurements_fill_in_times_cycles_ratios_and_counts():
    measurements = frames.measurements()
    frame = registry.get("round3").printed(measurements).set_index(KEY_COLUMNS)["ours"]
    assert frame["table1-kem", "Kyber", "avx2", "encapsulate_seconds"] > 0
    assert frame["table1-kem", "Kyber", "avx2", "encapsulate_cycles"] > 0
    ratios = frame.xs("ratio", level="quantity").droplevel(["table", "variant"])
    assert ratios["McEliece public key / NTRU public key"] == pytest.approx(373.6, abs=0.1)
    quotient = frame["table1-signature", "Falcon", "avx2", "generate_keypair_seconds"]
    quotient /= frame["table1-signature", "Dilithium", "avx2", "generate_keypair_seconds"]
    name = "Falcon key generation / Dilithium key generation, AVX2"
    assert ratios[name] == pytest.approx(quotient)
    mini = registry.get("mini-blockchain").printed(measurements)
    assert mini.set_index("quantity")["ours"]["generate_keypair_iterations"] >= 1


def test_replays_fill_in_the_table_of_phases():
    frame = registry.get("quic-reencoding").printed(frames=frames.replays())
    ours = frame[frame["table"] == "table1"].set_index(["printed_name", "quantity"])["ours"]
    assert ours.notna().all()
    assert ours["총 소요 시간", "share_percent"] == 100
    shares = [value for (_, quantity), value in ours.items() if quantity == "share_percent"]
    assert sum(shares) == pytest.approx(200)


def test_settings_are_read_from_the_code(monkeypatch):
    scenario = dataclasses.replace(ReplayScenario(), nodes=12, before=(8, 4), after=(7, 3))
    monkeypatch.setattr(reencoding, "ReplayScenario", lambda: scenario)
    frame = registry.get("quic-reencoding").printed().set_index("printed_name")["ours"]
    assert frame["Nodes of experiment 1"] == frame["Chunks of a block"] == 12
    assert frame["Nodes left in experiment 2"] == 11
    assert (frame["Data chunks of the first code"], frame["Parity chunks of the first code"]) == (
        8,
        4,
    )
    assert (frame["Data chunks of the second code"], frame["Network"]) == (7, 10)


def test_candidates_are_counted_in_the_registry(monkeypatch):
    work = registry.get("round3")
    names = [name for name in work.algorithms() if name != "LightSaber-KEM"]
    monkeypatch.setattr(work, "algorithms", lambda: names)
    frame = work.printed()
    counts = frame[frame["quantity"] == "candidate_count"].set_index("printed_name")["ours"]
    assert counts.to_dict() == {
        "Candidates": 6, "KEM candidates": 3, "Signature candidates": 3,
        "Code-based candidates": 1, "Lattice-based candidates": 4, "Multivariate candidates": 1,
        "KEM candidates beside McEliece": 2,
    }  # fmt: skip


def copy_of_sixth(folder: Path) -> Path:
    """Copy the fictional work, so that a test can damage its files."""
    for file in FOLDER.iterdir():
        (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def test_number_without_a_rule_is_rejected(tmp_path):
    folder = copy_of_sixth(tmp_path)
    (folder / "coverage.toml").write_text('[[rules]]\nrows = ["Kyber"]\nkind = "measured"\n')
    with pytest.raises(DataError, match="no rule matches Falcon, verify_seconds"):
        Work(folder).printed()


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        ('kind = "guessed"', UnknownName, "kind of number"),
        ('kind = "none"', DataError, "`none` of a rule must be a reason"),
        ('kind = "measured"\nnone = "no clock"', DataError, "`none` of a rule must be a reason"),
        ('kind = "run"\nvalue = 10', DataError, r"coverage\.toml has a wrong part: 0\.value"),
    ],
)
def test_invalid_rule_is_rejected(tmp_path, text, error, problem):
    folder = copy_of_sixth(tmp_path)
    (folder / "coverage.toml").write_text(f"[[rules]]\n{text}\n")
    with pytest.raises(error, match=problem):
        printed.read_rules(folder)


def test_frames_that_break_their_contract_are_rejected():
    work = registry.get("round3")
    with pytest.raises(DataError, match="a measurement frame must have the columns"):
        work.printed(measured().drop(columns="reason"))
    with pytest.raises(DataError, match="a published frame must have the columns"):
        printed.compare(work.paper, work.published.drop(columns="note"))


@pytest.mark.skipif(not SEEDS.is_dir(), reason=WHY)
@pytest.mark.parametrize("key", KEYS)
def test_every_number_in_the_text_is_classified(key):
    paper = papers.paper(key)
    known = set(EXPECTED[key]["no_quantities"])
    for layout in paper.tables.values():
        with (paper.folder / layout.file).open(encoding="utf-8", newline="") as file:
            known.update(
                number for row in csv.reader(file) for text in row for number in numbers(text)
            )
    text, _ = text_of(read_toml(paper.folder / "claims.toml")["sentences"])
    assert sorted({number for number in numbers(text) if number not in known}) == []


# Times


def times(key: str, measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the printed times of a work next to measurements."""
    return printed.times(registry.get(key).printed(measurements))


def test_mean_is_noted_where_an_operation_restarts_at_random():
    ours = measured(
        measurement("Dilithium2", "liboqs-0.13/avx2", "sign", 8e-5, mean_seconds=1.1e-4),
        measurement("Dilithium2", "liboqs-0.13/avx2", "verify", 5e-5, mean_seconds=9e-5),
    )
    frame = times("pqdpol", ours)
    notes = frame[frame["algorithm"] == "Dilithium2"].set_index("quantity")["note"]
    assert "its mean here is 110\N{NARROW NO-BREAK SPACE}µs" in notes["sign_seconds"]
    assert notes["verify_seconds"] == ""


def test_every_published_time_has_a_measured_one():
    ours = measured(
        measurement("Falcon-512", "liboqs-0.13/avx2", "verify", 0.00005),
        measurement("Falcon-512", "liboqs-0.13/ref", "verify", 0.00006),
        unsupported("Falcon-512", "liboqs-0.13/avx2", "sign"),
    )
    frame = times("mini-blockchain", ours)
    missing = "no measurement of generate key pair of Falcon-512 is given"
    columns = ["quantity", "implementation", "verdict", "note"]
    assert frame[columns].values.tolist() == [
        ["generate_keypair_seconds", "", "not measured", missing],
        ["sign_seconds", "liboqs-0.13/avx2", "unsupported", "needs avx2"],
        ["verify_seconds", "liboqs-0.13/avx2", "ok", ""],
    ]
    assert frame["ours"].isna().tolist() == frame["ratio"].isna().tolist() == [True, True, False]
    row = frame.iloc[2]
    assert (row["ours"], row["deviation"]) == (0.00005, 0.0000005)
    assert row["ratio"] == 0.00005 / 0.00004203
    assert frame.attrs["provenance"] == {"machine_id": "test-machine"}


def test_variant_is_compared_with_the_same_variant():
    ours = measured(
        measurement("Kyber512", "liboqs-0.13/avx2", "encapsulate", 0.00001),
        measurement("Kyber512", "liboqs-0.13/ref", "encapsulate", 0.00004),
    )
    frame = times("round3", ours)
    pairs = frame[(frame["algorithm"] == "Kyber512") & (frame["quantity"] == "encapsulate_seconds")]
    assert pairs[["variant", "implementation", "note"]].values.tolist() == [
        ["ref", "liboqs-0.13/ref", ""],
        ["avx2", "liboqs-0.13/avx2", ""],
    ]
    frame = times("round3", ours.head(1))
    row = frame[(frame["variant"] == "ref") & (frame["verdict"] == "ok")]
    assert row["note"].tolist() == ["published with ref, compared with liboqs-0.13/avx2"]


def test_algorithm_without_implementation_is_unsupported(monkeypatch):
    lacking = dataclasses.replace(ALGORITHMS["Rainbow-I-Classic"], implementations=())
    monkeypatch.setitem(ALGORITHMS, "Rainbow-I-Classic", lacking)
    frame = times("round3", measured())
    rows = frame[frame["algorithm"] == "Rainbow-I-Classic"]
    assert set(rows["verdict"]) == {"unsupported"}
    assert set(rows["note"]) == {"this version of pqchain has no Rainbow-I-Classic"}
    assert set(frame["verdict"]) == {"unsupported", "not measured"}


OPERATIONS = [
    (name, operation)
    for name in ("Falcon-512", "Dilithium2", "Kyber512")
    for operation in ALGORITHMS[name].operations
]

ROWS = st.dictionaries(
    st.tuples(
        st.sampled_from(OPERATIONS),
        st.sampled_from(["liboqs-0.13/avx2", "liboqs-0.13/ref", "hawk/ref"]),
    ),
    st.none() | st.floats(1e-9, 1e3),
).map(
    lambda medians: measured(
        *(
            unsupported(name, how, operation)
            if median is None
            else measurement(name, how, operation, median)
            for ((name, operation), how), median in medians.items()
        )
    )
)


@pytest.mark.long
@settings(max_examples=10)
@given(ours=ROWS, factor=st.sampled_from([0.25, 2.0, 1024.0]))
def test_all_times_are_compared_and_ratios_scale(ours, factor):
    frame = times("round3", ours)
    theirs = papers.published("round3")
    expected = theirs[(theirs["unit"] == "s") & (theirs["algorithm"] != "")]
    assert frame["printed"].tolist() == expected["value"].tolist()
    assert frame["algorithm"].tolist() == expected["algorithm"].tolist()
    is_ok = frame["verdict"] == "ok"
    assert (frame["ratio"].notna() == is_ok).all()
    assert (frame["note"][~is_ok] != "").all()
    slower = ours.assign(median_seconds=ours["median_seconds"] * factor)
    # Nor does the order of the measurements matter.
    again = times("round3", slower.iloc[::-1].reset_index(drop=True))
    pd.testing.assert_series_equal(again["ratio"], frame["ratio"] * factor)


# Sizes


@pytest.mark.parametrize("key", KEYS)
def test_sizes_are_equal_or_explained(key):
    frame = printed.sizes(registry.get(key).printed())
    assert set(frame["verdict"]) <= set(SIZE_VERDICTS) - {"different"}
    other = frame[frame["verdict"] != "equal"]
    columns = ["table", "algorithm", "quantity", "printed", "ours", "verdict"]
    assert other[columns].values.tolist() == EXPECTED[key]["other_sizes"]
    assert (other["note"] != "").all()
    assert len(frame) == EXPECTED[key]["sizes"]
    assert list(frame.columns) == list(SIZE.columns)


def size(value: float, note: str = "") -> dict:
    """Return a printed size of Dilithium2's secret key."""
    keys = {"paper": "p", "table": "t", "algorithm": "Dilithium2", "quantity": "secret_key_bytes"}
    return keys | {"value": value, "note": note}


@pytest.mark.parametrize(
    ("value", "note", "verdict"),
    [
        (2528.0, "", "equal"), (2544.0, "", "version"), (2529.0, "wrong digit", "erratum"),
        (2529.0, "", "different"),
    ],
)  # fmt: skip
def test_size_verdicts_follow_the_sizes(value, note, verdict):
    ours = printed.registry_size(size(value, note))
    assert (ours["ours"], ours["verdict"]) == (2528.0, verdict)


def test_erratum_that_a_version_explains_is_rejected():
    with pytest.raises(DataError, match=r"2544 .* listed as an erratum, but 2544 is version 3\.0"):
        printed.registry_size(size(2544.0, "prints 2544, expected 2528"))
