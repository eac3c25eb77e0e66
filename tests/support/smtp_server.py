"""A mail server that does what the recipient's name says, and prints what it sees as lines of JSON.

   smtp_server.py '{"encryption": "none" | "starttls" | "tls", "certificate": PATH, "login": [USER, PASSWORD],
       "mailboxes": PATH}'

It ends when its standard input does. The first line holds its port. Recipients: refused-rcpt, later-rcpt, refused-data,
later-data, silent-rcpt, silent-data, gone-rcpt, gone-data, then-gone, echo; everyone else gets the e-mail, those who have
a folder below "mailboxes" in it.
"""
import asyncio
import email
import email.policy
import json
import pathlib
import ssl
import sys
import uuid

from aiosmtpd.smtp import SMTP, AuthResult

options = json.loads(sys.argv[1])
connections = 0


def say(**seen):
    print(json.dumps(seen), flush=True)


def deliver(recipient, content):
    mailbox = pathlib.Path(options["mailboxes"], recipient.lower(), "Maildir")
    if mailbox.is_dir():
        name = f"{uuid.uuid4()}.test"
        temporary = mailbox / "tmp" / name
        temporary.write_bytes(content)
        temporary.rename(mailbox / "new" / name)


class Handler:
    async def handle_EHLO(self, server, session, envelope, hostname, responses):
        session.host_name = hostname
        say(event="hello", domain=hostname, connection=server.number, encrypted=session.ssl is not None)
        return responses

    async def handle_RCPT(self, server, session, envelope, address, _):
        what = address.split("@")[0]
        if what == "refused-rcpt":
            return "550-5.1.1 there is nobody\r\n550 5.1.1 of that name"
        if what == "later-rcpt":
            return "451 4.7.1 come back later"
        if what == "echo":
            return "550 5.7.1 not with the password " + options["login"][1]
        if what == "silent-rcpt":
            await asyncio.sleep(60)
        if what == "gone-rcpt":
            server.transport.abort()
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server, session, envelope):
        what = envelope.rcpt_tos[0].split("@")[0]
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        part = lambda kind: (message.get_body((kind,)) or message).get_content()
        say(
            event="email", sender=envelope.mail_from, recipients=envelope.rcpt_tos, connection=server.number,
            encrypted=session.ssl is not None or options["encryption"] == "tls",
            login=session.auth_data.login.decode() if session.auth_data else None,
            headers=[[name, str(value)] for name, value in message.items()],
            raw=envelope.content.decode("latin-1"), text=part("plain"), html=part("html"),
            defects=[str(defect) for part in message.walk() for defect in part.defects],
        )
        if options.get("mailboxes"):
            for recipient in envelope.rcpt_tos:
                deliver(recipient, envelope.content)
        if what == "refused-data":
            return "554 5.7.1 not such a thing"
        if what == "later-data":
            return "452 4.3.1 no room"
        if what == "silent-data":
            await asyncio.sleep(60)
        if what == "gone-data":
            server.transport.abort()
        if what == "then-gone":
            asyncio.get_running_loop().call_later(0.05, server.transport.abort)
        return "250 taken"


class Server(SMTP):
    def connection_made(self, transport):
        global connections
        # A connection that becomes an encrypted one is made twice.
        if not hasattr(self, "number"):
            connections += 1
            self.number = connections
        super().connection_made(transport)


def authenticator(server, session, envelope, mechanism, data):
    # aiosmtpd has its own object for both mechanisms.
    good = [data.login.decode(), data.password.decode()] == options["login"]
    say(event="login", mechanism=mechanism, good=good)
    return AuthResult(success=good, auth_data=data, handled=False)


async def main():
    context = None
    if options["encryption"] != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options["certificate"])
    starttls = options["encryption"] == "starttls"

    def server():
        return Server(
            Handler(), enable_SMTPUTF8=options.get("smtputf8", True), hostname="mail.test", ident="test",
            tls_context=context if starttls else None,
            authenticator=authenticator if options.get("login") else None, auth_require_tls=False,
        )

    loop = asyncio.get_running_loop()
    listening = await loop.create_server(server, "127.0.0.1", 0, ssl=context if options["encryption"] == "tls" else None)
    say(port=listening.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
