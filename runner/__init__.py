"""Runs test files, each in a process of its own, and reports on them; `run_test_v2.py` is its command.

Standard library and pytest only.
"""
