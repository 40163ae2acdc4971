"""What `pqchain study ...` does: read a plan, answer it, write the page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pqchain import commands
from pqchain.commands import FINE, talk
from pqchain.errors import UsageError


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
    study.add_argument("--show", action="store_true", help="print the TOML of a ready study")
    study.add_argument("--page", type=Path, metavar="FILE.html", help="write the page")
    study.add_argument("--output", type=Path, metavar="FILE.csv", help="save the figures")
    study.add_argument(
        "--measurements", type=Path, metavar="FILE.csv",
        help="what `pqchain bench --output` saved, instead of measuring now",
    )  # fmt: skip
    study.add_argument(
        "--set", action="append", default=[], metavar="INPUT=VALUE",
        help="change an input, such as nodes=1024; may be repeated",
    )  # fmt: skip
    study.add_argument(
        "--matters-for", default="capacity_per_second", metavar="FIGURE",
        help="figure whose sensitivity the page shows; default: capacity_per_second",
    )  # fmt: skip
    study.add_argument(
        "--preset", choices=("quick", "paper"), help="of the measurement; default: quick"
    )
    study.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Answer a study."""
    from pqchain import results
    from pqchain import study as studies

    if arguments.list:
        return _list(arguments)
    if arguments.study is None:
        raise UsageError("no study given; name one of `pqchain study --list`, or a TOML file")
    if arguments.show:
        commands._write(studies.ready(arguments.study))
        return FINE
    commands._check_output(arguments.output)
    plan = _changed(studies.load(arguments.study), arguments.set)
    known = None if arguments.measurements is None else results.load(arguments.measurements)
    found = studies.run(
        plan, measurements=known, preset=arguments.preset, progress=sys.stderr.isatty()
    )
    if arguments.output is not None:
        results.save(found.frame, arguments.output, contract="study",
                     provenance={"costs": found.costs.source})  # fmt: skip
    if arguments.json:
        commands._write_json({"study": plan.title, "costs": found.costs.source,
                              "figures": commands._records(found.frame)})  # fmt: skip
    else:
        from pqchain.study import sheet

        commands._write(sheet.text(found))
    if arguments.page is not None:
        studies.write(found, arguments.page, output=arguments.matters_for)
        talk(f"wrote {arguments.page}")
    return FINE


def _list(arguments: argparse.Namespace) -> int:
    """List what comes along."""
    from pqchain.study import plan

    found = {name: plan.load(name).title for name in plan.READY}
    if arguments.json:
        commands._write_json(found)
    else:
        commands._write("\n".join(f"{name:<12}{title}" for name, title in found.items()))
    return FINE


def _changed(plan: Any, changes: list[str]) -> Any:
    """Apply --set to a plan. Raises UsageError for an input that is no number or name."""
    values: dict[str, Any] = {}
    for change in changes:
        name, sign, text = change.partition("=")
        if not sign:
            raise UsageError(f"--set {change} has no value; give INPUT=VALUE, such as nodes=1024")
        if not isinstance(getattr(plan, name, ""), (int, float, str)):
            raise UsageError(f"--set changes numbers and names; write a TOML file to set {name!r}")
        values[name] = _value(text)
    return plan.with_(**values)


def _value(text: str) -> Any:
    """Read a number, or else a name."""
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            continue
    return text
