// What a request is about: who wants what, the command or the changes themselves, why, and what they can reach.
import { useEffect } from "react";
import type { Client } from "../client";
import { unrestricted } from "../core/access";
import type { Change } from "../core/diff";
import { agentName, changesOf } from "../core/entries";
import type { Request } from "../core/types";
import { text } from "../text";
import { DiffView } from "./DiffView";
import { useClient, useSignal } from "./hooks";
import { Icon, type IconName } from "./Icon";

const edits = (request: Request) => /fileChange|applyPatch/.test(request.method);

/** lineOf is what a request is about in a line. */
export function lineOf(request: Request): string {
  const line = String(request.details.command ?? "");
  const quoted = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (['"])([\s\S]*)\1$/.exec(line);
  if (line) return quoted ? quoted[2]! : line;
  if (request.questions[0]) return request.questions[0].question;
  const paths = (request.changes ?? changesOf(request.details)).map((change) => change.path);
  return paths.length > 0 ? paths.join(", ") : String(request.details.tool ?? request.summary);
}

/** agentOf is the name of the agent that asks. */
export function agentOf(client: Client, request: Request): string {
  const runtime = client.store.sessions.get(request.threadId)?.runtime;
  return runtime ? agentName(runtime) : text.request.anAgent;
}

/** wants is who wants what. */
export function wants(request: Request, agent: string, files: number): string {
  if (request.kind === "question") return text.request.question(agent);
  if (request.kind === "approval" && edits(request)) return text.request.files(agent, files);
  if (request.kind === "approval" && request.method.includes("ommand")) return text.request.command(agent);
  if (request.method.includes("ermission")) return text.request.permissions(agent);
  return text.request.tool(agent, String(request.details.tool ?? ""));
}

const none: Change[] = [];

/** useChanges are the changes of files that a request asks for: its own, or those of the step it belongs to. */
export function useChanges(request: Request): Change[] {
  const client = useClient();
  const own = request.changes ?? changesOf(request.details);
  const missing = own.length === 0 && edits(request);
  useEffect(() => {
    if (missing) client.open(request.threadId);
  }, [client, missing, request.threadId]);
  const open = client.store.open.get(request.threadId);
  useSignal(open?.signal ?? client.store.inbox);
  if (!missing) return own;
  const entry = open?.transcript.rows.get(request.itemId)?.entry;
  return entry ? changesOf(entry.item) : none;
}

/** Asked is the command or the changes that are asked for, and the agent's reason. */
export function Asked({ request, changes, cwd }: { request: Request; changes: Change[]; cwd: string | undefined }) {
  const reason = request.reason ?? request.details.reason;
  return (
    <>
      {changes.length > 0 ? <DiffView changes={changes} cwd={cwd} /> : request.kind !== "question" && <pre className="command" tabIndex={0}>{lineOf(request)}</pre>}
      {typeof reason === "string" && reason && <p className="reason">{reason}</p>}
    </>
  );
}

const Fact = ({ icon, children, title }: { icon: IconName; children: string; title?: string }) => <span title={title}><Icon name={icon} /><span className="clip">{children}</span></span>;

/** Facts are the folder a request is about, and what it can reach. */
export function Facts({ request }: { request: Request }) {
  const client = useClient();
  const session = client.store.sessions.get(request.threadId);
  const controls = session?.sessionControls;
  const cwd = String(request.details.cwd ?? session?.cwd ?? "");
  const closed = controls?.networkAccess === "restricted" && !unrestricted(controls);
  return (
    <p className="facts">
      {cwd && <Fact icon="folder" title={cwd}>{cwd}</Fact>}
      {controls?.filesystemSandbox && <Fact icon="shield" title={controls.filesystemSandbox}>{text.talk.reach[controls.filesystemSandbox] ?? controls.filesystemSandbox}</Fact>}
      {closed && <Fact icon="globe-lock">{text.talk.noNetwork}</Fact>}
    </p>
  );
}
