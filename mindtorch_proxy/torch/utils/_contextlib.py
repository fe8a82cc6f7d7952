"""Context managers that can also be used as decorators, of generators too."""

import functools
import inspect


def context_decorator(ctx, func):
    """Return a function that runs ``func`` inside a context, given as a cloneable instance or a factory."""
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have "
            "the context manager applied; additionally, decorating a class at definition-site will prevent use of the "
            "identifier as a conventional type.  To specify which methods to decorate, "
            "decorate each of them individually."
        )
    factory = (
        ctx.clone if hasattr(ctx, "clone") else ctx if callable(ctx) and not hasattr(ctx, "__enter__") else lambda: ctx
    )
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            generator, argument = func(*args, **kwargs), None
            step = generator.send
            while True:  # the context is active only while the generator itself runs
                try:
                    with factory():
                        value = step(argument)
                except StopIteration as e:
                    return e.value
                try:
                    argument, step = (yield value), generator.send
                except GeneratorExit:
                    with factory():
                        generator.close()
                    raise
                except BaseException as e:
                    argument, step = e, generator.throw

        return wrapper

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with factory():
            return func(*args, **kwargs)

    return wrapper


class _DecoratorContextManager:
    """The base class of context managers that can be used as decorators."""

    def __call__(self, orig_func):
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError

    def clone(self):
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The base class for context managers without parameters, for which ``@manager`` works without a call."""

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
