import { useState } from "react";
import { Link as To } from "wouter";
import type { Answer, Schemas } from "../api/answers";
import { digits } from "../core/time";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { PageHead } from "../ui/PageHead";
import { useAnswer } from "../ui/useAnswer";

const words = text.usage;
const columns = ["requests", "inputTokens", "cachedInputTokens", "outputTokens", "reasoningOutputTokens", "totalTokens"] as const;
/** minor columns are parts of others: a phone has no room for them. */
const minor = (column: (typeof columns)[number]) => column === "cachedInputTokens" || column === "reasoningOutputTokens" || undefined;
const groups = ["day", "project", "session", "runtime"] as const;
type By = (typeof groups)[number];

/** Usage shows the tokens that runtimes reported for sessions, added up by the server. */
export function Usage() {
  const client = useClient();
  const [by, setBy] = useState<By>("day");
  const [days, setDays] = useState(30);
  const asked = useAnswer(() => {
    const since = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
    return client.api.get<Answer<"/api/usage">>(`/api/usage?by=${by}&since=${since}`);
  }, [by, days], { every: 10_000 });
  const name = (key: string) => {
    if (by === "session") return <To href={`/s/${encodeURIComponent(key)}`}>{client.store.sessions.get(key)?.title ?? key}</To>;
    if (by === "project") return key === "none" ? words.noProject : (client.store.projects.get(key) ?? key);
    return key;
  };
  const row = (used: Schemas["Usage"]) => columns.map((column) => <td key={column} data-minor={minor(column)}>{digits(used[column])}</td>);
  return (
    <div className="jobs">
      <div className="talk">
        <PageHead title={words.title} asked={asked}>
          <select className="picker" aria-label={words.since} value={days} onChange={(e) => setDays(Number(e.target.value))}>
            {[1, 7, 30, 365].map((n) => <option key={n} value={n}>{words.days(n)}</option>)}
          </select>
        </PageHead>
        <div className="tabs pad" role="group" aria-label={words.by}>
          {groups.map((one) => <button key={one} type="button" className="tab" aria-pressed={by === one} onClick={() => setBy(one)}>{words.groups[one]}</button>)}
        </div>
        <div className="scroll pad">
          {asked.answer?.data.length === 0 && <p className="dim">{words.none}</p>}
          {asked.answer && asked.answer.data.length > 0 && (
            <table>
              <thead><tr><th>{words.groups[by]}</th>{columns.map((column) => <th key={column} data-minor={minor(column)}>{words.columns[column]}</th>)}</tr></thead>
              <tbody>{asked.answer.data.map((used) => <tr key={used.key} data-used={used.key}><th scope="row">{name(used.key ?? "")}</th>{row(used)}</tr>)}</tbody>
              <tfoot><tr><th scope="row">{words.total}</th>{row(asked.answer.total)}</tr></tfoot>
            </table>
          )}
        </div>
      </div>
    </div>
  );
}
