import { useState } from "react";
import type { Answer, Schemas } from "../api/answers";
import { initials } from "../core/names";
import { dayOf } from "../core/time";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { Section } from "../ui/Setting";
import { useAnswer } from "../ui/useAnswer";

const words = text.set;
const roles = ["viewer", "ci", "operator", "admin"] as const;
type Made = Answer<"/api/tokens", "post">;
type Token = Schemas["Token"];

/** Secret is a new token, which is never shown again. */
function Secret({ secret, done }: { secret: string; done: () => void }) {
  const [copied, setCopied] = useState(false);
  return (
    <div className="secret-once" role="status">
      <p>{words.once}</p>
      <p className="line-row"><code className="grow">{secret}</code>
        <button type="button" onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true), () => {})}><Icon name={copied ? "check" : "copy"} />{copied ? text.session.copied : text.session.copy}</button>
        <button type="button" onClick={done}>{words.done}</button></p>
    </div>
  );
}

function Create({ run, made }: { run: (work: () => Promise<unknown>) => Promise<void>; made: (secret: string) => void }) {
  const client = useClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<(typeof roles)[number]>("operator");
  const create = () => run(async () => {
    const { secret } = await client.api.post<Made>("/api/tokens", { name, role });
    setName("");
    made(secret);
  });
  return (
    <form className="inline-form" onSubmit={(e) => { e.preventDefault(); void create(); }}>
      <input className="grow" value={name} aria-label={words.tokenName} placeholder={words.tokenName} autoComplete="off" onChange={(e) => setName(e.target.value)} />
      <select value={role} aria-label={words.role} onChange={(e) => setRole(e.target.value as typeof role)}>{roles.map((one) => <option key={one} value={one}>{text.settings.roles[one]}</option>)}</select>
      <button type="submit" className="primary" disabled={name.trim() === ""}>{words.createToken}</button>
    </form>
  );
}

function One({ token, run }: { token: Token; run: (work: () => Promise<unknown>) => Promise<void> }) {
  const client = useClient();
  const path = `/api/tokens/${encodeURIComponent(token.id)}`;
  const until = token.expiresAt ? words.expires(dayOf(token.expiresAt)) : "";
  return (
    <li data-token={token.name}>
      <Icon name="key-round" className="dim" />
      <span className="grow">{token.name}<p>{[words.created(dayOf(token.createdAt), client.nameOf(token.createdBy)), until].filter(Boolean).join(" · ")}</p></span>
      <select value={token.role} aria-label={`${words.role}: ${token.name}`} onChange={(e) => void run(() => client.api.patch(path, { role: e.target.value }))}>{roles.map((one) => <option key={one} value={one}>{text.settings.roles[one]}</option>)}</select>
      <button type="button" className="ghost icon" aria-label={words.revoke(token.name)} title={words.revoke(token.name)} onClick={() => void run(() => client.api.delete(path))}><Icon name="trash-2" /></button>
    </li>
  );
}

/** Tokens lists who can get in: named tokens, and the people who signed in at a provider. */
export function Tokens() {
  const client = useClient();
  const { answer, failure, again } = useAnswer(() => client.api.get<Answer<"/api/tokens">>("/api/tokens"), []);
  const people = useAnswer(() => client.api.get<Answer<"/api/people">>("/api/people"), []);
  const [secret, setSecret] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const run = (work: () => Promise<unknown>) => {
    setRefused(null);
    return work().then(again, (err: Error) => setRefused(err.message));
  };
  const tokens = answer?.data.filter((token) => token.state === "active") ?? [];
  return (
    <>
      <Create run={run} made={setSecret} />
      {(refused ?? failure) && <p className="failure" role="alert">{refused ?? text.operator.failed + failure}</p>}
      {secret && <Secret secret={secret} done={() => setSecret(null)} />}
      <Section title={words.tokens}>
        {answer && tokens.length === 0 && <li className="dim">{words.noTokens}</li>}
        {tokens.map((token) => <One key={token.id} token={token} run={run} />)}
      </Section>
      {!!people.answer?.data.length && (
        <Section title={words.people}>
          {people.answer.data.map((one) => <li key={one.actor}><span className="avatar" aria-hidden="true">{initials(one.name)}</span><span className="grow">{one.name}<p className="mono">{one.actor}</p></span></li>)}
        </Section>
      )}
    </>
  );
}
