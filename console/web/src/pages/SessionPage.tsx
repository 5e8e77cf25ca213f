import { useEffect, useRef, useState } from "react";
import { Link as To, useSearch } from "wouter";
import { clock, timeOf } from "../core/time";
import { startOf } from "../core/turns";
import type { Open } from "../core/store";
import type { Session } from "../core/types";
import { text } from "../text";
import { AgentTrouble } from "../ui/AgentTrouble";
import { Composer } from "../ui/Composer";
import { SessionMenu } from "./SessionMenu";
import { useClient, useList, useNow, useSignal } from "../ui/hooks";
import { RequestCard } from "../ui/RequestCard";
import { TranscriptView } from "../ui/TranscriptView";
import { Panel } from "./Panel";

/** How long a second Escape stops the turn, in ms. */
const doubled = 3000;

function Header({ open, session, stop, escaped }: { open: Open; session: Session | undefined; stop: () => void; escaped: boolean }) {
  const client = useClient();
  useSignal(open.signal);
  const [menu, setMenu] = useState(false);
  useList(open.transcript);
  const seen = useRef({ turn: "", at: 0 });
  const turn = session?.activeTurnId ?? "";
  if (seen.current.turn !== turn) seen.current = { turn, at: Date.now() };
  const started = startOf(open.transcript, turn) ?? seen.current.at;
  useSignal(client.signal);
  const { lostAt } = client;
  const now = useNow(1000, turn !== "" && lostAt === null);
  const share = open.usage?.window ? Math.round((100 * open.usage.used) / open.usage.window) : null;
  return (
    <header className="head">
      <To href="/sessions" className="back" aria-label={text.session.back}>‹</To>
      <h1 tabIndex={-1}>{session?.title ?? open.sessionId}</h1>
      {session && (
        <span className={`pill ${session.state}`} data-state={session.state}>
          {turn !== "" && lostAt !== null ? text.link.runningAt(text.states[session.state] ?? session.state, timeOf(lostAt)) : text.states[session.state] ?? session.state}
          {turn !== "" && lostAt === null && ` ${clock(now - started)}`}
        </span>
      )}
      {share !== null && <span className="pill">{text.session.share(share)}</span>}
      <span className="grow" />
      {escaped && turn !== "" && <span className="dim">{text.session.escape}</span>}
      {turn !== "" && client.may("work") && <button type="button" className="bad" onClick={stop}>{text.session.stop} <kbd>Esc Esc</kbd></button>}
      {session && client.may("work") && <button type="button" aria-label={text.session.more} onClick={() => setMenu(true)}>⋯</button>}
      {menu && session && <SessionMenu session={session} close={() => setMenu(false)} />}
    </header>
  );
}

/** Waiting shows the pending requests of this session; who decided one stands in the transcript. */
function Waiting({ sessionId, leave }: { sessionId: string; leave: () => void }) {
  const client = useClient();
  useSignal(client.store.inbox);
  const pending = [...client.store.requests.values()].filter((r) => r.threadId === sessionId).sort((a, b) => a.createdAt - b.createdAt);
  return (
    <div className="waiting">
      {pending.map((r) => <RequestCard key={r.id} request={r} onLeave={leave} />)}
    </div>
  );
}

/** mouse: there is one, and so a keyboard that is no part of the screen. */
const mouse = () => matchMedia("(hover: hover) and (pointer: fine)").matches;

/** useStop stops the turn at the second of two Escapes, and reports whether the first one came. */
function useStop(sessionId: string): [stop: () => void, escaped: boolean] {
  const client = useClient();
  const [escaped, setEscaped] = useState(false);
  useEffect(() => {
    if (!escaped) return;
    const timer = setTimeout(() => setEscaped(false), doubled);
    return () => clearTimeout(timer);
  }, [escaped]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || e.repeat || e.isComposing || document.querySelector("dialog[open]") || !client.may("work")) return;
      if (!client.store.sessions.get(sessionId)?.activeTurnId) return;
      if (escaped) void client.stop(sessionId);
      else client.announce(text.session.escape);
      setEscaped(!escaped);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return [() => void client.stop(sessionId), escaped];
}

export function SessionPage({ sessionId }: { sessionId: string }) {
  const client = useClient();
  useSignal(client.store.list);
  const [open, setOpen] = useState<Open | null>(null);
  const at = new URLSearchParams(useSearch()).get("at");
  useEffect(() => setOpen(client.open(sessionId, at)), [client, sessionId, at]);
  const session = client.store.sessions.get(sessionId);
  const [stop, escaped] = useStop(sessionId);
  const page = useRef<HTMLDivElement>(null);
  const toField = () => void (mouse() && page.current?.querySelector<HTMLElement>(".composer textarea")?.focus());
  useEffect(() => {
    if (!open) return;
    toField();
    if (!page.current?.contains(document.activeElement)) page.current?.querySelector("h1")?.focus();
  }, [open]);
  if (!open || open.sessionId !== sessionId) return null;
  return (
    <div className="session" ref={page}>
      <div className="talk">
        <Header open={open} session={session} stop={stop} escaped={escaped} />
        <Body open={open} session={session} />
        <Waiting sessionId={sessionId} leave={toField} />
        {session && <AgentTrouble only={session.runtime} failed={session.lastError?.turnId} />}
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
