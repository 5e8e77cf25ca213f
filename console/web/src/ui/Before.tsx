import { useState } from "react";
import { Link as To } from "wouter";
import type { Runtime } from "../api/answers";
import { agentName, sentence } from "../core/entries";
import { text } from "../text";
import { worked } from "./AgentTrouble";
import { useClient } from "./hooks";
import { Icon, type IconName } from "./Icon";

const words = text.start;

type Line = { agent: string; icon: IconName; kind: "ok" | "warn" | "dim"; what: string; note: string; command?: string; signIn?: boolean };

/** lineOf says whether an agent can work, and what helps. */
function lineOf(runtime: Runtime, works: boolean): Line {
  const name = agentName(runtime.name);
  const line = { agent: runtime.name, command: undefined };
  if (runtime.state === "unavailable" && runtime.install?.command) return { ...line, icon: "circle-dashed", kind: "dim", what: words.missing(name), note: "", command: runtime.install.command };
  if (runtime.auth.state === "missing" && !works) return { ...line, icon: "circle-alert", kind: "warn", what: words.signedOut(name), note: sentence(runtime.auth.remedy ?? ""), signIn: runtime.auth.login };
  if (runtime.state === "unavailable") return { ...line, icon: "circle-alert", kind: "warn", what: words.unable(name), note: sentence(runtime.reason ?? "") };
  return { ...line, icon: "circle-check", kind: "ok", what: words.ready(name), note: runtime.version ? words.version(runtime.version) : "" };
}

/** CopyText copies a command and says so. */
function CopyText({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(command).then(() => setCopied(true), () => {}); // without a right to it nothing is copied
  return <button type="button" onClick={() => void copy()}><Icon name={copied ? "check" : "copy"} />{copied ? text.session.copied : text.session.copy}</button>;
}

/** Before says which agents are ready and what the others need. Where sessions are, only if no agent is ready. */
export function Before({ runtimes, all }: { runtimes: Runtime[]; all: boolean }) {
  const client = useClient();
  const lines = runtimes.map((runtime) => lineOf(runtime, worked(client.store.sessions.values(), runtime.name)));
  if (runtimes.length === 0 || (!all && lines.some((line) => line.kind === "ok"))) return null;
  return (
    <section>
      <div className="line-row"><h2 className="grow">{words.before}</h2><span className="small dim">{words.todo(lines.filter((line) => line.kind === "warn").length)}</span></div>
      <ul className="items">
        {lines.map((line) => (
          <li key={line.agent} data-agent={line.agent} data-ready={line.kind === "ok" || undefined}>
            <Icon name={line.icon} className={line.kind} />
            <span className="grow">{line.what}<p>{line.command ? <code>{line.command}</code> : line.note}</p></span>
            {line.command && <CopyText command={line.command} />}
            {line.signIn && client.may("administer") && <To className="button primary" href="/runtimes">{text.runtimes.login}</To>}
          </li>
        ))}
      </ul>
    </section>
  );
}
