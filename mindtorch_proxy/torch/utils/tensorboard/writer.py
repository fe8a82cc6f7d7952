"""SummaryWriter: writes the records of a run to files for TensorBoard."""

import os
import socket
import time
from datetime import datetime

import torch

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig  # noqa: F401
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import _embedding
from ._convert_np import make_np
from ._utils import figure_to_image
from .summary import (
    audio,
    custom_scalars,
    histogram,
    histogram_raw,
    hparams,
    image,
    image_boxes,
    mesh,
    pr_curve,
    pr_curve_raw,
    scalar,
    tensor_proto,
    text,
    video,
)

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes records to one event file."""

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """Return the log folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Write an event with its step and its time, by default the current time."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Write a record."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile, walltime=None):
        """Write a graph; raises NotImplementedError."""
        raise NotImplementedError("torch.utils.tensorboard: graphs are not written")

    def flush(self):
        """Write buffered events."""
        self.event_writer.flush()

    def close(self):
        """Write buffered events and close the file."""
        self.event_writer.close()

    def reopen(self):
        """Continue in a new file in the folder."""
        self.event_writer.reopen()


def _bins():
    """Return bucket limits on both sides of 0, each 10 % larger than the one before."""
    limits, v = [], 1e-12
    while v < 1e20:
        limits.append(v)
        v *= 1.1
    return [*(-v for v in reversed(limits)), 0, *limits]


class SummaryWriter:
    """Writes the records of a run to a folder."""

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        torch._C._log_api_usage_once("tensorboard.create.summarywriter")
        if not log_dir:
            log_dir = os.path.join(
                "runs", datetime.now().strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment
            )
        self.log_dir, self.purge_step, self.max_queue, self.flush_secs, self.filename_suffix = (
            log_dir,
            purge_step,
            max_queue,
            flush_secs,
            filename_suffix,
        )
        self.file_writer = self.all_writers = None
        self._get_file_writer()
        self.default_bins = _bins()

    def _get_file_writer(self):
        """Return the file writer; create one if there is none, also after close()."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def get_logdir(self):
        """Return the log folder."""
        return self.log_dir

    def _add(self, summary, step, walltime):
        self._get_file_writer().add_summary(summary, step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Write hyperparameters and their metrics as a separate run below the log folder."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        records = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as w:
            for record in records:
                w.file_writer.add_summary(record, global_step)
            for name, value in metric_dict.items():
                w.add_scalar(name, value, global_step)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Write a number."""
        self._add(
            scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision), global_step, walltime
        )

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Write several numbers of one chart, each as a separate run below the log folder."""
        walltime = time.time() if walltime is None else walltime
        root = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = root + "/" + main_tag.replace("/", "_") + "_" + tag
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers[folder].add_summary(scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Write the values of a tensor."""
        self._add(tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Write the histogram of values."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None
    ):
        """Write a histogram with given counts."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        self._add(
            histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts), global_step, walltime
        )

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Write an image."""
        self._add(image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Write several images as one."""
        self._add(image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None
    ):
        """Write an image with boxes."""
        if labels is not None:
            labels = [labels] if isinstance(labels, str) else labels
            labels = labels if len(labels) == box_tensor.shape[0] else None
        self._add(
            image_boxes(tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels),
            global_step,
            walltime,
        )

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Write a matplotlib figure, or a list of them."""
        self.add_image(
            tag,
            figure_to_image(figure, close),
            global_step,
            walltime,
            dataformats="NCHW" if isinstance(figure, list) else "CHW",
        )

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Write videos as a GIF."""
        self._add(video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Write audio."""
        self._add(audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Write a text."""
        self._add(text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt):
        """Write a graph from an ONNX file; raises NotImplementedError."""
        raise NotImplementedError("torch.utils.tensorboard: graphs are not written")

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Write the graph of a module; raises NotImplementedError."""
        raise NotImplementedError("torch.utils.tensorboard: graphs are not written")

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Write points with many dimensions for the projector."""
        mat = make_np(mat)
        step = 0 if global_step is None else global_step
        subdir = f"{str(step).zfill(5)}/{tag.replace('%', '%25').replace('/', '%2f').replace(chr(92), '%5c')}"
        root = self._get_file_writer().get_logdir()
        folder = os.path.join(root, subdir)
        os.makedirs(folder, exist_ok=True)
        if metadata is not None:
            if mat.shape[0] != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            _embedding.make_tsv(metadata, folder, metadata_header=metadata_header)
        if label_img is not None:
            if mat.shape[0] != label_img.shape[0]:
                raise AssertionError("#images should equal with #data points")
            _embedding.make_sprite(label_img, folder)
        if mat.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        _embedding.make_mat(mat, folder)
        info = _embedding.get_embedding_info(metadata, label_img, subdir, step, tag)
        self._projector_config = _embedding.add(getattr(self, "_projector_config", None), root, info)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Write a precision-recall curve."""
        self._add(pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag,
        true_positive_counts,
        false_positive_counts,
        true_negative_counts,
        false_negative_counts,
        precision,
        recall,
        global_step=None,
        num_thresholds=127,
        weights=None,
        walltime=None,
    ):
        """Write a precision-recall curve with given counts."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        self._add(pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Define a chart with several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Define a chart of a scalar with a margin between two others."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout):
        """Write the layout of charts: {category: {chart: [kind, tags]}}."""
        self._add(custom_scalars(layout), None, None)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Write a mesh: points in space, with colors and faces."""
        self._add(mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def flush(self):
        """Write buffered records."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Write buffered records and close the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.close()
