// A session as a file that the browser saves. It is read from the server whole, whatever of it is in memory.
import { entriesOf, type RestEntry } from "../adapters/wire";
import type { Client } from "../client";
import { agentName } from "../core/entries";
import { markdownOf } from "../core/export";
import { Markdown } from "../core/markdown";
import { named } from "../core/names";
import type { Author, Entry, Session } from "../core/types";
import { text } from "../text";
import { saveAs } from "../ui/saveAs";

export type Format = "md" | "html" | "json";

type Window = { transcript: RestEntry[]; authors?: Record<string, Author>; window: { before: string | null } };
const types: Record<Format, string> = { md: "text/markdown", html: "text/html", json: "application/json" };

async function read(client: Client, sessionId: string): Promise<Pick<Window, "transcript" | "authors">> {
  const path = `/api/sessions/${encodeURIComponent(sessionId)}?view=console&limit=500`;
  let { transcript, authors, window: { before } } = await client.api.get<Window>(path);
  while (before !== null) {
    const older = await client.api.get<Window>(`${path}&before=${encodeURIComponent(before)}`);
    [transcript, authors, before] = [[...older.transcript, ...transcript], { ...older.authors, ...authors }, older.window.before];
  }
  return { transcript, authors };
}

const escaped = (said: string) => said.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function page(title: string, markdown: string): string {
  const body = new Markdown().set(markdown, true).map((block) => (block.code === undefined ? block.html : `<pre><code>${escaped(block.code)}</code></pre>`)).join("\n");
  return `<!doctype html><meta charset="utf-8"><title>${escaped(title)}</title><style>body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui}pre{overflow:auto;background:#f1f3f6;padding:.75rem}</style>\n${body}\n`;
}

/** exportSession has the browser save a session. */
export async function exportSession(client: Client, session: Session, format: Format): Promise<void> {
  const all = await read(client, session.sessionId);
  const nameOf = (entry: Entry) => (entry.role === "assistant" ? agentName(session.runtime) : entry.author ? named(entry.author) : text.talk.unknown);
  const markdown = () => markdownOf(session.title, entriesOf(all), nameOf);
  const file = format === "json" ? JSON.stringify({ session, ...all }, null, 2) : format === "md" ? markdown() : page(session.title, markdown());
  saveAs(`${session.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "session"}.${format}`, types[format], file);
}
