import { useState, type ReactNode } from "react";
import { became, changesOf, command, failed, title } from "../core/entries";
import { picturesOf, textAndPictures } from "../core/pictures";
import { clock, timeOf, took } from "../core/time";
import type { Transcript } from "../core/transcript";
import type { Entry } from "../core/types";
import { text } from "../text";
import { DiffView } from "./DiffView";
import { Folded } from "./Folded";
import { useClient, useSignal } from "./hooks";
import { Icon } from "./Icon";
import { MarkdownView } from "./MarkdownView";
import { Pictures } from "./Pictures";
import { Failed, Retrying } from "./TurnTrouble";

/** A command of at most so many letters is in the card's head already. */
const oneLine = 80;

/** lengthOf is how long a step took, in ms; 0 where that is not known. */
const lengthOf = (entry: Entry) => (entry.completedAt && entry.startedAt ? entry.completedAt - entry.startedAt : 0);

function State({ entry }: { entry: Entry }) {
  if (entry.status === "streaming") return <span className="mark running" role="img" aria-label={text.step.running}><i className="spin" /></span>;
  if (failed(entry)) return <span className="mark bad" role="img" aria-label={text.became[became(entry) || "failed"]}><Icon name="circle-x" /></span>;
  return <span className="mark ok" role="img" aria-label={text.step.done}><Icon name="check" /></span>;
}

/** endOf is what became of a step, in a word. */
function endOf(entry: Entry): string {
  const end = became(entry);
  if (end === "stopped" && lengthOf(entry) > 0) return text.talk.interrupted(clock(lengthOf(entry)));
  if (end) return text.became[end] ?? "";
  return entry.type === "fileChange" && entry.status !== "streaming" ? text.step.applied : "";
}

type CardProps = { entry: Entry; children: ReactNode; opened?: boolean; /** There is nothing inside (yet). */ empty?: boolean };

function Card({ entry, children, opened = false, empty = false }: CardProps) {
  const [open, setOpen] = useState(opened);
  const exit = entry.item?.exitCode;
  const length = ["", "failed"].includes(became(entry)) ? lengthOf(entry) : 0; // it ran
  return (
    <details className="card" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        <State entry={entry} />
        <span className="mono card-title">{title(entry)}</span>
        <span className="card-end">{[typeof exit === "number" && exit !== 0 && text.step.exit(exit), endOf(entry), length > 0 && took(length)].filter(Boolean).join(" · ")}</span>
      </summary>
      {open && !empty && <div className="card-body">{children}</div>}
    </details>
  );
}

/** Raw is an entry as the server has it, for who asks for it. */
function Raw({ entry }: { entry: Entry }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="raw" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{text.step.details}</summary>
      {open && <pre tabIndex={0}>{JSON.stringify(entry.item ?? entry, null, 2).slice(0, 20_000)}</pre>}
    </details>
  );
}

/** Stopped says who stopped a turn, and when. */
function Stopped({ entry }: { entry: Entry }) {
  const client = useClient();
  const { author, item } = entry;
  const name = author ? client.nameOf(author.actor, author.name) : typeof item?.stoppedBy === "string" ? client.nameOf(item.stoppedBy) : null;
  const line = name === null ? text.stopped : text.stoppedBy(name === text.request.you ? text.talk.you : name);
  return <p className="line" role="status"><Icon name="circle-stop" /><span>{line}{entry.completedAt ? ` · ${timeOf(entry.completedAt)}` : ""}</span></p>;
}

function Command({ entry }: { entry: Entry }) {
  const line = command(entry);
  const declined = became(entry) === "declined";
  const long = line.length > oneLine || line.includes("\n");
  return (
    <Card entry={entry} opened={!declined && (entry.status === "streaming" || failed(entry))} empty={!long && !entry.texts.output}>
      {long && <pre className="command" tabIndex={0}>{line}</pre>}
      {entry.texts.output && <Folded said={entry.texts.output} output />}
    </Card>
  );
}

/** useAsked reports a step that a request card shows already. */
function useAsked(entry: Entry): boolean {
  const client = useClient();
  useSignal(client.store.inbox);
  return entry.status === "streaming" && [...client.store.requests.values()].some((request) => request.kind === "approval" && request.itemId === entry.messageId);
}

/** Step is an entry that no person and no agent wrote: what was done, and what became of it. */
export function Step({ transcript, entry }: { transcript: Transcript; entry: Entry }) {
  const client = useClient();
  const done = entry.status !== "streaming";
  if (useAsked(entry)) return null;
  switch (entry.type) {
    case "commandExecution":
      return <Command entry={entry} />;
    case "fileChange": {
      const end = became(entry);
      return <DiffView key={end} changes={changesOf(entry.item)} cwd={client.store.sessions.get(transcript.sessionId)?.cwd} state={endOf(entry)} bad={end !== "" && end !== "stopped"} />;
    }
    case "reasoning":
      return <Card entry={entry}><MarkdownView text={Object.values(entry.texts).join("\n\n")} done={done} /></Card>;
    case "plan":
      return <Card entry={entry} opened><MarkdownView text={entry.texts.text ?? ""} done={done} /></Card>;
    case "turn.stopped":
      return <Stopped entry={entry} />;
    case "turn.retrying":
      return <Retrying transcript={transcript} entry={entry} />;
    case "turn.error":
      return <Failed transcript={transcript} entry={entry} />;
    default:
      return (
        <Card entry={entry} opened={picturesOf(entry).length > 0 || !!entry.texts.text?.includes("\n")}>
          {entry.texts.text && <div className="plain"><Folded said={textAndPictures(entry.texts.text).text} /></div>}
          <Pictures entry={entry} />
          <Raw entry={entry} />
        </Card>
      );
  }
}
