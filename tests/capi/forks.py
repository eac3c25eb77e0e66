"""Forks in the middle of a program that uses the C library, as servers of Python do.

    forks.py CONFIG           LD_LIBRARY_PATH or SB_LIBRARY say where the library is
"""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples/python"))
sys.dont_write_bytecode = True
from sb import Library  # noqa: E402

CHILDREN, GENERATIONS, CALLS = 8, 3, 50


def connection(sb):
    return sb.sb_db_get("SELECT CONNECTION_ID() AS id")["id"]


def forked(work):
    """Runs work in a child; what it returned comes back through a pipe."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            os.write(writing, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return pid, reading


def gathered(pid, reading):
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"a child ended with {status}"
    return json.loads(text)


def family(sb, conversation, generations):
    """The connections of this process's children and theirs, all of which write at once."""

    def child():
        own = connection(sb)
        for number in range(CALLS):
            sb.sb_send_message(3, conversation, f"{os.getpid()} {number}")
        assert connection(sb) == own, "a child lost its connection"
        below = family(sb, conversation, generations - 1) if generations > 1 else []
        return [own, *below]

    children = [forked(child) for _ in range(CHILDREN if generations == GENERATIONS else 1)]
    return [connection for pid, reading in children for connection in gathered(pid, reading)]


with Library(json.loads(sys.argv[1]), os.environ.get("SB_LIBRARY")) as sb:
    before = connection(sb)
    conversation = sb.sb_new_conversation(3)["details"]["id"]
    connections = family(sb, conversation, GENERATIONS)
    assert len(connections) == CHILDREN * GENERATIONS
    assert len({before, *connections}) == len(connections) + 1, "two processes shared a connection"
    assert connection(sb) == before, "the children took their parent's connection"
    messages = [message["message"] for message in sb.sb_get_conversation(3, conversation)["messages"]]
    assert len(messages) == len(set(messages)) == CHILDREN * GENERATIONS * CALLS, len(messages)
    print(f"{len(connections)} forked processes, each with a connection of its own; {len(messages)} messages, each once")
