import { memo, useState } from "react";
import { agentName, decides, outcome, sentence } from "../core/entries";
import { named } from "../core/names";
import { textAndPictures } from "../core/pictures";
import { took } from "../core/time";
import type { Transcript } from "../core/transcript";
import type { Entry } from "../core/types";
import { text } from "../text";
import { Decided } from "./Decided";
import { Folded } from "./Folded";
import { useClient, useRow } from "./hooks";
import { Icon } from "./Icon";
import { MarkdownView } from "./MarkdownView";
import { MessageActions } from "./MessageActions";
import { Pictures } from "./Pictures";
import { Step } from "./Step";
import { Who } from "./Who";

type EntryProps = { transcript: Transcript; entry: Entry; marked: boolean };

/** attributes are those by which an entry is found in the page. */
const attributes = ({ entry, marked }: EntryProps) => ({ "data-id": entry.messageId, "data-status": entry.status, "data-marked": marked || undefined });

/** Said is a message of a person, or of a program that writes as one. */
function Said({ transcript, entry, marked }: EntryProps) {
  const said = textAndPictures(entry.texts.text ?? "").text;
  const program = entry.type !== "userMessage";
  const name = entry.author ? named(entry.author) : program ? text.talk.program : text.talk.unknown;
  return (
    <article className="entry user" {...attributes({ transcript, entry, marked })}>
      <Who name={name} program={program} at={entry.author?.at ?? entry.startedAt ?? entry.completedAt}><MessageActions transcript={transcript} entry={entry} said={said} /></Who>
      {said !== "" && <div className="said"><Folded said={said} /></div>}
      <Pictures entry={entry} />
      {entry.status === "canceled" && <p className="line">{text.message.dropped}</p>}
    </article>
  );
}

/** Answer is a message of the agent, which never folds; what a program writes in its place does. */
function Answer({ transcript, entry, marked }: EntryProps) {
  const client = useClient();
  const done = entry.status !== "streaming";
  const program = entry.type !== "agentMessage" && entry.texts.text !== undefined;
  const runtime = client.store.sessions.get(transcript.sessionId)?.runtime ?? "";
  const name = !program ? agentName(runtime) : entry.author ? named(entry.author) : text.talk.program;
  return (
    <article className="entry assistant" {...attributes({ transcript, entry, marked })}>
      <Who name={name} program at={entry.startedAt ?? entry.completedAt}>{done && <MessageActions transcript={transcript} entry={entry} said={entry.texts.text ?? ""} />}</Who>
      {program ? <div className="plain"><Folded said={entry.texts.text ?? ""} /></div> : <MarkdownView text={entry.texts.text ?? ""} done={done} />}
    </article>
  );
}

/** EntryView is one row of a transcript. */
export const EntryView = memo(function EntryView({ transcript, id, marked = false }: { transcript: Transcript; id: string; marked?: boolean }) {
  const row = useRow(transcript, id);
  if (!row) return null;
  const props = { transcript, entry: row.entry, marked };
  if (row.entry.role === "user") return <Said {...props} />;
  if (row.entry.role === "assistant") return <Answer {...props} />;
  return <article className="entry system" data-type={row.entry.type} {...attributes(props)}>{decides(row.entry) ? <Decided entries={[row.entry]} /> : <Step transcript={transcript} entry={row.entry} />}</article>;
});

/** Decisions of one person that stand beside each other are one line. */
export function DecidedTogether({ transcript, ids }: { transcript: Transcript; ids: string[] }) {
  const entries = ids.map((id) => transcript.rows.get(id)?.entry).filter((e): e is Entry => !!e);
  return <article className="entry system" data-type={entries[0]?.type} data-id={ids[0]}><Decided entries={entries} /></article>;
}

/** Fold is a run of finished steps in one line. */
export function Fold({ transcript, ids }: { transcript: Transcript; ids: string[] }) {
  const [open, setOpen] = useState(false);
  const entries = ids.map((id) => transcript.rows.get(id)?.entry).filter((e): e is Entry => !!e);
  const { took: length, ...counts } = outcome(entries);
  const did = (Object.keys(counts) as (keyof typeof counts)[]).filter((kind) => counts[kind] > 0).map((kind) => (kind === "reads" ? text.talk.reads : text.step[kind])(counts[kind])).join(", ");
  return (
    <>
      <div className="entry system">
        <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? "chevron-down" : "chevron-right"} />
          <span>{sentence(did)}</span>
          {length > 0 && <span className="card-end">{took(length)}</span>}
        </button>
      </div>
      {open && ids.map((id) => <EntryView key={id} transcript={transcript} id={id} />)}
    </>
  );
}
