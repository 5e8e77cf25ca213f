import { timeOf } from "../core/time";
import type { Entry } from "../core/types";
import { text } from "../text";
import { useClient } from "./hooks";

type Decision = { status?: unknown; decision?: unknown; decidedBy?: unknown; message?: unknown; method?: unknown; success?: unknown };

/** useDecision is a line that says what was decided, and who did as far as it is known. */
export function useDecision(kind: string, { status, decision, decidedBy, message, method, success }: Decision): string {
  const client = useClient();
  const who = typeof decidedBy === "string" ? client.nameOf(decidedBy) : null;
  const why = typeof message === "string" ? message : "";
  if (status === "expired") return text.decided.expired;
  if (status !== "resolved" || decision === "cancel") return text.decided.cancel;
  if (decision === "decline" || success === false) return text.decided.decline(who, why);
  if (kind !== "approval") return text.decided.answered(who);
  return text.decided.accept(who, /fileChange|applyPatch/.test(String(method)) ? text.decided.edit : text.decided.command);
}

/** Decided is the line of a decision in a transcript, at the step it belongs to. */
export function Decided({ entry }: { entry: Entry }) {
  const line = useDecision(entry.type.split(".")[0]!, entry.item ?? {});
  return <p className="decided dim">{line}{entry.completedAt ? ` · ${timeOf(entry.completedAt)}` : ""}</p>;
}
