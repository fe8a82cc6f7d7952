"""Generation of functions specialised for one operator.

Their source is put into linecache, so that tracebacks and debuggers show it.
"""

import linecache
from itertools import count

_numbers = count()


class Source:
    """The source of a function to be generated. `names` become its globals."""

    def __init__(self, name, parameters, **names):
        self.name, self.names = name, names
        self.lines = [f"def {name}({parameters}):"]
        self.pending: list = []  # lines that one stage of the generator leaves for a later one

    def add(self, *lines, depth=1):
        self.lines += ["    " * depth + line for line in lines]
        return self

    def function(self, title):
        """Compile and return the function. `title` appears in tracebacks as its file name."""
        file = f"<{title} #{next(_numbers)}>"
        text = "\n".join(self.lines) + "\n"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), self.names)
        return self.names[self.name]


def source_of(function):
    """Return the source of a generated function, or None for a function from a file."""
    code = getattr(function, "__code__", None)
    return "".join(linecache.getlines(code.co_filename)) if code is not None and code.co_filename[:1] == "<" else None
