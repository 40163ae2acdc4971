"""Measure, compare with the published tables, and execute the notebooks of the works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pqchain.commands import console, values
from pqchain.figures import Kind


def reproduce(
    *,
    preset: values.Preset | None = None,
    only: values.Works = (),
    scheme: values.Schemes = (),
    output: Path = Path("results"),
    resume: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """Measure, compare with the published tables, and execute the notebooks of the works.

    The preset quick takes 4 to 5 minutes for all works on 2 idle cores; paper gives numbers for
    publication. Exit code 1 only for a wrong size or a failed computation, never for a time.

    Args:
        only: reproduce only these works; default: all
        output: output folder; default: results
        resume: go on with the last run of the same command, which was interrupted

    Examples:
      pqchain reproduce
      pqchain reproduce --preset paper --only pqdpol
      pqchain reproduce --scheme ./libmine.so     include your own scheme
    """
    added = console.register_schemes(scheme)
    from pqchain import reproduce as reproduction
    from pqchain.works import printed
    from pqchain.works.work import split_ours

    asked: dict[str, Any] = {"preset": preset, "scheme": scheme, "resume": resume}
    asked["only"] = only
    with console.resumable("reproduce", **asked) as options:
        result = reproduction.run(output, only=list(only) or None, algorithms=added, **options)
    claims, ours = split_ours(result.claims)
    is_published = claims["source"] == Kind.PUBLISHED
    columns = {
        "claims checked with the paper's numbers": claims.loc[is_published, "verdict"],
        "claims checked with our numbers": claims.loc[~is_published, "verdict"],
        "statements of ours": ours["verdict"],
        "sizes": printed.sizes(result.printed)["verdict"],
        "printed numbers, ours": result.printed["kind"],
        "operations timed": result.measurements["status"],
    }
    counts = {
        name: {str(value): int(count) for value, count in column.value_counts().items()}
        for name, column in columns.items()
    }
    index = str(result.output / "index.html")
    data = {
        **{"ok": not result.failures, "failures": result.failures, "index": index},
        "works": [work.work.key for work in result.results],
        **{re.sub("[,']", "", name).replace(" ", "_"): count for name, count in counts.items()},
        "frames": {
            work.work.key: {name: console.records(frame) for name, frame in work.frames.items()}
            for work in result.results
        },
    }
    remarks = [
        f"{name:>38}: {', '.join(f'{count} {verdict}' for verdict, count in verdicts.items())}"
        for name, verdicts in counts.items()
    ]
    remarks += [f"pqchain: {failure}" for failure in result.failures]
    return console.show(form, data, index, remarks=remarks, ok=not result.failures)
