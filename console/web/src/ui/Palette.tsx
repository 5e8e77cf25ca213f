import { useEffect, useMemo, useState, type ReactNode } from "react";
import { useLocation } from "wouter";
import type { Answer } from "../api/answers";
import { goes } from "../core/keys";
import { best, pieces } from "../core/search";
import { ApiError } from "../core/api";
import type { Session } from "../core/types";
import { text } from "../text";
import { locale } from "../text/language";
import { Dialog } from "./Dialog";
import { useClient, useSignal } from "./hooks";
import { Icon, type IconName } from "./Icon";
import { pages } from "./pages";
import { usePreferences } from "./preferences";

type Hits = Answer<"/api/search">;
type Hit = Hits["data"][number];
type Group = "sessions" | "transcripts" | "actions";
type Command = { id: string; group: Group; icon: IconName; name: string; run: () => void; shown?: ReactNode; below?: string; end?: string };
const most = 12;
/** How many of each group are shown. */
const shown: Record<Group, number> = { sessions: 5, transcripts: 6, actions: 8 };
/** The pause in typing before the server is queried, and the minimum number of letters. */
const [pause, least] = [150, 2];
const nothing: Hits = { data: [], nextCursor: null, behind: false };

/** useHits is what transcripts say of what is typed; what is known of an older text is not shown for a newer one. */
function useHits(typed: string): Hits {
  const client = useClient();
  const [found, setFound] = useState({ q: "", hits: nothing });
  const q = typed.trim();
  useEffect(() => {
    if (q.length < least) return;
    let current = true;
    const timer = setTimeout(() => {
      client.api.get<Hits>(`/api/search?limit=${most}&q=${encodeURIComponent(q)}`)
        .catch((err: unknown) => {
          if (!(err instanceof ApiError) || err.status !== 400) client.say(err instanceof Error ? err.message : String(err));
          return nothing; // signs only are no words
        })
        .then((hits) => current && setFound({ q, hits }));
    }, pause);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [client, q]);
  return found.q === q ? found.hits : nothing;
}

/** Marked is a text with what was found in it. */
const Marked = ({ hit }: { hit: Hit }) => <>{pieces(hit.snippet, hit.marks).map(({ text, marked }, at) => (marked ? <mark key={at}>{text}</mark> : text))}</>;

/** useArchived are the ids of the archived sessions, so that hits in them can say so. */
function useArchived(): Set<string> {
  const client = useClient();
  const [ids, setIds] = useState(new Set<string>());
  useEffect(() => {
    client.archivedSessions("").then((sessions) => setIds(new Set(sessions.map((s) => s.sessionId))), () => {}); // then none is marked
  }, [client]);
  return ids;
}

/** useActions are what can be done from anywhere: pages, the theme, and what concerns the session on the screen. */
function useActions(keys: () => void): Command[] {
  const client = useClient();
  const [at, go] = useLocation();
  const [, change] = usePreferences();
  return useMemo(() => {
    const own = at.startsWith("/s/") ? client.store.sessions.get(decodeURIComponent(at.slice(3))) : undefined;
    const action = (id: string, icon: IconName, name: string, run: () => void, end = ""): Command => ({ id, group: "actions", icon, name, run, end });
    const all: Command[] = [];
    if (own?.activeTurnId && client.may("work")) all.push(action("stop", "circle-stop", text.palette.stop, () => void client.stop(own.sessionId), "Esc Esc"));
    const key = (path: string) => Object.entries(goes).find(([, to]) => to === path)?.[0]?.toUpperCase();
    for (const page of pages) {
      if (page.name === "new" || (page.needs && !client.may(page.needs))) continue;
      all.push(action(page.name, page.icon, page.label, () => go(page.path), key(page.path) ? `G ${key(page.path)}` : ""));
    }
    for (const theme of ["system", "light", "dark"] as const) all.push(action(`theme-${theme}`, "settings", `${text.settings.theme}: ${text.settings[theme]}`, () => change({ theme })));
    all.push(action("keys", "keyboard", text.keys.title, keys, "?"));
    return all;
  }, [client, client.store.list.rev, at, go, change, keys]); // eslint-disable-line react-hooks/exhaustive-deps
}

/** useFound is what fits what is typed: sessions by title, places in transcripts, and actions. */
function useFound(typed: string, keys: () => void): { found: Command[]; behind: boolean } {
  const client = useClient();
  const [, go] = useLocation();
  const archived = useArchived();
  const hits = useHits(typed);
  const actions = useActions(keys);
  const path = (id: string) => `/s/${encodeURIComponent(id)}`;
  const about = (s: Session | undefined, id: string) =>
    archived.has(id) ? text.find.archived : [client.store.projects.get(s?.projectId ?? ""), s?.branch, s && s.state !== "idle" ? (text.states[s.state] ?? s.state).toLowerCase() : ""].filter(Boolean).join(" · ");
  const command = (id: string, name: string, shown?: ReactNode): Command => ({
    id, group: "sessions", icon: archived.has(id) ? "archive" : "message-square", name, shown, below: about(client.store.sessions.get(id), id), end: text.find.open, run: () => go(path(id)),
  });
  const known = [...client.store.sessions.values()].sort((a, b) => b.updatedAt - a.updatedAt);
  const sessions = best(typed, known, (s) => s.title, shown.sessions).map((s) => command(s.sessionId, s.title || text.list.untitled));
  for (const hit of hits.data) if (hit.entryId === null && !sessions.some((s) => s.id === hit.sessionId)) sessions.push(command(hit.sessionId, hit.title, <Marked hit={hit} />));
  const transcripts = hits.data.filter((hit) => hit.entryId !== null).slice(0, shown.transcripts).map((hit): Command => ({
    id: `hit-${hit.sessionId}-${hit.entryId}`, group: "transcripts", icon: "text-search", name: hit.snippet, shown: <Marked hit={hit} />, end: text.find.jump,
    below: [hit.title || text.list.untitled, archived.has(hit.sessionId) && text.find.archived, new Date(hit.time).toLocaleDateString(locale, { month: "short", day: "numeric" })].filter(Boolean).join(" · "),
    run: () => go(`${path(hit.sessionId)}?at=${encodeURIComponent(hit.entryId!)}`),
  }));
  const fresh: Command = { id: "new", group: "actions", icon: "square-pen", name: typed.trim() ? text.find.fresh(typed.trim()) : text.list.fresh, end: "G N", run: () => go(typed.trim() ? `/?text=${encodeURIComponent(typed.trim())}` : "/") };
  return { found: [...sessions.slice(0, shown.sessions), ...transcripts, ...(client.may("work") ? [fresh] : []), ...best(typed, actions, (c) => c.name, shown.actions)], behind: hits.behind };
}

/** Palette is the search over everything: sessions, transcripts, and what can be done. */
export function Palette({ close, keys }: { close: () => void; keys: () => void }) {
  const client = useClient();
  useSignal(client.store.list);
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(0);
  const { found, behind } = useFound(typed, keys);
  const chosen = found[Math.min(place, found.length - 1)];
  useEffect(() => {
    if (chosen) document.getElementById(`palette-${chosen.id}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen?.id]); // eslint-disable-line react-hooks/exhaustive-deps
  const run = (command: Command) => {
    close();
    command.run();
  };
  const titles: Record<Group, string> = text.find;
  return (
    <Dialog title={text.palette.title} close={close} wide>
      <div className="palette-field">
        <Icon name="search" />
        <input type="search" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={chosen && `palette-${chosen.id}`} aria-label={text.palette.title}
          autoFocus value={typed} placeholder={text.palette.note}
          onChange={(e) => { setTyped(e.target.value); setPlace(0); }}
          onKeyDown={(e) => {
            if (e.key === "ArrowDown") setPlace(Math.min(place + 1, found.length - 1));
            else if (e.key === "ArrowUp") setPlace(Math.max(place - 1, 0));
            else if (e.key === "Enter" && chosen && !e.nativeEvent.isComposing) run(chosen);
            else return;
            e.preventDefault();
          }} />
        <button type="button" className="ghost" onClick={close}>Esc</button>
      </div>
      <div id="palette-list" role="listbox" aria-label={text.palette.title} className="palette">
        {(Object.keys(shown) as Group[]).map((group) => {
          const own = found.filter((command) => command.group === group);
          return own.length === 0 ? null : (
            <div key={group} role="group" aria-label={titles[group]}>
              <p className="group-name" aria-hidden="true">{titles[group]}</p>
              {own.map((command) => (
                <div key={command.id} id={`palette-${command.id}`} role="option" aria-selected={command === chosen} className="menu-item" onClick={() => run(command)}>
                  <Icon name={command.icon} />
                  <span className="grow"><span className="clip">{command.shown ?? command.name}</span>{command.below && <small className="clip dim">{command.below}</small>}</span>
                  <small className="dim">{command.end}</small>
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {found.every(({ id }) => id === "new") && <p className="dim pad">{text.palette.none}</p>}
      <p className="dim small pick-note">{behind ? text.palette.behind : text.find.keys}</p>
    </Dialog>
  );
}
