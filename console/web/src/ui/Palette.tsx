import { useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import type { Answer } from "../api/answers";
import { best, pieces } from "../core/search";
import { ApiError } from "../core/api";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { useClient, useSignal } from "./hooks";
import { pages } from "./pages";
import { usePreferences } from "./preferences";

type Hits = Answer<"/api/search">;
type Hit = Hits["data"][number];
type Command = { id: string; name: string; kind: string; run: () => void; hit?: Hit };
const most = 12;
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

/** Palette finds pages, sessions and things to do by some letters of their names. */
export function Palette({ close }: { close: () => void }) {
  const client = useClient();
  useSignal(client.store.list);
  const [at, go] = useLocation();
  const [, change] = usePreferences();
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(0);
  const commands = useMemo((): Command[] => {
    const own = at.startsWith("/s/") ? client.store.sessions.get(decodeURIComponent(at.slice(3))) : undefined;
    const all: Command[] = pages.map(({ name, path, label }) => ({ id: name, name: label, kind: text.palette.page, run: () => go(path) }));
    if (own?.activeTurnId && client.may("work")) {
      all.unshift({ id: "stop", name: text.palette.stop, kind: text.palette.action, run: () => void client.stop(own.sessionId) });
    }
    for (const theme of ["system", "light", "dark"] as const) {
      all.push({ id: `theme-${theme}`, name: `${text.settings.theme}: ${text.settings[theme]}`, kind: text.palette.action, run: () => change({ theme }) });
    }
    const sessions = [...client.store.sessions.values()].sort((a, b) => b.updatedAt - a.updatedAt);
    return [...all, ...sessions.map((s) => ({ id: s.sessionId, name: s.title || s.sessionId, kind: text.palette.session, run: () => go(`/s/${encodeURIComponent(s.sessionId)}`) }))];
  }, [client, client.store.list.rev, at, go, change]);
  const hits = useHits(typed);
  const said = hits.data.filter((hit) => hit.entryId !== null).map((hit): Command => ({
    id: `hit-${hit.sessionId}-${hit.entryId}`, name: hit.title || hit.sessionId, kind: text.palette.hit, hit,
    run: () => go(`/s/${encodeURIComponent(hit.sessionId)}?at=${encodeURIComponent(hit.entryId!)}`),
  }));
  const found = [...best(typed, commands, (c) => c.name, most), ...said];
  const chosen = found[Math.min(place, found.length - 1)];
  const run = (command: Command) => {
    close();
    command.run();
  };
  return (
    <Dialog title={text.palette.title} close={close} wide>
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
      <ul id="palette-list" role="listbox" aria-label={text.palette.title} className="palette">
        {found.map((command) => (
          <li key={command.id} id={`palette-${command.id}`} role="option" aria-selected={command === chosen} onClick={() => run(command)}>
            <span className="grow">{command.name}{command.hit && <Said hit={command.hit} />}</span> <span className="dim">{command.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="dim">{text.palette.none}</p>}
      {hits.behind && <p className="dim">{text.palette.behind}</p>}
    </Dialog>
  );
}

/** Said is the part of an entry that was found, as text. */
function Said({ hit }: { hit: Hit }) {
  return <span className="snippet dim">{pieces(hit.snippet, hit.marks).map(({ text, marked }, at) => (marked ? <mark key={at}>{text}</mark> : text))}</span>;
}
