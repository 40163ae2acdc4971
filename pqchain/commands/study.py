"""What `pqchain study ...` does: read a plan, answer it, write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqchain.commands import console as commands
from pqchain.commands.console import FINE, talk
from pqchain.errors import UsageError
from pqchain.render import numbers

if TYPE_CHECKING:
    from pqchain.study import Plan


def add(subparsers: Any, formatter: Any) -> None:
    """Add the command."""
    study = subparsers.add_parser(
        "study", help="ask what a whole chain gives and takes, and get one page",
        description="Read a study, a TOML file or one that comes with pqchain, and answer it:\n"
        "throughput, latency, bytes, processors, storage and repair with each scheme,\n"
        "what matters most, and which scheme wins where.",
        formatter_class=formatter,
        epilog="examples:\n"
        "  pqchain study --list\n"
        "  pqchain study --inputs                   what a file may set, with units\n"
        "  pqchain study pqdpol                     the network of the PQ-DPoL paper\n"
        "  pqchain study ethereum --page eth.html   measures the schemes first\n"
        "  pqchain study ethereum --show > my.toml  a file to start from\n"
        "  pqchain study my.toml --measurements mine.csv --set nodes=1024",
    )  # fmt: skip
    study.add_argument(
        "study", nargs="?", metavar="STUDY", help="pqdpol, ethereum, bitcoin or FILE"
    )
    study.add_argument("--json", action="store_true", help="write JSON to stdout, nothing else")
    study.add_argument("--list", action="store_true", help="list the studies that come along")
    study.add_argument("--inputs", action="store_true", help="list the inputs with their units")
    study.add_argument("--show", action="store_true", help="print the TOML of a ready study")
    study.add_argument("--page", type=Path, metavar="FILE.html", help="write the page")
    study.add_argument("--output", type=Path, metavar="FILE.csv", help="save the figures")
    study.add_argument(
        "--measurements", type=Path, metavar="FILE.csv",
        help="what `pqchain bench --output` saved, instead of measuring now",
    )  # fmt: skip
    study.add_argument(
        "--set", action="append", default=[], metavar="INPUT=VALUE",
        help="change an input, such as nodes=1024 or law=gossip; may be repeated",
    )  # fmt: skip
    study.add_argument(
        "--matters-for", metavar="FIGURE",
        help="figure whose sensitivity the page shows: capacity_per_second (default), "
        "latency_seconds, final_seconds, verification_cores, growth_bytes_per_year or "
        "repair_seconds",
    )  # fmt: skip
    study.add_argument(
        "--preset", choices=("quick", "paper"), help="of the measurement; default: quick"
    )
    study.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer a study."""
    from pqchain import results
    from pqchain import study as studies
    from pqchain.study import sensitivity, sheet

    if arguments.list:
        return _list(arguments)
    if arguments.inputs:
        return _inputs(arguments)
    if arguments.study is None:
        raise UsageError("no study given; name one of `pqchain study --list`, or a TOML file")
    if arguments.show:
        commands._write(studies.ready(arguments.study))
        return FINE
    # Better now than after minutes of measuring.
    commands._check_output(arguments.output)
    output = arguments.matters_for or "capacity_per_second"
    sensitivity.check_output(output)
    if arguments.page is not None:
        sheet.check_page(arguments.page)
    elif arguments.matters_for is not None:
        raise UsageError(f"--matters-for {output} is of the page; add --page FILE.html")
    plan = _changed(studies.load(arguments.study), arguments.set)
    known = None if arguments.measurements is None else results.load(arguments.measurements)
    found = studies.run(
        plan, measurements=known, preset=arguments.preset, progress=sys.stderr.isatty()
    )
    if arguments.output is not None:
        results.save(found.frame, arguments.output,
                     provenance={"costs": found.costs.source})  # fmt: skip
    if arguments.json:
        commands._write_json({"study": plan.title, "costs": found.costs.source,
                              "figures": commands._records(found.frame)})  # fmt: skip
    else:
        commands._write(sheet.text(found))
    if arguments.page is not None:
        studies.write(found, arguments.page, output=output)
        talk(f"wrote {arguments.page}")
    return FINE


def _list(arguments: argparse.Namespace) -> int:
    """List what comes along."""
    from pqchain.study import reading

    found = {name: reading.load(name).title for name in reading.READY}
    if arguments.json:
        commands._write_json(found)
    else:
        commands._write("\n".join(f"{name:<12}{title}" for name, title in found.items()))
    return FINE


def _inputs(arguments: argparse.Namespace) -> int:
    """List what a study file may set."""
    from pqchain.study import plan

    names = ("table", "input", "unit", "meaning", "default")
    rows = plan.described()
    if arguments.json:
        commands._write_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        commands._write(numbers.text_table(names, [[*row] for row in rows]))
    return FINE


def _changed(plan: Plan, changes: list[str]) -> Plan:
    """Apply --set to a plan. Raises UsageError with everything that cannot be set."""
    from pqchain.study.plan import check_name

    values: dict[str, Any] = {}
    problems: list[str] = []
    for change in changes:
        name, sign, text = change.partition("=")
        if not sign:
            problems.append(f"--set {change} has no value; give INPUT=VALUE, such as nodes=1024")
            continue
        try:
            check_name(name)
        except UsageError as error:
            problems.append(str(error))
            continue
        now = getattr(plan, name, getattr(plan.network, name, None))
        if isinstance(now, (int, float, str)):
            values[name] = _value(text, now)
        else:
            problems.append(f"--set changes numbers and names; write a TOML file to set {name!r}")
    try:
        changed = plan.with_(**values)
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
