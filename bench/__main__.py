"""`python -m bench [first | search | graph | embed | tenants | writing | retrieval FILE | recall FILE]`; see bench/README.md."""

import argparse
from pathlib import Path

from bench import embed, first, graph, recall, retrieval, search, tenants, writing

parser = argparse.ArgumentParser(prog="bench", description="What is measured: bench/README.md")
kinds = parser.add_subparsers(dest="what")
main_job = kinds.add_parser("first", help="search and a graph query on 20,000 events and 1,000 pages")
main_job.add_argument("--events", type=int, default=20_000)
main_job.add_argument("--pages", type=int, default=1_000)
main_job.add_argument("--model", action="store_true", help="let the real model make the vectors")
found = kinds.add_parser("retrieval", help="recall on conversations with questions")
found.add_argument("file", type=Path)
nearest = kinds.add_parser("recall", help="what the vector index finds of what is nearest, with real vectors")
nearest.add_argument("file", type=Path)
nearest.add_argument("--events", type=int, default=30_000)
graph.arguments(kinds.add_parser("graph", help="graph queries on 100,000 events, beside SQL by hand and graph databases"))
filling = kinds.add_parser("embed", help="the back-fill with the local model, beside the model alone")
filling.add_argument("--texts", type=int, default=1_024, help="in each round")
filling.add_argument("--rounds", type=int, default=4)
search.arguments(kinds.add_parser("search", help="search on 100,000 events and 5,000 pages, beside SQL by hand and pgbench"))
many = kinds.add_parser("tenants", help="many projects on one Postgres, beside one")
many.add_argument("--projects", type=int, default=5_000)
many.add_argument("--workspaces", type=int, default=500)
writing.arguments(kinds.add_parser("writing", help="events and pages a second, CPU of each stage, hostile texts; beside another checkout"))
options = parser.parse_args()
if options.what == "retrieval":
    retrieval.run(options.file)
elif options.what == "recall":
    recall.run(options.file, options.events)
elif options.what == "embed":
    embed.run(options.texts, options.rounds)
elif options.what == "tenants":
    tenants.run(options.projects, options.workspaces)
elif options.what == "graph":
    graph.run(questions=options.questions, tenfold=options.tenfold, index=not options.without_index, others=not options.alone)
elif options.what == "search":
    search.run(options.events, options.pages, tenfold=options.tenfold, questions=options.questions)
elif options.what == "writing":
    writing.run(options.events, options.pages, beside=options.beside, hostile=options.hostile)
elif options.what == "first":
    first.run(options.events, options.pages, model=options.model)
else:
    first.run()
