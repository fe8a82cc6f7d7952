"""FileCheck: checks that a text contains given parts in a given order."""

import re

__all__ = ["FileCheck"]


class FileCheck:
    """Collects checks, which run(text) applies in order.

    Each check starts after the match of the one before. RuntimeError at the first one that fails.
    """

    __module__ = "torch._C"

    def __init__(self):
        self._checks = []

    def _add(self, kind, text, number=None):
        self._checks.append((kind, text, number))
        return self

    def check(self, text):
        """Require the text."""
        return self._add("CHECK", text)

    def check_not(self, text):
        """Forbid the text before the match of the next check."""
        return self._add("CHECK-NOT", text)

    def check_same(self, text):
        """Require the text in the same line."""
        return self._add("CHECK-SAME", text)

    def check_next(self, text):
        """Require the text in the next line."""
        return self._add("CHECK-NEXT", text)

    def check_count(self, text, count, exactly=False):
        """Require the text `count` times; with exactly, forbid it before the match of the next check."""
        self._add("CHECK-COUNT", text, count)
        return self.check_not(text) if exactly else self

    def check_dag(self, text):
        """Require the text; consecutive checks of this kind may match in any order."""
        return self._add("CHECK-DAG", text)

    def check_regex(self, pattern):
        """Require a match of a regular expression."""
        return self._add("CHECK-REGEX", pattern)

    def run(self, text, *rest):
        """Apply the checks to a text. With two texts (checks in comments of the first), raise NotImplementedError."""
        if rest:
            raise NotImplementedError("FileCheck.run with checks in comments is not supported: say them with check()")
        text = str(text)
        at, forbidden, i = 0, [], 0
        while i < len(self._checks):
            kind, what, number = self._checks[i]
            if kind == "CHECK-NOT":
                forbidden.append(what)
                i += 1
                continue
            if kind == "CHECK-DAG":
                group = []
                while i < len(self._checks) and self._checks[i][0] == kind:
                    group.append(self._checks[i][1])
                    i += 1
                found = [self._find(kind, g, text, at) for g in group]
                begin, end = min(f[0] for f in found), max(f[1] for f in found)
            else:
                begin, end = self._find(kind, what, text, at, number)
                i += 1
            self._refuse(forbidden, text, at, begin)
            at, forbidden = end, []
        self._refuse(forbidden, text, at, len(text))

    def _find(self, kind, what, text, at, number=None):
        begin = None
        for _ in range(1 if number is None else number):
            match = (re.compile(what, re.MULTILINE) if kind == "CHECK-REGEX" else re.compile(re.escape(what))).search(
                text, at
            )
            if match is None:
                raise RuntimeError(
                    f'Expected to find "{what}" but did not find it\nSearched string:\n{text[at:]}\nFrom {kind}: '
                    f"{what}\n"
                )
            between = text.count("\n", at, match.start())
            if kind == "CHECK-SAME" and between or kind == "CHECK-NEXT" and between != 1:
                raise RuntimeError(
                    f'Expected to find "{what}" in the {"same" if kind == "CHECK-SAME" else "next"} line\nSearched '
                    f"string:\n{text[at:]}\n"
                )
            begin = match.start() if begin is None else begin
            at = match.end()
        return (at if begin is None else begin), at

    @staticmethod
    def _refuse(forbidden, text, begin, end):
        for what in forbidden:
            if what in text[begin:end]:
                raise RuntimeError(
                    f'Expected to not find "{what}" but found it\nSearched string:\n{text[begin:end]}\nFrom '
                    f"CHECK-NOT: {what}\n"
                )
