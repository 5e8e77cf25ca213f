import { useState } from "react";
import type { Answer } from "../api/answers";
import { ApiError } from "../core/api";
import type { Controls } from "../core/types";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { Choice, levels } from "../ui/Pickers";
import { Setting, Switch } from "../ui/Setting";
import { useAnswer } from "../ui/useAnswer";

const words = text.server;

/** useServer are the server's settings, and why they could not be read. */
function useServer() {
  const client = useClient();
  const asked = useAnswer(() => client.api.get<Answer<"/api/server/settings">>("/api/server/settings"), []);
  const { failure, again } = asked;
  return { ...asked, failed: failure && <p className="failure" role="alert">{text.operator.failed}{failure} <button type="button" onClick={again}>{text.operator.again}</button></p> };
}

/** DefaultSettings are what new sessions run with, in what the first agent offers. */
export function DefaultSettings() {
  const client = useClient();
  const { answer, failed, again } = useServer();
  const [failure, setFailure] = useState<string | null>(null);
  const runtimes = useAnswer(() => client.api.get<Answer<"/api/runtimes">>("/api/runtimes"), []);
  const offered = runtimes.answer?.data[0]?.capabilities;
  if (!answer) return failed;
  const now: Controls = answer.defaults;
  const locked = answer.defaultsEditable ? null : answer.defaultLockReason;
  const change = async (part: Partial<Controls>) => {
    setFailure(null);
    const { model, approvalPolicy, networkAccess, filesystemSandbox } = { ...now, ...part };
    try {
      await client.api.post("/api/server/settings", { defaults: { model, approvalPolicy, networkAccess, filesystemSandbox } });
    } catch (err) {
      if (!(err instanceof ApiError && err.status === 423)) setFailure(err instanceof Error ? err.message : String(err)); // else what is read again says why
    }
    again();
  };
  return (
    <>
      <ul className="items">
        <Setting label={text.composer.model}><span className="dim">{now.model ?? text.composer.anyModel()}</span></Setting>
        {offered && levels.map(([name, capability, label]) => (
          <Setting key={name} label={label}>
            <Choice label={`${words.defaults}: ${label}`} value={now[name]} reason={locked === null ? undefined : "defaults-locked"} change={(value) => void change({ [name]: value })}
              choices={(offered[capability] ?? []).filter((choice) => choice !== "on-failure").map((choice): [string, string] => [choice, text.access[choice] ?? choice])} />
          </Setting>
        ))}
      </ul>
      {locked !== null && <p id="defaults-locked" className="dim small">{locked}. {text.session.lockedBy}</p>}
      {failure && <p className="failure" role="alert">{failure}</p>}
    </>
  );
}

/** ServerSettings are what the server was started with. */
export function ServerSettings() {
  const [all, setAll] = useState(false);
  const { answer, failed } = useServer();
  const shown = answer?.data.filter((one) => all || one.source !== "default") ?? [];
  return (
    <section aria-label={words.title}>
      {failed}
      {answer && (
        <>
          <p className="dim">{words.restart}</p>
          <ul className="items">
            <Switch label={words.all} on={all} change={setAll} />
            {shown.map((one) => (
              <li key={one.name} data-setting={one.name}><span className="grow mono">{one.name}</span><span className="set-value"><span className="mono">{one.value || words.none}</span> <span className="dim small">({words.sources[one.source]})</span></span></li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
