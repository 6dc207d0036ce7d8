"""Links to files of the repository that are no pages of the site lead to the hosted code."""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    """Turn what Sphinx would offer as a download into a link to the code."""

    default_priority = 5

    def apply(self):
        """Change all such links of a page."""
        root = Path(self.app.srcdir).parent
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for node in list(self.document.findall(addnodes.download_reference)):
            target = (folder / node["reftarget"]).resolve()
            if not target.is_relative_to(root) or target.is_relative_to(root / "docs"):
                continue
            kind = "tree" if target.is_dir() else "blob"
            url = f"{self.config.repository_url}/{kind}/main/{target.relative_to(root)}"
            link = nodes.reference("", "", *node.children, refuri=url, internal=False)
            node.replace_self(link)


def setup(app):
    """Register the transform."""
    app.add_config_value("repository_url", "", "env")
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
