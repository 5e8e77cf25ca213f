import { useState } from "react";
import { clock } from "../core/time";
import type { BackgroundTask } from "../core/types";
import { text } from "../text";
import { useClient, useNow } from "./hooks";

/** The background work of a session; frames report every change. */
export function Background({ sessionId, tasks, onFailure }: { sessionId: string; tasks: BackgroundTask[]; onFailure: (why: string | null) => void }) {
  const client = useClient();
  const now = useNow(1000, tasks.length > 0);
  const [ending, setEnding] = useState<string[]>([]);
  if (tasks.length === 0) return null;
  const end = (id: string) => {
    onFailure(null);
    setEnding((all) => [...all, id]);
    client.endBackground(sessionId, id)
      .catch((err: unknown) => onFailure(err instanceof Error ? err.message : String(err)))
      .finally(() => setEnding((all) => all.filter((one) => one !== id)));
  };
  return (
    <ul className="queued background" aria-label={text.background.title(tasks.length)}>
      {tasks.map((one) => (
        <li key={one.id}>
          <span className="said"><code>{one.command}</code></span>
          <span className="dim">{text.background.since(clock(now - Date.parse(one.startedAt)))}</span>
          <button type="button" disabled={!one.canEnd || ending.includes(one.id)} onClick={() => end(one.id)}>{text.background.end}</button>
        </li>
      ))}
    </ul>
  );
}
