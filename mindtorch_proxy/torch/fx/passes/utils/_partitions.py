"""Whether nodes of a graph can become one call."""


def validate_partition(partition):
    """Whether nothing outside of the nodes lies between two of them."""
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
