"""The worker's side of the Landed effect journal, on the standard library.

One module to copy into a Python 3.11 worker. It owns the calls of the worker
API, the loop around begin and commit (Journal.do), the heartbeat, and what an
agent is told (Answer). It keeps no state: the journal decides who may execute.

    journal = Journal("https://landed.example.com", token)
    journal.register("ticket.open", {"class": "at_most_once", "client_timeout": "20s"})

    @journal.effect(tool="ticket.open", step="open-ticket")
    def open_ticket(attempt, args):
        ...                              # connect; an error here: raise NotSent
        attempt.sending()                # right before the first byte
        ...                              # the provider said no: raise Refused
        return Outcome(result_bytes, provider_id)

    answer = open_ticket(Run(thread_id), {"title": "..."})

Rules that this module keeps and a copy must keep too:
- no answer of begin, no call of the provider;
- an error counts as "may have happened" unless it is NotSent or Refused;
- the claim id is random, in memory only, sent again only while no answer was read;
- remaining times count from before the request, on the clock that went further;
- a confirmation is offered to the journal until it is taken, never the effect
  done again.
"""

import base64
import dataclasses
import functools
import http.client
import json
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request


class JournalError(Exception):
    """The journal refused a call. Of a begin: nothing was executed."""

    def __init__(self, status, problem):
        self.status = status
        self.code = problem.get("code", "")
        self.problem = problem
        super().__init__(f"{status} {self.code}: {problem.get('detail', '')}")


class Unavailable(JournalError):
    """No answer, or one that says to ask again. Of a begin: nothing was executed."""

    def __init__(self, why):
        super().__init__(503, {"code": "unavailable", "detail": str(why)})


class DoneUnrecorded(Exception):
    """The provider confirmed, and the journal could not be told. Do not repeat it."""


class NotSent(Exception):
    """No byte of the request left, and that is certain."""


class Refused(Exception):
    """The provider said no and did nothing. final: no retry can help."""

    def __init__(self, text, final=True, status=0, retry_after=0.0):
        super().__init__(text)
        self.final, self.status, self.retry_after = final, status, retry_after


class TooLate(NotSent):
    """The time is over in which this attempt may write its first byte."""


@dataclasses.dataclass(frozen=True)
class Run:
    """Where a call stands. root_run outlives every resume: the thread's id."""

    root_run: str
    turn: str = ""
    run: str = ""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the provider confirmed."""

    result: bytes = b""
    provider_id: str = ""
    replayed: bool = False


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a call came to. status is one of done, in_progress, unknown, refused,
    hard_stop, abandoned; note says to a model what not to do."""

    status: str
    note: str
    directive: str
    effect_id: str = ""
    attempt: int = 0
    result: bytes | None = None
    provider_id: str = ""
    reason: str = ""
    retry_after: float = 0.0
    cursor: int = 0
    settled_by: str = ""

    @property
    def parked(self):
        return self.directive == "parked"

    @property
    def settled(self):
        return self.status not in ("in_progress", "unknown")

    def public(self):
        """The form for a model or an interrupt: plain JSON, no bytes."""
        out = {k: v for k, v in dataclasses.asdict(self).items() if v not in (None, "", 0, 0.0)}
        if self.parked:
            out["cursor"] = self.cursor  # 0 is a place to start, too
        if self.result is not None:
            out["result"] = self.result.decode("utf-8", "replace")
        return out


NOTES = {
    "done": "Done. Do not repeat it.",
    "in_progress": "Not done yet; an attempt runs or follows by itself. Do not start another: ask again with the same call later.",
    "unknown": "The outcome is unknown: it may have happened. Do not repeat it in any way; a person or a look at the provider decides.",
    "refused": "The provider refused and did nothing. The same call gets the same answer.",
    "hard_stop": "Not executed, and no further try will be made now. Report this to a person.",
    "abandoned": "A person closed this as not done, and it will not be executed. Do not repeat it.",
}
STATUS = {
    "return": "done", "in_progress": "in_progress", "retry_later": "in_progress", "retry": "in_progress",
    "verifying": "unknown", "parked": "unknown", "rejected": "refused", "hard_stop": "hard_stop", "abandoned": "abandoned",
}
WAITING = ("in_progress", "retry_later", "verifying", "retry")


class Moment:
    """A point in time. passed() is the larger of wall and monotonic clock: a
    suspend stops the one, and somebody may set the other back."""

    def __init__(self):
        self._wall, self._monotonic = time.time(), time.monotonic()

    def passed(self):
        return max(time.time() - self._wall, time.monotonic() - self._monotonic)


class Attempt:
    """One permission to execute. Write ref, never the key, to the provider."""

    def __init__(self, answer, begun):
        self.effect_id = answer["effect_id"]
        self.number = answer["attempt"]
        self.ref = answer["ref"]
        self.provider_key = answer["provider_key"]
        self.handles = answer["handles"]
        self._begun = self._leased = begun
        self._send_by = answer.get("send_by_ms", 0) / 1000
        if answer.get("key_window_ms"):
            self._send_by = min(self._send_by, answer["key_window_ms"] / 1000)
        self._lease_for = answer.get("lease_for_ms", 0) / 1000
        self._lock = threading.Lock()
        self._lost = self._sent = False

    def sending(self):
        """Call right before the first byte of what causes the effect. After it
        the outcome counts as unknown until it is reported otherwise."""
        with self._lock:
            if self._lost or self._begun.passed() >= self._send_by or self._leased.passed() >= self._lease_for:
                raise TooLate("too late to send, or the lease is lost")
            self._sent = True

    def renewed(self, at, lease_for_ms):
        with self._lock:
            self._leased, self._lease_for = at, lease_for_ms / 1000

    def lose(self):
        with self._lock:
            self._lost = True

    def phase(self, error):
        """How far it got: the record outweighs the word of the function."""
        if isinstance(error, Refused):
            return "refused"
        if isinstance(error, NotSent) and not self._sent:
            return "not_sent"
        return "sent"


class Journal:
    """A journal behind the worker API. Safe for use by several threads."""

    def __init__(self, base_url, token, timeout=10.0, namespace=""):
        parts = urllib.parse.urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("the journal's address must be an http or https URL")
        self._base = base_url.rstrip("/") + "/v1"
        self._token = token
        self._timeout = timeout
        self._namespace = namespace
        # No redirects: they would carry the token elsewhere or turn POST into GET.
        self._opener = urllib.request.build_opener(_NoRedirect)

    # Calls of the API.

    def call(self, method, path, body=None, extra=0.0):
        """Sends one request. Returns (members, raw) of the answer, raw holding the
        exact text of each member; ({}, {}) for 204."""
        request = urllib.request.Request(self._base + path, data=body, method=method)
        request.add_header("Authorization", "Bearer " + self._token)
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, timeout=self._timeout + extra) as answer:
                text = answer.read().decode("utf-8")
                return members(text) if answer.status == 200 else ({}, {})
        except urllib.error.HTTPError as error:
            with error:
                return self._problem(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unavailable(error) from error

    def _problem(self, error):
        try:
            problem, raw = members(error.read().decode("utf-8"))
        except (OSError, http.client.HTTPException, ValueError):
            problem, raw = {}, {}
        if error.code == 409 and "directive" in problem:
            return problem, raw
        if not problem.get("code") and error.code in (429, 502, 503, 504):
            raise Unavailable(f"something before the journal answered {error.code}")
        if problem.get("code") in ("unavailable", "conflict", "too_many_waiting"):
            raise Unavailable(problem.get("detail", ""))
        raise JournalError(error.code, problem)

    def register(self, name, tool):
        """Makes a tool known, or changes it for new effects. Once at start."""
        self._patiently(10.0, lambda: self.call("PUT", "/tools/" + urllib.parse.quote(name, safe=""), json.dumps(tool).encode()))

    def wait(self, effect_id, cursor, seconds):
        """Waits for a resolution after a cursor; None if there is none yet. 0 asks
        once."""
        end = time.monotonic() + seconds
        while True:
            part = min(max(end - time.monotonic(), 0.0), 30.0)
            try:
                query = urllib.parse.urlencode({"after": cursor, "wait": int(part * 1000)})
                found, _ = self.call("GET", f"/effects/{effect_id}/decision?{query}", extra=part)
                if found:
                    return found
            except Unavailable:
                time.sleep(min(1.0, max(end - time.monotonic(), 0.0)))
            if time.monotonic() >= end:
                return None

    # The loop.

    def effect(self, tool, step, operation="", lease="30s", patience=30.0):
        """Decorates a function (attempt, args) -> Outcome. What it makes is called
        with (run, args, item="", **begin members) and returns an Answer."""

        def decorate(function):
            @functools.wraps(function)
            def run_effect(run, args, item="", **more):
                request = {
                    "key": derive_key(run.root_run, step, operation or tool, item), "tool": tool, "root_run": run.root_run,
                    "turn": run.turn, "run": run.run, "step": step, "operation": operation or tool, "lease": lease, **more,
                }
                return self.do(request, json.dumps(args).encode(), function, patience)

            return run_effect

        return decorate

    def do(self, request, args, function, patience=30.0):
        """Executes at most as often as the tool's class allows, or returns what is
        recorded. Raises JournalError if the call itself was refused, Unavailable
        if the journal could not be asked (nothing was executed), DoneUnrecorded."""
        end = time.monotonic() + patience
        while True:
            begun, found, raw = self._begin(request, args)
            successor = (found.get("decision") or {}).get("successor_key")
            if found["directive"] == "abandoned" and successor:
                request = {**request, "key": successor}  # a person corrected it: that key hands out the corrected args
                continue
            if found["directive"] == "execute":
                answer = self._execute(request, args, function, begun, found, raw)
            else:
                answer = answer_of(found, raw)
            again = answer.directive in WAITING or answer.directive == "return" and answer.status == "unknown"
            pause = max(answer.retry_after, 0.05)
            if not again or time.monotonic() + pause > end:
                return answer
            time.sleep(pause)

    def _begin(self, request, args):
        claim = secrets.token_hex(16)
        end = time.monotonic() + 10.0
        while True:
            body = embed({**request, "claim_id": claim, **self._where()}, "args", args)
            begun = Moment()
            try:
                found, raw = self.call("POST", "/effects", body)
                if "directive" not in found:
                    raise Unavailable("the answer holds no directive")
                return begun, found, raw
            except Unavailable:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
            except JournalError as error:
                if error.code != "claim_used" or time.monotonic() > end:
                    raise
                claim = secrets.token_hex(16)  # its attempt was ours, and is over

    def _where(self):
        return {"namespace": self._namespace} if self._namespace else {}

    def _execute(self, request, args, function, begun, found, raw):
        attempt = Attempt(found, begun)
        report = {"attempt": found["attempt"], "lease_token": found["lease_token"], "key": request["key"], "tool": request["tool"], **self._where()}
        stored = content(raw, "args")
        if stored is not None:
            args = stored  # what attempt 1 was told, or a person corrected: not what a model says now
        stop = threading.Event()
        beat = threading.Thread(target=self._keep_alive, args=(attempt, report, found, stop), daemon=True)
        beat.start()
        try:
            outcome = function(attempt, json.loads(args))
        except BaseException as error:  # also a cancelled run: what is known is reported
            answer = self._fail(attempt, report, error)
            if not isinstance(error, Exception):
                raise
            return answer
        finally:
            stop.set()
        return self._commit(attempt, report, outcome)

    def _keep_alive(self, attempt, report, found, stop):
        body = json.dumps({k: report[k] for k in ("attempt", "lease_token")}).encode()
        every = max(found.get("lease_for_ms", 0) / 3000, 0.05)
        while not stop.wait(every):
            at = Moment()
            try:
                renewed, _ = self.call("POST", f"/effects/{attempt.effect_id}/heartbeat", body)
                attempt.renewed(at, renewed.get("lease_for_ms", 0))
            except Unavailable:
                continue  # the lease runs out by itself if this goes on
            except JournalError:
                attempt.lose()
                return

    def _commit(self, attempt, report, outcome):
        facts = {**report, "provider_id": outcome.provider_id, "replayed": outcome.replayed}
        path = f"/effects/{attempt.effect_id}/commit"
        try:
            try:
                taken, _ = self._patiently(60.0, lambda: self.call("POST", path, embed(facts, "result", outcome.result or None)))
            except JournalError as error:
                if error.code not in ("invalid", "too_large"):
                    raise
                # State first, content second: the confirmation must not be lost over a result.
                taken, _ = self._patiently(60.0, lambda: self.call("POST", path, embed(facts, "result", None)))
        except JournalError as error:
            if error.code == "commit_conflict":
                raise
            raise DoneUnrecorded(f"effect {attempt.effect_id} is done (provider id {outcome.provider_id!r}) but not recorded: do not repeat it") from error
        return Answer("done", NOTES["done"], "return", taken.get("effect_id", attempt.effect_id), attempt.number, outcome.result, outcome.provider_id)

    def _fail(self, attempt, report, error):
        more = {"phase": attempt.phase(error), "error": f"{type(error).__name__}: {error}"[:2000]}
        if isinstance(error, Refused):
            more |= {"final": error.final, "status": error.status, "retry_after": int(error.retry_after * 1000)}
        body = json.dumps({**report, **more}).encode()
        try:
            found, _ = self._patiently(60.0, lambda: self.call("POST", f"/effects/{attempt.effect_id}/fail", body))
        except JournalError:
            # Without a report the attempt counts as sent: nothing is lost by that.
            return Answer("unknown", NOTES["unknown"], "parked", attempt.effect_id, attempt.number, reason="unreported")
        if found["directive"] == "return":  # settled meanwhile: begin again returns it
            return Answer("unknown", NOTES["unknown"], "return", attempt.effect_id, attempt.number)
        return answer_of({"attempt": attempt.number, "refusal": str(error), **found}, {})

    @staticmethod
    def _patiently(seconds, send):
        end, pause = time.monotonic() + seconds, 0.1
        while True:
            try:
                return send()
            except Unavailable:
                if time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 5.0)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def answer_of(found, raw):
    """Turns a directive into an Answer."""
    directive = found["directive"]
    status = STATUS.get(directive, "unknown")
    reason = found.get("reason", "")
    if directive == "rejected" or directive == "return" and found.get("state") == "REJECTED":
        status, reason = "refused", found.get("refusal", "")
    return Answer(
        status, NOTES[status], directive, found.get("effect_id", ""), found.get("attempt", 0), content(raw, "result"), found.get("provider_id", ""),
        reason, found.get("retry_after_ms", 0) / 1000, found.get("cursor", 0), found.get("settled_by", ""),
    )


def derive_key(root_run, step, operation, item=""):
    """The key of one step's operation: from where the call stands, never from
    arguments, time, attempts, model output or a framework's call id."""
    parts = [root_run, step, operation] + ([item] if item else [])
    if not all(p.strip() for p in parts):
        raise ValueError("a key needs root run, step and operation")
    key = "/".join(urllib.parse.quote(p, safe="-._:") for p in parts)
    if len(key) > 255:
        raise ValueError("the key has more than 255 bytes: shorten its parts")
    return key


def embed(body, name, value):
    """Writes body with one more member whose bytes stay as they are."""
    out = json.dumps({k: v for k, v in body.items() if v not in ("", None)})
    if value is None:
        return out.encode()
    try:
        text = value.decode("utf-8")
        json.loads(text, parse_constant=_no_constant)
        plain = text == text.strip(" \t\r\n") and text != "null"
    except (ValueError, RecursionError):
        plain = False
    if not plain:
        name, text = name + "_base64", json.dumps(base64.b64encode(value).decode())
    return f"{out[:-1]}, {json.dumps(name)}:{text}}}".encode()


def _no_constant(name):
    raise ValueError(f"{name} is no JSON")


def members(text):
    """Reads a JSON object: its members, and the exact text of each."""
    whole = json.loads(text)
    if not isinstance(whole, dict):
        raise ValueError("not a JSON object")
    decoder, raw, at = json.JSONDecoder(), {}, _skip(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, _skip(text, at))
        start = _skip(text, _skip(text, at) + 1)  # past the colon
        _, at = decoder.raw_decode(text, start)
        raw[name] = text[start:at]
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return whole, raw


def _skip(text, at):
    while text[at] in " \t\r\n":
        at += 1
    return at


def content(raw, name):
    """The bytes of args or result in an answer, or None."""
    if name + "_base64" in raw:
        return base64.b64decode(json.loads(raw[name + "_base64"]))
    text = raw.get(name, "null")
    return None if text == "null" else text.encode("utf-8")
