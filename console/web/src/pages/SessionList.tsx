import { useState } from "react";
import { Link as To } from "wouter";
import { agentName } from "../core/entries";
import { since } from "../core/time";
import type { Session } from "../core/types";
import { text } from "../text";
import { useClient, useNow, useSignal } from "../ui/hooks";
import { lineOf } from "../ui/Request";
import { NewSession } from "./NewSession";

type Show = "all" | "active" | "waiting";

const rank: Record<string, number> = { waiting: 0, unresponsive: 1, running: 2, error: 3, idle: 4 };

/** why is one line that says what goes on in a session. */
function useWhy(session: Session): string {
  const client = useClient();
  useSignal(client.store.inbox);
  for (const request of client.store.requests.values()) {
    if (request.threadId !== session.sessionId) continue;
    return (request.kind === "question" ? text.list.asks : /fileChange|applyPatch/.test(request.method) ? text.list.edit : text.list.run)(lineOf(request));
  }
  if (session.lastError) {
    const why = session.lastError.message.split("\n")[0]!;
    return session.state === "error" ? text.trouble.row(why) : why;
  }
  return `${agentName(session.runtime)} · ${session.cwd}`;
}

function Row({ session, current, now }: { session: Session; current: boolean; now: number }) {
  const why = useWhy(session);
  return (
    <li>
      <To href={`/s/${session.sessionId}`} className="row" aria-current={current ? "page" : undefined} data-session={session.sessionId} data-state={session.state} data-unread={session.unread || undefined}>
        <span className={`state ${session.state}`} role="img" aria-label={text.states[session.state] ?? session.state} />
        <span className="row-title">{session.unread && <span className="unread" role="img" aria-label={text.list.unread}>● </span>}{session.title || text.list.untitled}</span>
        <span className="row-age dim">{since(now - session.updatedAt * 1000)}</span>
        <span className="row-why dim">{why}</span>
      </To>
    </li>
  );
}

/** SessionList shows all sessions of the server, those that need a person first, by project, or by folder without one. */
export function SessionList({ current }: { current: string | null }) {
  const client = useClient();
  useSignal(client.store.list);
  const now = useNow(30_000);
  const [show, setShow] = useState<Show>("all");
  const [filter, setFilter] = useState("");
  const [fresh, setFresh] = useState(false);
  const [busy, setBusy] = useState(false);
  const more = async () => {
    setBusy(true);
    await client.moreSessions();
    setBusy(false);
  };
  const all = [...client.store.sessions.values()];
  const wanted = filter.trim().toLowerCase();
  const shown = all
    .filter((s) => show === "all" || (show === "waiting" ? s.state === "waiting" : s.state !== "idle"))
    .filter((s) => wanted === "" || s.title.toLowerCase().includes(wanted) || s.cwd.toLowerCase().includes(wanted))
    .sort((a, b) => (rank[a.state] ?? 9) - (rank[b.state] ?? 9) || b.updatedAt - a.updatedAt);
  const groups = new Map<string, Session[]>();
  for (const session of shown) {
    const name = client.store.projects.get(session.projectId ?? "") ?? session.cwd.split("/").filter(Boolean).at(-1) ?? text.list.elsewhere;
    groups.set(name, [...(groups.get(name) ?? []), session]);
  }
  const count = (state: Show) => (state === "all" ? all.length : all.filter((s) => (state === "waiting" ? s.state === "waiting" : s.state !== "idle")).length);
  const tabs: [Show, string][] = [["all", text.list.all], ["active", text.list.active], ["waiting", text.list.waiting]];
  return (
    <div className="list">
      <div className="list-head">
        <input type="search" value={filter} aria-label={text.list.filter} placeholder={text.list.filter} onChange={(e) => setFilter(e.target.value)} />
        {client.may("work") && <button type="button" className="primary" onClick={() => setFresh(true)}>{text.list.fresh}</button>}
      </div>
      <div className="tabs" role="group" aria-label={text.list.label}>
        {tabs.map(([name, label]) => (
          <button key={name} type="button" className="tab" aria-pressed={show === name} onClick={() => setShow(name)}>{label} {count(name)}</button>
        ))}
      </div>
      <nav className="rows" aria-label={text.list.label}>
        {[...groups].map(([name, sessions]) => (
          <section key={name}>
            <h2>{name}</h2>
            <ul>{sessions.map((s) => <Row key={s.sessionId} session={s} current={s.sessionId === current} now={now} />)}</ul>
          </section>
        ))}
        {client.store.moreSessions && <p className="center"><button type="button" disabled={busy} onClick={() => void more()}>{text.list.more}</button></p>}
        {shown.length === 0 && <p className="dim pad">{all.length === 0 ? text.list.first : <>{text.list.none} <button type="button" className="quiet" onClick={() => { setFilter(""); setShow("all"); }}>{text.list.clear}</button></>}</p>}
      </nav>
      {fresh && <NewSession close={() => setFresh(false)} />}
    </div>
  );
}
