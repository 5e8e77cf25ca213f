// What the page keeps of the server's words, whichever runtime said them.
import type { Schemas } from "../api/answers";

/** Who wrote a message or an entry, decided, stopped or archived. A snapshot has `authors` by message id; `message_authored` is for message `number` of a turn. */
export type Author = { actor: string; name?: string; at?: number };

/** One entry of a transcript. `texts` are those that grow: the message, a command's output, parts of reasoning. */
export type Entry = {
  messageId: string;
  turnId: string;
  role: string;
  type: string;
  status: string;
  texts: Record<string, string>;
  /** The runtime's item, or what an entry has as details; undefined when there is nothing more. */
  item?: Record<string, unknown>;
  startedAt?: number;
  completedAt?: number;
  author?: Author;
};

/** A session as lists have it. What the server says only to newer clients is always there in this one. */
export type Session =
  Pick<Schemas["Session"], "sessionId" | "title" | "cwd" | "projectId" | "createdAt" | "updatedAt"> &
  Required<Pick<Schemas["Session"], "runtime" | "state" | "activeTurnId" | "pendingCount">> &
  Pick<Schemas["Session"], "retryableTurnId" | "activity" | "lastEntryAt"> & {
    lastError: { turnId: string; message: string } | null;
    sessionControls?: Controls;
    titleSource?: "auto" | "user" | "agent";
    /** What happens now; text is a summary, a command, files with counts, or a reason. */
    line?: { kind: "approval" | "edit" | "question" | "tool" | "running" | "editing" | "retrying" | "failed"; text: string; at?: number } | null;
    /** The Git branch of its folder. */
    branch?: string | null;
    archivedAt?: number;
    archivedBy?: Author;
    /** The user has not read the end of it. */
    unread?: boolean;
  };

/** Work of a session that goes on outside its turns. */
export type BackgroundTask = Schemas["BackgroundTask"];

export type SessionState = Session["state"];
export type Controls = Omit<Schemas["Controls"], "settings" | "acceptEdits"> & { settings?: Schemas["Settings"] };
export type Capabilities = Schemas["Capabilities"];

/** A model a runtime offers. */
export type Model = {
  id: string;
  displayName: string;
  hidden: boolean;
  isDefault: boolean;
  supportedReasoningEfforts: { reasoningEffort: string }[];
  defaultReasoningEffort: string | null;
};

export type Question = {
  id: string;
  header?: string;
  question: string;
  options?: { label: string; description?: string }[] | null;
  isOther?: boolean;
  isSecret?: boolean;
  multiple?: boolean;
  optional?: boolean;
};

/** What a runtime waits for: an approval, questions, or a tool of a client. */
export type Request = {
  id: string;
  kind: "approval" | "question" | "tool";
  threadId: string;
  turnId: string;
  itemId: string;
  method: string;
  summary: string;
  decisions: unknown[] | null;
  questions: Question[];
  details: Record<string, unknown>;
  createdAt: number;
  /** Why the agent asks, and what it changes; only /api/requests has them. */
  reason?: string;
  changes?: { path: string; kind: string; movePath?: string; added: number; removed: number; diff: string; cut?: boolean }[];
};

export type Settled = { status: string; decision?: string; scope?: string; message?: string; by?: string; at: number };

/** A message that waits on the server until the turns before it are over. */
export type Waiting = { id: string; text: string; images: number; state: "queued" | "sending" | "held"; error: string | null };

export type Me = { actor: string; name?: string; role: string; allowed: string[]; login: boolean };

export type Usage = { used: number; window: number | null; total: number; cached: number };

export type PlanStep = { step: string; status: string };

export type Link = "connecting" | "live" | "offline" | "login" | "version";
