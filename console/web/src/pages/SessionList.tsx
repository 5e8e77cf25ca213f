import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import { Link as To, useLocation } from "wouter";
import { filters, fitsFilter, grouped, lastAt, oldestRequests, type Filter, type Group } from "../core/groups";
import { withoutShell } from "../core/entries";
import { titleOf } from "../core/names";
import { since } from "../core/time";
import type { Request, Session } from "../core/types";
import { text } from "../text";
import { locale } from "../text/language";
import { useClient, useNow, useSignal } from "../ui/hooks";
import { Icon, type IconName } from "../ui/Icon";
import { Menu, type Item } from "../ui/Menu";
import { lineOf } from "../ui/Request";
import { useMedia, useShell } from "../ui/shellContext";

const words = text.side;

/** changed is the first file of a change, with the counts of lines of all. */
function changed(changes: NonNullable<Request["changes"]>): string {
  const sum = (lines: "added" | "removed") => changes.reduce((all, one) => all + one[lines], 0);
  const others = changes.length > 1 ? `, … (${changes.length})` : "";
  return `${changes[0]!.path.split("/").at(-1)}${others} +${sum("added")} −${sum("removed")}`;
}

/** doing is one line that says what goes on in a session; empty when there is nothing to say. */
function doing(session: Session, request: Request | undefined): string {
  if (request?.kind === "question") return text.list.asks(lineOf(request));
  if (request?.changes?.length) return text.list.edit(changed(request.changes));
  if (request) return /fileChange|applyPatch/.test(request.method) ? lineOf(request) : text.list.run(lineOf(request));
  if (session.state === "running" && session.line?.kind === "running") return words.running(withoutShell(session.line.text));
  if (session.state === "running" && session.line?.kind === "editing") return words.editing(session.line.text);
  if (!session.lastError) return "";
  const why = session.lastError.message.split("\n")[0]!;
  return session.state === "error" ? text.trouble.row(why) : why;
}

/** mark is the one sign of a row: its state, or that it was not read. */
function Mark({ session }: { session: Session }) {
  if (session.state !== "idle") return <span className={`state ${session.state}`} role="img" aria-label={text.states[session.state] ?? session.state} />;
  return session.unread ? <span className="state unread" role="img" aria-label={text.list.unread} /> : null;
}

type RowProps = { session: Session; request: Request | undefined; current: boolean; first: boolean; now: number; archived: boolean; active: boolean; activate: (id: string | null) => void };

/** RowMenu is what can be done with a session without opening it. */
function RowMenu({ session, archived }: { session: Session; archived: boolean }) {
  const client = useClient();
  const run = (work: Promise<unknown>) => void work.catch((err: Error) => client.say(err.message));
  const copy = () => navigator.clipboard.writeText(new URL(`s/${encodeURIComponent(session.sessionId)}`, client.base).toString());
  const items: Item[] = [
    ...(archived ? [] : [{ label: words.unread, icon: "message-square" as const, run: () => run(client.markUnread(session.sessionId)) }]),
    { label: words.copyLink, icon: "link", run: () => run(copy()) },
    archived ? { label: words.unarchive, icon: "archive-restore", run: () => run(client.unarchive(session.sessionId)) } : { label: words.archive, icon: "archive", run: () => run(client.archive(session)) },
  ];
  return <Menu label={words.menu(titleOf(session))} className="ghost icon row-menu" items={items}><Icon name="ellipsis" /></Menu>;
}

function Row({ session, request, current, first, now, archived, active, activate }: RowProps) {
  const client = useClient();
  const what = doing(session, request);
  const id = session.sessionId;
  const place = [client.store.projects.get(session.projectId ?? "") ?? session.cwd.split("/").filter(Boolean).at(-1), session.branch].filter(Boolean).join(" · ");
  return (
    <div className="row-line" onMouseEnter={() => activate(id)} onMouseLeave={(e) => !e.currentTarget.querySelector("[aria-expanded=true]") && activate(null)} onFocus={() => activate(id)}>
      <To href={`/s/${encodeURIComponent(id)}`} className="row" tabIndex={first ? 0 : -1} aria-current={current ? "page" : undefined}
        data-session={id} data-state={session.state} data-unread={session.unread || undefined} title={session.cwd}>
        <span className="row-mark"><Mark session={session} /></span>
        <span className="row-title clip">{titleOf(session)}</span>
        <span className="row-age">{since(now - (request ? request.createdAt : lastAt(session)))}</span>
        {what && <span className="row-what clip">{what}</span>}
        <span className="row-place clip">{place}</span>
      </To>
      {active && client.may("work") && <RowMenu session={session} archived={archived} />}
    </div>
  );
}

/** useArchived are the archived sessions, read when they are asked for; `more` is what stands behind them. */
function useArchived(wanted: boolean, project: string) {
  const client = useClient();
  const [archived, setArchived] = useState<Session[] | null>(null);
  const rev = client.archivedRev;
  useEffect(() => {
    if (!wanted) return setArchived(null);
    let current = true;
    client.archivedSessions(project).then((sessions) => current && setArchived(sessions), (err: Error) => client.say(err.message));
    return () => void (current = false);
  }, [client, wanted, project, rev]);
  return archived;
}

type Choose = { label: string; icon?: IconName; value: string; choices: [string, string][]; change: (value: string) => void };

/** Choose is a menu that looks like a chip. */
function Choose({ label, value, choices, change }: Choose) {
  return (
    <span className="choose">
      <select className="chip" aria-label={label} value={value} onChange={(e) => change(e.target.value)}>{choices.map(([name, shown]) => <option key={name} value={name}>{shown}</option>)}</select>
      <Icon name="chevron-down" />
    </span>
  );
}

export function Filters() {
  const client = useClient();
  const { filter, project, setFilter } = useShell();
  const { projects } = client.store;
  return (
    <div className="filters">
      <Choose label={words.filter} value={filter} change={(value) => setFilter(value as Filter, project)} choices={filters.map((name) => [name, words.filters[name]])} />
      {projects.size > 0 && <Choose label={words.project} value={project} change={(value) => setFilter(filter, value)} choices={[["", words.everyProject], ...projects, ["none", text.list.elsewhere]]} />}
    </div>
  );
}

type Line = { group: Group } | { session: Session };

/** useRoving moves the focus between the rows, which are one stop of the Tab key. */
function useRoving(items: Line[], current: string | null) {
  const list = useRef<VirtualizerHandle>(null);
  const box = useRef<HTMLElement>(null);
  const [at, setAt] = useState<string | null>(null);
  const ids = items.map((item) => ("session" in item ? item.session.sessionId : null));
  const first = [at, current].find((id) => id !== null && ids.includes(id)) ?? ids.find((id) => id !== null) ?? null;
  const onKeyDown = (e: KeyboardEvent) => {
    const own = (e.target as Element).closest<HTMLElement>("[data-session]")?.dataset.session;
    const rows = ids.flatMap((id, index) => (id === null ? [] : [index]));
    const place = rows.indexOf(ids.indexOf(own ?? ""));
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: rows.length - 1 }[e.key];
    if (place < 0 || to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    const index = rows[Math.max(0, Math.min(to, rows.length - 1))]!;
    setAt(ids[index]!);
    list.current?.scrollToIndex(index, { align: "nearest" });
    requestAnimationFrame(() => requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-session="${CSS.escape(ids[index]!)}"]`)?.focus()));
  };
  return { list, box, first, firstAt: ids.indexOf(first), onKeyDown };
}

/** SessionList shows the sessions: those that need a person first, then those that run, then the others by day. */
export function SessionList() {
  const client = useClient();
  useSignal(client.store.list);
  useSignal(client.signal);
  const now = useNow(30_000);
  const [at] = useLocation();
  const { filter, project, setFilter } = useShell();
  const [busy, setBusy] = useState(false);
  const [active, activate] = useState<string | null>(null);
  const touch = useMedia("(hover: none)"); // then every row has its menu
  const current = at.startsWith("/s/") ? decodeURIComponent(at.slice(3).split("/")[0]!) : null;
  const archived = useArchived(filter === "archived", project);
  const { store } = client;
  const { rev } = store.list;
  const oldest = useMemo(() => oldestRequests(store.requests.values()), [store, rev, store.inbox.rev]);
  const items = useMemo((): Line[] => {
    const shown = filter === "archived" ? (archived ?? []).map((s) => ({ ...s, state: "idle" as const, unread: false })) : [...store.sessions.values()].filter((s) => fitsFilter(s, filter, project));
    const since = (s: Session) => oldest.get(s.sessionId)?.createdAt ?? lastAt(s);
    return grouped(shown, since, now).flatMap((group): Line[] => [{ group }, ...group.sessions.map((session) => ({ session }))]);
  }, [store, rev, archived, filter, project, oldest, now]);
  const { list, box, first, firstAt, onKeyDown } = useRoving(items, current);
  const more = async () => {
    setBusy(true);
    await client.moreSessions();
    setBusy(false);
  };
  const none = store.sessions.size === 0 && filter === "all";
  return (
    <>
      <Filters />
      <nav className="rows" aria-label={text.list.label} ref={box} onKeyDown={onKeyDown}>
        <Virtualizer ref={list} scrollRef={box} data={items} keepMounted={firstAt < 0 ? [] : [firstAt]} bufferSize={400}>
          {(item) => "group" in item
            ? <h2 key={item.group.name + item.group.at}>{nameOf(item.group)}{["waiting", "running"].includes(item.group.name) && <span className="num"> {item.group.sessions.length}</span>}</h2>
            : <Row key={item.session.sessionId} session={item.session} request={oldest.get(item.session.sessionId)} current={item.session.sessionId === current} first={item.session.sessionId === first} now={now}
                archived={filter === "archived"} active={touch || item.session.sessionId === active} activate={activate} />}
        </Virtualizer>
        {filter !== "archived" && store.moreSessions && <p className="center"><button type="button" disabled={busy} onClick={() => void more()}>{text.list.more}</button></p>}
        {items.length === 0 && (filter !== "archived" || archived) && (
          <p className="dim small rows-none">{none ? text.list.first : <>{text.list.none} <button type="button" className="quiet" onClick={() => setFilter("all", "")}>{text.list.clear}</button></>}</p>
        )}
      </nav>
    </>
  );
}

const nameOf = ({ name, at }: Group) => name === "month" ? new Date(at).toLocaleDateString(locale, { month: "long", year: "numeric" }) : words.groups[name];
