"""The dtypes that CANN states for the aclnn function behind each primitive (letters as in backends/host.py): its
documentation, not seen on hardware, less what MindSpore itself refuses."""

_STATED = """
Abs:ezfdaBsilbFE AcosExt:efdaBsilb AcoshExt:efd AdaptiveMaxPool1D:ezfd AdaptiveMaxPool2D:ezfd Add:ezfdaBsilFD AddcdivExt:ezfdl AddcmulExt:ezfdaBil
Addmm:ezf Addmv:efdaBsilb Arange:ezfdaBsilb ArgMaxExt:ezfdaBsil ArgMinExt:ezfdaBsil AsinExt:efdaBsilb AsinhExt:efdaBsilb Atan2Ext:ezfdaBsilb
AtanExt:ezfdaBsilb Atanh:efdaBsilb AvgPool1D:ezf AvgPool2D:ezf AvgPool3DExt:ezf BCEWithLogitsLoss:ezf Baddbmm:ezf BatchMatMulExt:ezf BatchNormExt:ezf
BinaryCrossEntropy:ezf BincountExt:aBsil BitwiseAndTensor:aBsilbt BitwiseNot:aBsilb BitwiseOrTensor:aBsilbtuv BitwiseXorTensor:aBsilbtuv Ceil:ezfd
ClampTensor:ezfdaBsil Col2ImExt:ezf Concat:ezfdaBsilbFtuv ConstantPadND:ezfdaBsilbFDtuv Convolution:ezf Cos:ezfdaBsilbFD Cosh:efd Cross:ezfdaBsilFD
Cummax:ezfdaBsilb CumminExt:ezfdaBsilb CumsumExt:ezfdaBsilFD Dense:ezf Div:ezfdaBsilbFD DivMod:ezfdaBsilbFD Dot:ezfaBi EluExt:ezf Embedding:ezfdaBsilbFD
EmbeddingDenseBackward:ezf Equal:ezfdaBsilbFDuv Erf:efdlb Erfc:efdlb Erfinv:ezfaBsilb Exp:ezfdlbFD Exp2:ezfdaBsilb Expm1:ezflb
FillScalar:ezfdaBsilbFDtuv Floor:efdaBsiltuv FloorDiv:efdaBsilb FmodTensor:ezfdaBil Frac:ezfaBsil GLU:ezfd GatherD:ezfdaBsilbtuv Gcd:sil GeluExt:ezf
GeluGradExt:ezf Greater:ezfdaBsilbtuv GreaterEqual:ezfdaBsilbtuv GridSampler2D:fd GridSampler3D:fd GroupNorm:ezf HShrink:ezf HSigmoid:ezfi
HSwish:ezf HSwishGrad:ezf Hardtanh:ezfdaBsil HistcExt:efaBsil Im2ColExt:ezfdaBsilbFtuvE Index:ezfdaBsilbF IndexAddExt:ezfdaBsilb IndexSelect:ezfdaBsilbFDtuv
InplaceIndexCopy:ezfdaBsilbFDuv InplaceIndexFillTensor:ezfilb InplaceIndexPut:ezfdaBsilb IsClose:ezfdaBsilb IsFinite:ezfd IsInf:ezfdaBsilb IsNegInf:ezfd
Kthvalue:ezfaBsiltuv LayerNormExt:ezf LeakyReLUExt:ezf Lerp:ezf Less:ezfdaBsilbtuv LessEqual:ezfdaBsilbtv LinSpaceExt:ezfdaBsilb LinalgQr:f
LinalgVectorNorm:ezf Log:ezfdaBsilbFD Log10:ezfdaBsilbFD Log1p:ezfdaBsilb Log2:ezfdaBsilbFD LogAddExp:ezf LogAddExp2:ezf
LogSigmoid:ezf LogSoftmax:ezfd LogSoftmaxGrad:ezf LogSumExp:ezfaBsilb LogicalAnd:ezfdaBsilbFD LogicalNot:ezfdaBsilb LogicalOr:ezfdaBsilbFD
LogicalXor:ezfdaBsilbFD MSELossExt:ezf MaskedFill:ezfailb MaskedScatter:ezfdaBsilb MaskedSelect:ezfdaBsilb MatMulExt:ezf Max:ezfdaBsilb MaxDim:ezfilb
MaxPoolWithIndices:ezf Maximum:ezfdaBsilb MeanExt:ezfdaBsilFD MedianDim:ezfaBsil MedianExt:ezfaBsil Min:ezfdaBsilb MinDim:ezfilb Minimum:ezfdaBsilb
MishExt:ef Mm:ezf Mul:ezfdaBsilbFD Mv:ezf NLLLoss:ezf NLLLossGrad:ezf NanToNum:ezfaBsilb Neg:ezfdailFD NonZero:ezfdaBsilbtuv NotEqual:ezfdaBsilbFDv
OneHotExt:Bil Polar:f Pow:ezfdaBsilbFD PowTensorScalar:ezfdaBsilbFD ProdExt:ezfdaBsilbFD ReLU:ezfail Reciprocal:ezfdaBsilbFD ReduceAll:ezfdaBsilb
ReduceAny:ezfdaBsilb ReduceMax:ezfdaBsilb ReduceMin:ezfdaBsilb ReluGrad:ezfaBil RemainderTensorTensor:ezfdil ReverseV2:ezfdaBsilbFD RmsNorm:ezf
Roll:ezfaBsilbFu Round:ezfdil Rsqrt:ezfdaBsilbFD Scatter:ezfdaBsilbFD ScatterAddExt:ezfdaBsilb ScatterValue:ezfdaBsilbFD SeLUExt:ezfai
SearchSorted:efdaBsil Select:ezfdaBsilbFDtuv SiLU:ezf SiLUGrad:ezf Sigmoid:ezf SigmoidGrad:ezfdFD Sign:ezfdilbFD Sin:ezfdaBsilbFD Sinc:ezfdaBsilb
Sinh:ezfdaBsilbFD SmoothL1Loss:ezf SoftMarginLoss:ezf SoftShrink:ezf Softmax:ezfd SoftmaxBackward:ezf SoftplusExt:ezf SortExt:ezfaBsilbtuv
Sqrt:ezfdaBsilbFD Square:ezfdaBsilbFD StackExt:ezfdaBsilbFDtuv Std:ezf Sub:ezfdaBsilbFD SumExt:ezfdaBsilbFD Tan:ezfdaBsilbFD Tanh:ezfaBsilb
TanhGrad:ezfd Threshold:ezfaBsil Tile:ezfdaBsilbFDtuv TopkExt:ezfdaBsiltuv TriangularSolve:fdFD TrilExt:ezfdaBsilbFtuvE Triu:ezfdaBsilbFtuvE Trunc:ezf
Unique2:ezfdaBsilbtuv UpsampleBicubic2D:ezf UpsampleBicubic2DGrad:ezf UpsampleBilinear2D:ezfd UpsampleBilinear2DGrad:ezf UpsampleLinear1D:ezf
UpsampleLinear1DGrad:ezf UpsampleNearest1D:ezfB UpsampleNearest1DGrad:ezfd UpsampleNearest2D:ezfB UpsampleNearest2DGrad:ezf UpsampleNearest3D:ezfB
UpsampleNearest3DGrad:ezfd UpsampleTrilinear3D:ezfd UpsampleTrilinear3DGrad:ezfd Var:ezf Xlogy:ezfaBsilb
"""
DTYPES = dict(e.split(":") for e in _STATED.split())
