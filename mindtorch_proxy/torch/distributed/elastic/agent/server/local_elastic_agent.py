"""The elastic agent of one machine."""

import json
import os
import signal
import time
from datetime import timedelta
from string import Template

from torch.distributed.elastic.multiprocessing import start_processes
from torch.distributed.elastic.rendezvous import RendezvousClosedError
from torch.distributed.elastic.utils import macros
from torch.distributed.elastic.utils.logging import get_logger

from .api import ElasticAgent, RunResult, WorkerState

__all__ = ["LocalElasticAgent"]
logger = get_logger(__name__)


class LocalElasticAgent(ElasticAgent):
    """Starts the workers of this machine after each rendezvous.

    When a worker fails, all workers of the job are restarted, at most ``max_restarts`` times.
    """

    def __init__(
        self,
        spec,
        logs_specs,
        start_method="spawn",
        exit_barrier_timeout=300,
        log_line_prefix_template=None,
        shutdown_timeout=None,
    ):
        self.spec, self.logs_specs, self.start_method, self.exit_barrier_timeout = (
            spec,
            logs_specs,
            start_method,
            exit_barrier_timeout,
        )
        self.template = log_line_prefix_template
        self.patience = (
            int(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", 30)) if shutdown_timeout is None else shutdown_timeout
        )
        self.workers, self.ranks, self.left = None, {}, spec.max_restarts

    def run(self, role="default"):
        """Start the workers, monitor and restart them, and return a RunResult at the end."""
        try:
            return self._run()
        except BaseException as error:
            self._stop(getattr(error, "sigval", signal.SIGTERM))
            raise

    def _run(self):
        self._start()
        while True:
            result = self.workers.wait(0)
            if result is None:
                self._look_around()
                time.sleep(self.spec.monitor_interval)
            elif not result.is_failed():
                self._exit_barrier()
                return RunResult(WorkerState.SUCCEEDED, {self.ranks[r]: v for r, v in result.return_values.items()})
            elif self.left > 0:
                self.left -= 1
                logger.warning("worker group failed (%s), %d restarts are left", self._summary(result), self.left)
                self.spec.rdzv_handler.start_next_round()
                self._start()
            else:
                self.spec.rdzv_handler.set_closed()
                return RunResult(WorkerState.FAILED, failures={self.ranks[r]: f for r, f in result.failures.items()})

    def _summary(self, result):
        return ", ".join(f"rank {self.ranks[r]}: exit status {f.exitcode}" for r, f in result.failures.items())

    def _look_around(self):
        """Check whether the job has ended or another machine has failed or waits to join."""
        handler = self.spec.rdzv_handler
        if handler.is_closed():
            raise RendezvousClosedError(f"The job {handler.get_run_id()} has ended on another node")
        if handler.current_round() == handler.round and handler.num_nodes_waiting() > 0:
            handler.start_next_round()
        if handler.current_round() != handler.round:
            self._start()

    def _start(self):
        self._stop(signal.SIGTERM)
        info = self.spec.rdzv_handler.next_rendezvous()
        count = self.spec.local_world_size
        info.store.set(f"workers/{info.rank}", json.dumps([count, self.spec.role]))
        keys = [f"workers/{r}" for r in range(info.world_size)]
        info.store.wait(keys, timedelta(seconds=300))
        nodes = [json.loads(info.store.get(key)) for key in keys]
        first, total = sum(n for n, _ in nodes[: info.rank]), sum(n for n, _ in nodes)
        role_first = sum(n for n, role in nodes[: info.rank] if role == self.spec.role)
        role_total = sum(n for n, role in nodes if role == self.spec.role)
        self.info, self.ranks = info, {local: first + local for local in range(count)}
        address = info.bootstrap_store_info
        envs = {
            local: {
                "LOCAL_RANK": str(local),
                "RANK": str(first + local),
                "GROUP_RANK": str(info.rank),
                "ROLE_RANK": str(role_first + local),
                "ROLE_NAME": self.spec.role,
                "LOCAL_WORLD_SIZE": str(count),
                "WORLD_SIZE": str(total),
                "GROUP_WORLD_SIZE": str(info.world_size),
                "ROLE_WORLD_SIZE": str(role_total),
                "MASTER_ADDR": self.spec.master_addr or address.master_addr,
                "MASTER_PORT": str(self.spec.master_port or address.master_port),
                # the same on all machines, because it is part of the workers' store prefix
                "TORCHELASTIC_RESTART_COUNT": str(self.spec.rdzv_handler.round),
                "TORCHELASTIC_MAX_RESTARTS": str(self.spec.max_restarts),
                "TORCHELASTIC_RUN_ID": self.spec.rdzv_handler.get_run_id(),
                "TORCHELASTIC_USE_AGENT_STORE": str(True),
            }
            for local in range(count)
        }
        prefixes = None
        if self.template:
            named = lambda local: {"role_name": self.spec.role, "rank": first + local, "local_rank": local}
            prefixes = {local: Template(self.template).safe_substitute(named(local)) for local in envs}
        args = {local: tuple(macros.substitute(self.spec.args, str(local))) for local in envs}
        self.workers = start_processes(
            self.spec.role, self.spec.entrypoint, args, envs, self.logs_specs, prefixes, self.start_method
        )

    def _stop(self, number):
        if self.workers is not None:
            self.workers.close(number, self.patience)

    def _exit_barrier(self):
        """Wait until the other agents have finished too.

        If this agent serves the store, the store ends with it.
        """
        self.workers.close()
        info = self.info
        if info.world_size == 1:
            return
        try:
            if info.store.add("ended", 1) == info.world_size:
                info.store.set("all ended", "1")
            info.store.wait(["all ended"], timedelta(seconds=self.exit_barrier_timeout))
            if info.rank == 0:
                time.sleep(1)  # give the others time to read it
        except RuntimeError as error:
            logger.warning("the other nodes have not ended within %d s: %s", self.exit_barrier_timeout, error)
