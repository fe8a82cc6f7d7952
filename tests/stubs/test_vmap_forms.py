"""vmap against a loop over the samples: call forms of operators with their arguments by place, by keyword, negative,
and left out.
"""

import pytest
import torch
from torch.func import grad, vmap

F = torch.nn.functional
FORMS = """
t.diff() ; t.diff(1) ; t.diff(2,0) ; torch.diff(t,dim=1) ; torch.diff(t,n=2,dim=-2) ; t.diff(prepend=t[...,:1])
torch.diff(t,1,-1,t[...,:1],t[...,:2]) ; t.flip(0) ; t.flip(0,1) ; t.flip((0,2)) ; t.flip(dims=(1,)) ; torch.flip(t,[0])
torch.flip(t,dims=(-1,)) ; t.fliplr() ; t.flipud() ; t.roll(1) ; t.roll(1,0) ; t.roll((1,2),(0,1))
torch.roll(t,shifts=1,dims=1) ; t.roll(shifts=(1,),dims=(-1,)) ; t.rot90() ; torch.rot90(t,1,[0,2])
torch.rot90(t,k=2,dims=(1,2)) ; t.select(0,1) ; t.select(dim=1,index=2) ; torch.select(t,-1,0) ; t.narrow(0,1,2)
t.narrow(dim=-1,start=0,length=2) ; t.unbind()[1] ; t.unbind(-1)[0] ; torch.unbind(t,dim=1)[0] ; t.unflatten(0,(2,2))
t.unflatten(dim=-1,sizes=(2,3)) ; t.index_select(0,torch.tensor([0,1]))
torch.index_select(t,dim=-1,index=torch.tensor([0])) ; t.chunk(2)[0] ; t.chunk(2,1)[1] ; torch.chunk(t,2,dim=-1)[0]
t.chunk(chunks=2)[0] ; t.split(2)[0] ; t.split(2,1)[0] ; torch.split(t,[1,3])[1]
torch.split(t,split_size_or_sections=2,dim=-1)[0] ; t.split(split_size=2)[0] ; t.tensor_split(2)[1]
t.tensor_split(3,-1)[0] ; torch.tensor_split(t,(1,2),dim=1)[2] ; t.hsplit(5)[0] ; t.vsplit(2)[0] ; t.dsplit(2)[1]
t.transpose(0,1) ; t.transpose(dim0=0,dim1=-1) ; t.swapaxes(0,2) ; t.swapaxes(axis0=0,axis1=1) ; torch.swapdims(t,0,1)
t.movedim(0,-1) ; torch.movedim(t,source=(0,1),destination=(2,0)) ; torch.moveaxis(t,0,1) ; t.permute(2,0,1)
t.permute(dims=(1,0,2)) ; torch.permute(t,(2,1,0)) ; t.mT ; t.mH ; t[0].T ; t[0].t() ; t[0].H ; t.unsqueeze(0)
t.unsqueeze(-1) ; t.unsqueeze(dim=2) ; t.squeeze() ; t.unsqueeze(0).squeeze(0) ; t.unsqueeze(1).squeeze(dim=1)
t[:1].squeeze((0,)) ; t.squeeze(-1) ; t.sum() ; t.sum(0) ; t.sum(dim=(0,2)) ; t.sum(-1,keepdim=True) ; t.sum(axis=1)
t.mean((1,2),True) ; t.mean(dtype=torch.float64) ; t.sum(dtype=torch.int64) ; t.prod() ; t.prod(1,keepdim=True)
t.amax() ; t.amax((0,1)) ; t.amin(dim=0,keepdim=True) ; t.all() ; t.all(0) ; t.any(dim=(0,1)) ; t.argmax() ; t.argmax(0)
t.argmax(dim=-1,keepdim=True) ; t.argmin(keepdim=True,dim=0) ; t.max() ; t.max(0)[1] ; t.max(dim=1,keepdim=True)[0]
t.min(-1)[1] ; t.var() ; t.var(0) ; t.var((0,1),correction=0) ; t.var(unbiased=False) ; t.var(0,False)
t.var(0,unbiased=False,keepdim=True) ; t.std(correction=2,dim=0) ; torch.var_mean(t)[1]
torch.std_mean(t,dim=0,correction=0)[0] ; t.logsumexp(0) ; t.logsumexp((0,1),True) ; t.nansum() ; t.nanmean(0)
t.count_nonzero() ; t.count_nonzero(dim=0) ; t.median() ; t.median(0)[0] ; t.median(dim=-1,keepdim=True)[1]
t.nanmedian() ; t.nanmedian(0)[0] ; t.mode(0)[0] ; t.mode()[0] ; t.cumsum(0) ; t.cumsum(dim=-1) ; t.cumprod(1)
t.logcumsumexp(0) ; t.cummax(0)[1] ; t.cummin(-1)[0] ; torch.aminmax(t)[0] ; torch.aminmax(t,dim=0,keepdim=True)[1]
t.quantile(.3) ; t.quantile(.3,0) ; t.quantile(torch.tensor([.3,.4]),dim=1,keepdim=True) ; t.nanquantile(.5,-1)
t.norm() ; t.norm(1) ; t.norm(2,0) ; t.norm(p=2,dim=(0,1)) ; torch.norm(t,dim=1,keepdim=True) ; t.norm('fro')
t.norm(float('inf'),-1) ; torch.linalg.norm(t) ; torch.linalg.norm(t,dim=0) ; torch.linalg.vector_norm(t)
torch.linalg.vector_norm(t,3,(0,1)) ; torch.linalg.vector_norm(t,ord=1,dim=-1,keepdim=True)
torch.linalg.matrix_norm(t) ; torch.linalg.matrix_norm(t,'nuc',(0,1)) ; torch.linalg.matrix_norm(t,ord=1,keepdim=True)
torch.linalg.norm(t[0],'fro') ; t.sort()[0] ; t.sort(0)[1] ; t.sort(dim=1,descending=True)[0] ; t.sort(-1,True)[0]
t.sort(stable=True,dim=0)[1] ; t.argsort() ; t.argsort(0) ; t.argsort(dim=-1,descending=True) ; t.topk(2)[0]
t.topk(2,0)[1] ; t.topk(k=2,dim=1,largest=False)[0] ; t.kthvalue(2)[0] ; t.kthvalue(2,0)[1]
t.kthvalue(k=1,dim=1,keepdim=True)[0] ; t.msort() ; t.softmax(0) ; t.softmax(dim=-1) ; F.softmax(t,1)
F.softmax(t,dim=0,dtype=torch.float64) ; F.log_softmax(t,-1) ; F.softmin(t,dim=1) ; torch.softmax(t,0) ; F.glu(t)
F.glu(t,dim=0) ; F.normalize(t) ; F.normalize(t,dim=0) ; F.normalize(t,p=1,dim=-1) ; F.cosine_similarity(t,t.flip(0))
F.cosine_similarity(t,t+1,dim=0) ; F.pairwise_distance(t[0],t[1]) ; t.diagonal() ; t.diagonal(1) ; t.diagonal(0,0,2)
torch.diagonal(t,dim1=1,dim2=2) ; t.diagonal(offset=-1,dim1=-2,dim2=-1) ; t.diag_embed() ; torch.diag_embed(t,1,0,2)
t[0].diag() ; t[0,0].diag() ; t[0].trace() ; t[0].tril(-1) ; t.triu(1) ; t[0,0].diagflat() ; t.flatten() ; t.flatten(1)
t.flatten(0,1) ; t.flatten(start_dim=1,end_dim=-1) ; t.ravel() ; t.reshape(-1) ; t.reshape((2,-1))
t.reshape(shape=(20,6)) ; t.view(4,30) ; t.view(-1,6) ; t.view(torch.int32) ; t.view_as(t) ; t.reshape_as(t)
t.expand(2,4,5,6) ; t.expand(-1,-1,-1) ; t[:1].expand(4,5,6) ; t[:1].expand_as(t) ; torch.broadcast_to(t,(2,4,5,6))
t.repeat(2,1,1) ; t.repeat(2,1,1,1) ; t.tile(2) ; t.tile((2,1,1,1)) ; t.repeat_interleave(2) ; t.repeat_interleave(2,0)
t.repeat_interleave(2,dim=-1) ; t.unfold(0,2,1) ; t.unfold(-1,3,2) ; t.unfold(dimension=1,size=2,step=1)
torch.cat([t,t]) ; torch.cat([t,t],1) ; torch.cat((t,t),dim=-1) ; torch.stack([t,t]) ; torch.stack([t,t],-1)
torch.stack((t,t),dim=1) ; torch.hstack([t,t]) ; torch.vstack([t,t]) ; torch.dstack([t,t]) ; torch.column_stack([t,t])
torch.block_diag(t[0],t[1]) ; torch.cartesian_prod(t[0,0],t[1,0]) ; torch.combinations(t[0,0]) ; t@t.mT
torch.matmul(t,t[0].T) ; t[0]@t[0].T ; t[0]@t[0,0] ; t[0,0]@t[0,0] ; torch.mm(t[0],t[1].T) ; torch.mv(t[0],t[0,0])
torch.bmm(t,t.mT) ; torch.dot(t[0,0],t[1,1]) ; torch.vdot(t[0,0],t[1,1]) ; torch.inner(t,t) ; torch.outer(t[0,0],t[1,1])
torch.ger(t[0,0],t[1,1]) ; torch.addmm(t[0,:,:5],t[0],t[1].T) ; torch.addmv(t[0,:,0],t[0],t[0,0])
torch.baddbmm(t[:,:,:5],t,t.mT) ; torch.addbmm(t[0,:,:5],t,t.mT) ; torch.addr(t[0],t[0,:,0],t[0,0])
torch.einsum('abc,abd->acd',t,t) ; torch.tensordot(t,t,([0],[0])) ; torch.tensordot(t,t,dims=([0,1],[0,1]))
torch.kron(t[0],t[1]) ; torch.linalg.multi_dot([t[0],t[1].T,t[2]]) ; torch.cross(t[:3],t[1:4],dim=0)
torch.linalg.cross(t[...,:3],t[...,3:]) ; torch.cdist(t,t) ; torch.cdist(t,t,p=1.) ; F.linear(t,t[0])
F.linear(t,t[0],t[0,:,0]) ; F.bilinear(t[0],t[0],torch.ones(2,6,6)) ; t.gather(0,(t*3).long().clamp(max=3))
t.gather(dim=-1,index=(t*5).long()) ; torch.take_along_dim(t,t.argsort(1),1) ; t.take(torch.tensor([0,5]))
t.index_select(-1,(t[0,0]*5).long()) ; t[(t[0,0]*3).long()] ; t[:,(t[0,0]*3).long()] ; t[...,torch.tensor([0,1])]
t[torch.tensor([0,1]),:,torch.tensor([1,2])] ; t[None,0] ; t[1:,::2] ; t[...,None] ; t.scatter(0,(t*3).long(),t)
t.scatter(1,(t*3).long(),2.) ; t.scatter_add(0,(t*3).long(),t) ; t.scatter_reduce(0,(t*3).long(),t,'amax')
t.index_add(0,torch.tensor([0,1]),t[:2]) ; t.index_copy(1,torch.tensor([0,1]),t[:,:2])
t.index_fill(0,torch.tensor([1]),7.) ; t.index_put((torch.tensor([0,1]),),t[:2]) ; t.masked_fill(t>.5,0)
t.masked_fill(mask=t>.5,value=1.) ; torch.where(t>.5,t,1.) ; torch.where(t>.5,0.,t) ; t.where(t>.5,t*2)
t.select_scatter(t[0],0,1) ; t.slice_scatter(t[:2],0,1,3) ; t.diagonal_scatter(t.diagonal()) ; t.masked_scatter(t>.5,t)
t.put(torch.tensor([0]),t[0,0,:1]) ; torch.searchsorted(t.sort(-1)[0],t) ; torch.bucketize(t,torch.tensor([.2,.5]))
torch.searchsorted(torch.tensor([.1,.5]),t) ; torch.isin(t,t[0]) ; F.layer_norm(t,(6,))
F.layer_norm(t,(5,6),torch.ones(5,6),torch.zeros(5,6)) ; F.rms_norm(t,(6,)) ; F.batch_norm(t,None,None,training=True)
F.batch_norm(t,torch.zeros(5),torch.ones(5)) ; F.group_norm(t,5) ; F.instance_norm(t) ; F.local_response_norm(t,2)
F.conv1d(t,torch.ones(2,5,3)) ; F.conv1d(t,t[:2,:,:3],padding=1) ; F.conv2d(t[None],torch.ones(2,4,3,3))
F.conv_transpose1d(t,torch.ones(5,2,3)) ; F.max_pool1d(t,2) ; F.max_pool2d(t,2,stride=1) ; F.avg_pool1d(t,2)
F.avg_pool2d(t,(2,2)) ; F.adaptive_avg_pool1d(t,3) ; F.adaptive_max_pool2d(t,(2,2)) ; F.lp_pool1d(t,2,2)
F.interpolate(t,scale_factor=2) ; F.interpolate(t[None],size=(7,7),mode='bilinear') ; F.pad(t,(1,1))
F.pad(t,(1,1,2,0),value=3.) ; F.pad(t,(1,1),mode='reflect') ; F.pad(t,(1,2),mode='circular') ; F.unfold(t,2)
F.pixel_shuffle(t,2) ; F.pixel_unshuffle(t[:, :4],2) ; F.channel_shuffle(t[:, :4],2) ; F.one_hot((t*3).long(),4)
torch.sum(input=t) ; torch.sum(input=t,dim=0) ; torch.softmax(input=t,dim=1) ; torch.flip(input=t,dims=(0,))
torch.transpose(input=t,dim0=0,dim1=1) ; torch.add(input=t,other=t) ; torch.cat(tensors=[t,t],dim=1)
torch.matmul(input=t,other=t.mT) ; t.max() ; torch.max(t,t*2) ; torch.max(t,dim=0)[0] ; torch.mode(t,dim=0)[1]
torch.std_mean(t,unbiased=False)[1] ; torch.var_mean(t,correction=0)[0] ; F.layer_norm(input=t,normalized_shape=(6,))
F.linear(input=t,weight=t[0]) ; torch.stack(tensors=(t,t),dim=-1) ; t.permute(dims=(2,1,0))
F.embedding(torch.tensor([0,1]),t[0]) ; F.cross_entropy(t[0],torch.tensor([0,1,2,3,4])) ; F.cross_entropy(t[0],t[1])
F.nll_loss(t[0],torch.tensor([0,1,2,3,4])) ; F.mse_loss(t,t*2) ; F.mse_loss(t,t*2,reduction='none')
F.l1_loss(t,t*2,reduction='sum') ; F.kl_div(t.log(),t) ; F.binary_cross_entropy(t,t) ; F.smooth_l1_loss(t,t*3)
F.huber_loss(t,t*3) ; F.hinge_embedding_loss(t,t.round()*2-1) ; F.cosine_embedding_loss(t[0],t[1],torch.ones(5))
F.triplet_margin_loss(t[0],t[1],t[2]) ; F.scaled_dot_product_attention(t,t,t)
F.scaled_dot_product_attention(t,t,t,is_causal=True) ; F.gelu(t,approximate='tanh') ; F.softplus(t,2.,1.)
F.prelu(t,torch.tensor(.2)) ; F.hardtanh(t,.2,.4) ; F.dropout(t,.5,False) ; F.grid_sample(t[None],torch.zeros(1,2,2,2))
F.affine_grid(t[0,:2,:3][None],(1,1,2,2)) ; torch.fft.fft(t).abs() ; torch.fft.rfft(t,dim=0).abs()
torch.fft.irfft(t,dim=1) ; torch.fft.fft2(t).abs() ; torch.fft.fftn(t,dim=(0,1)).abs() ; torch.fft.fftshift(t)
torch.fft.fftshift(t,dim=0) ; torch.fft.ifft(t,n=3).real
torch.stft(t[0],4,return_complex=True,window=torch.ones(4)).abs() ; torch.linalg.svd(t)[1] ; torch.linalg.svdvals(t)
torch.linalg.eigvalsh(t@t.mT) ; torch.linalg.eigh(t@t.mT)[0] ; torch.linalg.cholesky(t@t.mT+torch.eye(5))
torch.linalg.inv(t[:,:,:5]+2*torch.eye(5)) ; torch.linalg.det(t[:,:,:5]) ; torch.linalg.slogdet(t[:,:,:5])[1]
torch.linalg.solve(t[:,:,:5]+2*torch.eye(5),t) ; torch.linalg.lstsq(t.mT,t.mT)[0] ; torch.linalg.pinv(t)
torch.linalg.matrix_rank(t) ; torch.linalg.matrix_power(t[:,:,:5],2) ; torch.linalg.matrix_exp(t[:,:,:5])
torch.linalg.qr(t)[1].abs() ; torch.linalg.lu_factor(t)[0]
torch.linalg.solve_triangular(t[:,:,:5].triu()+torch.eye(5),t,upper=True) ; torch.linalg.vecdot(t,t)
torch.linalg.vander(t[0,0]) ; torch.linalg.cond(t[:,:,:5]) ; torch.linalg.eigvals(t[:,:,:5]).abs().sort()[0]
torch.clamp(t,.2) ; t.clamp(max=.5) ; t.clip(.1,.3) ; t.clamp(min=t.flip(0)) ; torch.lerp(t,t*2,.3)
torch.addcmul(t,t,t,value=2) ; torch.addcdiv(t,t,t+1) ; t.pow(2) ; 2**t ; t**t ; torch.atan2(t,t*2) ; t.fmod(.3)
t.remainder(.2) ; torch.hypot(t,t) ; t.round(decimals=1) ; t.float_power(2) ; torch.logaddexp(t,t) ; torch.xlogy(t,t)
t.sigmoid() ; t.lgamma() ; t.erfinv() ; torch.special.i0e(t) ; torch.polygamma(1,t) ; torch.heaviside(t-.5,t)
t.nan_to_num() ; torch.copysign(t,-t) ; torch.nextafter(t,t+1) ; torch.ldexp(t,(t*3).int()) ; torch.frexp(t)[0]
t.bool().logical_xor(t>.5) ; (t*8).int().bitwise_and(3) ; (t*8).int()<<1 ; torch.gcd((t*8).int(),(t*6).int()) ; t.real
torch.complex(t,t).imag ; torch.view_as_real(torch.complex(t,t)) ; torch.view_as_complex(t.view(4,5,3,2)).abs()
torch.polar(t,t).angle() ; t.conj() ; t.isnan() ; t.isfinite() ; torch.isclose(t,t+1e-9) ; t.sign() ; t.neg() ; -t
abs(t) ; ~(t>.5) ; t//.3 ; t%.3 ; 1/t ; 1-t ; t.reciprocal() ; t.type_as(t.double()) ; t.to(torch.int)
t.half().float() ; t.long() ; torch.zeros_like(t) ; torch.full_like(t,3) ; t.new_ones(2,3)
t.new_full((2,),1.)+t[0,0,0] ; torch.ones_like(t,dtype=torch.int) ; t.clone() ; t.contiguous() ; t.detach()
t.renorm(2,0,.5) ; torch.trapezoid(t) ; torch.trapz(t,dim=0) ; torch.cumulative_trapezoid(t,dim=1)
torch.gradient(t[0,0])[0] ; torch.cov(t[0]) ; torch.corrcoef(t[0]) ; torch.dist(t,t*2)
torch.meshgrid(t[0,0],t[1,0],indexing='xy')[0] ; torch.vander(t[0,0],3) ; torch.logit(t) ; torch.atleast_3d(t[0,0])
torch.tril_indices(3,3).float()+t[0,0,0] ; torch.nn.functional.threshold(t,.2,0.) ; torch.rsub(t,1)
torch.true_divide(t,2) ; torch.div(t,.3,rounding_mode='floor') ; torch.sub(t,t,alpha=.5) ; torch.add(t,1,alpha=2)
torch.unravel_index(torch.tensor(5),(2,3))[0]+t[0,0,0].long()
"""
CALLS = [form for line in FORMS.split("\n") for form in line.split(" ; ") if form]
SHAPES = (3,), (3, 4), (3, 5, 4), (3, 4, 5, 6)
WITHOUT_GRADIENTS = "heaviside", "//", "rounding_mode"


def same(a, b):
    close = dict(atol=5e-4, rtol=1e-3, equal_nan=True)
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a if a.is_complex() else a.double(), b if b.is_complex() else b.double(), **close)
    )


def stacked(f, x):
    """What a loop gives; None where samples of this shape are no arguments."""
    try:
        return torch.stack([f(sample) for sample in x])
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
        return None


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_form_gives_what_a_loop_gives(shape):
    x = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    wrong, compared = [], 0
    for call in CALLS:
        f = eval(f"lambda t: {call}", {"torch": torch, "F": F})
        wanted = stacked(f, x)
        if wanted is None:
            continue
        compared += 1
        last = x.dim() - 1
        if not (
            same(vmap(f)(x), wanted)
            and same(vmap(f, in_dims=last, out_dims=-1)(x.movedim(0, last)).movedim(-1, 0), wanted)
        ):
            wrong.append(call)
    assert not wrong
    assert compared > {1: 100, 2: 150, 3: 300, 4: 400}[len(shape)]


def test_gradients_through_each_form():
    x, wrong, compared = torch.rand((2, 4, 5, 6), generator=torch.Generator().manual_seed(0)), [], 0
    for call in CALLS:
        f = eval(f"lambda t: {call}", {"torch": torch, "F": F})
        leaf = x.clone().requires_grad_()
        wanted = stacked(f, leaf)
        if wanted is None or not wanted.requires_grad or any(part in call for part in WITHOUT_GRADIENTS):
            continue
        compared += 1
        (gradient,) = torch.autograd.grad(wanted.sum(), leaf)
        if not (
            same(grad(lambda t: vmap(f)(t).sum())(x), gradient) and same(vmap(grad(lambda t: f(t).sum()))(x), gradient)
        ):  # noqa: B023
            wrong.append(call)
    assert not wrong
    assert compared > 250


def test_nested_forms():
    x = torch.rand((2, 3, 4, 5, 6), generator=torch.Generator().manual_seed(0))
    calls = [f"lambda t: {call}" for call in CALLS]
    wanted = [
        stacked(lambda row: torch.stack([f(t) for t in row]), x)
        for f in (eval(c, {"torch": torch, "F": F}) for c in calls)
    ]  # noqa: B023
    wrong = [
        c
        for c, w in zip(calls, wanted)
        if w is not None and not same(vmap(vmap(eval(c, {"torch": torch, "F": F})))(x), w)
    ]
    assert not wrong


class Convolutional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm, self.linear = (
            torch.nn.Conv2d(1, 4, 3),
            torch.nn.GroupNorm(2, 4),
            torch.nn.Linear(36, 5),
        )

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.convolution(x))), 2)
        return F.log_softmax(self.linear(F.avg_pool2d(F.interpolate(x, scale_factor=2), 2).flatten(1)), 1)


def test_networks_run_on_whole_batches():
    """Per-sample gradients, ensembles and Jacobians call no operator for each sample."""
    torch.manual_seed(0)
    models, images, labels = [Convolutional() for _ in range(3)], torch.rand(6, 1, 8, 8), torch.arange(6) % 5
    weights = {k: v.detach() for k, v in models[0].named_parameters()}
    layer, tokens = (
        torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).eval(),
        torch.rand(2, 3, 8),
    )

    def loss(weights, image, label):
        return F.nll_loss(torch.func.functional_call(models[0], weights, (image.unsqueeze(0),)), label.unsqueeze(0))

    stacked_weights, buffers = torch.func.stack_module_state(models)
    torch._C._functorch._set_vmap_fallback_enabled(False)
    try:
        per_sample = vmap(grad(loss), (None, 0, 0))(weights, images, labels)
        together = vmap(lambda w, b, x: torch.func.functional_call(models[0], (w, b), (x,)), (0, 0, None))(
            stacked_weights, buffers, images
        )
        of_image = torch.autograd.functional.jacobian(models[0], images[:1], vectorize=True)
        of_tokens = torch.func.jacrev(layer)(tokens)
        tokens_alone = vmap(layer)(tokens.unsqueeze(1))
    finally:
        torch._C._functorch._set_vmap_fallback_enabled(True)
    for name, g in per_sample.items():
        torch.testing.assert_close(g, torch.stack([grad(loss)(weights, i, l)[name] for i, l in zip(images, labels)]))
    torch.testing.assert_close(together, torch.stack([m(images) for m in models]))
    torch.testing.assert_close(of_image, torch.autograd.functional.jacobian(models[0], images[:1]))
    torch.testing.assert_close(of_tokens, torch.autograd.functional.jacobian(layer, tokens))
    torch.testing.assert_close(tokens_alone.squeeze(1), layer(tokens))
