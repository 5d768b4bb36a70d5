"""Where in the text a node of the syntax tree stands."""

from sqlglot import exp


def place(node: exp.Expr | None) -> int | None:
    """The offset of the first name in the node; None when it holds none."""
    names = [] if node is None else node.find_all(exp.Identifier)
    return min((name.meta["start"] for name in names if "start" in name.meta), default=None)
