import { useEffect, useRef, useState } from "react";
import { Link as To, useSearch } from "wouter";
import { clock } from "../core/time";
import { startOf } from "../core/turns";
import { settledFor } from "../core/store";
import type { Open } from "../core/store";
import type { Session } from "../core/types";
import { text } from "../text/en";
import { Composer } from "../ui/Composer";
import { decide } from "../ui/decide";
import { SessionMenu } from "./SessionMenu";
import { typing, useClient, useList, useNow, useSignal } from "../ui/hooks";
import { RequestCard, SettledLine } from "../ui/RequestCard";
import { TranscriptView } from "../ui/TranscriptView";
import { Panel } from "./Panel";
import { usePreferences } from "../ui/preferences";

const doubled = 800;

function Header({ open, session, stop }: { open: Open; session: Session | undefined; stop: () => void }) {
  const client = useClient();
  useSignal(open.signal);
  const [menu, setMenu] = useState(false);
  useList(open.transcript);
  const seen = useRef({ turn: "", at: 0 });
  const turn = session?.activeTurnId ?? "";
  if (seen.current.turn !== turn) seen.current = { turn, at: Date.now() };
  const started = startOf(open.transcript, turn) ?? seen.current.at;
  const now = useNow(1000, turn !== "");
  const share = open.usage?.window ? Math.round((100 * open.usage.used) / open.usage.window) : null;
  return (
    <header className="head">
      <To href="/" className="back" aria-label={text.session.back}>‹</To>
      <h1>{session?.title ?? open.sessionId}</h1>
      {session && (
        <span className={`pill ${session.state}`} data-state={session.state}>
          {text.states[session.state] ?? session.state}{turn !== "" && ` ${clock(now - started)}`}
        </span>
      )}
      {share !== null && <span className="pill">{share} %</span>}
      <span className="grow" />
      {turn !== "" && client.may("work") && <button type="button" className="bad" onClick={stop}>{text.session.stop} <kbd>{text.session.stopping}</kbd></button>}
      {session && client.may("work") && <button type="button" aria-label={text.session.more} onClick={() => setMenu(true)}>⋯</button>}
      {menu && session && <SessionMenu session={session} close={() => setMenu(false)} />}
    </header>
  );
}

/** Waiting shows the pending requests of this session, and briefly who decided one that the user was about to decide. */
function Waiting({ sessionId }: { sessionId: string }) {
  const client = useClient();
  const [preferences] = usePreferences();
  useSignal(client.store.inbox);
  const now = useNow(1000);
  const [asking, setAsking] = useState<string | null>(null);
  const pending = [...client.store.requests.values()].filter((r) => r.threadId === sessionId).sort((a, b) => a.createdAt - b.createdAt);
  const settled = [...client.store.settled].filter(([, s]) => s.request?.threadId === sessionId && now - s.at < settledFor);
  const first = pending[0];
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (typing(e) || !first || !preferences.keys || !client.may("work") || first.kind !== "approval") return;
      const choice = { y: "approve", s: "session", a: "always", n: "decline" }[e.key.toLowerCase()] as Parameters<typeof decide>[2] | undefined;
      if (e.key.toLowerCase() === "r") setAsking(first.id);
      else if (choice) decide(client, first, choice).catch((err: Error) => client.say(err.message));
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [client, first, preferences.keys]);
  return (
    <div className="waiting">
      {settled.map(([id, s]) => <SettledLine key={id} settled={s} request={s.request} />)}
      {pending.map((r) => <RequestCard key={r.id} request={r} asking={asking === r.id} onAsk={(on) => setAsking(on ? r.id : null)} />)}
    </div>
  );
}

export function SessionPage({ sessionId }: { sessionId: string }) {
  const client = useClient();
  useSignal(client.store.list);
  const [open, setOpen] = useState<Open | null>(null);
  const at = new URLSearchParams(useSearch()).get("at");
  useEffect(() => setOpen(client.open(sessionId, at)), [client, sessionId, at]);
  const session = client.store.sessions.get(sessionId);
  const escaped = useRef(0);
  const stop = () => void client.stop(sessionId);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || e.isComposing || document.querySelector("dialog[open]")) return;
      const now = Date.now();
      if (now - escaped.current < doubled && client.store.sessions.get(sessionId)?.activeTurnId) stop();
      escaped.current = now;
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  if (!open || open.sessionId !== sessionId) return null;
  return (
    <div className="session">
      <div className="talk">
        <Header open={open} session={session} stop={stop} />
        <Body open={open} session={session} />
        <Waiting sessionId={sessionId} />
        <Composer key={sessionId} open={open} session={session} />
      </div>
      <Panel open={open} session={session} />
    </div>
  );
}

function Body({ open, session }: { open: Open; session: Session | undefined }) {
  useSignal(open.signal);
  if (open.failure) return <p className="failure pad" role="alert">{text.session.failed}{open.failure}</p>;
  if (open.loading && open.transcript.ids.length === 0) return <p className="dim pad grow">{text.session.loading}</p>;
  return <TranscriptView key={open.sessionId} open={open} running={!!session?.activeTurnId} />;
}
