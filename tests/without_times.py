"""Prints a log's events without times and command: without_times.py LOG. SPDX-License-Identifier: MIT"""
import json
import sys

with open(sys.argv[1]) as log:
    for line in log:
        print({key: value for key, value in json.loads(line).items() if key not in ("seconds", "command")})
