"""Which dtypes each MindSpore primitive takes on CPU and gets right (letters as in table.CODES).

Written by `python tools/probe.py --table tools/probe-2.7.2.tsv tools/probe-2.10.0.tsv`.
"""

from ...runtime import pyboost

_MEASURED = """
ACos:efdFD Abs:efdaBsilbFD Acosh:efdFD AdaptiveAvgPool2D:efd AdaptiveAvgPool3D:efd AdaptiveMaxPool2D:efd Add:ezfdaBsilFDtuv
AddExt:ezfdaBsilbFDtuv AddN:efdaBsilFDtuv Addcdiv:efd Addcmul:efdaBil Angle:FD Any:aBb AnyExt:aBb ArgMaxWithValue:efdaBsiltuv
ArgMinWithValue:efdaBsiltuv Argmax:efdaBsiltuv Argmin:efdaBsiltuv Asin:efdFD Asinh:efdFD Atan:efdFD Atan2:efd Atanh:efdFD AvgPool:ef
AvgPool3D:ef BCEWithLogitsLoss:ezf BatchMatMul:efdaBsiltuv BatchMatMulExt:efdaBsilFDtuv BatchNorm:ef BesselI0:efd BesselI0e:efd BesselI1:efd
BesselI1e:efd BesselJ0:efd BesselJ1:efd BiasAdd:efdaBsilFDtuv BinaryCrossEntropy:ef BinaryCrossEntropyGrad:ef BitwiseAnd:aBsilbtuv
BitwiseAndTensor:aBsilbtuv BitwiseOr:aBsilbtuv BitwiseXor:aBsilbtuv BroadcastTo:ezfdaBsilbFDtuv Bucketize:efd Cdist:ef CeLU:ef Ceil:efd
ChannelShuffle:efdaBsiltuv Cholesky:efd CholeskySolve:fd ClampScalar:efdaBsiluv ClampTensor:efdaBsiluv Col2Im:efdFD Complex:fd ComplexAbs:FD
Concat:ezfdaBsilbFDtuv Conj:efdaBsilFDtuv Contiguous:ezfdaBsilbFDtuv Conv2D:ef Conv2DBackpropFilter:ef Conv2DBackpropInput:ef Conv3D:ef
Copy:ezfdaBsilbFDtuv Cos:efdFD Cosh:efdFD Cross:efdaBsilFDtuv CumProd:efdaBsilFDtuv CumSum:efdaBsilFDtuv Cummax:efdaBsiltuv
Cummin:efdaBsiltuv CumulativeLogsumexp:efd Dense:efdaBsilFD Diag:efdsilFD DiagPart:efdilFD Digamma:ef Div:efdaBsilbFDtuv DivMod:fdaB
DivNoNan:efdFD Eig:fdFD Elu:efd Equal:efdaBsilbFDtuv Erf:efd Erfc:efd Erfinv:efd Exp:efdFD Expm1:efdFD Eye:efdaBsilbFDtuv FFT:ezfdsilFD
FillV2:efdaBsilbFDtuv Floor:efd FloorDiv:efdaBsitu FloorMod:efdaBsi Fmax:efdil GLU:efd Gather:efdaBsilbFDtuv GatherD:efdaBsilbFDtuv
GatherDGradV2:efdaBsilbFDtuv GatherNd:efdaBsilbFDtuv GatherNdExt:efdaBsilbFDtuv Gcd:sil GeLU:efd GeLUGrad:ef Ger:ef Greater:efdaBsilbtuv
GreaterEqual:efdaBsilbtuv GridSampler2D:ef GridSampler3D:efd GroupNorm:efd HShrink:ef HShrinkGrad:ef HSigmoid:efd HSigmoidGrad:efd
HSwish:efd HSwishGrad:efd Heaviside:efdaBsiltuv Histogram:efi Hypot:fd IFFT:ezfdsilFD IRFFT:ezfdsilFD Identity:efdaBsilbFDtuv Igamma:f
Igammac:f Im2Col:efdaBsilFD Imag:efdaBsilbFDtuv ImagView:FD IndexAdd:efdaBsi IndexFill:efdaBsiltuv IndexPut:efdaBsilFDtuv Inv:efdFD
Invert:aBsiltuv IsClose:efdaBsilb IsFinite:efdaBsilbtuv IsInf:efd IsNan:efdaBsilbtuv KLDivLoss:efd L2Normalize:efd LayerNorm:ef Lcm:il
LeftShift:aBsiltuv Lerp:ef Less:efdaBsilbtuv LessEqual:efdaBsilbtuv Lgamma:efdi Log:efdFD Log1p:efdFD LogMatrixDeterminant:efdFD
LogSoftmax:ef LogSoftmaxGrad:ef LogicalAnd:efdaBsilbFDtuv LogicalNot:efdaBsilbFDtuv LogicalOr:efdaBsilbFDtuv LogicalXor:efdaBsilbFDtuv
Logit:efd LpNorm:ef Lstsq:efd MaskedFill:efdaBsilbFDtuv MaskedScatter:efdaBsilb MaskedSelect:efdaBsilbFDtuv MaskedSelectGrad:efdaBsilFDtuv
MatMul:efdaBsilFD MatMulExt:efdaBsilFD MatrixDeterminant:efdFD MatrixInverse:fdFD MatrixPower:faBsil MatrixSolve:efdFD Max:efdaBsiltuv
MaxDim:efdaBsiltuv MaxPool:efd MaxPool3DWithArgmax:efdaBsiltuv MaxPoolWithArgmaxV2:efdasil Maximum:efdaBsilbuv MeanExt:efdFD Min:efdaBsiltuv
MinDim:efdaBsiltuv Minimum:efdaBsiltuv MirrorPad:efdaBsilbFDt Mish:ef Mod:efdaBsi Mul:efdaBsilbFDtuv MulNoNan:efdaBsilFDtuv NLLLoss:ef
NLLLossGrad:ef NanToNum:ef Neg:efdaBsilFDtuv NextAfter:fd NonZero:efdaBsilbFDtuv NotEqual:efdaBsilbFDtuv OneHot:efil Ones:ezfdaBsilbFDtuv
OnesLike:efdaBsilbFDtuv PReLU:ef PReLUGrad:ef Pad:efdaBsilbFDtuv PadV3:efdaBsilFDtuv Pdist:efd PixelShuffle:ezfdaBsilbFDtuv Polar:fd
Pow:efdFD PowScalarTensor:efdaBsb PowTensorScalar:efdaBb ProdExt:efdaBsilbFDtuv Qr:fdFD RFFT:ezfdsil ReLU:efdaBsilbtuv ReLU6:ef
Real:efdasibFDtu RealDiv:efdFD RealView:ezfdaBsilbFDtuv Reciprocal:efdaBsilbFDtuv ReduceAll:ezfdaBsilbFDtuv ReduceAny:aBb
ReduceMax:efdaBsiltuv ReduceMean:efdFD ReduceMin:efdaBsiltuv ReduceProd:efdaBsilbFDtuv ReduceStd:ef ReduceSum:efdaBsibFDtu
ReluGrad:efdaBsilbtuv ResizeBilinearV2:ef ResizeLinear1D:efd ReverseV2:efdaBsilbFDtuv RightShift:aBsiltuv Rint:efd Round:efdi Rsqrt:efdFD
ScatterNd:efdaBsilbFDtuv ScatterValue:efdaBsilbtuv SeLU:ef SearchSorted:fdasil Select:efdaBsilbFDtuv SiLU:efdFD SiLUGrad:efd Sigmoid:efdFD
SigmoidCrossEntropyWithLogits:ef SigmoidGrad:efdFD Sign:efdilFD Sin:efdFD Sinc:efdaBsilFDtuv Sinh:efdFD Slice:ezfdaBsilbFDtuv
SmoothL1Loss:efd SmoothL1LossGrad:efd SoftShrink:ef SoftShrinkGrad:ef Softmax:efd Softplus:ef SoftplusGrad:ef Softsign:efd
SolveTriangular:efdasilFD Sort:efaBsil SparseSoftmaxCrossEntropyWithLogits:ef Sqrt:efdaBsilbFDtuv Square:efdaBsilFDtuv
SquaredDifference:efdil Stack:efdaBsilbFDtuv StridedSlice:ezfdaBsilbFDtuv Sub:efdaBsilFDt SubExt:ezfdaBsilFDtuv SumExt:efdaBsibFD Svd:fdFD
Tan:efdFD Tanh:efdFD TanhGrad:efdFD TensorScatterAdd:efdaBsiltuv TensorScatterDiv:efdsiltuv TensorScatterElements:efdaBsilbtuv
TensorScatterMax:efdaBsiltuv TensorScatterMin:efdaBsiltuv TensorScatterMul:efdaBsiltuv TensorScatterSub:efdaBsiltuv
TensorScatterUpdate:efdaBsilbFDtuv Tile:efdaBsilbFDtuv TopK:efdaBsiltuv Trace:efdaBsiltuv Transpose:ezfdaBsilbFDtuv Tril:efdaBsilbtuv
Triu:efdaBsilbtuv Trunc:efdaBsi TruncateDiv:efdaBsitu TruncateMod:efdaBi UniqueConsecutive:ezfdaBsilbFDtuv UnsortedSegmentSum:efdaBsilFDtuv
Unstack:ezfdaBsilbFDtuv UpsampleNearest1D:efdB UpsampleNearest1DGrad:efd UpsampleNearest2D:efdB UpsampleNearest2DGrad:efd
UpsampleNearest3D:efdB UpsampleNearest3DGrad:efd UpsampleTrilinear3D:efd Xdivy:efdFD Xlogy:efdFD Zeros:efdaBsilbFDtuv
ZerosLike:efdaBsilbFDtuv Zeta:fd
"""
# where 2.10.0 differs
_CHANGES = """
Div:ezfdaBsilbFDtuv DivMod:ezfdaBst Divs:ezfdaBsilbFDtuv Eig:dFD EqScalar:efdaBsilbFDtuv FloorDiv:ezfdaBsitu Mul:ezfdaBsilbFDtuv
Muls:ezfdaBsilbFDtuv Neg:ezfdaBsilFDtuv SoftplusExt:efd Trunc:ezfdaBsilbtuv Zeros:ezfdaBsilbFDtuv ZerosLike:ezfdaBsilbFDtuv
"""
DTYPES = dict(e.split(":") for e in _MEASURED.split())
if tuple(map(int, pyboost.version().split(".")[:2])) >= (2, 10):
    DTYPES.update(e.split(":") for e in _CHANGES.split())
