"""Partitioning of a graph into the parts that a backend supports."""

from ...node import _get_qualified_name
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """The nodes that become one module: ``{node: its position from the end of the graph}``."""

    def __init__(self, id=None, nodes=None, node_orders=None):
        self.id = id
        nodes = list(nodes or ())
        orders = [None] * len(nodes) if node_orders is None else list(node_orders)
        if len(orders) != len(nodes):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes = dict(zip(nodes, orders))

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node, node_order=None):
        """Add a node."""
        self.nodes[node] = node_order

    def remove_node(self, node):
        """Remove a node."""
        del self.nodes[node]

    def size(self):
        """Return the number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Groups the nodes that ``operator_support`` accepts into few partitions without cycles.

    non_compute_ops: names of functions that do not justify a partition.
    skip_horizontal_fusion: merge nodes with their users only.
    """

    def __init__(
        self,
        graph_module,
        operator_support,
        allows_single_node_partition=False,
        non_compute_ops=None,
        allowed_single_node_partition_ops=None,
        skip_horizontal_fusion=False,
    ):
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition, self.skip_horizontal_fusion = (
            allows_single_node_partition,
            skip_horizontal_fusion,
        )
        self.non_compute_ops = list(non_compute_ops or ())
        self.allowed_single_node_partition_ops = list(allowed_single_node_partition_ops or ())

    def propose_partitions(self):
        """Return the partitions, those of later nodes first."""
        submodules = dict(self.graph_module.named_modules())
        partitions, home = {}, {}  # partitions by creation order; the partition of each node
        for order, node in enumerate(reversed(self.graph_module.graph.nodes)):
            made = self.operator_support.is_node_supported(submodules, node)
            if made:
                home[node] = partitions[order] = Partition(len(home), [node], [order])
            others = (
                [home[n] for n in node.users if made and n in home]
                if self.skip_horizontal_fusion
                else [partitions[k] for k in sorted(partitions)]
            )
            self._join(list(dict.fromkeys([home[node], *others] if made else others)), partitions, home)
        for p in partitions.values():
            p.nodes = dict(sorted(p.nodes.items(), key=lambda item: item[1], reverse=True))
        self._keep_tuples_together(home)
        found = [p for p in partitions.values() if p.nodes]
        return found if self.allows_single_node_partition else [p for p in found if self._worth(p)]

    def _join(self, candidates, partitions, home):
        """Merge the first partition with each of the others, unless that creates a cycle."""
        if not candidates:
            return
        first, *others = candidates
        for other in others:
            if _circle(first, other, home):
                continue
            larger, smaller = (first, other) if len(first.nodes) >= len(other.nodes) else (other, first)
            keys = sorted(k for k, p in partitions.items() if p is first or p is other)
            larger.nodes.update(smaller.nodes)
            home.update(dict.fromkeys(smaller.nodes, larger))
            for k in keys:
                del partitions[k]
            partitions[keys[0]] = first = larger

    def _keep_tuples_together(self, home):
        """Move getitem nodes to the partition of the node that returns the tuple."""
        moved = True
        while moved:
            moved = {}
            for node in self.graph_module.graph.nodes:
                if node.users and all(_is_getitem(user) for user in node.users):
                    moved |= {user: home.get(node) for user in node.users if home.get(user) is not home.get(node)}
            for node, p in moved.items():
                if node in home:
                    home.pop(node).remove_node(node)
                if p is not None:
                    home[node] = p
                    p.add_node(node)

    def _worth(self, partition):
        """Whether a partition has more than one node that computes."""
        no_compute = {"torch.ops.aten.view", "_operator.getitem", "operator.getitem", *self.non_compute_ops}
        count = 0
        for node in partition.nodes:
            if node.op == "call_function":
                name = _get_qualified_name(node.target)
                count += (name not in no_compute) + (name in self.allowed_single_node_partition_ops)
        return count > 1

    def fuse_partitions(self, partitions, prefix="fused_"):
        """Move each partition into a submodule and return the GraphModule."""
        return fuse_by_partitions(self.graph_module, [p.nodes for p in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Remove non-compute nodes at the beginnings and ends of partitions."""
        for p in partitions:
            for neighbours in (lambda n: n.all_input_nodes, lambda n: n.users):
                at_edge = {}

                def edge(node, p=p, neighbours=neighbours, at_edge=at_edge):
                    if node not in p.nodes:
                        return True
                    if node not in at_edge:
                        at_edge[node] = self._computes_nothing(node) and all(edge(n) for n in neighbours(node))
                    return at_edge[node]

                for node in [n for n in p.nodes if edge(n)]:
                    p.remove_node(node)

    def _computes_nothing(self, node):
        return node.op == "call_function" and _get_qualified_name(node.target) in self.non_compute_ops

    def partition_and_fuse(self, prefix="fused_"):
        """Find the partitions and move each into a submodule."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)


def _is_getitem(node):
    return (
        node.op == "call_function"
        and getattr(node.target, "__name__", "") == "getitem"
        and node.target.__module__ == "_operator"
    )


def _circle(a, b, home):
    """Whether merging two partitions would create a cycle through outside nodes.

    Other partitions count as single nodes.
    """
    inside, seen = a.nodes.keys() | b.nodes.keys(), set()
    waiting = [user for n in inside for user in n.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return True
        if node in seen:
            continue
        together = home[node].nodes if node in home else (node,)
        seen.update(together)
        waiting.extend(user for n in together for user in n.users if user not in seen)
    return False
