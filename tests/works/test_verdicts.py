"""Rules of verdicts: a fit does not confirm its own table; only the setting decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.figures import Kind
from pqchain.render import html
from pqchain.works.comparisons import decide
from pqchain.works.readers import Number, NumberReader, from_values
from pqchain.works.verdicts import (
    CLOCK,
    CODE,
    ELSEWHERE,
    FAILS,
    HOLDS,
    HOLDS_HERE,
    MACHINE,
    NOT_HERE,
    OPEN,
    PROPERTY,
    SIZE,
    THRESHOLD,
    VERDICTS,
    Standing,
)  # fmt: skip

OUTCOMES = (HOLDS, FAILS, THRESHOLD, OPEN)

STANDINGS = st.builds(
    Standing,
    setting=st.sampled_from(["", "2 MB", "costs of this machine"]),
    elsewhere=st.lists(st.sampled_from(ELSEWHERE), unique=True).map(
        lambda chosen: tuple(where for where in ELSEWHERE if where in chosen)
    ),
    fitted=st.booleans(),
)


@given(outcome=st.sampled_from(OUTCOMES), standing=STANDINGS)
def test_only_the_published_setting_decides_and_fitted_values_confirm_nothing(outcome, standing):
    word = standing.word(outcome)
    assert word in VERDICTS
    if word in (FAILS, HOLDS, THRESHOLD):
        assert not standing.elsewhere and not standing.fitted
    if word in NOT_HERE:
        assert word == f"not {standing.elsewhere[0]}" and outcome in (FAILS, THRESHOLD)
    if word in HOLDS_HERE:
        assert word == f"holds {standing.elsewhere[0]}" and outcome == HOLDS
    assert (word == OPEN) == (outcome == OPEN)


@given(one=STANDINGS, other=STANDINGS)
def test_combined_numbers_have_the_weaker_standing(one, other):
    both = one & other
    assert both.fitted == (one.fitted or other.fitted)
    assert set(both.elsewhere) == {*one.elsewhere, *other.elsewhere}
    assert list(both.elsewhere) == sorted(both.elsewhere, key=ELSEWHERE.index)
    assert set(both.setting.split("; ")) == set((other & one).setting.split("; "))


def reader(source: str, **values: tuple[float, Standing]) -> NumberReader:
    """Return a reader of synthetic numbers."""

    def read(name, quantity, implementation):
        value, standing = values[name]
        return Number(value, standing=standing)

    return NumberReader(source, read)


LESS = [{"kind": "less", "quantity": "q", "smaller": ["a"], "larger": ["b"]}]


@pytest.mark.parametrize(
    ("standing", "word"),
    [
        (Standing(), "does not hold"),
        (Standing(elsewhere=(MACHINE,)), "not on this machine"),
        (Standing(elsewhere=(SIZE, MACHINE)), "not at this size"),
        (Standing(elsewhere=(CODE,)), "not with this code"),
        (Standing(elsewhere=(CLOCK, SIZE)), "not on this clock"),
    ],
)
def test_outcomes_outside_the_setting_are_labelled(standing, word):
    result = decide(LESS, reader("measured", a=(2.0, Standing()), b=(1.0, standing)))
    assert result.word == word
    result = decide(LESS, reader("measured", a=(0.5, Standing()), b=(1.0, standing)))
    assert result.word == ("holds" if word == FAILS else f"holds{word.removeprefix('not')}")


def test_statement_holds_in_the_least_similar_setting_of_its_parts():
    checks = [{"kind": "less", "quantity": "q", "smaller": ["a", "c"], "larger": ["b"]}]
    here, other = Standing(elsewhere=(MACHINE,)), Standing("other code", (CODE,))
    numbers = reader("measured", a=(1.0, here), b=(3.0, Standing()), c=(2.0, other))
    result = decide(checks, numbers)
    assert result.word == "holds with this code"
    # All parts are evidence, the closest comparison first, although their settings differ.
    assert result.evidence == "c q 2 < b 3; a q 1 < b 3"
    assert result.standing == Standing("other code", (CODE, MACHINE))
    same = reader("registry", a=(1.0, Standing()), b=(3.0, Standing()), c=(2.0, Standing()))
    assert decide(checks, same).word == HOLDS


def test_pages_have_a_sign_for_every_verdict():
    assert set(VERDICTS) <= set(html.VERDICTS)
    signs = {html.VERDICTS[word] for word in HOLDS_HERE}
    # Not the colour of a confirmation.
    assert signs == {("open", html.VERDICTS[HOLDS][1])}


@pytest.mark.parametrize("value", [0.5, 2.0])
def test_statement_decided_by_its_own_fit_is_labelled(value):
    fit = Standing(fitted=True)
    numbers = reader("modelled", a=(value, fit), b=(1.0, fit))
    assert decide(LESS, numbers).word == "fitted"
    free = reader("modelled", a=(value, Standing()), b=(1.0, Standing()))
    assert decide(LESS, free).word == ("holds" if value < 1 else "does not hold")


def test_fit_has_no_rank_below_its_error():
    def read(name, quantity, implementation):
        return Number({"a": 29.29, "b": 29.33}[name], 2.1, 2.1, standing=Standing(fitted=True))

    result = decide(LESS, NumberReader("modelled", read))
    assert result.word == OPEN
    assert "too close to rank" in result.evidence


def test_failure_in_the_setting_precedes_one_outside():
    checks = [{"kind": "less", "quantity": "q", "smaller": ["a", "c"], "larger": ["b"]}]
    numbers = reader(
        "measured", a=(2.0, Standing(elsewhere=(CODE,))), b=(1.0, Standing()), c=(3.0, Standing())
    )
    assert decide(checks, numbers).word == FAILS


@pytest.mark.parametrize(("printed", "verdict"), [(2.549, HOLDS), (2.56, FAILS)])
def test_quotient_agrees_within_the_rounding_of_the_print(printed, verdict):
    values = {"a": Number(10.0), "b": Number(4.0), "c": Number(printed, 0.05)}
    numbers = from_values(Kind.PUBLISHED, {(name, "x"): row for name, row in values.items()})
    check = {"kind": "quotient", "of": "a: x", "to": "b: x", "printed": "c: x"}
    assert decide([check], numbers).word == verdict


def word_and_evidence(check: dict, source: str = Kind.PUBLISHED, **values: float) -> tuple:
    """Return verdict and evidence of a check by numbers with the quantity x and rounding 0."""
    numbers = from_values(source, {(name, "x"): value for name, value in values.items()})
    result = decide([check], numbers)
    return result.word, result.evidence


@pytest.mark.parametrize(
    ("check", "value", "verdict", "evidence"),
    [
        ({"kind": "similar"}, 1.596, THRESHOLD, "does not hold at 1.5, holds from 1.6"),
        ({"kind": "similar"}, 0.25, THRESHOLD, "does not hold at 1.5, holds from 4"),
        ({"kind": "similar"}, 1.1, HOLDS, "our choice: holds from 1.1"),
        ({"kind": "ratio", "at_least": 2}, 1.9, FAILS, "is 1.9, stated at least 2"),
    ],
)  # fmt: skip
def test_threshold_of_ours_refutes_nothing(check, value, verdict, evidence):
    sides = {"of": "a: x", "to": "b: x"}
    word, text = word_and_evidence(check | sides, a=value, b=1.0)
    assert word == verdict
    assert text.endswith(evidence)


@pytest.mark.parametrize(
    ("small", "verdict", "evidence"),
    [
        (1.0, HOLDS, "our choice: holds up to 3"),
        (2.0, THRESHOLD, "does not hold at 2, holds up to 1.5"),
        (4.0, FAILS, "a x 4 is not below b 3"),  # the order decides, and not our bound
    ],
)
def test_by_far_gives_the_factor_up_to_which_it_holds(small, verdict, evidence):
    check = {"kind": "less", "by": 2, "quantity": "x", "smaller": ["a"], "larger": ["b"]}
    word, text = word_and_evidence(check, a=small, b=3.0)
    assert word == verdict and text.endswith(evidence)


@pytest.mark.parametrize(("ours", "verdict"), [(True, THRESHOLD), (False, FAILS)])
def test_limit_refutes_only_if_the_source_gives_it(ours, verdict):
    check = {"kind": "at_most", "cells": ["a: x"], "limit": 10, "ours": ours}
    word, text = word_and_evidence(check, a=12.34)
    assert word == verdict
    assert ("holds from 12.4" in text) == ours


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (9.143, FAILS), (9.24, FAILS), (9.25, HOLDS), (9.349, HOLDS), (9.36, HOLDS), (9.39, HOLDS),
        (9.41, FAILS),
    ],
)  # fmt: skip
def test_about_a_number_is_that_number_rounded_or_cut_off(value, verdict):
    check = {"kind": "ratio", "about": 9.3, "of": "a: x", "to": "b: x"}
    word, text = word_and_evidence(check, a=value, b=1.0)
    assert word == verdict
    assert ("cut off and not rounded" in text) == (9.35 < value < 9.4)


@pytest.mark.parametrize(("value", "verdict"), [(0.5, PROPERTY), (2.0, f"not {CODE}")])
def test_run_of_other_code_confirms_and_refutes_nothing(value, verdict):
    assert decide(LESS, reader("run", a=(value, Standing()), b=(1.0, Standing()))).word == verdict
    machine = Standing(elsewhere=(MACHINE,))
    elsewhere = decide(LESS, reader("run", a=(0.5, machine), b=(1.0, Standing())))
    assert elsewhere.word == "holds on this machine"


def test_ranges_are_combined_by_their_ends():
    one, several = Number(6.0), Number.one_of(2.0, 3.0, "s", Standing())
    assert several.ends == pytest.approx((2.0, 3.0))
    assert (one / several).ends == pytest.approx((2.0, 3.0))
    assert (several / one).ends == pytest.approx((1 / 3, 0.5))
    assert (several * several).ends == pytest.approx((4.0, 9.0))
    low, high = (several + one).ends
    assert low <= 8.0 and high >= 9.0
    assert (one / one).ends == (1.0,)


@pytest.mark.parametrize(
    ("most", "verdict"), [(5.0, OPEN), (3.0, "not on this clock"), (2.2, "not on this clock")]
)
def test_range_that_contains_a_bound_decides_nothing(most, verdict):
    times = Number.one_of(2.0, most, "s", Standing(elsewhere=(CLOCK,)))
    numbers = from_values(Kind.MODELLED, {("a", "x"): 40.0, ("b", "x"): times})
    check = {"kind": "ratio", "about": 10, "of": "a: x", "to": "b: x"}
    assert decide([check], numbers).word == verdict
