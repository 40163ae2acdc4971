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
    SIZE,
    VERDICTS,
    Standing,
)  # fmt: skip

OUTCOMES = (HOLDS, FAILS, OPEN)

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
    if word in (FAILS, HOLDS):
        assert not standing.elsewhere and not standing.fitted
    if word in NOT_HERE:
        assert word == f"not {standing.elsewhere[0]}" and outcome == FAILS
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
