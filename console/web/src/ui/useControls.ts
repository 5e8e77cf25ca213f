import { useEffect } from "react";
import type { Answer } from "../api/answers";
import type { Controls, Session } from "../core/types";
import { useClient } from "./hooks";
import { useAnswer, type Asked } from "./useAnswer";

/** same reports that two controls are those of the same turns. */
export const same = (a: Omit<Controls, "settings">, b: Omit<Controls, "settings">) =>
  (["model", "approvalPolicy", "filesystemSandbox", "networkAccess"] as const).every((name) => (a[name] ?? null) === (b[name] ?? null));

export const controlsPath = (sessionId: string) => `/api/sessions/${encodeURIComponent(sessionId)}/session-controls`;

/** useControls reads the controls of a session, and of new ones. The stream does not have changes by others: they are read when the page opens, and with each turn. */
export function useControls(session: Session): Asked<Answer<"/api/sessions/{sessionId}/session-controls">> {
  const client = useClient();
  const path = controlsPath(session.sessionId);
  const asked = useAnswer(async () => {
    const answer = await client.api.get<Answer<"/api/sessions/{sessionId}/session-controls">>(path);
    const known = client.store.sessions.get(session.sessionId);
    if (known?.sessionControls && !same(known.sessionControls, answer.controls)) client.store.putSession({ ...known, sessionControls: answer.controls });
    return answer;
  }, [path, session.activeTurnId]);
  const { again } = asked;
  useEffect(() => {
    addEventListener("focus", again);
    return () => removeEventListener("focus", again);
  }, [again]);
  return asked;
}
