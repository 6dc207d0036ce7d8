"""Redirect links to files of the repository that are not pages of the site to the hosted code."""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    """Turn links to files outside of docs/ into links to the code."""

    default_priority = 5

    def apply(self):
        """Change all such links of a page."""
        root = Path(self.app.srcdir).parent.resolve()
        folder = Path(self.env.doc2path(self.env.docname)).parent
        kinds = (addnodes.download_reference, addnodes.pending_xref)
        for node in [n for kind in kinds for n in self.document.findall(kind)]:
            target = node.get("reftarget") or ""
            # The included parts of the README have paths relative to the root.
            for place in (folder / target, root / target):
                path = place.resolve()
                if not target or not path.exists() or path.is_relative_to(root / "docs"):
                    continue
                if not path.is_relative_to(root):
                    continue
                kind = "tree" if path.is_dir() else "blob"
                url = (
                    f"{self.config.repository_url}/{kind}/main/{path.relative_to(root).as_posix()}"
                )
                children = [child.deepcopy() for child in node.children]
                node.replace_self(nodes.reference("", "", *children, refuri=url, internal=False))
                break


def setup(app):
    """Register the transform."""
    app.add_config_value("repository_url", "", "env")
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
