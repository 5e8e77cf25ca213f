// What can be answered to a request, and the answer's way to the server.
import type { Client } from "../client";
import { ApiError } from "../core/api";
import type { Request } from "../core/types";

export type Choice = "approve" | "session" | "always" | "decline";

const amendment = "acceptWithExecpolicyAmendment";
const nameOf = (decision: unknown) => (typeof decision === "string" ? decision : Object.keys(decision as object)[0]);

/** choices are those a request offers. Where a runtime names its decisions, what it does not know is not offered. */
export function choices(request: Request): Choice[] {
  if (request.kind !== "approval") return [];
  const offered = request.decisions?.map(nameOf);
  const all: Choice[] = ["approve"];
  const once = offered?.every((name) => ["accept", "decline", "cancel"].includes(name ?? "")) && !offered.includes("acceptForSession");
  const isCommand = request.method.includes("commandExecution");
  if (!offered || offered.includes("acceptForSession") || (isCommand && !once)) all.push("session");
  if (offered?.includes(amendment)) all.push("always");
  return [...all, "decline"];
}

const bodies: Record<Choice, Record<string, unknown>> = {
  approve: { decision: "accept" },
  session: { decision: "accept", scope: "session" },
  always: { decision: "accept", option: amendment },
  decline: { decision: "decline" },
};

/** decide decides an approval. An earlier decision goes to the store, and is no failure. */
export async function decide(client: Client, request: Request, choice: Choice, reason = ""): Promise<void> {
  const body = { ...bodies[choice], ...(reason ? { message: reason } : {}) };
  await settle(client, request, `/api/approvals/${request.id}/decision`, body);
  if (choice === "decline" && reason) {
    const open = client.store.open.get(request.threadId);
    // Agents that do not get the reason with the refusal get it as a message.
    if (open && open.capabilities.denyReason === false) await client.send(open.sessionId, reason, {});
  }
}

export async function answer(client: Client, request: Request, answers: Record<string, string[]> | null): Promise<void> {
  const body = answers
    ? { decision: "accept", answers: Object.fromEntries(Object.entries(answers).map(([id, given]) => [id, { answers: given }])) }
    : { decision: "cancel" };
  await settle(client, request, `/api/tool-input/${request.id}/decision`, body);
}

export async function respond(client: Client, request: Request, success: boolean, text: string): Promise<void> {
  await settle(client, request, `/api/tool-calls/${request.id}/response`, { success, text });
}

async function settle(client: Client, request: Request, path: string, body: unknown): Promise<void> {
  try {
    await client.api.post(path, body);
  } catch (err) {
    const first = err instanceof ApiError ? (err.body.resolution as Record<string, string> | undefined) : undefined;
    if (!first) throw err;
    client.store.settle(request.id, {
      status: first.status ?? "resolved", decision: first.decision, by: first.decidedBy, at: Date.parse(first.decidedAt ?? "") || Date.now(),
    });
    client.store.flush();
  }
}
