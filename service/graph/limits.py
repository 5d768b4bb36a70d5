"""What a graph query may cost, and whether the newer half of the language is on."""

import msgspec


class GraphLimits(msgspec.Struct, frozen=True):
    """Milliseconds for the whole call and for one statement, rows walked between two stages, events measured exactly, the switch."""

    deadline_ms: int = 10_000
    statement_ms: int = 5_000
    row_budget: int = 200_000
    exact_candidates: int = 20_000
    scoped_match: bool = True
