"""torchrun: ``python -m torch.distributed.run --nproc-per-node 2 train.py``.

It starts a script on several processes. If one fails, all are ended and restarted, at most ``--max-restarts`` times.
"""

import os
import runpy
import sys
import uuid
from argparse import REMAINDER, ArgumentParser

import torch
from torch.distributed.argparse_util import check_env, env
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.elastic.rendezvous.utils import _parse_rendezvous_config
from torch.distributed.elastic.utils import macros
from torch.distributed.elastic.utils.logging import get_logger
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

logger = get_logger(__name__)
# option: (default, type, help); the default can be overridden by an environment variable PET_...
_VALUES = {
    "--nnodes": ("1:1", str, "number of machines, or MIN:MAX"),
    "--nproc-per-node": ("1", str, "number of workers on each: a number, auto, cpu, gpu or the accelerator's name"),
    "--rdzv-backend": ("static", str, "how machines meet: static or c10d"),
    "--rdzv-endpoint": ("", str, "where they meet: HOST:PORT"),
    "--rdzv-id": ("none", str, "the job's name"),
    "--rdzv-conf": ("", str, "further settings: KEY=VALUE,..."),
    "--max-restarts": (0, int, "how often workers start again after a failure"),
    "--monitor-interval": (0.1, float, "seconds between two looks at the workers"),
    "--start-method": ("spawn", str, "how functions are started: spawn, fork, forkserver"),
    "--event-log-handler": ("null", str, "null, the only one"),
    "--role": ("default", str, "the workers' role"),
    "--log-dir": (None, str, "folder of log files"),
    "--local-ranks-filter": ("", str, "show the output of these local ranks alone: 0,1,..."),
    "--node-rank": (0, int, "this machine's number, for the static rendezvous"),
    "--master-addr": ("127.0.0.1", str, "the address of machine 0, for the static rendezvous"),
    "--master-port": (None, int, "the port there (29500)"),
    "--local-addr": (None, str, "this machine's address"),
    "--signals-to-handle": ("SIGTERM,SIGINT,SIGHUP,SIGQUIT", str, "signals that end the workers as well"),
    "--shutdown-timeout": (None, int, "seconds that workers have to end before they are killed (30)"),
}
_FLAGS = {
    "--standalone": "one machine, on a free port",
    "--no-python": "the script is no Python script",
    "--run-path": "run the script by runpy in processes that are started as functions",
}


def get_args_parser():
    """Return the argument parser."""
    parser = ArgumentParser(description="Torch Distributed Elastic Training Launcher")
    for name, (default, kind, text) in _VALUES.items():
        names = dict.fromkeys([name, "--" + name[2:].replace("-", "_")])
        choices = ["spawn", "fork", "forkserver"] if name == "--start-method" else None
        parser.add_argument(*names, action=env, default=default, type=kind, help=text, choices=choices)
    for name, text in _FLAGS.items():
        parser.add_argument(*dict.fromkeys([name, "--" + name[2:].replace("-", "_")]), action=check_env, help=text)
    parser.add_argument("-m", "--module", action=check_env, help="the script is a module")
    parser.add_argument(
        "-r",
        "--redirects",
        action=env,
        type=str,
        default="0",
        help="output to files: 1 stdout, 2 stderr, 3 both, or LOCAL_RANK:NUMBER,...",
    )
    parser.add_argument("-t", "--tee", action=env, type=str, default="0", help="output to files and to the terminal")
    parser.add_argument("training_script", type=str, help="the script, or module")
    parser.add_argument("training_script_args", nargs=REMAINDER)
    return parser


def parse_args(args):
    """Parse a command line."""
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes):
    """Parse ``2`` or ``1:4`` into (minimum, maximum)."""
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node):
    """Return the number of workers on this machine for a value of ``--nproc-per-node``."""
    try:
        return int(nproc_per_node)
    except ValueError:
        pass
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if nproc_per_node == "auto":
        return os.cpu_count() if accelerator is None else torch.accelerator.device_count()
    if nproc_per_node == "cpu":
        return os.cpu_count()
    if nproc_per_node == "gpu" and not torch.cuda.is_available():
        raise ValueError("Cuda is not available.")
    if accelerator is not None and nproc_per_node in (accelerator.type, "gpu"):
        return torch.accelerator.device_count()
    raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}")


def get_rdzv_endpoint(args):
    """Return the rendezvous endpoint."""
    return (
        f"{args.master_addr}:{args.master_port}"
        if args.rdzv_backend == "static" and not args.rdzv_endpoint
        else args.rdzv_endpoint
    )


def get_use_env(args):
    """Whether scripts read their local rank from LOCAL_RANK.

    The alternative of torch.distributed.launch is a command line argument.
    """
    return getattr(args, "use_env", True)


def _command(args):
    """Return (the command or function to start, its arguments)."""
    if args.run_path:
        command, arguments = run_script_path, [args.training_script]
    elif args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        command, arguments = args.training_script, []
    else:
        command = os.environ.get("PYTHON_EXEC", sys.executable)
        arguments = ["-u", *(["-m"] if args.module else []), args.training_script]
    if not get_use_env(args):
        arguments.append(f"--local-rank={macros.local_rank}")
    return command, [*arguments, *args.training_script_args]


def config_from_args(args):
    """Return (LaunchConfig, the command or function to start, its arguments)."""
    least, most = parse_min_max_nnodes(args.nnodes)
    if not 0 < least <= most:
        raise AssertionError(f"min_nodes must be > 0 and <= max_nodes, got min_nodes={least}, max_nodes={most}")
    if args.max_restarts < 0:
        raise AssertionError("max_restarts must be >= 0")
    count = determine_local_world_size(args.nproc_per_node)
    if "OMP_NUM_THREADS" not in os.environ and count > 1:
        logger.warning(
            "OMP_NUM_THREADS is not set: each worker gets 1 thread, so that they do not take the cores from each other"
        )
        os.environ["OMP_NUM_THREADS"] = "1"
    settings = _parse_rendezvous_config(args.rdzv_conf)
    if args.rdzv_backend == "static":
        settings["rank"] = args.node_rank
    shown = None
    if args.local_ranks_filter:
        try:
            shown = set(map(int, args.local_ranks_filter.split(",")))
        except ValueError as error:
            raise ValueError(
                "--local_ranks_filter must be a comma-separated list of integers e.g. --local_ranks_filter=0,1,2"
            ) from error
    config = LaunchConfig(
        min_nodes=least,
        max_nodes=most,
        nproc_per_node=count,
        run_id=args.rdzv_id,
        role=args.role,
        rdzv_endpoint=get_rdzv_endpoint(args),
        rdzv_backend=args.rdzv_backend,
        rdzv_configs=settings,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        log_line_prefix_template=os.environ.get("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"),
        local_addr=args.local_addr,
        logs_specs=DefaultLogsSpecs(args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), shown),
        event_log_handler=args.event_log_handler,
        signals_to_handle=args.signals_to_handle,
        shutdown_timeout=args.shutdown_timeout,
    )
    return config, *_command(args)


def run_script_path(training_script, *training_script_args):
    """Run a script in this interpreter."""
    sys.argv = [training_script, *training_script_args]
    runpy.run_path(training_script, run_name="__main__")


def run(args):
    """Run the script as the options request."""
    if args.standalone:
        args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id = "c10d", "localhost:0", str(uuid.uuid4())
    elif args.rdzv_backend == "static" and not args.rdzv_endpoint and args.master_port is None:
        if parse_min_max_nnodes(args.nnodes)[1] == 1:  # on a single machine, use any free port
            args.rdzv_backend, args.rdzv_endpoint = "c10d", "localhost:0"
            args.rdzv_id = str(uuid.uuid4()) if args.rdzv_id == "none" else args.rdzv_id
        else:
            args.master_port = 29500
    config, command, arguments = config_from_args(args)
    elastic_launch(config=config, entrypoint=command)(*arguments)


@record
def main(args=None):
    """Entry point of the command."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
