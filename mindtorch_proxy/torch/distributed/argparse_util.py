"""Command line options whose defaults come from environment variables.

For example, the variable of ``--max-restarts`` is PET_MAX_RESTARTS.
"""

import os
from argparse import Action


def _variable(dest):
    return os.environ.get(f"PET_{dest.upper()}")


class env(Action):  # noqa: N801 (PyTorch's name)
    """An option with a value: ``add_argument("--x", action=env)``."""

    def __init__(self, dest, default=None, required=False, **kwargs):
        found = _variable(dest)
        default = default if found is None else found
        super().__init__(dest=dest, default=default, required=required and default is None, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values)


class check_env(Action):  # noqa: N801
    """An option without a value; its default is true if the variable is 1."""

    def __init__(self, dest, default=False, **kwargs):
        found = _variable(dest)
        super().__init__(
            dest=dest, const=True, default=default if found is None else bool(int(found)), nargs=0, **kwargs
        )

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, self.const)
