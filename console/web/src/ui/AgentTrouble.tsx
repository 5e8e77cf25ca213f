import { Link as To } from "wouter";
import type { Answer, Runtime } from "../api/answers";
import { agentName, sentence } from "../core/entries";
import type { Session } from "../core/types";
import { text } from "../text";
import { Copy } from "./Code";
import { useClient } from "./hooks";
import { useAnswer } from "./useAnswer";

/** How often the agents are asked for, in ms, besides when a turn fails: a login is noticed after it. */
const every = 30_000;

const missing = (runtime: Runtime) => runtime.auth.state === "missing";

/** worked reports a turn of an agent that did not fail: a provider of its own may need no login. */
export const worked = (sessions: Iterable<Session>, runtime: string) =>
  [...sessions].some((s) => s.runtime === runtime && s.lastError === null && s.updatedAt > s.createdAt);

/** AgentTrouble says which agents cannot work, or one of them, and what helps. `failed` is the turn that failed last. */
export function AgentTrouble({ only, failed = "" }: { only?: string; failed?: string | undefined }) {
  const client = useClient();
  const { answer } = useAnswer(() => client.api.get<Answer<"/api/runtimes">>("/api/runtimes"), [failed], { every });
  const shown = (runtime: Runtime) => runtime.state === "unavailable" || (missing(runtime) && (failed !== "" || !worked(client.store.sessions.values(), runtime.name)));
  const agents = answer?.data.filter((runtime) => (only === undefined || runtime.name === only) && shown(runtime)) ?? [];
  return agents.map((runtime) => (
    <div key={runtime.name} className="trouble agent" role="status" data-agent={runtime.name}>
      <p><strong>{missing(runtime) ? text.trouble.signedOut(agentName(runtime.name)) : text.trouble.unavailable(agentName(runtime.name))}</strong> {sentence((missing(runtime) ? runtime.auth.remedy : runtime.reason) ?? "")}</p>
      <p className="actions">
        {missing(runtime) && client.may("administer") && <To className="button" href="/runtimes">{text.trouble.signIn}</To>}
        {!missing(runtime) && runtime.install?.command && <><code>{runtime.install.command}</code> <Copy text={runtime.install.command} /></>}
        {!missing(runtime) && <To href="/runtimes">{text.trouble.agents}</To>}
      </p>
    </div>
  ));
}
