"""The least of a graph runtime with pauses, in the shape that LangGraph has.

It stands for langgraph in parked.py, so that the example needs no library, and
does on purpose what makes a pause dangerous for effects:

- a node that was paused or cut off is run again from its first line;
- interrupt() calls of a node are matched with the values they were resumed with
  by their order, so one that was resumed once returns at once ever after;
- a state is kept when a node ends, not before: what a node did until then is
  known to nobody but the outside world.

Names, the form of the pause and what invoke() takes follow langgraph.types
(https://reference.langchain.com/python/langgraph/types/interrupt): interrupt,
Interrupt(value, id), Command(resume=value or {interrupt id: value}), and
{"configurable": {"thread_id": ...}}. Checkpoints are one row per thread.
"""

import contextvars
import dataclasses
import hashlib
import json
import re
import sqlite3


@dataclasses.dataclass(frozen=True)
class Interrupt:
    """A pause: what it is about, and an id to resume it by."""

    value: object
    id: str


@dataclasses.dataclass(frozen=True)
class Command:
    """Input of invoke that ends a pause: a value, or {interrupt id: value}."""

    resume: object


@dataclasses.dataclass
class Snapshot:
    """Where a thread stands. next is "" once it has ended."""

    values: dict
    next: str
    step: int
    resumed: list  # what the interrupts of the next node were resumed with, in order
    interrupts: tuple = ()


class GraphInterrupt(Exception):
    """Leaves a node that pauses. Never catch it in a node."""

    def __init__(self, value):
        super().__init__("paused")
        self.value = value


_resumes = contextvars.ContextVar("resumes")


def interrupt(value):
    """Pauses the graph with a value for whoever resumes it. In a node that is run
    again it returns what this pause, by its order in the node, was resumed with."""
    left = _resumes.get()
    if left:
        return left.pop(0)
    raise GraphInterrupt(value)


class Checkpoints:
    """Where threads stand, in a file that every process of a worker opens."""

    def __init__(self, path):
        self._db = sqlite3.connect(path, isolation_level=None)  # each statement is durable when it returns
        self._db.execute("pragma synchronous = full")
        self._db.execute("create table if not exists threads (id text primary key, at text not null)")

    def load(self, thread):
        row = self._db.execute("select at from threads where id = ?", (thread,)).fetchone()
        if row is None:
            return None
        at = json.loads(row[0])
        at["interrupts"] = tuple(Interrupt(**i) for i in at["interrupts"])
        return Snapshot(**at)

    def save(self, thread, at):
        self._db.execute("insert or replace into threads values (?, ?)", (thread, json.dumps(dataclasses.asdict(at))))


class Graph:
    """Nodes that run one after another. A node is (state, config) -> members of
    the state to change."""

    def __init__(self, nodes, checkpoints):
        self._nodes = dict(nodes)
        self._order = [name for name, _ in nodes] + [""]
        self._checkpoints = checkpoints

    def get_state(self, config):
        """Where the thread stands; None if it never ran."""
        return self._checkpoints.load(config["configurable"]["thread_id"])

    def invoke(self, given, config):
        """Runs the thread on: from a first state, after a crash (None), or after a
        pause (Command). Returns the state, with "__interrupt__" if it pauses."""
        thread = config["configurable"]["thread_id"]
        at = self._checkpoints.load(thread)
        if isinstance(given, dict):
            if at is not None:
                raise ValueError("the thread has begun already")
            at = Snapshot(given, self._order[0], 0, [])
        elif at is None:
            raise ValueError("the thread has not begun")
        elif isinstance(given, Command):
            value = _for_this(given.resume, at.interrupts)
            at = dataclasses.replace(at, resumed=at.resumed + value, interrupts=() if value else at.interrupts)
            if not value:
                return _paused(at)  # a resume of some other pause
        self._checkpoints.save(thread, at)  # a resume that was taken is not taken twice
        while at.next:
            _resumes.set(list(at.resumed))
            try:
                change = self._nodes[at.next](at.values, config)
            except GraphInterrupt as pause:
                at.interrupts = (Interrupt(pause.value, _id(thread, at)),)
                self._checkpoints.save(thread, at)
                return _paused(at)
            following = self._order[self._order.index(at.next) + 1]
            at = Snapshot({**at.values, **change}, following, at.step + 1, [])
            self._checkpoints.save(thread, at)
        return at.values


def _id(thread, at):
    return hashlib.sha256(f"{thread}|{at.step}|{at.next}".encode()).hexdigest()[:32]


def _for_this(resume, pending):
    if isinstance(resume, dict) and resume and all(re.fullmatch("[0-9a-f]{32}", k) for k in resume):
        return [resume[i.id] for i in pending if i.id in resume]
    return [resume] if pending else []


def _paused(at):
    return {**at.values, "__interrupt__": at.interrupts}
