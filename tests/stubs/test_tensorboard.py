import io

import numpy as np
import pytest

pytest.importorskip("tensorboard")
from torch.utils.tensorboard import SummaryWriter, summary  # noqa: E402
from torch.utils.tensorboard._utils import _prepare_video  # noqa: E402


def test_videos_lie_beside_each_other():
    videos = np.random.default_rng(0).random((3, 5, 1, 4, 6)).astype(np.float32)
    frames = _prepare_video(videos)
    assert frames.shape == (5, 8, 12, 1)  # four places, one of them black
    np.testing.assert_allclose(frames.sum((1, 2, 3)), videos.sum((0, 2, 3, 4)), rtol=1e-5)
    assert (frames[2, :4, 6:, 0] == videos[1, 2, 0]).all() and not frames[:, 4:, 6:].any()


def test_video_is_a_gif_of_as_many_frames():
    image = pytest.importorskip("PIL.Image")
    frames = (np.arange(3).reshape(1, 3, 1, 1, 1) * np.full((1, 3, 3, 4, 6), 100)).astype(np.uint8)
    record = summary.video("v", frames, fps=10).value[0].image
    gif = image.open(io.BytesIO(record.encoded_image_string))
    assert (record.height, record.width, record.colorspace, gif.format, gif.n_frames) == (4, 6, 3, "GIF", 3)


def test_hyperparameters_that_are_bools_are_numbers():
    start = summary.hparams({"flag": True}, {"loss": 1.0})[1]
    assert b"\x11\x00\x00\x00\x00\x00\x00\xf0?" in start.value[0].metadata.plugin_data.content
    with pytest.raises(NotImplementedError, match="numpy array or torch tensor"):
        summary.scalar("loss", [1, 2])


def test_counted_curves_may_be_lists(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve_raw("curve", [2, 1], [1, 0], [0, 1], [0, 1], [0.5, 1.0], [1.0, 0.5], num_thresholds=2)
    assert list(tmp_path.iterdir())
