"""The elastic agent of one machine."""

from .api import ElasticAgent, RunResult, WorkerSpec, WorkerState
from .local_elastic_agent import LocalElasticAgent
