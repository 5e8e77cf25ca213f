import { timeOf } from "../core/time";
import type { Author, Entry } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";
import { Icon } from "./Icon";

type Decision = { status?: unknown; decision?: unknown; decidedBy?: unknown; message?: unknown; author?: Author | undefined; method?: unknown; success?: unknown };

const edited = (method: unknown) => /fileChange|applyPatch/.test(String(method));

/** useDecision is a line that says what was decided, and who did as far as it is known. */
export function useDecision(kind: string, { status, decision, decidedBy, message, author, method, success }: Decision, times = 1): string {
  const client = useClient();
  const who = author ? client.nameOf(author.actor, author.name) : typeof decidedBy === "string" ? client.nameOf(decidedBy) : null;
  const why = typeof message === "string" ? message : "";
  if (status === "expired") return text.decided.expired;
  if (status !== "resolved" || decision === "cancel") return text.decided.cancel;
  if (decision === "decline" || success === false) return text.decided.decline(who, why);
  if (kind !== "approval") return text.decided.answered(who);
  if (times > 1) return text.decided.accept(who, edited(method) ? text.talk.edits(times) : text.talk.commands(times));
  return text.decided.accept(who, edited(method) ? text.decided.edit : text.decided.command);
}

/** Decided is the line of decisions in a transcript, at the step they belong to. */
export function Decided({ entries }: { entries: Entry[] }) {
  const last = entries.at(-1)!;
  const item = last.item ?? {};
  const line = useDecision(last.type.split(".")[0]!, { ...item, author: last.author }, entries.length);
  const done = item.decision !== "decline" && item.decision !== "cancel" && item.success !== false && item.status === "resolved";
  return <p className="line decided"><Icon name={done ? "check" : "ban"} /><span>{line}{last.completedAt ? ` · ${timeOf(last.completedAt)}` : ""}</span></p>;
}
