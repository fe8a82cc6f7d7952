"""The process that runs gloo for a group.

It is started as a script with the path of gloo's extension module, without torch and without site-packages.

gloo's binding holds the GIL while a collective waits, so it needs its own interpreter. Commands arrive over a socket;
tensors are passed through shared memory. When the rank that started it ends for any reason, this process ends too, even
during a collective.
"""

import ctypes
import datetime
import fcntl
import importlib.util
import marshal
import mmap
import os
import signal
import socket
import sys

COMMAND = 1 << 16  # maximum size of a command in bytes


def end_with(parent_pipe, parent_is_main_thread):
    """Make the kernel end this process when the rank ends.

    The process gets SIGIO, whose default action is to terminate, when the pipe closes. If the parent thread is the main
    thread, it also gets SIGKILL when that thread ends.
    """
    fcntl.fcntl(parent_pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent_pipe, fcntl.F_SETFL, fcntl.fcntl(parent_pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if parent_is_main_thread:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class RankStore:
    """The store that gloo uses to connect; it forwards requests to the rank."""

    def __init__(self, control):
        self.control = control

    def ask(self, *message):
        self.control.send(marshal.dumps(message))
        return marshal.loads(self.control.recv(COMMAND))

    def set_tcp(self, key, value):
        self.ask("set", key, value)

    def get_tcp(self, key):
        return self.ask("get", key)

    def wait(self, keys):
        """Do nothing, because `get` already waits."""


class Engine:
    """The gloo context of one group, and the memory it shares with the rank."""

    def __init__(self, gloo, control):
        self.gloo, self.control, self.context, self.memory = gloo, control, None, {}
        self.dtypes = [
            getattr(gloo.GlooDataType_t, f"gloo{n}")
            for n in ("Int8", "Uint8", "Int32", "Int64", "Float16", "Float32", "Float64")
        ]
        self.operations = [getattr(gloo.ReduceOp, n) for n in ("SUM", "PRODUCT", "MIN", "MAX")]

    def do_memory(self, number, size, fd):
        memory = mmap.mmap(fd, size)
        os.close(fd)
        self.memory[number] = (memory, ctypes.addressof(ctypes.c_char.from_buffer(memory)))

    def do_connect(self, rank, size, host, interface, seconds):
        attributes = self.gloo.transport.tcp.attr(host) if host else self.gloo.transport.tcp.attr()
        if interface:
            attributes.iface = interface
        self.device = self.gloo.transport.tcp.CreateDevice(attributes)
        context = self.gloo.rendezvous.Context(rank, size)
        context.setTimeout(datetime.timedelta(seconds=seconds))
        self.store = self.gloo.rendezvous.CustomStore(RankStore(self.control))
        context.connectFullMesh(self.store, self.device)
        self.context = context

    def address(self, place):
        number, offset = place
        return self.memory[number][1] + offset

    def do_allreduce(self, place, count, dtype, operation, tag):
        at = self.address(place)
        self.gloo.allreduce(
            self.context,
            at,
            at,
            count,
            self.dtypes[dtype],
            self.operations[operation],
            self.gloo.AllreduceAlgorithm.RING,
            tag,
        )

    def do_reduce(self, source, target, count, dtype, operation, root, tag):
        self.gloo.reduce(
            self.context,
            self.address(source),
            self.address(target),
            count,
            self.dtypes[dtype],
            self.operations[operation],
            root,
            tag,
        )

    def do_broadcast(self, place, size, root, tag):
        at = self.address(place)
        self.gloo.broadcast(self.context, at, at, size, self.gloo.GlooDataType_t.glooUint8, root, tag)

    def do_allgather(self, source, target, size, tag):
        self.gloo.allgather(
            self.context, self.address(source), self.address(target), size, self.gloo.GlooDataType_t.glooUint8, tag
        )

    def do_gather(self, source, target, size, root, tag):
        self.gloo.gather(
            self.context,
            self.address(source),
            self.address(target),
            size,
            self.gloo.GlooDataType_t.glooUint8,
            root,
            tag,
        )

    def do_scatter(self, source, target, size, ranks, root, tag):
        at = [self.address(source) + size * i for i in range(ranks)]
        self.gloo.scatter(self.context, at, self.address(target), size, self.gloo.GlooDataType_t.glooUint8, root, tag)

    def do_alltoall(self, source, target, size, tag):
        whole = size * self.context.size
        self.gloo.all_to_all(
            self.context, self.address(source), self.address(target), whole, self.gloo.GlooDataType_t.glooUint8, tag
        )

    def do_barrier(self, tag):
        self.gloo.barrier(self.context, tag)

    def run(self):
        while True:
            message, fds, _, _ = socket.recv_fds(self.control, COMMAND, 1)
            if not message:
                return
            name, *arguments = marshal.loads(message)
            try:
                getattr(self, f"do_{name}")(*arguments, *fds)
                answer = ("done",)
            except Exception as error:  # any error is sent to the rank, which raises it
                answer = ("error", f"{error}"[:4000])
            self.control.send(marshal.dumps(answer))


def main(path, control, pipe, parent_is_main_thread):
    """Serve commands until the rank closes the socket."""
    end_with(int(pipe), parent_is_main_thread == "1")
    specification = importlib.util.spec_from_file_location("xoscar_pygloo", path)
    gloo = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(gloo)
    Engine(gloo, socket.socket(fileno=int(control))).run()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
