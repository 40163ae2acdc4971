"""Model whole chains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render import latex
from pqchain.render.table import Column, Table


def study(
    name: str | None = None,
    /,
    *,
    list_: bool = False,
    inputs: bool = False,
    show: bool = False,
    all_: bool = False,
    page: Path | None = None,
    measurements: values.Measurements = None,
    set_: tuple[str, ...] = (),
    scheme: values.Schemes = (),
    draws: values.Whole = 16,
    preset: values.Preset | None = None,
    fresh: bool = False,
    output: values.Output | None = None,
    form: values.Format = values.TEXT,
) -> int:
    """Model a whole chain with each signature scheme: throughput, latency, bytes, storage.

    The chain is described by a ready study of pqchain or by a TOML file. The result is throughput,
    latency, bytes, processors, storage and repair with each scheme, and sensitivity to each input.
    In a notebook pq.study.explore() has sliders.

    Args:
        name: a ready study of --list, or a TOML file
        list_: list the ready studies
        inputs: list the inputs with their units
        show: print the TOML of a ready study
        all_: show every figure, the calibration and the limits, not only the eight main figures
        page: write a page with the figures
        fresh: measure again instead of using kept times (30 days, this machine, the same code)
        set_: change an input by INPUT=VALUE, such as nodes=1024, law=gossip or
            algorithms=ML-DSA-44,Falcon-512; may be repeated
        draws: Monte Carlo draws of network and times for each interval

    Examples:
      pqchain study --list
      pqchain study ethereum --page eth.html   measure the schemes first
      pqchain study ethereum --set algorithms=ML-DSA-44,Falcon-512
      pqchain study ethereum --scheme "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
      pqchain study ethereum --show > my.toml  a file to start from
      pqchain study my.toml --measurements mine.csv --set nodes=1024
    """
    added = console.register_schemes(scheme)
    from pqchain.study import ready, titles

    if list_:
        by_name = titles()
        width = max(map(len, by_name))
        text = "\n".join(f"{key:<{width}}  {title}" for key, title in by_name.items())
        return console.show(form, by_name, text)
    if name is not None and not name.endswith(".toml"):
        # Raises UnknownName for an unknown study, before the slower imports.
        text = ready(name)
        if show:
            return console.show(form, {"study": name, "toml": text}, text, verbatim=True)
    if inputs:
        from pqchain.study.files import input_help

        columns = [Column(title) for title in ("table", "input", "unit", "meaning", "default")]
        table = Table(columns=columns, rows=list(input_help()))
        return console.show(form, table.records(), table)
    if name is None:
        raise UsageError("name a study of `pqchain study --list`, or a TOML file")
    if show:
        raise UsageError(f"--show needs a ready study; got the file {name}")
    from pqchain import results
    from pqchain import study as studies
    from pqchain.study import files
    from pqchain.study import text as texts

    # The page is checked before the study runs.
    if page is not None:
        from pqchain.study import page as pages

        pages.check_page(page)
    plan = files.with_settings(studies.load(name), set_, added)
    progress = console.is_interactive()
    options: dict[str, Any] = {"measurements": measurements, "preset": preset, "fresh": fresh}
    times = studies.times(plan, progress=progress, **options)
    findings = studies.run(plan, times, draws=draws, progress=progress)
    costs = {"costs": findings.costs.source}
    if output is not None:
        results.save(findings.frame, output, provenance=costs)
    data = {
        "study": plan.title,
        "status": texts.status(plan),
        **costs,
        "times": times.origin,
        "warnings": texts.warnings(findings),
        "conclusions": texts.conclusions(findings),
        "calibration": console.records(findings.calibration),
        "figures": console.records(findings.frame),
    }
    # The page takes much longer, because its sensitivity evaluates the model many times.
    console.show(form, data, *texts.parts(findings, all_))
    if page is not None:
        studies.write(studies.analyse(findings), page)
        console.print_stderr(f"Saved: {page}")
    return console.SUCCESS


def whatif(
    chain: str | None = None,
    algorithm: str | None = None,
    /,
    *,
    page: Path | None = None,
    bibtex: bool = False,
    measurements: values.Measurements = None,
    scheme: values.Schemes = (),
    draws: values.Whole = 16,
    preset: values.Preset | None = None,
    fresh: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """Answer what a signature scheme would cost a chain, on one screen.

    The answer has capacity, binding limit, latency, storage, gas, and how well the model fits the
    chain. The scheme and the chain's present one are measured first, for a few seconds, unless
    --measurements has their times or they were measured here in the last 30 days.

    Args:
        chain: a chain of `pqchain study --list`, or a TOML file
        algorithm: a signature scheme of `pqchain algorithms`
        page: write a page with all figures and their sources
        bibtex: print a sentence for a paper and its reference
        draws: Monte Carlo draws for each interval
        fresh: measure again instead of using kept times (30 days, this machine, the same code)

    Examples:
      pqchain whatif ethereum ML-DSA-44
      pqchain whatif bitcoin Falcon-512 --measurements mine.csv
      pqchain whatif tron Falcon-512 --bibtex      a sentence and its reference
      pqchain whatif bnb --scheme "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
    """
    added = console.register_schemes(scheme)
    from pqchain import study as studies
    from pqchain.study.answer import chain_of

    if chain is None:
        raise UsageError(f"name a chain: {', '.join(studies.ready_names())}; or a TOML file")
    plan = chain_of(chain)
    names = console.algorithm_names(filter(None, [algorithm]), added)
    if len(names) != 1:
        raise UsageError(
            "name one scheme, such as ML-DSA-44, or define one by --scheme; got "
            f"{', '.join(names) or 'none'}"
        )
    if page is not None:
        from pqchain.study import page as pages

        pages.check_page(page)
    options: dict[str, Any] = {"measurements": measurements, "preset": preset, "fresh": fresh}
    options |= {"draws": draws, "progress": console.is_interactive()}
    answer = studies.whatif(plan, names[0], **options)
    outputs: list[str | Table] = [answer.text()]
    if bibtex:
        outputs = [f"{latex.escaped(answer.sentence)[:-1]}~\\cite{{pqchain}}.", answer.bibtex]
    elif form.latex:
        outputs = [answer.table(), answer.sentence]
    console.show(form, answer.data(), *outputs, verbatim=True)
    if page is not None:
        opening = [f"{subject}: {text}" for subject, text in answer.statements.items()]
        studies.write(studies.analyse(answer.inline), page, opening=opening)
        console.print_stderr(f"Saved: {page}")
    return console.SUCCESS
