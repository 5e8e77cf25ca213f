import { useState } from "react";
import { Link as To } from "wouter";
import type { Answer, Schemas } from "../api/answers";
import { agentName } from "../core/entries";
import { amount, csv, daysUntil, money } from "../core/money";
import { titleOf } from "../core/names";
import { digits } from "../core/time";
import { text } from "../text";
import { Chart, shortDay, type Series } from "../ui/Chart";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/PageHead";
import { saveAs } from "../ui/saveAs";
import { spendOf } from "../ui/spend";
import { useAnswer } from "../ui/useAnswer";
import { Prices } from "./Prices";

const words = text.usage;
const columns = ["requests", "inputTokens", "cachedInputTokens", "outputTokens", "totalTokens"] as const;
/** minor columns are parts of others: a phone has no room for them. */
const minor = (column: (typeof columns)[number]) => column !== "inputTokens" && column !== "outputTokens" ? true : undefined;
const groups = ["session", "project", "model", "runtime", "day"] as const;
type By = (typeof groups)[number];
type Sum = Answer<"/api/usage">;
type Used = Schemas["Usage"];

const Card = ({ title, value, note }: { title: string; value: string; note: string }) => <div className="sheet"><span className="dim small">{title}</span><b className="figure">{value}</b><span className="dim small">{note}</span></div>;

/** Unpriced says which models have no price, with the way to set one. */
function Unpriced({ sum, set }: { sum: Sum; set: (model: string) => void }) {
  const client = useClient();
  const models = [...sum.unpricedModels, ...(sum.unpricedModels.length === 0 ? [words.unknown] : [])];
  const [first] = sum.unpricedModels;
  return (
    <p className="outcome warn" role="note">
      <span>{words.unpriced(models.slice(0, 5).join(", "), amount(sum.total.unpricedTokens))}</span>
      {first !== undefined && client.may("administer") && <span><button type="button" onClick={() => set(first)}>{words.setPrice}</button></span>}
    </p>
  );
}

/** Usage shows the tokens that runtimes reported and what they cost, added up by the server. */
export function Usage() {
  const client = useClient();
  const [by, setBy] = useState<By>("session");
  const [days, setDays] = useState(14);
  const [project, setProject] = useState("");
  const [price, setPrice] = useState<string | null>(null);
  const shown = daysUntil(Date.now(), days);
  const filter = `since=${shown[0]}${project && `&project=${encodeURIComponent(project)}`}`;
  const get = (query: string) => client.api.get<Sum>(`/api/usage?${query}&${filter}`);
  const asked = useAnswer(async () => {
    const [sum, agents] = await Promise.all([get(`by=${by}`), get("by=runtime")]);
    const used = await Promise.all(agents.data.map(({ key }) => get(`by=day&limit=500&runtime=${encodeURIComponent(key!)}`)));
    return { by, sum, agents: agents.data.map((agent, i) => ({ key: agent.key!, days: used[i]!.data })) };
  }, [by, filter], { every: 30_000 });
  const said = asked.answer;
  const total = said?.sum.total;
  const inMoney = total?.costMicros !== null;
  const value = (used: Used) => (inMoney ? (used.costMicros ?? 0) : used.totalTokens);
  const nameOf = (key: string, of: By) => {
    if (of === "session") { const known = client.store.sessions.get(key); return known ? titleOf(known) : key; }
    if (of === "project") return key === "none" ? words.noProject : (client.store.projects.get(key) ?? key);
    if (of === "model") return key === "unknown" ? words.unknown : key;
    return of === "day" ? shortDay(key) : agentName(key);
  };
  const series: Series[] = (said?.agents ?? []).map((agent) => ({ name: agentName(agent.key), values: new Map(agent.days.map((day) => [day.key!, value(day)])) }));
  const save = () => said && saveAs(`usage-${said.by}-${shown[0]}.csv`, "text/csv", csv([
    [words.groups[said.by], ...columns.map((one) => words.columns[one]), `${words.spend} (USD)`],
    ...said.sum.data.map((used) => [nameOf(used.key!, said.by), ...columns.map((one) => used[one]), used.costMicros === null ? "" : used.costMicros / 1e6]),
  ]));
  return (
    <div className="operator">
      <PageHead title={words.title} asked={asked}>
        <select className="picker" aria-label={words.since} value={days} onChange={(e) => setDays(Number(e.target.value))}>
          {[1, 7, 14, 30, 365].map((n) => <option key={n} value={n}>{words.days(n)}</option>)}
        </select>
        <select className="picker" aria-label={text.session.project} value={project} onChange={(e) => setProject(e.target.value)}>
          <option value="">{words.allProjects}</option>
          <option value="none">{words.noProject}</option>
          {[...client.store.projects].map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select>
        <button type="button" className="csv" aria-label={words.csv} disabled={!said?.sum.data.length} onClick={save}><Icon name="download" /><span>{words.csv}</span></button>
      </PageHead>
      <div className="scroll"><div className="usage">
        {said && total && total.totalTokens > 0 && (
          <>
            <div className="tiles">
              {inMoney && <Card title={words.spend} value={money(total.costMicros ?? 0)} note={words.perDay(money((total.costMicros ?? 0) / days))} />}
              <Card title={words.columns.totalTokens} value={amount(total.totalTokens)} note={words.cached(Math.round((100 * total.cachedInputTokens) / Math.max(1, total.inputTokens)))} />
              <Card title={words.columns.requests} value={digits(total.requests)} note={words.calls(total.sessions)} />
            </div>
            {total.unpricedTokens > 0 && <Unpriced sum={said.sum} set={setPrice} />}
            <Chart title={inMoney ? words.spendPerDay : words.tokensPerDay} days={shown} series={series} word={inMoney ? money : amount} />
          </>
        )}
        <section className="sheet flush">
          <div className="tabs" role="group" aria-label={words.by}>
            {groups.map((one) => <button key={one} type="button" className="tab" aria-pressed={by === one} onClick={() => setBy(one)}>{words.groups[one]}</button>)}
            <span className="grow" />
            {said?.by === "session" && said.sum.total.sessions > said.sum.data.length && <span className="dim small">{words.top(digits(said.sum.data.length), digits(said.sum.total.sessions))}</span>}
          </div>
          {said?.sum.data.length === 0 && <p className="dim pad">{words.none}</p>}
          {said && said.sum.data.length > 0 && (
            <table>
              <thead><tr><th>{words.groups[said.by]}</th>{columns.map((column) => <th key={column} className="num" data-minor={minor(column)}>{words.columns[column]}</th>)}<th className="num">{words.spend}</th></tr></thead>
              <tbody>{said.sum.data.map((used) => <Row key={used.key} used={used}>{said.by === "session" ? <To href={`/s/${encodeURIComponent(used.key!)}`}>{nameOf(used.key!, said.by)}</To> : nameOf(used.key!, said.by)}</Row>)}</tbody>
              <tfoot><Row used={said.sum.total}>{words.total}</Row></tfoot>
            </table>
          )}
        </section>
        <Prices model={price} changed={asked.again} />
      </div></div>
    </div>
  );
}

function Row({ used, children }: { used: Used; children: React.ReactNode }) {
  return (
    <tr data-used={used.key}>
      <th scope="row">{children}</th>
      {columns.map((column) => <td key={column} className="num" data-minor={minor(column)} title={digits(used[column])}>{amount(used[column])}</td>)}
      <td className={used.costMicros === null ? "num dim" : "num"} title={used.unpricedTokens > 0 ? words.without(digits(used.unpricedTokens)) : undefined}>{spendOf(used)}</td>
    </tr>
  );
}
