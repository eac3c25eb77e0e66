"""Runs the text message provider's own SDK against a stand-in, and prints what it saw as JSON.

   sms_sdk.py URL URL-OF-ONE-THAT-IS-ASKED-TOO-OFTEN ACCOUNT TOKEN SENDER UNSUBSCRIBED
"""
import json
import sys

from twilio.base.exceptions import TwilioRestException
from twilio.rest import Client

url, busy_url, account, token, sender, unsubscribed = sys.argv[1:]


def client(url=url, token=token):
    made = Client(account, token)
    made.api.base_url = url
    return made


def refusal(call):
    try:
        call()
    except TwilioRestException as error:
        return [error.status, error.code, error.msg]
    return None


def send(client, **fields):
    return client.messages.create(**{"to": "+390655501420", "from_": sender, "body": "Hello", **fields})


own = client()
sent = send(own, body="Ciao, 'tutti' & più 👋")
with_media = send(own, body="See", media_url=["https://a.example/1", "https://a.example/2"])
by_group = own.messages.create(to="+390655501420", messaging_service_sid="MG" + "0" * 32, body="Hello")
json.dump({
    "sent": [sent.sid[:2], sent.status, sent.body, sent.to, sent.from_, sent.num_media, sent.date_created.isoformat()],
    "with media": [with_media.sid[:2], with_media.num_media],
    "by group": [by_group.status, by_group.messaging_service_sid[:2], by_group.from_],
    "wrong token": refusal(lambda: send(client(token="wrong"))),
    "wrong number": refusal(lambda: send(own, to="123")),
    "no sender": refusal(lambda: send(own, from_="")),
    "no text": refusal(lambda: send(own, body="")),
    "long text": refusal(lambda: send(own, body="x" * 1601)),
    "unsubscribed": refusal(lambda: send(own, to=unsubscribed)),
    "too often": refusal(lambda: send(client(busy_url))),
}, sys.stdout)
