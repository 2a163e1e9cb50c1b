"""What a WhatsApp bot needs around it, on this machine: Meta's API, a speech service, and the shop's own order system.

    python3 standin.py [--bot http://127.0.0.1:9091/webhook]

lets you chat with a bot from this terminal. You are Ana. Type to say something; [Yes] taps the button "Yes" of the newest
message; "/voice hello" sends a voice note; "/as 5511900000003" speaks as somebody else.
"""

import argparse
import hashlib
import hmac
import json
import re
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = b"app-secret"
ANA = "5511900000001"


class StandIn:
    """Keeps what the bot sent, and executes what it orders: once for an idempotency key, as an order system should."""

    def __init__(self, port=0):
        self.sent, self.voices, self.commands, self.orders, self.executions = [], {}, {}, {}, []
        self.before_executing = self.after_executing = lambda: None
        self.bot = None
        self.arrived = threading.Condition()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self.handler())
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    # What the bot asks for.

    def answer(self, method, path, body):
        if method == "POST" and path.endswith("/messages"):
            return 200, {"messaging_product": "whatsapp", "messages": [{"id": self.take(body)}]}
        if path.startswith("/speech/"):
            return 200, self.voices[path.rsplit("/", 1)[1]]
        if path.startswith("/shop/orders"):
            return 200, {"items": self.orders.get(path.split("customer=")[1], [])}
        if path == "/shop/commands":
            return 200, self.execute(body)
        if path.startswith("/shop/commands/"):
            done = self.commands.get(path.rsplit("/", 1)[1])
            return (200, done) if done else (404, {"error": "unknown"})
        return 404, {"error": f"nothing is at {path}"}

    def take(self, body):
        with self.arrived:
            text = body["text"]["body"] if body["type"] == "text" else body["interactive"]["body"]["text"]
            action = body.get("interactive", {}).get("action", {})
            buttons = {button["reply"]["title"]: button["reply"]["id"] for button in action.get("buttons", [])}
            message_id = f"wamid.OUT{len(self.sent)}-{id(self)}"
            self.sent.append({"id": message_id, "to": body["to"], "text": text, "buttons": buttons})
            self.arrived.notify_all()
        return message_id

    def execute(self, body):
        self.before_executing()
        key = body["idempotency_key"]
        if key not in self.commands:
            self.executions.append([body["name"], body["target"]])
            self.commands[key] = {"outcome": "succeeded"}
        self.after_executing()
        return self.commands[key]

    def handler(self):
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer = stand_in.answer(self.command, self.path, json.loads(body or b"null"))
                text = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)
                except OSError:
                    pass  # the bot is gone

            do_GET = do_POST

            def log_message(self, *_):
                pass

        return Handler

    # What customers do.

    def deliver(self, phone, message, at=None):
        """Sends a signed webhook payload, as Meta does; returns the bot's status."""
        stamp = str(int(at or time.time()))
        message = {"from": phone, "timestamp": stamp, **message}
        value = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": "1055", "display_phone_number": "15550100"},
                 "contacts": [{"wa_id": phone, "profile": {"name": "A customer"}}], "messages": [message]}
        entry = {"id": "1", "changes": [{"field": "messages", "value": value}]}
        body = json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()
        signature = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "X-Hub-Signature-256": signature}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.bot, body, headers), timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None  # it died, or is not there

    def newest(self, phone, title):
        """The newest message to somebody with a button of this title."""
        return next(sent for sent in reversed(self.sent) if sent["to"] == phone and title in sent["buttons"])


def shown(sent):
    return " ".join([sent["text"], *(f"[{title}]" for title in sent["buttons"])])


def chat():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bot", default="http://127.0.0.1:9091/webhook")
    options.add_argument("--port", type=int, default=9090)
    chosen = options.parse_args()
    stand_in, phone, count = StandIn(chosen.port), ANA, 0
    stand_in.bot = chosen.bot
    stand_in.orders[ANA] = [{"order_id": "123", "status": "packed"}, {"order_id": "124", "status": "on its way"}]
    print(__doc__.split("\n\n", 1)[1])
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            return
        if not line:
            continue
        if line.startswith("/as "):
            phone = line[4:].strip().lstrip("+")
            continue
        count += 1
        message = {"id": f"wamid.IN{count}-{int(time.time())}", "type": "text", "text": {"body": line}}
        if tapped := re.fullmatch(r"\[(.+)\]", line):
            try:
                prompt = stand_in.newest(phone, tapped[1])
            except StopIteration:
                print("  (no message has that button)")
                continue
            reply = {"id": prompt["buttons"][tapped[1]], "title": tapped[1]}
            message.update(type="interactive", context={"id": prompt["id"]}, interactive={"type": "button_reply", "button_reply": reply})
        if line.startswith("/voice "):
            stand_in.voices[f"voice-{count}"] = {"text": line[7:], "confidence": 0.97}
            message.update(type="audio", audio={"id": f"voice-{count}", "voice": True})
        before = len(stand_in.sent)
        status = stand_in.deliver(phone, message)
        if status != 200:
            print(f"  (the bot answered {status}; Meta would deliver this again)")
        for sent in stand_in.sent[before:]:
            print("  bot" + ("" if sent["to"] == phone else f" to {sent['to']}") + ": " + shown(sent))


if __name__ == "__main__":
    chat()
