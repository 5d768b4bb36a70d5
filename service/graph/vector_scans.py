"""How far the vector index is searched within one transaction.

In: a transaction. Out: how many head vectors there are to choose a way by; whether an index scan can go on until enough rows pass a
filter (pgvector 0.8).
"""

from service.db.budget import Budget
from service.db.queries import load
from service.db.transaction import Tx

# Five times the largest k, so that rows deleted or filtered out leave enough.
CANDIDATES = 100
SCANNED = 100_000


async def widen_scans(tx: Tx, budget: Budget) -> bool:
    """Lets scans of the vector index look at more than they return; settings of newer versions only where they are known."""
    (found,) = await tx.fetch(load("project", "graph")["widen_scans"].sql, str(CANDIDATES), str(SCANNED), budget=budget)
    return found["mode"] is not None


async def count_heads(tx: Tx, budget: Budget, most: int) -> int:
    """How many head vectors there are, counted up to `most`; where the worker lately counted far more, they are not counted again."""
    if tx.space is not None and (tx.space.heads or 0) > 2 * most:
        return most
    (row,) = await tx.fetch(load("project", "graph")["heads_up_to"].sql, most, budget=budget)
    return row["vectors"]
