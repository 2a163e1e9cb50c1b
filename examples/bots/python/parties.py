"""The three parties that the bot talks to - cscp, Meta, and the shop's own systems - and what it remembers."""

import hashlib
import hmac
import json
import os
import time
import urllib.error
import urllib.request

ENV = os.environ.get
CSCP, KEY = ENV("CSCP_URL", "http://127.0.0.1:8080"), ENV("CSCP_API_KEY", "")
META, TOKEN, NUMBER = ENV("META_URL", "http://127.0.0.1:9090/v23.0"), ENV("WHATSAPP_TOKEN", "token"), ENV("PHONE_NUMBER_ID", "1055")
SECRET = ENV("WHATSAPP_APP_SECRET", "app-secret").encode()
SHOP, SPEECH = ENV("SHOP_URL", "http://127.0.0.1:9090/shop"), ENV("SPEECH_URL", "http://127.0.0.1:9090/speech")
MEMORY = ENV("BOT_MEMORY", "bot-memory.json")
KINDS = {"text", "interactive", "audio", "reaction", "image", "video", "document", "sticker", "location", "contacts"}


# --- What this program remembers ------------------------------------------------------------------------------------
# cscp keeps fingerprints of targets, not the targets: those are yours to keep. Here it is one file; yours is a table.

def save():
    """Written whole and then renamed: a crash leaves the old memory or the new one."""
    with open(MEMORY + ".new", "w") as file:
        json.dump(memory, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(MEMORY + ".new", MEMORY)


memory = {"commands": {}, "items": {}, "choices": {}, "questions": {}, "seen": []}
if os.path.exists(MEMORY):
    with open(MEMORY) as file:
        memory = json.load(file)


# --- The three parties: cscp, Meta, and your own systems ------------------------------------------------------------

def call(method, url, body=None, headers=None):
    """One request; status and JSON. A server that is away for a moment (503, or no connection) is asked again."""
    data = None if body is None else json.dumps(body).encode()
    for patience in (0.1, 0.3, 1, 3, None):
        request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code not in (429, 503) or patience is None:
                return refused.code, json.load(refused)
        except OSError:
            if patience is None:
                raise
        time.sleep(patience)


def cscp(method, path, body=None, key=None):
    """`key` names the request: repeated after a crash it brings back the first answer. Of a 5xx nobody knows what was done: the
    delivery fails, and Meta repeats it."""
    headers = {"Authorization": "Bearer " + KEY, **({"Idempotency-Key": key} if key else {})}
    status, answer = call(method, CSCP + path, body, headers)
    if status >= 500:
        raise RuntimeError(f"cscp: {answer['code']}")
    return status, answer


def send(phone, text, buttons=()):
    """Sends a message; returns its id and the time before the call, which is how early it may have been seen."""
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    message = {"messaging_product": "whatsapp", "to": phone, "type": "text", "text": {"body": text}}
    if buttons:
        replies = [{"type": "reply", "reply": {"id": id, "title": title}} for id, title in buttons]
        message.update(type="interactive", interactive={"type": "button", "body": {"text": text}, "action": {"buttons": replies}})
        del message["text"]
    _, sent = call("POST", f"{META}/{NUMBER}/messages", message, {"Authorization": "Bearer " + TOKEN})
    return sent["messages"][0]["id"], before


def hidden(text):
    """Numbers are personal, and ids of messages hold them: cscp gets a digest in their place where an id is ours to choose."""
    return hmac.new(SECRET, text.encode(), hashlib.sha256).hexdigest()[:24]


def outbound(phone, message_id, at, **more):
    """Tells cscp of a message of ours."""
    cscp("POST", "/v1/messages", {"message_id": message_id, "conversation_id": "chat-" + hidden(phone), "actor_id": "wa-" + hidden(phone),
                                  "sent_at": at, "direction": "outbound", "kind": "text", **more})


def event(message):
    """A message of a webhook's delivery, as cscp takes it."""
    phone, kind, context = message["from"], message["type"], message.get("context", {})
    found = {"message_id": message["id"], "conversation_id": "chat-" + hidden(phone), "actor_id": "wa-" + hidden(phone),
             "sent_at": message["timestamp"], "kind": kind if kind in KINDS else "unsupported"}
    if context.get("id"):
        found["reply_to"] = context["id"]
    if context.get("forwarded") or context.get("frequently_forwarded"):
        found["forwarded"] = True
    if kind == "text":
        found["text"] = message["text"]["body"]
    elif kind == "interactive":
        reply = message["interactive"].get("button_reply") or message["interactive"].get("list_reply") or {}
        found.update(button_id=reply.get("id"), text=reply.get("title"))
    elif kind == "reaction":
        found.update(text=message["reaction"].get("emoji"), reply_to=message["reaction"]["message_id"])
    elif kind == "audio":
        _, heard = call("GET", f"{SPEECH}/{message['audio']['id']}")
        found["transcript"] = {"text": heard["text"], "confidence": heard["confidence"]}
    return found
