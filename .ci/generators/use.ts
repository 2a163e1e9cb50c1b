// A program as somebody would write it over each of the two clients. It is compiled and not run.
import type { components, paths } from "./schema";
import { bindCommand, postMessage, type NextStep, type Problem } from "./sdk";

type Schemas = components["schemas"];

const message: Schemas["Message"] = {
  message_id: "wamid.HBgNEXAMPLE",
  conversation_id: "conv-7f3a",
  actor_id: "person-19",
  sent_at: "2026-11-20T15:04:05Z",
  kind: "text",
  text: "sim",
};
export const posted: paths["/v1/messages"]["post"]["requestBody"]["content"]["application/json"] = message;

export function told(turn: Schemas["Turn"]): string {
  const step: Schemas["NextStep"] = turn.verdict.next;
  switch (step) {
    case "bind_command":
      return turn.verdict.confirmation?.command_id ?? "";
    default:
      return turn.verdict.reason;
  }
}

export async function next(): Promise<NextStep | Problem["code"] | undefined> {
  const { data, error } = await postMessage({ body: message });
  return data ? data.verdict.next : error?.code;
}

export async function may(contextId: string): Promise<boolean> {
  const { data } = await bindCommand({
    path: { context_id: contextId },
    body: {
      attempt_id: "3f2b8c1e-9d4a-4c6b-8e21-5a7f0c9d1b34",
      command_id: "cmd-1",
      name: "order.cancel",
      idempotency_key: "cancel-8812",
      target: { order_id: "8812" },
      envelope: {},
      message_ids: [],
    },
  });
  return data?.execute === true;
}
