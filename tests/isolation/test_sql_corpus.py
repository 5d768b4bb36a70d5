"""Every text that the checker refuses, sent past it: Postgres gives nothing of others for it, and nothing is changed."""

import asyncpg

from service.db.queries import load
from service.errors import MunimentError
from tests.isolation.test_sql_reader import CANARY, World, plain, state_of, world
from tests.unit.sqltool.corpus import REFUSED

__all__ = ["plain", "world"]
# What is refused for its size holds up one connection at worst, and nobody else's rows.
TEXTS = {text: rule for text, rule in REFUSED.items() if rule not in ("size", "params")}


class Undo(Exception):
    """Ends a transaction that has answered as if it had failed."""


def _aimed(text: str, world: World) -> str:
    """The text with what stands for somebody else's table put in, and without its pauses."""
    for name, table in (("other.t", "event"), ("OTHER.T", "event"), ('"other"."t"', "event"), ("other . /*x*/ t", "event"), ("m_1.", "")):
        text = text.replace(name, f"{world.foreign.schema}.{table}")
    return text.replace("pg_sleep(1)", "pg_sleep(0)").replace("pg_sleep /* */ (1)", "pg_sleep /* */ (0)")


async def _told(world: World, text: str) -> tuple[bool, str]:
    """Whether Postgres ran it, and what it gave or said."""
    told = ""
    try:
        async with world.database.read_free(world.own, statement_ms=3_000) as tx:
            rows = await tx.fetch(load("project", "sqltool")["read_rows"].sql, text, ["x"], 1, 100, 100_000)
            told = str([row["line"] for row in rows])
            raise Undo
    except Undo:
        return True, told
    except (asyncpg.PostgresError, MunimentError, asyncpg.DataError) as error:
        return False, f"{error} {error.__cause__}"


async def test_past_the_checker_nothing_of_others_comes_back(world: World) -> None:
    before = await state_of(world)
    ran: set[str] = set()
    for text, rule in TEXTS.items():
        aimed = _aimed(text, world)
        done, told = await _told(world, aimed)
        assert CANARY not in told, (aimed, told)
        assert not (done and rule == "statement"), aimed
        assert not (done and world.foreign.schema in aimed), aimed
        if done:
            ran.add(rule)
    assert ran  # harmless without the checker too, or told of the server what it tells everybody: it was sent as it should be
    assert await state_of(world) == before
