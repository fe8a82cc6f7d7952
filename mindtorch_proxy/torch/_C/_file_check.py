"""FileCheck: what a text holds, in which order."""

import re

__all__ = ["FileCheck"]


class FileCheck:
    """Collects checks; run(text) asks them in order, each behind what the one before found, and raises RuntimeError at
    the first that fails.
    """

    __module__ = "torch._C"

    def __init__(self):
        self._checks = []

    def _add(self, kind, text, number=None):
        self._checks.append((kind, text, number))
        return self

    def check(self, text):
        """The text comes."""
        return self._add("CHECK", text)

    def check_not(self, text):
        """The text does not come before what the next check finds."""
        return self._add("CHECK-NOT", text)

    def check_same(self, text):
        """The text comes in the same line."""
        return self._add("CHECK-SAME", text)

    def check_next(self, text):
        """The text comes in the next line."""
        return self._add("CHECK-NEXT", text)

    def check_count(self, text, count, exactly=False):
        """The text comes so many times; exactly: and not once more."""
        self._add("CHECK-COUNT", text, count)
        return self.check_not(text) if exactly else self

    def check_dag(self, text):
        """The text comes; neighbours of this kind in any order."""
        return self._add("CHECK-DAG", text)

    def check_regex(self, pattern):
        """What fits a regular expression comes."""
        return self._add("CHECK-REGEX", pattern)

    def run(self, text, *rest):
        """Ask the checks of a text. With two texts the first one is a program whose comments hold the checks."""
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
