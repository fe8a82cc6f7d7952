"""Functions that are written for one operator: their source stands in linecache, so that tracebacks and debuggers show
it.
"""

import linecache
from itertools import count

_numbers = count()


class Source:
    """The text of a function to be made. add() takes lines, with an indentation of their own.

    Names are the globals it will see.
    """

    def __init__(self, name, parameters, **names):
        self.name, self.names = name, names
        self.lines = [f"def {name}({parameters}):"]
        self.pending: list = []  # lines that a stage leaves for later

    def add(self, *lines, depth=1):
        self.lines += ["    " * depth + line for line in lines]
        return self

    def function(self, title):
        """The function; `title` tells a reader of a traceback what it belongs to."""
        file = f"<{title} #{next(_numbers)}>"
        text = "\n".join(self.lines) + "\n"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), self.names)
        return self.names[self.name]


def source_of(function):
    """The text of a generated function, or None for one that was written by hand."""
    code = getattr(function, "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code is not None and code.co_filename[:1] == "<" else None
