import { useMemo, useState } from "react";
import { useLocation } from "wouter";
import { best } from "../core/search";
import { text } from "../text/en";
import { Dialog } from "./Dialog";
import { useClient, useSignal } from "./hooks";
import { pages } from "./pages";
import { usePreferences } from "./preferences";

type Command = { id: string; name: string; kind: string; run: () => void };
const most = 12;

/** Palette finds pages, sessions and things to do by some letters of their names. */
export function Palette({ close }: { close: () => void }) {
  const client = useClient();
  useSignal(client.store.list);
  const [at, go] = useLocation();
  const [, change] = usePreferences();
  const [typed, setTyped] = useState("");
  const [place, setPlace] = useState(0);
  const commands = useMemo(() => {
    const own = at.startsWith("/s/") ? client.store.sessions.get(decodeURIComponent(at.slice(3))) : undefined;
    const all: Command[] = pages.map(({ name, path, label }) => ({ id: name, name: label, kind: text.palette.page, run: () => go(path) }));
    if (own?.activeTurnId && client.may("work")) {
      all.unshift({ id: "stop", name: text.palette.stop, kind: text.palette.action, run: () => {
        client.api.post(`/api/sessions/${encodeURIComponent(own.sessionId)}/interrupt`).catch((err: Error) => client.say(err.message));
      } });
    }
    for (const theme of ["system", "light", "dark"] as const) {
      all.push({ id: `theme-${theme}`, name: `${text.settings.theme}: ${text.settings[theme]}`, kind: text.palette.action, run: () => change({ theme }) });
    }
    const sessions = [...client.store.sessions.values()].sort((a, b) => b.updatedAt - a.updatedAt);
    return [...all, ...sessions.map((s) => ({ id: s.sessionId, name: s.title || s.sessionId, kind: text.palette.session, run: () => go(`/s/${encodeURIComponent(s.sessionId)}`) }))];
  }, [client, client.store.list.rev, at, go, change]);
  const found = best(typed, commands, (c) => c.name, most);
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
            <span className="grow">{command.name}</span> <span className="dim">{command.kind}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="dim">{text.palette.none}</p>}
    </Dialog>
  );
}
