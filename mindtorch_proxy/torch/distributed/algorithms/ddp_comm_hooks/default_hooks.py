"""Communication hooks that average gradients, in their own dtype or in half precision."""

import torch
import torch.distributed as dist

__all__ = [
    "allreduce_hook",
    "fp16_compress_hook",
    "bf16_compress_hook",
    "fp16_compress_wrapper",
    "bf16_compress_wrapper",
]


def _group(process_group):
    return dist.group.WORLD if process_group is None else process_group


def _allreduce_fut(process_group, tensor):
    """Average a tensor in place; return the future.

    The tensor is divided before the sum, because half precision could overflow otherwise.
    """
    group = _group(process_group)
    tensor.div_(group.size())
    return dist.all_reduce(tensor, group=group, async_op=True).get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: dist.ProcessGroup, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average the gradients as DistributedDataParallel does without a hook."""
    return _allreduce_fut(process_group, bucket.buffer())


def _into(tensor):
    """Return a callback that copies a future's value to a tensor."""

    def copy(future):
        value = future.value()
        return tensor.copy_(value[0] if isinstance(value, (list, tuple)) else value)

    return copy


def _compress_hook(dtype, process_group, bucket):
    group = _group(process_group)
    buffer = bucket[0] if isinstance(bucket, tuple) else bucket.buffer()
    compressed = buffer.to(dtype).div_(group.size())
    return dist.all_reduce(compressed, group=group, async_op=True).get_future().then(_into(buffer))


def fp16_compress_hook(process_group: dist.ProcessGroup, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average the gradients in float16."""
    return _compress_hook(torch.float16, process_group, bucket)


def bf16_compress_hook(process_group: dist.ProcessGroup, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average the gradients in bfloat16."""
    return _compress_hook(torch.bfloat16, process_group, bucket)


def _wrapper(dtype, hook):
    def wrapper_hook(hook_state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))

        def decompress(future):
            bucket.set_buffer(whole)
            return _into(whole)(future)

        return hook(hook_state, bucket).then(decompress)

    return wrapper_hook


def fp16_compress_wrapper(hook):
    """Wrap a hook so that it gets its bucket in float16."""
    wrapped = _wrapper(torch.float16, hook)
    wrapped.__name__ = wrapped.__qualname__ = "fp16_compress_wrapper_hook"
    return wrapped


def bf16_compress_wrapper(hook):
    """Wrap a hook so that it gets its bucket in bfloat16."""
    wrapped = _wrapper(torch.bfloat16, hook)
    wrapped.__name__ = wrapped.__qualname__ = "bf16_compress_wrapper_hook"
    return wrapped
