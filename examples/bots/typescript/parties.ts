// The three parties that the bot talks to - cscp, Meta, and the shop's own systems - and what it remembers.

import { createHmac } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";

export const env = (name: string, unset: string): string => process.env[name] || unset;
const CSCP = env("CSCP_URL", "http://127.0.0.1:8080");
const KEY = env("CSCP_API_KEY", "");
const META = env("META_URL", "http://127.0.0.1:9090/v23.0");
const TOKEN = env("WHATSAPP_TOKEN", "token");
const NUMBER = env("PHONE_NUMBER_ID", "1055");
export const SECRET = env("WHATSAPP_APP_SECRET", "app-secret");
export const SHOP = env("SHOP_URL", "http://127.0.0.1:9090/shop");
const SPEECH = env("SPEECH_URL", "http://127.0.0.1:9090/speech");
const MEMORY = env("BOT_MEMORY", "bot-memory.json");
const KINDS = ["text", "interactive", "audio", "reaction", "image", "video", "document", "sticker", "location", "contacts"];

/** JSON of others. The contract says what is in cscp's; `.ci/clients` shows how to generate types of it. */
export type Json = any;

// --- What this program remembers ------------------------------------------------------------------------------------
// cscp keeps fingerprints of targets, not the targets: those are yours to keep. Here it is one file; yours is a table.

export type Button = [id: string, title: string];
export type Item = { kind: "confirmations" | "approvals" | "disambiguations"; text: string; buttons: Button[] };
export type Command = {
    name: string; target: Json; text: string; phone: string; context_id: string; asked: number; message_ids: string[];
    attempt_id: string | null; outcome: string | null; told: boolean; ttl_seconds?: number;
};
type Memory = {
    commands: Record<string, Command>; items: Record<string, Item>; choices: Record<string, string>;
    questions: Record<string, string>; seen: string[];
};

const nothing: Memory = { commands: {}, items: {}, choices: {}, questions: {}, seen: [] };
export const memory: Memory = existsSync(MEMORY) ? JSON.parse(readFileSync(MEMORY, "utf8")) : nothing;

/** Written whole and then renamed: a crash leaves the old memory or the new one. */
export function save(): void {
    const file = openSync(`${MEMORY}.new`, "w");
    writeSync(file, JSON.stringify(memory));
    fsyncSync(file);
    closeSync(file);
    renameSync(`${MEMORY}.new`, MEMORY);
}

// --- The three parties: cscp, Meta, and your own systems ------------------------------------------------------------

export type Answer = { status: number; body: Json };

/** One request; status and JSON. A server that is away for a moment (503, or no connection) is asked again. */
export async function call(method: string, url: string, body?: Json, headers: Record<string, string> = {}): Promise<Answer> {
    for (const patience of [100, 300, 1000, 3000, null]) {
        try {
            const answer = await fetch(url, {
                method, headers: { "Content-Type": "application/json", ...headers }, signal: AbortSignal.timeout(30_000),
                body: body === undefined ? null : JSON.stringify(body),
            });
            if (patience === null || ![429, 503].includes(answer.status)) {
                return { status: answer.status, body: await answer.json() };
            }
        } catch (error) {
            if (patience === null) throw error;
        }
        await new Promise((over) => setTimeout(over, patience ?? 0));
    }
    throw new Error("not reached: the last patience returns or throws");
}

/**
 * `key` names the request: repeated after a crash it brings back the first answer. Of a 5xx nobody knows what was done: the
 * delivery fails, and Meta repeats it.
 */
export async function cscp(method: string, path: string, body: Json, key?: string): Promise<Answer> {
    const headers = { Authorization: `Bearer ${KEY}`, ...(key ? { "Idempotency-Key": key } : {}) };
    const answer = await call(method, CSCP + path, body, headers);
    if (answer.status >= 500) throw new Error(`cscp: ${answer.body.code}`);
    return answer;
}

/** Sends a message; returns its id and the time before the call, which is how early it may have been seen. */
export async function send(phone: string, text: string, buttons: Button[] = []): Promise<{ id: string; before: string }> {
    const before = now();
    const replies = buttons.map(([id, title]) => ({ type: "reply", reply: { id, title } }));
    const content = buttons.length
        ? { type: "interactive", interactive: { type: "button", body: { text }, action: { buttons: replies } } }
        : { type: "text", text: { body: text } };
    const message = { messaging_product: "whatsapp", to: phone, ...content };
    const sent = await call("POST", `${META}/${NUMBER}/messages`, message, { Authorization: `Bearer ${TOKEN}` });
    return { id: sent.body.messages[0].id, before };
}

export const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

/** Numbers are personal, and ids of messages hold them: cscp gets a digest in their place where an id is ours to choose. */
export const hidden = (text: string): string => createHmac("sha256", SECRET).update(text).digest("hex").slice(0, 24);

/** Tells cscp of a message of ours. */
export function outbound(phone: string, messageId: string, at: string, more: Json): Promise<Answer> {
    return cscp("POST", "/v1/messages", {
        message_id: messageId, conversation_id: `chat-${hidden(phone)}`, actor_id: `wa-${hidden(phone)}`,
        sent_at: at, direction: "outbound", kind: "text", ...more,
    });
}

/** A message of a webhook's delivery, as cscp takes it. */
export async function event(message: Json): Promise<Json> {
    const { from: phone, type: kind, context = {} } = message;
    const found: Json = {
        message_id: message.id, conversation_id: `chat-${hidden(phone)}`, actor_id: `wa-${hidden(phone)}`,
        sent_at: message.timestamp, kind: KINDS.includes(kind) ? kind : "unsupported",
    };
    if (context.id) found.reply_to = context.id;
    if (context.forwarded || context.frequently_forwarded) found.forwarded = true;
    if (kind === "text") {
        found.text = message.text.body;
    } else if (kind === "interactive") {
        const reply = message.interactive.button_reply ?? message.interactive.list_reply ?? {};
        Object.assign(found, { button_id: reply.id, text: reply.title });
    } else if (kind === "reaction") {
        Object.assign(found, { text: message.reaction.emoji, reply_to: message.reaction.message_id });
    } else if (kind === "audio") {
        const { body: heard } = await call("GET", `${SPEECH}/${message.audio.id}`);
        found.transcript = { text: heard.text, confidence: heard.confidence };
    }
    return found;
}
