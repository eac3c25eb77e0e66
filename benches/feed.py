"""Opens connections to a feed, and prints what they cost and how fast an event is there.

   feed.py ADDRESS KEY PID-OF-THE-SERVER websocket|server-sent|speed CONNECTIONS
"""
import json
import socket
import statistics
import sys
import time

address, key, pid, what, count = sys.argv[1:]
host, port = address.split(":")
HEADERS = f"Host: {address}\r\nAuthorization: Bearer {key}\r\n"
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"


def memory():
    """Resident memory of the server in MiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


def follow(headers):
    connection = socket.create_connection((host, int(port)))
    connection.sendall(f"GET /v1/events HTTP/1.1\r\n{HEADERS}{headers}\r\n".encode())
    text = b""
    while b'"last_event_id"' not in text:
        part = connection.recv(4096)
        assert part, text
        text += part
    return connection


def await_text(connection, text):
    seen = b""
    while text not in seen:
        seen += connection.recv(65536)
    return time.perf_counter()


def cost(headers):
    before = memory()
    connections = [follow(headers) for _ in range(int(count))]
    time.sleep(2)
    after = memory()
    each = (after - before) * 1024 / len(connections)
    # The promise: 2,000 of them, and the server itself, in 60 MB.
    failed = after * 2**20 > 60e6 and int(count) <= 2000
    print(f"{count} followers by {what}: {after:.1f} MiB; without them {before:.1f}, so {each:.1f} KiB each")
    sys.exit("more than 60 MB" if failed else 0)


def speed():
    follower = follow(UPGRADE)
    sender = socket.create_connection((host, int(port)))
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    whole, behind = [], []
    for step in range(500):
        mark = f"mark {step}."
        body = json.dumps({"conversation_id": "1000", "user_id": "1000", "message": mark})
        began = time.perf_counter()
        sender.sendall(f"POST /v1/messages HTTP/1.1\r\n{HEADERS}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        answered = await_text(sender, b'"sent"')
        arrived = await_text(follower, mark.encode())
        whole.append(arrived - began)
        behind.append(max(0, arrived - answered))
        # Not in step with the server's own looking around.
        time.sleep(0.003 + step % 7 / 1000)
    milliseconds = [f"{1000 * statistics.quantiles(times, n=100)[at]:.2f}" for times in (whole, behind) for at in (49, 98)]
    print("from the request to the follower: median {} ms, p99 {} ms; behind the sender's answer: median {} ms, p99 {} ms".format(*milliseconds))
    sys.exit("more than 20 ms" if statistics.median(behind) > 0.02 else 0)


if what == "speed":
    speed()
else:
    cost(UPGRADE if what == "websocket" else "")
