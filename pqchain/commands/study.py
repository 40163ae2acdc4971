"""`pqchain study`: model a whole chain with each signature scheme."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from pqchain.commands import console, options, values
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    from pqchain.study import Plan


def run(arguments: argparse.Namespace) -> int:
    """Run a study and show its figures."""
    from pqchain.study import ready, titles

    if arguments.list:
        studies_by_name = titles()
        width = max(map(len, studies_by_name))
        text = "\n".join(f"{name:<{width}}  {title}" for name, title in studies_by_name.items())
        return console.show(arguments, studies_by_name, text)
    if arguments.study is not None and not arguments.study.endswith(".toml"):
        # Raises UnknownName for an unknown study, before the slower imports.
        text = ready(arguments.study)
        if arguments.show:
            return console.show(
                arguments, {"study": arguments.study, "toml": text}, text, verbatim=True
            )
    from pqchain import results
    from pqchain import study as studies
    from pqchain.study import page, sensitivity, words
    from pqchain.study import text as texts
    from pqchain.study.figures import OUTPUTS
    from pqchain.study.writing import input_help

    if arguments.inputs:
        columns = [Column(name) for name in ("table", "input", "unit", "meaning", "default")]
        table = Table(columns=columns, rows=list(input_help()))
        return console.show(arguments, table.records(), table)
    if arguments.outcomes:
        return _outcomes(arguments)
    if arguments.study is None:
        raise UsageError("name a study of `pqchain study --list`, or a TOML file")
    if arguments.show:
        raise UsageError(f"--show needs a ready study; got the file {arguments.study}")
    figure = values.canonical_case(arguments.sensitivity or "capacity_per_second", OUTPUTS)
    # All outputs are checked before the study runs.
    sensitivity.check_output(figure)
    if arguments.page is not None:
        page.check_page(arguments.page)
    elif arguments.sensitivity is not None:
        raise UsageError(f"--sensitivity {figure} needs a page; add --page FILE.html")
    plan = studies.load(arguments.study)
    plan = _changed(_with_costs(plan, arguments.user_schemes), arguments.set)
    plan = _with_schemes(plan, arguments.user_schemes)
    findings = studies.run(
        plan,
        measurements=options.load_table(arguments.measurements),
        draws=arguments.draws,
        preset=arguments.preset,
        progress=console.is_interactive(),
    )
    costs = {"costs": findings.costs.source}
    if arguments.output is not None:
        results.save(findings.frame, arguments.output, provenance=costs)
    data = {
        "study": plan.title,
        "status": words.status(plan),
        **costs,
        "warnings": texts.warnings(findings),
        "conclusions": texts.conclusions(findings),
        "calibration": console.records(findings.calibration),
        "figures": console.records(findings.frame),
    }
    # The page takes much longer, because its sensitivity evaluates the model many times.
    console.show(arguments, data, *texts.parts(findings, arguments.all))
    if arguments.page is not None:
        studies.write(studies.analyse(findings, output=figure), arguments.page)
        console.print_stderr(f"Saved: {arguments.page}")
    return console.SUCCESS


def _outcomes(arguments: argparse.Namespace) -> int:
    from pqchain import costs as costing
    from pqchain.bench import operations, presets
    from pqchain.study import analysis, tables

    frame = options.load_table(arguments.measurements)
    if frame is None:
        operations_of = ["generate_keypair", "sign", "verify"]
        frame = operations.measure(
            analysis.algorithm_names(), operations_of, preset=arguments.preset or presets.preset(),
            progress=console.is_interactive(),
        )  # fmt: skip
    predicted = analysis.predictions(costing.from_frame(frame))
    console.save(predicted, arguments.output, provenance=frame.attrs.get("provenance", {}))
    return console.show(arguments, console.records(predicted), tables.outcomes_table(predicted))


def _with_costs(plan: Plan, names: list[str]) -> Plan:
    """Return the plan with the costs of the schemes that --scheme defines by numbers."""
    from pqchain import schemes

    costs = tuple(row for row in map(schemes.costs_of, names) if row is not None)
    return plan.with_(own_schemes=plan.own_schemes + costs) if costs else plan


def _with_schemes(plan: Plan, names: list[str]) -> Plan:
    known = {name.casefold() for name in plan.chain.algorithms}
    added = tuple(name for name in names if name.casefold() not in known)
    return plan.with_(algorithms=plan.chain.algorithms + added) if added else plan


def _changed(plan: Plan, changes: list[str]) -> Plan:
    from pqchain.study.plan import INPUTS, TABLES, check_name

    settings: dict[str, Any] = {}
    problems: list[str] = []
    for change in changes:
        path, sign, text = change.partition("=")
        if not sign:
            problems.append(f"--set must be INPUT=VALUE, such as nodes=1024; got {change}")
            continue
        # chain.block_seconds=6 or block_seconds=6; gas_prices.ML-DSA-44=4500 is of one scheme.
        table, _, rest = path.partition(".")
        name, _, scheme = (rest if table.casefold() in TABLES else path).partition(".")
        name = values.canonical_case(name, INPUTS)
        try:
            check_name(name)
        except UsageError as error:
            problems.append(str(error))
            continue
        kind = INPUTS[name].field.type if name in INPUTS else None
        if kind is Mapping and scheme:
            by_scheme = settings.get(name, plan.value(name))
            settings[name] = {**by_scheme, scheme: _value(text, float)}
        elif kind is tuple:
            settings[name] = tuple(filter(None, map(str.strip, text.split(","))))
        elif kind in (None, Mapping):
            problems.append(f"--set cannot change {name!r}; set it in a TOML file")
        else:
            settings[name] = text.casefold() if name == "law" else _value(text, kind)
    try:
        changed = plan.with_(**settings)
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return changed


def _value(text: str, kind: type) -> Any:
    """Parse a value of a type; return invalid text as is, for the plan to reject."""
    if kind is bool:
        return {"true": True, "false": False}.get(text.casefold(), text)
    parsers: dict[type, Callable[[str], Any]] = {
        int: int, float: float, date: date.fromisoformat
    }  # fmt: skip
    try:
        return parsers.get(kind, str)(text.replace("_", "") if kind in parsers else text)
    except ValueError:
        return text
