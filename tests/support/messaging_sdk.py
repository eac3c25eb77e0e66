"""Runs the messaging platforms' SDKs against a stand-in, and prints what they saw as JSON.

   messaging_sdk.py URL URL-OF-ONE-THAT-IS-ASKED-TOO-OFTEN ARGUMENTS-AS-JSON
"""
import io
import json
import sys
from urllib.parse import urlsplit

import httpx
import requests
import tweepy
from facebook_business.adobjects.page import Page
from facebook_business.api import FacebookAdsApi
from facebook_business.exceptions import FacebookRequestError
from facebook_business.session import FacebookSession
from pywa import WhatsApp
from pywa.errors import WhatsAppError
from pywa.types import Button
from wechatpy import WeChatClient
from wechatpy.exceptions import WeChatClientException

url, busy_url, arguments = sys.argv[1:]
given = json.loads(arguments)
png = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


class Elsewhere(httpx.HTTPTransport):
    """Takes requests to the stand-in, under the addresses of the service."""

    def __init__(self, url):
        super().__init__()
        self.place = urlsplit(url)

    def handle_request(self, request):
        request.url = request.url.copy_with(
            scheme=self.place.scheme, host=self.place.hostname, port=self.place.port)
        request.headers["host"] = self.place.netloc
        return super().handle_request(request)


def whatsapp(url=url, token=given["token"]):
    session = httpx.Client(transport=Elsewhere(url))
    return WhatsApp(phone_id=given["phone"], token=token, session=session, api_version=23.0)


def page(id, token=given["token"]):
    session = FacebookSession(access_token=token)
    session.GRAPH = url
    return Page(id, api=FacebookAdsApi(session, api_version="v23.0"))


def tell(page, message, to="101"):
    params = {"recipient": {"id": to}, "messaging_type": "RESPONSE", "message": message}
    return dict(page.create_message(params=params))["message_id"]


class OfStandIn(requests.Session):
    """Signs for the stand-in's own address."""

    def request(self, method, address, **rest):
        return super().request(method, address.replace("https://api.twitter.com", url), **rest)


def microblog(key_secret=given["signing"][1]):
    key, _, token, token_secret = given["signing"]
    client = tweepy.Client(consumer_key=key, consumer_secret=key_secret,
                           access_token=token, access_token_secret=token_secret)
    client.session = OfStandIn()
    return client


def upload():
    auth = tweepy.OAuth1UserHandler(*given["signing"]).apply_auth()
    return requests.post(url + "/2/media/upload", auth=auth, data={"media_category": "dm_image"},
                         files={"media": ("a.png", png, "image/png")}, timeout=10).json()["data"]["id"]


class WeChat(WeChatClient):
    API_BASE_URL = url + "/cgi-bin/"

    def fetch_access_token(self):
        return self._fetch_access_token(url=url + "/cgi-bin/token", params={
            "grant_type": "client_credential", "appid": self.appid, "secret": self.secret})


def refusal(call):
    try:
        call()
    except WhatsAppError as error:
        return [error.raw_response.status_code, error.code]
    except FacebookRequestError as error:
        return [error.http_status(), error.api_error_code()]
    except tweepy.HTTPException as error:
        return [error.response.status_code, error.response.json()["title"]]
    except WeChatClientException as error:
        return [200, error.errcode]
    return None


wa, messenger, instagram, x = whatsapp(), page(given["page"]), page(given["account"]), microblog()
wechat = WeChat(given["app"][0], given["app"][1])
files = {"type": "image", "payload": {"url": "https://a.example/b.png", "is_reusable": False}}
replies = [{"content_type": "text", "title": "Red", "payload": "red"}]
template = {"type": "template", "payload": {"template_type": "generic", "elements": [{
    "title": "T", "image_url": "https://a.example/b.png",
    "buttons": [{"type": "web_url", "url": "https://a.example", "title": "See"}]}]}}
media = upload()
picture = wechat.media.upload("image", ("a.png", io.BytesIO(png), "image/png"))["media_id"]
seen = {
    "whatsapp": wa.send_message(to="15551234567", text="Hi", preview_url=True).id,
    "whatsapp image": wa.send_image(to="15551234567", image="https://a.example/b.png", caption="c").id,
    "whatsapp document": wa.send_document(
        to="15551234567", document="https://a.example/b.pdf", filename="b.pdf").id,
    "whatsapp buttons": wa.send_message(
        to="15551234567", text="Which?", buttons=[Button("Red", callback_data="r")]).id,
    "whatsapp wrong token": refusal(lambda: whatsapp(token="wrong").send_message(to="15551234567", text="Hi")),
    "whatsapp silent": refusal(lambda: wa.send_message(to=given["silent"], text="Hi")),
    "whatsapp long": refusal(lambda: wa.send_message(to="15551234567", text="x" * 4097)),
    "whatsapp too often": refusal(lambda: whatsapp(busy_url).send_message(to="15551234567", text="Hi")),
    "messenger": tell(messenger, {"text": "Hi"}),
    "messenger file": tell(messenger, {"attachment": files}),
    "messenger replies": tell(messenger, {"text": "Which?", "quick_replies": replies}),
    "messenger template": tell(messenger, {"attachment": template}),
    "messenger wrong token": refusal(lambda: tell(page(given["page"], "wrong"), {"text": "Hi"})),
    "messenger silent": refusal(lambda: tell(messenger, {"text": "Hi"}, given["silent"])),
    "messenger long": refusal(lambda: tell(messenger, {"text": "x" * 2001})),
    "messenger neither": refusal(lambda: tell(messenger, {})),
    "instagram": tell(instagram, {"text": "Hi"}),
    "instagram long": refusal(lambda: tell(instagram, {"text": "é" * 501})),
    "instagram file": refusal(lambda: tell(instagram, {"attachment": {**files, "type": "file"}})),
    "microblog": x.create_direct_message(participant_id="104", text="Grüße & 'more' 👋").data["dm_event_id"],
    "microblog image": x.create_direct_message(participant_id="104", media_id=media).data["dm_event_id"],
    "microblog wrong secret": refusal(
        lambda: microblog("wrong").create_direct_message(participant_id="104", text="Hi")),
    "microblog unknown image": refusal(lambda: x.create_direct_message(participant_id="104", media_id="1")),
    "microblog silent": refusal(lambda: x.create_direct_message(participant_id=given["silent"], text="Hi")),
    "wechat": wechat.message.send_text("open-105", "Grüße 👋")["errcode"],
    "wechat image": wechat.message.send_image("open-105", picture)["errcode"],
    "wechat article": wechat.message.send_articles("open-105", [{
        "title": "T", "description": "D", "url": "https://a.example", "image": "https://a.example/b.png"}])["errcode"],
    "wechat unknown image": refusal(lambda: wechat.message.send_image("open-105", "none")),
    "wechat long": refusal(lambda: wechat.message.send_text("open-105", "x" * 2049)),
    "wechat silent": refusal(lambda: wechat.message.send_text(given["silent"], "Hi")),
    "wechat wrong secret": refusal(lambda: WeChat(given["app"][0], "wrong").message.send_text("open-105", "Hi")),
}
# A token that ends is replaced by the SDK itself.
for _ in range(10):
    wechat.message.send_text("open-105", "Hi")
json.dump(seen, sys.stdout)
