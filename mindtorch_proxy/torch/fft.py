"""Discrete Fourier transforms."""

from ._namespace import serve

serve(globals(), "fft")
