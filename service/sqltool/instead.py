"""Functions and columns that queries ask for and that are not there: how the same is written over these views.

In: a name. Out: a hint that ends in a full stop, or None.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ALIKE: Final = "ILIKE and ~* match text, and memory_query finds what is written much the same."
_MEANING: Final = "The views hold no vectors; search_memory and memory_query rank by meaning."
_LENGTHS: Final = "Functions that make much text of little are left out; || and concat join texts."
_SERVER: Final = 'Nothing of the server can be asked; the text "describe" lists the views and their columns.'
_NOW: Final = "Did you mean now?"

_FUNCTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "format": "Did you mean concat? || joins texts too.",
        **dict.fromkeys(("repeat", "lpad", "rpad", "space"), _LENGTHS),
        **dict.fromkeys(("similarity", "word_similarity", "levenshtein", "soundex", "metaphone", "fuzzy_match"), _ALIKE),
        **dict.fromkeys(("cosine_distance", "cosine_similarity", "l2_distance", "inner_product", "vector_distance"), _MEANING),
        **dict.fromkeys(("version", "current_setting", "current_database", "current_schema", "pg_typeof", "user"), _SERVER),
        **dict.fromkeys(("group_concat", "listagg", "string_concat"), "Did you mean string_agg?"),
        **dict.fromkeys(("ifnull", "nvl", "isnull"), "Did you mean coalesce?"),
        **dict.fromkeys(("if", "iif", "decode"), "Write CASE WHEN … THEN … ELSE … END."),
        **dict.fromkeys(("date_format", "strftime", "format_date"), "Did you mean to_char?"),
        **dict.fromkeys(("getdate", "sysdate", "curdate", "clock_timestamp", "statement_timestamp"), _NOW),
        **dict.fromkeys(("datediff", "date_diff", "timestampdiff"), "Subtract one time from the other, or use age."),
        **dict.fromkeys(("year", "month", "day", "hour"), "Did you mean date_part, as in date_part('year', timestamp)?"),
        **dict.fromkeys(("instr", "charindex", "locate", "contains"), "Did you mean strpos? ILIKE matches text too."),
        **dict.fromkeys(("len", "char_len"), "Did you mean length?"),
        **dict.fromkeys(("countif", "count_if"), "Write count(*) FILTER (WHERE …)."),
        **dict.fromkeys(("json_extract", "json_value"), "Did you mean jsonb_extract_path_text?"),
        "median": "Write percentile_cont(0.5) WITHIN GROUP (ORDER BY …).",
    }
)

_TAGS: Final = "Tags of events are rows: JOIN event_tags AS et ON et.event_id = events.id JOIN tags AS t ON t.id = et.tag_id, then t.path."
_ENTITIES: Final = (
    "Entities of events are rows: JOIN event_entities AS ee ON ee.event_id = events.id JOIN entities AS n ON n.id = ee.entity_id,"
    " then n.name."
)
_COLUMNS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("tags", "tag", "event_tags"), _TAGS),
        **dict.fromkeys(("entities", "entity", "event_entities"), _ENTITIES),
        **dict.fromkeys(("embedding", "vector", "embeddings"), _MEANING),
        **dict.fromkeys(("text", "body"), "The text of an event is its summary and content; of a page its body."),
    }
)


def instead_of_function(name: str) -> str | None:
    return _FUNCTIONS.get(name.lower())


def instead_of_column(name: str) -> str | None:
    return _COLUMNS.get(name.lower())
