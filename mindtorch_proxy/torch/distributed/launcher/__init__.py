"""Launches a function or a command on several processes from a program."""

from .api import LaunchConfig, elastic_launch, launch_agent
