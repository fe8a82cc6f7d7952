"""Dtypes that functions turn down: of each function the dtypes that CANN states for its first tensor.

A page may slip: a refusal is a question to the page, not CANN's own verdict. EMULATED_CANN_DTYPES=0 turns them off.
"""

import os
import re

import rules
import torch

_DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "c32": torch.complex32,
    "c64": torch.complex64,
    "c128": torch.complex128,
}
_STATED = """
f16 bf16 f32:
    AdaptiveAvgPool2d AdaptiveAvgPool3d AddLayerNorm AddRmsNorm Addbmm Addmm ApplyAdamWV2 AvgPool2d
    AvgPool2dBackward AvgPool3d AvgPool3dBackward
    Baddbmm BatchMatMul BatchNorm BatchNormBackward BinaryCrossEntropyBackward BinaryCrossEntropyWithLogits
    BinaryCrossEntropyWithLogitsBackward
    Convolution ConvolutionBackward DropoutDoMask Elu EluBackward EmbeddingDenseBackward EmbeddingRenorm
    FlashAttentionScore FlashAttentionScoreGrad Gelu GeluBackward GeluBackwardV2 GeluV2 GroupNorm GroupNormBackward
    Hardshrink HardshrinkBackward HardsigmoidBackward Hardswish HardswishBackward HardtanhBackward Heaviside
    Im2colBackward InplaceAddmm InplaceBaddbmm InplaceErfinv InplaceLerp InplaceLerps InplaceSin InplaceTanh KlDiv
    LayerNorm LayerNormBackward LeakyRelu Lerp Lerps LinalgVectorNorm LogSigmoid LogSigmoidBackward
    LogSigmoidForward LogSoftmaxBackward Matmul MaxPool2dWithIndices
    MaxPool2dWithIndicesBackward Mish MishBackward Mm MseLoss MseLossBackward Mv
    NLLLoss NLLLoss2d NLLLoss2dBackward NLLLossBackward Norm Prelu PreluBackward RmsNorm RmsNormGrad
    RotaryPositionEmbedding RotaryPositionEmbeddingGrad Sigmoid Silu SiluBackward SmoothL1Loss SmoothL1LossBackward
    SoftMarginLoss SoftMarginLossBackward SoftmaxBackward Softplus Softshrink SoftshrinkBackward Std
    StdMeanCorrection SwiGlu
    SwiGluGrad Trunc UpsampleBicubic2d UpsampleBicubic2dBackward UpsampleBilinear2dBackward UpsampleBilinear2dBackwardV2
    UpsampleLinear1d UpsampleLinear1dBackward UpsampleNearest2dBackward Var VarCorrection VarMean
bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128:
    Add Adds Cos Div DivMod DivMods Divs Embedding Flip Ger InplaceAdd InplaceDiv InplaceDivMods InplaceDivs
    InplaceMul InplaceMuls InplacePut InplaceRandom InplaceScatter InplaceScatterValue InplaceSub InplaceSubs Log
    Log10 Log2 LogicalAnd LogicalOr LogicalXor Mul Muls PowTensorScalar PowTensorTensor Prod ProdDim Reciprocal
    ReduceSum Rsqrt Scatter ScatterAdd ScatterValue Sin Sinh Sqrt Sub Subs Tan Trace
bool u8 i8 i16 i32 i64 f16 bf16 f32 f64:
    Addmv Addr All Amax Amin Aminmax Any Arange Atan Atan2 Clamp Cummax Cummin Exp2 IndexAdd IndexAddV2 IndexPutImpl
    InplaceAdds InplaceBernoulli InplaceHardtanh InplaceIndexFill InplaceLogicalNot InplaceMaskedScatter
    InplaceNormal IsClose IsInf Linspace Log1p LogicalNot MaskedSelect Max Maximum Min Minimum Sinc XLogYScalarSelf
f16 bf16 f32 f64:
    AdaptiveMaxPool2d Ceil Glu GluBackward GridSampler2D GridSampler2DBackward GridSampler3D
    GridSampler3DBackward InplaceCeil IsFinite IsNegInf IsPosInf
    LeakyReluBackward LogSoftmax Softmax SoftplusBackward TanhBackward UpsampleBilinear2d UpsampleNearest1dBackward
    UpsampleNearest3dBackward UpsampleTrilinear3d UpsampleTrilinear3dBackward
bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64:
    Equal Gather GeScalar GeTensor GtScalar GtTensor LogAddExp LogAddExp2 LtScalar LtTensor Nonzero NonzeroV2
    Signbit Unique2 UniqueDim
bool u8 i8 i16 i32 i64 f16 bf16 f32:
    Erfinv Eye LogSumExp NanToNum ReduceNansum RepeatInterleave RepeatInterleaveInt RepeatInterleaveIntWithDim
    RepeatInterleaveWithDim Tanh XLogYScalarOther XLogYTensor
u8 i8 i16 i32 i64 f16 bf16 f32 f64:
    ArgMax ArgMin ClampMax ClampMaxTensor ClampMin ClampMinTensor ClampTensor Hardtanh InplaceClampMax
    InplaceClampMaxTensor InplaceClampMinTensor InplaceUniform
bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c64 c128:
    ConstantPadNd IndexSelect InplaceCopy InplaceFillScalar Permute ReflectionPad1d ReflectionPad2d ReflectionPad3d
    Repeat ReplicationPad1d ReplicationPad2d ReplicationPad3d SplitTensor SplitWithSize Stack Take UniqueConsecutive
    SWhere
u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128:
    Cumsum CumsumV2 InplacePowTensorScalar InplacePowTensorTensor LinalgCross Mean MeanV2 PowScalarTensor Rsub Rsubs
bool u8 i8 i16 i32 i64 f16 f32 f64:
    Acos Asin Asinh Atanh FloorDivide FloorDivides InplaceFloorDivide InplaceFloorDivides
f16 bf16 f32 f64 c64 c128:
    ReflectionPad1dBackward ReflectionPad2dBackward ReflectionPad3dBackward ReplicationPad1dBackward
    ReplicationPad2dBackward ReplicationPad3dBackward InplaceExp InplaceLog InplaceReciprocal InplaceRsqrt
    InplaceSigmoid InplaceSqrt SigmoidBackward
i32 i64 f16 bf16 f32 f64:
    InplaceRemainderTensorScalar InplaceRemainderTensorTensor RemainderScalarTensor RemainderTensorScalar
    RemainderTensorTensor Round RoundDecimals
bool u8 i8 i16 i32 i64 u16 u32 u64:
    BitwiseOrScalar BitwiseOrTensor BitwiseXorScalar BitwiseXorTensor InplaceBitwiseOrTensor InplaceBitwiseXorTensor
u8 i8 i16 i32 i64 f16 bf16 f32:
    Frac Median MedianDim NanMedian NanMedianDim Threshold
f16 f32 f64:
    Acosh Complex Cosh Inverse Lgamma
u8 f16 bf16 f32 f64:
    UpsampleNearest1d UpsampleNearest1dV2 UpsampleNearest2d UpsampleNearest2dV2 UpsampleNearest3d
u8 i8 i32 i64 f16 bf16 f32 f64:
    Addcmul FmodScalar FmodTensor InplaceAddcmul
bool i32 i64 f16 bf16 f32:
    IndexFillTensor InplaceIndexFillTensor MaxDim MinDim
bool u8 i8 i16 i32 i64 u16:
    BitwiseAndScalar BitwiseAndTensor InplaceBitwiseAndTensor
i8 i32 f16 bf16 f32:
    AddV3 Selu SeluBackward
bool u8 i8 i16 i32 i64 u32 u64 f16 bf16 f32 f64 c64 c128:
    EqScalar EqTensor InplaceIndexCopy
bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c32 c64:
    Im2col Tril Triu
u8 i8 i16 i32 i64:
    Bincount Gcd
u8 i8 i16 i32 i64 u16 u32 u64 f16 f32 f64:
    Floor InplaceFloor
bool i64 f16 f32 f64:
    Erf Erfc
u8 i8 i32 i64 f16 bf16 f32:
    InplaceRelu ThresholdBackward
bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32:
    InplaceFillTensor Sort
u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32:
    Argsort Kthvalue
bool i8 i32 i64 f16 bf16 f32:
    InplaceMaskedFillScalar InplaceMaskedFillTensor
bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c64:
    Diag Index
bool u8 i8 i16 i32 i64 u64 f16 bf16 f32 f64 c64 c128:
    NeScalar NeTensor
bool u8 i8 i16 i32 i64 u16 u64 f16 bf16 f32 f64:
    LeScalar LeTensor
u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64:
    Cumprod Topk
i8 i32 i64 f16 bf16 f32 f64 c64 c128:
    InplaceNeg Neg
i64 f16 bf16 f32 f64:
    Addcdiv InplaceAddcdiv
f32 f64 c64 c128:
    Slogdet TriangularSolve
u8 i32 i64:
    OneHot
bool u8 i8 i16 i32 i64:
    BitwiseNot
u8:
    DropoutGenMask DropoutGenMaskV2
f16 f32 c32 c64 c128:
    Real
bool u8 i8 i32 i64 f16 f32:
    Expand
u8 i8 i16 i32 i64 f16 f32:
    Histc
f16 f32 f64 c64 c128:
    LinalgQr
u8 i8 i16 i32 i64 f16 f32 f64:
    SearchSorted
bool u8 i8 i16 i32 i64 f16 f32 f64 c64 c128:
    InplaceDivMod
u8 i8 i32 f16 bf16 f32:
    Dot
bool u8 i8 i16 i32 i64 u32 f16 bf16 f32 c64:
    Roll
i8 i32 i64 f16 bf16 f32:
    Relu
bool u8 i8 i16 i32 i64 u16 f16 bf16 f32 f64 c64 c128:
    InplaceZero
bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c32 c64 c128:
    Cast
bool u8 i8 i16 i32 i64 f16 bf16 f32 f64 c32 c64:
    Abs
bool u8 i8 i16 i32 i64 u16 u32 u64 f16 bf16 f32 f64 c64:
    Cat
bool u8 i8 i16 i32 i64 u16 f16 bf16 f32 f64:
    InplaceOne
bool i32 i64 f16 bf16 f32 f64 c64 c128:
    Sign
bool i64 f16 bf16 f32 f64 c64 c128:
    Exp
i32 f16 bf16 f32:
    Hardsigmoid
i32 i64 f16 bf16 f32:
    Square
i64 f16 bf16 f32:
    L1Loss
bool i64 f16 bf16 f32:
    Expm1
f32:
    Polar
i64:
    Randperm
"""
_LATER = {"SWhere": 1}  # the tensor whose dtype counts, where it is not the first
STATED = {}
for _names, _functions in re.findall(r"(.+):\n((?: +.+\n)+)", _STATED):
    STATED |= dict.fromkeys(_functions.split(), {_DTYPES[name] for name in _names.split()})


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
