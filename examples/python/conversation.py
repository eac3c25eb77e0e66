"""A user signs up, writes, and reads what was written.

    python3 conversation.py '{"db_name": …, "db_user": …, …}'
"""

import json
import os
import sys

from sb import Library, SBError

with Library(json.loads(sys.argv[1]), os.environ.get("SB_LIBRARY")) as sb:
    print(f"sb {sb.version()}")

    user = sb.sb_add_user({"first_name": "Ann", "email": "ann@example.com"}, {"phone": ["+1 555 0100", "Phone"]})
    if user == "duplicate-email":
        sys.exit("Please log in.")

    opened = sb.sb_new_conversation(user_id=user, status_code=2, title="Where is my order?")
    conversation = opened["details"]["id"]
    sb.sb_send_message(user, conversation, "Hello! 👋", [["invoice.pdf", "https://example.com/invoice.pdf"]])

    for message in sb.sb_get_new_messages(user, conversation, 0):
        print(f"{message['first_name']}: {message['message']}")

    try:
        sb.sb_delete_user(user)
    except SBError as error:
        print(error.code)
