"""What landed.py must get right without a journal."""

import json
import time
import unittest

import landed


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
        self.assertTrue(landed.derive_key("run ü", "s", "o", "i").isascii())

    def test_blank_and_long_are_refused(self):
        for parts in (("", "s", "o"), ("r", " ", "o"), ("r" * 300, "s", "o")):
            self.assertRaises(ValueError, landed.derive_key, *parts)


class Phases(unittest.TestCase):
    def attempt(self, **more):
        grant = {"effect_id": "e", "attempt": 1, "ref": "r", "provider_key": "p", "handles": [], "send_by_ms": 60_000, "lease_for_ms": 60_000}
        return landed.Attempt({**grant, **more}, time.monotonic())

    def test_the_record_outweighs_the_word(self):
        attempt = self.attempt()
        self.assertEqual(attempt.phase(landed.NotSent()), "not_sent")
        self.assertEqual(attempt.phase(RuntimeError()), "sent")
        attempt.sending()
        self.assertEqual(attempt.phase(landed.NotSent()), "sent")
        self.assertEqual(attempt.phase(landed.Refused("no")), "refused")

    def test_nothing_is_sent_late(self):
        for late in ({"send_by_ms": 0}, {"lease_for_ms": 0}, {"key_window_ms": -1}):
            self.assertRaises(landed.TooLate, self.attempt(**late).sending)
        lost = self.attempt()
        lost.lose()
        self.assertRaises(landed.TooLate, lost.sending)


if __name__ == "__main__":
    unittest.main()
