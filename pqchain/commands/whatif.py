"""`pqchain whatif`: what a signature scheme would cost a chain, in eight statements."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pqchain.commands import console, options
from pqchain.errors import UsageError
from pqchain.render import latex

if TYPE_CHECKING:
    from pqchain.render.table import Table


def run(arguments: argparse.Namespace) -> int:
    """Answer the question for one chain and one scheme."""
    from pqchain import study as studies
    from pqchain.study import page
    from pqchain.study.answer import chain_of

    if arguments.chain is None:
        raise UsageError(f"name a chain: {', '.join(studies.ready_names())}; or a TOML file")
    chain = chain_of(arguments.chain)
    algorithm = _algorithm(arguments)
    if arguments.page is not None:
        page.check_page(arguments.page)
    answer = studies.whatif(
        chain,
        algorithm,
        measurements=options.load_table(arguments.measurements),
        draws=arguments.draws,
        preset=arguments.preset,
        progress=console.is_interactive(),
    )
    outputs: list[str | Table] = [answer.text()]
    if arguments.bibtex:
        outputs = [f"{latex.escaped(answer.sentence)[:-1]}~\\cite{{pqchain}}.", answer.bibtex]
    elif console.wants_table_markup(arguments):
        outputs = [answer.table(), answer.sentence]
    verbatim = arguments.bibtex or not arguments.markdown
    console.show(arguments, answer.data(), *outputs, verbatim=verbatim)
    if arguments.page is not None:
        opening = [f"{subject}: {text}" for subject, text in answer.statements.items()]
        studies.write(studies.analyse(answer.inline), arguments.page, opening=opening)
        console.print_stderr(f"Saved: {arguments.page}")
    return console.SUCCESS


def _algorithm(arguments: argparse.Namespace) -> str:
    """Return the one scheme that is asked about, by name or by --scheme."""
    from pqchain import algorithms

    names = [] if arguments.algorithm is None else [algorithms.get(arguments.algorithm).name]
    names = list(dict.fromkeys([*names, *arguments.user_schemes]))
    if len(names) != 1:
        raise UsageError(
            "name one scheme, such as ML-DSA-44, or define one by --scheme; got "
            f"{', '.join(names) or 'none'}"
        )
    return names[0]
