"""A shop's WhatsApp bot on cscp, complete, with Python's standard library only. docs/TUTORIAL.md walks through it.

    python3 bot.py                      serve the webhook
    python3 bot.py approver PHONE       let somebody approve refunds

Two habits carry it: a question is registered with cscp before it is sent, and a command is bound before it is executed.
Everything else is one table: do what `verdict.next` says.
"""

import hashlib
import hmac
import json
import re
import sys
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, HTTPServer

import parties
from parties import ENV, SECRET, SHOP, call, cscp, hidden, memory, outbound, save, send

PORT, SLOT_SECONDS = int(ENV("PORT", "9091")), int(ENV("SLOT_SECONDS", "120"))

HELP = "I can tell you the status of an order, cancel it, change its address, refund it, or hold a delivery slot."
COURTESIES = set("ok okay thanks thank you very much so great perfect cool nice bye obrigado obrigada valeu gracias".split())


# --- First habit: cscp knows a question before the customer can see it ----------------------------------------------

def ask(kind, command_id):
    """`kind` is confirmations or approvals. A newer wish takes the place of an open question (supersede)."""
    command = memory["commands"][command_id]
    yes, no = ("Yes", "No") if kind == "confirmations" else ("Approve", "Reject")
    command["asked"] += 1
    save()
    body = {"command": {"command_id": command_id, "name": command["name"], "idempotency_key": command_id},
            "target": command["target"], "supersede": True, "prompt": {"text": command["text"], "buttons": [yes, no]}}
    if command.get("ttl_seconds"):
        body["ttl_seconds"] = command["ttl_seconds"]
    path = f"/v1/contexts/{command['context_id']}/{kind}"
    status, asked = cscp("POST", path, body, f"{command_id}-{kind}-{command['asked']}")
    if status != 201:
        return send(command["phone"], WHY_NOT.get(asked["code"], "Sorry, I cannot do that now."))
    item_id = asked["confirmation_id" if kind == "confirmations" else "approval_id"]
    item = {"kind": kind, "command_id": command_id, "text": command["text"],
            "buttons": [[asked["button_ids"][0], yes], [asked["button_ids"][1], no]]}
    memory["items"][item_id] = item
    save()
    for phone in approvers() if kind == "approvals" else [command["phone"]]:
        put(item_id, phone)


def put(item_id, phone):
    """Shows the question, and says which message it became."""
    item = memory["items"][item_id]
    message_id, before = send(phone, item["text"], item["buttons"])
    cscp("PUT", f"/v1/{item['kind']}/{item_id}/prompt-message", {"message_id": message_id, "sent_at": before})


def put_again(item_id, phone):
    """The question is still open: the same one, with the same buttons, announced first."""
    outbound(phone, str(uuid.uuid4()), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), prompt_for=item_id)
    put(item_id, phone)


def approvers():
    """Whoever holds the role may approve; policy says how many have to."""
    _, found = cscp("POST", "/v1/principals/query", {"role": "approver"})
    return [alias["value"] for person in found["items"] for alias in person["aliases"] if alias["kind"] == "phone"]


def propose(turn, phone, name, target, text, **more):
    """A command that this message wishes. Its id derives from the message, so that a repeated delivery proposes nothing new."""
    command_id = "cmd-" + hidden(turn["message_id"])
    memory["commands"].setdefault(command_id, {
        "name": name, "target": target, "text": text, "phone": phone, "context_id": turn["context"]["context_id"],
        "asked": 0, "message_ids": [turn["message_id"]], "attempt_id": None, "outcome": None, "told": False, **more})
    if name == "refund.issue":
        ask("approvals", command_id)
        send(phone, "I am asking my colleagues. You will hear from me.")
    else:
        ask("confirmations", command_id)


# --- Second habit: bind, execute exactly when the answer says so, and report ---------------------------------------

def execute(command_id):
    """May be repeated at any time, also by the next process after a crash."""
    command = memory["commands"][command_id]
    if command["attempt_id"] and not command["outcome"]:
        # A crash came in between. Only the system that executes knows whether it did.
        status, known = call("GET", f"{SHOP}/commands/{command_id}")
        command["outcome"] = known["outcome"] if status == 200 else None
    if not command["outcome"]:
        if not command["attempt_id"]:
            command["attempt_id"] = str(uuid.uuid4())
            save()
        status, bound = bind(command_id, command)
        if status not in (200, 201):
            command["attempt_id"] = None
            return send(command["phone"], WHY_NOT.get(bound["code"], "Sorry, I could not do that."))
        if not bound["execute"]:
            return print("left to an operator:", command_id, file=sys.stderr)
        _, done = call("POST", f"{SHOP}/commands", {"idempotency_key": command_id, "name": command["name"], "target": command["target"]})
        command["outcome"] = done["outcome"]
        save()
    report = {"attempt_id": command["attempt_id"], "status": command["outcome"]}
    cscp("POST", f"/v1/commands/{command_id}/results", report, "result-" + command["attempt_id"])
    if not command["told"]:
        send(command["phone"], DONE[command["name"]] if command["outcome"] == "succeeded" else "Sorry, that did not work.")
        command["told"] = True
        save()


def bind(command_id, command):
    """Binds, or takes over from an attempt of ours whose time to report is over."""
    same = {"name": command["name"], "idempotency_key": command_id, "target": command["target"], "envelope": command["target"]}
    path = f"/v1/contexts/{command['context_id']}/commands"
    body = {"attempt_id": command["attempt_id"], "command_id": command_id, "message_ids": command["message_ids"], **same}
    status, bound = cscp("POST", path, body)
    if status != 200 or bound["execute"] or bound["execution"]["state"] != "unknown":
        return status, bound
    # The shop was asked by `execute`, and did not do it.
    new = {"attempt_id": str(uuid.uuid4()), "replaces_attempt_id": command["attempt_id"], "downstream_checked": True, **same}
    status, bound = cscp("POST", f"/v1/commands/{command_id}/takeovers", new)
    if status in (200, 201):
        command["attempt_id"] = new["attempt_id"]
        save()
    return status, bound


def recover():
    """At the start: whatever was begun is finished; whatever nobody here knows is left to a person."""
    for command_id, command in memory["commands"].items():
        if command["attempt_id"] and not command["told"]:
            execute(command_id)
    _, unknown = cscp("POST", "/v1/commands/query", {"execution": "unknown"})
    for command in unknown["items"]:
        if command["command_id"] not in memory["commands"]:
            print("nobody reported:", command["command_id"], file=sys.stderr)


# --- What a verdict asks for: one entry for each `next` -------------------------------------------------------------

def bind_command(turn, phone, verdict, item):
    command = memory["commands"][item["command_id"]]
    # The approver's message may be what was missing: it is of another conversation, and cscp adds it by itself.
    if turn["conversation_id"] == item["conversation_id"] and turn["message_id"] not in command["message_ids"]:
        command["message_ids"].append(turn["message_id"])
    execute(item["command_id"])


def acknowledge_refusal(turn, phone, verdict, item):
    send(phone, "All right, I will not do it.")
    if verdict["code"] == "rejected":
        send(memory["commands"][item["command_id"]]["phone"], "My colleagues did not agree, so I did nothing.")


def continue_with_selection(turn, phone, verdict, item):
    choice = memory["choices"][item["disambiguation_id"]]
    wish(choice, turn, phone, verdict["selection"]["target"]["order_id"])


def await_approvals(turn, phone, verdict, item):
    if verdict["code"] == "approved":
        send(phone, f"Thank you. {item['waiting_for']} more has to approve.")
    else:
        send(phone, "Thank you. I am waiting for my colleagues.")


def ask_confirmation(turn, phone, verdict, item):
    send(phone, "Approved, thank you.")
    ask("confirmations", item["command_id"])


def ask_again(turn, phone, verdict, item):
    # Reasons differ in what helps: most often a tap in place of words.
    send(phone, "To be sure, please tap a button:")
    put_again(item.get("confirmation_id") or item.get("approval_id") or item["disambiguation_id"], phone)


def ask_anew(turn, phone, verdict, item):
    if item.get("command_id") in memory["commands"]:
        send(phone, "That question is over. I ask again:")
        ask("approvals" if "approval_id" in item else "confirmations", item["command_id"])
    else:
        send(phone, "That question is over. Please tell me again what you would like.")


def tell_decision(turn, phone, verdict, item):
    # A tap is a question whether it arrived. A bare "ok" after the end is a courtesy, and wants no answer.
    if turn["kind"] == "interactive":
        send(phone, DECIDED[verdict["reason"]])


def route(turn, phone, verdict, item):
    """An ordinary message: yours to understand. Whatever understands it, a person or a model, ends in a call of `wish`."""
    question = memory["questions"].get(verdict.get("question_message_id"))
    if question:
        yes = turn["reading"]["polarity"] == "affirmative"
        return send(phone, "I will tell you when it ships." if yes else "All right, I will not write about it.")
    text = turn["text"].strip()
    if verdict["reason"] == "nothing_pending" or set(re.findall(r"\w+", text.lower())) <= COURTESIES:
        return None  # "ok", "thanks", an emoji, a sticker: nothing that wants an answer
    if re.search(r"\b(wait|moment|think)\b", text, re.I):
        return send(phone, "Take your time.")
    if re.search(r"\b(person|human|agent)\b", text, re.I):
        return hand_over(turn, phone)
    for name, pattern in WISHES.items():
        if found := re.search(pattern, text, re.I):
            return wish(name, turn, phone, found.groupdict().get("order"), found.groupdict().get("rest"))
    send(phone, HELP)


NEXT = {
    "bind_command": bind_command,
    "acknowledge_refusal": acknowledge_refusal,
    "acknowledge_wait": lambda turn, phone, *_: send(phone, "All right, I wait. Tell me when you are ready."),
    "continue_with_selection": continue_with_selection,
    "await_approvals": await_approvals,
    "ask_confirmation": ask_confirmation,
    "ask_again": ask_again,
    "ask_anew": ask_anew,
    "ask_what_is_meant": lambda turn, phone, *_: send(phone, "Which question do you mean? Please tap its button, or quote it."),
    "tell_decision": tell_decision,
    "route": route,
    **dict.fromkeys(["leave_to_operator", "send", "nothing"], lambda *_: None),
}

WHY_NOT = {
    "confirmation_expired": "Your yes came too late to act on it. Please ask me again.",
    "confirmation_required": "I need your yes for that first. Please ask me again.",
    "approval_expired": "The approval is over. Please ask me again.",
    "target_mismatch": "Something changed since I asked you, so I did nothing. Please ask me again.",
    "command_bound": "That is done already.",
    "already_bound": "That is being done.",
    "context_blocked": "A colleague is looking after you.",
    "context_expired": "That was long ago. Please tell me again what you would like.",
    "context_closed": "That is over. Please tell me again what you would like.",
}
DECIDED = {
    "already_granted": "You said yes to that already.", "already_refused": "You said no to that already.",
    "already_selected": "You chose already.", "already_spent": "That is done already.",
    "already_approved_by_this_person": "You approved that already.",
}
DONE = {"order.cancel": "Your order is cancelled.", "address.update": "The address is changed.",
        "refund.issue": "Your refund is on its way.", "slot.hold": "The slot is yours."}


# --- The shop's own part: what customers may wish -------------------------------------------------------------------

ORDER = r"(?:order )?#?(?P<order>\d+)"
WISHES = {
    "order.status": rf"\b(?:status|where)\b(?:.*?{ORDER})?",
    "address.update": rf"\baddress\b.*?{ORDER}.*? to (?P<rest>.+)",
    "order.cancel": rf"\bcancel\b(?:.*?{ORDER})?",
    "refund.issue": rf"\brefund\b(?:.*?{ORDER})?",
    "slot.hold": r"\bslot\b.*?(?P<rest>\d\d:\d\d)",
}


def wish(name, turn, phone, order=None, rest=None):
    if name == "slot.hold":
        return propose(turn, phone, name, {"slot": rest}, f"Hold the slot at {rest}?", ttl_seconds=SLOT_SECONDS)
    _, orders = call("GET", f"{SHOP}/orders?customer={urllib.parse.quote(phone)}")
    mine = {found["order_id"]: found for found in orders["items"]}
    if order is None and len(mine) > 1:
        return choose(name, turn, phone, mine)
    order = order or next(iter(mine), None)
    if order not in mine:
        return send(phone, "I do not find that order.")
    if name == "order.status":
        send(phone, f"Order {order} is {mine[order]['status']}.")
        return own_question(phone, "Shall I tell you when it ships?")
    target = {"order_id": order} if rest is None else {"order_id": order, "address": rest}
    texts = {"order.cancel": f"Cancel order {order}?", "refund.issue": f"Refund order {order}?",
             "address.update": f"Send order {order} to {rest}?"}
    propose(turn, phone, name, target, texts[name])


def choose(name, turn, phone, mine):
    """Which of several? Their buttons are the only answer that counts for certain, besides a number or a title."""
    options = [{"title": f"Order {order}", "target": {"order_id": order}} for order in mine]
    body = {"options": options, "prompt": {"text": "Which order do you mean?"}, "supersede": True}
    path = f"/v1/contexts/{turn['context']['context_id']}/disambiguations"
    status, asked = cscp("POST", path, body, "which-" + hidden(turn["message_id"]))
    if status != 201:
        return send(phone, WHY_NOT.get(asked["code"], "Sorry, I cannot do that now."))
    item_id = asked["disambiguation_id"]
    memory["choices"][item_id] = name
    memory["items"][item_id] = {"kind": "disambiguations", "text": body["prompt"]["text"],
                                "buttons": [[button["id"], button["title"]] for button in asked["buttons"]]}
    save()
    put(item_id, phone)


def own_question(phone, text):
    """A harmless question of the bot's own. Registered, so that the yes to it is not taken for something else."""
    message_id, before = send(phone, text)
    memory["questions"][message_id] = text
    outbound(phone, message_id, before, text=text, expects_reply=True)


def hand_over(turn, phone):
    """From here on every verdict says leave_to_operator, until an operator unblocks the context."""
    cscp("POST", f"/v1/contexts/{turn['context']['context_id']}/transitions", {"action": "block", "on": "operator"},
         "hand-over-" + hidden(turn["message_id"]))
    send(phone, "A colleague will write to you here.")


# --- Meta's side ----------------------------------------------------------------------------------------------------

def handle(message):
    """One message of a delivery. Deliveries are repeated, also after a crash half-way: every step above allows for that."""
    if message["id"] in memory["seen"]:
        return
    event = parties.event(message)
    status, turn = cscp("POST", "/v1/messages", event)
    if status != 200:
        raise RuntimeError(f"cscp refused a message: {turn['code']}")
    text = event.get("text") or event.get("transcript", {}).get("text", "")
    turn.update(message_id=message["id"], conversation_id=event["conversation_id"], kind=event["kind"], text=text)
    verdict = turn["verdict"]
    item = verdict.get("confirmation") or verdict.get("approval") or verdict.get("disambiguation") or {}
    NEXT[verdict["next"]](turn, message["from"], verdict, item)
    memory["seen"].append(message["id"])
    save()


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        signed = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signed, self.headers.get("X-Hub-Signature-256", "")):
            return self.answer(401)
        try:
            for entry in json.loads(body)["entry"]:
                for change in entry["changes"]:
                    for message in change["value"].get("messages", []):
                        handle(message)
        except Exception as error:  # Meta delivers again whatever is not answered 200
            print("delivery failed:", repr(error), file=sys.stderr)
            return self.answer(503)
        self.answer(200)

    def do_GET(self):  # Meta asks once, when you enter the webhook's address
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        known = asked.get("hub.verify_token") == ENV("WHATSAPP_VERIFY_TOKEN", "verify-token")
        self.answer(200 if known else 403, asked.get("hub.challenge", "") if known else "")

    def answer(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):  # addresses and paths stay out of logs
        pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["approver"]:
        phone = sys.argv[2]
        person = {"kind": "person", "roles": ["approver"], "aliases": [{"kind": "phone", "value": phone}]}
        print(*cscp("PUT", "/v1/principals/wa-" + hidden(phone), person))
    else:
        recover()
        server = HTTPServer(("127.0.0.1", PORT), Webhook)
        print(f"the bot listens on http://127.0.0.1:{server.server_port}/webhook", flush=True)
        server.serve_forever()
