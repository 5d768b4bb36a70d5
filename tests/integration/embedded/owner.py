"""Run as a program: owns the embedded Postgres of the data folder in argv until its input ends.

Out: one line of JSON, either the `url` of the running server or the `error`, its `hint` and its `code`.
"""

import json
import sys
from pathlib import Path

from service.db.embedded import start_embedded
from service.errors import MunimentError


def main() -> None:
    try:
        server = start_embedded(Path(sys.argv[1]))
    except MunimentError as error:
        print(json.dumps({"error": error.message, "hint": error.hint, "code": error.code}), flush=True)
        sys.exit(1)
    print(json.dumps({"url": server.owner_url}), flush=True)
    sys.stdin.read()
    server.stop()


main()
