import { useState } from "react";
import { picturesOf, textAndPictures } from "../core/pictures";
import { timeOf } from "../core/time";
import type { Transcript } from "../core/transcript";
import type { Entry, Session } from "../core/types";
import { text } from "../text";
import { useClient, useSignal } from "./hooks";
import { Icon } from "./Icon";
import { MarkdownView } from "./MarkdownView";

/** again is the way to run a failed turn once more, null where there is none: it is the last one, and its message is known. */
function againOf(transcript: Transcript, entry: Entry, session: Session | undefined): { retry: boolean; said: string } | null {
  if (!session || session.activeTurnId !== null || session.lastError?.turnId !== entry.turnId) return null;
  if (session.retryableTurnId === entry.turnId) return { retry: true, said: "" };
  const messages = transcript.ids.map((id) => transcript.rows.get(id)!.entry).filter((e) => e.type === "userMessage" && e.turnId === entry.turnId);
  const [message] = messages;
  if (messages.length !== 1 || picturesOf(message!).length > 0) return null;
  const said = textAndPictures(message!.texts.text ?? "").text;
  return said === "" ? null : { retry: false, said };
}

/** Failed is a turn that failed: why, what helps, and a button that does it. */
export function Failed({ transcript, entry }: { transcript: Transcript; entry: Entry }) {
  const client = useClient();
  useSignal(client.store.list);
  const [busy, setBusy] = useState(false);
  const session = client.store.sessions.get(transcript.sessionId);
  const again = againOf(transcript, entry, session);
  const run = () => {
    setBusy(true);
    (again!.retry ? client.retry(transcript.sessionId, entry.turnId) : client.send(transcript.sessionId, again!.said, {}))
      .catch((err: Error) => client.say(err.message)).finally(() => setBusy(false));
  };
  return (
    <div className="trouble bad" role="alert">
      <p className="head-line"><Icon name="circle-alert" /><strong>{text.trouble.failed}</strong>{entry.completedAt && <time className="dim">{timeOf(entry.completedAt)}</time>}</p>
      <MarkdownView text={entry.texts.text ?? ""} done />
      {client.may("work") && again && <p className="actions"><button type="button" className="primary" disabled={busy} onClick={run}><Icon name="refresh-cw" />{again.retry ? text.trouble.retry : text.trouble.again}</button></p>}
    </div>
  );
}

/** Retrying is a turn that cannot reach its model: which try it is, why, and what helps. */
export function Retrying({ transcript, entry }: { transcript: Transcript; entry: Entry }) {
  const client = useClient();
  useSignal(client.store.list);
  if (entry.status !== "error") return <p className="line"><Icon name="refresh-cw" /><span>{entry.texts.text}</span></p>;
  const { attempt, of, reason, remedy } = entry.item as { attempt?: number; of?: number; reason?: string; remedy?: string };
  const runs = client.store.sessions.get(transcript.sessionId)?.activeTurnId === entry.turnId;
  if (!attempt || !runs) return <p className="line"><Icon name="refresh-cw" /><span>{attempt ? text.trouble.retrying(attempt, of) : entry.texts.text}</span></p>; // the turn's failure has the rest
  return (
    <div className="trouble" role="status">
      <p className="head-line"><Icon name="refresh-cw" /><strong>{text.trouble.retrying(attempt, of)}</strong></p>
      {reason && <p>{reason}</p>}
      {remedy && <MarkdownView text={remedy} done />}
      {client.may("work") && <p className="actions"><button type="button" onClick={() => void client.stop(transcript.sessionId)}>{text.session.stop}</button></p>}
    </div>
  );
}
