"""Plays script.json through a bot, against a real cscp server, and compares every reply.

    python3 play.py --server ../../target/debug/cscp -- python3 python/bot.py
    python3 play.py --server ../../target/debug/cscp -- node typescript/bot.ts

Exits with 0 if each turn got exactly the replies that the script says.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from standin import StandIn, shown

HERE = Path(__file__).resolve().parent
STARTS_WITHIN = 60


def policies(folder):
    """The everyday rules with three changes: voice notes count, refunds need two people, and there are delivery slots."""
    text = (HERE / "../../policies/basic.yaml").read_text()
    for old, new in [
        ("pack_id: basic", "pack_id: shop"),
        ("voice: { accepted: false,", "voice: { accepted: true,"),
        ("    group: payments\n    class: S2\n",
         "    group: payments\n    class: S3\n    approval: { role: approver, required: 2, separate_person: true }\n"),
        ("  - name: order.cancel\n", "  - { name: slot.hold, group: orders, class: S1 }\n  - name: order.cancel\n"),
    ]:
        assert text.count(old) == 1, f"policies/basic.yaml does not say {old!r} once"
        text = text.replace(old, new)
    (folder / "shop.yaml").write_text(text)


class Stage:
    """A server with a tenant and keys, the stand-in, and the bot, in a folder of their own."""

    def __init__(self, server, bot, people, scratch):
        self.scratch, self.bot_command, self.people, self.processes = scratch, bot, people, []
        (scratch / "policies").mkdir()
        policies(scratch / "policies")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("CSCP_")}
        self.env.update(XDG_STATE_HOME=str(scratch / "state"), CSCP_DATABASE=str(scratch / "shop.db"), no_proxy="*")
        self.run = lambda *words: subprocess.run([server, *words], env=self.env, check=True, capture_output=True, text=True).stdout
        self.run("migrate")
        self.run("policy", "publish", str(scratch / "policies"))
        self.run("tenant", "create", "shop")
        self.handler, self.operator = (
            json.loads(self.run("key", "create", "--tenant", "shop", "--kind", kind, "--json", *more))["key"]
            for kind, more in [("handler", []), ("operator", ["--scope", "context:write", "--scope", "context:read"])])
        serve = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "off", "--no-demo-tenant"]
        self.cscp = self.started([server, *serve], r"cscp listens on (http://\S+)", self.env)
        self.world = StandIn()
        self.start_bot()
        for name, person in people.items():
            self.world.orders[person["phone"]] = person.get("orders", [])
            if person.get("approver"):
                subprocess.run([*bot, "approver", person["phone"]], env=self.bot_env(), check=True, capture_output=True)

    def bot_env(self):
        world = self.world.base
        return {**self.env, "CSCP_URL": self.cscp, "CSCP_API_KEY": self.handler, "META_URL": world + "/v23.0", "SHOP_URL": world + "/shop",
                "SPEECH_URL": world + "/speech", "PORT": "0", "SLOT_SECONDS": "4", "BOT_MEMORY": str(self.scratch / "memory.json")}

    def start_bot(self):
        self.world.bot = self.started(self.bot_command, r"the bot listens on (http://\S+)", self.bot_env())
        self.bot = self.processes[-1]

    def kill_bot(self):
        self.kill(self.bot)

    def kill(self, process):
        """With whatever it started: some copies of Node are a script that starts the real one."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def started(self, command, says, env):
        log = open(self.scratch / f"log-{len(self.processes)}.txt", "w+")
        process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=HERE,
                                   start_new_session=True)
        self.processes.append(process)
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline and process.poll() is None:
            if found := re.search(says, Path(log.name).read_text()):
                return found[1]
            time.sleep(0.02)
        raise SystemExit(f"{command} did not start:\n{Path(log.name).read_text()}")

    def close(self):
        for process in self.processes:
            self.kill(process)

    def hand_back(self, phone):
        """What an operator's tool does: finds the blocked context, and gives it back to the bot."""
        blocked = self.ask("/v1/contexts/query", {"status": "blocked"})["items"]
        assert len(blocked) == 1, blocked
        self.ask(f"/v1/contexts/{blocked[0]['context_id']}/transitions", {"action": "unblock"})

    def ask(self, path, body):
        headers = {"Authorization": "Bearer " + self.operator, "Content-Type": "application/json", "Idempotency-Key": str(time.time_ns())}
        with urllib.request.urlopen(urllib.request.Request(self.cscp + path, json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)


def message_of(stage, phone, written, number):
    """The script's message with what only the runner knows: ids of messages, of buttons and of voice notes."""
    message = {"id": f"wamid.IN{number}", **json.loads(json.dumps(written))}
    reply = message.get("interactive", {}).get("button_reply")
    if reply:
        prompts = [sent for sent in stage.world.sent if sent["to"] == phone and reply["title"] in sent["buttons"]]
        prompt = prompts[-1 - message.pop("older", 0)]
        reply["id"] = prompt["buttons"][reply["title"]]
        message["context"] = {"id": prompt["id"]}
    if message.get("context", {}).get("quotes"):
        words = message["context"].pop("quotes")
        message["context"]["id"] = next(sent["id"] for sent in reversed(stage.world.sent) if words in sent["text"])
    if message["type"] == "audio":
        stage.world.voices[f"voice-{number}"] = message.pop("heard")
        message["audio"] = {"id": f"voice-{number}", "mime_type": "audio/ogg; codecs=opus", "voice": True}
    return message


def play(stage, turn, number):
    """One turn; returns what was sent because of it."""
    before = len(stage.world.sent)
    time.sleep(turn.get("wait_seconds", 0))
    phone = stage.people[turn["from"]]["phone"]
    if turn.get("operator") == "hand_back":
        stage.hand_back(phone)
    else:
        message, at = message_of(stage, phone, turn["message"], number), time.time()
        if turn.get("killed"):
            setattr(stage.world, f"{turn['killed']}_executing", stage.kill_bot)
        status = stage.world.deliver(phone, message, at)
        if turn.get("killed"):
            assert status is None, f"the bot should be dead and answered {status}"
            stage.world.before_executing = stage.world.after_executing = lambda: None
            stage.start_bot()
        # Meta repeats what was not answered 200, and now and then what was.
        if turn.get("killed") or turn.get("delivered_twice"):
            status = stage.world.deliver(phone, message, at)
        assert status == 200, f"the bot answered {status}"
    names = {person["phone"]: name for name, person in stage.people.items()}
    return [f"{names[sent['to']]}: {shown(sent)}" for sent in stage.world.sent[before:]]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--server", default=str(HERE / "../../target/debug/cscp"))
    options.add_argument("--verbose", action="store_true")
    options.add_argument("--write-rules", metavar="FOLDER", help="only write the shop's policy pack into a folder")
    options.add_argument("bot", nargs="*", help="the command that starts the bot")
    chosen = options.parse_args()
    if chosen.write_rules:
        Path(chosen.write_rules).mkdir(exist_ok=True)
        return policies(Path(chosen.write_rules))
    if not chosen.bot:
        options.error("name the command that starts the bot, after --")
    script = json.loads((HERE / "script.json").read_text())
    scratch = Path(tempfile.mkdtemp())
    stage, wrong, over, began = None, 0, False, time.monotonic()
    try:
        stage = Stage(str(Path(chosen.server).resolve()), chosen.bot, script["people"], scratch)
        for number, turn in enumerate(script["turns"], 1):
            got = play(stage, turn, number)
            if got != turn["replies"]:
                wrong += 1
                print(f"turn {number} ({turn['about']}):\n  expected {turn['replies']}\n  got      {got}")
            elif chosen.verbose:
                print(f"turn {number} ({turn['about']}): {got}")
        if stage.world.executions != script["executed"]:
            wrong += 1
            print(f"executed {stage.world.executions}, and not {script['executed']}")
        over = True
    finally:
        if stage:
            stage.close()
        if wrong or not over:
            print("\n".join(log.read_text() for log in sorted(scratch.glob("log-*.txt"))[1:]))
        shutil.rmtree(scratch)
    print(f"{Path(chosen.bot[-1]).name}: {len(script['turns'])} turns, {wrong} wrong, in {time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
