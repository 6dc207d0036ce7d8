"""The documentation site: `make docs` builds it into target/site.

The pages in docs/*.md are also rendered by the code host, so they contain plain Markdown only.
Files that only the site needs are in docs/site/.
"""

import sys
from pathlib import Path

import codiag

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site" / "_extensions"))

project = "codiag"
author = "the codiag developers"
copyright = author
release = version = codiag.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "mathml",
    "repository",
    "program",
    "public_names",
]
exclude_patterns = ["requirements.txt", "gallery/*/images", "site/generated/reproduction"]
templates_path = ["site/_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
suppress_warnings = [
    # The configuration contains functions, which cannot be pickled.
    "config.cache",
]

# Anchors for headings of up to three levels.
myst_heading_anchors = 3
repository_url = "https://github.com/codiag/codiag"

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 220),
    "download_all_examples": False,
    "remove_config_comments": True,
    # Only printed output and figures are shown, not the values of expressions.
    "capture_repr": (),
    "show_memory": False,
    # Do not show execution times, which depend on the machine.
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "codiag"
html_static_path = ["site/_static"]
html_css_files = ["codiag.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "github_url": repository_url,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
# These pages have no pages below them.
html_sidebars = {"index": [], "troubleshooting": [], "benchmarks": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
