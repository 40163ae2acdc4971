"""Sphinx configuration of `make docs`. Neither the build nor the pages load external resources."""

import re
import shutil
import sys
from pathlib import Path

import pqchain

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

project = "pqchain"
project_copyright = "pqchain contributors"
version = release = pqchain.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_nb",
    "sphinx_copybutton",
    "gallery",
    "site_checks",
    "machines",
    "studies",
    "search_text",
]
exclude_patterns = ["_build", "templates"]
templates_path = ["templates"]
autosummary_ignore_module_all = False
nitpicky = True
nitpick_ignore_regex = [
    # Sphinx writes an annotated type of a field as if it were a class of that name.
    ("py:class", r"pqchain\.errors\.Annotated\[.*"),
    ("py:.*", r"(?!pqchain(_conform|_engines)?\.).*"),
    ("py:.*", r"pqchain\.(checks|wire|reencode\.protocol|render\.(html|notebook))\..*"),
]
"""Every reference must resolve, except names of other libraries and of internal modules."""
_ALIASES = ["chain.encoding.KeyForm", "crypto.interface.T"]
nitpick_ignore = [("py:class", f"pqchain.{name}") for name in _ALIASES]
"""Type aliases, which Sphinx treats as classes."""

# Notebooks are shown as committed. Sphinx reads only its own folder, so they are copied with their
# modification times: Sphinx does not read an unchanged notebook again.
shutil.rmtree(DOCS / "notebooks", ignore_errors=True)
shutil.copytree(DOCS.parent / "notebooks", DOCS / "notebooks", ignore=shutil.ignore_patterns(".*"))
# Autosummary keeps the pages of modules that are no longer listed, and Sphinx then fails on them.
listed = re.findall(r"^   (pqchain\S+)$", (DOCS / "api" / "index.md").read_text(), re.MULTILINE)
for page in (DOCS / "api" / "generated").glob("*.rst"):
    if page.stem not in listed:
        page.unlink()
# The files of the machines, to which their page links.
html_extra_path = ["_build/extra"]
_extra = DOCS / "_build" / "extra" / "tasks" / "machines"
shutil.rmtree(_extra, ignore_errors=True)
shutil.copytree(DOCS.parent / "data" / "measurements", _extra)
nb_execution_mode = "off"
# Pages have no kernel for sliders, so they show the static figure.
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]

myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"pqchain {version}"
html_static_path = ["static", str(DOCS / "_build" / "static")]
html_css_files = ["site.css", "figures.css"]
html_search_scorer = str(DOCS / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0a5a94", "color-brand-content": "#0a5a94"},
    "dark_css_variables": {"color-brand-primary": "#7db8e8", "color-brand-content": "#7db8e8"},
}
