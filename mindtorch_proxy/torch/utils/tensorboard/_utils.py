"""Converts images and videos to the layout of TensorBoard."""

import numpy as np


def figure_to_image(figures, close=True):
    """Render a matplotlib figure, or a list of them, as an array (channels, height, width)."""
    import matplotlib.backends.backend_agg as agg
    import matplotlib.pyplot as plt

    def render(figure):
        canvas = agg.FigureCanvasAgg(figure)
        canvas.draw()
        data = np.frombuffer(canvas.buffer_rgba(), np.uint8)
        w, h = figure.canvas.get_width_height()
        if close:
            plt.close(figure)
        return np.moveaxis(data.reshape([h, w, 4])[:, :, :3], 2, 0)

    return np.stack([render(f) for f in figures]) if isinstance(figures, list) else render(figures)


def make_grid(I, ncols=8):
    """Arrange images (N, C, H, W) in one image, with ncols per row."""
    if I.shape[1] == 1:
        I = np.concatenate([I, I, I], 1)
    if I.ndim != 4 or I.shape[1] != 3:
        raise AssertionError(f"pictures of shape (N, 1 or 3, H, W) are expected, got {I.shape}")
    n, _, h, w = I.shape
    ncols = min(n, ncols)
    canvas = np.zeros((3, h * int(np.ceil(n / ncols)), w * ncols), dtype=I.dtype)
    for i in range(n):
        y, x = divmod(i, ncols)
        canvas[:, y * h : (y + 1) * h, x * w : (x + 1) * w] = I[i]
    return canvas


def _prepare_video(V):
    """Arrange videos (N, T, C, H, W) in a grid, as one video (T, H, W, C).

    Empty videos pad their number to a power of two.
    """
    n, t, c, h, w = V.shape
    if V.dtype == np.uint8:
        V = np.float32(V) / 255.0
    places = 1 << (n - 1).bit_length()
    V = np.concatenate([V, np.zeros((places - n, t, c, h, w), V.dtype)])
    rows = 1 << (places.bit_length() - 1) // 2
    columns = places // rows
    return V.reshape(rows, columns, t, c, h, w).transpose(2, 0, 4, 1, 5, 3).reshape(t, rows * h, columns * w, c)


def convert_to_HWC(tensor, input_format):
    """Convert an image with dimensions input_format to height, width and three channels."""
    if len(set(input_format)) != len(input_format):
        raise AssertionError(
            f"You can not use the same dimension shordhand twice.         input_format: {input_format}"
        )
    if len(tensor.shape) != len(input_format):
        raise AssertionError(
            f"size of input tensor and input format are different.         tensor shape: {tensor.shape}, "
            f"input_format: {input_format}"
        )
    input_format = input_format.upper()
    if len(input_format) == 4:
        tensor = make_grid(tensor.transpose([input_format.find(c) for c in "NCHW"]))
        return tensor.transpose(1, 2, 0)
    if len(input_format) == 3:
        tensor = tensor.transpose([input_format.find(c) for c in "HWC"])
        return np.concatenate([tensor] * 3, 2) if tensor.shape[2] == 1 else tensor
    tensor = tensor.transpose([input_format.find(c) for c in "HW"])
    return np.stack([tensor] * 3, 2)
