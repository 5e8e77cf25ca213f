import { useState } from "react";
import { Link as To, useLocation, useSearch } from "wouter";
import type { Answer, Schemas } from "../api/answers";
import { momentOf, secondOf } from "../core/time";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { PageHead } from "../ui/PageHead";
import { useAnswer } from "../ui/useAnswer";

const words = text.events;
type Event = Schemas["Event"];

function Detail({ event }: { event: Event }) {
  return (
    <aside className="panel" aria-label={event.type}>
      <h2 className="mono">{event.type}</h2>
      <p className="dim">{momentOf(event.time)} · {words.pos} {event.pos}</p>
      {event.sessionId && <p><To href={`/s/${encodeURIComponent(event.sessionId)}`}>{words.session}</To></p>}
      <h2>{words.payload}</h2><pre tabIndex={0}>{JSON.stringify(event, null, 2)}</pre>
    </aside>
  );
}

/** Events are the journal, newest first, with filters in the page's address. It reloads automatically until the user pages back or pauses. */
export function Events() {
  const client = useClient();
  const search = useSearch();
  const [, go] = useLocation();
  const [paused, setPaused] = useState(false);
  const query = new URLSearchParams(search);
  const before = query.get("before") ?? "";
  const picked = query.get("pos") ?? "";
  const filter = (change: Record<string, string>) => {
    const next = new URLSearchParams(search);
    for (const [name, value] of Object.entries(change)) value ? next.set(name, value) : next.delete(name);
    go(`/events${next.size > 0 ? `?${next}` : ""}`, { replace: true });
  };
  const wanted = new URLSearchParams();
  for (const name of ["session", "type", "actor", "before"]) if (query.get(name)) wanted.set(name, query.get(name)!);
  const asked = useAnswer(() => client.api.get<Answer<"/api/events">>(`/api/events?${wanted}`), [wanted.toString()], { every: 3_000, paused: paused || before !== "" });
  const one = useAnswer(async () => (picked ? client.api.get<Answer<"/api/events/{pos}">>(`/api/events/${encodeURIComponent(picked)}`) : null), [picked]);
  const submit = (form: HTMLFormElement) => {
    const typed = new FormData(form);
    filter({ session: String(typed.get("session")).trim(), type: String(typed.get("type")).trim(), actor: String(typed.get("actor")).trim(), before: "" });
  };
  return (
    <div className="jobs">
      <div className="talk">
        <PageHead title={words.title} asked={asked}>
          <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>{paused ? words.go : words.pause}</button>
        </PageHead>
        <form className="tabs pad" key={search} onSubmit={(e) => { e.preventDefault(); submit(e.currentTarget); }}>
          {(["session", "type", "actor"] as const).map((name) => (
            <input key={name} name={name} aria-label={words[name]} placeholder={words[name]} title={name === "type" ? words.typeNote : undefined} defaultValue={query.get(name) ?? ""} />
          ))}
          <button type="submit">{words.filter}</button>
        </form>
        <div className="scroll pad">
          {asked.answer?.data.length === 0 && <p className="dim">{words.none}</p>}
          <table>
            <thead><tr><th>{words.pos}</th><th>{words.time}</th><th>{words.type}</th><th data-minor>{words.session}</th><th data-minor>{words.actor}</th></tr></thead>
            <tbody>{asked.answer?.data.map((event) => (
              <tr key={event.pos} data-event={event.pos} aria-selected={String(event.pos) === picked || undefined}>
                <th scope="row"><button type="button" className="quiet mono" onClick={() => filter({ pos: String(event.pos) })}>{event.pos}</button></th>
                <td className="dim">{secondOf(event.time)}</td>
                <td className="mono">{event.type}</td>
                <td data-minor>{event.sessionId ? (client.store.sessions.get(event.sessionId)?.title ?? event.sessionId) : "–"}</td>
                <td data-minor>{event.actor ? client.nameOf(event.actor) : event.source}</td>
              </tr>
            ))}</tbody>
          </table>
          {before !== "" && <button type="button" onClick={() => filter({ before: "" })}>{words.newest}</button>}
          {asked.answer?.next && <button type="button" onClick={() => filter({ before: String(asked.answer!.next) })}>{words.older}</button>}
        </div>
      </div>
      {picked && one.answer && <Detail event={one.answer} />}
    </div>
  );
}
