"""Runs the team-messaging provider's own SDK against a stand-in, and prints what it saw as JSON.

   teamchat_sdk.py URL-OF-A-WORKSPACE URL-OF-ONE-THAT-IS-ASKED-TOO-OFTEN TOKEN
"""
import json
import sys

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

url, busy_url, token = sys.argv[1:]


def client(url, token=token):
    # Without the SDK's own handlers, which would hide a fault of the stand-in.
    return WebClient(token=token, base_url=url, timeout=10, retry_handlers=[])


def refusal(call):
    try:
        call()
    except SlackApiError as error:
        return [error.response.status_code, error.response["error"], error.response.headers.get("retry-after")]
    return None


# The SDK gives the same object for every page.
pages = [list(page["members"]) for page in client(url).users_list(limit=200)]
seen = {
    "pages": [len(page) for page in pages],
    "members": [member for page in pages for member in page],
    "wrong token": refusal(lambda: client(url, "xoxb-wrong").users_list()),
    "wrong cursor": refusal(lambda: client(url).users_list(cursor="wrong")),
    "wrong argument": refusal(lambda: client(url).users_list(colour="red")),
    "too often": refusal(lambda: client(busy_url).users_list()),
}
channels = [list(page["channels"]) for page in client(url).conversations_list(
    types="public_channel,private_channel", exclude_archived=True, limit=200)]
seen["channels"] = [len(page) for page in channels]
last = channels[-1][-1]["id"]
seen["archived"] = client(url).conversations_archive(channel=last)["ok"]
seen["archived again"] = refusal(lambda: client(url).conversations_archive(channel=last))
seen["archived general"] = refusal(lambda: client(url).conversations_archive(channel="C00000001"))
seen["left"] = sum(len(page["channels"]) for page in client(url).conversations_list(exclude_archived=True, limit=200))
own = client(url).conversations_create(name="carla-3")["channel"]["id"]
seen["name taken"] = refusal(lambda: client(url).conversations_create(name="carla-3"))
seen["wrong name"] = refusal(lambda: client(url).conversations_create(name="Carla #3"))
seen["invited"] = client(url).conversations_invite(channel=own, users="U0001,U0002")["channel"]["id"] == own
seen["invited again"] = refusal(lambda: client(url).conversations_invite(channel=own, users=["U0001"]))
seen["posted"] = client(url).chat_postMessage(channel=own, text="Ciao", username="Carla")["message"]["text"]
seen["no text"] = refusal(lambda: client(url).chat_postMessage(channel=own, text=""))
client(url).conversations_archive(channel=own)
seen["posted to the archive"] = refusal(lambda: client(url).chat_postMessage(channel=own, text="Ciao"))
patient = client(busy_url)
patient.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
seen["patient"] = len(patient.users_list(limit=5)["members"])
json.dump(seen, sys.stdout)
