import { useState } from "react";
import type { Answer } from "../api/answers";
import { ApiError } from "../core/api";
import type { Controls } from "../core/types";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { Choice, levels } from "../ui/Pickers";
import { useAnswer } from "../ui/useAnswer";
import { line } from "./RunsWith";

const words = text.server;

/** Defaults are what new sessions run with, in what the first runtime offers; locked is why they are not to be changed. */
function Defaults({ now, locked, again }: { now: Controls; locked: string | null; again: () => void }) {
  const client = useClient();
  const [failure, setFailure] = useState<string | null>(null);
  const { answer } = useAnswer(() => client.api.get<Answer<"/api/runtimes">>("/api/runtimes"), []);
  const offered = answer?.data[0]?.capabilities;
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
      <h3>{words.defaults}</h3>
      <p>{line(now)}</p>
      {offered && <p>{levels.map(([name, capability, label]) => (
        <Choice key={name} label={`${words.defaults}: ${label}`} value={now[name]} reason={locked === null ? undefined : "defaults-locked"} change={(value) => void change({ [name]: value })}
          choices={(offered[capability] ?? []).map((choice): [string, string] => [choice, text.access[choice] ?? choice])} />
      ))}</p>}
      {locked !== null && <p id="defaults-locked" className="dim">{locked}. {text.session.lockedBy}</p>}
      {failure && <p className="failure" role="alert">{failure}</p>}
    </>
  );
}

/** ServerSettings are what the server was started with, for those who administer it, and what new sessions run with. */
export function ServerSettings() {
  const client = useClient();
  const [all, setAll] = useState(false);
  const { answer, failure, again } = useAnswer(() => client.api.get<Answer<"/api/server/settings">>("/api/server/settings"), []);
  const shown = answer?.data.filter((one) => all || one.source !== "default") ?? [];
  return (
    <section aria-label={words.title}>
      <h2>{words.title}</h2>
      {failure && <p className="failure" role="alert">{text.operator.failed}{failure} <button type="button" onClick={again}>{text.operator.again}</button></p>}
      {answer && (
        <>
          <Defaults now={answer.defaults} locked={answer.defaultsEditable ? null : answer.defaultLockReason} again={again} />
          <h3>{words.started}</h3>
          <p className="dim">{words.restart}</p>
          <label className="option"><input type="checkbox" checked={all} onChange={(e) => setAll(e.target.checked)} /> {words.all}</label>
          <dl className="facts">
            {shown.map((one) => (
              <div className="fact" key={one.name} data-setting={one.name}><dt className="mono">{one.name}</dt><dd><span className="mono">{one.value || words.none}</span> <span className="dim">({words.sources[one.source]})</span></dd></div>
            ))}
          </dl>
        </>
      )}
    </section>
  );
}
