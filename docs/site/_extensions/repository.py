"""Adapt links and images of pages that the code host renders too.

Links to files of the repository that are not pages of the site lead to the code host. Addresses of
pages on the code host lead to the page of the site, and pictures of the repository are copied.
"""

import os
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    """Convert links to files of the repository."""

    default_priority = 5

    def apply(self):
        """Change the links and images of a page."""
        self.root = Path(self.app.srcdir).parent.resolve()
        self.folder = Path(self.env.doc2path(self.env.docname)).parent
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for node in list(self.document.findall(kind)):
                self.link_to_code_host(node)
        for node in list(self.document.findall(nodes.reference)):
            self.link_to_page(node)
        for node in self.document.findall(nodes.image):
            self.copy_picture(node)

    def link_to_code_host(self, node):
        """Replace a link to a file that is not a page of the site."""
        target = node.get("reftarget") or ""
        # The included parts of files such as the README have paths relative to the root.
        # Targets of links to Markdown files have no suffix.
        places = [
            folder / f"{target}{suffix}"
            for folder in (self.folder, self.root)
            for suffix in ("", ".md")
        ]
        for place in places:
            path = place.resolve()
            if not target or not path.exists() or path.is_relative_to(self.root / "docs"):
                continue
            if not path.is_relative_to(self.root):
                continue
            kind = "tree" if path.is_dir() else "blob"
            name = path.relative_to(self.root).as_posix()
            url = f"{self.config.repository_url}/{kind}/main/{name}"
            children = [child.deepcopy() for child in node.children]
            node.replace_self(nodes.reference("", "", *children, refuri=url, internal=False))
            return

    def link_to_page(self, node):
        """Replace the address of a page on the code host by a link to the page of the site."""
        prefix = f"{self.config.repository_url}/blob/main/docs/"
        address = node.get("refuri") or ""
        if not address.startswith(prefix) or not address.endswith(".md"):
            return
        target = "/" + address.removeprefix(prefix).removesuffix(".md")
        link = addnodes.pending_xref(
            "",
            nodes.inline("", "", *[child.deepcopy() for child in node.children]),
            refdoc=self.env.docname,
            refdomain="std",
            reftype="doc",
            reftarget=target,
            refexplicit=True,
            refwarn=True,
        )
        node.replace_self(link)

    def copy_picture(self, node):
        """Replace the address of a picture of the repository by its path."""
        prefix = self.config.repository_url.replace("//github.com", "//raw.githubusercontent.com")
        address = node["uri"]
        if address.startswith(f"{prefix}/main/"):
            path = self.root / address.removeprefix(f"{prefix}/main/")
            node["uri"] = Path(os.path.relpath(path, self.folder)).as_posix()


def setup(app):
    """Register the transform."""
    app.add_config_value("repository_url", "", "env")
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
