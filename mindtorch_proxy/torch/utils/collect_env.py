"""Collects information about the environment for bug reports: python -m torch.utils.collect_env."""

import importlib.metadata
import os
import platform
import sys

import torch


def get_env_info():
    """Return the information as {name: value}."""
    packages = sorted(
        f"{d.metadata['Name']}=={d.version}"
        for d in importlib.metadata.distributions()
        if (d.metadata["Name"] or "").lower().replace("_", "-")
        in ("mindspore", "mindtorch-proxy", "ml-dtypes", "numpy", "scipy", "torch")
    )
    return {
        "PyTorch version": torch.__version__,
        "Is debug build": torch.version.debug,
        "OS": platform.platform(),
        "Libc version": "-".join(platform.libc_ver()),
        "Python version": sys.version.replace("\n", " "),
        "Is CUDA available": torch.cuda.is_available(),
        "Is NPU available": torch.accelerator.is_available(),
        "CPU": f"{platform.processor() or platform.machine()}, {os.cpu_count()} logical processors",
        "Versions of relevant libraries": "\n".join(f"[pip3] {p}" for p in packages),
    }


def get_pretty_env_info():
    """Return the information as text."""
    return "\n".join(f"{k}: {v}" if "\n" not in str(v) else f"{k}:\n{v}" for k, v in get_env_info().items())


def main():
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
