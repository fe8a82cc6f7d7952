"""Functions that fuse chains of modules."""

from torch import nn
from torch.ao.nn import intrinsic as nni
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method"]
_WITH_RELU = {
    nn.Linear: nni.LinearReLU,
    nn.Conv1d: nni.ConvReLU1d,
    nn.Conv2d: nni.ConvReLU2d,
    nn.Conv3d: nni.ConvReLU3d,
}


def _same_mode(name, *modules):
    if len({m.training for m in modules}) > 1:
        raise AssertionError(f"{name} and BN both must be in the same mode (train or eval).")


def _not_in_training(is_qat):
    if is_qat:
        raise NotImplementedError(
            "torch.ao.quantization.fuse_modules_qat: batch normalization in training (torch.float32, "
            "any device) is not folded"
        )


def fuse_conv_bn(is_qat, conv, bn):
    """Fuse batch normalization into a convolution.

    `is_qat` raises NotImplementedError; modules in different modes (training and evaluation) raise AssertionError.
    """
    _same_mode("Conv", conv, bn)
    _not_in_training(is_qat)
    return fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat, conv, bn, relu):
    """Fuse batch normalization into a convolution that is followed by ReLU.

    It raises the errors of fuse_conv_bn, and NotImplementedError for a convolution without a fused form with ReLU.
    """
    _same_mode("Conv", conv, bn, relu)
    _not_in_training(is_qat)
    if type(conv) not in _WITH_RELU or type(conv) is nn.Linear:
        raise NotImplementedError(f"Cannot fuse eval modules: {(conv, bn, relu)}")
    return _WITH_RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat, linear, bn):
    """Fuse batch normalization into a Linear.

    `is_qat` raises NotImplementedError; modules in different modes (training and evaluation) raise AssertionError.
    """
    _same_mode("Linear", linear, bn)
    _not_in_training(is_qat)
    return fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat, convt, bn):
    """Fuse batch normalization into a transposed convolution.

    `is_qat` raises a plain Exception, as in PyTorch.
    """
    _same_mode("ConvTranspose", convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")  # noqa: TRY002
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _sequential_wrapper2(sequential):
    """Return a fuser method that puts two modules into a sequential module unchanged."""

    def fuser_method(is_qat, m1, m2):
        return sequential(m1, m2)

    return fuser_method


_DEFAULT_OP_LIST_TO_FUSER_METHOD = {(kind, nn.ReLU): _sequential_wrapper2(both) for kind, both in _WITH_RELU.items()}
_DEFAULT_OP_LIST_TO_FUSER_METHOD[nn.Linear, nn.BatchNorm1d] = fuse_linear_bn
for _conv, _turned, _norm in (
    (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d),
    (nn.Conv2d, nn.ConvTranspose2d, nn.BatchNorm2d),
    (nn.Conv3d, nn.ConvTranspose3d, nn.BatchNorm3d),
):
    _DEFAULT_OP_LIST_TO_FUSER_METHOD |= {
        (_conv, _norm): fuse_conv_bn,
        (_conv, _norm, nn.ReLU): fuse_conv_bn_relu,
        (_turned, _norm): fuse_convtranspose_bn,
    }


def get_fuser_method(op_list, additional_fuser_method_mapping=None):
    """Return the function ``f(is_qat, *modules)`` for a chain of module types.

    AssertionError is raised if there is none.
    """
    method = {**_DEFAULT_OP_LIST_TO_FUSER_METHOD, **(additional_fuser_method_mapping or {})}.get(op_list)
    if method is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return method
