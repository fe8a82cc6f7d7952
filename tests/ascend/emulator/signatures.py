"""The argument types of aclnn functions, read out of a MindSpore wheel: python signatures.py MINDSPORE_FOLDER > OUT.tsv

With --primitives behind it: a primitive and the aclnn functions that its class for Ascend reaches, a row.

MindSpore calls each function through a template over the tuple of its arguments, whose constructor's mangled name
spells that tuple. The library is stripped, but its table for exceptions says where functions begin. So: a function of
the machine code that names one aclnn function, and constructs one such tuple (itself, or in a function it calls that
names none), tells the signature. Needs nm, objdump and c++filt. A row: function, then the code of each argument up to
the workspace's size (calls.c reads the codes).
"""

import bisect
import collections
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

# p: an object or a list of them, i: integer of eight bytes, j: of four, c: of one, b: bool, d: double, f: float, s:
# text
CODES = {
    "unsigned long": "i",
    "long": "i",
    "int": "j",
    "signed char": "c",
    "aclCubeMathType": "c",
    "aclDataType": "j",
    "bool": "b",
    "double": "d",
}
CODES |= {"float": "f", "char const*": "s", "char*": "s", "decltype(nullptr)": "p", "void*": "p"}
TUPLE = re.compile(r"GraphCache<std::tuple<(.*?), unsigned long\*, mindspore::device::ascend::aclOpExecutor\*\*>")
DEPTH = 3  # calls between the function that names an aclnn function and the one that constructs its tuple


def output(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, errors="replace", **options).stdout


def code_of(argument):
    argument = argument.strip().replace("mindspore::device::ascend::", "")
    return CODES.get(argument) or ("p" if re.fullmatch(r"acl\w+\*", argument) else "?")


class Library:
    """The Ascend operator library: its bytes, sections, functions and imported symbols."""

    def __init__(self, path):
        self.path, self.data = path, Path(path).read_bytes()
        found = re.finditer(
            r"\]\s+(\.\S+)\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)\s+([0-9a-f]+)", output("readelf", "-SW", path)
        )
        self.sections = {m[1]: tuple(int(x, 16) for x in m.groups()[1:]) for m in found}  # name: address, offset, size
        address, offset, _ = self.sections[".eh_frame_hdr"]
        (count,) = struct.unpack_from("<I", self.data, offset + 8)
        self.starts = sorted(
            address + struct.unpack_from("<i", self.data, offset + 12 + 8 * i)[0] for i in range(count)
        )
        self.imported = self._imported()

    def _imported(self):
        """Address of the jump table's entry: symbol."""
        tables = [part for name in self.sections if name.startswith(".plt") for part in ("-j", name)]
        entry = re.compile(r"^([0-9a-f]+) <([^>]+)@plt(?:\.\w+)?>:", re.M)
        return {int(m[1], 16): m[2].split("@")[0] for m in entry.finditer(output("objdump", "-d", *tables, self.path))}

    def function(self, address):
        return self.starts[bisect.bisect_right(self.starts, address) - 1]

    def references(self):
        """(instruction's address, address it refers to) of direct calls and jumps, and of lea relative to the
        instruction.
        """
        address, offset, size = self.sections[".text"]
        code = np.frombuffer(self.data, np.uint8, size, offset)
        branches = np.flatnonzero((code[:-5] == 0xE8) | (code[:-5] == 0xE9))
        leas = np.flatnonzero(
            ((code[:-7] == 0x48) | (code[:-7] == 0x4C)) & (code[1:-6] == 0x8D) & ((code[2:-5] & 0xC7) == 5)
        )
        for at, skip in ((branches, 1), (leas, 3)):
            distance = sum(code[at + skip + i].astype(np.int64) << 8 * i for i in range(4))
            distance -= (distance >> 31) << 32
            yield at + address, at + address + skip + 4 + distance

    def text(self, address):
        """The name of an aclnn function that stands at the address, or None."""
        start, offset, size = self.sections[".rodata"]
        m = (
            re.compile(rb"aclnn[A-Z]\w*\0").match(self.data, offset + address - start)
            if start <= address < start + size
            else None
        )
        return m and m[0][:-1].decode()


def exported(path):
    return {
        line.split()[2].split("@")[0]: int(line.split()[0], 16)
        for line in output("nm", "-D", "--defined-only", path).splitlines()
    }


def tuples(symbols):
    """Symbol of a constructor: the codes of its tuple."""
    symbols = sorted(symbols)
    demangled = output("c++filt", input="\n".join(symbols)).splitlines()
    return {
        s: "".join(map(code_of, m[1].split(",")))
        for s, m in zip(symbols, map(TUPLE.search, demangled), strict=True)
        if m
    }


def signatures(mindspore):
    """{function: set of the signatures found}; one that was found once is taken."""
    library = Library(f"{mindspore}/lib/plugin/libmindspore_ops_ascend.so")
    names, made, calls = (collections.defaultdict(set) for _ in range(3))
    (branches, targets), (leas, places) = library.references()
    own, starts = exported(library.path), set(library.starts)
    constructors = {s for s in library.imported.values() if "GraphCache" in s and "C1I" in s}
    for at, to in zip(branches.tolist(), targets.tolist(), strict=True):
        symbol = library.imported.get(to)
        if symbol in constructors:
            made[library.function(at)].add(symbol)
        elif symbol in own or to in starts:
            calls[library.function(at)].add(own.get(symbol, to))
    for at, to in zip(leas.tolist(), places.tolist(), strict=True):
        if name := library.text(to):
            names[library.function(at)].add(name)
    types, found = tuples(constructors), collections.defaultdict(set)
    for function, named in names.items():
        found_here = found[next(iter(named))] if len(named) == 1 else set()
        seen, front = {function}, [function]
        for _ in range(DEPTH + 1):
            here = {types[s] for f in front for s in made[f] if s in types}
            if here:
                found_here |= here
                break
            front = [g for f in front for g in calls[f] if g not in seen and not seen.add(g) and g not in names]
    return {name: found[name] for name in sorted(set().union(*names.values()))}


CALL = re.compile(r"_ZN9mindspore6kernel7pyboost\d+(\w+?)Ascend4CallE")
# calls, and functions handed over as such, between a primitive's call and the function that names an aclnn function
REACH = 6


def primitives(mindspore):
    """{primitive: the aclnn functions nearest to its call}.

    Empty where the way leads through a table of virtual functions.
    """
    library = Library(f"{mindspore}/lib/plugin/libmindspore_ops_ascend.so")
    own, starts = exported(library.path), set(library.starts)
    names, edges = collections.defaultdict(set), collections.defaultdict(set)
    (branches, targets), (leas, places) = library.references()
    for at, to in zip([*branches.tolist(), *leas.tolist()], [*targets.tolist(), *places.tolist()], strict=True):
        to = own.get(library.imported.get(to), to)
        if name := library.text(to):
            names[library.function(at)].add(name)
        elif to in starts:
            edges[library.function(at)].add(to)
    found = {}
    for symbol, address in own.items():
        if m := CALL.match(symbol):
            found[m[1]] = found.get(m[1], set()) | _nearest(address, names, edges)
    return found


def _nearest(start, names, edges):
    seen, front = {start}, [start]
    for _ in range(REACH):
        here = set().union(*(names[f] for f in front))
        if here:
            return here
        front = [g for f in front for g in edges[f] if g not in seen and not seen.add(g)]
    return set()


if __name__ == "__main__":
    if sys.argv[2:] == ["--primitives"]:
        for name, functions in sorted(primitives(sys.argv[1]).items()):
            print(name, *sorted(functions), sep="\t")
        sys.exit()
    for name, types in signatures(sys.argv[1]).items():
        print(name, *(types if len(types) == 1 else "?"), sep="\t")
