"""Consolidates the sharded safetensors files of several ranks into files of full tensors.

Source: ``torch/distributed/checkpoint/_consolidate_hf_safetensors.py`` of PyTorch 2.13.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from ... import distributed as dist
from ._hf_utils import DTYPES, SUFFIX, file_name, read_header, read_tensor, write_file, write_index
from ._pieces import narrowed


def _blocks_in(folder):
    """Return ``{name: [(path, block)]}`` for all files in a folder."""
    blocks = {}
    for path in sorted(Path(folder).glob(f"*{SUFFIX}")):
        for name, block in read_header(path).items():
            if block.offsets is None:
                raise ValueError(
                    "No DCP custom metadata found in safetensors file. The file must be saved with DCP to be "
                    "consolidated."
                )
            blocks.setdefault(name, []).append((path, block))
    return blocks


def _assembled(blocks):
    """Return the full tensor assembled from its blocks."""
    ends = [[offset + size for offset, size in zip(block.offsets, block.shape)] for _, block in blocks]
    whole = torch.zeros([max(end) for end in zip(*ends)], dtype=DTYPES[blocks[0][1].dtype])
    for path, block in blocks:
        narrowed(whole, block.offsets, block.shape).copy_(read_tensor(path, block))
    return whole


def _write_whole(input_dir, output_dir, mapping, largest_index, num_threads):
    """Write the files of a mapping; return ``{name: file}`` and the total size of the tensors in bytes."""
    blocks, files = _blocks_in(input_dir), {}
    for name, index in mapping.items():
        files.setdefault(file_name(index, largest_index), []).append(name)

    def write(entry):
        file, names = entry
        return sum(write_file(Path(output_dir, file), {name: _assembled(blocks[name]) for name in names}).values())

    with ThreadPoolExecutor(max(num_threads, 1)) as pool:
        total = sum(pool.map(write, files.items()))
    return {name: file for file, names in files.items() for name in names}, total


def consolidate_safetensors_files(input_dir, output_dir, fqn_to_index_mapping, num_threads=1):
    """Write full tensors and their index from the sharded files in a folder.

    Args:
        input_dir: the folder with the files that `HuggingFaceStorageWriter(save_distributed=True)` has written.
        output_dir: the folder to write to; it must exist.
        fqn_to_index_mapping: ``{name: number of the file that gets the tensor}``, counted from 1.
        num_threads: how many files are written at once.

    Raises:
        ValueError: for a file without the offsets of its blocks.
    """
    places, total = _write_whole(
        input_dir, output_dir, fqn_to_index_mapping, max(fqn_to_index_mapping.values()), num_threads
    )
    write_index(Path(output_dir), places, total)


def consolidate_safetensors_files_on_every_rank(
    input_dir, output_dir, fqn_to_index_mapping, num_threads=1, process_group=None
):
    """Do what `consolidate_safetensors_files` does, with the files divided among the ranks.

    Rank 0 writes the index, and all ranks wait for it.
    """
    together = dist.is_available() and dist.is_initialized()
    rank, size = (dist.get_rank(process_group), dist.get_world_size(process_group)) if together else (0, 1)
    mine = {name: index for name, index in fqn_to_index_mapping.items() if index % size == rank}
    written = _write_whole(input_dir, output_dir, mine, max(fqn_to_index_mapping.values()), num_threads)
    if not together:
        write_index(Path(output_dir), *written)
        return
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(written, gathered, dst=0, group=process_group)
    if rank == 0:
        write_index(
            Path(output_dir),
            {k: v for places, _ in gathered for k, v in places.items()},
            sum(total for _, total in gathered),
        )
    dist.barrier(group=process_group)
