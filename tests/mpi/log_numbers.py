"""Prints what a log says of its epochs and of its end, without times and ranks: log_numbers.py LOG.
SPDX-License-Identifier: MIT"""
import json
import sys

for line in open(sys.argv[1]):
    event = json.loads(line)
    if event["event"] in ("epoch", "done"):
        for key in "command", "seconds", "ranks", "rank", "link":
            del event[key]
        print(json.dumps(event))
