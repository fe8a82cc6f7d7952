"""Errors of arguments, and what in-place operations inside transforms may do: types and first words as PyTorch's."""

import copy
import io
import pickle
import warnings

import numpy as np
from comparing import STRICT

TOLERANCE = STRICT


def outcomes(torch, programs):
    """What the last expression of each program gives, or its error.

    Programs are statements before it, separated by semicolons. What is indented further continues a program.
    """
    found = []
    for text in programs.strip().replace("\n" + " " * 8, " ").splitlines():
        names = {
            "torch": torch,
            "F": torch.nn.functional,
            "nn": torch.nn,
            "np": np,
            "copy": copy,
            "io": io,
            "pickle": pickle,
        }
        *before, last = text.strip().split("; ")
        torch.manual_seed(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec("\n".join(before), names)
                found.append([text, repr(eval(last, names))[:300]])
        except Exception as e:
            found.append([text, type(e).__name__, str(e)[:300]])
    return found


_ARGUMENT_ERRORS = r"""
    torch.zeros(-1)
    torch.ones(-1)
    torch.empty(-1)
    torch.full((-1,),1)
    torch.rand(-1)
    torch.randn(2,-3)
    torch.randint(3,(-1,))
    torch.eye(-1)
    torch.empty_strided((-1,),(1,))
    torch.ones(True)
    torch.zeros((True,2))
    torch.rand(2,True).shape
    torch.ones(3).new_zeros(True)
    torch.ones(1).expand(True)
    torch.ones(1).repeat(True)
    torch.ones(2,2).flip(True)
    torch.full((True,),1.)
    torch.ones(3).reshape(True)
    torch.trace(torch.ones(3))
    torch.tensor(1j,dtype=torch.float32)
    torch.tensor([1+0j],dtype=torch.float64)
    torch.tensor([2j],dtype=torch.int32)
    torch.tensor([torch.tensor([1,2])])
    torch.tensor([torch.tensor([1.,2.])])
    torch.empty_strided((2,2),(1,))
    torch.empty(2,memory_format=torch.preserve_format)
    torch.ones(2,3).index_select(1,torch.tensor([3]))
    torch.ones(2,3).index_select(0,torch.tensor([-1]))
    torch.ones(2,3,4).index_select(2,torch.tensor([9]))
    torch.ones(2,3)[...,...].shape
    torch.ones(2,3)[0,...,None,...].shape
    torch.ones(2).apply_(lambda v: v+1)._version
    x=torch.ones(2,dtype=torch.uint8); x**2; x**3; (x**2.5).dtype
    x=torch.ones(2,dtype=torch.int64); x**2; x**3; x**-1
    torch.zeros(2,-1,device='meta')
    torch.ones(2).new_zeros(-1)
    torch.ones(2).new_empty(-1)
    torch.ones(2).new_full((-1,),1)
    torch.HalfTensor(-1)
    torch.add(torch.ones(2),1,out=1)
    torch.mul(torch.ones(2),1,out=1)
    torch.add(torch.ones(2),1,out=1.5)
    torch.sin(torch.ones(2),out=1)
    torch.sin(torch.ones(2),out=(torch.ones(2),))
    torch.sin(torch.ones(2),out=(torch.ones(2),torch.ones(2)))
    torch.mm(torch.ones(2,2),torch.ones(2,2),out=1)
    torch.max(torch.ones(2),0,out=torch.ones(2))
    torch.sort(torch.ones(2),out=(torch.ones(2),))
    torch.sort(torch.ones(2),out=torch.ones(2))
    torch.topk(torch.ones(2),1,out=(torch.ones(2),))
    torch.topk(torch.ones(2),1,out=torch.ones(2))
    torch.kthvalue(torch.ones(2),1,out=(torch.ones(1),))
    torch.median(torch.ones(2),0,out=(torch.ones(1),))
    torch.max(torch.ones(2),0,out=(torch.ones(1),))
    torch.linalg.eigh(torch.ones(2,2),out=(torch.ones(1),))
    torch.linalg.svd(torch.ones(2,2),out=(torch.ones(1),))
    torch.frexp(torch.ones(2),out=(torch.ones(1),))
    torch.aminmax(torch.ones(2),out=(torch.ones(1),))
    torch.cummax(torch.ones(2),0,out=(torch.ones(1),))
    torch.add(torch.ones(2),1,out=torch.zeros(2,device='meta'))
    torch.sin(torch.ones(2),out=torch.zeros(2,device='meta'))
    torch.mm(torch.ones(2,2),torch.ones(2,2),out=torch.zeros(2,2,device='meta'))
    torch.cat([torch.ones(2)],out=torch.zeros(2,device='meta'))
    torch.clamp(torch.ones(2),0,out=torch.zeros(2,device='meta'))
    torch.sort(torch.ones(2),out=(torch.zeros(2,device='meta'),torch.zeros(2,device='meta')))
    torch.where(torch.ones(2).bool(),torch.ones(2),torch.ones(2),out=torch.zeros(2,device='meta'))
    torch.index_select(torch.ones(2),0,torch.tensor([0]),out=torch.zeros(2,device='meta'))
    torch.baddbmm(torch.ones(2,3),torch.ones(2,3),torch.ones(2,3))
    torch.bmm(torch.ones(2,3),torch.ones(2,3))
    torch.addbmm(torch.ones(2,3),torch.ones(2,3),torch.ones(2,3))
    torch.baddbmm(torch.ones(2,3),torch.ones(2,3,3),torch.ones(2,3))
    torch.baddbmm(torch.ones(2,3),torch.ones(2,3),torch.ones(2,3,3))
    torch.baddbmm(torch.ones(7),torch.ones(2,3,3),torch.ones(2,3,3))
    torch.baddbmm(torch.ones(7),torch.ones(2,3,3),torch.ones(2,4,3))
    torch.broadcast_shapes((2,),(3,))
    torch.broadcast_shapes((2,3),(3,),(4,))
    torch.broadcast_shapes((2,3),(-3,))
    torch.broadcast_shapes(2,3)
    torch.broadcast_shapes((2,3),5)
    torch.broadcast_shapes((1,3),(2,1))
    F.conv2d(torch.ones(1,2,5,5).double(),torch.ones(3,2,3,3))
    F.conv2d(torch.ones(1,2,5,5),torch.ones(3,2,3,3).double())
    F.conv2d(torch.ones(1,2,5,5),torch.ones(3,2,3,3),torch.ones(3).double())
    F.conv1d(torch.ones(1,2,5).double(),torch.ones(3,2,3))
    F.conv3d(torch.ones(1,2,5,5,5).double(),torch.ones(3,2,3,3,3))
    F.conv2d(torch.ones(1,2,5,5).double(),torch.ones(3,2,3,3))
    F.conv2d(torch.ones(1,2,5,5,dtype=torch.int64),torch.ones(3,2,3,3))
    F.conv2d(torch.ones(1,2,5,5),torch.ones(3,2,3,3,dtype=torch.bfloat16))
    F.conv_transpose2d(torch.ones(1,2,5,5).double(),torch.ones(2,3,3,3))
    F.conv_transpose1d(torch.ones(1,2,5).double(),torch.ones(2,3,3))
    F.pad(torch.ones(1,1,4,4),(9,9),mode='reflect')
    F.pad(torch.ones(1,1,4,4),(1,1),mode='replicate')
    F.pad(torch.ones(1,1,4,4),(1,1),mode='circular')
    F.pad(torch.ones(1,1,4,4),(1,1),mode='odd')
    F.pad(torch.ones(1,1,4,4),(1,1,1,1),mode='odd')
    F.pad(torch.ones(4),(1,1),mode='reflect')
    F.pad(torch.ones(1,4),(1,1),mode='reflect')
    F.pad(torch.ones(1,4),(1,1,1,1),mode='reflect')
    F.pad(torch.ones(1,1,1,1,4,4),(1,1,1,1),mode='reflect')
    F.pad(torch.ones(1,1,4),(1,1),mode='constantt')
    F.pad(torch.ones(1,1,4),(1,1),mode='circular',value=2)
    F.pad(torch.ones(1,1,4),(1,1,1))
    F.pad(torch.ones(1,1,4),(1,1,1,1,1,1,1,1))
    F.pad(torch.ones(1,1,4,4),(1,),mode='reflect')
    torch.bernoulli(torch.ones(2)*2)
    torch.ones(2).bernoulli_(2)
    torch.ones(2).bernoulli_(torch.ones(2)*2)
    torch.bernoulli(torch.ones(2),2)
    torch.where(torch.ones(2).bool(),torch.ones(2),torch.ones(2,device='meta'))
    torch.cat([torch.ones(2),torch.ones(2,device='meta')])
    torch.cat([torch.ones(2,device='meta'),torch.ones(2)])
    torch.stack([torch.ones(2),torch.ones(2,device='meta')])
    torch.maximum(torch.ones(2,device='meta'),torch.ones(2))
    torch.ones(2).copy_(torch.ones(2,device='meta'))
    nn.Linear(2,2,device='meta').to('cpu')
    nn.Linear(2,2,device='meta').cpu()
    nn.Linear(2,2,device='meta').float()
    F.grid_sample(torch.ones(1,1,2,2),torch.ones(1,2,2,3))
    F.ctc_loss(torch.ones(2,3),torch.ones(2,3),torch.ones(2,3),torch.ones(2,3))
    F.unfold(torch.ones(2,3),2)
    F.unfold(torch.ones(2,3,4),2)
    F.unfold(torch.ones(2),2)
    F.unfold(torch.ones(1,2,3,4,5),2)
    F.unfold(torch.ones(1,2,3,4),9)
    F.fold(torch.ones(2),(2,2),2)
    F.cosine_similarity(torch.ones(2,3),torch.ones(2,4))
    F.scaled_dot_product_attention(torch.ones(2,3),torch.ones(2,3),torch.ones(2))
    F.scaled_dot_product_attention(torch.ones(2),torch.ones(2,3),torch.ones(2,3))
    F.multi_head_attention_forward(torch.ones(2,3))
    F.pixel_shuffle(torch.ones(2,3),2)
    F.prelu(torch.ones(2,3),torch.ones(2))
"""


def case_argument_errors(torch):
    return outcomes(torch, _ARGUMENT_ERRORS)


_CONVERSIONS_AND_INDICES = r"""
    torch.arange(10)[1.0:2]
    torch.arange(10)["a":]
    torch.arange(10)[1:2.0]
    torch.arange(10)[::1.5]
    torch.arange(10)[None:torch.tensor(3)]
    torch.arange(10)[torch.tensor(1.5):]
    torch.arange(12.).view(3,4).index_select(0,torch.tensor([[0]]))
    torch.arange(12.).view(3,4).take(torch.tensor([12]))
    torch.arange(12.).view(3,4).take(torch.tensor([-13]))
    torch.arange(12.).view(3,4).put(torch.tensor([12]),torch.tensor([1.]))
    torch.arange(12.).view(3,4).index_add(0,torch.tensor([5]),torch.ones(1,4))
    torch.arange(12.).view(3,4).index_add(0,torch.tensor([-1]),torch.ones(1,4))
    torch.arange(12.).index_add(0,torch.tensor([15]),torch.ones(1))
    torch.arange(12.).view(3,4).index_add(1,torch.tensor([5]),torch.ones(3,1))
    torch.arange(12.).view(3,4).index_copy(0,torch.tensor([5]),torch.ones(1,4))
    torch.arange(12.).view(3,4).index_copy(0,torch.tensor([-5]),torch.ones(1,4))
    torch.arange(12.).index_copy(0,torch.tensor([15]),torch.ones(1))
    torch.arange(12.).view(3,4).index_fill(0,torch.tensor([5]),1.)
    torch.arange(12.).view(3,4).index_select(0,torch.tensor([5]))
    torch.arange(12.).view(3,4).index_reduce(0,torch.tensor([5]),torch.ones(1,4),'amax')
    torch.arange(12.).index_reduce(0,torch.tensor([15]),torch.ones(1),'amax')
    torch.arange(12.).view(3,4).index_add_(0,torch.tensor([5]),torch.ones(1,4))
    torch.ones(1).copy_(torch.tensor([1j]))
    torch.tensor([1j]).to(torch.float32)
    torch.tensor([1j]).float()
    torch.tensor([1j]).to(torch.int64)
    torch.tensor([1j]).to(torch.bool)
    torch.ones(1).fill_(1j)
    torch.ones(2).type_as(torch.tensor([1j])).real
    torch.tensor([1j]).type(torch.float64)
    torch.LongTensor(torch.ones(2))
    torch.FloatTensor(torch.ones(2).long())
    torch.Tensor(torch.ones(2).double())
    torch.autocast('')
    torch.backends.cudnn.enabled
    torch.backends.cudnn.allow_tf32
    torch.arange(6.).view(2,-2)
    torch.arange(6.).reshape(2,-2)
    torch.arange(6.).view((-2,3))
    torch.arange(6.).view(2,2,-3)
    torch.asarray(torch.ones(2),dtype=torch.int64,copy=False)
    torch.asarray(torch.ones(2),device='meta',copy=False)
    torch.asarray(np.ones(2),dtype=torch.int64,copy=False)
    torch.asarray([1,2],copy=False)
    torch.unsafe_split(torch.arange(6.),2)[0]._is_view()
    torch.unsafe_chunk(torch.arange(6.),2)[0]._is_view()
    x=torch.arange(6.); torch.unsafe_split(x,2)[0].mul_(5); x
    x=torch.arange(6.); torch.unsafe_split(x,2)[0].untyped_storage().data_ptr()==x.untyped_storage().data_ptr()
    torch.tensor([1.0]).storage_type()
    torch.tensor([1]).storage_type()
    torch.tensor([1.]).storage()
    torch.FloatStorage
    torch.FloatStorage.__name__, torch.FloatStorage.__module__
    type(torch.FloatStorage([1.,2.]))
    torch.LongStorage(3).dtype
    torch.tensor([True]).storage_type().dtype
    torch.Tensor.storage_type(torch.ones(1,dtype=torch.bfloat16))
    torch.ones(1).storage().type()
    torch.ones(1).storage().pickle_storage_type()
    copy.deepcopy(torch.channels_last)
    copy.copy(torch.channels_last)
    copy.deepcopy(torch.strided)
    copy.deepcopy(torch.finfo(torch.float32))
    torch.load(io.BytesIO(b'x'))
    torch.load(io.BytesIO(b'garbage'))
    torch.load(io.BytesIO(b'\x80\x02garbage'))
    torch.load(io.BytesIO(b''))
    nn.LazyLinear(2).weight.shape
    nn.LazyLinear(2).weight.dtype
"""


def case_conversions_and_indices(torch):
    return outcomes(torch, _CONVERSIONS_AND_INDICES)


_CAPTURED_TENSORS = r"""
    w=torch.ones(2); torch.func.grad(lambda x: (w.add_(x), w.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.copy_(x), w.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.fill_(1), (w*x).sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.__setitem__(torch.tensor([0]), 3), (w*x).sum())[1])(torch.ones(2))
    torch.func.grad(lambda x: (torch.zeros(2).add_(x)).sum())(torch.ones(2))
    torch.func.grad(lambda x: (x.clone().mul_(2)).sum())(torch.ones(2))
    torch.func.grad(lambda x: (x.mul_(2)).sum())(torch.ones(2))
    torch.func.grad(lambda x: (x.view(1,2).mul(1).mul_(2)).sum())(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x, w: (w.add_(1), (w*x).sum())[1])(torch.ones(2), w), w
    w=torch.ones(2); torch.func.vjp(lambda x: w.add_(x), torch.ones(2))
    w=torch.ones(2); torch.func.jvp(lambda x: w.add_(x), (torch.ones(2),), (torch.ones(2),))
    w=torch.ones(2); torch.func.jvp(lambda x: w.add_(1)*x, (torch.ones(2),), (torch.ones(2),))
    torch.func.jvp(lambda x: torch.zeros(2).add_(x), (torch.ones(2),), (torch.ones(2),))
    torch.func.jvp(lambda x: x.mul_(2), (torch.ones(2),), (torch.ones(2),))
    torch.func.jacrev(lambda x: x.clone().mul_(2))(torch.ones(2))
    torch.func.jacfwd(lambda x: x.clone().mul_(2))(torch.ones(2))
    torch.func.hessian(lambda x: (x.clone().mul_(2)**2).sum())(torch.ones(2))
    torch.func.grad(lambda x: torch.func.grad(lambda y:
        (x.clone().mul_(2)*y).sum())(torch.ones(2)).sum())(torch.ones(2))
    torch.func.vmap(torch.func.grad(lambda x: torch.zeros(()).add(x.clone().add_(1)).sum()))(torch.ones(2))
    w=torch.ones(2); torch.func.vmap(torch.func.grad(lambda x: (w.add_(1)*x).sum()))(torch.ones(2,2))
    w=torch.ones(2); torch.func.vmap(lambda x: w.add_(1)*x)(torch.ones(2,2)), w
    w=torch.ones(2); torch.func.grad(lambda x: torch.func.vmap(lambda y: w.add_(1)*y)(x).sum())(torch.ones(2,2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.clone().add_(x), w.sum())[0].sum())(torch.ones(2))
    bn=torch.nn.BatchNorm1d(2); torch.func.grad(lambda x: bn(x).sum())(torch.ones(3,2))
    lin=torch.nn.Linear(2,2); torch.func.grad(lambda p:
        torch.func.functional_call(lin,p,(torch.ones(2),)).sum())(dict(lin.named_parameters()))['bias']
    torch.func.grad(lambda x: torch.nn.functional.relu(x*1, inplace=True).sum())(torch.ones(2))
    torch.func.grad(lambda x: torch.nn.functional.dropout(x*1, 0.0, inplace=True).sum())(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.detach().add_(1), x.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w[0:1].add_(1), x.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.index_fill_(0,torch.tensor([0]),1.), x.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.relu_(), x.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.clamp_(0), x.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.scatter_(0,torch.tensor([0]),1.), x.sum())[1])(torch.ones(2))
    w=torch.ones(2); torch.func.grad(lambda x: (w.div_(2), x.sum())[1])(torch.ones(2))
    w=torch.ones(2,2); torch.func.grad(lambda x: (torch.add(w,1,out=w), x.sum())[1])(torch.ones(2))
"""


def case_captured_tensors(torch):
    return outcomes(torch, _CAPTURED_TENSORS)


_OF_THE_FUZZ = r"""
    torch.ones(3).index_add(0,torch.tensor([0]),torch.ones(3))
    torch.ones(3).index_copy(0,torch.tensor([0]),torch.ones(3))
    torch.ones(2,3).index_copy(0,torch.tensor([0]),torch.ones(2,3))
    torch.ones(2,3).index_reduce(0,torch.tensor([0]),torch.ones(2,3),'amax')
    torch.ones(2,requires_grad=True).unique().sum().backward()
    torch.unique_consecutive(torch.ones(2,requires_grad=True)).sum().backward()
    x=torch.ones(2); x.copy_(x)._version
    torch.histc(torch.tensor([1]),0)
    torch.histc(torch.tensor([1.]),0)
    torch.histc(torch.tensor([1]),1)
    torch.fmod(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.remainder(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.fmod(torch.ones(3),torch.ones(3)*1j)
    torch.maximum(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.floor_divide(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.atan2(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.lt(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.hypot(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.copysign(torch.ones(2,3),torch.ones(3,2)*1j)
    torch.bitwise_and(torch.ones(2,3),torch.ones(3,2))
    torch.gcd(torch.ones(2,3),torch.ones(3,2))
    torch.nextafter(torch.ones(2,3),torch.ones(3,2).int())
    torch.logaddexp(torch.ones(2,3),torch.ones(3,2).int())
    x=torch.tensor([1.,2.],requires_grad=True); x.norm(0).backward(); x.grad
    x=torch.tensor([1.,2.],requires_grad=True); torch.linalg.vector_norm(x,0).backward(); x.grad
    torch.func.jvp(lambda x: x.norm(0), (torch.ones(2),), (torch.ones(2),))
    x=torch.tensor([1.,2.],requires_grad=True); (x.norm(0)+x.sum()).backward(); x.grad
    x=torch.ones(2,requires_grad=True); x.copy_(x)
    x=torch.ones(2)[None].expand(3,2); x.copy_(x)
    x=torch.ones(2,2); x.copy_(x.t())
    x=torch.ones(4); x[1:].copy_(x[:-1])
torch.tensor([True,False]).add(torch.tensor([True,True]),alpha=0)
torch.tensor([True,False]).add(torch.tensor([True,True]),alpha=3)
torch.tensor([True,False]).add(True,alpha=0)
torch.tensor([1,2]).add(torch.tensor([True,True]),alpha=3)
torch.tensor([True,False]).add(2,alpha=3)
torch.tensor([1.,2]).add(torch.tensor([True,True]),alpha=3)
"""


def case_of_the_fuzz(torch):
    return outcomes(torch, _OF_THE_FUZZ)


_WARNING = r"""
    torch.from_numpy(np.frombuffer(b"12345678"))
    torch.frombuffer(b"1234",dtype=torch.uint8)
    torch.tensor([np.ones(1)])
    torch.meshgrid(torch.ones(2),torch.ones(2))
    torch.add(torch.ones(1),2,torch.ones(1))
    torch.ones(2,dtype=torch.cfloat).float()
    torch.ones(2,2,2).T
    torch.ones(()).T
    torch.ones(()).mT
    torch.ones(()).H
    torch.ones(()).mH
    torch.adjoint(torch.ones(()))
    torch.eye(2).to_sparse_csr()
    torch.eye(2).to_sparse_bsc((1,1))
    torch.sparse_coo_tensor([[0]],[1.],(1,))
    torch.sparse_coo_tensor([[0]],[1.],(1,),check_invariants=False)
    torch.nested.nested_tensor([torch.ones(2)])
    torch.searchsorted(torch.arange(3.),torch.ones(2,2).t())
    torch.bucketize(torch.ones(2),torch.arange(6.)[::2])
    torch.cross(torch.ones(3),torch.ones(3))
    torch.cholesky(torch.eye(2))
    torch.qr(torch.eye(2))
    torch.triangular_solve(torch.eye(2),torch.eye(2))
    torch.lu(torch.eye(2))
    torch.lu_solve(torch.eye(2),*torch.linalg.lu_factor(torch.eye(2)))
    torch.chain_matmul(torch.eye(2),torch.eye(2))
    torch.range(0,3)
    torch.where(torch.ones(2,dtype=torch.uint8),1.,2.)
    torch.ones(2).masked_scatter(torch.ones(2,dtype=torch.uint8),torch.ones(2))
    torch.stft(torch.ones(8),4,return_complex=True)
    torch.istft(torch.ones(3,4,dtype=torch.cfloat),4)
    torch.ones(2).scatter(0,torch.tensor([0]),torch.ones(1),reduce="add")
    torch.ones(2).scatter(0,torch.tensor([0]),1.,reduce="add")
    torch.ones(2).index_reduce(0,torch.tensor([0]),torch.ones(1),"mean")
    torch.set_default_tensor_type(torch.FloatTensor)
    (torch.ones(1,requires_grad=True)*2).sum().backward(create_graph=True)
    torch.ones(2).new_tensor(torch.ones(1))
    torch.ones(2)[torch.ones(2,dtype=torch.uint8)]
"""


def case_warnings_given_once(torch):
    """What warns, how often in three calls, and again where set_warn_always() asks for each time."""
    found = []
    for always in (True, False):
        torch.set_warn_always(always)
        for text in _WARNING.strip().splitlines():
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                for _ in range(3):
                    try:
                        eval(text, {"torch": torch, "np": np})
                    except Exception as e:
                        found.append(type(e).__name__)
            heads = {str(w.message).partition(" (Triggered")[0][:60].rstrip() for w in seen}
            found.append([text, torch.is_warn_always_enabled(), len(seen), sorted(heads)])
    torch.set_warn_always(False)
    return found


_MASKS_OF_BYTES = r"""
    x = torch.ones(2); x[torch.tensor([1,0],dtype=torch.uint8)] = 1; x
    x = torch.ones(2); x.index_put_((torch.tensor([1,0],dtype=torch.uint8),),torch.tensor(1.))
    x = torch.ones(2,2); x[0,torch.tensor([1,0],dtype=torch.uint8)] = 1; x
    x = torch.ones(2,2); x[torch.tensor([1,0],dtype=torch.uint8)] = torch.zeros(1,2); x
    torch.ones(2).masked_fill(torch.ones(2),1)
    torch.ones(2,2,2).H
    torch.ones(2).H
    torch.ones(2).mH
    torch.ones(2).mT
    int(torch.tensor(1.5+0j))
    int(torch.tensor(1+1j))
    torch.lu(torch.ones(2,2))[1]
    torch.matrix_rank(torch.eye(2))
    torch.ones(2).untyped_storage().pin_memory()
    torch.ones(2,device="meta").untyped_storage().pin_memory()
"""


def case_masks_of_bytes_and_old_names(torch):
    return outcomes(torch, _MASKS_OF_BYTES)


_ORDER_OF_CHECKS = r"""
    torch.ones(2,3).index_add(0,torch.tensor([0]),torch.tensor(1.))
    torch.ones(3).index_add(0,torch.tensor([0]),torch.tensor(1.))
    torch.tensor(1.).index_add(0,torch.tensor([0]),torch.ones(1))
    torch.ones(2,3).index_add(0,torch.tensor([0]),torch.ones(1,2))
    torch.ones(2,3).index_copy(0,torch.tensor([0]),torch.tensor(1.))
    torch.ones(2,3).index_copy(0,torch.tensor([0]),torch.ones(3))
    torch.ones(2,3,4).index_copy(1,torch.tensor([0]),torch.ones(1,3,2))
    torch.ones(2,3,4).index_copy(1,torch.tensor([0,1]),torch.tensor(1.))
    torch.ones(2,3).index_copy(0,torch.tensor([0,1]),torch.ones(1,3))
    torch.ones(2,3).index_reduce(0,torch.tensor([0]),torch.ones(1,2),"mean")
    torch.ones(2,3).index_reduce(0,torch.tensor([0]),torch.ones(1),"mean")
    F.cross_entropy(torch.tensor(1.),torch.tensor(1.))
    F.cross_entropy(torch.tensor(1),torch.tensor(1))
    F.cross_entropy(torch.tensor(1.),torch.ones(3))
    F.cross_entropy(torch.ones(2,dtype=torch.cfloat),torch.ones(2,dtype=torch.cfloat))
    torch.ones(2,3,requires_grad=True).transpose_(0,2)
    torch.ones(2,3,requires_grad=True).squeeze_(5)
    torch.ones(2,3,requires_grad=True).unsqueeze_(7)
    torch.ones(2,3,requires_grad=True).as_strided_((1,),(1,),99)
    torch.tensor([1j]).argmax(3)
    torch.tensor([True]).argmin(3)
    torch.tensor([1j]).aminmax(dim=3)
    torch.tensor([1j]).nansum(3)
    torch.ones(2,0).aminmax(dim=1)
    torch.ones(3).split(-1,5)
    torch.tensor(1.).unbind(2)
    torch.tensor(1.).gather(0,torch.tensor(3))
    torch.tensor(1.).gather(0,torch.tensor(-1))
    torch.ones(3).gather(0,torch.tensor(3))
    torch.cat([torch.ones(0,3,4,4).to(memory_format=torch.channels_last)]*2,1).stride()
    nn.BatchNorm2d(3)(torch.ones(0,3,4,4).to(memory_format=torch.channels_last)).stride()
    nn.InstanceNorm2d(3).eval()(torch.ones(0,3,4,4).to(memory_format=torch.channels_last)).stride()
"""


def case_order_of_checks(torch):
    return outcomes(torch, _ORDER_OF_CHECKS)


_SIZES_THAT_DO_NOT_FIT = r"""
    torch.ones(2, 3, 4) + torch.ones(5)
    torch.ones(5) + torch.ones(2, 3, 4)
    torch.ones(5, 2, 3, 4) * torch.ones(7, 4)
    torch.ones(2, 3) - torch.ones(4, 2, 5)
    torch.where(torch.ones(3, 2) > 0, torch.ones(2), torch.ones(4, 3))
    torch.ones(2, 3).add_(torch.ones(4))
    torch.broadcast_shapes((2, 3, 4), (5,))
    torch.broadcast_tensors(torch.ones(2, 3, 4), torch.ones(2, 4))
    torch.addcmul(torch.ones(2, 3), torch.ones(3), torch.ones(5, 2))
    torch.ones(6, 2, 3).expand(2, 3, 3)
"""


def case_sizes_that_do_not_fit(torch):
    return outcomes(torch, _SIZES_THAT_DO_NOT_FIT)


_NUMBERS_THAT_DO_NOT_FIT = r"""
    torch.full((2,), 1e300, dtype=torch.complex64)
    torch.full((2,), 1e300+0j, dtype=torch.complex64)
    torch.full((1,), 1e10, dtype=torch.float8_e4m3fn)
    torch.full((2,), 1e10, dtype=torch.float8_e4m3fn)
    torch.full((1,), 1e10, dtype=torch.float8_e5m2)
    torch.where(x>0, h, 1e10)
    torch.where(x>0, 1e300, x)
    torch.clamp(x, 1j)
    torch.clamp(x, min=1j)
    torch.clamp(x, max=torch.tensor(1j))
    x.clamp_(1j)
    torch.zeros(2,dtype=torch.complex64).fill_(1e300)
    torch.zeros(2).fill_(1e300)
    torch.linalg.lstsq(torch.zeros(0,3,0), torch.zeros(0,3,2)).solution.shape
    torch.linalg.lstsq(torch.zeros(2,3,0), torch.zeros(2,3,2)).solution.shape
    torch.poisson(torch.tensor([float('nan'),2.]))[0]
    torch.nn.functional.threshold(h, 1e10, 0)
    torch.add(h, 1e10)
    torch.complex(torch.ones(1),torch.ones(1)).clamp(0)
    torch.scalar_tensor(1e300, dtype=torch.float32)
    torch.tensor(1e300, dtype=torch.complex64)
    torch.tensor([1e10]).to(torch.float8_e4m3fn)
    torch.tensor(1e10).to(torch.float8_e4m3fn)
    torch.full((1,), -1e10, dtype=torch.float8_e4m3fn)
    torch.full((1,), float('inf'), dtype=torch.float8_e4m3fn)
    torch.full((1,), 470., dtype=torch.float8_e4m3fn)
    torch.tensor([1e10], dtype=torch.float8_e4m3fn)
    torch.full((1,), 1e10, dtype=torch.float8_e4m3fnuz)
    torch.full((1,), 1e300, dtype=torch.complex64)
    torch.full((2,), complex(0,1e300), dtype=torch.complex64)
    torch.full((2,), complex(float('inf'),1), dtype=torch.complex64)
    torch.full((2,), 1e10, dtype=torch.complex32)
    torch.full((1,), 1e10, dtype=torch.complex32)
    torch.where(x>0, x, 1e300)
    torch.where(x>0, x, 1e300+0j)
    torch.where(x>0, 1e300, 1)
    torch.where(x>0, c, 1e300)
    torch.where(x>0, i, 300)
    torch.where(x>0,b,1e39)
    torch.clamp(x, 1j, 2)
    torch.clamp(x, 0, 1j)
    torch.clamp(x, 1+0j)
    torch.clamp(h, 0, 1e10)
    torch.clamp(x, 0, 1e300)
    torch.clamp(i, 0, 300)
    torch.clamp(x, torch.tensor(1j))
    torch.clamp(x, torch.tensor(1j), torch.tensor(2.))
    torch.clamp(x, torch.tensor(1.), torch.tensor(2j))
    torch.clamp(c, 0)
    torch.clip(x, 1j)
    torch.clamp_min(x, 1j)
    torch.clamp_max(x, 1j)
    torch.nn.functional.threshold(h, 0, 1e10)
    torch.nn.functional.threshold(x, 1e300, 0)
    torch.nn.functional.threshold(x, 0, 1e300)
    torch.nn.functional.threshold(i, 300, 0)
    torch.nn.functional.threshold(i, 0, 300)
    torch.nn.functional.threshold(x, 1j, 0)
    h.masked_fill(x>0,1e10)
    c.masked_fill(x>0,1e300)
    torch.nn.functional.hardtanh(h,-1,1e10)
    torch.nn.functional.hardtanh(x,-1,1e300)
    torch.nn.functional.pad(c,(1,1),value=1e300)
    torch.nn.functional.pad(h,(1,1),value=1e10)
    torch.linalg.lstsq(torch.zeros(0,3,0), torch.zeros(0,3,2))
    torch.linalg.lstsq(torch.zeros(0,3,2), torch.zeros(0,3,2)).solution.shape
    c.clone().index_fill_(0,torch.tensor([0]),1e300)
    torch.zeros(2,2,dtype=torch.complex64).fill_diagonal_(1e300)
    torch.full_like(c,1e300)
    c.new_full((2,),1e300)
    torch.eye(2,dtype=torch.complex64).scatter(0,torch.tensor([[0,1]]),1e300)
"""


def case_numbers_that_do_not_fit(torch):
    tensors = "x = torch.ones(2); h = x.half(); b = x.bfloat16(); i = x.to(torch.int8); c = x.to(torch.complex64)"
    return outcomes(torch, "\n".join(f"{tensors}; {line}" for line in _NUMBERS_THAT_DO_NOT_FIT.strip().splitlines()))


_WITH_LARGE_INTS = """
x + n
i + n
i * n
n - x
x == n
i < n
i // n
i % n
x / n
i & n
i << n
torch.full((2,), n)
torch.full((2,), n, dtype=torch.float32)
torch.full_like(x, n)
x.new_full((2,), n)
torch.scalar_tensor(n)
x.clone().fill_(n)
i.clone().fill_(n)
x.masked_fill(x > 0, n)
x.index_fill(0, torch.tensor([0]), n)
x.scatter(0, torch.tensor([0]), n)
torch.where(x > 0, x, n)
x.clamp(n)
i.clamp(max=n)
torch.add(x, x, alpha=n)
torch.addcmul(x, x, x, value=n)
torch.lerp(x, x, n)
torch.isin(i, n)
torch.remainder(n, i)
torch.arange(n, n + 3)
torch.linspace(0, n, 2)
torch.tensor(n)
torch.tensor([n, 1])
torch.tensor(n, dtype=torch.int64)
torch.tensor([n], dtype=torch.float64)
F.pad(x, (0, 1), value=n)
x[n]
x[:n]
x.clone().__setitem__(0, n)
i.clone().__setitem__(0, n)
"""


def case_ints_beyond_64_bits(torch):
    found = {}
    for name, n in (("2**63", 2**63), ("2**64", 2**64), ("-2**63 - 1", -(2**63) - 1)):
        start = f"x = torch.ones(3); i = torch.ones(3, dtype=torch.int64); n = {name}"
        lines = _WITH_LARGE_INTS.strip().splitlines()
        found[name] = outcomes(torch, "\n".join(f"{start}; {line}" for line in lines))
    return found
