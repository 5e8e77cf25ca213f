import { useEffect, useState } from "react";
import type { Answer } from "../api/answers";
import { ApiError } from "../core/api";
import type { Controls, Session } from "../core/types";
import { text } from "../text/en";
import { useClient } from "../ui/hooks";
import { useAnswer } from "../ui/useAnswer";

type Told = Answer<"/api/sessions/{sessionId}/session-controls">;

/** line is controls in one line. */
export const line = (c: Omit<Controls, "settings">) => [c.model ?? text.composer.anyModel(), c.approvalPolicy, c.filesystemSandbox, text.composer.ofNetwork(c.networkAccess)].join(" · ");

/** RunsWith is what a session's turns run with; new sessions can be given the same, unless somebody has locked that. */
export function RunsWith({ session }: { session: Session }) {
  const client = useClient();
  const path = `/api/sessions/${encodeURIComponent(session.sessionId)}/session-controls`;
  const own = session.sessionControls;
  // Changes of others are not told on the stream: they are asked for when somebody looks, and with each turn.
  const asked = useAnswer(async () => {
    const told = await client.api.get<Told>(path);
    const known = client.store.sessions.get(session.sessionId);
    if (known?.sessionControls && line(known.sessionControls) !== line(told.controls)) client.store.putSession({ ...known, sessionControls: told.controls });
    return told;
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
