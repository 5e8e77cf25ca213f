import { useState } from "react";
import { ApiError } from "../core/api";
import type { Controls, Session } from "../core/types";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { controlsPath, same, useControls } from "../ui/useControls";

/** line is controls in one line. */
export const line = (c: Omit<Controls, "settings">) => [c.model ?? text.composer.anyModel(), ...[c.approvalPolicy, c.filesystemSandbox, c.networkAccess].map((value) => text.access[value] ?? value)].join(" · ");

/** RunsWith shows the controls of a session's turns; new sessions can get the same, unless the defaults are locked. */
export function RunsWith({ session }: { session: Session }) {
  const client = useClient();
  const path = controlsPath(session.sessionId);
  const own = session.sessionControls;
  const asked = useControls(session);
  const [failure, setFailure] = useState<string | null>(null);
  if (!own) return null;
  const defaults = asked.answer?.defaults;
  const isDefault = defaults && same(defaults, own);
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
      {isDefault && <p className="dim">{text.session.isDefault}</p>}
      {defaults && !isDefault && client.may("work") && (
        <>
          <p><button type="button" disabled={locked} aria-describedby={locked ? "defaults-locked" : undefined} onClick={() => void makeDefault()}>{text.session.asDefault}</button></p>
          {locked && <p id="defaults-locked" className="dim">{asked.answer?.defaultLockReason}. {text.session.lockedBy}</p>}
        </>
      )}
      {failure && <p className="failure" role="alert">{failure}</p>}
    </>
  );
}
