"""How far the vector index is searched within one transaction.

In: a transaction. Out: whether an index scan can go on until enough rows pass a filter (pgvector 0.8).
"""

from service.db.budget import Budget
from service.db.queries import load
from service.db.transaction import Tx

# Five times the largest k, so that rows deleted or filtered out leave enough.
CANDIDATES = 100
SCANNED = 100_000


async def widen_scans(tx: Tx, budget: Budget) -> bool:
    """Lets scans of the vector index look at more than they return; settings of newer versions only where they are known."""
    queries = load("project", "graph")
    # The library has to be loaded first: before that its settings are not known to the session.
    await tx.fetch(queries["vector_library"].sql, budget=budget)
    (found,) = await tx.fetch(queries["iterative_scan"].sql, budget=budget)
    await tx.set_local(hnsw__ef_search=CANDIDATES)
    if found["mode"] is None:
        return False
    await tx.set_local(hnsw__iterative_scan="relaxed_order", hnsw__max_scan_tuples=SCANNED)
    return True
