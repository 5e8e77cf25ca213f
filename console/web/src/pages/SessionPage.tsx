import { useEffect, useRef, useState } from "react";
import { Link as To, useSearch } from "wouter";
import { agentName } from "../core/entries";
import { titleOf } from "../core/names";
import type { Open } from "../core/store";
import { clock, dayOf, timeOf } from "../core/time";
import type { Request, Session } from "../core/types";
import { text } from "../text";
import { Activity, useTurnClock } from "../ui/Activity";
import { AgentTrouble } from "../ui/AgentTrouble";
import { Background } from "../ui/Background";
import { Composer } from "../ui/Composer";
import { useClient, useSignal } from "../ui/hooks";
import { Icon, type IconName } from "../ui/Icon";
import { Queue } from "../ui/Queue";
import { lineOf } from "../ui/Request";
import { RequestCard } from "../ui/RequestCard";
import { spendOf, useSpend } from "../ui/spend";
import { TranscriptView } from "../ui/TranscriptView";
import { Unsent } from "../ui/Unsent";
import { Panel, usePanel } from "./Panel";
import { SessionMenu } from "./SessionMenu";

/** How long a second Escape stops the turn, in ms. */
const doubled = 3000;

/** Pill is the state of a session, with the clock of its turn. */
function Pill({ open, session }: { open: Open; session: Session }) {
  const turn = useTurnClock(open, session);
  if (session.archivedAt) return <span className="pill" data-state="archived">{text.talk.archived}</span>;
  const state = text.states[session.state] ?? session.state;
  return (
    <span className={`pill ${session.state}`} data-state={session.state}>
      {turn === null ? state : turn.lostAt !== null ? text.link.runningAt(state, timeOf(turn.lostAt)) : `${state} · ${clock(turn.took)}`}
    </span>
  );
}

const Fact = ({ icon, title, children }: { icon?: IconName; title?: string | undefined; children: string }) => <span title={title} data-minor={icon ? true : undefined}>{icon && <Icon name={icon} />}<span className="clip">{children}</span></span>;

function Header({ open, session, panel }: { open: Open; session: Session | undefined; panel: ReturnType<typeof usePanel> }) {
  const client = useClient();
  useSignal(open.signal);
  useSignal(client.signal);
  const share = open.usage?.window ? Math.round((100 * open.usage.used) / open.usage.window) : null;
  const spend = useSpend(open)?.total;
  const project = session?.projectId ? client.store.projects.get(session.projectId) : undefined;
  return (
    <header className="head">
      <To href="/sessions" className="button icon ghost back" aria-label={text.session.back}><Icon name="arrow-left" /></To>
      <div className="head-text">
        <h1 className="clip" tabIndex={-1} title={session && titleOf(session)}>{session ? titleOf(session) : open.sessionId}</h1>
        {session && <Pill open={open} session={session} />}
        {session && (
          <div className="meta">
            <Fact icon="bot" title={session.runtime}>{agentName(session.runtime)}</Fact>
            {session.branch && <Fact icon="git-branch">{session.branch}</Fact>}
            <Fact icon="folder" title={session.cwd}>{project ?? session.cwd.split("/").at(-1) ?? session.cwd}</Fact>
            {spend && spend.costMicros !== null && spend.totalTokens > 0 && <Fact title={text.usage.spend}>{spendOf(spend)}</Fact>}
            {share !== null && <Fact>{text.talk.share(share)}</Fact>}
          </div>
        )}
      </div>
      <button type="button" className="icon ghost panel-toggle" aria-label={panel.shown ? text.talk.hidePanel : text.talk.showPanel} title={panel.shown ? text.talk.hidePanel : text.talk.showPanel} aria-expanded={panel.shown} onClick={() => panel.show(panel.shown ? null : "changes")}><Icon name="panel-right" /></button>
      {session && <SessionMenu session={session} />}
    </header>
  );
}

/** Requests shows what this session asks: the oldest as a card, the others in one line each. */
function Requests({ sessionId, leave }: { sessionId: string; leave: () => void }) {
  const client = useClient();
  useSignal(client.store.inbox);
  const [picked, pick] = useState<string | null>(null);
  const pending = [...client.store.requests.values()].filter((r) => r.threadId === sessionId).sort((a, b) => a.createdAt - b.createdAt);
  const first: Request | undefined = pending.find((r) => r.id === picked) ?? pending[0];
  if (!first) return null;
  const others = pending.filter((r) => r !== first);
  return (
    <div className="requests">
      <RequestCard key={first.id} request={first} onLeave={leave} />
      {others.length > 0 && (
        <ul className="others" aria-label={text.talk.others(others.length)}>
          <li className="dim">{text.talk.others(others.length)}</li>
          {others.map((r) => <li key={r.id}><button type="button" className="menu-item" onClick={() => pick(r.id)}><Icon name="hand" /><span className="mono clip">{lineOf(r)}</span></button></li>)}
        </ul>
      )}
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
  const page = useRef<HTMLDivElement>(null);
  const toField = () => void (mouse() && page.current?.querySelector<HTMLElement>(".composer textarea")?.focus());
  useEffect(() => {
    if (!open) return;
    toField();
    if (!page.current?.contains(document.activeElement)) page.current?.querySelector("h1")?.focus();
  }, [open]);
  if (!open || open.sessionId !== sessionId) return null;
  return <div className="session-page" ref={page}><Session open={open} session={client.store.sessions.get(sessionId)} toField={toField} /></div>;
}

function Session({ open, session, toField }: { open: Open; session: Session | undefined; toField: () => void }) {
  const client = useClient();
  const panel = usePanel();
  const [stop, escaped] = useStop(open.sessionId);
  return (
    <>
      <Header open={open} session={session} panel={panel} />
      <div className="session" data-panel={panel.shown || undefined}>
        <div className="talk">
          <Body open={open} session={session} />
          <div className="dock">
            <Requests sessionId={open.sessionId} leave={toField} />
            {session && <AgentTrouble only={session.runtime} failed={session.lastError?.turnId} />}
            <Background sessionId={open.sessionId} tasks={session?.activity?.background ?? []} onFailure={(why) => client.composing(open).fail(why)} />
            <Queue open={open} />
            <Unsent open={open} />
            <Activity open={open} session={session} stop={stop} escaped={escaped} />
            {session?.archivedAt ? <Archived session={session} /> : <Composer key={open.sessionId} open={open} session={session} stop={stop} />}
          </div>
        </div>
        {panel.shown && <Panel open={open} session={session} panel={panel} />}
      </div>
    </>
  );
}

/** Archived stands in place of the composer: who archived the session, and the way back. */
function Archived({ session }: { session: Session }) {
  const client = useClient();
  const { archivedAt, archivedBy } = session;
  const name = archivedBy ? client.nameOf(archivedBy.actor, archivedBy.name) : null;
  const back = () => void client.unarchive(session.sessionId).then(() => client.store.putSession({ ...session, archivedAt: undefined, archivedBy: undefined }), (err: Error) => client.say(err.message));
  return (
    <div className="composer view-only line-row">
      <Icon name="archive" />
      <span className="grow dim">{text.talk.archivedBy(name === text.request.you ? text.talk.you : name, dayOf(archivedAt! * 1000))}</span>
      {client.may("work") && <button type="button" onClick={back}><Icon name="archive-restore" />{text.side.unarchive}</button>}
    </div>
  );
}

function Body({ open, session }: { open: Open; session: Session | undefined }) {
  useSignal(open.signal);
  if (open.failure) return <p className="failure pad grow" role="alert">{text.session.failed}{open.failure}</p>;
  if (open.loading && open.transcript.ids.length === 0) return <p className="loading" role="status"><span className="unseen">{text.session.loading}</span><i /><i /><i /></p>;
  return <TranscriptView key={open.sessionId} open={open} running={!!session?.activeTurnId} />;
}
