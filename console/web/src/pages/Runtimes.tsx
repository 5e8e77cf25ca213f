import type { Answer, Runtime } from "../api/answers";
import { agentName } from "../core/entries";
import { since } from "../core/time";
import { text } from "../text";
import { Copy } from "../ui/Code";
import { useClient, useNow } from "../ui/hooks";
import { PageHead } from "../ui/PageHead";
import { useAnswer } from "../ui/useAnswer";
import { RuntimeLogin } from "./RuntimeLogin";

const words = text.runtimes;

/** Offered lists what a runtime can do; each of its lists of levels is one line. */
function Offered({ capabilities }: { capabilities: Runtime["capabilities"] }) {
  const all = Object.entries(capabilities);
  const named = (value: boolean) => all.filter(([, can]) => can === value).map(([name]) => words.abilities[name] ?? name).join(", ");
  const lists = all.filter((entry): entry is [string, string[]] => Array.isArray(entry[1]) && entry[1].length > 0);
  return (
    <dl className="facts">
      {named(true) && <><dt>{words.can}</dt><dd>{named(true)}</dd></>}
      {named(false) && <><dt>{words.cannot}</dt><dd className="dim">{named(false)}</dd></>}
      {lists.map(([name, values]) => <div key={name} className="fact"><dt title={name}>{words.abilities[name] ?? name}</dt><dd title={values.join(", ")}>{values.map((value) => text.access[value] ?? value).join(", ")}</dd></div>)}
    </dl>
  );
}

const load = (now: number, most: number) => (most > 0 ? words.of(now, most) : String(now));

function Card({ runtime }: { runtime: Runtime }) {
  const client = useClient();
  const now = useNow(10_000);
  const { auth, install, limits, processes } = runtime;
  const working = runtime.state === "ready";
  return (
    <section className="outcome" data-runtime={runtime.name} aria-labelledby={`runtime-${runtime.name}`}>
      <header className="runtime-head">
        <h2 id={`runtime-${runtime.name}`} title={runtime.name}>{agentName(runtime.name)}</h2>
        {runtime.version && <span className="dim">{runtime.version}</span>}
        <span className={`pill ${working ? "ok" : "error"}`} data-state={runtime.state} title={runtime.state}>{words.states[runtime.state] ?? runtime.state}</span>
        {runtime.default && <span className="pill">{words.standard}</span>}
      </header>
      {runtime.reason && <p className="failure">{runtime.reason}</p>}
      {!working && install?.command && <p>{words.install} <code>{install.command}</code> <Copy text={install.command} /></p>}
      <dl className="facts">
        <dt>{words.logins}</dt>
        <dd>{auth.state === "found" ? words.found : auth.state === "missing" ? words.missing : words.unknown}{auth.credentials.length > 0 && ` (${auth.credentials.map((kind) => words.credentials[kind] ?? kind).join(", ")})`}{auth.state !== "found" && auth.remedy && <span className="dim">: {auth.remedy}</span>}</dd>
        <dt>{words.turns}</dt><dd>{load(limits.turns, limits.maxTurns)}</dd>
        <dt>{words.messages}</dt><dd>{load(limits.messages, limits.maxMessages)}</dd>
        <dt>{words.processes}</dt>
        <dd>
          {processes.length === 0 && words.noProcess}
          {processes.map((p) => (
            <div key={p.pid}>{words.pid} {p.pid} · {words.states[p.state] ?? p.state}{p.startedAt && `, ${words.since} ${since(now - Date.parse(p.startedAt))}`}{p.shim && `, ${words.shim} ${p.shim.pid} (${p.shim.version})`}</div>
          ))}
          {runtime.waiting > 0 && <div className="failure">{words.waits(runtime.waiting)}</div>}
        </dd>
        {install && install.tested.length > 0 && <><dt>{words.tested}</dt><dd>{install.tested.join(", ")}</dd></>}
      </dl>
      {auth.login && client.may("administer") && <RuntimeLogin runtime={runtime} />}
      <details><summary>{words.can}, {words.cannot}</summary><Offered capabilities={runtime.capabilities} /></details>
    </section>
  );
}

/** Runtimes are the agents of the server: whether each can work, why not and what helps, what it has to do and can do. */
export function Runtimes() {
  const client = useClient();
  const asked = useAnswer(() => client.api.get<Answer<"/api/runtimes">>("/api/runtimes"), [], { every: 5_000 });
  return (
    <div className="operator">
      <PageHead title={words.title} asked={asked} />
      <div className="scroll pad stack">{asked.answer?.data.map((r) => <Card key={r.name} runtime={r} />)}</div>
    </div>
  );
}
