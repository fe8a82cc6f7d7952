"""How cases put an error beside results. Both torches find this module, because the runner's folder is on the path."""


def attempt(f, *args):
    """What f returns, or the name of its error's class."""
    try:
        return f(*args)
    except Exception as e:
        return f"raises {type(e).__name__}"


def attempts(*makers):
    """What each function returns, or the name of its error's class."""
    return [attempt(make) for make in makers]


def answer(f, *args, cut=100):
    """What f returns, or the name of its error's class and the first line of the message, as far as `cut`
    characters.
    """
    try:
        return f(*args)
    except Exception as e:
        return [type(e).__name__, str(e).split("\n")[0][:cut]]


def written(f, *args):
    """As `answer`, with repr of what f returns."""
    return answer(lambda: repr(f(*args)))
