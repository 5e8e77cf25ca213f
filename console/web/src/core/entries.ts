// What a row of a transcript is about, in words.
import type { Change } from "./diff";
import { picturesOf } from "./pictures";
import { text } from "../text";
import type { Entry } from "./types";

export const isMessage = (entry: Entry) => entry.role === "user" || entry.role === "assistant";

const agents: Record<string, string> = { codex: "Codex", claude: "Claude Code", gemini: "Gemini CLI", opencode: "OpenCode" };

/** agentName is what people call the agent of a runtime. */
export const agentName = (runtime: string) => agents[runtime.replace(/-acp$/, "")] ?? runtime;

/** sentence begins a text with a capital letter. */
export const sentence = (words: string) => words.slice(0, 1).toUpperCase() + words.slice(1);

/** command is the command line without the shell around it. */
export const command = (entry: Entry) => withoutShell(String(entry.item?.command ?? entry.texts.text ?? ""));

export function withoutShell(line: string): string {
  const quoted = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (['"])([\s\S]*)\1$/.exec(line);
  return quoted ? quoted[2]! : line;
}

export function changesOf(item: Record<string, unknown> | undefined): Change[] {
  const changes = item?.changes ?? item?.fileChanges;
  if (Array.isArray(changes)) return changes as Change[];
  if (!changes || typeof changes !== "object") return [];
  return Object.entries(changes).map(([path, change]) => {
    const said = change as { type?: string; unified_diff?: string; content?: string };
    return { path, kind: said.type, diff: said.unified_diff, content: said.content };
  });
}

/** What became of something that was not done; "" while it runs and when it was done. */
export type Became = "" | "declined" | "canceled" | "expired" | "failed" | "stopped";

export function became(entry: Entry): Became {
  const item = entry.item ?? {};
  if (item.status === "declined" || item.decision === "decline") return "declined";
  if (item.decision === "cancel") return "canceled";
  if (item.status === "expired") return "expired";
  if (entry.status === "error" || item.success === false) return "failed";
  return entry.status === "canceled" ? "stopped" : "";
}

/** failed reports what never folds: it failed, or was not done. */
export function failed(entry: Entry): boolean {
  const exit = entry.item?.exitCode;
  return became(entry) !== "" || (typeof exit === "number" && exit !== 0);
}

/** filesOf are the files that were changed, with their last change, and what became of those that were not. */
export function filesOf(entries: Entry[]): { path: string; change: Change; became: Became }[] {
  const files = new Map<string, { path: string; change: Change; became: Became }>();
  for (const entry of entries) {
    if (entry.type !== "fileChange" || entry.status === "streaming") continue;
    const end = became(entry);
    for (const change of changesOf(entry.item)) {
      if (end === "" || files.get(change.path)?.became !== "") files.set(change.path, { path: change.path, change, became: end });
    }
  }
  return [...files.values()];
}

/** title is a line that stands for an entry. */
export function title(entry: Entry): string {
  const item = entry.item ?? {};
  switch (entry.type) {
    case "commandExecution":
      return command(entry);
    case "fileChange": {
      const paths = changesOf(item).map((c) => c.path);
      if (paths.length === 0) return text.step.files(0);
      const shown = paths.slice(0, 3).join(", ");
      return paths.length > 3 ? text.step.andMore(shown, paths.length - 3) : shown;
    }
    case "reasoning":
      return text.step.thought;
    case "plan":
      return text.step.plan;
    case "webSearch":
      return text.step.searched(String(item.query ?? ""));
    case "mcpToolCall":
      return `${String(item.server ?? "tool")} · ${String(item.tool ?? "")}`;
    case "dynamicToolCall":
      return text.step.used(String(item.tool ?? ""));
    default: {
      const said = entry.texts.text?.split("\n")[0];
      return said || entry.type;
    }
  }
}

/** What the list shows: entries, and runs of finished steps between messages that fold to one line. */
export type Part = { key: string; ids: string[]; fold: boolean };

// What waits is shown as a card, not as an entry besides.
const waits = (entry: Entry) => /^(approval|tool_input|tool_call)\.request/.test(entry.type);

/** decides reports the entry of a decision. It never folds: who decided is always there to read. */
export const decides = (entry: Entry) => /^(approval|tool_input|tool_call)\.(?!request)/.test(entry.type);

/** decider is who decided, as far as it is known. */
const decider = (entry: Entry) => entry.author?.actor ?? entry.item?.decidedBy;

/** alike reports that two decisions are one line: the same person approved, and gave no reason. */
function alike(a: Entry, b: Entry): boolean {
  const of = (entry: Entry) => JSON.stringify([entry.type, entry.item?.decision, decider(entry), /fileChange|applyPatch/.test(String(entry.item?.method))]);
  return a.item?.decision === "accept" && typeof decider(a) === "string" && of(a) === of(b);
}

export function partsOf(ids: string[], entry: (id: string) => Entry, running: boolean): Part[] {
  const parts: Part[] = [];
  let run: string[] = [];
  const single = (id: string) => {
    const last = parts.at(-1);
    if (last && !last.fold && decides(entry(id)) && decides(entry(last.ids[0]!)) && alike(entry(last.ids[0]!), entry(id))) parts[parts.length - 1] = { ...last, ids: [...last.ids, id] };
    else parts.push({ key: id, ids: [id], fold: false });
  };
  const close = (ended: boolean) => {
    const steps = run.filter((id) => !decides(entry(id)));
    if (steps.length > 1 && ended) {
      parts.push({ key: `fold-${steps[0]}`, ids: steps, fold: true });
      run.filter((id) => decides(entry(id))).forEach(single);
    } else run.forEach(single);
    run = [];
  };
  for (const id of ids) {
    const one = entry(id);
    if (waits(one)) continue;
    if (decides(one) || (!isMessage(one) && one.status === "complete" && !failed(one) && one.type !== "conversationCleared" && picturesOf(one).length === 0 && one.role === "system" && !one.type.startsWith("turn."))) {
      run.push(id);
      continue;
    }
    close(true);
    single(id);
  }
  close(!running);
  return parts;
}

/** readsOf are the files that a command does nothing but read, as the agent parsed it. */
function readsOf(entry: Entry): string[] {
  const actions = entry.item?.commandActions as { type?: string; path?: string; name?: string }[] | undefined;
  if (!Array.isArray(actions) || !actions.every((action) => action?.type === "read")) return [];
  return actions.map((action) => action.path ?? action.name ?? "");
}

/** outcome counts finished steps by what they did, and how long they took together, in ms. */
export function outcome(entries: Entry[]): { reads: number; commands: number; edits: number; thoughts: number; others: number; took: number } {
  const counts = { reads: 0, commands: 0, edits: 0, thoughts: 0, others: 0, took: 0 };
  const files = new Set<string>();
  const read = new Set<string>();
  for (const entry of entries) {
    const reads = readsOf(entry);
    if (reads.length > 0) for (const path of reads) read.add(path);
    else if (entry.type === "commandExecution") counts.commands++;
    else if (entry.type === "fileChange") for (const { path } of changesOf(entry.item)) files.add(path);
    else if (entry.type === "reasoning") counts.thoughts++;
    else counts.others++;
    counts.took += entry.completedAt && entry.startedAt ? entry.completedAt - entry.startedAt : 0;
  }
  return { ...counts, reads: read.size, edits: files.size };
}
