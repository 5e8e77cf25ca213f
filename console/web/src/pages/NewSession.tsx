import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import type { Answer, Runtime } from "../api/answers";
import type { Session } from "../core/types";
import { text } from "../text";
import { Dialog } from "../ui/Dialog";
import { useClient } from "../ui/hooks";
import { levels as pickers, type Level } from "../ui/Pickers";

export function NewSession({ close }: { close: () => void }) {
  const client = useClient();
  const [, go] = useLocation();
  const [runtimes, setRuntimes] = useState<Runtime[]>([]);
  const [runtime, setRuntime] = useState("");
  const [cwd, setCwd] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    client.api.get<Answer<"/api/runtimes">>("/api/runtimes").then(({ data }) => setRuntimes(data), (err: Error) => setFailure(err.message));
  }, [client]);
  const [levels, setLevels] = useState<Partial<Record<Level, string>>>({});
  const chosen = runtimes.find((r) => r.name === runtime) ?? runtimes[0];
  // What an agent can be held to in one way only is no question.
  const level = (name: Level, offered: string[]) => levels[name] ?? (offered.length === 1 ? offered[0]! : "");
  const create = async () => {
    setBusy(true);
    try {
      const wanted = pickers.map(([name, capability]) => [name, level(name, chosen?.capabilities[capability] ?? [])]).filter(([, value]) => value !== "");
      const body = { ...(cwd ? { cwd } : {}), ...(runtime ? { runtime } : {}), ...Object.fromEntries(wanted) };
      const { session } = await client.api.post<{ session: Session }>("/api/sessions", body);
      client.store.putSession(session);
      close();
      go(`/s/${session.sessionId}`);
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
      setBusy(false);
    }
  };
  return (
    <Dialog title={text.fresh.title} close={close}>
      <form className="form" onSubmit={(e) => { e.preventDefault(); void create(); }}>
        <label>{text.fresh.cwd}<input value={cwd} placeholder={text.fresh.cwdNote} onChange={(e) => setCwd(e.target.value)} /></label>
        <label>
          {text.fresh.runtime}
          <select value={runtime} onChange={(e) => { setRuntime(e.target.value); setLevels({}); setFailure(null); }}>
            {runtimes.map((r, i) => <option key={r.name} value={i === 0 ? "" : r.name}>{r.name}{r.state === "ready" ? "" : ` (${r.state})`}</option>)}
          </select>
        </label>
        {pickers.map(([name, capability, label]) => {
          const offered = chosen?.capabilities[capability] ?? [];
          if (offered.length === 0) return null;
          return (
            <label key={name}>
              {label}
              <select value={level(name, offered)} onChange={(e) => setLevels({ ...levels, [name]: e.target.value })}>
                {offered.length > 1 && <option value="">{text.fresh.standard}</option>}
                {offered.map((value) => <option key={value} value={value} title={value}>{text.access[value] ?? value}</option>)}
              </select>
            </label>
          );
        })}
        {failure && <p className="failure" role="alert">{failure}</p>}
        <div className="actions">
          <button type="submit" className="primary" disabled={busy}>{text.fresh.create}</button>
          <button type="button" onClick={close}>{text.session.cancel}</button>
        </div>
      </form>
    </Dialog>
  );
}
