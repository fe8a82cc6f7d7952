"""torch.autograd.anomaly_mode."""

from mindtorch_proxy.runtime.autograd import detect_anomaly, set_detect_anomaly  # noqa: F401

__all__ = ["detect_anomaly", "set_detect_anomaly"]
