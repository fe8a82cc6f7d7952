"""Which dtypes each MindSpore primitive takes on CPU and gets right (measured by tools/probe.py; letters as in table.CODES).

PyBoost's bfloat16 is left out where 2.7.2 lacks it.
"""
_PYBOOST = """
Abs:efdaBsilF AdaptiveMaxPool2D:efd AdaptiveMaxPool2DGrad:efd Add:ezfdaBsilF AddExt:ezfdaBsilbF Any:ezfaBsilbF AnyExt:aBb
ArgMaxWithValue:efdaBsil ArgMinWithValue:efdaBsil AsStrided:ezfdaBsilbF Atanh:efdF BCEWithLogitsLoss:ezf BatchMatMul:efdaBsil
BatchMatMulExt:efdaBsilF BinaryCrossEntropy:ef BinaryCrossEntropyGrad:efd BitwiseAndTensor:aBsilb BroadcastTo:ezfdaBsilbF
BroadcastToView:ezfdaBsilbF Cast:ezfdaBsilbF Cdist:fd Ceil:efd Chunk:ezfdaBsilbF ChunkView:ezfdaBsilbF ClampScalar:efdaBsil
ClampTensor:efdaBsil Concat:ezfdaBsilbF Contiguous:ezfdaBsilbF Copy:ezfdaBsilbF Cos:efdF Cosh:efdF Cross:efdaBsilF Cummax:efdaBsil
Dense:efdaBsilF DiagonalView:ezfdaBsilbF Div:ezfdaBsilbF DivMod:ezfdaBsilbF DivMods:ezfdaBsilbF Divs:ezfdaBsilbF Empty:ezfdaBsilbF
EmptyLike:ezfdaBsilbF EqScalar:efdaBsilbF Equal:efdaBsilbF Erf:efd Erfc:efd Erfinv:efd Exp:efdF ExpandAs:ezfdaBsilbF
ExpandDims:ezfdaBsilbF ExpandDimsView:ezfdaBsilbF Expm1:efdF Eye:efdaBsilbF FlattenExt:ezfdaBsilbF Floor:efd FloorDiv:ezfdaBsil GLU:efd
GatherD:efdaBsilbF GatherDGradV2:efdF GatherNdExt:efdaBsilbF Gcd:sil GeLU:efd GeLUGrad:efd GetData:ezfdaBsilbF GluGrad:efd
Greater:efdaBsilb GreaterEqual:efdaBsilb GridSampler2D:efd GridSampler2DGrad:efd GridSampler3D:efd GridSampler3DGrad:efd GroupNorm:efd
GroupNormGrad:efd HShrink:ef HShrinkGrad:ef HSigmoid:efd HSigmoidGrad:efd HSwish:efd HSwishGrad:efd ImagView:F InplaceCopy:ezfdaBsilbF
IsClose:efdaBsilb IsFinite:efdaBsilb IsInf:efd LeftShift:aBsil Lerp:ef Less:efdaBsilb LessEqual:efdaBsilb Log:efdF Log1p:efdF
LogSoftmax:efd LogSoftmaxGrad:efd LogicalAnd:ezfdaBsilbF LogicalNot:efdaBsilbF LogicalOr:ezfdaBsilbF LogicalXor:ezfdaBsilbF
MaskedFill:efdaBsilbF MaskedScatter:efdaBsilb MaskedSelect:efdaBsilbF MaskedSelectGrad:efdF MatMul:efdaBsilF MatMulExt:efdaBsilF
Max:efdaBsil MaxDim:efdaBsil Maximum:efdaBsilb MeanExt:ezfdaBsilbF Meshgrid:ezfdaBsilbF Min:efdaBsil MinDim:efdaBsil Minimum:efdaBsil
Mul:ezfdaBsilbF Muls:ezfdaBsilbF NLLLoss:efd NLLLossGrad:efd NanToNum:ef Narrow:ezfdaBsilbF NarrowView:ezfdaBsilbF Neg:ezfdaBsilF
NewEmpty:ezfdaBsilbF NewOnes:ezfdaBsilbF NewZeros:ezfdaBsilbF NonZero:efdaBsilbF NotEqual:efdaBsilbF Ones:ezfdaBsilbF PReLU:ef
PReLUGrad:efd PixelShuffle:ezfdaBsilbF Polar:fd Pow:efdaBsilF PowScalarTensor:efdaBsilb PowTensorScalar:efdaBsilb ProdExt:fdaBsilbF
ReLU:efdaBsil RealView:ezfdaBsilbF Reciprocal:efdaBsilbF ReduceAll:ezfdaBsilb ReduceAny:aBb ReduceMax:efdaBsil ReduceMin:efdaBsil
ReluGrad:efd Reshape:ezfdaBsilbF ReverseV2:efdaBsilbF Round:efdil Rsqrt:efdF ScatterValue:efdaBsilb SearchSorted:ezfdaBsilbF
Select:efdaBsilbF SelectExtView:ezfdaBsilbF SiLU:efdF SiLUGrad:efd Sigmoid:efdF SigmoidGrad:efd Sign:efdil Sin:efdF Sinc:efdaBsilF
Sinh:efdF Slice:ezfdaBsilbF SliceExt:ezfdaBsilbF SliceExtView:ezfdaBsilbF SmoothL1Loss:efd SmoothL1LossGrad:efd SoftShrink:ef
SoftShrinkGrad:ef Softmax:efd SoftplusExt:efd Split:ezfdaBsilbF SplitTensor:ezfdaBsilbF SplitTensorView:ezfdaBsilbF
SplitWithSize:ezfdaBsilbF SplitWithSizeView:ezfdaBsilbF Sqrt:efdaBsilbF Square:efdaBsilF Squeeze:ezfdaBsilbF Sub:efdaBsilF
SubExt:ezfdaBsilF SumExt:ezfdaBsilbF TExt:ezfdaBsilbF Tan:efdF Tanh:efdF TanhGrad:efdF TensorScatterAdd:efdaBsil Tile:efdaBsilbF
ToDevice:ezfdaBsilbF ToDtype:ezfdaBsilbF ToOther:ezfdaBsilbF Transpose:ezfdaBsilbF TransposeExtView:ezfdaBsilbF TransposeView:ezfdaBsilbF
Triu:efdaBsilb Trunc:ezfdaBsil UniqueConsecutive:ezfdaBsilbF UnstackExtView:ezfdaBsilbF UpsampleNearest1D:efdB UpsampleNearest1DGrad:efd
UpsampleNearest2D:efdB UpsampleNearest2DGrad:efd UpsampleNearest3D:efdB UpsampleNearest3DGrad:efd UpsampleTrilinear3D:efd
UpsampleTrilinear3DGrad:efd View:ezfdaBsilbF ViewAs:ezfdaBsilbF ViewDtype:ezfdaBsilbF Xlogy:efd Zeros:ezfdaBsilbF
"""
_LEGACY = """
ACos:efdF Acosh:efdF AdaptiveAvgPool2D:efd AdaptiveAvgPool3D:efd AdaptiveMaxPool3D:efd AddN:ezfdaBsilbF Addcdiv:efd Addcmul:efdaBil
AffineGrid:ef Angle:F Argmax:efdaBsil Argmin:efdaBsil Asin:efdF Asinh:efdF Assign:efdaBsilbF AssignAdd:fdaBsilF AssignSub:fdaBsil
Atan:efdF Atan2:efd AvgPool:efd AvgPool3D:fd BatchNorm:ef BesselI0:efd BesselI0e:efd BesselI1:efd BesselI1e:efd BesselJ0:fd BesselJ1:fd
BesselY0:fd BiasAdd:efdaBsilF BitwiseAnd:aBsilb BitwiseOr:aBsilb BitwiseXor:aBsilb Bucketize:efdsil CeLU:efd ChannelShuffle:efdaBsil
Cholesky:fd CholeskySolve:fd Col2Im:efdF Complex:ezfdaBsilbF Conj:efdaBsilF Conv2D:ef Conv2DTranspose:ef Conv3D:ef CumProd:efdaBsilF
CumSum:efdaBsilF Cummin:efdaBsil CumulativeLogsumexp:efd Diag:efdsilF DiagPart:efdilF Diagonal:ezfdaBsilbF Digamma:efd DivNoNan:efdF
Elu:efd FFTShift:ezfdaBsilbF FastGeLU:ef FillV2:efdaBsilbF FloorMod:efdaBsil Fmax:efdil Gather:efdaBsilbF GatherNd:efdaBsilbF Ger:efd
Heaviside:efdaBsil Histogram:ef Hypot:fd Identity:efdaBsilbF Im2Col:efdF IndexAdd:efdaBsi IndexFill:efdaBsil IndexPut:efdaBsilF Inv:efdF
Invert:aBsil IsNan:efdaBsilb KLDivLoss:efd L2Normalize:fd LayerNorm:efd Lcm:il Lgamma:efdi LogMatrixDeterminant:fdF Logit:efd LpNorm:ef
Lstsq:fd MatrixDeterminant:fdF MatrixInverse:fdF MatrixPower:fdaBsil MatrixSolve:fdF MaxPool:efd MaxPool3DWithArgmax:efdaBsil
MaxPoolWithArgmaxV2:efdaBsil MaxUnpool2D:efd MaxUnpool3D:efd Median:fdsil MirrorPad:efdaBsilF Mish:ef Mod:B MulNoNan:efdaBsilF
NextAfter:fd NthElement:efdaBsil OneHot:efil OnesLike:efdaBsilbF Pad:efdaBsilbF PadV3:efdaBsilF Pdist:fd Qr:fdF ReLU6:ef Real:efdasilbF
RealDiv:efdF ReduceMean:efdF ReduceProd:efdsilbF ReduceStd:efd ReduceSum:efdaBsilF Renorm:efdF ResizeBilinearV2:efd ResizeLinear1D:efd
RightShift:aBsil Rint:efd ScatterNd:efdaBsilbF SeLU:efd SigmoidCrossEntropyWithLogits:efd Softplus:efd Softsign:efd Sort:efdaBsil
SparseSoftmaxCrossEntropyWithLogits:ef SquaredDifference:efdil Stack:efdaBsilbF StridedSlice:ezfdaBsilbF Svd:fd TensorScatterDiv:efd
TensorScatterElements:efdaBsilb TensorScatterMax:efdaBsil TensorScatterMin:efdaBsil TensorScatterMul:efdaBsil TensorScatterSub:efdaBsil
TensorScatterUpdate:efdaBsilbF TopK:efdaBsil Trace:efdaBsil Tril:efdaBsilb TruncateDiv:efdaBsil TruncateMod:efdaBi
UnsortedSegmentSum:efdaBsilF Unstack:ezfdaBsilbF Xdivy:efdF ZerosLike:ezfdaBsilbF Zeta:fd
"""
DTYPES = dict(e.split(":") for e in (_LEGACY + _PYBOOST).split())
