"""Ours beside published: every row paired, every size judged, every statement checked."""

import dataclasses
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pqchain import results
from pqchain.algorithms import ALGORITHMS
from pqchain.costs import MEASUREMENT
from pqchain.errors import DataError, UnknownPaper
from pqchain.works import compare, papers, readers, registry
from pqchain.works.compare import CLAIMS, COMPARISON
from pqchain.works.statements import Statement
from pqchain.works.verdicts import FAILS, HOLDS, NOT_HERE, OPEN, WORDS
from tests.works.expectations import EXPECTED, KEYS

NAN = float("nan")


def measurement(algorithm: str, implementation: str, operation: str, median: float, **changes):
    """Return one row of a measurement frame: 1000 samples that scatter by 1 %."""
    return {
        "algorithm": algorithm,
        "implementation": implementation,
        "operation": operation,
        "samples": 1000,
        "median_seconds": median,
        "mean_seconds": median,
        "mad_seconds": median / 100,
        "min_seconds": median,
        "p95_seconds": median,
        "median_cycles": NAN,
        "status": "ok",
        "reason": "",
    } | changes


def unsupported(algorithm: str, implementation: str, operation: str):
    """Return a row of what cannot run."""
    missing = dict.fromkeys(
        ("median_seconds", "mean_seconds", "mad_seconds", "min_seconds", "p95_seconds"), NAN
    )
    return measurement(
        algorithm, implementation, operation, NAN,
        **missing, samples=0, status="unsupported", reason="needs avx2",
    )  # fmt: skip


def measured(*rows: dict) -> pd.DataFrame:
    """Return a measurement frame."""
    columns = list(MEASUREMENT.columns)
    frame = pd.DataFrame(list(rows), columns=columns)
    numbers = [n for n, dtype in MEASUREMENT.columns.items() if dtype == "float64"]
    frame = frame.astype(dict.fromkeys(numbers, "float64") | {"samples": "Int64"})
    frame.attrs["provenance"] = {"machine_id": "test-machine"}
    return frame


def as_published(key: str, factor: float = 1.0) -> pd.DataFrame:
    """Return measurements that repeat the paper's own times, on a machine so much slower."""
    rows = []
    for cell in papers.cells(key):
        operation = cell.quantity.removesuffix("_seconds")
        algorithm = ALGORITHMS.get(cell.algorithm)
        if cell.unit == "s" and algorithm and operation in algorithm.operations:
            variant = cell.implementation or "avx2"
            rows.append(
                measurement(
                    cell.algorithm, f"liboqs-0.13/{variant}", operation, float(cell.value) * factor
                )
            )
    return measured(*rows)


def verdicts(frame: pd.DataFrame, source: str) -> dict[str, str]:
    """Return the verdicts of one source by claim."""
    rows = frame[frame["source"] == source]
    assert rows["claim_id"].is_unique
    return dict(zip(rows["claim_id"], rows["verdict"], strict=True))


def one(frame: pd.DataFrame, claim_id: str, source: str = "measured") -> tuple[str, str]:
    """Return verdict and evidence of one claim."""
    (row,) = frame[(frame["claim_id"] == claim_id) & (frame["source"] == source)].to_dict("records")
    return row["verdict"], row["evidence"].replace("\N{NARROW NO-BREAK SPACE}", " ")


# Times


def test_align_tells_the_mean_where_an_operation_restarts_at_random():
    ours = measured(
        measurement("Dilithium2", "liboqs-0.13/avx2", "sign", 8e-5, mean_seconds=1.1e-4),
        measurement("Dilithium2", "liboqs-0.13/avx2", "verify", 5e-5, mean_seconds=9e-5),
    )
    frame = compare.align(ours, papers.published("pqdpol"))
    notes = frame[frame["algorithm"] == "Dilithium2"].set_index("operation")["note"]
    assert "its mean here is 110\N{NARROW NO-BREAK SPACE}µs" in notes["sign"]
    assert notes["verify"] == ""


def test_align_puts_ours_beside_published():
    ours = measured(
        measurement("Falcon-512", "liboqs-0.13/avx2", "verify", 0.00005),
        measurement("Falcon-512", "liboqs-0.13/ref", "verify", 0.00006),
        unsupported("Falcon-512", "liboqs-0.13/avx2", "sign"),
    )
    theirs = papers.published("mini-blockchain")
    expected = pd.DataFrame(
        {
            "paper": ["mini-blockchain"] * 3,
            "table": ["crypto-test"] * 3,
            "algorithm": ["Falcon-512"] * 3,
            "operation": ["generate_keypair", "sign", "verify"],
            "published_implementation": [""] * 3,
            "published_seconds": [0.00586712, 0.00019919, 0.00004203],
            "implementation": ["", "liboqs-0.13/avx2", "liboqs-0.13/avx2"],
            "median_seconds": [NAN, NAN, 0.00005],
            "mad_seconds": [NAN, NAN, 0.0000005],
            "ratio": [NAN, NAN, 0.00005 / 0.00004203],
            "status": ["not measured", "unsupported", "ok"],
            "note": [
                "no measurement of generate_keypair of Falcon-512 is given",
                "needs avx2",
                "",
            ],
        }
    )
    frame = compare.align(ours, theirs)
    pd.testing.assert_frame_equal(frame, results.check(expected, COMPARISON))
    assert frame.attrs["provenance"] == {"machine_id": "test-machine"}


def test_align_pairs_reference_with_reference():
    ours = measured(
        measurement("Kyber512", "liboqs-0.13/avx2", "encapsulate", 0.00001),
        measurement("Kyber512", "liboqs-0.13/ref", "encapsulate", 0.00004),
    )
    frame = compare.align(ours, papers.published("round3"))
    pairs = frame[(frame["algorithm"] == "Kyber512") & (frame["operation"] == "encapsulate")]
    assert pairs[["published_implementation", "implementation", "note"]].values.tolist() == [
        ["ref", "liboqs-0.13/ref", ""],
        ["avx2", "liboqs-0.13/avx2", ""],
    ]


def test_align_says_when_the_variant_differs():
    ours = measured(measurement("Falcon-512", "liboqs-0.13/avx2", "sign", 0.0002))
    frame = compare.align(ours, papers.published("falcon-hls"))
    notes = frame.loc[frame["algorithm"] == "Falcon-512", "note"].tolist()
    assert notes == [
        "published with cortex-m4, compared with liboqs-0.13/avx2",
        "published with cortex-m4+artix-7, compared with liboqs-0.13/avx2",
    ]


def test_align_says_what_this_version_does_not_have(monkeypatch):
    lacking = dataclasses.replace(ALGORITHMS["Rainbow-I-Classic"], implementations=())
    monkeypatch.setitem(ALGORITHMS, "Rainbow-I-Classic", lacking)
    frame = compare.align(measured(), papers.published("round3"))
    rows = frame[frame["algorithm"] == "Rainbow-I-Classic"]
    assert set(rows["status"]) == {"unsupported"}
    assert set(rows["note"]) == {"this version of pqchain has no Rainbow-I-Classic"}
    assert set(frame["status"]) == {"unsupported", "not measured"}


def test_align_without_published_times():
    frame = compare.align(measured(), papers.published("quic-reencoding"))
    assert len(frame) == 0
    assert list(frame.columns) == list(COMPARISON.columns)


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
    lambda found: measured(
        *(
            unsupported(name, how, operation)
            if median is None
            else measurement(name, how, operation, median)
            for ((name, operation), how), median in found.items()
        )
    )
)


THEIRS = papers.published("round3")


@settings(max_examples=30)
@given(ours=ROWS, factor=st.sampled_from([0.25, 2.0, 1024.0]))
def test_align_loses_no_row_and_scales(ours, factor):
    theirs = THEIRS
    frame = compare.align(ours, theirs)
    times = theirs[(theirs["unit"] == "s") & (theirs["algorithm"] != "")]
    assert frame["published_seconds"].tolist() == times["value"].tolist()
    assert frame["algorithm"].tolist() == times["algorithm"].tolist()
    is_ok = frame["status"] == "ok"
    assert (frame["ratio"].notna() == is_ok).all()
    assert (frame["note"][~is_ok] != "").all()
    slower = ours.assign(median_seconds=ours["median_seconds"] * factor)
    again = compare.align(slower, theirs)
    pd.testing.assert_series_equal(again["ratio"], frame["ratio"] * factor)


@settings(max_examples=30)
@given(ours=ROWS)
def test_align_does_not_depend_on_the_order_of_the_measurements(ours):
    turned = ours.iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(compare.align(turned, THEIRS), compare.align(ours, THEIRS))


def test_align_takes_our_own_numbers_back_as_one():
    frame = compare.align(as_published("round3", 3.0), papers.published("round3"))
    assert len(frame) == 42
    assert frame["ratio"].round(12).unique().tolist() == [3.0]


# Statements on the papers' own numbers


@pytest.mark.parametrize("key", KEYS)
def test_claims_on_the_print(key):
    found = verdicts(compare.claims(key), "published")
    others = {name: verdict for name, verdict in found.items() if verdict != HOLDS}
    assert others == EXPECTED[key]["not_holding"]


@pytest.mark.parametrize("key", KEYS)
def test_how_many_claims_there_are(key):
    assert compare.claims(key)["claim_id"].nunique() == EXPECTED[key]["statements"]


@pytest.mark.parametrize("key", KEYS)
def test_claims_keep_the_contract(key):
    frame = compare.claims(key, measured())
    pd.testing.assert_frame_equal(results.check(frame, CLAIMS), frame)
    assert set(frame["verdict"]) <= set(WORDS)
    assert (frame["evidence"] != "").all()
    assert not frame.duplicated(["claim_id", "source"]).any()
    ours = frame["quote"] == ""
    assert (frame.loc[ours, "sentence"] == "").all()


def test_evidence_shows_the_closest_figures_first():
    frame = compare.claims("pqdpol")
    assert one(frame, "dilithium-fastest-verification", "published") == (
        HOLDS,
        "Dilithium5 verify 110 µs < Falcon-1024 142 µs; Dilithium5 verify 110 µs < "
        "SPHINCS+-SHA2-256f-simple 1.50 ms; Dilithium3 verify 77.0 µs < "
        "SPHINCS+-SHA2-192f-simple 1.47 ms",
    )


def test_evidence_of_what_does_not_hold_shows_only_that():
    frame = compare.claims("pqdpol")
    assert one(frame, "dilithium-fastest-at-any-level", "published") == (
        FAILS,
        "Dilithium3 verify 77.0 µs is not below Falcon-512 75.0 µs; "
        "Dilithium5 verify 110 µs is not below Falcon-512 75.0 µs",
    )


def test_size_claims_are_checked_on_the_registry():
    found = verdicts(compare.claims("round3"), "registry")
    assert found["mceliece-public-key-373-times"] == HOLDS
    assert found["ntru-shortest-public-key"] == found["kyber-small"] == FAILS
    assert verdicts(compare.claims("mini-blockchain"), "registry") == {"sizes": HOLDS}
    of_pqdpol = verdicts(compare.claims("pqdpol"), "registry")
    assert of_pqdpol["larger-signatures-than-classical"] == HOLDS
    assert of_pqdpol["larger-public-keys-than-classical"] == FAILS


# Statements on our numbers


@pytest.mark.parametrize("key", KEYS)
def test_without_measurements_nothing_is_decided(key):
    frame = compare.claims(key)
    ours = frame[frame["source"] == "measured"]
    assert set(ours["verdict"]) <= {OPEN}
    assert ours["evidence"].str.contains("no measurement of .* is given").all()


@pytest.mark.parametrize("key", ["pqdpol", "round3"])
@pytest.mark.parametrize("factor", [0.1, 1.0, 7.0])
def test_the_papers_own_times_give_the_papers_own_verdicts_on_any_machine(key, factor):
    frame = compare.claims(key, as_published(key, factor))
    on_print, on_ours = verdicts(frame, "published"), verdicts(frame, "measured")
    decided = {name: verdict for name, verdict in on_ours.items() if verdict != OPEN}
    assert len(decided) >= 3
    # Rainbow's verification costs the same with and without AVX2: open on both sides.
    for name, verdict in decided.items():
        refuted = verdict in NOT_HERE
        assert (FAILS if refuted else verdict) == on_print[name], name


def verify_times(first: float, second: float, **changes) -> pd.DataFrame:
    """Return times of verification that decide "dilithium-faster-than-falcon" of round3."""
    rows = [
        measurement("Dilithium2", "liboqs-0.13/avx2", "verify", first, **changes),
        measurement("Falcon-512", "liboqs-0.13/avx2", "verify", second, **changes),
    ]
    for operation in ("generate_keypair", "sign"):
        rows.append(measurement("Dilithium2", "liboqs-0.13/avx2", operation, 0.001))
        rows.append(measurement("Falcon-512", "liboqs-0.13/avx2", operation, 0.1))
    return measured(*rows)


@pytest.mark.parametrize(
    ("first", "second", "mad", "samples", "verdict"),
    [
        (40e-6, 50e-6, 1e-6, 1000, HOLDS),
        (50e-6, 40e-6, 1e-6, 1000, "not on this machine"),
        (40e-6, 45e-6, 1e-6, 1000, OPEN),  # within 3 + 3 median absolute deviations
        (40e-6, 40e-6, 0.0, 1000, OPEN),  # equal
        (40e-6, 90e-6, 20e-6, 1000, HOLDS),  # they scatter, but the medians are far apart
        (40e-6, 90e-6, 20e-6, 3, OPEN),  # too few samples to know the medians
        (40e-6, 59e-6, 20e-6, 1000, OPEN),  # well known, but not far apart
    ],
)
def test_ranks_need_a_distance(first, second, mad, samples, verdict):
    frame = verify_times(first, second, mad_seconds=mad, samples=samples)
    found, evidence = one(compare.claims("round3", frame), "dilithium-faster-than-falcon")
    assert found == verdict
    if verdict == OPEN:
        assert "too close to rank" in evidence


def test_what_fails_decides_even_if_other_numbers_are_missing():
    frame = measured(
        measurement("Dilithium2", "liboqs-0.13/avx2", "verify", 9e-5),
        measurement("Falcon-512", "liboqs-0.13/avx2", "verify", 4e-5),
    )
    found = one(compare.claims("round3", frame), "dilithium-faster-than-falcon")
    assert found == (
        "not on this machine", "Dilithium2 verify 90.0 µs is not below Falcon-512 40.0 µs",
    )  # fmt: skip


def test_an_unsupported_row_leaves_the_statement_open_with_its_reason():
    rows = [
        unsupported(name, "liboqs-0.13/avx2", operation)
        for name in ("Dilithium2", "Falcon-512")
        for operation in ALGORITHMS[name].operations
    ]
    found = one(compare.claims("round3", measured(*rows)), "dilithium-faster-than-falcon")
    assert found == (OPEN, "Dilithium2 is unsupported: needs avx2")


def test_a_statement_about_avx2_is_not_checked_on_the_reference():
    rows = [
        measurement(name, "liboqs-0.13/ref", operation, 0.001)
        for name in ("Dilithium2", "Falcon-512")
        for operation in ALGORITHMS[name].operations
    ]
    verdict, evidence = one(
        compare.claims("round3", measured(*rows)), "dilithium-faster-than-falcon"
    )
    assert verdict == OPEN
    assert "no measurement of verify of Dilithium2 with avx2 is given" in evidence


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        (250, HOLDS), (202, HOLDS), (310, HOLDS), (195, "not on this machine"),
        (320, "not on this machine"), (200.1, OPEN),
    ],
)  # fmt: skip
def test_about_allows_a_factor_on_another_machine(times, verdict):
    frame = measured(
        measurement("Dilithium2", "liboqs-0.13/avx2", "generate_keypair", 0.0001),
        measurement("Falcon-512", "liboqs-0.13/avx2", "generate_keypair", 0.0001 * times),
    )
    found, evidence = one(compare.claims("round3", frame), "falcon-key-generation-250-times")
    assert found == verdict
    assert ("too close to the bound" in evidence) == (verdict == OPEN)
    assert f"is {times:.4g}, stated about 250, read as within a factor of 1.25" in evidence


def test_code_that_is_not_the_papers_refutes_nothing():
    slow = {"generate_keypair": 1.0, "encapsulate": 1.0, "decapsulate": 1.0}
    rows = [
        measurement(name, f"liboqs-0.7.1/{variant}", operation, slow[operation] * factor)
        for name in ("NTRU-HPS-2048-509", "LightSaber-KEM")
        for operation in slow
        for variant, factor in (("ref", 1.0), ("avx2", 2.0))
    ]
    rows += [
        measurement(name, f"liboqs-0.13/{variant}", operation, slow[operation] * factor)
        for name in ("Kyber512", "Classic-McEliece-348864")
        for operation in slow
        for variant, factor in (("ref", 1.0), ("avx2", 0.5))
    ]
    frame = compare.claims("round3", measured(*rows))
    row = frame[
        (frame["claim_id"] == "avx2-faster-than-reference") & (frame["source"] == "measured")
    ]
    assert row["verdict"].item() == "not on this machine"  # Saber's code is the paper's
    only = measured(*(row for row in rows if "Saber" not in row["algorithm"]))
    frame = compare.claims("round3", only)
    row = frame[
        (frame["claim_id"] == "avx2-faster-than-reference") & (frame["source"] == "measured")
    ]
    assert row["verdict"].item() == "not with this code"
    assert "PQClean's portable code" in row["setting"].item()


def test_absolute_times_of_the_paper_are_not_asked_of_us():
    frame = compare.claims("round3", as_published("round3", 1e-3))
    assert frame.loc[frame["claim_id"] == "all-below-0.05-ms", "source"].tolist() == ["published"]


def test_the_standard_error_of_a_median():
    assert math.isclose(readers.MEDIAN_ERROR, 1.858, rel_tol=1e-3)


# Bad input


def test_unknown_paper():
    with pytest.raises(UnknownPaper, match="did you mean 'round3'"):
        compare.claims("round-3")


def test_frames_that_break_their_contract_are_refused():
    ours, theirs = measured(), papers.published("round3")
    with pytest.raises(DataError, match="a measurement frame has the columns"):
        compare.align(ours.drop(columns="reason"), theirs)
    with pytest.raises(DataError, match="a published frame has the columns"):
        compare.align(ours, theirs.drop(columns="note"))
    with pytest.raises(DataError, match="a measurement frame has the columns"):
        compare.claims("round3", theirs)


def test_an_operation_measured_twice_is_refused():
    row = measurement("Falcon-512", "liboqs-0.13/avx2", "sign", 0.1)
    with pytest.raises(DataError, match=r"hold sign of Falcon-512 with liboqs-0\.13/avx2 twice"):
        compare.align(measured(row, row), papers.published("round3"))


def test_an_unknown_kind_of_check_is_named(monkeypatch):
    work = registry.get("round3")
    checks = ({"kind": "magic"},)
    new = Statement(id="new", section="1", statement="It is so.", ours=True, checks=checks)
    monkeypatch.setattr(type(work), "statements", (new,))
    with pytest.raises(DataError, match="claim 'new' of round3: unknown kind of check 'magic'"):
        compare.claims(work)


def test_pairs_of_one_level_are_of_one_level(monkeypatch):
    work = registry.get("pqdpol")
    check = {
        "kind": "less", "one_level": True, "quantity": "signature_bytes",
        "smaller": ["Falcon-512"], "larger": ["Dilithium2"],
    }  # fmt: skip
    new = Statement(id="new", section="1", statement="Small.", ours=True, checks=(check,))
    monkeypatch.setattr(type(work), "statements", (new,))
    with pytest.raises(DataError, match="of one NIST level; they are: Falcon-512 1, Dilithium2 2"):
        compare.claims(work)
