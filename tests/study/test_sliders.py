"""Sliders of a page: the translated formulas compute what the model computes."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from pqchain import study
from pqchain.errors import UsageError
from pqchain.figures import Unit
from pqchain.render import html
from pqchain.study import chain, javascript, sensitivity, sliders
from pqchain.study.figures import QUANTITIES, models
from pqchain.study.inputs import INPUTS
from pqchain.study.model import MIX
from pqchain.study.ranges import input_range, input_ranges
from pqchain.study.sliders import COMPUTED, FIGURES, choose
from tests.study.plans import ALL_COSTS, COSTS, plan

CHECKED = ("transactions_per_block", *FIGURES)

EVALUATE = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answers = cases.map(({ plan, rows }) => rows.map((row) => {
  const model = new Model(plan, row);
  return [model.limit, ...CHECKED.map((name) => {
    const value = model.get(name);
    return Number.isFinite(value) ? value : null;
  })];
}));
process.stdout.write(JSON.stringify(answers));
"""


def run_node(program: str, data: object) -> object:
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        pytest.skip("no Node.js here (Debian: apt-get install nodejs)")
    done = subprocess.run(
        [node, "-e", program], input=json.dumps(data), capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def panel_of(changed, costs):
    variations = sensitivity.one_at_a_time(changed, costs, changed.algorithms[0])
    return sliders.panel(changed, costs, variations, variations.base.limit)


def random_plans(number: int):
    """Return shipped plans and small ones, with random values of every input of COMPUTED."""
    rng = np.random.default_rng(39)
    plans = [study.load(name) for name in study.READY]
    plans = [
        row for row in plans
        if row.transaction_aggregation == "plain" and all(name in ALL_COSTS for name in row.names)
    ]  # fmt: skip
    plans.append(plan(block_seconds=5.0))
    found = []
    while len(found) < number:
        base = plans[rng.integers(len(plans))]
        names = [name for name in COMPUTED if getattr(base, name)]
        values = {}
        for name in rng.choice(names, size=rng.integers(1, len(names) + 1), replace=False):
            value = getattr(base, name) * 2 ** rng.uniform(-3, 3)
            value = min(INPUTS[name].most, max(INPUTS[name].least, value))
            values[name] = round(value) if isinstance(getattr(base, name), int) else value
        try:
            found.append(base.with_(**values))
        except UsageError:
            continue
    return found


def exact(model, monkeypatch):
    """Return the facts of a model with the times to finality of this very plan."""
    monkeypatch.setattr(sliders, "_finals", lambda row: [])
    facts = sliders.facts(model)
    count = model.count
    single = model["single_transaction_final_seconds"]
    pairs = {1.0: single, count: model["final_seconds"]} if count else {}
    return facts | {"finals": sorted(pairs.items())}


@pytest.mark.long
@pytest.mark.parametrize("number", [1000])
def test_program_computes_what_the_model_computes(number, monkeypatch):
    compare(random_plans(number), monkeypatch)


def test_program_computes_some_plans_as_the_model_does(monkeypatch):
    compare(random_plans(12), monkeypatch)


def compare(plans, monkeypatch):
    # The formulas are compared, not the consensus model, whose runs would take minutes.
    monkeypatch.setattr(chain, "final_seconds", lambda scenario, n: 0.2 + 1e-4 * n)
    cases, expected, is_random = [], [], []
    for changed in plans:
        by_algorithm = {
            name: model for name, model in models(changed, ALL_COSTS).items() if name != MIX
        }
        facts = [exact(model, monkeypatch) for model in by_algorithm.values()]
        values = sliders.values_of(changed)
        cases.append(sliders._plain({"plan": values, "rows": facts}))
        expected.append([[m.limit, *(m[name] for name in CHECKED)] for m in by_algorithm.values()])
        is_random.append([row["deviation"] > 0 for row in facts])
    program = f"{sliders.script()}\nconst CHECKED = {json.dumps(CHECKED)};\n{EVALUATE}"
    answers = run_node(program, cases)
    limits = set()
    for rows, wanted, loose in zip(answers, expected, is_random, strict=True):
        for (limit, *values), (right, *numbers), random_length in zip(
            rows, wanted, loose, strict=True
        ):
            assert limit == right
            limits.add(limit)
            for name, value, number in zip(CHECKED, values, numbers, strict=True):
                if value is None or not math.isfinite(number):
                    assert value is None and not math.isfinite(number), (name, value, number)
                elif random_length:
                    # Their number is that of a normal law, which a few transactions do not have.
                    assert value == pytest.approx(number, rel=1e-3, abs=1e-6), name
                else:
                    assert value == pytest.approx(number, rel=1e-9, abs=1e-9), name
    assert len(limits) >= 3


def test_interpolated_finality_is_near_the_model():
    base = plan(block_seconds=5.0)
    panel = panel_of(base, COSTS)
    for share in (0.3, 0.8, 1.7, 3.0):
        changed = base.with_(block_bytes=round(base.block_bytes * share))
        (names, answers) = zip(
            *((name, model["final_seconds"]) for name, model in models(changed, COSTS).items()),
            strict=True,
        )
        rows = [row for row in panel.rows if row["algorithm"] in names]
        case = sliders._plain({"plan": dict(panel.plan) | {"block_bytes": changed.block_bytes}})
        case["rows"] = sliders._plain(rows)
        program = f'{sliders.script()}\nconst CHECKED = ["final_seconds"];\n{EVALUATE}'
        ((*computed,),) = run_node(program, [case])
        assert [value for _, value in computed] == pytest.approx(list(answers), rel=0.03)


def test_numbers_are_written_as_on_other_pages():
    rng = np.random.default_rng(1)
    values = [float(f"{10 ** rng.uniform(-9, 13):.12g}") for _ in range(300)]
    values += [0.0, 1.0, 999.6, 1e5, 9999.0, 10000.0, 120.0, 1e8]
    units = ["s", "B", "tx/s", "gas", "", "bit/s", "WU"]
    pairs = [[value, unit] for value in values for unit in units]
    program = f"""{sliders.script()}
const pairs = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(pairs.map(([value, unit]) => text(value, unit))));"""
    written = run_node(program, pairs)
    assert written == [Unit(unit).text(value) for value, unit in pairs]


def untranslatable(values):
    """Use syntax outside the subset."""
    return [value + 1 for value in values]


def test_formula_outside_the_subset_is_an_error():
    with pytest.raises(UsageError, match="subset of Python"):
        javascript.translate([untranslatable], {})
    with pytest.raises(UsageError, match="subset of Python"):
        javascript.translate([chain.vote_bytes], {})


def test_load_limit_and_time_have_sliders():
    panel = panel_of(plan(block_seconds=5.0), COSTS)
    names = [slider.name for slider in panel.sliders]
    assert {"transactions_per_second", "block_bytes", "block_seconds"} <= set(names)
    assert set(names) <= set(COMPUTED)
    assert all(slider.least < slider.start < slider.most for slider in panel.sliders)


def test_prohibiting_limit_has_a_slider():
    small = plan(packet_bytes=1232, envelope_bytes=100)
    variations = sensitivity.one_at_a_time(small, COSTS, "ECDSA-secp256k1")
    assert "packet_bytes" in [row.name for row in choose(small, variations, "packet")]


def test_values_of_a_slider_give_possible_plans():
    base = plan(block_seconds=5.0)
    nodes = input_range(base.with_(delegates=8), "nodes")
    assert min(nodes.values) >= 10  # as many as chunks
    assert nodes.values[nodes.start] == 16 and list(nodes.values) == sorted(nodes.values)
    assert input_range(base, "peers") is None  # a star has none
    assert input_range(base, "block_gas") is None  # 0: the chain has no gas
    assert "witness_discount" not in [row.name for row in input_ranges(base)]


def texts(by_algorithm):
    return [
        [name, *(QUANTITIES[figure].unit.text(model[figure]) for figure in FIGURES), model.limit]
        for name, model in by_algorithm.items()
    ]


def test_page_is_complete_without_script():
    base = plan(block_seconds=5.0)
    form, table, again, data = sliders.section(panel_of(base, COSTS))
    assert 'hidden="hidden"' in form and 'hidden="hidden"' in again
    for row in texts(models(base, COSTS)):
        assert all(html.join(text) in table for text in row)
    assert data.count("<") == 2  # an embedded text cannot close the script


QUERIES = """
const element = () => ({ textContent: "", style: { setProperty() {} } });
const inputs = DATA.sliders.map(() => ({ ...element(), nextElementSibling: element() }));
const ids = { data: { textContent: JSON.stringify(DATA) }, permalink: { href: "" },
  sliders: { querySelectorAll: () => inputs }, again: { ...element(), parentElement: {} } };
Object.assign(globalThis, { history: { replaceState() {} }, location: { search: "" },
  document: { getElementById: (id) => ids[id], querySelectorAll: () => [] } });
const queries = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(queries.map((query) => {
  location.search = query;
  start();
  return [ids.again.textContent, ids.permalink.search];
})));
"""


def test_query_changes_inputs_of_sliders_only():
    """An object of JavaScript has the names of its prototype besides its own."""
    data = sliders._data(panel_of(plan(block_seconds=5.0), COSTS))
    program = f"{sliders.script()}\nconst DATA = {re.sub('<[^>]*>', '', data)};\n{QUERIES}"
    names = ["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__", "isPrototypeOf"]
    queries = [f"?{name}=5" for name in names] + ["?__proto__[nodes]=5", "?nodes=7&nodes=x"]
    command = "pqchain study STUDY"
    assert run_node(program, queries) == [[command, ""]] * len(queries)
    everything = "?" + "&".join(f"{name}=5" for name in [*names, "block_bytes"])
    assert run_node(program, [everything, "?block_bytes=NaN"]) == [
        [f"{command} --set block_bytes=5", "block_bytes=5"], [command, ""],
    ]  # fmt: skip


def test_program_finds_no_price_of_a_scheme_in_a_prototype():
    program = f"{sliders.script()}\nprocess.stdout.write(JSON.stringify(PRICES));"
    names = ["constructor", "toString", "__proto__", "Mine"]
    looked_up = ", ".join(f'lookup({{ "Mine": 3 }}, "{name}", 7)' for name in names)
    assert run_node(program.replace("PRICES", f"[{looked_up}]"), None) == [7, 7, 7, 3]
    assert "lookup(plan.gas_prices, row.algorithm, by_time)" in program


def test_embedded_data_have_no_control_characters():
    hostile = "a\x7f\x9b\u202e</script>"
    panel = panel_of(plan(block_seconds=5.0), COSTS)
    panel = replace(panel, plan={**panel.plan, "gas_prices": {hostile: 1.0}})
    data = str(sliders._data(panel))
    assert not re.search("[\x7f-\x9f\u202e]|</script>.", data)
    assert json.loads(re.sub("<[^>]*>", "", data))["plan"]["gas_prices"] == {hostile: 1.0}


DRIVER = """
const rows = [...document.querySelectorAll("#moved tbody tr")];
const shown = () => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
const load = document.getElementById("slider-transactions_per_second");
const state = { hidden: document.getElementById("sliders").hidden, first: shown(),
  again: document.getElementById("again").textContent,
  link: document.getElementById("permalink").search, position: load.value };
load.value = 1; load.oninput();
state.moved = shown(); state.address = document.getElementById("permalink").search;
document.getElementById("sliders").reset();
setTimeout(() => {
  state.back = shown();
  document.body.textContent = "STATE" + JSON.stringify(state) + "END";
}, 50);
"""


@pytest.fixture(scope="module")
def browsed(tmp_path_factory):
    """Return what a page shows that is opened with values in its address, and after each step."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    folder = tmp_path_factory.mktemp("browser")
    page = folder / "page.html"
    script = sliders.script() + DRIVER
    panel = panel_of(plan(block_seconds=5.0), COSTS)
    page.write_text(html.document("T", [], *sliders.section(panel), script=script), "utf-8")
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--virtual-time-budget=2000",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom",
         f"{page.as_uri()}?block_bytes=250000&transactions_per_second=7&nodes=9&x=1"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    found = re.search(r"STATE(.*)END", done.stdout)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(unescape(found[1]))


def test_permalink_restores_its_inputs(browsed):
    base = plan(block_seconds=5.0)
    linked = base.with_(block_bytes=250_000, transactions_per_second=7.0)
    rows = texts(models(linked, COSTS))
    assert browsed["hidden"] is False
    # Finality is interpolated, and so the latency that contains it; all else is exact.
    exact_columns = [(row[0], row[1], row[5]) for row in browsed["first"]]
    assert exact_columns == [(row[0], row[1], row[5]) for row in rows]
    assert browsed["link"] == "?block_bytes=250000&transactions_per_second=7"
    assert browsed["again"].endswith("--set block_bytes=250000 --set transactions_per_second=7")
    assert float(browsed["position"]) == pytest.approx(
        math.log2(7 / base.transactions_per_second), abs=1e-6
    )


def test_moved_slider_changes_the_link_and_reset_restores_the_study(browsed):
    base = plan(block_seconds=5.0)
    double = 2 * base.transactions_per_second
    assert browsed["address"] == f"?block_bytes=250000&transactions_per_second={double:g}"
    assert browsed["moved"] != browsed["first"]
    assert browsed["back"] == texts(models(base, COSTS))
