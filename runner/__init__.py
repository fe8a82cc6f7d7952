"""Runs test files, each in its own process, and reports the results. `run_test_v2.py` is its command.

It needs only the standard library and pytest.
"""
