"""The order in which the ranks of a pipeline compute: the actions of every rank, and their time slots.

An order lists for each rank what it computes, with None where it is idle. A rank cannot compute before what it needs
has arrived; `timetable` puts all ranks' actions into common slots, so that what is sent in a slot is known to both
sides.
"""

import enum
import re
from collections import Counter
from typing import NamedTuple


class _ComputationType(str, enum.Enum):
    """What an action does, by the letters that stand for it in text."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action):
        """Return the member that the text stands for, or raise RuntimeError."""
        try:
            return _ComputationType(action)
        except ValueError as e:
            raise RuntimeError(f"Invalid computation type {action}") from e


F, B = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD
I, W = _ComputationType.BACKWARD_INPUT, _ComputationType.BACKWARD_WEIGHT  # noqa: E741
_BOTH, _REDUCE = _ComputationType.OVERLAP_F_B, _ComputationType.REDUCE_GRAD
_SPELLED = re.compile(r"(\d+)(F|I|B|W|REDUCE_GRAD)(\d*)$")


class _Action(NamedTuple):
    """One computation of one stage on one microbatch, or several at once (`sub_actions`)."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple | None = None

    def __repr__(self):
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){self.computation_type.value}"
        number = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{self.computation_type.value}{number}"

    __str__ = __repr__

    @property
    def parts(self):
        """The actions that this one consists of."""
        return self.sub_actions or (self,)

    @staticmethod
    def from_str(action_string):
        """Return the action that a text such as 2F0 stands for; None for an empty one."""
        text = action_string.strip()
        if not text:
            return None
        if text.startswith("(") and ")" in text:
            inner, _, kind = text[1:].partition(")")
            parts = tuple(filter(None, map(_Action.from_str, inner.split(";"))))
            return _Action(-1, _ComputationType.from_str(kind), None, parts)
        found = _SPELLED.match(text)
        if found is None:
            raise RuntimeError(
                f"Invalid action string: {action_string}, should be formatted as [stage][action type][(microbatch)] "
                f"e.g. 2F0"
            )
        stage, kind, number = found.groups()
        return _Action(int(stage), _ComputationType.from_str(kind), int(number) if number else None)


def generate_stage_to_rank_mapping(pp_size, num_stages, style="loop"):
    """Return the rank of each stage: {stage: rank}.

    style: "loop" deals the stages out in turns; "v" turns round at the last rank, so that neighbours meet there.
    """
    if style == "loop":
        return {stage: stage % pp_size for stage in range(num_stages)}
    if style != "v":
        raise ValueError(f"Style {style} is not supported.")
    if num_stages % pp_size:
        raise ValueError(f"num_stages {num_stages} must be evenly divisible by pp_size {pp_size} for V schedules")
    turns = {stage: divmod(stage, pp_size) for stage in range(num_stages)}
    return {stage: pp_size - 1 - place if turn % 2 else place for stage, (turn, place) in turns.items()}


def generate_rank_to_stage_mapping(pp_size, num_stages, style="loop"):
    """Return the stages of each rank: {rank: [stage, ...]}."""
    found: dict = {}
    for stage, rank in generate_stage_to_rank_mapping(pp_size, num_stages, style).items():
        found.setdefault(rank, []).append(stage)
    return found


# ---------------------------------------------------------------- one stage on each rank
def gpipe(stages, microbatches):
    """All forwards, then all backwards."""
    every = range(microbatches)
    return {
        r: [*(_Action(r, F, m) for m in every), *(_Action(r, B, m) for m in every), _Action(r, _REDUCE)]
        for r in range(stages)
    }


def one_forward_one_backward(stages, microbatches):
    """As few forwards as reach the last stage, then one backward after each forward."""
    order = {}
    for r in range(stages):
        ahead = stages - 1 - r
        actions = [_Action(r, F, m) for m in range(ahead)]
        for m in range(microbatches - ahead):
            actions += _Action(r, F, m + ahead), _Action(r, B, m)
        order[r] = actions + [_Action(r, B, m) for m in range(microbatches - ahead, microbatches)]
        order[r].append(_Action(r, _REDUCE))
    return order


# ---------------------------------------------------------------- several stages on each rank
def looped(size, local, microbatches):
    """All microbatches through one of the rank's stages, then through its next."""
    order = {}
    for r in range(size):
        stages = range(r, size * local, size)
        actions = [None] * r + [_Action(s, F, m) for s in stages for m in range(microbatches)]
        actions += [None] * (2 * (size - 1 - r))
        order[r] = actions + [_Action(s, B, m) for s in reversed(stages) for m in reversed(range(microbatches))]
    return order


def rounds(size, microbatches, what):
    """Return how many microbatches go through a stage before the rank's next stage has its turn."""
    n = max(1, microbatches // size)
    if microbatches % n:
        raise ValueError(
            f"{what} requires the number of microbatches to be a multiple of the number of rounds ({n}), but got "
            f"{microbatches}."
        )
    return microbatches // n


def _numbered(stages):
    """Pair each stage of a sequence with how often it has come before: its microbatch."""
    seen: Counter = Counter()
    for s in stages:
        yield s, seen[s]
        seen[s] += 1


def interleaved(size, local, microbatches, together, split):
    """One forward and one backward in turn, over several stages of a rank.

    together: how many microbatches go through a stage at a time. split: whether the gradients of the weights are
    computed later than those of the inputs, where the rank would be idle.
    """
    order = {}
    every = local * microbatches
    for r in range(size):
        turns = [k // together % local for k in range(every)]
        forwards = [_Action(s, F, m) for s, m in _numbered(t * size + r for t in turns)]
        back = list(_numbered((local - 1 - t) * size + r for t in turns))
        backwards, weights = [[_Action(s, kind, m) for s, m in back] for kind in (I if split else B, W)]
        first = min((local - 1) * together + (1 if split else 2) * (size - 1 - r), every)
        actions = [None] * r + forwards[:first]
        if first:
            actions += [None] * (size - 1 - r if split else local * size + 2 * (size - 1 - r) - first - r)
        left = 0  # the next of the weights' gradients
        for k in range(every):
            actions += [forwards[first + k]] if first + k < every else [] if split else [None]
            actions.append(backwards[k])
            if split and k >= r:
                actions.append(weights[left])
                left += 1
        order[r] = actions + (weights[left:] if split else [])
    return _with_bubbles(order) if split else order


def _with_bubbles(order):
    """Let a rank be idle where the stage before it has not yet computed the microbatch that is its turn."""
    found: dict = {r: [] for r in order}
    at, seen = dict.fromkeys(order, 0), set()
    while any(at[r] < len(order[r]) for r in order):
        now = set()
        for r in order:
            if at[r] == len(order[r]):
                continue
            action = order[r][at[r]]
            waits = action is not None and action.computation_type is F and action.stage_index
            if waits and (action.stage_index - 1, action.microbatch_index) not in seen:
                found[r].append(None)
                continue
            if action is not None and action.computation_type is F:
                now.add((action.stage_index, action.microbatch_index))
            found[r].append(action)
            at[r] += 1
        seen |= now
    return found


class _Writer:
    """Writes the actions of a rank with two stages; each kind of action takes the stage's next microbatch."""

    def __init__(self, stages):
        self.stages, self.actions, self.next, self.waiting = stages, [], Counter(), []

    def make(self, place, kind):
        """Return the next action of a kind of one of the two stages."""
        m = self.next[place, kind]
        self.next[place, kind] += 1
        if kind is B:
            self.next[place, I] += 1
            self.next[place, W] += 1
            m = self.next[place, I] - 1
        return _Action(self.stages[place], kind, m)

    def write(self, place, *kinds):
        """Add actions of one of the two stages."""
        self.actions += [self.make(place, kind) for kind in kinds]

    def input(self, place):
        """Add a gradient of inputs; that of the weights waits."""
        self.write(place, I)
        self.waiting.append(place)

    def weights(self):
        """Add the gradient of weights that has waited for longest, if there is one."""
        if self.waiting:
            self.write(self.waiting.pop(0), W)


def zero_bubble_v(size, microbatches):
    """Two stages of a rank that lie in a V, with gradients of weights where the rank would be idle."""
    order = {}
    enough = max(2 * size - 1, microbatches)  # the pattern needs so many; those that do not exist are idle slots
    for r in range(size):
        w = _Writer((r, 2 * size - 1 - r))
        w.write(0, *[F] * (2 * (size - r) - 1))
        for _ in range(r):
            w.write(1, F)
            w.write(0, F)
        for _ in range(size - r):
            w.write(1, F, I, W)
        while w.next[1, F] < w.next[0, F] or w.next[0, F] < enough:
            w.write(0, *([F] if w.next[0, F] < enough else []), I, W)
            w.write(1, F, I, W)
        for _ in range(r):
            w.write(0, I)
            w.write(1, I)
        for _ in range(size - r):
            w.write(0, I, W)
        w.write(1, *[W] * (w.next[1, I] - w.next[1, W]))
        w.write(0, *[W] * (w.next[0, I] - w.next[0, W]))
        order[r] = [None] * r + [a if a.microbatch_index < microbatches else None for a in w.actions]
    return order


def dual_pipe_v(size, microbatches):
    """Two stages of a rank that lie in a V, each forward together with a backward of the other stage."""
    return {r: _dual_pipe_v(size, microbatches, r) for r in range(size)}


def _dual_pipe_v(size, microbatches, r):
    after = size - r - 1
    w = _Writer((r, 2 * size - 1 - r))

    def together(forward, backward):
        w.actions.append(_Action(-1, _BOTH, None, (w.make(forward, F), w.make(backward, B))))

    w.write(0, *[F] * (2 * after))
    for _ in range(r + 1):
        w.write(0, F)
        w.write(1, F)
    for _ in range(after):
        w.input(1)
        w.weights()
        w.write(1, F)
    for i in range(microbatches - 2 * size + r + 1):
        if i == 0 and after == 0:
            w.write(0, F)
            w.write(1, B)
        else:
            together(0, 1)
        together(1, 0)
    for _ in range(after):
        w.write(1, B)
        together(1, 0)
    _dual_pipe_end(w, r, after)
    return w.actions


def _dual_pipe_end(w, r, after):
    """Write the last backwards, of which the second half leaves the gradients of weights for idle slots."""
    split = False
    for i in range(r + 1):
        for place in (1, 0):
            split = split or i == (r + 1) // 2 and r % 2 == place
            w.input(place) if split else w.write(place, B)
    for _ in range(after):
        w.weights()
        w.input(0) if split else w.write(0, B)
    for _ in range(r + 1):
        w.weights()


# ---------------------------------------------------------------- time
class _Message(NamedTuple):
    """Activations (F) or gradients (B) of a microbatch from a stage to its neighbour."""

    kind: _ComputationType
    source: int
    target: int
    microbatch: int


def _needs(part, stages):
    """Return what must have been computed in an earlier slot, as (stage, F or B, microbatch)."""
    s, kind, m, _ = part
    if kind is F:
        return [(s - 1, F, m)] if s else []
    if kind in (B, I):
        return [(s, F, m)] + ([(s + 1, B, m)] if s + 1 < stages else [])
    return [(s, B, m)] if kind is W else []


def timetable(order, stages, backward):
    """Return the slots of an order: a list of {rank: [action, ...]}, in which all ranks compute at the same time.

    backward: without it, the forwards alone. Raise RuntimeError where an action can never begin.
    """
    queues = {}
    for r, actions in order.items():
        present = [a.parts for a in actions if a is not None and a.computation_type is not _REDUCE]
        kept = [[p for p in parts if backward or p.computation_type is F] for parts in present]
        queues[r] = [parts for parts in kept if parts]
    done, slots, at = set(), [], dict.fromkeys(queues, 0)
    while any(at[r] < len(queues[r]) for r in queues):
        slot = {}
        for r, queue in queues.items():
            if at[r] == len(queue):
                continue
            own = set()
            for part in queue[at[r]]:
                if not done.issuperset(n for n in _needs(part, stages) if n not in own):
                    break
                own.add(_made(part))
            else:
                slot[r] = queue[at[r]]
        if not slot:
            waiting = ", ".join(f"rank {r} at {queue[at[r]]}" for r, queue in queues.items() if at[r] < len(queue))
            raise RuntimeError(f"The schedule can not go on: {waiting}")
        for r, parts in slot.items():
            at[r] += 1
            done.update(map(_made, parts))
        slots.append(slot)
    return slots


def _made(part):
    """Return what is there after an action, as `_needs` names it."""
    kind = part.computation_type
    return part.stage_index, B if kind is I else kind, part.microbatch_index


def messages(slot, stages):
    """Return what is passed from stage to stage after a slot, in the same order on every rank."""
    found = []
    for r in sorted(slot):
        for s, kind, m, _ in slot[r]:
            if kind is F and s + 1 < stages:
                found.append(_Message(F, s, s + 1, m))
            elif kind in (B, I) and s:
                found.append(_Message(B, s, s - 1, m))
    return found


def owners(order, size, stages, microbatches):
    """Return the rank of each stage; raise AssertionError where the order is none of that many microbatches."""
    if set(order) != set(range(size)):
        raise AssertionError(f"Schedule has incorrect number of ranks - expected {size}, actual {len(order)}")
    ranks: dict = {}
    counts: Counter = Counter()
    for r, actions in order.items():
        for step, action in enumerate(actions):
            for s, kind, m, _ in action.parts if action is not None else ():
                counts[s, kind, m] += 1
                if ranks.setdefault(s, r) != r:
                    raise AssertionError(
                        f"Rank {r}, step {step}: Stage {s} is assigned to both rank {r} and rank {ranks[s]}"
                    )
    for s in range(stages):
        for m in range(microbatches):
            full, given, weights = (counts[s, kind, m] for kind in (B, I, W))
            if counts[s, F, m] != 1 or full + given != 1 or given != weights:
                raise AssertionError(
                    f"Stage {s}, microbatch {m}: expected one forward and one backward, got F={counts[s, F, m]}, "
                    f"B={full}, I={given}, W={weights}"
                )
    return ranks
