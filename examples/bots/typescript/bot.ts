// A shop's WhatsApp bot on cscp, complete, with Node's own modules only. docs/TUTORIAL.md walks through its twin in Python.
//
//     node bot.ts                      serve the webhook
//     node bot.ts approver PHONE       let somebody approve refunds
//
// Two habits carry it: a question is registered with cscp before it is sent, and a command is bound before it is executed.
// Everything else is one table: do what `verdict.next` says.

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import {
    call, cscp, env, event as eventOf, hidden, memory, now, outbound, save, SECRET, send, SHOP,
    type Answer, type Command, type Item, type Json,
} from "./parties.ts";

const PORT = Number(env("PORT", "9091"));
const SLOT_SECONDS = Number(env("SLOT_SECONDS", "120"));

const HELP = "I can tell you the status of an order, cancel it, change its address, refund it, or hold a delivery slot.";
const COURTESIES = new Set("ok okay thanks thank you very much so great perfect cool nice bye obrigado obrigada valeu gracias".split(" "));

/** A message with what cscp said of it. */
type Turn = { verdict: Json; reading: Json; context: Json; message_id: string; conversation_id: string; kind: string; text: string };

const commandOf = (id: string): Command => {
    const command = memory.commands[id];
    if (!command) throw new Error(`nobody here asked for ${id}`);
    return command;
};

// --- First habit: cscp knows a question before the customer can see it ----------------------------------------------

/** A newer wish takes the place of an open question (supersede). */
async function ask(kind: "confirmations" | "approvals", commandId: string): Promise<void> {
    const command = commandOf(commandId);
    const [yes, no] = kind === "confirmations" ? ["Yes", "No"] : ["Approve", "Reject"];
    command.asked += 1;
    save();
    const body: Json = {
        command: { command_id: commandId, name: command.name, idempotency_key: commandId }, target: command.target,
        supersede: true, prompt: { text: command.text, buttons: [yes, no] },
        ...(command.ttl_seconds ? { ttl_seconds: command.ttl_seconds } : {}),
    };
    const path = `/v1/contexts/${command.context_id}/${kind}`;
    const { status, body: asked } = await cscp("POST", path, body, `${commandId}-${kind}-${command.asked}`);
    if (status !== 201) {
        await send(command.phone, WHY_NOT[asked.code] ?? "Sorry, I cannot do that now.");
        return;
    }
    const itemId: string = asked.confirmation_id ?? asked.approval_id;
    memory.items[itemId] = { kind, text: command.text, buttons: [[asked.button_ids[0], yes!], [asked.button_ids[1], no!]] };
    save();
    for (const phone of kind === "approvals" ? await approvers() : [command.phone]) await put(itemId, phone);
}

/** Shows the question, and says which message it became. */
async function put(itemId: string, phone: string): Promise<void> {
    const item = memory.items[itemId] as Item;
    const { id, before } = await send(phone, item.text, item.buttons);
    await cscp("PUT", `/v1/${item.kind}/${itemId}/prompt-message`, { message_id: id, sent_at: before });
}

/** The question is still open: the same one, with the same buttons, announced first. */
async function putAgain(itemId: string, phone: string): Promise<void> {
    await outbound(phone, randomUUID(), now(), { prompt_for: itemId });
    await put(itemId, phone);
}

/** Whoever holds the role may approve; policy says how many have to. */
async function approvers(): Promise<string[]> {
    const { body: found } = await cscp("POST", "/v1/principals/query", { role: "approver" });
    const aliases: Json[] = found.items.flatMap((person: Json) => person.aliases);
    return aliases.filter((alias) => alias.kind === "phone").map((alias) => alias.value);
}

/** A command that this message wishes. Its id derives from the message, so that a repeated delivery proposes nothing new. */
async function propose(turn: Turn, phone: string, name: string, target: Json, text: string, ttl?: number): Promise<void> {
    const commandId = `cmd-${hidden(turn.message_id)}`;
    memory.commands[commandId] ??= {
        name, target, text, phone, context_id: turn.context.context_id, asked: 0, message_ids: [turn.message_id],
        attempt_id: null, outcome: null, told: false, ...(ttl ? { ttl_seconds: ttl } : {}),
    };
    if (name === "refund.issue") {
        await ask("approvals", commandId);
        await send(phone, "I am asking my colleagues. You will hear from me.");
    } else {
        await ask("confirmations", commandId);
    }
}

// --- Second habit: bind, execute exactly when the answer says so, and report ---------------------------------------

/** May be repeated at any time, also by the next process after a crash. */
async function execute(commandId: string): Promise<void> {
    const command = commandOf(commandId);
    if (command.attempt_id && !command.outcome) {
        // A crash came in between. Only the system that executes knows whether it did.
        const { status, body: known } = await call("GET", `${SHOP}/commands/${commandId}`);
        command.outcome = status === 200 ? known.outcome : null;
    }
    if (!command.outcome) {
        if (!command.attempt_id) {
            command.attempt_id = randomUUID();
            save();
        }
        const { status, body: bound } = await bind(commandId, command);
        if (![200, 201].includes(status)) {
            command.attempt_id = null;
            await send(command.phone, WHY_NOT[bound.code] ?? "Sorry, I could not do that.");
            return;
        }
        if (!bound.execute) {
            console.error("left to an operator:", commandId);
            return;
        }
        const order = { idempotency_key: commandId, name: command.name, target: command.target };
        command.outcome = (await call("POST", `${SHOP}/commands`, order)).body.outcome;
        save();
    }
    const report = { attempt_id: command.attempt_id, status: command.outcome };
    await cscp("POST", `/v1/commands/${commandId}/results`, report, `result-${command.attempt_id}`);
    if (!command.told) {
        const done = DONE[command.name] ?? "Done.";
        await send(command.phone, command.outcome === "succeeded" ? done : "Sorry, that did not work.");
        command.told = true;
        save();
    }
}

/** Binds, or takes over from an attempt of ours whose time to report is over. */
async function bind(commandId: string, command: Command): Promise<Answer> {
    const same = { name: command.name, idempotency_key: commandId, target: command.target, envelope: command.target };
    const body = { attempt_id: command.attempt_id, command_id: commandId, message_ids: command.message_ids, ...same };
    const bound = await cscp("POST", `/v1/contexts/${command.context_id}/commands`, body);
    if (bound.status !== 200 || bound.body.execute || bound.body.execution.state !== "unknown") return bound;
    // The shop was asked by `execute`, and did not do it.
    const next = { attempt_id: randomUUID(), replaces_attempt_id: command.attempt_id, downstream_checked: true, ...same };
    const taken = await cscp("POST", `/v1/commands/${commandId}/takeovers`, next);
    if ([200, 201].includes(taken.status)) {
        command.attempt_id = next.attempt_id;
        save();
    }
    return taken;
}

/** At the start: whatever was begun is finished; whatever nobody here knows is left to a person. */
async function recover(): Promise<void> {
    for (const [commandId, command] of Object.entries(memory.commands)) {
        if (command.attempt_id && !command.told) await execute(commandId);
    }
    const { body: unknown } = await cscp("POST", "/v1/commands/query", { execution: "unknown" });
    for (const command of unknown.items) {
        if (!(command.command_id in memory.commands)) console.error("nobody reported:", command.command_id);
    }
}

// --- What a verdict asks for: one entry for each `next` -------------------------------------------------------------

type Act = (turn: Turn, phone: string, verdict: Json, item: Json) => unknown;

const NEXT: Record<string, Act> = {
    bind_command(turn, _phone, _verdict, item) {
        const { message_ids } = commandOf(item.command_id);
        // The approver's message may be what was missing: it is of another conversation, and cscp adds it by itself.
        if (turn.conversation_id === item.conversation_id && !message_ids.includes(turn.message_id)) message_ids.push(turn.message_id);
        return execute(item.command_id);
    },
    async acknowledge_refusal(_turn, phone, verdict, item) {
        await send(phone, "All right, I will not do it.");
        if (verdict.code === "rejected") {
            await send(commandOf(item.command_id).phone, "My colleagues did not agree, so I did nothing.");
        }
    },
    acknowledge_wait: (_turn, phone) => send(phone, "All right, I wait. Tell me when you are ready."),
    continue_with_selection(turn, phone, verdict, item) {
        return wish(memory.choices[item.disambiguation_id] ?? "", turn, phone, verdict.selection.target.order_id);
    },
    await_approvals(_turn, phone, verdict, item) {
        const more = `Thank you. ${item.waiting_for} more has to approve.`;
        return send(phone, verdict.code === "approved" ? more : "Thank you. I am waiting for my colleagues.");
    },
    async ask_confirmation(_turn, phone, _verdict, item) {
        await send(phone, "Approved, thank you.");
        await ask("confirmations", item.command_id);
    },
    async ask_again(_turn, phone, _verdict, item) {
        // Reasons differ in what helps: most often a tap in place of words.
        await send(phone, "To be sure, please tap a button:");
        await putAgain(item.confirmation_id ?? item.approval_id ?? item.disambiguation_id, phone);
    },
    async ask_anew(_turn, phone, _verdict, item) {
        if (item.command_id in memory.commands) {
            await send(phone, "That question is over. I ask again:");
            await ask(item.approval_id ? "approvals" : "confirmations", item.command_id);
        } else {
            await send(phone, "That question is over. Please tell me again what you would like.");
        }
    },
    ask_what_is_meant: (_turn, phone) => send(phone, "Which question do you mean? Please tap its button, or quote it."),
    tell_decision(turn, phone, verdict) {
        // A tap is a question whether it arrived. A bare "ok" after the end is a courtesy, and wants no answer.
        return turn.kind === "interactive" ? send(phone, DECIDED[verdict.reason] ?? "That was decided already.") : null;
    },
    route,
    leave_to_operator: () => null,
    send: () => null,
    nothing: () => null,
};

/** An ordinary message: yours to understand. Whatever understands it, a person or a model, ends in a call of `wish`. */
async function route(turn: Turn, phone: string, verdict: Json): Promise<unknown> {
    if (verdict.question_message_id in memory.questions) {
        const yes = turn.reading.polarity === "affirmative";
        return send(phone, yes ? "I will tell you when it ships." : "All right, I will not write about it.");
    }
    const text = turn.text.trim();
    const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    // "ok", "thanks", an emoji, a sticker: nothing that wants an answer.
    if (verdict.reason === "nothing_pending" || words.every((word) => COURTESIES.has(word))) return null;
    if (/\b(wait|moment|think)\b/i.test(text)) return send(phone, "Take your time.");
    if (/\b(person|human|agent)\b/i.test(text)) return handOver(turn, phone);
    for (const [name, pattern] of Object.entries(WISHES)) {
        const found = pattern.exec(text);
        if (found) return wish(name, turn, phone, found.groups?.["order"], found.groups?.["rest"]);
    }
    return send(phone, HELP);
}

const WHY_NOT: Record<string, string> = {
    confirmation_expired: "Your yes came too late to act on it. Please ask me again.",
    confirmation_required: "I need your yes for that first. Please ask me again.",
    approval_expired: "The approval is over. Please ask me again.",
    target_mismatch: "Something changed since I asked you, so I did nothing. Please ask me again.",
    command_bound: "That is done already.",
    already_bound: "That is being done.",
    context_blocked: "A colleague is looking after you.",
    context_expired: "That was long ago. Please tell me again what you would like.",
    context_closed: "That is over. Please tell me again what you would like.",
};
const DECIDED: Record<string, string> = {
    already_granted: "You said yes to that already.", already_refused: "You said no to that already.",
    already_selected: "You chose already.", already_spent: "That is done already.",
    already_approved_by_this_person: "You approved that already.",
};
const DONE: Record<string, string> = {
    "order.cancel": "Your order is cancelled.", "address.update": "The address is changed.",
    "refund.issue": "Your refund is on its way.", "slot.hold": "The slot is yours.",
};

// --- The shop's own part: what customers may wish -------------------------------------------------------------------

const WISHES: Record<string, RegExp> = {
    "order.status": /\b(?:status|where)\b(?:.*?(?:order )?#?(?<order>\d+))?/i,
    "address.update": /\baddress\b.*?(?:order )?#?(?<order>\d+).*? to (?<rest>.+)/i,
    "order.cancel": /\bcancel\b(?:.*?(?:order )?#?(?<order>\d+))?/i,
    "refund.issue": /\brefund\b(?:.*?(?:order )?#?(?<order>\d+))?/i,
    "slot.hold": /\bslot\b.*?(?<rest>\d\d:\d\d)/i,
};

async function wish(name: string, turn: Turn, phone: string, named?: string, rest?: string): Promise<unknown> {
    if (name === "slot.hold") return propose(turn, phone, name, { slot: rest }, `Hold the slot at ${rest}?`, SLOT_SECONDS);
    const { body: orders } = await call("GET", `${SHOP}/orders?customer=${encodeURIComponent(phone)}`);
    const mine: Json[] = orders.items;
    if (!named && mine.length > 1) return choose(name, turn, phone, mine);
    const order = mine.find((one) => one.order_id === (named ?? one.order_id));
    if (!order) return send(phone, "I do not find that order.");
    if (name === "order.status") {
        await send(phone, `Order ${order.order_id} is ${order.status}.`);
        return ownQuestion(phone, "Shall I tell you when it ships?");
    }
    const target = { order_id: order.order_id, ...(rest ? { address: rest } : {}) };
    const texts: Record<string, string> = {
        "order.cancel": `Cancel order ${order.order_id}?`, "refund.issue": `Refund order ${order.order_id}?`,
        "address.update": `Send order ${order.order_id} to ${rest}?`,
    };
    return propose(turn, phone, name, target, texts[name] ?? "Shall I do it?");
}

/** Which of several? Their buttons are the only answer that counts for certain, besides a number or a title. */
async function choose(name: string, turn: Turn, phone: string, mine: Json[]): Promise<unknown> {
    const options = mine.map(({ order_id }) => ({ title: `Order ${order_id}`, target: { order_id } }));
    const text = "Which order do you mean?";
    const path = `/v1/contexts/${turn.context.context_id}/disambiguations`;
    const body = { options, prompt: { text }, supersede: true };
    const { status, body: asked } = await cscp("POST", path, body, `which-${hidden(turn.message_id)}`);
    if (status !== 201) return send(phone, WHY_NOT[asked.code] ?? "Sorry, I cannot do that now.");
    memory.choices[asked.disambiguation_id] = name;
    const buttons = asked.buttons.map((button: Json) => [button.id, button.title]);
    memory.items[asked.disambiguation_id] = { kind: "disambiguations", text, buttons };
    save();
    return put(asked.disambiguation_id, phone);
}

/** A harmless question of the bot's own. Registered, so that the yes to it is not taken for something else. */
async function ownQuestion(phone: string, text: string): Promise<void> {
    const { id, before } = await send(phone, text);
    memory.questions[id] = text;
    await outbound(phone, id, before, { text, expects_reply: true });
}

/** From here on every verdict says leave_to_operator, until an operator unblocks the context. */
async function handOver(turn: Turn, phone: string): Promise<unknown> {
    const path = `/v1/contexts/${turn.context.context_id}/transitions`;
    await cscp("POST", path, { action: "block", on: "operator" }, `hand-over-${hidden(turn.message_id)}`);
    return send(phone, "A colleague will write to you here.");
}

// --- Meta's side ----------------------------------------------------------------------------------------------------

/** One message of a delivery. Deliveries are repeated, also after a crash half-way: every step above allows for that. */
async function handle(message: Json): Promise<void> {
    if (memory.seen.includes(message.id)) return;
    const event = await eventOf(message);
    const { status, body } = await cscp("POST", "/v1/messages", event);
    if (status !== 200) throw new Error(`cscp refused a message: ${body.code}`);
    const { message_id, conversation_id, kind } = event;
    const turn: Turn = { ...body, message_id, conversation_id, kind, text: event.text ?? event.transcript?.text ?? "" };
    const { verdict } = turn;
    const item = verdict.confirmation ?? verdict.approval ?? verdict.disambiguation ?? {};
    await NEXT[verdict.next]?.(turn, message.from, verdict, item);
    memory.seen.push(message.id);
    save();
}

async function deliver(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const end = (status: number, text = "") => answer.writeHead(status).end(text);
    if (request.method === "GET") { // Meta asks once, when you enter the webhook's address
        const asked = new URL(request.url ?? "/", "http://localhost").searchParams;
        const known = asked.get("hub.verify_token") === env("WHATSAPP_VERIFY_TOKEN", "verify-token");
        return void end(known ? 200 : 403, known ? asked.get("hub.challenge") ?? "" : "");
    }
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const signed = Buffer.from(`sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`);
    const given = Buffer.from(String(request.headers["x-hub-signature-256"] ?? ""));
    if (signed.length !== given.length || !timingSafeEqual(signed, given)) return void end(401);
    try {
        for (const entry of JSON.parse(body.toString()).entry) {
            for (const change of entry.changes) {
                for (const message of change.value.messages ?? []) await handle(message);
            }
        }
        end(200);
    } catch (error) { // Meta delivers again whatever is not answered 200
        console.error("delivery failed:", String(error));
        end(503);
    }
}

if (process.argv[2] === "approver") {
    const phone = process.argv[3] ?? "";
    const person = { kind: "person", roles: ["approver"], aliases: [{ kind: "phone", value: phone }] };
    console.log(JSON.stringify(await cscp("PUT", `/v1/principals/wa-${hidden(phone)}`, person)));
} else {
    await recover();
    // One delivery after the other: what a customer wrote first is answered first.
    let queue = Promise.resolve();
    const server = createServer((request, answer) => {
        queue = queue.then(() => deliver(request, answer)).catch(() => void answer.destroy());
    });
    server.listen(PORT, "127.0.0.1", () => {
        console.log(`the bot listens on http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`);
    });
}
