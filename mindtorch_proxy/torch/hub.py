"""torch.hub: entry points of local repositories, and state dicts downloaded from a URL."""

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import torch


class _Faketqdm:
    """The progress bar without tqdm: prints a percentage to stderr, or bytes if the total is unknown."""

    def __init__(self, total=None, disable=False, unit=None, *args, **kwargs):
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n):
        """Advance by n and print the progress."""
        if self.disable:
            return
        self.n += n
        sys.stderr.write(
            f"\r{self.n:.1f} bytes" if self.total is None else f"\r{100 * self.n / float(self.total):.1f}%"
        )
        sys.stderr.flush()

    def set_description(self, *args, **kwargs):
        """Do nothing: the bar has no description."""

    def write(self, s):
        sys.stderr.write(f"{s}\n")

    def close(self):
        self.disable = True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if not self.disable:
            sys.stderr.write("\n")


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Faketqdm

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"
_hub_dir = None
_list = list


def _get_torch_home():
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir():
    """Return the folder for downloads."""
    return _hub_dir if _hub_dir is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d):
    """Set the folder for downloads."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


def _hubconf(repo, source):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            f"torch.hub: repositories are not fetched from GitHub; clone {repo} and pass source='local'"
        )
    sys.path.insert(0, repo)
    try:
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, os.path.join(repo, MODULE_HUBCONF))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(repo)
    missing = [d for d in getattr(module, "dependencies", ()) if importlib.util.find_spec(d) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module, model):
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    if not callable(getattr(module, model, None)):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return getattr(module, model)


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True):
    """List the entry points of a repository; only local paths are supported."""
    module = _hubconf(github, "local" if os.path.isdir(github) else "github")
    return [n for n in dir(module) if callable(getattr(module, n)) and not n.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check"):
    """Return the docstring of an entry point."""
    return _entry(_hubconf(github, "local" if os.path.isdir(github) else "github"), model).__doc__


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo="check",
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """Call an entry point of a local repository."""
    return _entry(_hubconf(repo_or_dir, source.lower()), model)(*args, **kwargs)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Download a URL to a file; hash_prefix, if given, must be the start of the file's SHA-256."""
    digest = hashlib.sha256()
    directory = os.path.dirname(os.path.expanduser(dst)) or "."
    with (
        urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source,
        tempfile.NamedTemporaryFile(dir=directory, suffix=".partial", delete=False) as part,
    ):
        try:
            size = source.headers.get("Content-Length")
            with tqdm(
                total=int(size) if size else None, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024
            ) as bar:
                while chunk := source.read(1 << 17):
                    part.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
            part.close()
            if hash_prefix is not None and digest.hexdigest()[: len(hash_prefix)] != hash_prefix:
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            shutil.move(part.name, dst)
        finally:
            if os.path.exists(part.name):
                os.remove(part.name)


def load_state_dict_from_url(
    url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False
):
    """Load a state dict from a URL, downloading it if it is not in model_dir yet."""
    model_dir = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(model_dir, exist_ok=True)
    file_name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, file_name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(file_name) if check_hash else None
        download_url_to_file(url, path, match.group(1) if match else None, progress)
    return torch.load(path, map_location=map_location, weights_only=weights_only)
