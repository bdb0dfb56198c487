"""Stands for psycopg: hands a statement and its parameters to the test, which
executes them in a real database."""

import json
import os
import urllib.request


class Connection:
    def cursor(self):
        return self

    def execute(self, sql, params):
        body = json.dumps({"sql": sql, "params": params}).encode()
        with urllib.request.urlopen(urllib.request.Request(os.environ["RECORDER"] + "/sql", body)) as answer:
            self._made = answer.read().decode()

    def fetchone(self):
        return (self._made,)

    def commit(self):
        pass


def connect(_):
    return Connection()
