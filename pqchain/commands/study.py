"""`pqchain study`: a plan read and answered, in figures and on a page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    from pqchain.study import Plan


def run(arguments: argparse.Namespace) -> int:
    """Answer a study."""
    from pqchain.study.ready import ready, titles

    if arguments.list:
        found = titles()
        shown = "\n".join(f"{name:<15}{title}" for name, title in found.items())
        return console.show(arguments, found, shown)
    if arguments.study is not None and not arguments.study.endswith(".toml"):
        text = ready(arguments.study)
        if arguments.show:
            return console.show(arguments, {"study": arguments.study, "toml": text}, text)
    from pqchain import results
    from pqchain import study as studies
    from pqchain.study import answer as words
    from pqchain.study import page, sensitivity, sheet
    from pqchain.study.plan import described

    if arguments.inputs:
        columns = [Column(name) for name in ("table", "input", "unit", "meaning", "default")]
        table = Table(columns=columns, rows=described())
        return console.show(arguments, table.records(), table)
    if arguments.outcomes:
        return _outcomes(arguments)
    if arguments.study is None:
        raise UsageError("no study given; name one of `pqchain study --list`, or a TOML file")
    if arguments.show:
        raise UsageError(f"--show {arguments.study}: it is a file already; name a ready study")
    figure = values.folded(arguments.matters_for or "capacity_per_second", sensitivity.OUTPUTS)
    sensitivity.check_output(figure)
    if arguments.page is not None:
        page.check_page(arguments.page)
    elif arguments.matters_for is not None:
        raise UsageError(f"--matters-for {figure} is of the page; add --page FILE.html")
    own: list[str] = arguments.own
    plan = _beside(_changed(_with_own(studies.load(arguments.study), own), arguments.set), own)
    given = arguments.measurements
    answer = studies.run(
        plan,
        measurements=None if given is None else results.load(given),
        seeds=arguments.seeds,
        preset=arguments.preset,
        progress=console.watched(),
    )
    costs = {"costs": answer.costs.source}
    if arguments.output is not None:
        results.save(answer.frame, arguments.output, provenance=costs)
    plain = {
        "study": plan.title,
        **costs,
        "doubts": words.doubts(answer),
        "conclusions": words.conclusions(answer),
        "calibration": console.records(answer.calibration),
        "figures": console.records(answer.frame),
    }
    console.show(arguments, plain, *sheet.shown_parts(answer))
    if arguments.page is not None:
        studies.write(answer, arguments.page, output=figure)
        console.talk(f"wrote {arguments.page}")
    return console.FINE


def _outcomes(arguments: argparse.Namespace) -> int:
    """Predict what chains published, from costs that are given or measured now."""
    from pqchain import costs as costing
    from pqchain import results
    from pqchain.bench import operations, presets
    from pqchain.study import outcomes, sheet

    if arguments.measurements is not None:
        frame = results.load(arguments.measurements)
    else:
        operations_of = ["generate_keypair", "sign", "verify"]
        frame = operations.measure(
            outcomes.scheme_names(), operations_of, preset=arguments.preset or presets.preset(),
            progress=console.watched(),
        )  # fmt: skip
    board = outcomes.scoreboard(costing.from_frame(frame))
    console.save(board, arguments.output, provenance=frame.attrs.get("provenance", {}))
    return console.show(arguments, console.records(board), sheet.outcomes_table(board))


def _with_own(plan: Plan, names: list[str]) -> Plan:
    """Add the numbers of --scheme to a plan, so that it may name them."""
    from pqchain import schemes

    given = tuple(row for row in map(schemes.costs_of, names) if row is not None)
    return plan.with_(own_schemes=plan.own_schemes + given) if given else plan


def _beside(plan: Plan, names: list[str]) -> Plan:
    """Ask about the schemes of --scheme too, if --set does not already."""
    asked = {name.casefold() for name in plan.schemes}
    more = tuple(name for name in names if name.casefold() not in asked)
    return plan.with_(schemes=plan.schemes + more) if more else plan


def _changed(plan: Plan, changes: list[str]) -> Plan:
    """Apply --set to a plan. Raises UsageError with everything that cannot be set."""
    from pqchain.study.plan import DEFAULTS, check_name
    from pqchain.study.wiring import WIRES

    settings: dict[str, Any] = {}
    problems: list[str] = []
    for change in changes:
        name, sign, text = change.partition("=")
        if not sign:
            problems.append(f"--set {change} has no value; give INPUT=VALUE, such as nodes=1024")
            continue
        name = values.folded(name, (*DEFAULTS, *WIRES))
        try:
            check_name(name)
        except UsageError as error:
            problems.append(str(error))
            continue
        now = getattr(plan, name, getattr(plan.network, name, None))
        if isinstance(now, (int, float, str)):
            settings[name] = text.casefold() if name == "law" else _value(text, now)
        elif isinstance(now, tuple) and name == "schemes":
            settings[name] = tuple(filter(None, map(str.strip, text.split(","))))
        else:
            problems.append(f"--set changes numbers and names; write a TOML file to set {name!r}")
    try:
        changed = plan.with_(**settings)
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return changed


def _value(text: str, now: float | str) -> float | str | bool:
    """Read what stands for a value such as the one `now`; what is no such thing stays a text."""
    if isinstance(now, bool):
        return {"true": True, "false": False}.get(text.casefold(), text)
    for kind in () if isinstance(now, str) else (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            continue
    return text
