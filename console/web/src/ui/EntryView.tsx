import { memo, useState, type ReactNode } from "react";
import { became, changesOf, command, failed, title } from "../core/entries";
import { took } from "../core/time";
import type { Transcript } from "../core/transcript";
import type { Entry } from "../core/types";
import { text } from "../text/en";
import { Copy } from "./Code";
import { DiffView } from "./DiffView";
import { MessageActions } from "./MessageActions";
import { MarkdownView } from "./MarkdownView";
import { picturesOf, textAndPictures } from "../core/pictures";
import { Pictures } from "./Pictures";
import { useClient, useRow } from "./hooks";
import { Failed, Retrying } from "./TurnTrouble";

const tail = 5;

/** Output shows the last lines of what a command put out, all of it on demand. */
function Output({ output }: { output: string }) {
  const [all, setAll] = useState(false);
  const lines = output.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/\n$/, "").split("\n");
  if (output === "") return null;
  return (
    <div className="output">
      {!all && lines.length > tail && <button className="quiet" type="button" onClick={() => setAll(true)}>{lines.length - tail} lines before</button>}
      <pre tabIndex={0}>{(all ? lines : lines.slice(-tail)).join("\n")}</pre>
    </div>
  );
}

function State({ entry }: { entry: Entry }) {
  if (entry.status === "streaming") return <span className="mark running" role="img" aria-label="running">◌</span>;
  if (failed(entry)) return <span className="mark bad" role="img" aria-label={became(entry) || "failed"}>✕</span>;
  return <span className="mark ok" role="img" aria-label="done">✓</span>;
}

function Card({ entry, children, opened = false }: { entry: Entry; children: ReactNode; opened?: boolean }) {
  const [open, setOpen] = useState(opened);
  const length = entry.completedAt && entry.startedAt ? took(entry.completedAt - entry.startedAt) : "";
  const exit = entry.item?.exitCode;
  return (
    <details className="card" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <State entry={entry} />
        <span className="mono card-title">{title(entry)}</span>
        <span className="dim card-end">{typeof exit === "number" && exit !== 0 ? `exit ${exit} · ` : ""}{became(entry) && `${text.became[became(entry) as keyof typeof text.became]} `}{length}</span>
      </summary>
      {open && <div className="card-body">{children}</div>}
    </details>
  );
}

const raw = (entry: Entry) => JSON.stringify(entry.item ?? entry, null, 2).slice(0, 20_000);

/** Stopped says who stopped a turn, and when. */
function Stopped({ entry }: { entry: Entry }) {
  const client = useClient();
  const who = entry.item?.stoppedBy;
  return (
    <p className="settled" role="status">
      <span>■ {typeof who === "string" ? text.stoppedBy(client.nameOf(who)) : text.stopped}</span>
      {entry.completedAt && <time className="dim" dateTime={new Date(entry.completedAt).toISOString()}>{new Date(entry.completedAt).toLocaleTimeString()}</time>}
    </p>
  );
}

function System({ transcript, entry }: { transcript: Transcript; entry: Entry }) {
  switch (entry.type) {
    case "commandExecution":
      return (
        <Card entry={entry} opened={entry.status === "streaming" || failed(entry)}>
          <pre className="command" tabIndex={0}>{command(entry)}</pre>
          <Output output={entry.texts.output ?? ""} />
        </Card>
      );
    case "fileChange":
      return <Card entry={entry} opened><DiffView changes={changesOf(entry.item)} /></Card>;
    case "reasoning":
      return <Card entry={entry}><MarkdownView text={Object.values(entry.texts).join("\n\n")} done={entry.status !== "streaming"} /></Card>;
    case "plan":
      return <Card entry={entry} opened><MarkdownView text={entry.texts.text ?? ""} done={entry.status !== "streaming"} /></Card>;
    case "turn.stopped":
      return <Stopped entry={entry} />;
    case "turn.retrying":
      return <Retrying transcript={transcript} entry={entry} />;
    case "turn.error":
      return <Failed transcript={transcript} entry={entry} />;
    default:
      return (
        <Card entry={entry} opened={picturesOf(entry).length > 0}>
          {entry.texts.text && <p className="plain">{textAndPictures(entry.texts.text).text}</p>}
          <Pictures entry={entry} />
          <pre tabIndex={0}>{raw(entry)}</pre>
        </Card>
      );
  }
}

/** EntryView is one row of a transcript. */
export const EntryView = memo(function EntryView({ transcript, id, marked = false }: { transcript: Transcript; id: string; marked?: boolean }) {
  const row = useRow(transcript, id);
  if (!row) return null;
  const { entry } = row;
  if (entry.role === "user") {
    return (
      <article className="entry user" data-id={id} data-status={entry.status} data-marked={marked || undefined}>
        <div className="said">{textAndPictures(entry.texts.text ?? "").text}</div>
        <Pictures entry={entry} />
        {entry.status === "canceled" && <p className="dim">{text.message.dropped}</p>}
        <footer className="dim">{text.roles.user} <Copy text={textAndPictures(entry.texts.text ?? "").text} /> <MessageActions transcript={transcript} entry={entry} /></footer>
      </article>
    );
  }
  if (entry.role === "assistant") {
    const done = entry.status !== "streaming";
    return (
      <article className="entry assistant" data-id={id} data-status={entry.status} data-marked={marked || undefined}>
        <MarkdownView text={entry.texts.text ?? ""} done={done} />
        {done && <footer className="dim"><Copy text={entry.texts.text ?? ""} /> <MessageActions transcript={transcript} entry={entry} /></footer>}
      </article>
    );
  }
  return <article className="entry system" data-id={id} data-type={entry.type} data-status={entry.status} data-marked={marked || undefined}><System transcript={transcript} entry={entry} /></article>;
});

/** Fold is a run of finished steps in one line. */
export function Fold({ transcript, ids }: { transcript: Transcript; ids: string[] }) {
  const [open, setOpen] = useState(false);
  const entries = ids.map((id) => transcript.rows.get(id)?.entry).filter((e): e is Entry => !!e);
  const kinds = new Map<string, number>();
  for (const e of entries) {
    const kind = e.type === "commandExecution" ? "commands" : e.type === "fileChange" ? "changes" : e.type.split(".")[0]!;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return (
    <div className="entry system">
      <details className="card fold" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>
          <span className="mark ok" role="img" aria-label="done">✓</span>
          <span className="mono card-title">{ids.length} {text.session.steps}: {[...kinds].map(([kind, n]) => `${n} ${kind}`).join(", ")}</span>
        </summary>
      </details>
      {open && ids.map((id) => <EntryView key={id} transcript={transcript} id={id} />)}
    </div>
  );
}
