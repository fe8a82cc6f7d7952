"""Writes files beside the log for TensorBoard's projector, which shows points with many dimensions."""

import math
import os

import numpy as np
from google.protobuf import text_format

from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo, ProjectorConfig

from ._convert_np import make_np
from ._utils import make_grid


def get_embedding_info(metadata, label_img, subdir, global_step, tag):
    """Return the configuration of one set of points."""
    info = EmbeddingInfo(
        tensor_name=f"{tag}:{str(global_step).zfill(5)}", tensor_path=os.path.join(subdir, "tensors.tsv")
    )
    if metadata is not None:
        info.metadata_path = os.path.join(subdir, "metadata.tsv")
    if label_img is not None:
        info.sprite.image_path = os.path.join(subdir, "sprite.png")
        info.sprite.single_image_dim.extend([label_img.size(3), label_img.size(2)])
    return info


def make_tsv(metadata, save_path, metadata_header=None):
    """Write the metadata, one line per point."""
    if not metadata_header:
        lines = [str(x) for x in metadata]
    else:
        if len(metadata_header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(str(e) for e in row) for row in [metadata_header, *metadata]]
    with open(os.path.join(save_path, "metadata.tsv"), "wb") as f:
        f.write(("\n".join(lines) + "\n").encode())


def make_sprite(label_img, save_path):
    """Write the images of the points as one square image."""
    from PIL import Image

    side = math.ceil(math.sqrt(label_img.size(0)))
    pictures = make_np(label_img)
    blank = np.ones((side**2 - len(pictures), *pictures.shape[1:]), pictures.dtype)
    grid = make_grid(np.concatenate([pictures, blank]), ncols=side)
    Image.fromarray((grid.transpose(1, 2, 0) * 255).astype(np.uint8)).save(os.path.join(save_path, "sprite.png"))


def write_pbtxt(save_path, contents):
    """Write the configuration of the projector."""
    with open(os.path.join(save_path, "projector_config.pbtxt"), "wb") as f:
        f.write(contents.encode())


def make_mat(matlist, save_path):
    """Write the coordinates of the points."""
    with open(os.path.join(save_path, "tensors.tsv"), "wb") as f:
        for row in matlist:
            f.write(("\t".join(str(i.item()) for i in row) + "\n").encode())


def add(config, folder, info):
    """Add a set of points to a configuration (None: a new one), write it and return it."""
    config = ProjectorConfig() if config is None else config
    config.embeddings.extend([info])
    write_pbtxt(folder, text_format.MessageToString(config))
    return config
