"""Validation of partitions."""


def validate_partition(partition):
    """Whether no path between two of the nodes leads through a node outside."""
    inside, seen = set(partition), set()
    waiting = [user for node in inside for user in node.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting.extend(node.users)
    return True
