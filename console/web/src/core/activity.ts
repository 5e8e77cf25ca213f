// What an agent does at the moment, in words.
import { text } from "../text";
import { changesOf, command } from "./entries";
import type { Transcript } from "./transcript";
import type { Entry } from "./types";

const words: Record<string, (entry: Entry) => string> = {
  commandExecution: (entry) => text.talk.running(command(entry).split("\n")[0]!),
  fileChange: (entry) => text.talk.editing(changesOf(entry.item).map((change) => change.path.split("/").at(-1)).join(", ")),
  agentMessage: () => text.talk.writing,
};

/** activityOf words the step of a turn that is under way. */
export function activityOf(transcript: Transcript, turnId: string): string {
  for (let i = transcript.ids.length - 1; i >= 0; i--) {
    const { entry } = transcript.rows.get(transcript.ids[i]!)!;
    if (entry.turnId !== turnId) continue;
    return (entry.status === "streaming" && words[entry.type]?.(entry)) || text.talk.thinking;
  }
  return text.talk.thinking;
}
