"""A worker whose step sends a mail or opens a ticket, killed or not.

It is written the way a LangGraph node is: notify() is the node's body. A
runtime re-enters it from its first line on every resume, after an interrupt as
well as after a crash, so everything in it must bear running again. The effect
in it does, because its key comes from the thread, the step and the operation.

    LANDED_TOKEN=... python3 worker.py --landed http://127.0.0.1:8080 \\
        --thread order-17 --ticket-url http://127.0.0.1:9000/tickets

In a graph, the loop in main() is the runtime's, Interrupt is langgraph.types.
interrupt, and --thread is config["configurable"]["thread_id"]; README.md shows
both side by side. Every step of the way is one JSON line on standard output.
"""

import argparse
import email.message
import email.utils
import http.client
import json
import os
import smtplib
import sys
import urllib.parse

from landed import Answer, Journal, NotSent, Outcome, Refused, Run

EXIT = {"done": 0, "refused": 3, "abandoned": 4, "hard_stop": 5, "unknown": 6, "in_progress": 7}


class Interrupt(Exception):
    """Stands for langgraph.types.interrupt: it ends the node until the resume."""

    def __init__(self, answer: Answer):
        super().__init__(answer.note)
        self.answer = answer


def say(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def ticket_sender(url, timeout):
    """Opens a ticket by one POST. http.client never repeats a request."""
    parts = urllib.parse.urlsplit(url)
    connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection

    def open_ticket(attempt, args):
        say("executing", effect_id=attempt.effect_id, attempt=attempt.number, ref=attempt.ref)
        body = json.dumps({**args, "external_ref": attempt.ref}).encode()
        connection = connect(parts.netloc, timeout=timeout)
        try:
            connection.connect()
        except OSError as error:
            raise NotSent(f"connecting: {error}") from error
        try:
            attempt.sending()
            target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
            connection.request("POST", target, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        return judge(answer, text)

    return open_ticket


def judge(answer, text):
    """Reads a ticket system's answer. What is neither a clear yes nor a clear no
    raises RuntimeError, which counts as: it may have happened."""
    if answer.status == 429:
        after = answer.getheader("Retry-After", "")
        raise Refused("rate limited", final=False, status=429, retry_after=float(after) if after.isdecimal() else 1.0)
    if answer.status in (400, 401, 403, 404, 413, 415, 422):
        raise Refused(f"{answer.status}: {text[:500].decode('utf-8', 'replace')}", status=answer.status)
    if answer.status not in (200, 201):
        raise RuntimeError(f"the ticket system answered {answer.status}")
    made = json.loads(text)
    if not isinstance(made, dict) or not made.get("id"):
        raise RuntimeError("the ticket system's yes holds no id")
    return Outcome(text, str(made["id"]))


def mail_sender(server, sender, timeout):
    """Sends a mail. Nothing causes the effect before the message's first byte, and
    only the reply to its end says whether it was taken."""
    host, _, port = server.rpartition(":")

    def send_mail(attempt, args):
        say("executing", effect_id=attempt.effect_id, attempt=attempt.number, ref=attempt.ref)
        message = email.message.EmailMessage()
        message["From"], message["To"], message["Subject"] = sender, args["to"], args["title"]
        message["Date"] = email.utils.localtime()
        # Both: some relays replace the Message-ID.
        message["Message-ID"] = f"<{attempt.ref}@effects.landed>"
        message["X-Landed-Ref"] = attempt.ref
        message.set_content(args["text"])
        try:
            smtp = smtplib.SMTP(host, int(port), timeout=timeout)
            smtp.ehlo_or_helo_if_needed()
        except (OSError, smtplib.SMTPException) as error:
            raise NotSent(f"connecting: {error}") from error
        try:
            for command in (f"MAIL FROM:<{sender}>", f"RCPT TO:<{args['to']}>", "DATA"):
                try:
                    code, reply = smtp.docmd(command)
                except (OSError, smtplib.SMTPException) as error:
                    raise NotSent(f"{command.split()[0]}: {error}") from error
                if code not in (250, 251, 354):
                    raise Refused(f"{code} {reply.decode('utf-8', 'replace')}", final=code >= 500, status=code)
            attempt.sending()
            lines = message.as_bytes(policy=message.policy.clone(linesep="\r\n")).split(b"\r\n")
            smtp.send(b"\r\n".join(b"." + line if line.startswith(b".") else line for line in lines).rstrip(b"\r\n") + b"\r\n.\r\n")
            code, reply = smtp.getreply()
        finally:
            smtp.close()
        if code == 250:
            return Outcome(reply, message["Message-ID"])
        if 400 <= code < 600:
            raise Refused(f"{code} {reply.decode('utf-8', 'replace')}", final=code >= 500, status=code)
        raise RuntimeError(f"the mail server replied {code} to the message")

    return send_mail


def notify(effect, state, config):
    """The node. It may be entered any number of times."""
    answer = effect(Run(config["thread_id"]), state["notice"], subject=state["notice"]["title"])
    if not answer.settled:
        raise Interrupt(answer)  # in a graph: interrupt(answer.public())
    return {"notified": answer}


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("--landed", required=True, help="address of the journal; its token is in LANDED_TOKEN")
    flags.add_argument("--thread", required=True, help="the thread's id, the same on every resume")
    where = flags.add_mutually_exclusive_group(required=True)
    where.add_argument("--ticket-url", help="open a ticket by POST to this address")
    where.add_argument("--smtp", metavar="HOST:PORT", help="send a mail through this server")
    flags.add_argument("--sender", default="landed-example@localhost")
    flags.add_argument("--to", default="desk@localhost")
    flags.add_argument("--title", default="A parcel is late")
    flags.add_argument("--lease", default="30s")
    flags.add_argument("--timeout", type=float, default=10.0, help="of one request to the provider, in seconds")
    flags.add_argument("--patience", type=float, default=30.0, help="how long to wait for what resolves by itself, in seconds")
    flags.add_argument("--wait", type=float, default=3600.0, help="how long to wait for a decision, in seconds; 0 = end when parked")
    flag = flags.parse_args()

    journal = Journal(flag.landed, os.environ["LANDED_TOKEN"])
    tool = "mail.send" if flag.smtp else "ticket.open"
    # Who gets it makes the call; a model that words it anew makes the same call.
    journal.register(tool, {"class": "at_most_once", "client_timeout": f"{flag.timeout}s", "identity_fields": ["to"]})
    send = mail_sender(flag.smtp, flag.sender, flag.timeout) if flag.smtp else ticket_sender(flag.ticket_url, flag.timeout)
    effect = journal.effect(tool=tool, step="notify", lease=flag.lease, patience=flag.patience)(send)
    state = {"notice": {"to": flag.to, "title": flag.title, "text": "Your parcel is on its way."}}

    while True:  # the runtime: enters the node, and again on every resume
        try:
            answer = notify(effect, state, {"thread_id": flag.thread})["notified"]
            break
        except Interrupt as stop:
            answer = stop.answer
        say("stopped", **answer.public())
        if not answer.parked:
            sys.exit(EXIT[answer.status])  # ask again later: the key stays
        resolution = journal.wait(answer.effect_id, answer.cursor, flag.wait)
        if resolution is None:
            sys.exit(EXIT[answer.status])
        say("resumed", **{k: resolution[k] for k in ("resolution", "by", "cursor")})
    say("finished", **answer.public())
    sys.exit(EXIT[answer.status])


if __name__ == "__main__":
    main()
