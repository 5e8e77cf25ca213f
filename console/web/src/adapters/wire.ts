// The only file that knows the words of frames and of runtimes' items. Every runtime of the server speaks them.
import type { Frame } from "../core/link";
import type { Author, BackgroundTask, Entry, PlanStep, Question, Request, Settled, Usage, Waiting } from "../core/types";

type Item = Record<string, any> & { id: string; type: string };

export type RestEntry = {
  messageId: string;
  turnId: string;
  role: string;
  type: string;
  content: string;
  status: string;
  details?: string;
  startedAt?: number;
  completedAt?: number;
};

/** joined are the words of a message; its pictures are shown, not named. */
const joined = (parts: unknown): string =>
  Array.isArray(parts)
    ? parts.filter((p) => !(p?.type === "image" && /^data:/.test(p.url ?? ""))).map((p) => (typeof p === "string" ? p : (p?.text ?? `[${p?.type ?? "part"}]`))).join("\n")
    : "";

/** texts of an item are those that deltas add to. */
function textsOf(item: Item): Record<string, string> {
  switch (item.type) {
    case "userMessage":
      return { text: joined(item.content) };
    case "agentMessage":
    case "plan":
      return { text: item.text ?? "" };
    case "commandExecution":
      return { output: item.aggregatedOutput ?? "" };
    case "reasoning": {
      const texts: Record<string, string> = {};
      (item.summary ?? []).forEach((text: string, i: number) => (texts[`summary${i}`] = text));
      (item.content ?? []).forEach((text: string, i: number) => (texts[`content${i}`] = text));
      return texts;
    }
    default:
      return {};
  }
}

const roles: Record<string, string> = { userMessage: "user", agentMessage: "assistant" };

/** endOf is the state of an item that has ended. */
const endOf = (status: unknown) => (status === "failed" ? "error" : status === "declined" ? "canceled" : "complete");

/** fromItem is the entry of a runtime's item that starts or ends. */
export function fromItem(item: Item, turnId: string, ended: boolean): Entry {
  const status = !ended ? "streaming" : endOf(item.status);
  return {
    messageId: item.id,
    turnId,
    role: roles[item.type] ?? "system",
    type: item.type,
    status,
    texts: textsOf(item),
    item,
    startedAt: item.startedAtMs ?? undefined,
    completedAt: item.completedAtMs ?? undefined,
  };
}

/** fromRest is the entry of a snapshot, or of another client that wrote into the transcript. */
export function fromRest(entry: RestEntry): Entry {
  let item: Record<string, unknown> | undefined;
  if (entry.details) {
    try {
      const parsed: unknown = JSON.parse(entry.details);
      if (parsed && typeof parsed === "object") item = parsed as Record<string, unknown>;
    } catch {
      item = { details: entry.details };
    }
  }
  const ofItem = item?.type === entry.type ? textsOf(item as Item) : {};
  return {
    messageId: entry.messageId,
    turnId: entry.turnId,
    role: entry.role,
    type: entry.type,
    status: entry.status === "complete" && item?.type === entry.type ? endOf(item?.status) : entry.status,
    texts: Object.keys(ofItem).length > 0 ? ofItem : { text: entry.content },
    item,
    startedAt: entry.startedAt,
    completedAt: entry.completedAt,
  };
}

/** entriesOf are the entries of a window, with who wrote them. */
export const entriesOf = ({ transcript, authors = {} }: { transcript: RestEntry[]; authors?: Record<string, Author> }): Entry[] =>
  transcript.map((entry) => ({ ...fromRest(entry), ...(authors[entry.messageId] ? { author: authors[entry.messageId] } : {}) }));

/** A delta: what grows by it, and how the entry begins if it is new. */
export type Delta = { id: string; part: string; offset: number | undefined; text: string; start: () => Entry };

const deltas: Record<string, { type: string; part: (params: any) => string }> = {
  "item/agentMessage/delta": { type: "agentMessage", part: () => "text" },
  "item/plan/delta": { type: "plan", part: () => "text" },
  "item/commandExecution/outputDelta": { type: "commandExecution", part: () => "output" },
  "item/fileChange/outputDelta": { type: "fileChange", part: () => "output" },
  "item/reasoning/summaryTextDelta": { type: "reasoning", part: (p) => `summary${p.summaryIndex ?? 0}` },
  "item/reasoning/textDelta": { type: "reasoning", part: (p) => `content${p.contentIndex ?? 0}` },
};

const requestKinds: Record<string, Request["kind"]> = {
  approval: "approval",
  tool_user_input_requested: "question",
  tool_call_requested: "tool",
};

/** requestOf reads what a runtime waits for, as frames and REST have it. */
export function requestOf(kind: Request["kind"], payload: any): Request {
  const details = (payload.details ?? payload.params ?? payload) as Record<string, unknown>;
  return {
    id: payload.approvalId ?? payload.requestId,
    kind,
    threadId: payload.threadId,
    turnId: payload.turnId ?? "",
    itemId: payload.itemId ?? payload.callId ?? "",
    method: payload.method ?? "",
    summary: payload.summary ?? "",
    decisions: payload.availableDecisions ?? null,
    questions: (payload.questions ?? []) as Question[],
    details,
    createdAt: Date.parse(payload.createdAt) || 0,
    reason: payload.reason,
    changes: payload.changes,
  };
}

export function settledOf(payload: any, at: number): Settled {
  return { status: payload.status, decision: payload.decision, scope: payload.scope, message: payload.message, by: payload.decidedBy, at };
}

/** settledEntry is the entry the transcript has of a decision; snapshots have the same. */
export function settledEntry(request: Request, settled: Settled): Entry {
  const words = { approval: ["approval", "Approval"], question: ["tool_input", "Tool input"], tool: ["tool_call", "Tool call"] }[request.kind];
  const prefix = { approval: "approval-", question: "tool-input-", tool: "tool-call-" }[request.kind];
  return {
    messageId: prefix + request.id,
    turnId: request.turnId,
    role: "system",
    type: `${words[0]}.${settled.status}`,
    status: settled.status === "resolved" ? "complete" : "canceled",
    texts: { text: `${words[1]} ${settled.status}${settled.decision ? ` (${settled.decision})` : ""}` },
    item: { ...settled, command: request.details.command, method: request.method, decidedBy: settled.by },
    completedAt: settled.at,
  };
}

/** What a frame means to the page. */
export type Meaning =
  | { is: "delta"; delta: Delta }
  | { is: "entry"; entry: Entry }
  | { is: "turn"; turnId: string; state: "started" | "completed" | "cut"; failed: string | null }
  | { is: "request"; request: Request }
  | { is: "settled"; id: string; settled: Settled }
  | { is: "title"; title: string }
  | { is: "authored"; turnId: string; number: number; author: Author }
  | { is: "usage"; usage: Usage }
  | { is: "plan"; plan: PlanStep[] }
  | { is: "queue"; queue: Waiting[] }
  | { is: "background"; tasks: BackgroundTask[] }
  | { is: "gone" }
  | { is: "rolledBack"; turnIds: string[] }
  | { is: "returned" }
  | { is: "changes"; tree: string }
  | { is: "list" }
  | { is: "job" }
  | { is: "unknown"; type: string }
  | { is: "nothing" };

const nothing: Meaning = { is: "nothing" };

/** meaningOf reads a frame. An unknown frame is reported as such, so that it can be shown. */
export function meaningOf(frame: Frame): Meaning {
  const payload = frame.payload;
  switch (frame.type) {
    case "notification":
      return ofNotification(payload.method, payload.params ?? {}, frame.offset);
    case "approval":
    case "tool_user_input_requested":
    case "tool_call_requested":
      return { is: "request", request: requestOf(requestKinds[frame.type]!, payload) };
    case "approval_resolved":
    case "tool_user_input_resolved":
    case "tool_call_resolved":
      return { is: "settled", id: payload.approvalId ?? payload.requestId, settled: settledOf(payload, Date.now()) };
    case "transcript_updated":
      return payload.entry ? { is: "entry", entry: fromRest(payload.entry) } : nothing;
    case "message_queue_updated":
      return { is: "queue", queue: payload.data ?? [] };
    case "session_background_updated":
      return { is: "background", tasks: payload.activity?.background ?? [] };
    case "message_authored":
      return { is: "authored", turnId: payload.turnId, number: payload.number, author: payload.author };
    case "session_titled":
      return { is: "title", title: payload.title };
    case "session_deleted":
      return { is: "gone" };
    case "session_rolled_back":
      return { is: "rolledBack", turnIds: payload.turnIds ?? [] };
    case "session_rewound":
      return payload.undoes ? { is: "returned" } : nothing;
    case "session_changes_updated":
      return { is: "changes", tree: payload.tree };
    case "session_project_updated":
    case "project_upserted":
    case "project_deleted":
      return { is: "list" };
    default:
      return frame.type.startsWith("orchestrator_job_") ? { is: "job" } : nothing;
  }
}

function usageOf({ total, last, modelContextWindow }: any): Usage {
  return { used: last?.totalTokens ?? 0, window: modelContextWindow ?? null, total: total?.totalTokens ?? 0, cached: last?.cachedInputTokens ?? 0 };
}

/** figuresOf returns the data of a session in a snapshot besides its transcript. */
export function figuresOf({ plan, usage, readTo }: { plan?: any; usage?: any; readTo?: string | null }): { plan: PlanStep[]; usage: Usage | null; readTo: string | null } {
  return { plan: plan?.plan ?? [], usage: usage ? usageOf(usage) : null, readTo: readTo ?? null };
}

function ofNotification(method: string, params: any, offset: number | undefined): Meaning {
  const grows = deltas[method];
  if (grows) {
    const start = () => fromItem({ id: params.itemId, type: grows.type }, params.turnId, false);
    return { is: "delta", delta: { id: params.itemId, part: grows.part(params), offset, text: params.delta, start } };
  }
  switch (method) {
    case "item/started":
    case "item/completed":
      return { is: "entry", entry: fromItem(params.item, params.turnId, method === "item/completed") };
    case "turn/started":
      return { is: "turn", turnId: params.turn.id, state: "started", failed: null };
    case "turn/completed": {
      const failed = params.turn.status === "failed" ? (params.turn.error?.message ?? "the turn failed") : null;
      return { is: "turn", turnId: params.turn.id, state: params.turn.status === "completed" ? "completed" : "cut", failed };
    }
    case "thread/tokenUsage/updated":
      return { is: "usage", usage: usageOf(params.tokenUsage) };
    case "turn/plan/updated":
      return { is: "plan", plan: params.plan ?? [] };
    case "thread/name/updated":
      // codex-manager's title of a session without a name is no title.
      return ["", "New chat"].includes(params.threadName ?? "") ? nothing : { is: "title", title: params.threadName };
    case "thread/started":
    case "thread/archived":
    case "thread/unarchived":
      return { is: "list" };
  }
  return known.some((prefix) => method.startsWith(prefix)) ? nothing : { is: "unknown", type: method };
}

/** Notifications that say nothing a transcript shows. */
const known = ["rawResponse", "thread/", "turn/", "item/", "account/", "serverRequest/", "mcpServer/", "app/", "remoteControl/", "skills/",
  "configWarning", "deprecationNotice", "warning", "error", "model/", "fuzzyFileSearch/", "hook/", "windows", "command/", "process/", "fs/"];
