"""Looks for a word wherever a database or a Redis can hold one; the places are read from their own catalogues."""

from collections.abc import Sequence
from typing import Any

from psycopg import sql
from redis.asyncio import Redis

from service.tenants.owner import Owner, owner_connection

_TABLES = (
    "SELECT n.nspname AS schema, c.relname AS name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname !~ '^pg_(toast|temp)' ORDER BY 1, 2"
)


def find_in_database(owner_url: str, word: str) -> list[str]:
    """The rows of all tables of all schemas, the server's own and its statistics among them, and the statements of all sessions, that
    hold the word: as text, inside a JSON, an array, a tsvector, or as bytes."""
    found: list[str] = []
    with owner_connection(owner_url) as owner:
        for table in owner.execute(_TABLES).fetchall():
            place = sql.Identifier(table["schema"], table["name"])
            found += [f"{table['schema']}.{table['name']}: {text}" for text in _rows(owner, place, word)]
        activity = owner.execute("SELECT query FROM pg_stat_activity WHERE query ILIKE $1", (f"%{word}%",)).fetchall()
    return found + [f"a statement: {row['query'][:200]}" for row in activity]


def places_of(found: Sequence[str]) -> set[str]:
    """The tables in what was found; those of a project without its schema."""
    return {line.partition(": ")[0].rpartition(".")[2] for line in found}


def analyze(owner_url: str) -> None:
    """Lets the planner take its samples of everything."""
    with owner_connection(owner_url) as owner:
        owner.execute("ANALYZE")


def hashes_of(owner_url: str, schema: str, word: str) -> list[int]:
    """The hashes of the texts that hold the word, by which vectors and failures know them."""
    with owner_connection(owner_url) as owner:
        rows = owner.execute(
            sql.SQL("SELECT text_hash FROM {} WHERE text ILIKE $1").format(sql.Identifier(schema, "passage")), (f"%{word}%",)
        )
        return [row["text_hash"] for row in rows.fetchall()]


def find_hashes(owner_url: str, hashes: Sequence[int]) -> set[str]:
    """The tables with a row for one of these texts: its vector in any space, its failure, itself."""
    found: set[str] = set()
    with owner_connection(owner_url) as owner:
        tables = owner.execute(
            "SELECT n.nspname AS schema, c.relname AS name FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid "
            "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE a.attname = 'text_hash' AND c.relkind = 'r'"
        ).fetchall()
        for table in tables:
            place = sql.Identifier(table["schema"], table["name"])
            if owner.execute(sql.SQL("SELECT 1 FROM {} WHERE text_hash = ANY ($1)").format(place), (list(hashes),)).fetchall():
                found.add(table["name"])
    return found


def _rows(owner: Owner, place: sql.Identifier, word: str) -> list[str]:
    rows = owner.execute(
        sql.SQL("SELECT t::text AS shown FROM {} AS t WHERE t::text ILIKE $1 OR t::text LIKE $2").format(place),
        (f"%{word}%", f"%{word.encode().hex()}%"),
    )
    return [row["shown"][:200] for row in rows.fetchall()]


async def everything_in(redis: Redis) -> dict[str, str]:
    """All keys of a Redis with what they hold."""
    found: dict[str, str] = {}
    async for key in redis.scan_iter():
        kind = (await redis.type(key)).decode()
        reads: dict[str, Any] = {
            "string": lambda key=key: redis.get(key),
            "hash": lambda key=key: redis.hgetall(key),
            "list": lambda key=key: redis.lrange(key, 0, -1),
            "set": lambda key=key: redis.smembers(key),
            "zset": lambda key=key: redis.zrange(key, 0, -1),
            "stream": lambda key=key: redis.xrange(key),
        }
        found[key.decode()] = str(await reads[kind]())
    return found
