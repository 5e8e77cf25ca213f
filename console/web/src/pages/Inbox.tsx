import { useEffect, useState } from "react";
import { Link as To } from "wouter";
import { agentName, title } from "../core/entries";
import { settledFor } from "../core/store";
import type { Request } from "../core/types";
import { text } from "../text";
import { ApproveMany } from "./ApproveMany";
import { Icon } from "../ui/Icon";
import { Who } from "../ui/Who";
import { named } from "../core/names";
import { typing, useClient, useList, useNow, useSignal } from "../ui/hooks";
import { usePreferences } from "../ui/preferences";
import { RequestCard, SettledLine } from "../ui/RequestCard";

const lastLines = 4;

/** Before shows what was said and done before a request. */
function Before({ request }: { request: Request }) {
  const client = useClient();
  const [open, setOpen] = useState(() => client.open(request.threadId));
  useEffect(() => setOpen(client.open(request.threadId)), [client, request.threadId]);
  useSignal(open.signal);
  useList(open.transcript);
  const before = open.transcript.ids.map((id) => open.transcript.rows.get(id)!.entry).filter((e) => e.messageId !== request.itemId && !e.type.endsWith(".request") && !e.type.endsWith(".resolved")).slice(-lastLines);
  const session = client.store.sessions.get(request.threadId);
  return (
    <aside className="panel" aria-label={text.inbox.before}>
      <div className="panel-body">
        <h2>{text.inbox.before}</h2>
        {session && <p className="dim small">{session.title}</p>}
        <div className="before">
          {before.map((e) => e.role === "system" ? <p key={e.messageId} className="line"><Icon name={e.type === "fileChange" ? "file-pen" : "terminal"} /><span className="mono clip">{title(e)}</span></p> : (
            <div key={e.messageId}>
              <Who name={e.role === "assistant" ? agentName(session?.runtime ?? "") : e.author ? named(e.author) : text.talk.unknown} program={e.role === "assistant"} at={e.startedAt ?? e.completedAt} />
              <p>{(e.texts.text ?? "").slice(-400)}</p>
            </div>
          ))}
        </div>
        <p><To className="button" href={`/s/${encodeURIComponent(request.threadId)}`}><Icon name="message-square" />{text.inbox.open}</To></p>
      </div>
    </aside>
  );
}

export function Inbox() {
  const client = useClient();
  const [preferences] = usePreferences();
  useSignal(client.store.inbox);
  useSignal(client.store.list);
  const now = useNow(1000);
  const [at, setAt] = useState<string | null>(null);
  const { requests, settled, sessions } = client.store;
  const items = [
    ...[...requests.values()].map((request) => ({ id: request.id, request, at: request.createdAt, settled: null })),
    ...[...settled].filter(([, s]) => s.request && now - s.at < settledFor).map(([id, s]) => ({ id, request: s.request!, at: s.request!.createdAt, settled: s })),
  ].sort((a, b) => a.at - b.at || a.id.localeCompare(b.id));
  const waiting = items.filter((i) => !i.settled);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => setChosen((was) => { const next = new Set(was); if (!next.delete(id)) next.add(id); return next; });
  const many = waiting.map((i) => i.request).filter((r) => chosen.has(r.id) && r.kind === "approval");
  const selected = waiting.find((i) => i.id === at);
  const before = selected ?? waiting[0];
  const focus = (id: string | undefined) => document.querySelector<HTMLElement>(`[data-request="${id}"]`)?.focus();
  const move = (id: string) => (key: string) => {
    const place = waiting.findIndex((i) => i.id === id);
    if (key === "x" && waiting[place]?.request.kind === "approval" && client.may("work")) toggle(id);
    focus(waiting[key === "j" ? Math.min(place + 1, waiting.length - 1) : key === "k" ? Math.max(place - 1, 0) : place]?.id);
  };
  /** leave: when a request is settled, the next one has the focus, wherever its card stands. */
  const leave = (card: HTMLElement, settled: boolean) => {
    if (!settled) return (document.activeElement as HTMLElement).blur();
    const cards = [...document.querySelectorAll<HTMLElement>("[data-request]")];
    const place = cards.indexOf(card);
    (cards[place + 1] ?? cards[place - 1])?.focus();
  };
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (typing(e) || e.repeat || !preferences.keys || !["j", "k"].includes(e.key.toLowerCase())) return;
      focus(before?.id); // from there on the card has the keys
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <div className="inbox">
      <div className="talk">
        <header className="head"><div className="grow"><h1>{text.inbox.title}</h1><div className="meta"><span>{text.inbox.waiting(waiting.length)}</span></div></div><ApproveMany requests={many} done={() => setChosen(new Set())} /></header>
        <div className="scroll cards">
          {items.length === 0 && <p className="dim center empty">{text.inbox.none}</p>}
          {items.map((item) => item.settled ? (
            <SettledLine key={item.id} settled={item.settled} request={item.request} />
          ) : (
            <RequestCard key={item.id} request={item.request} name={sessions.get(item.request.threadId)?.title ?? item.request.threadId} selected={item.id === selected?.id} chosen={chosen.has(item.id)} onChoose={item.request.kind === "approval" && client.may("work") ? () => toggle(item.id) : undefined}
              onSelect={() => setAt(item.id)} onMove={move(item.id)} onLeave={leave} />
          ))}
        </div>
      </div>
      {before && <Before key={before.request.threadId} request={before.request} />}
    </div>
  );
}
