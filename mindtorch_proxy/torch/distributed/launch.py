"""The deprecated ``python -m torch.distributed.launch``.

It is torchrun, but passes the local rank to scripts as ``--local-rank``.
"""

import warnings

from torch.distributed.run import get_args_parser, run


def parse_args(args):
    """Parse the command line."""
    parser = get_args_parser()
    parser.add_argument(
        "--use-env",
        "--use_env",
        default=False,
        action="store_true",
        help="hand over the local rank in LOCAL_RANK alone",
    )
    return parser.parse_args(args)


def launch(args):
    """Run the script as the options request."""
    if args.no_python and not args.use_env:
        raise ValueError("When using the '--no-python' flag, you must also set the '--use-env' flag.")
    run(args)


def main(args=None):
    """Entry point of the command."""
    warnings.warn(
        "The module torch.distributed.launch is deprecated\nand will be removed in future. "
        "Use torchrun.\nNote that --use-env is set by default in torchrun.\n"
        "If your script expects `--local-rank` argument to be set, please\nchange it to read from "
        "`os.environ['LOCAL_RANK']` instead.",
        FutureWarning,
        stacklevel=2,
    )
    launch(parse_args(args))


if __name__ == "__main__":
    main()
