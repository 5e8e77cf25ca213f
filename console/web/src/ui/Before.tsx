import { useState } from "react";
import { Link as To } from "wouter";
import type { Answer } from "../api/answers";
import { agentName, sentence } from "../core/entries";
import { text } from "../text";
import { worked } from "./AgentTrouble";
import { useClient } from "./hooks";
import { Icon, type IconName } from "./Icon";
import { useAnswer } from "./useAnswer";

type SetUp = Answer<"/api/setup">;
type Agent = SetUp["agents"][number];

const words = text.start;
/** How often the server is asked, in ms: an agent that was signed in or installed elsewhere shows. */
const every = 15_000;

const looks: Record<Agent["state"], [IconName, kind: string, what: (agent: string) => string]> = {
  ready: ["circle-check", "ok", words.ready], signIn: ["circle-alert", "warn", words.signedOut], notInstalled: ["circle-dashed", "dim", words.missing], unavailable: ["circle-alert", "warn", words.unable],
};

/** CopyText copies a command and says so. */
function CopyText({ command }: { command: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(command).then(() => setCopied(true), () => {}); // without a right to it nothing is copied
  return <button type="button" onClick={() => void copy()}><Icon name={copied ? "check" : "copy"} />{copied ? text.session.copied : text.session.copy}</button>;
}

function AgentLine({ agent }: { agent: Agent }) {
  const client = useClient();
  const [icon, kind, what] = looks[agent.state];
  const note = agent.state === "ready" ? agent.version && words.version(agent.version) : agent.command ? <code>{agent.command}</code> : sentence(agent.remedy ?? "");
  return (
    <li data-agent={agent.name} data-ready={agent.state === "ready" || undefined}>
      <Icon name={icon} className={kind} />
      <span className="grow">{what(agentName(agent.name))}{note && <p>{note}</p>}</span>
      {agent.state !== "ready" && agent.command && <CopyText command={agent.command} />}
      {agent.state === "signIn" && agent.logins.length > 0 && client.may("administer") && <To className="button primary" href="/runtimes">{text.runtimes.login}</To>}
    </li>
  );
}

/** Before says which agents are ready and what the others need. Where sessions are, only those that want a login, unless none is ready. */
export function Before({ all }: { all: boolean }) {
  const client = useClient();
  const { answer } = useAnswer(() => client.api.get<SetUp>("/api/setup"), [], { every });
  if (!answer) return null;
  // A provider of its own may need no login: a turn that did not fail shows it.
  const agents = answer.agents.map((agent): Agent => (agent.state === "signIn" && worked(client.store.sessions.values(), agent.name) ? { ...agent, state: "ready" } : agent));
  const { server } = answer;
  const shown = all || !agents.some((agent) => agent.state === "ready") ? agents : agents.filter((agent) => agent.state === "signIn");
  if (shown.length === 0 && server.ready) return null;
  const wanting = shown.filter((agent) => agent.state === "signIn" || agent.state === "unavailable").length;
  const install = agents.some((agent) => agent.state === "ready") || wanting > 0 ? 0 : 1; // one agent is enough
  const todo = wanting + install + (server.ready ? 0 : 1);
  return (
    <section>
      <div className="line-row"><h2 className="grow">{words.before}</h2><span className="small dim">{words.todo(todo)}</span></div>
      <ul className="items">
        {shown.map((agent) => <AgentLine key={agent.name} agent={agent} />)}
        {(all || !server.ready) && <li data-server={server.ready || undefined}>
          <Icon name={server.ready ? "circle-check" : "circle-alert"} className={server.ready ? "ok" : "warn"} />
          <span className="grow">{server.ready ? words.serverReady : words.serverNotReady}<p>{server.ready ? `${text.app} ${server.version} · ${location.host}` : sentence([server.problem, server.remedy].filter(Boolean).join(". "))}</p></span>
        </li>}
      </ul>
    </section>
  );
}
