"""What landed.py must get right without a journal."""

import json
import socket
import threading
import time
import unittest

import landed
import worker


class Bytes(unittest.TestCase):
    def test_embedded_or_in_base64(self):
        for value, member in {
            b'{"a": 1970670598291982290, "b":10.10}': '"result":{"a": 1970670598291982290, "b":10.10}',
            b"\xff": '"result_base64":"/w=="',
            b"null": '"result_base64":"bnVsbA=="',
            b"1\n": '"result_base64":"MQo="',
            b"NaN": '"result_base64":"TmFO"',
            b"[" * 100_000: '"result_base64":',
        }.items():
            with self.subTest(value=value[:20]):
                body = landed.embed({"x": 1}, "result", value).decode()
                self.assertIn(member, body)
                _, raw = landed.members(body)
                self.assertEqual(landed.content(raw, "result"), value)

    def test_none_is_left_out(self):
        self.assertEqual(landed.embed({"x": 1, "y": ""}, "result", None), b'{"x": 1}')

    def test_members_keep_their_text(self):
        text = ' { "args" : {"b" :1.10,"s":"\\u0000 } ,"} ,\n"n":[ ] , "e":{}}'
        whole, raw = landed.members(text)
        self.assertEqual(raw, {"args": '{"b" :1.10,"s":"\\u0000 } ,"}', "n": "[ ]", "e": "{}"})
        self.assertEqual(whole, json.loads(text))
        self.assertEqual(landed.members("{}"), ({}, {}))
        for bad in ("[]", "", '{"a":'):
            self.assertRaises(ValueError, landed.members, bad)


class Keys(unittest.TestCase):
    def test_parts_do_not_run_together(self):
        self.assertNotEqual(landed.derive_key("r", "a/b", "c"), landed.derive_key("r", "a", "b/c"))
        self.assertEqual(landed.derive_key("run ü", "s", "o", "i~*:"), "run%20%C3%BC/s/o/i~%2A:")  # as EffectKey.java derives it

    def test_blank_and_long_are_refused(self):
        for parts in (("", "s", "o"), ("r", " ", "o"), ("r" * 300, "s", "o")):
            self.assertRaises(ValueError, landed.derive_key, *parts)


def grant(**more):
    whole = {"effect_id": "e", "attempt": 1, "ref": "r", "provider_key": "p", "handles": [], "send_by_ms": 60_000, "lease_for_ms": 60_000}
    return landed.Attempt({**whole, **more}, landed.Moment())


class Senders(unittest.TestCase):
    """A sender must not write the first byte once the time is over."""

    def provider(self, replies):
        """Takes one connection, sends a line and then one per line that it gets.
        Returns its address and the lines, complete once the peer has gone."""
        listener = socket.create_server(("127.0.0.1", 0))
        lines = []

        def serve():
            connection, _ = listener.accept()
            with listener, connection, connection.makefile("rwb", buffering=0) as stream:
                for reply in replies:
                    stream.write(reply + b"\r\n")
                    line = stream.readline()
                    if line:
                        lines.append(line)
                lines.extend(stream.readlines())

        thread = threading.Thread(target=serve)
        thread.start()
        self.addCleanup(thread.join)
        return "127.0.0.1:%d" % listener.getsockname()[1], lines, thread

    def test_ticket(self):
        address, lines, thread = self.provider([])
        send = worker.ticket_sender(f"http://{address}/tickets", 5)
        self.assertRaises(landed.TooLate, send, grant(send_by_ms=0), {})
        thread.join()
        self.assertEqual(lines, [])

    def test_mail(self):
        address, lines, thread = self.provider([b"220 test", b"250 ok", b"250 ok", b"250 ok", b"354 go on"])
        send = worker.mail_sender(address, "a@localhost", 5)
        self.assertRaises(landed.TooLate, send, grant(send_by_ms=0), {"to": "b@localhost", "title": "t", "text": "x"})
        thread.join()
        self.assertEqual(len(lines), 4, lines)  # EHLO, MAIL, RCPT, DATA and no byte of the message


class Phases(unittest.TestCase):
    def test_the_record_outweighs_the_word(self):
        attempt = grant()
        self.assertEqual(attempt.phase(landed.NotSent()), "not_sent")
        self.assertEqual(attempt.phase(RuntimeError()), "sent")
        attempt.sending()
        self.assertEqual(attempt.phase(landed.NotSent()), "sent")
        self.assertEqual(attempt.phase(landed.Refused("no")), "refused")

    def test_nothing_is_sent_late(self):
        for late in ({"send_by_ms": 0}, {"lease_for_ms": 0}, {"key_window_ms": -1}):
            self.assertRaises(landed.TooLate, grant(**late).sending)
        lost = grant()
        lost.lose()
        self.assertRaises(landed.TooLate, lost.sending)


if __name__ == "__main__":
    unittest.main()
