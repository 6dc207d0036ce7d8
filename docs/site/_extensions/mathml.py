"""Render formulas as MathML, which browsers display without scripts or network access."""

from latex2mathml.converter import convert


def _inline(self, node):
    self.body.append(convert(node.astext()))
    raise _skip()


def _block(self, node):
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app):
    """Register and select the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
