"""How Sphinx builds the site of the documentation: `make docs`."""

from flakehound import __version__

project = "flakehound"
author = "The flakehound authors"
project_copyright = "The flakehound authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build"]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
# Files of the repository that pages link to are copied into the site.
suppress_warnings: list[str] = []
intersphinx_mapping: dict[str, tuple[str, None]] = {}  # empty, so that the site builds without a network
autodoc_typehints = "description"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"flakehound {release}"
html_static_path = ["_static"]
html_copy_source = False
html_show_sourcelink = False
