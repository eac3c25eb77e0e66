"""Runs the language model provider's own SDK against a stand-in, and prints what it saw as JSON.

   llm_sdk.py URL URL-OF-ONE-THAT-IS-ASKED-TOO-OFTEN KEY
"""
import json
import sys

import openai

url, busy_url, key = sys.argv[1:]
content = bytes(range(256)) * 4


def client(url=url, key=key, retries=0):
    return openai.OpenAI(api_key=key, base_url=url, max_retries=retries)


def refusal(call):
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code]
    return None


def ask(client, **fields):
    return client.chat.completions.create(**{"model": "small", "messages": [{"role": "user", "content": "Hi"}], **fields})


own = client()
file = own.files.create(file=("notes.txt", content), purpose="assistants")
speech = own.audio.speech.create(model="tts-1", voice="alloy", input="Hi")
json.dump({
    "models": [model.id for model in own.models.list()],
    "answer": ask(own).choices[0].message.content,
    "file": [file.filename, file.bytes, file.purpose],
    "content": own.files.content(file.id).read() == content,
    "speech": speech.read().hex(),
    "assistants": len(own.beta.assistants.list().data),
    "wrong key": refusal(lambda: ask(client(key="sk-wrong"))),
    "wrong field": refusal(lambda: ask(own, model=None)),
    "wrong purpose": refusal(lambda: own.files.create(file=("a", b"a"), purpose="fun")),
    "no file": refusal(lambda: own.files.content("file-99")),
    "too often": refusal(lambda: ask(client(busy_url))),
    "patient": ask(client(busy_url, retries=2)).choices[0].message.content,
}, sys.stdout)
