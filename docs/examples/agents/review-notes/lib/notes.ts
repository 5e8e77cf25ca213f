// The helper module of the example: pure functions over an event's payload.

/** The maximum length of a note, in characters. */
const longest = 400;

enum Part {
  Summary = "summary",
  Details = "details",
}

function textOf(payload: Record<string, unknown>, part: Part): string {
  const value = payload[part];
  return typeof value === "string" ? value.trim() : "";
}

/** The trimmed string, or null if it is empty. */
export function filled(value: unknown): string | null {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? null : text;
}

/** One paragraph about a file change that waits for approval. */
export function summarise(payload: Record<string, unknown>): string {
  const text = [textOf(payload, Part.Summary), textOf(payload, Part.Details)].filter((part) => part !== "").join(" — ");
  const note = `Waiting for approval: ${text === "" ? "a file change" : text}`;
  return note.length > longest ? note.slice(0, longest - 1) + "…" : note;
}

/** The same change gets the same id, so that a repeated event writes one entry. */
export function noteId(turnId: string, payload: Record<string, unknown>): string {
  const context = payload.context as Record<string, unknown>;
  return `review-notes:${turnId}:${String(context.itemId ?? context.approvalId ?? "change")}`;
}
