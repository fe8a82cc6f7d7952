"""Train: python train.py --config config.yaml [--stop-after 2] [--resume] [--set training.epochs=1 ...]"""

import argparse
from pathlib import Path

import yaml

from segments.training import Trainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path(__file__).with_name("config.yaml"))
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--stop-after", type=int, metavar="EPOCHS", help="end early; --resume goes on")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="entries of the configuration")
    options = parser.parse_args()
    config = yaml.safe_load(options.config.read_text())
    for name, _, value in (entry.partition("=") for entry in options.set):
        *sections, last = name.split(".")
        section = config
        for part in sections:
            section = section[part]
        section[last] = yaml.safe_load(value)
    trainer = Trainer(config)
    if options.resume:
        trainer.resume()
    trainer.fit(options.stop_after)


if __name__ == "__main__":
    main()
