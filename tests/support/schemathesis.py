"""What schemathesis has to know of the HTTP API besides its description."""
import schemathesis
from schemathesis.generation import GenerationMode

PEOPLE = 8
CONVERSATIONS = 6
# Refusals that a description cannot foresee: of records that there are not, of a push service that is not there, and of a
# name that is blank, of which nothing is left on the way.
UNFORESEEN = {("user-not-found", "user_id"), ("realtime-not-active", None)}
BLANK_NAME = ("too-long", "Idempotency-Key")


def among(value, count):
    """A number or text that may be an id as one of the first ids; anything else as it is."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and 1 <= value < 2**31:
        return value % count + 1
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10 and int(value) > 0:
        return str(int(value) % count + 1)
    return value


@schemathesis.hook
def map_body(context, body):
    """Lets most requests be for records that there are, so that they come to more than a look for them."""
    if isinstance(body, dict):
        for name, count in [("user_id", PEOPLE), ("agent_id", 2), ("conversation_id", CONVERSATIONS)]:
            if name in body:
                body[name] = among(body[name], count)
    return body


@schemathesis.check
def refusals_are_described(context, response, case):
    """What is sent as the description has it is not refused, but for what that cannot foresee."""
    is_valid = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if is_valid and response.status_code == 422:
        refusals = {(error["code"], error.get("field")) for error in response.json()["errors"]}
        if not (case.headers.get("Idempotency-Key") or "a").strip():
            refusals.discard(BLANK_NAME)
        assert refusals <= UNFORESEEN, f"a valid request is refused: {refusals - UNFORESEEN}"


@schemathesis.check
def every_answer_has_an_id(context, response, case):
    """Every answer names its request, and every refusal does so in its body too."""
    ids = response.headers.get("x-request-id")
    assert ids and len(ids) == 1, "there is no X-Request-Id"
    if response.status_code >= 400 and case.method != "HEAD":
        body = response.json()
        assert body["type"] == "error.list" and body["request_id"] == ids[0] and body["errors"], body
