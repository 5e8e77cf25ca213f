// Which turns stand behind an entry of a transcript: what taking the conversation back to it comes to.
import type { Transcript } from "./transcript";

/** Begins of turns: their first messages. Entries that others wrote into the transcript are no turns. */
const begins = (type: string) => type === "userMessage";

/**
 * behind is how many turns are to be dropped to be at an entry again: before a message of a person, which can then be said
 * otherwise, or right after one of the agent. null: the end of the transcript is not in memory.
 */
export function behind(transcript: Transcript, id: string): number | null {
  const place = transcript.ids.indexOf(id);
  if (place < 0 || transcript.newer !== null) return null;
  const own = transcript.rows.get(id)!.entry;
  const turns = new Set<string>();
  for (const later of transcript.ids.slice(place)) {
    const { entry } = transcript.rows.get(later)!;
    if (begins(entry.type)) turns.add(entry.turnId);
  }
  if (own.role === "user") turns.add(own.turnId);
  else turns.delete(own.turnId);
  return turns.size;
}

/** startOf is when a turn began, in ms since 1970, as far as its entries in memory show. */
export function startOf(transcript: Transcript, turnId: string): number | null {
  for (const id of transcript.ids) {
    const { entry } = transcript.rows.get(id)!;
    if (entry.turnId === turnId && entry.startedAt) return entry.startedAt;
  }
  return null;
}
