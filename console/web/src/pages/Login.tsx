import { useEffect, useRef, useState } from "react";
import type { Answer } from "../api/answers";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { useAnswer } from "../ui/useAnswer";

const words = text.login;

/** Login offers what the server takes: its providers, and a token. */
export function Login() {
  const client = useClient();
  const [token, setToken] = useState("");
  const [shown, setShown] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const again = client.me !== null;
  useEffect(() => field.current?.focus(), []);
  const methods = useAnswer(() => client.api.get<Answer<"/api/login/methods">>("/api/login/methods"), []);
  const providers = methods.answer?.providers ?? [];
  const submit = async () => {
    setBusy(true);
    setFailure(null);
    try {
      await client.login(token);
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
      setBusy(false);
      field.current?.focus();
    }
  };
  return (
    <main className="login">
      <form onSubmit={(e) => { e.preventDefault(); void submit(); }}>
        <div className="line-row"><span className="logo"><Icon name="terminal" /></span><div className="grow"><h1 className="title">{words.title}</h1><p className="dim small clip">{location.host}</p></div></div>
        {again ? <p role="status">{words.again}</p> : client.wanted && <p role="status" className="small">{client.wanted}</p>}
        {providers.map((p) => <button key={p.name} type="button" className="primary" onClick={() => location.assign(client.api.url(p.url))}><Icon name="key-round" />{words.at(p.name)}</button>)}
        {providers.length > 0 && <p className="or small">{words.or}</p>}
        <input type="text" name="username" autoComplete="username" value="harness" readOnly hidden />
        <div>
          <label htmlFor="token">{words.token}</label>
          <span className="secret">
            <input id="token" ref={field} type={shown ? "text" : "password"} name="token" autoComplete="current-password" aria-invalid={failure !== null} aria-describedby={failure === null ? "token-where" : "token-failure"} value={token} onChange={(e) => setToken(e.target.value)} />
            <button type="button" className="ghost icon" aria-label={shown ? words.hide : words.show} aria-pressed={shown} onClick={() => setShown(!shown)}><Icon name="eye" /></button>
          </span>
          {failure && <p id="token-failure" className="failure small" role="alert">{failure}</p>}
        </div>
        <button type="submit" className={providers.length > 0 ? "" : "primary"} disabled={busy || token === ""}>{words.button}</button>
        <p id="token-where" className="dim small">{words.where}</p>
      </form>
    </main>
  );
}
