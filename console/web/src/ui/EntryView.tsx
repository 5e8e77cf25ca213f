import { memo, useState, type ReactNode } from "react";
import { became, changesOf, command, decides, failed, outcome, sentence, title } from "../core/entries";
import { secondOf, took } from "../core/time";
import type { Transcript } from "../core/transcript";
import type { Entry } from "../core/types";
import { text } from "../text";
import { Copy } from "./Code";
import { Decided } from "./Decided";
import { DiffView } from "./DiffView";
import { Folded } from "./Folded";
import { MessageActions } from "./MessageActions";
import { MarkdownView } from "./MarkdownView";
import { picturesOf, textAndPictures } from "../core/pictures";
import { Pictures } from "./Pictures";
import { useClient, useRow } from "./hooks";
import { Failed, Retrying } from "./TurnTrouble";

/** A command of at most so many letters is in the card's head already. */
const oneLine = 80;

function State({ entry }: { entry: Entry }) {
  if (entry.status === "streaming") return <span className="mark running" role="img" aria-label={text.step.running}>◌</span>;
  if (failed(entry)) return <span className="mark bad" role="img" aria-label={text.became[became(entry) || "failed"]}>✕</span>;
  return <span className="mark ok" role="img" aria-label={text.step.done}>✓</span>;
}

function Card({ entry, children, heading = title(entry), opened = false }: { entry: Entry; children: ReactNode; heading?: string; opened?: boolean }) {
  const [open, setOpen] = useState(opened);
  const length = entry.completedAt && entry.startedAt ? took(entry.completedAt - entry.startedAt) : "";
  const exit = entry.item?.exitCode;
  const end = became(entry);
  const state = end ? text.became[end] : entry.type === "fileChange" && entry.status !== "streaming" ? text.step.applied : "";
  return (
    <details className="card" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <State entry={entry} />
        <span className="mono card-title">{heading}</span>
        <span className="dim card-end">{[typeof exit === "number" && exit !== 0 && text.step.exit(exit), state, length].filter(Boolean).join(" · ")}</span>
      </summary>
      {open && <div className="card-body">{children}</div>}
    </details>
  );
}

/** Raw is an entry as the server has it, for who asks for it. */
function Raw({ entry }: { entry: Entry }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="raw" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary className="dim">{text.step.details}</summary>
      {open && <pre tabIndex={0}>{raw(entry)}</pre>}
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
      {entry.completedAt && <time className="dim" dateTime={new Date(entry.completedAt).toISOString()}>{secondOf(entry.completedAt)}</time>}
    </p>
  );
}

function System({ transcript, entry }: { transcript: Transcript; entry: Entry }) {
  switch (entry.type) {
    case "commandExecution":
      return (
        <Card entry={entry} opened={entry.status === "streaming" || failed(entry)}>
          {(command(entry).length > oneLine || command(entry).includes("\n")) && <pre className="command" tabIndex={0}>{command(entry)}</pre>}
          {entry.texts.output && <Folded said={entry.texts.output} output />}
        </Card>
      );
    case "fileChange":
      return <Card entry={entry} opened={became(entry) === ""} heading={sentence(text.step.edits(changesOf(entry.item).length))}><DiffView changes={changesOf(entry.item)} /></Card>;
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
      if (decides(entry)) return <Decided entry={entry} />;
      return (
        <Card entry={entry} opened={picturesOf(entry).length > 0 || !!entry.texts.text?.includes("\n")}>
          {entry.texts.text && <div className="plain"><Folded said={textAndPictures(entry.texts.text).text} /></div>}
          <Pictures entry={entry} />
          <Raw entry={entry} />
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
        <div className="said"><Folded said={textAndPictures(entry.texts.text ?? "").text} /></div>
        <Pictures entry={entry} />
        {entry.status === "canceled" && <p className="dim">{text.message.dropped}</p>}
        <footer className="dim">{entry.type === "userMessage" && text.request.you} <Copy text={textAndPictures(entry.texts.text ?? "").text} /> <MessageActions transcript={transcript} entry={entry} /></footer>
      </article>
    );
  }
  if (entry.role === "assistant") {
    const done = entry.status !== "streaming";
    return (
      <article className="entry assistant" data-id={id} data-status={entry.status} data-marked={marked || undefined}>
        {entry.type === "agentMessage" || entry.texts.text === undefined ? <MarkdownView text={entry.texts.text ?? ""} done={done} /> : <div className="plain"><Folded said={entry.texts.text} /></div>}
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
  const { took: length, ...counts } = outcome(entries);
  const did = (Object.keys(counts) as (keyof typeof counts)[]).filter((kind) => counts[kind] > 0).map((kind) => text.step[kind](counts[kind])).join(", ");
  return (
    <div className="entry system">
      <details className="card fold" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>
          <span className="mark ok" role="img" aria-label={text.step.done}>✓</span>
          <span className="card-title">{sentence(did)}</span>
          {length > 0 && <span className="dim card-end">{took(length)}</span>}
        </summary>
      </details>
      {open && ids.map((id) => <EntryView key={id} transcript={transcript} id={id} />)}
    </div>
  );
}
