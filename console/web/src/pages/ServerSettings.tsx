import { useState } from "react";
import type { Answer } from "../api/answers";
import { text } from "../text/en";
import { useClient } from "../ui/hooks";
import { useAnswer } from "../ui/useAnswer";
import { line } from "./RunsWith";

const words = text.server;

/** ServerSettings are what the server was started with, for those who administer it. They are changed where it is started. */
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
          <h3>{words.defaults}</h3>
          <p>{line(answer.defaults)}</p>
          <p className="dim">{answer.defaultsEditable ? words.changed : `${answer.defaultLockReason}. ${text.session.lockedBy}`}</p>
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
