import { useEffect, useState } from "react";
import { Link as To, useLocation } from "wouter";
import { changesOf, title } from "../core/entries";
import { settledFor } from "../core/store";
import type { Request } from "../core/types";
import { text } from "../text/en";
import { ApproveMany } from "./ApproveMany";
import { choices, decide, type Choice } from "../ui/decide";
import { DiffView } from "../ui/DiffView";
import { typing, useClient, useList, useNow, useSignal } from "../ui/hooks";
import { usePreferences } from "../ui/preferences";
import { RequestCard, SettledLine } from "../ui/RequestCard";

const lastLines = 4;

/** Would shows what a request is about: the files it changes, and what was said before it. */
function Would({ request }: { request: Request }) {
  const client = useClient();
  const [open, setOpen] = useState(() => client.open(request.threadId));
  useEffect(() => setOpen(client.open(request.threadId)), [client, request.threadId]);
  useSignal(open.signal);
  useList(open.transcript);
  const about = open.transcript.rows.get(request.itemId)?.entry;
  const changes = about ? changesOf(about.item) : [];
  const before = open.transcript.ids.map((id) => open.transcript.rows.get(id)!.entry).filter((e) => e.messageId !== request.itemId && !e.type.endsWith(".request")).slice(-lastLines);
  const session = client.store.sessions.get(request.threadId);
  return (
    <aside className="panel" aria-label={text.inbox.would}>
      <h2>{text.inbox.would}</h2>
      {session && <p className="dim">{session.cwd} · {session.sessionControls?.filesystemSandbox} · network {session.sessionControls?.networkAccess}</p>}
      {changes.length > 0 && <DiffView changes={changes} />}
      <h2>{text.inbox.before}</h2>
      <div className="before">{before.map((e) => <p key={e.messageId} className={e.role === "system" ? "mono" : ""}>{(e.role === "system" ? title(e) : (e.texts.text ?? "")).slice(-400)}</p>)}</div>
      <p><To href={`/s/${request.threadId}`}>{text.inbox.open}</To> <kbd>Enter</kbd></p>
    </aside>
  );
}

export function Inbox() {
  const client = useClient();
  const [preferences] = usePreferences();
  useSignal(client.store.inbox);
  useSignal(client.store.list);
  const [, go] = useLocation();
  const now = useNow(1000);
  const [at, setAt] = useState<string | null>(null);
  const [asking, setAsking] = useState<string | null>(null);
  const { requests, settled, sessions } = client.store;
  const items = [
    ...[...requests.values()].map((request) => ({ id: request.id, request, at: request.createdAt, settled: null })),
    ...[...settled].filter(([, s]) => s.request && now - s.at < settledFor).map(([id, s]) => ({ id, request: s.request!, at: s.request!.createdAt, settled: s })),
  ].sort((a, b) => a.at - b.at || a.id.localeCompare(b.id));
  const waiting = items.filter((i) => !i.settled);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => setChosen((was) => { const next = new Set(was); if (!next.delete(id)) next.add(id); return next; });
  const many = waiting.map((i) => i.request).filter((r) => chosen.has(r.id) && r.kind === "approval");
  const selected = waiting.find((i) => i.id === at) ?? waiting[0];
  useEffect(() => {
    if (selected && document.activeElement === document.body) document.querySelector<HTMLElement>(`[data-request="${selected.id}"]`)?.scrollIntoView({ block: "nearest" });
  }, [selected?.id]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (typing(e) || !selected || !preferences.keys) return;
      const place = waiting.findIndex((i) => i.id === selected.id);
      const key = e.key.toLowerCase();
      const choice = ({ y: "approve", s: "session", a: "always", n: "decline" } as Record<string, Choice>)[key];
      if (key === "j") setAt(waiting[Math.min(place + 1, waiting.length - 1)]!.id);
      else if (key === "k") setAt(waiting[Math.max(place - 1, 0)]!.id);
      else if (key === "x") toggle(selected.id);
      else if (e.key === "Enter" && e.target === document.body) go(`/s/${selected.request.threadId}`);
      else if (key === "r" && client.may("work")) setAsking(selected.id);
      else if (choice && client.may("work") && choices(selected.request).includes(choice)) {
        setAt(waiting[place + 1]?.id ?? waiting[place - 1]?.id ?? null); // the next one has the keys, wherever this card stays
        decide(client, selected.request, choice).catch((err: Error) => client.say(err.message));
      } else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <div className="inbox">
      <div className="talk">
        <header className="head"><h1>{text.inbox.title}</h1><span className="pill waiting">{waiting.length} {text.inbox.waiting}</span><span className="grow" /><ApproveMany requests={many} done={() => setChosen(new Set())} /><span className="dim keys">{text.inbox.keys}</span></header>
        <div className="scroll pad">
          {items.length === 0 && <p className="dim">{text.inbox.none}</p>}
          {items.map((item) => item.settled ? (
            <SettledLine key={item.id} settled={item.settled} request={item.request} />
          ) : (
            <RequestCard key={item.id} request={item.request} name={sessions.get(item.request.threadId)?.title ?? item.request.threadId} selected={item.id === selected?.id} chosen={chosen.has(item.id)} onChoose={item.request.kind === "approval" && client.may("work") ? () => toggle(item.id) : undefined}
              onSelect={() => setAt(item.id)} asking={asking === item.id} onAsk={(on) => setAsking(on ? item.id : null)} />
          ))}
        </div>
      </div>
      {selected && <Would key={selected.request.threadId} request={selected.request} />}
    </div>
  );
}
