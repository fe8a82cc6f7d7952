"""Creates the records of TensorBoard, with one function for each kind."""

import io
import json

import numpy as np
from google.protobuf import struct_pb2

from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ._convert_np import make_np
from ._utils import _prepare_video, convert_to_HWC

__all__ = [
    "custom_scalars",
    "hparams",
    "histogram",
    "histogram_raw",
    "image",
    "image_boxes",
    "make_histogram",
    "make_image",
    "make_video",
    "mesh",
]
__all__ += ["pr_curve", "pr_curve_raw", "scalar", "audio", "tensor_proto", "text", "video"]
_NUMBERS = {
    np.dtype(np.float16): ("DT_HALF", 19),
    np.dtype(np.float32): ("DT_FLOAT", 1),
    np.dtype(np.float64): ("DT_DOUBLE", 2),
}
_NUMBERS |= {
    np.dtype(np.int32): ("DT_INT32", 3),
    np.dtype(np.int64): ("DT_INT64", 9),
    np.dtype(np.uint8): ("DT_UINT8", 4),
    np.dtype(np.int8): ("DT_INT8", 6),
}
_NUMBERS |= {
    np.dtype(np.bool_): ("DT_BOOL", 10),
    np.dtype(np.complex64): ("DT_COMPLEX64", 8),
    np.dtype(np.complex128): ("DT_COMPLEX128", 18),
}


def _shape(sizes):
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def _plugin(name, content=b""):
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))


def scalar(name, tensor, collections=None, new_style=False, double_precision=False):
    """Return the record of a number."""
    values = make_np(tensor).squeeze()
    if values.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {values.size} and {values.ndim} "
            f"dimensions."
        )
    value = float(values)
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=value)])
    proto = (
        TensorProto(double_val=[value], dtype="DT_DOUBLE")
        if double_precision
        else TensorProto(float_val=[value], dtype="DT_FLOAT")
    )
    return Summary(value=[Summary.Value(tag=name, tensor=proto, metadata=_plugin("scalars"))])


def tensor_proto(tag, tensor):
    """Return the record of the values of a tensor."""
    array = make_np(tensor)
    if array.dtype not in _NUMBERS:
        raise ValueError(f"{array.dtype} is no dtype of tensorboard's tensors")
    proto = TensorProto(
        dtype=_NUMBERS[array.dtype][1], tensor_shape=_shape(array.shape), tensor_content=array.tobytes()
    )
    return Summary(value=[Summary.Value(tag=tag, tensor=proto, metadata=_plugin("tensor"))])


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts):
    """Return the record of a histogram with given counts."""
    made = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return Summary(value=[Summary.Value(tag=name, histo=made)])


def histogram(name, values, bins, max_bins=None):
    """Return the record of the histogram of values."""
    made = make_histogram(make_np(values).astype(float), bins, max_bins)
    return Summary(value=[Summary.Value(tag=name, histo=made)])


def make_histogram(values, bins, max_bins=None):
    """Compute the histogram of values; at both ends, only one empty bucket is kept."""
    if values.size == 0:
        raise ValueError("The input has no element.")
    values = values.reshape(-1)
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        rest = len(counts) % step
        counts = np.pad(counts, (0, step - rest if rest else 0)).reshape(-1, step).sum(-1)
        limits = np.append(limits[:-1][::step], limits[-1])
    total = np.cumsum(np.greater(counts, 0))
    start, end = np.searchsorted(total, [0, total[-1] - 1], side="right")
    start, end = int(start), int(end) + 1
    counts = counts[start - 1 : end] if start > 0 else np.concatenate([[0], counts[:end]])
    limits = limits[start : end + 1]
    if counts.size == 0 or limits.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=len(values),
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits.tolist(),
        bucket=counts.tolist(),
    )


def _calc_scale_factor(array):
    return 1 if array.dtype == np.uint8 else 255


def _pixels(array):
    return (array.astype(np.float32) * _calc_scale_factor(array)).clip(0, 255).astype(np.uint8)


def image(tag, tensor, rescale=1, dataformats="NCHW"):
    """Return the record of an image; floating-point values are between 0 and 1."""
    pixels = _pixels(convert_to_HWC(make_np(tensor), dataformats))
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale=rescale))])


def image_boxes(tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None):
    """Return the record of an image with boxes (left, top, right, bottom) and their labels."""
    pixels = _pixels(convert_to_HWC(make_np(tensor_image), dataformats))
    boxes = make_np(tensor_boxes)
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale=rescale, rois=boxes, labels=labels))])


def make_image(tensor, rescale=1, rois=None, labels=None):
    """Encode an array (height, width, channels) as PNG."""
    from PIL import Image, ImageDraw

    height, width, channel = tensor.shape
    picture = Image.fromarray(tensor)
    for i, box in enumerate(rois if rois is not None else ()):
        draw = ImageDraw.Draw(picture)
        draw.line(
            [(box[0], box[1]), (box[0], box[3]), (box[2], box[3]), (box[2], box[1]), (box[0], box[1])],
            width=2,
            fill="red",
        )
        if labels is not None:
            draw.text((box[0], box[3]), labels[i], fill="black")
    picture = picture.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    output = io.BytesIO()
    picture.save(output, format="PNG")
    return Summary.Image(height=height, width=width, colorspace=channel, encoded_image_string=output.getvalue())


def video(tag, tensor, fps=4):
    """Return the record of videos (N, T, C, H, W), arranged in one GIF."""
    return Summary(value=[Summary.Value(tag=tag, image=make_video(_pixels(_prepare_video(make_np(tensor))), fps))])


def make_video(tensor, fps):
    """Encode an array (frames, height, width, channels) as GIF."""
    from PIL import Image

    _, height, width, channel = tensor.shape
    frames = [Image.fromarray(frame[..., 0] if channel == 1 else frame) for frame in tensor]
    output = io.BytesIO()
    frames[0].save(output, format="GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0)
    return Summary.Image(height=height, width=width, colorspace=channel, encoded_image_string=output.getvalue())


def audio(tag, tensor, sample_rate=44100):
    """Return the record of audio: one channel of values between -1 and 1, encoded as WAV."""
    import wave

    array = make_np(tensor).squeeze()
    array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    data = (array * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(sample_rate)
        w.writeframes(data.tobytes())
    made = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=array.shape[-1],
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=made)])


def text(tag, text):
    """Return the record of a text in Markdown."""
    proto = TensorProto(dtype="DT_STRING", string_val=[text.encode("utf_8")], tensor_shape=_shape([1]))
    data = TextPluginData(version=0).SerializeToString()
    return Summary(value=[Summary.Value(tag=tag + "/text_summary", metadata=_plugin("text", data), tensor=proto)])


def _curve(tag, data, num_thresholds, weights):
    content = PrCurvePluginData(version=0, num_thresholds=num_thresholds).SerializeToString()
    proto = TensorProto(dtype="DT_FLOAT", float_val=data.reshape(-1).tolist(), tensor_shape=_shape(data.shape))
    return Summary(value=[Summary.Value(tag=tag, metadata=_plugin("pr_curves", content), tensor=proto)])


def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127, weights=None):
    """Return the record of a precision-recall curve with given counts."""
    num_thresholds = min(num_thresholds, 127)
    return _curve(tag, np.stack((tp, fp, tn, fn, precision, recall)), num_thresholds, weights)


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None):
    """Return the record of the precision-recall curve of predictions between 0 and 1."""
    num_thresholds = min(num_thresholds, 127)  # the maximum that fits into a byte of the format
    return _curve(tag, compute_curve(labels, predictions, num_thresholds, weights), num_thresholds, weights)


def compute_curve(labels, predictions, num_thresholds=None, weights=None):
    """Return true positives, false positives, true and false negatives, precision and recall at each threshold."""
    least = 1e-7
    weights = 1.0 if weights is None else weights
    places = np.int32(np.floor(predictions * (num_thresholds - 1)))
    labels = labels.astype(float)
    limits = dict(bins=num_thresholds, range=(0, num_thresholds - 1))
    right, _ = np.histogram(places, weights=labels * weights, **limits)
    wrong, _ = np.histogram(places, weights=(1.0 - labels) * weights, **limits)
    tp, fp = np.cumsum(right[::-1])[::-1], np.cumsum(wrong[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack((tp, fp, tn, fn, tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn)))


def _one_chart(kind, title, tags):
    if kind == "Margin":
        if len(tags) != 3:
            raise AssertionError(f"a margin chart has 3 tags, got {len(tags)}")
        series = [layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])]
        return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=series))
    return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))


def custom_scalars(layout):
    """Return the record of the layout of charts: {category: {chart: [kind, tags]}}."""
    categories = [
        layout_pb2.Category(title=name, chart=[_one_chart(kind, title, tags) for title, (kind, tags) in charts.items()])
        for name, charts in layout.items()
    ]
    content = layout_pb2.Layout(category=categories).SerializeToString()
    proto = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return Summary(
        value=[Summary.Value(tag="custom_scalars__config__", tensor=proto, metadata=_plugin("custom_scalars"))]
    )


def _kind_of(values):
    from tensorboard.plugins.hparams.api_pb2 import DataType

    return DataType.Value("DATA_TYPE_STRING" if all(isinstance(v, str) for v in values) else "DATA_TYPE_FLOAT64")


def hparams(hparam_dict=None, metric_dict=None, hparam_domain_discrete=None):
    """Return the records of hyperparameters and metrics: of the experiment, of the session's start and its end."""
    import torch

    from tensorboard.plugins.hparams.api_pb2 import Experiment, HParamInfo, MetricInfo, MetricName, Status
    from tensorboard.plugins.hparams.metadata import (
        EXPERIMENT_TAG,
        PLUGIN_DATA_VERSION,
        PLUGIN_NAME,
        SESSION_END_INFO_TAG,
        SESSION_START_INFO_TAG,
    )
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("parameter: hparam_dict and metric_dict should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for key, values in domains.items():
        if (
            key not in hparam_dict
            or not isinstance(values, list)
            or not all(isinstance(v, type(hparam_dict[key])) for v in values)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{key}] should be a list of same type as hparam_dict[{key}]."
            )
    infos, start = [], SessionStartInfo()
    for name, value in hparam_dict.items():
        if value is None:
            continue
        value = make_np(value)[0].item() if isinstance(value, torch.Tensor) else value
        if not isinstance(value, (bool, str, int, float)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        value = float(value) if isinstance(value, bool) else value  # as in PyTorch
        field = "string_value" if isinstance(value, str) else "number_value"
        setattr(start.hparams[name], field, value)
        domain = (
            struct_pb2.ListValue(values=[struct_pb2.Value(**{field: v}) for v in domains[name]])
            if name in domains
            else None
        )
        infos.append(HParamInfo(name=name, type=_kind_of([value]), domain_discrete=domain))
    experiment = Experiment(
        hparam_infos=infos, metric_infos=[MetricInfo(name=MetricName(tag=name)) for name in metric_dict]
    )
    end = SessionEndInfo(status=Status.Value("STATUS_SUCCESS"))

    def record(tag, **content):
        data = HParamsPluginData(version=PLUGIN_DATA_VERSION, **content).SerializeToString()
        return Summary(value=[Summary.Value(tag=tag, metadata=_plugin(PLUGIN_NAME, data))])

    return (
        record(EXPERIMENT_TAG, experiment=experiment),
        record(SESSION_START_INFO_TAG, session_start_info=start),
        record(SESSION_END_INFO_TAG, session_end_info=end),
    )


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None):
    """Return the record of a mesh: points in space, with colors and faces."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    parts = [(vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)]
    parts = [(tensor, kind) for tensor, kind in parts if tensor is not None]
    components = metadata.get_components_bitmask([kind for _, kind in parts])
    values = []
    for tensor, kind in parts:
        array, integer = make_np(tensor), kind in (MeshPluginData.FACE, MeshPluginData.COLOR)
        numbers = (
            {"int_val": array.reshape(-1).astype(int).tolist()}
            if integer
            else {"float_val": array.reshape(-1).tolist()}
        )
        proto = TensorProto(dtype="DT_INT32" if integer else "DT_FLOAT", tensor_shape=_shape(array.shape), **numbers)
        about = metadata.create_summary_metadata(
            tag,
            display_name,
            kind,
            components,
            list(array.shape),
            description,
            json_config=json.dumps(config_dict or {}, sort_keys=True),
        )
        values.append(Summary.Value(tag=metadata.get_instance_name(tag, kind), tensor=proto, metadata=about))
    return Summary(value=values)
