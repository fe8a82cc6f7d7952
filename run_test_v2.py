#!/usr/bin/env python
"""Command-line script of the package runner: `python run_test_v2.py --help`."""

import sys

from runner.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
