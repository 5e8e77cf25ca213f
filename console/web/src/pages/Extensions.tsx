import { useState } from "react";
import type { Answer, Module } from "../api/answers";
import { ApiError } from "../core/api";
import { momentOf } from "../core/time";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { PageHead } from "../ui/PageHead";
import { useAnswer } from "../ui/useAnswer";

type Trouble = { extension?: string; code: string; message: string };
type Outcome = { said: string; errors: Trouble[] };

function Troubles({ errors }: { errors: Trouble[] }) {
  return (
    <ul className="troubles">
      {errors.map((e, i) => <li key={i}>{e.extension && <strong>{e.extension}</strong>} <span className="pill">{e.code}</span><pre tabIndex={0}>{e.message}</pre></li>)}
    </ul>
  );
}

const list = (all: string[] | undefined) => (all && all.length > 0 ? all.join(", ") : text.extensions.nothing);

/** One is an extension: where it is from, what it declared against what it did, and how it is. */
function One({ module: m }: { module: Module }) {
  const words = text.extensions;
  const notes = [...(m.trust?.errors ?? []), ...(m.trust?.warnings ?? []), ...(m.diagnostics ?? [])];
  const well = !m.health || m.health.state === "ok";
  return (
    <section className="outcome" data-module={m.moduleName ?? m.name} aria-label={m.name}>
      <header className="runtime-head">
        <h2>{m.displayName || m.name}</h2>
        <span className="dim">{m.version}</span>
        <span className={`pill ${well ? "ok" : "error"}`}>{well ? words.well : m.health!.state}</span>
        {m.trust && <span className={`pill ${m.trust.status === "accepted" ? "" : "waiting"}`} title={m.trust.status}>{text.extensions.trusted[m.trust.status] ?? m.trust.status}</span>}
      </header>
      {m.health?.lastError && <pre tabIndex={0}>{m.health.lastError}</pre>}
      <dl className="facts">
        <dt>{words.agent}</dt><dd className="mono">{m.agentId}</dd>
        <dt>{words.origin}</dt><dd>{m.origin?.type} <span className="dim mono">{m.entrypointPath}</span></dd>
        <dt>{words.events}</dt><dd>{list(m.events)}</dd>
        <dt>{words.declared}</dt><dd>{list([...(m.capabilities?.events ?? []), ...(m.capabilities?.actions ?? []), ...(m.capabilities?.host ?? [])])}</dd>
        {notes.length > 0 && <><dt>{words.diagnostics}</dt><dd>{notes.map((note, i) => <p key={i}>{note}</p>)}</dd></>}
      </dl>
    </section>
  );
}

/** Extensions are the modules of the server: what is loaded, what is not trusted, and a reload of all of them or none. */
export function Extensions() {
  const client = useClient();
  const asked = useAnswer(() => client.api.get<Answer<"/api/agents/extensions">>("/api/agents/extensions"), [], { every: 10_000 });
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [busy, setBusy] = useState(false);
  const { answer } = asked;
  const reload = async () => {
    setBusy(true);
    setOutcome(null);
    try {
      const made = await client.api.post<Answer<"/api/agents/extensions/reload", "post">>("/api/agents/extensions/reload");
      setOutcome({ said: text.extensions.reloaded(made.loadedCount), errors: [] });
    } catch (err) {
      const errors = err instanceof ApiError && Array.isArray(err.body.errors) ? (err.body.errors as Trouble[]) : [];
      setOutcome({ said: `${text.extensions.refused} ${err instanceof Error ? err.message : String(err)}`, errors });
    } finally {
      setBusy(false);
      asked.again();
    }
  };
  return (
    <div className="operator">
      <PageHead title={text.extensions.title} asked={asked}>
        {client.may("administer") && <button type="button" className="primary" disabled={busy} onClick={() => void reload()}>{text.extensions.reload}</button>}
      </PageHead>
      <div className="scroll pad stack">
        {outcome && <section className="outcome" role="status"><p>{outcome.said}</p><Troubles errors={outcome.errors} /></section>}
        {answer?.untrusted && answer.untrusted.length > 0 && (
          <section className="outcome warn">
            <h2>{text.extensions.untrusted}</h2>
            <Troubles errors={answer.untrusted} />
            <p className="dim">{text.extensions.trust} <code>harness trust FOLDER</code></p>
          </section>
        )}
        {answer && answer.modules.length === 0 && <p className="dim">{text.extensions.none}</p>}
        {answer?.modules.map((m) => <One key={m.name} module={m} />)}
        {answer && <p className="dim">{text.extensions.loaded} {momentOf(answer.loadedAt)} · {text.extensions.snapshot} <code>{answer.snapshotVersion}</code></p>}
      </div>
    </div>
  );
}
