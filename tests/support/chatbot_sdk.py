"""Runs the chatbot provider's own authentication library against a stand-in, and prints what it saw as JSON.

   chatbot_sdk.py URL KEY-FILE-AS-JSON CLIENT-ID CLIENT-SECRET REFRESH-TOKEN
"""
import json
import sys

from google.auth.exceptions import RefreshError
from google.auth.transport.requests import AuthorizedSession
from google.oauth2 import credentials, service_account

url, key_file, client_id, client_secret, refresh_token = sys.argv[1:]
key_file = json.loads(key_file)
scopes = ["https://www.googleapis.com/auth/dialogflow"]
agent = f"{url}/v2/projects/{key_file['project_id']}/agent"


def account(**changes):
    return service_account.Credentials.from_service_account_info({**key_file, **changes}, scopes=scopes)


def consent(refresh_token=refresh_token, client_secret=client_secret):
    return credentials.Credentials(
        None, refresh_token=refresh_token, token_uri=key_file["token_uri"], client_id=client_id,
        client_secret=client_secret, scopes=scopes)


def refusal(of):
    try:
        AuthorizedSession(of).get(agent)
    except RefreshError as error:
        return error.args[1]
    return None


def post(session, path, body):
    response = session.post(agent + path, json=body)
    return [response.status_code, response.json()]


by_key, by_consent = AuthorizedSession(account()), AuthorizedSession(consent())
bare = AuthorizedSession(credentials.Credentials("ya29.wrong"))
seen = {
    "by key": by_key.get(agent).json()["displayName"],
    "by consent": by_consent.get(agent).json()["displayName"],
    "expiry": (by_key.credentials.expiry is not None, by_key.credentials.valid),
    "wrong key": refusal(account(client_email="other@example.com")),
    "wrong refresh token": refusal(consent(refresh_token="1//other")),
    "wrong client": refusal(consent(client_secret="other")),
    "wrong body": post(by_key, "/intents", {"displayName": "a", "colour": "red"})[1]["error"]["status"],
    "wrong value": post(by_key, "/entityTypes", {"displayName": "a", "kind": "map"})[1]["error"]["status"],
    "answer": post(by_key, "/sessions/s1:detectIntent", {
        "queryInput": {"text": {"text": "Hello", "languageCode": "en"}}})[1]["queryResult"]["fulfillmentText"],
    "operation": post(by_key, "/intents:batchUpdate", {
        "intentBatchInline": {"intents": [{"displayName": "a"}]}, "languageCode": "en"})[1],
}
try:
    bare.get(agent)
except RefreshError:
    seen["wrong token"] = "refused"
json.dump(seen, sys.stdout)
