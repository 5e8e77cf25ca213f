import { useState } from "react";
import type { Answer, Runtime } from "../api/answers";
import { text } from "../text";
import { useClient } from "../ui/hooks";

type Begun = Answer<"/api/runtimes/{runtime}/login", "post">;
const words = text.runtimes;

/** RuntimeLogin logs a runtime in, at a page or with a key, as it takes them. */
export function RuntimeLogin({ runtime }: { runtime: Runtime }) {
  const client = useClient();
  const [begun, setBegun] = useState<Begun | null>(null);
  const [code, setCode] = useState("");
  const [key, setKey] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const { logins } = runtime.auth;
  const ask = async (body: Record<string, string>) => {
    setBusy(true);
    setFailure(null);
    try {
      setBegun(await client.api.post<Begun>(`/api/runtimes/${encodeURIComponent(runtime.name)}/login`, body));
      setKey("");
      setCode("");
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
    } finally {
      setBusy(false);
    }
  };
  const url = begun?.url && /^https?:/.test(begun.url) ? begun.url : null;
  return (
    <div className="form">
      {failure && <p className="failure" role="alert">{failure}</p>}
      {begun?.completed && <p role="status">{words.complete}</p>}
      {url && (
        <p role="status">{words.page} <a href={url} target="_blank" rel="noreferrer noopener">{url}</a> {begun?.code && <strong className="mono">{begun.code}</strong>} {!begun?.expectsCode && <span className="dim">{words.started}</span>}</p>
      )}
      {begun?.expectsCode && (
        <form className="actions" onSubmit={(e) => { e.preventDefault(); void ask({ code, ...(begun.id ? { id: begun.id } : {}) }); }}>
          <input value={code} aria-label={words.code} placeholder={words.code} onChange={(e) => setCode(e.target.value)} />
          <button type="submit" className="primary" disabled={busy || code === ""}>{words.done}</button>
        </form>
      )}
      {logins.includes("key") && (
        <form className="actions" onSubmit={(e) => { e.preventDefault(); void ask({ apiKey: key }); }}>
          <input type="password" autoComplete="off" value={key} aria-label={`${words.key}: ${runtime.name}`} placeholder={words.key} onChange={(e) => setKey(e.target.value)} />
          <button type="submit" disabled={busy || key === ""}>{words.send}</button>
        </form>
      )}
      {logins.includes("page") && <p><button type="button" disabled={busy} onClick={() => void ask({})}>{words.login}</button></p>}
    </div>
  );
}
