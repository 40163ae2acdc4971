"""Answer what a signature scheme would cost a chain, on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render import latex

if TYPE_CHECKING:
    from pqchain.render.table import Table


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
    form: values.Format = values.TEXT,
) -> int:
    """Answer what a signature scheme would cost a chain, on one screen.

    The answer has capacity, binding limit, latency, storage, gas, and how well the model fits the
    chain. The scheme and the chain's present one are measured first, for a few seconds, unless
    --measurements has their times.

    Args:
        chain: a chain of `pqchain study --list`, or a TOML file
        algorithm: a signature scheme of `pqchain algorithms`
        page: write a page with all figures and their sources
        bibtex: print a sentence for a paper and its reference
        draws: Monte Carlo draws for each interval

    Examples:
      pqchain whatif ethereum ML-DSA-44
      pqchain whatif bitcoin Falcon-512 --measurements mine.csv
      pqchain whatif solana ML-DSA-44 --page solana.html
      pqchain whatif tron Falcon-512 --bibtex      a sentence and its reference
      pqchain whatif bnb --scheme "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"
      pqchain whatif ethereum --scheme ./libmine.so    measure your own code
    """
    added = console.register_schemes(scheme)
    from pqchain import study as studies
    from pqchain.study import page as pages
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
        pages.check_page(page)
    options = {"measurements": measurements, "preset": preset, "draws": draws}
    answer = studies.whatif(plan, names[0], progress=console.is_interactive(), **options)
    outputs: list[str | Table] = [answer.text()]
    if bibtex:
        outputs = [f"{latex.escaped(answer.sentence)[:-1]}~\\cite{{pqchain}}.", answer.bibtex]
    elif form.latex or form.markdown:
        outputs = [answer.table(), answer.sentence]
    console.show(form, answer.data(), *outputs, verbatim=bibtex or not form.markdown)
    if page is not None:
        opening = [f"{subject}: {text}" for subject, text in answer.statements.items()]
        studies.write(studies.analyse(answer.inline), page, opening=opening)
        console.print_stderr(f"Saved: {page}")
    return console.SUCCESS
