"""Helpers of the launcher."""

from .api import get_env_variable_or_raise, get_socket_with_port, macros
