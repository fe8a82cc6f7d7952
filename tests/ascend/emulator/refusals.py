"""Dtypes that functions turn down: of each the dtypes that CANN states for its first tensor, in letters as
backends/host.py has them.

e z f d: float16, bfloat16, float32, float64; a B s i l: int8, uint8, int16, int32, int64; b: bool; t u v: uint16,
uint32, uint64; F D E: complex64,
complex128, complex32. A page may slip: a refusal is a question to the page, not CANN's own verdict.
EMULATED_CANN_DTYPES=0 turns them off.
"""

import os

import rules
import torch

_LETTERS = dict(
    zip(
        "ezfdaBsilbtuvFDE",
        "float16 bfloat16 float32 float64 int8 uint8 int16 int32 int64 bool uint16 uint32 uint64 complex64 "
        "complex128 complex32".split(),
    )
)
_STATED = """
ezf: AdaptiveAvgPool2d AdaptiveAvgPool3d AddLayerNorm AddRmsNorm Addbmm Addmm ApplyAdamWV2 AvgPool2d AvgPool3d Baddbmm BatchMatMul BatchNorm
BatchNormBackward BinaryCrossEntropyBackward BinaryCrossEntropyWithLogits Convolution ConvolutionBackward DropoutDoMask Elu EluBackward
EmbeddingDenseBackward EmbeddingRenorm FlashAttentionScore FlashAttentionScoreGrad Gelu GeluBackward GeluBackwardV2 GeluV2 GroupNorm GroupNormBackward
Hardshrink HardshrinkBackward HardsigmoidBackward Hardswish HardswishBackward HardtanhBackward Heaviside Im2colBackward InplaceAddmm InplaceBaddbmm
InplaceErfinv InplaceLerp InplaceLerps InplaceSin InplaceTanh KlDiv LayerNorm LayerNormBackward LeakyRelu Lerp Lerps LinalgVectorNorm LogSigmoid
LogSigmoidBackward LogSigmoidForward LogSoftmaxBackward Matmul MaxPool2dWithIndices Mish MishBackward Mm MseLoss MseLossBackward Mv NLLLoss NLLLoss2d
NLLLoss2dBackward NLLLossBackward Norm Prelu PreluBackward RmsNorm RmsNormGrad RotaryPositionEmbedding RotaryPositionEmbeddingGrad Sigmoid Silu
SiluBackward SmoothL1Loss SmoothL1LossBackward SoftMarginLoss SoftmaxBackward Softplus Softshrink SoftshrinkBackward Std StdMeanCorrection SwiGlu
SwiGluGrad Trunc UpsampleBicubic2d UpsampleBicubic2dBackward UpsampleBilinear2dBackward UpsampleBilinear2dBackwardV2 UpsampleLinear1d
UpsampleLinear1dBackward UpsampleNearest2dBackward Var VarCorrection VarMean
ezfdaBsilbFD: Add Adds Cos Div DivMod DivMods Divs Embedding Flip Ger InplaceAdd InplaceDiv InplaceDivMods InplaceDivs InplaceMul InplaceMuls
InplacePut InplaceRandom InplaceScatter InplaceScatterValue InplaceSub InplaceSubs Log Log10 Log2 LogicalAnd LogicalOr LogicalXor Mul Muls
PowTensorScalar PowTensorTensor Prod ProdDim Reciprocal ReduceSum Rsqrt Scatter ScatterAdd ScatterValue Sin Sinh Sqrt Sub Subs Tan Trace
ezfdaBsilb: Addmv Addr All Amax Amin Aminmax Any Arange Atan Atan2 Clamp Cummax Cummin Exp2 IndexAdd IndexAddV2 IndexPutImpl InplaceAdds
InplaceBernoulli InplaceHardtanh InplaceIndexFill InplaceLogicalNot InplaceMaskedScatter InplaceNormal IsClose IsInf Linspace Log1p LogicalNot
MaskedSelect Max Maximum Min Minimum Sinc XLogYScalarSelf
ezfd: AdaptiveMaxPool2d Ceil Glu GluBackward GridSampler2D GridSampler3D InplaceCeil IsFinite IsNegInf IsPosInf LeakyReluBackward LogSoftmax Softmax
SoftplusBackward TanhBackward UpsampleBilinear2d UpsampleNearest1dBackward UpsampleNearest3dBackward UpsampleTrilinear3d UpsampleTrilinear3dBackward
ezfdaBsilbtuv: Equal Gather GeScalar GeTensor GtScalar GtTensor LogAddExp LogAddExp2 LtScalar LtTensor Nonzero NonzeroV2 Signbit Unique2 UniqueDim
ezfaBsilb: Erfinv Eye LogSumExp NanToNum ReduceNansum RepeatInterleave RepeatInterleaveInt RepeatInterleaveIntWithDim RepeatInterleaveWithDim Tanh
XLogYScalarOther XLogYTensor
ezfdaBsil: ArgMax ArgMin ClampMax ClampMaxTensor ClampMin ClampMinTensor ClampTensor Hardtanh InplaceClampMax InplaceClampMaxTensor
InplaceClampMinTensor InplaceUniform
ezfdaBsilbFDtuv: ConstantPadNd IndexSelect InplaceCopy InplaceFillScalar Permute ReflectionPad1d ReflectionPad2d ReflectionPad3d Repeat
ReplicationPad1d ReplicationPad2d ReplicationPad3d SplitTensor SplitWithSize Stack Take UniqueConsecutive
ezfdaBsilFD: Cumsum CumsumV2 InplacePowTensorScalar InplacePowTensorTensor LinalgCross Mean MeanV2 PowScalarTensor Rsub Rsubs
efdaBsilb: Acos Asin Asinh Atanh FloorDivide FloorDivides InplaceFloorDivide InplaceFloorDivides
ezfdFD: ReflectionPad1dBackward ReflectionPad2dBackward ReflectionPad3dBackward ReplicationPad1dBackward ReplicationPad2dBackward
ReplicationPad3dBackward InplaceExp InplaceLog InplaceReciprocal InplaceRsqrt InplaceSigmoid InplaceSqrt SigmoidBackward
ezfdil: InplaceRemainderTensorScalar InplaceRemainderTensorTensor RemainderScalarTensor RemainderTensorScalar RemainderTensorTensor Round
RoundDecimals
aBsilbtuv: BitwiseOrScalar BitwiseOrTensor BitwiseXorScalar BitwiseXorTensor InplaceBitwiseOrTensor InplaceBitwiseXorTensor
ezfaBsil: Frac Median MedianDim NanMedian NanMedianDim Threshold
efd: Acosh Complex Cosh Inverse Lgamma
ezfdB: UpsampleNearest1d UpsampleNearest1dV2 UpsampleNearest2d UpsampleNearest2dV2 UpsampleNearest3d
ezfdaBil: Addcmul FmodScalar FmodTensor InplaceAddcmul
ezfilb: IndexFillTensor InplaceIndexFillTensor MaxDim MinDim
aBsilbt: BitwiseAndScalar BitwiseAndTensor InplaceBitwiseAndTensor
ezfai: AddV3 Selu SeluBackward
ezfdaBsilbFDuv: EqScalar EqTensor InplaceIndexCopy
ezfdaBsilbFtuvE: Im2col Tril Triu
aBsil: Bincount Gcd
efdaBsiltuv: Floor InplaceFloor
efdlb: Erf Erfc
ezfaBil: InplaceRelu ThresholdBackward
ezfaBsilbtuv: InplaceFillTensor Sort
ezfaBsiltuv: Argsort Kthvalue
ezfailb: InplaceMaskedFillScalar InplaceMaskedFillTensor
ezfdaBsilbF: Diag Index
ezfdaBsilbFDv: NeScalar NeTensor
ezfdaBsilbtv: LeScalar LeTensor
ezfdaBsiltuv: Cumprod Topk
ezfdailFD: InplaceNeg Neg
ezfdl: Addcdiv InplaceAddcdiv
fdFD: Slogdet TriangularSolve
ezfdaBsilbFDtuv: SWhere
Bil: OneHot
aBsilb: BitwiseNot
d: DropoutGenMaskV2
efFDE: Real
efaBilb: Expand
efaBsil: Histc
efdFD: LinalgQr
efdaBsil: SearchSorted
efdaBsilbFD: InplaceDivMod
ezfaBi: Dot
ezfaBsilbFu: Roll
ezfail: Relu
ezfdaBsilbFDt: InplaceZero
ezfdaBsilbFDtuvE: Cast
ezfdaBsilbFE: Abs
ezfdaBsilbFtuv: Cat
ezfdaBsilbt: InplaceOne
ezfdilbFD: Sign
ezfdlbFD: Exp
ezfi: Hardsigmoid
ezfil: Square
ezfl: L1Loss
ezflb: Expm1
f: Polar
il: DropoutGenMask
l: Randperm
"""
_LATER = {"SWhere": 1}  # the tensor whose dtype counts, where it is not the first
STATED = {}
for _word in _STATED.split():
    if _word.endswith(":"):
        _dtypes = {getattr(torch, _LETTERS[c]) for c in _word[:-1]}
    else:
        STATED[_word] = _dtypes


def check(name, args):
    """Raises rules.Refused where the function does not take a tensor's dtype."""
    stated = STATED.get(name)
    if stated is None or os.environ.get("EMULATED_CANN_DTYPES") == "0":
        return
    tensors = [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, torch.Tensor)]
    at = _LATER.get(name, 0)
    if at < len(tensors) and tensors[at].dtype not in stated:
        names = ", ".join(sorted(str(d)[6:] for d in stated))
        raise rules.Refused(
            f"aclnn{name}: tensor {at} not implemented for {str(tensors[at].dtype)[6:]}, should be in dtype support "
            f"list [{names}]"
        )
