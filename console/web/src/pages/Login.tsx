import { useState } from "react";
import type { Answer } from "../api/answers";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { useAnswer } from "../ui/useAnswer";

export function Login() {
  const client = useClient();
  const [token, setToken] = useState("");
  const [failure, setFailure] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const again = client.me !== null;
  const methods = useAnswer(() => client.api.get<Answer<"/api/login/methods">>("/api/login/methods"), []);
  const submit = async () => {
    setBusy(true);
    setFailure(null);
    try {
      await client.login(token);
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
      setBusy(false);
    }
  };
  return (
    <main className="login">
      <form className="form" onSubmit={(e) => { e.preventDefault(); void submit(); }}>
        <h1>{text.app}</h1>
        {again ? <p role="status">{text.login.again}</p> : client.wanted && <p role="status">{client.wanted}</p>}
        {methods.answer?.providers.map((p) => <button key={p.name} type="button" className="primary" onClick={() => location.assign(client.api.url(p.url))}>{text.login.at(p.name)}</button>)}
        <input type="text" name="username" autoComplete="username" value="harness" readOnly hidden />
        <label>{text.login.token}<input type="password" name="token" autoComplete="current-password" autoFocus value={token} onChange={(e) => setToken(e.target.value)} /></label>
        {failure && <p className="failure" role="alert">{failure}</p>}
        <button type="submit" className="primary" disabled={busy || token === ""}>{text.login.button}</button>
        <p className="dim">{text.login.where}</p>
      </form>
    </main>
  );
}
