"""The tool's text: what an agent must know to write a query.

In: the views. Out: `DESCRIPTION`.
"""

from typing import Final

from service.sqltool.views import VIEWS

_PURPOSE: Final = """\
Read-only Postgres SQL over one project: exact wording, exact counts, table facts. One SELECT, WITH … SELECT or VALUES, with $1, $2, … from
`params`. For questions in words use memory_query, for who appears with whom the graph query."""
_ADVICE: Final = """\
Ids are numbers here (42); public_id is what other tools take (evt_42). Join event_entities and event_tags on event_id; events.session is
sessions.name. Exact words: summary ILIKE '%…%', or to_tsvector('english', content) @@ websearch_to_tsquery('english', $1). Plain functions,
aggregates and windows work. At most 10,000 rows; narrow long texts with left(content, 200). The text "describe" lists every column with its
type and meaning."""
_VIEWS: Final = [f"{name}({', '.join(column.name for column in columns)})" for name, columns in VIEWS.items()]

DESCRIPTION: Final = "\n".join([_PURPOSE, "", "Views:", *_VIEWS, "", _ADVICE])
