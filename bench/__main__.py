"""`python -m bench [first] [--events N] [--pages N] [--model]`."""

import argparse

from bench import first

parser = argparse.ArgumentParser(prog="bench", description="What is measured: bench/README.md")
parser.add_argument("what", nargs="?", default="first", choices=["first"])
parser.add_argument("--events", type=int, default=20_000)
parser.add_argument("--pages", type=int, default=1_000)
parser.add_argument("--model", action="store_true", help="let the real model make the vectors")
options = parser.parse_args()
first.run(options.events, options.pages, model=options.model)
