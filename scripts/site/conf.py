"""What Sphinx is told of the site; build.py prepares its sources, and sets the release."""

import os

project = "Syncopate"
author = "The Syncopate developers"
copyright = author
release = version = os.environ["SITE_RELEASE"]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
# Some pages have only small headings; examples of JSON leave things out.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
html_theme = "furo"
html_title = f"Syncopate {release}"
html_copy_source = False
html_show_sphinx = False
# Nothing is asked of other servers, and the search needs none: pages can be opened as files, which
# summaries of what was found would be fetched from.
html_show_search_summary = False
html_theme_options = {"source_repository": ""}
