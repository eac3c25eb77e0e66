"""What a mail program does: answers the newest e-mail of a mailbox, or writes a new one, and prints what it has sent.

   mail_program.py '{"imap": PORT, "smtp": PORT, "user": ADDRESS, "password": TEXT, "text": TEXT}'
   mail_program.py '{…, "to": ADDRESS, "subject": TEXT}'
"""
import email
import email.policy
import email.utils
import imaplib
import json
import smtplib
import sys
import time
from email.message import EmailMessage

options = json.loads(sys.argv[1])


def newest():
    """The newest e-mail, once there is one that was not read."""
    for _ in range(100):
        with imaplib.IMAP4("127.0.0.1", options["imap"]) as mailbox:
            mailbox.login(options["user"], options["password"])
            mailbox.select("INBOX")
            numbers = mailbox.search(None, "UNSEEN")[1][0].split()
            if numbers:
                content = mailbox.fetch(numbers[-1], "(RFC822)")[1][0][1]
                return email.message_from_bytes(content, policy=email.policy.default)
        time.sleep(0.05)
    sys.exit("nothing has come")


def answer(original):
    reply = EmailMessage()
    # As people see it: what goes to the name and the address that the sender asked for.
    reply["To"] = str(original["Reply-To"] or original["From"])
    reply["Subject"] = "Re: " + original["Subject"].removeprefix("Re: ")
    reply["In-Reply-To"] = original["Message-ID"]
    reply["References"] = " ".join(filter(None, [original["References"], original["Message-ID"]]))
    quoted = "".join(f"> {line}\n" for line in original.get_body(("plain",)).get_content().splitlines())
    date = original["Date"].datetime.strftime("%a, %d %b %Y at %H:%M")
    reply.set_content(f"{options['text']}\n\nOn {date}, {original['From']} wrote:\n{quoted}")
    return reply


original = None if "to" in options else newest()
if original is None:
    message = EmailMessage()
    message["To"] = options["to"]
    message["Subject"] = options["subject"]
    message.set_content(options["text"])
else:
    message = answer(original)
message["From"] = options["user"]
message["Date"] = email.utils.localtime()
message["Message-ID"] = email.utils.make_msgid(domain="mail-program.example")
with smtplib.SMTP("127.0.0.1", options["smtp"]) as server:
    server.send_message(message)
print(json.dumps({"id": message["Message-ID"], "answers": original and dict(original.items())}))
