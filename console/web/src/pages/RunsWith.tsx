import { useEffect, useState } from "react";
import type { Answer } from "../api/answers";
import { ApiError } from "../core/api";
import type { Controls, Session } from "../core/types";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { useAnswer } from "../ui/useAnswer";

type SessionControls = Answer<"/api/sessions/{sessionId}/session-controls">;

/** line is controls in one line. */
export const line = (c: Omit<Controls, "settings">) => [c.model ?? text.composer.anyModel(), ...[c.approvalPolicy, c.filesystemSandbox, c.networkAccess].map((value) => text.access[value] ?? value)].join(" · ");

/** RunsWith shows the controls of a session's turns; new sessions can get the same, unless the defaults are locked. */
export function RunsWith({ session }: { session: Session }) {
  const client = useClient();
  const path = `/api/sessions/${encodeURIComponent(session.sessionId)}/session-controls`;
  const own = session.sessionControls;
  // The stream does not have changes by others: they are read when the page opens, and with each turn.
  const asked = useAnswer(async () => {
    const answer = await client.api.get<SessionControls>(path);
    const known = client.store.sessions.get(session.sessionId);
    if (known?.sessionControls && line(known.sessionControls) !== line(answer.controls)) client.store.putSession({ ...known, sessionControls: answer.controls });
    return answer;
  }, [path, session.activeTurnId]);
  const { again } = asked;
  useEffect(() => {
    addEventListener("focus", again);
    return () => removeEventListener("focus", again);
  }, [again]);
  const [failure, setFailure] = useState<string | null>(null);
  if (!own) return null;
  const defaults = asked.answer?.defaults;
  const same = defaults && line(defaults) === line(own);
  const locked = asked.answer?.defaultsEditable === false;
  const makeDefault = async () => {
    setFailure(null);
    try {
      const { model, approvalPolicy, networkAccess, filesystemSandbox } = own;
      await client.api.post(path, { scope: "default", controls: { model, approvalPolicy, networkAccess, filesystemSandbox }, source: "console" });
      asked.again();
    } catch (err) {
      if (err instanceof ApiError && err.status === 423) asked.again(); // locked since they were asked for: the answer says why
      else setFailure(err instanceof Error ? err.message : String(err));
    }
  };
  return (
    <>
      <h2>{text.session.controls}</h2>
      <p>{line(own)}</p>
      {same && <p className="dim">{text.session.isDefault}</p>}
      {defaults && !same && client.may("work") && (
        <>
          <p><button type="button" disabled={locked} aria-describedby={locked ? "defaults-locked" : undefined} onClick={() => void makeDefault()}>{text.session.asDefault}</button></p>
          {locked && <p id="defaults-locked" className="dim">{asked.answer?.defaultLockReason}. {text.session.lockedBy}</p>}
        </>
      )}
      {failure && <p className="failure" role="alert">{failure}</p>}
    </>
  );
}
