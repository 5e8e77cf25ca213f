import { useEffect, useState } from "react";
import type { Answer } from "../api/answers";
import { ApiError } from "../core/api";
import type { Entry } from "../core/types";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { useClient } from "./hooks";

type Planned = Answer<"/api/sessions/{sessionId}/rewind", "post">;

/** Restore asks before a session goes back to before the turn of a message, and offers to undo that. */
export function Restore({ sessionId, entry, said, close }: { sessionId: string; entry: Entry; said: string; close: () => void }) {
  const client = useClient();
  const [planned, setPlanned] = useState<Planned | null>(null);
  const [files, setFiles] = useState(true);
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const path = `/api/sessions/${encodeURIComponent(sessionId)}/rewind`;
  const { turnId } = entry;
  useEffect(() => {
    const ask = (files: boolean) => client.api.post<Planned>(path, { turnId, files, dryRun: true });
    ask(true)
      .catch((err: unknown) => {
        if (!(err instanceof ApiError) || !["changes_unavailable", "turn_state_not_found"].includes(err.code)) throw err;
        setFiles(false); // of this folder no states are stored
        return ask(false);
      })
      .then(setPlanned, (err: Error) => setFailure(err.message));
  }, [client, path, turnId]);
  const restore = async () => {
    setBusy(true);
    setFailure(null);
    try {
      const { rewindId } = await client.api.post<Planned>(path, { turnId, files, force: planned!.changed.length > 0 });
      client.drafts.offer(sessionId, said);
      client.finish({ what: text.message.restored, undo: async () => void (await client.api.post(path, { undo: rewindId })) });
      close();
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
      setBusy(false);
    }
  };
  return (
    <Dialog title={text.message.restore} close={close}>
      {!planned && !failure && <p className="dim">{text.session.loading}</p>}
      {planned && <p className="dialog-text">{text.message.restoreNote(files ? planned.files : null, planned.turns.length)} {text.message.draft}</p>}
      {planned && planned.changed.length > 0 && <p className="failure" role="alert">{text.message.changedSince(planned.changed.slice(0, 20).join(", "))}</p>}
      {planned?.conversation === "kept" && <p className="dialog-text">{text.message.agentKnows}</p>}
      {planned && files && <p className="dim small">{text.message.notCovered}</p>}
      {failure && <p className="failure" role="alert">{failure}</p>}
      <div className="actions">
        <button type="button" className="bad" disabled={busy || !planned} onClick={() => void restore()}>{text.message.doRestore}</button>
        <button type="button" onClick={close}>{text.session.cancel}</button>
      </div>
    </Dialog>
  );
}
