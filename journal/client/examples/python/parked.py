"""A graph with three effects that may pause for a person, for hours and across
processes. Nothing waits meanwhile: a paused process ends.

    LANDED_TOKEN=... python3 parked.py --landed http://127.0.0.1:8080 \\
        --thread order-17 --checkpoints threads.db --ticket-url http://127.0.0.1:9000/tickets

Start it again, by hand, by a timer, or because Landed delivered a decision: it
goes on where the thread stands. What woke it does not matter, it asks the
journal first (pull on wake-up). Kill it at any line and start it again: each
effect happens once.

graph.py stands for LangGraph here; README.md shows what differs there.
"""

import argparse
import functools
import os
import sys

from graph import Checkpoints, Command, Graph, interrupt
from landed import Journal, Run
from worker import EXIT, say, ticket_sender


def settled(ask):
    """Asks the journal, and pauses as long as the answer is not the last word.

    A loop, because a pause that was resumed returns at once when the node is run
    again: "if not settled: interrupt(...)" would go on with an unsettled answer
    as soon as the thread was resumed too early once.
    """
    while not (answer := ask()).settled:
        interrupt(answer.public())
    return answer


def tell(effects, state, config):
    """A node with two effects. On every resume it runs again from here: opened is
    then returned from the journal, byte for byte, and the provider is not called."""
    run = Run(config["configurable"]["thread_id"])
    opened = settled(functools.partial(effects["open"], run, {"title": "open " + state["order"], "order": state["order"]}))
    say("opened", **opened.public())
    told = settled(functools.partial(effects["notify"], run, {"title": "notify " + state["order"], "order": state["order"]}))
    return {"opened": opened.public(), "told": told.public()}


def close(effects, state, config):
    """A node after the pause."""
    run = Run(config["configurable"]["thread_id"])
    closed = settled(functools.partial(effects["close"], run, {"title": "close " + state["order"], "order": state["order"]}))
    return {"closed": closed.public()}


def build(journal, checkpoints, url, lease, timeout, patience):
    """The graph: its effects carry the key of their thread and step."""
    journal.register("ticket.open", {"class": "at_most_once", "client_timeout": f"{timeout}s", "identity_fields": ["order"]})
    send = ticket_sender(url, timeout)
    effects = {step: journal.effect(tool="ticket.open", step=step, operation=step, lease=lease, patience=patience)(send) for step in ("open", "notify", "close")}
    return Graph([("tell", functools.partial(tell, effects)), ("close", functools.partial(close, effects))], checkpoints)


def go_on(graph, journal, config, order, wait):
    """Runs the thread as far as it goes now: the new state, None if nothing is
    decided yet."""
    at = graph.get_state(config)
    if at is None:
        return graph.invoke({"order": order}, config)
    if not at.next:
        return at.values
    if not at.interrupts:
        return graph.invoke(None, config)  # cut off in a node
    pause = at.interrupts[0]
    heard = {"resolution": pause.value["directive"]}  # not parked: it resolves by itself, ask again
    if heard["resolution"] == "parked":
        heard = journal.wait(pause.value["effect_id"], pause.value["cursor"], wait)
        if heard is None:
            return None
    say("resumed", resolution=heard["resolution"], interrupt=pause.id)
    return graph.invoke(Command(resume={pause.id: heard}), config)


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--landed", required=True, help="address of the journal")
    flags.add_argument("--thread", required=True, help="the thread's id: the same on every start")
    flags.add_argument("--checkpoints", required=True, help="file that holds where threads stand")
    flags.add_argument("--ticket-url", required=True)
    flags.add_argument("--order", default="A1")
    flags.add_argument("--lease", default="30s")
    flags.add_argument("--timeout", type=float, default=10.0, help="of one request to the provider, in seconds")
    flags.add_argument("--patience", type=float, default=0.0, help="how long to wait for what resolves by itself, in seconds")
    flags.add_argument("--wait", type=float, default=0.0, help="how long a wake-up waits for the decision, in seconds")
    flag = flags.parse_args()

    journal = Journal(flag.landed, os.environ["LANDED_TOKEN"])
    graph = build(journal, Checkpoints(flag.checkpoints), flag.ticket_url, flag.lease, flag.timeout, flag.patience)
    state = go_on(graph, journal, {"configurable": {"thread_id": flag.thread}}, flag.order, flag.wait)
    if state is None:
        say("undecided")
        sys.exit(EXIT["unknown"])
    if pauses := state.get("__interrupt__"):
        say("paused", interrupt=pauses[0].id, **pauses[0].value)
        sys.exit(EXIT[pauses[0].value["status"]])
    say("finished", **{name: state[name] for name in ("opened", "told", "closed")})
    sys.exit(max(EXIT[state[name]["status"]] for name in ("opened", "told", "closed")))


if __name__ == "__main__":
    main()
